//! Runtime functions that compiled code may call: as C functions by name, for linkers that resolve symbols in memory,
//! and as a table that the loader passes to a library, so that the library has no undefined symbols.
use super::launch::{hammock_device_workspace_alloc, hammock_device_workspace_free, hammock_launch};
use super::{Error, answer, arguments, raise};
use crate::device::launch::Launch;
use crate::memory::workspace;
use crate::parallel::{Body, hammock_parallel_for};
use crate::registry;
use crate::value::{Any, index};
use crate::vm::{Builtin, builtins};
use std::ffi::{CStr, c_char, c_void};

/// Table of the runtime functions that kernels use. Fields are only ever appended.
#[repr(C)]
pub struct RuntimeTable {
    /// Size of this table in bytes. A library that was built for a newer runtime checks it before using later fields.
    pub size: u64,
    /// [`hammock_parallel_for`].
    pub parallel_for: unsafe extern "C" fn(body: Body, context: *mut c_void, extent: i64, grain: i64) -> i32,
    /// [`hammock_raise`].
    pub raise: unsafe extern "C" fn(kind: *const c_char, parts: *const *const c_char, count: i32) -> i32,
    /// [`hammock_workspace_alloc`].
    pub workspace_alloc: extern "C" fn(bytes: u64) -> *mut c_void,
    /// [`hammock_workspace_free`].
    pub workspace_free: unsafe extern "C" fn(workspace: *mut c_void),
    /// [`hammock_call_global`].
    pub call_global: unsafe extern "C" fn(*const c_char, args: *const Any, count: i32, result: *mut Any) -> i32,
    /// [`hammock_raise_values`].
    pub raise_values: unsafe extern "C" fn(*const c_char, *const *const c_char, values: *const i64, count: i32) -> i32,
    /// [`hammock_launch`].
    pub launch: unsafe extern "C" fn(*const Launch) -> i32,
    /// [`hammock_device_workspace_alloc`].
    pub device_workspace_alloc: extern "C" fn(bytes: u64) -> *mut c_void,
    /// [`hammock_device_workspace_free`].
    pub device_workspace_free: unsafe extern "C" fn(workspace: *mut c_void),
}

/// The table of this process.
pub static RUNTIME: RuntimeTable = RuntimeTable {
    size: size_of::<RuntimeTable>() as u64,
    parallel_for: hammock_parallel_for,
    raise: hammock_raise,
    workspace_alloc: hammock_workspace_alloc,
    workspace_free: hammock_workspace_free,
    call_global: hammock_call_global,
    raise_values: hammock_raise_values,
    launch: hammock_launch,
    device_workspace_alloc: hammock_device_workspace_alloc,
    device_workspace_free: hammock_device_workspace_free,
};

/// The functions by symbol name.
pub fn symbols() -> [(&'static str, *const c_void); 9] {
    [
        ("hammock_parallel_for", hammock_parallel_for as *const c_void),
        ("hammock_raise", hammock_raise as *const c_void),
        ("hammock_workspace_alloc", hammock_workspace_alloc as *const c_void),
        ("hammock_workspace_free", hammock_workspace_free as *const c_void),
        ("hammock_call_global", hammock_call_global as *const c_void),
        ("hammock_raise_values", hammock_raise_values as *const c_void),
        ("hammock_launch", hammock_launch as *const c_void),
        ("hammock_device_workspace_alloc", hammock_device_workspace_alloc as *const c_void),
        ("hammock_device_workspace_free", hammock_device_workspace_free as *const c_void),
    ]
}

/// Raises an error of `kind` whose message is the concatenation of `count` parts. Returns -1, for the caller to return.
///
/// # Safety
/// `kind` and the parts are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_raise(kind: *const c_char, parts: *const *const c_char, count: i32) -> i32 {
    // SAFETY: the caller passes C strings.
    let text = |part: *const c_char| unsafe { CStr::from_ptr(part) }.to_string_lossy();
    // SAFETY: the caller passes `count` parts.
    let message: String = (0..count.max(0) as usize).map(|i| text(unsafe { *parts.add(i) })).collect();
    raise(Error::new(text(kind).into_owned(), message))
}

/// Raises an error of `kind` whose message interleaves `count` values with `count + 1` parts. Returns -1.
///
/// # Safety
/// `kind` and the parts are C strings, and there are `count` values and `count + 1` parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_raise_values(
    kind: *const c_char,
    parts: *const *const c_char,
    values: *const i64,
    count: i32,
) -> i32 {
    // SAFETY: the caller passes C strings.
    let text = |part: *const c_char| unsafe { CStr::from_ptr(part) }.to_string_lossy();
    let mut message = String::new();
    for i in 0..count.max(0) as usize {
        // SAFETY: the caller passes `count` values and one more part.
        let (part, value) = unsafe { (*parts.add(i), *values.add(i)) };
        message += &text(part);
        message += &value.to_string();
    }
    // SAFETY: as above.
    message += &text(unsafe { *parts.add(count.max(0) as usize) });
    raise(Error::new(text(kind).into_owned(), message))
}

/// Allocates scratch memory for a kernel on the current thread, aligned to 64; null if there is none, or the program's
/// limit is exceeded.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_workspace_alloc(bytes: u64) -> *mut c_void {
    workspace::alloc(bytes).cast()
}

/// Releases scratch memory.
///
/// # Safety
/// `workspace` is the last allocation of [`hammock_workspace_alloc`] on this thread that has not been released, and is
/// no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_workspace_free(workspace: *mut c_void) {
    workspace::free(workspace.cast());
}

/// Calls the global function `name`: a registered one ([`crate::registry`]), otherwise a builtin. A kernel only sees a
/// result that is not an object.
///
/// # Safety
/// `name` is a C string, `args` points to `count` values and `result` to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_call_global(
    name: *const c_char,
    args: *const Any,
    count: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: the caller passes a C string and `count` values.
    let (name, args) = unsafe { (CStr::from_ptr(name).to_string_lossy(), arguments(args, count)) };
    let call = || {
        let builtin = || builtins::find(&name).map(Builtin::function);
        let function = registry::get(&name).or_else(builtin);
        let function = function.ok_or_else(|| Error::runtime(format!("there is no global function `{name}`")))?;
        let value = function.call(args)?;
        Ok(if value.type_index() >= index::OBJECT_BEGIN { Any::NONE } else { value })
    };
    // SAFETY: the caller passes an address for the result.
    unsafe { answer(result, call) }
}

#[cfg(test)]
mod tests {
    use super::super::take_raised;
    use super::*;

    #[test]
    fn global_functions_are_called_by_name() {
        let double = |args: &[Any]| Ok(Any::from(2 * args[0].get::<i64>().unwrap_or(0)));
        registry::register("test.symbols.double", crate::value::Function::new(double));
        let (args, mut result) = ([Any::from(21i64)], Any::NONE);
        // SAFETY: a C string, one value, and an address for the result.
        let mut call = |name: &CStr| unsafe { hammock_call_global(name.as_ptr(), args.as_ptr(), 1, &mut result) };
        assert_eq!(call(c"test.symbols.none"), -1);
        assert_eq!(take_raised().to_string(), "RuntimeError: there is no global function `test.symbols.none`");
        assert_eq!(call(c"test.symbols.double"), 0);
        assert_eq!(result.get::<i64>(), Some(42));
    }

    #[test]
    fn kernels_raise_messages_in_parts() {
        let parts = [c"expected ".as_ptr(), c"4".as_ptr()];
        // SAFETY: C strings, with the right count.
        assert_eq!(unsafe { hammock_raise(c"ValueError".as_ptr(), parts.as_ptr(), 2) }, -1);
        assert_eq!(take_raised().to_string(), "ValueError: expected 4");
    }

    #[test]
    fn kernels_raise_messages_with_values() {
        let parts = [c"index ".as_ptr(), c" of ".as_ptr(), c"!".as_ptr()];
        // SAFETY: C strings, with the right count.
        assert_eq!(unsafe { hammock_raise_values(c"IndexError".as_ptr(), parts.as_ptr(), [-1, 8].as_ptr(), 2) }, -1);
        assert_eq!(take_raised().to_string(), "IndexError: index -1 of 8!");
    }
}

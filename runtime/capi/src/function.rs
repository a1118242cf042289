//! Function values: callbacks in C, registered functions, and calls.
use crate::error::{status, take_error};
use crate::pointers::{text, value, values, write};
use crate::tensor::hammock_deleter;
use crate::value::strings;
use hammock_runtime::ffi::{SafeCall, kind};
use hammock_runtime::vm::Builtin;
use hammock_runtime::{Any, Error, Function, builtins, global_names, registry};
use std::ffi::{c_char, c_int, c_void};

/// A C function with its context.
struct Callback {
    call: SafeCall,
    context: *mut c_void,
    free: hammock_deleter,
}

// SAFETY: whoever creates a callback promises that any thread may call and free it.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    fn run(&self, args: &[Any]) -> Result<Any, Error> {
        drop(take_error());
        let mut result = Any::NONE;
        // SAFETY: whoever created the callback promises that it follows the convention.
        match unsafe { (self.call)(self.context, args.as_ptr(), args.len() as i32, &mut result) } {
            0 => into_owned(result),
            _ => Err(callback_error()),
        }
    }
}

/// Takes ownership of a C function's result: a borrowed value is copied.
pub(crate) fn into_owned(result: Any) -> Result<Any, Error> {
    if result.is_borrowed() { result.owned() } else { Ok(result) }
}

/// The error that a C function has stored.
pub(crate) fn callback_error() -> Error {
    take_error().unwrap_or_else(|| Error::new(kind::RUNTIME, "a C function failed without saying why"))
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the callback is dropped once, and its creator passed the context for this function.
            unsafe { free(self.context) };
        }
    }
}

/// Creates a function value that calls a C function with a context.
///
/// # Safety
/// `call` follows the convention, and any thread may call it and `free` with `context`; `function` is null or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_function(
    call: Option<SafeCall>,
    context: *mut c_void,
    free: hammock_deleter,
    function: *mut Any,
) -> c_int {
    status(|| {
        let call = call.ok_or_else(|| Error::value("`call` is null"))?;
        if function.is_null() {
            return Err(Error::value("`function` is null"));
        }
        let callback = Callback { call, context, free };
        // SAFETY: as the caller promises.
        unsafe { write(function, "function", Function::new(move |args| callback.run(args)).into()) }
    })
}

/// Calls a function value.
///
/// # Safety
/// `function` is null or a value; `args` is null or points to `count` values; `result` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_call(function: *const Any, args: *const Any, count: usize, result: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (function, args) = (callable(value(function, "function")?)?, values(args, count, "args")?);
        write_result(result, function.call(args)?)
    })
}

/// The function in a value.
pub(crate) fn callable(value: &Any) -> Result<&Function, Error> {
    value.get().ok_or_else(|| Error::type_error(format!("the value is {value}, not a function")))
}

/// Writes a result; null means that the caller does not want it.
///
/// # Safety
/// `destination` is null or valid for writes.
pub(crate) unsafe fn write_result(destination: *mut Any, result: Any) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    if destination.is_null() { Ok(()) } else { unsafe { write(destination, "result", result) } }
}

/// Registers a function for programs that are loaded from now on. Replaces a function of the same name.
///
/// # Safety
/// `name` is null or a C string; `function` is null or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_register(name: *const c_char, function: *const Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (name, function) = (text(name, "name")?, callable(value(function, "function")?)?);
        drop(registry::register(name, function.clone()));
        Ok(())
    })
}

/// Removes a function from the registry.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_unregister(name: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let name = text(name, "name")?;
        registry::unregister(name).map(drop).ok_or_else(|| unknown(name))
    })
}

/// Looks up a registered function or a builtin.
///
/// # Safety
/// `name` is null or a C string; `function` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_registered(name: *const c_char, function: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let name = text(name, "name")?;
        let builtin = || builtins().find(|builtin| builtin.name == name).map(Builtin::function);
        write(function, "function", registry::get(name).or_else(builtin).ok_or_else(|| unknown(name))?.into())
    })
}

/// The names of all registered functions and builtins: a tuple of strings.
///
/// # Safety
/// `names` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_registered_names(names: *mut Any) -> c_int {
    status(|| {
        let all = strings(&global_names());
        // SAFETY: as the caller promises.
        unsafe { write(names, "names", all) }
    })
}

fn unknown(name: &str) -> Error {
    Error::value(format!("nobody registered a function `{name}`"))
}

//! Functions as values: C's own, registered ones, and calling any.
use crate::error::{status, take};
use crate::pointers::{text, value, values, write};
use crate::tensor::hammock_deleter;
use crate::value::strings;
use hammock_runtime::ffi::{SafeCall, kind};
use hammock_runtime::vm::Builtin;
use hammock_runtime::{Any, Error, Function, builtins, registry};
use std::ffi::{c_char, c_int, c_void};

/// A C function with its context.
struct Callback {
    call: SafeCall,
    context: *mut c_void,
    free: hammock_deleter,
}

// SAFETY: whoever makes a function of a callback promises that any thread may call and free it.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    fn run(&self, args: &[Any]) -> Result<Any, Error> {
        drop(take());
        let mut result = Any::NONE;
        // SAFETY: whoever made the callback promises that it follows the convention.
        match unsafe { (self.call)(self.context, args.as_ptr(), args.len() as i32, &mut result) } {
            0 => own(result),
            _ => Err(failed()),
        }
    }
}

/// What a C function wrote. A result that is only lent becomes the runtime's own.
pub(crate) fn own(result: Any) -> Result<Any, Error> {
    if result.is_borrowed() { result.owned() } else { Ok(result) }
}

/// The error that a C function left behind.
pub(crate) fn failed() -> Error {
    take().unwrap_or_else(|| Error::new(kind::RUNTIME, "a C function failed without saying why"))
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: this is the end of the callback, and the context is what its maker gave.
            unsafe { free(self.context) };
        }
    }
}

/// A function value that calls a C function with a context.
///
/// # Safety
/// `call` follows the convention, and any thread may call it and `free` with `context`; `function` is null or has room.
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
/// `function` is null or a value; `args` is null or leads to `count` values; `result` is null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_call(function: *const Any, args: *const Any, count: usize, result: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (function, args) = (callable(value(function, "function")?)?, values(args, count, "args")?);
        give(result, function.call(args)?)
    })
}

/// The function in a value.
pub(crate) fn callable(value: &Any) -> Result<&Function, Error> {
    value.get().ok_or_else(|| Error::type_error(format!("the value is {value}, not a function")))
}

/// Writes a result; a null place means that nobody wants it.
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe fn give(place: *mut Any, result: Any) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    if place.is_null() { Ok(()) } else { unsafe { write(place, "result", result) } }
}

/// Makes a function known to programs loaded from now on. One known by that name is replaced.
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

/// Forgets a registered function.
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

/// A registered function, or one of the runtime's own.
///
/// # Safety
/// `name` is null or a C string; `function` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_registered(name: *const c_char, function: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let name = text(name, "name")?;
        let own = || builtins().find(|builtin| builtin.name == name).map(Builtin::function);
        write(function, "function", registry::get(name).or_else(own).ok_or_else(|| unknown(name))?.into())
    })
}

/// The names of all registered functions and of the runtime's own: a tuple of strings.
///
/// # Safety
/// `names` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_registered_names(names: *mut Any) -> c_int {
    status(|| {
        let mut all = registry::names();
        all.extend(builtins().map(|builtin| builtin.name.to_owned()));
        all.sort_unstable();
        all.dedup();
        // SAFETY: as the caller promises.
        unsafe { write(names, "names", strings(&all)) }
    })
}

fn unknown(name: &str) -> Error {
    Error::value(format!("nobody registered a function `{name}`"))
}

//! Observing a virtual machine: instruments in C, and instruments as TVM defines them.
use crate::error::{c_text, set_error, status, take_error};
use crate::function::{callable, callback_error, into_owned};
use crate::pointers::{reference, value};
use crate::tensor::hammock_deleter;
use crate::vm::hammock_vm;
use hammock_runtime::vm::instrument::{Action, Call, CalleeKind, Instrument};
use hammock_runtime::{Any, Error};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

/// A call as an instrument sees it. All pointers are valid until the instrument's function returns.
#[repr(C)]
pub struct hammock_event {
    function: *const c_char,
    callee: *const c_char,
    kind: i32,
    line: u32,
    file: *const c_char,
    instruction: u64,
    args: *const Any,
    count: usize,
    value: *const Any,
}

type Before = unsafe extern "C" fn(context: *mut c_void, call: *const hammock_event, instead: *mut Any) -> i32;
type After = unsafe extern "C" fn(context: *mut c_void, call: *const hammock_event, result: *const Any) -> i32;
type Border = unsafe extern "C" fn(context: *mut c_void, function: *const c_char);

/// Callbacks of an instrument; each may be null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hammock_instrument {
    context: *mut c_void,
    free: hammock_deleter,
    before: Option<Before>,
    after: Option<After>,
    enter: Option<Border>,
    leave: Option<Border>,
}

// SAFETY: whoever sets an instrument promises that any thread may call and free it.
unsafe impl Send for hammock_instrument {}
// SAFETY: as above.
unsafe impl Sync for hammock_instrument {}

/// An instrument that is attached to a virtual machine.
struct Watcher(hammock_instrument);

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(free) = self.0.free {
            // SAFETY: the instrument is dropped once, and its creator passed the context for this function.
            unsafe { free(self.0.context) };
        }
    }
}

impl Instrument for Watcher {
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        let Some(before) = self.0.before else { return Ok(Action::Run) };
        drop(take_error());
        let mut instead = Any::NONE;
        // SAFETY: whoever set the instrument promises that it follows the convention.
        match described(call, |event| unsafe { before(self.0.context, event, &mut instead) }) {
            0 => Ok(Action::Run),
            1 => into_owned(instead).map(Action::Skip),
            _ => Err(callback_error()),
        }
    }

    fn after(&self, call: &Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        let Some(after) = self.0.after else { return Ok(()) };
        drop(take_error());
        let result = match result {
            Ok(result) => &raw const *result,
            Err(error) => {
                set_error(Error::new(error.kind().to_owned(), error.message()));
                std::ptr::null()
            }
        };
        // SAFETY: as above.
        match described(call, |event| unsafe { after(self.0.context, event, result) }) {
            0 => Ok(()),
            _ => Err(callback_error()),
        }
    }

    fn enter(&self, function: &str) {
        self.border(self.0.enter, function);
    }

    fn leave(&self, function: &str) {
        self.border(self.0.leave, function);
    }
}

impl Watcher {
    fn border(&self, crossed: Option<Border>, function: &str) {
        if let Some(crossed) = crossed {
            // SAFETY: as above.
            unsafe { crossed(self.0.context, c_text(function).as_ptr()) };
        }
    }
}

/// Passes the description of a call to a C callback.
fn described(call: &Call<'_>, tell: impl FnOnce(&hammock_event) -> i32) -> i32 {
    let (function, callee) = (c_text(call.function), c_text(call.callee));
    let location = call.location();
    let file: Option<CString> = location.as_ref().map(|at| c_text(&at.file));
    tell(&hammock_event {
        function: function.as_ptr(),
        callee: callee.as_ptr(),
        kind: match call.kind {
            CalleeKind::Kernel => 0,
            CalleeKind::Builtin => 1,
            CalleeKind::Function => 2,
            CalleeKind::Registered => 3,
        },
        line: location.as_ref().map_or(0, |at| at.line),
        file: file.as_ref().map_or(std::ptr::null(), |file| file.as_ptr()),
        instruction: call.instruction as u64,
        args: call.args.as_ptr(),
        count: call.args.len(),
        value: call.value,
    })
}

/// Sets the instrument that is notified of every call; null removes it.
///
/// # Safety
/// `vm` is null or alive; `instrument` is null or points to functions that any thread may call with its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_watch(vm: *const hammock_vm, instrument: *const hammock_instrument) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let vm = &reference(vm, "vm")?.0;
        vm.set_instrument(instrument.as_ref().map(|given| Arc::new(Watcher(*given)) as _));
        Ok(())
    })
}

/// Sets the function that is notified of every call; null removes it.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_set_instrument(vm: *const hammock_vm, function: *const Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let vm = &reference(vm, "vm")?.0;
        if function.is_null() {
            vm.set_instrument(None);
        } else {
            vm.set_instrument(Some(Arc::new(callable(value(function, "function")?)?.clone())));
        }
        Ok(())
    })
}

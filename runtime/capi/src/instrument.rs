//! Observing a virtual machine: instruments in C, instruments as TVM defines them, and the profiler.
use crate::error::{c_text, infallible, set_error, status, take_error};
use crate::function::{callable, callback_error, into_owned};
use crate::pointers::{reference, text, value, write};
use crate::tensor::hammock_deleter;
use crate::vm::hammock_vm;
use hammock_runtime::profile::Profiler;
use hammock_runtime::vm::instrument::{Action, Call, CalleeKind, Instrument};
use hammock_runtime::{Any, Error, Str};
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

/// A profiler, shared with the virtual machines that it is attached to.
pub struct hammock_profiler(Arc<Profiler>);

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

/// Creates a profiler that records up to `most_events` individual calls for a trace.
///
/// # Safety
/// `profiler` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_new(most_events: usize, profiler: *mut *mut hammock_profiler) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(profiler, "profiler")?;
        write(profiler, "profiler", Box::into_raw(Box::new(hammock_profiler(Profiler::with_events(most_events)))))
    })
}

/// Attaches a profiler to a virtual machine; null detaches it.
///
/// # Safety
/// `vm` and `profiler` are null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_set_profiler(vm: *const hammock_vm, profiler: *const hammock_profiler) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let profiler = profiler.as_ref().map(|profiler| profiler.0.clone());
        reference(vm, "vm")?.0.set_instrument(profiler.map(|profiler| profiler as _));
        Ok(())
    })
}

/// Renders the collected profile as text.
///
/// # Safety
/// `profiler` is null or alive; `form` is null or a C string; `rendered` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_render(
    profiler: *const hammock_profiler,
    form: *const c_char,
    rendered: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let profile = reference(profiler, "profiler")?.0.profile();
        let out = match text(form, "form")? {
            "table" => profile.table(),
            "json" => profile.json(),
            "trace" => profile.trace(),
            "flame" => profile.flame_graph(),
            other => return Err(Error::value(format!("`{other}` is none of table, json, trace, flame"))),
        };
        write(rendered, "rendered", Str::new(&out).into())
    })
}

/// Clears the collected profile.
///
/// # Safety
/// `profiler` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_reset(profiler: *const hammock_profiler) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(profiler, "profiler")?.0.reset();
        Ok(())
    })
}

/// Releases a profiler. A virtual machine that uses it keeps its own reference.
///
/// # Safety
/// `profiler` is null, or was created here and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_free(profiler: *mut hammock_profiler) {
    if !profiler.is_null() {
        // SAFETY: not null, so it was boxed here and belongs to the caller.
        let profiler = unsafe { Box::from_raw(profiler) };
        infallible(|| drop(profiler));
    }
}

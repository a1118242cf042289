//! The profiler, and timing of functions.
use crate::error::{infallible, status};
use crate::pointers::{reference, text, values, write};
use crate::vm::{acquire, hammock_vm, placed};
use hammock_runtime::profile::Profiler;
use hammock_runtime::vm::evaluate::Evaluation;
use hammock_runtime::{Any, Error, Str};
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

/// A profiler, shared with the virtual machines that it is attached to.
pub struct hammock_profiler(Arc<Profiler>);

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

/// Options for timing a function.
#[repr(C)]
pub struct hammock_evaluation {
    number: usize,
    repeat: usize,
    min_repeat_ms: u64,
    cooldown_ms: u64,
}

/// Seconds per call, over the repeats.
#[repr(C)]
pub struct hammock_timings {
    mean: f64,
    median: f64,
    std: f64,
    min: f64,
    max: f64,
}

/// Times a function. If `seconds` is not null, it receives one figure per repeat.
///
/// # Safety
/// As for `hammock_vm_call`; `how` and `timings` are null or valid; `seconds` is null or has room for one figure per
/// repeat.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_time(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
    how: *const hammock_evaluation,
    timings: *mut hammock_timings,
    seconds: *mut f64,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function, how) = (acquire(vm)?, text(function, "function")?, reference(how, "how")?);
        let (min_repeat, cooldown) = (Duration::from_millis(how.min_repeat_ms), Duration::from_millis(how.cooldown_ms));
        let how = Evaluation { number: how.number, repeat: how.repeat, min_repeat, cooldown };
        let args = placed(&vm.0, function, values(args, count, "args")?)?;
        let found = vm.0.time(function, &args, &how)?;
        if !seconds.is_null() {
            seconds.copy_from_nonoverlapping(found.seconds().as_ptr(), found.seconds().len().min(how.repeat));
        }
        let (mean, median, std) = (found.mean(), found.median(), found.std());
        write(timings, "timings", hammock_timings { mean, median, std, min: found.min(), max: found.max() })
    })
}

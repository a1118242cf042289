//! Watching a machine: functions of TVM's form, and the profiler.
use crate::error::{quietly, status};
use crate::function::callable;
use crate::pointers::{reference, text, value, write};
use crate::vm::hammock_vm;
use hammock_runtime::profile::Profiler;
use hammock_runtime::{Any, Error, Str};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Where a model's time goes.
pub struct hammock_profiler(Arc<Profiler>);

/// Sets the function that sees every call; null for none.
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

/// Makes a profiler that keeps up to `most_events` calls one by one, for a trace.
///
/// # Safety
/// `profiler` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_new(most_events: usize, profiler: *mut *mut hammock_profiler) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(profiler, "profiler")?;
        write(profiler, "profiler", Box::into_raw(Box::new(hammock_profiler(Profiler::with_events(most_events)))))
    })
}

/// Sets the profiler that watches a machine; null for none.
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

/// What it has seen, as text.
///
/// # Safety
/// `profiler` is null or alive; `form` is null or a C string; `rendered` is null or has room for a value.
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

/// Gives up a profiler. A machine that it watches goes on with it.
///
/// # Safety
/// `profiler` is null or was made here and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_profiler_free(profiler: *mut hammock_profiler) {
    if !profiler.is_null() {
        // SAFETY: not null, so it was boxed here and is the caller's to give up.
        let profiler = unsafe { Box::from_raw(profiler) };
        quietly(|| drop(profiler));
    }
}

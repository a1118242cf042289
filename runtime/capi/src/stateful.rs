//! Calls in steps, results in given tensors, saved functions, timing.
use crate::error::status;
use crate::pointers::{array, reference, text, value, values, write};
use crate::vm::{hammock_vm, held};
use hammock_runtime::vm::evaluate::Evaluation;
use hammock_runtime::{Any, Error, Tensor};
use std::ffi::{c_char, c_int};
use std::time::Duration;

/// Sets all inputs of a function.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `args` is null or leads to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_set_inputs(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        vm.0.set_inputs(function, values(args, count, "args")?)
    })
}

/// Sets one input of a function by its parameter's name.
///
/// # Safety
/// `vm` is null or alive; `function` and `parameter` are null or C strings; `input` is null or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_set_input(
    vm: *const hammock_vm,
    function: *const c_char,
    parameter: *const c_char,
    input: *const Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        vm.0.set_input(function, text(parameter, "parameter")?, value(input, "input")?)
    })
}

/// Calls a function with the inputs set, and keeps its result.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_invoke_stateful(vm: *const hammock_vm, function: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { held(vm)?.0.invoke_stateful(text(function, "function")?) })
}

/// The kept result, or the part of it that a path of positions leads to.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `path` is null or leads to `depth` positions; `output` is
/// null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_output(
    vm: *const hammock_vm,
    function: *const c_char,
    path: *const usize,
    depth: usize,
    output: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        write(output, "output", vm.0.output(function, array(path, depth, "path")?)?)
    })
}

/// How many fields the kept result, or part of it, has; -1 if it is not a tuple.
///
/// # Safety
/// As for [`hammock_vm_output`]; `arity` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_output_arity(
    vm: *const hammock_vm,
    function: *const c_char,
    path: *const usize,
    depth: usize,
    arity: *mut i64,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        let fields = vm.0.output_arity(function, array(path, depth, "path")?)?;
        write(arity, "arity", fields.map_or(-1, |fields| fields as i64))
    })
}

/// Calls a function and copies the tensors of its result into given ones.
///
/// # Safety
/// As for `hammock_vm_call`; `outputs` is null or leads to `output_count` values, whose memory nobody else uses
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_call_into(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
    outputs: *const Any,
    output_count: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        let (args, outputs) = (values(args, count, "args")?, values(outputs, output_count, "outputs")?);
        let wrong = |value: &Any| Error::type_error(format!("an output must be a tensor, not {value}"));
        let tensor = |value: &Any| value.get::<Tensor>().ok_or_else(|| wrong(value));
        let outputs = outputs.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        vm.0.call_into(function, args, &outputs)
    })
}

/// Makes `saved` a function without parameters that calls `function` with `args`.
///
/// # Safety
/// As for `hammock_vm_call`; `saved` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_save_function(
    vm: *const hammock_vm,
    function: *const c_char,
    saved: *const c_char,
    args: *const Any,
    count: usize,
    include_return: c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function, saved) = (held(vm)?, text(function, "function")?, text(saved, "saved")?);
        vm.0.save_function(function, saved, values(args, count, "args")?, include_return != 0)
    })
}

/// How to time a function.
#[repr(C)]
pub struct hammock_evaluation {
    number: usize,
    repeat: usize,
    min_repeat_ms: u64,
    cooldown_ms: u64,
}

/// Seconds a call took, over the repeats.
#[repr(C)]
pub struct hammock_timings {
    mean: f64,
    median: f64,
    std: f64,
    min: f64,
    max: f64,
}

/// Times a function. `seconds` may be null; else it gets a figure for each repeat.
///
/// # Safety
/// As for `hammock_vm_call`; `how` and `timings` are null or have room; `seconds` is null or has room for as many
/// figures as there are repeats.
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
        let (vm, function, how) = (held(vm)?, text(function, "function")?, reference(how, "how")?);
        let (min_repeat, cooldown) = (Duration::from_millis(how.min_repeat_ms), Duration::from_millis(how.cooldown_ms));
        let how = Evaluation { number: how.number, repeat: how.repeat, min_repeat, cooldown };
        let found = vm.0.time(function, values(args, count, "args")?, &how)?;
        if !seconds.is_null() {
            seconds.copy_from_nonoverlapping(found.seconds().as_ptr(), found.seconds().len().min(how.repeat));
        }
        let (mean, median, std) = (found.mean(), found.median(), found.std());
        write(timings, "timings", hammock_timings { mean, median, std, min: found.min(), max: found.max() })
    })
}

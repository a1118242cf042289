//! Stateful calls (set inputs, invoke, get outputs), outputs in given tensors, saved functions.
use crate::error::status;
use crate::pointers::{array, text, value, values, write};
use crate::vm::{acquire, hammock_vm, placed};
use hammock_runtime::{Any, Error, Tensor};
use std::ffi::{c_char, c_int};

/// Sets all inputs of a function.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `args` is null or points to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_set_inputs(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        vm.0.set_inputs(function, values(args, count, "args")?)
    })
}

/// Sets one input of a function by parameter name.
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
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        vm.0.set_input(function, text(parameter, "parameter")?, value(input, "input")?)
    })
}

/// Calls a function with its inputs and stores the result.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_invoke_stateful(vm: *const hammock_vm, function: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { acquire(vm)?.0.invoke_stateful(text(function, "function")?) })
}

/// The stored result, or the part of it that a path of indices selects.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `path` is null or points to `depth` indices; `output` is
/// null or valid for writes.
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
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        write(output, "output", vm.0.output(function, array(path, depth, "path")?)?)
    })
}

/// Number of fields of the stored result or of a part of it; -1 if it is not a tuple.
///
/// # Safety
/// As for [`hammock_vm_output`]; `arity` is null or valid for writes.
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
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        let fields = vm.0.output_arity(function, array(path, depth, "path")?)?;
        write(arity, "arity", fields.map_or(-1, |fields| fields as i64))
    })
}

/// Calls a function and copies the tensors of its result into the given ones.
///
/// # Safety
/// As for `hammock_vm_call`; `outputs` is null or points to `output_count` values whose memory nobody else uses during
/// the call.
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
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        let (args, outputs) = (values(args, count, "args")?, values(outputs, output_count, "outputs")?);
        let wrong = |value: &Any| Error::type_error(format!("an output must be a tensor, not {value}"));
        let tensor = |value: &Any| value.get::<Tensor>().ok_or_else(|| wrong(value));
        let outputs = outputs.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        vm.0.call_into(function, &placed(&vm.0, function, args)?, &outputs)
    })
}

/// Defines `saved` as a function without parameters that calls `function` with `args`.
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
        let (vm, function, saved) = (acquire(vm)?, text(function, "function")?, text(saved, "saved")?);
        vm.0.save_function(function, saved, values(args, count, "args")?, include_return != 0)
    })
}

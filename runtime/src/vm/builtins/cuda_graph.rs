//! CUDA graphs: launches that are queued by one call of the driver. RewriteCUDAGraph makes the calls of these builtins.
use crate::ffi::{Error, launch};
use crate::value::{Any, Function, Shape, Tuple};
use crate::vm::current;
use crate::vm::program::Program;
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.cuda_graph.get_cached_alloc",
        get_cached_alloc(machine: &Any, allocate: &Any, index: i64) -> "Any",
        "Returns the storages that a function allocates; calls from outside that do not overlap share them."),
    builtin!("vm.builtin.cuda_graph.run_or_capture",
        run_or_capture(machine: &Any, function: &Any, args: &Tuple, index: i64, shape: Option<&Shape>) -> "Any",
        "Calls a function whose launches become one launch of a CUDA graph, which is kept by index and shape."),
];

fn get_cached_alloc(_machine: &Any, allocate: &Any, index: i64) -> Result<Any, Error> {
    current::with(|program| {
        if !program.is_on_device {
            return call(program, allocate, &[]);
        }
        program.graphs.within(program.id, |state| match state.allocations.get(&index) {
            Some(known) => Ok(known.clone()),
            None => {
                let made = call(program, allocate, &[])?;
                state.allocations.insert(index, made.clone());
                Ok(made)
            }
        })
    })
}

/// While an instrument is set, the function is called without a graph, so that the instrument sees its kernels.
fn run_or_capture(
    _machine: &Any,
    function: &Any,
    args: &Tuple,
    index: i64,
    shape: Option<&Shape>,
) -> Result<Any, Error> {
    current::with(|program| {
        let call = || call(program, function, args.as_slice());
        if !program.is_on_device || program.is_watched() {
            return call();
        }
        let (device, sizes) = (program.options.devices[0], shape.map_or(&[][..], |shape| shape));
        program.graphs.within(program.id, |state| launch::by_graph(device, state.graph(index, sizes), call))
    })
}

/// Calls a function as a part of the current call: its work on devices is not waited for.
fn call(program: &Program, callee: &Any, args: &[Any]) -> Result<Any, Error> {
    match callee.get::<&Function>() {
        Some(function) => function.call(args),
        None => current::within(program, None, |flag| program.enter_closure(callee, args, flag)),
    }
}

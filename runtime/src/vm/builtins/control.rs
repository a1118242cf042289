//! Conditions, closures, calls.
use super::order::scratch;
use crate::ffi::{Args, Error};
use crate::value::{Any, Callable, Closure, Function, Shape};
use crate::vm::condition::read_if_cond;
use crate::vm::current;
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.read_if_cond", read_if_cond(condition: &Any) -> "bool",
        "Reads a condition from a number or from a one-element integer or boolean tensor."),
    builtin!("vm.builtin.make_closure", make_closure(function: &Any; "last arguments…") -> "Closure",
        "Binds the last arguments of a function."),
    builtin!("vm.builtin.invoke_closure", invoke_closure(machine: &Any, function: &Any; "arguments…") -> "Any",
        "Calls a function or closure."),
    builtin!("vm.builtin.call_tir_dyn", call_tir_dyn(function: &Function; "arguments…, sizes: Shape") -> "Any",
        "Calls a kernel, appending the sizes of a shape to its arguments."),
];

fn make_closure(args: Args<'_>) -> Result<Any, Error> {
    let (callee, last) = (args.get::<&Any>(0)?, &args.values()[1..]);
    if let Some(closure) = callee.get::<&Closure>() {
        return Ok(closure.bind(last).into());
    }
    let function = args.get::<&Function>(0)?;
    // Binding more arguments to a bound function does not create a chain of functions.
    let (function, bound) = function.downcast().map_or((function, &[][..]), |b: &Bound| (&b.function, &b.last));
    let last = last.iter().chain(bound).cloned().collect();
    Ok(Function::from_callable(Bound { function: function.clone(), last }).into())
}

/// A native function with bound trailing arguments.
struct Bound {
    function: Function,
    last: Vec<Any>,
}

// SAFETY: see the other implementations of `Callable`.
unsafe impl Callable for Bound {
    const MARK: u8 = 2;

    fn call(&self, args: &[Any]) -> Result<Any, Error> {
        self.function.call(&args.iter().chain(&self.last).cloned().collect::<Vec<_>>())
    }
}

/// The virtual machine handles the program's own calls; this handles others.
fn invoke_closure(args: Args<'_>) -> Result<Any, Error> {
    current::invoke(args.get(1)?, &args.values()[2..])
}

fn call_tir_dyn(args: Args<'_>) -> Result<Any, Error> {
    let function = args.get::<&Function>(0)?;
    let last = args.len() - 1;
    let sizes = args.get::<&Shape>(last)?;
    let _scratch = scratch(sizes.len(), 2 * size_of::<Any>())?;
    let tensors = args.slice(1..last.max(1))?;
    let sizes = sizes.iter().map(|size| Any::from(*size));
    function.call(&tensors.iter().cloned().chain(sizes).collect::<Vec<_>>())
}

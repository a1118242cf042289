//! Constants that are computed at first use from smaller stored data.
use crate::ffi::{Args, Error};
use crate::memory::workspace::Workspace;
use crate::value::{Any, DType, Function, Shape, Storage, Tensor};
use crate::vm::current;
use crate::vm::program::Program;
use crate::vm::sizes::storage_bytes;
use crate::vm::{Builtin, builtin::builtin};
use std::rc::Rc;
use std::sync::PoisonError;

pub(super) const TABLE: &[Builtin] = &[builtin!("hammock.prepared",
    prepared(number: i64, kernel: &Function, shape: &Shape, dtype: DType; "data…: Tensor") -> "Tensor",
    "Returns the program's constant of that number; the first time, a kernel computes it from data.")];

fn prepared(args: Args<'_>) -> Result<Tensor, Error> {
    let number = args.get::<i64>(0)?;
    current::with(|program| {
        let known = program.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        // Threads that get here at once all compute it: waiting for another one, which may be interrupted, would be
        // worse.
        let made = prepare(program, args)?;
        let mut known = program.prepared.write().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(number).or_insert(made).clone())
    })
}

fn prepare(program: &Program, args: Args<'_>) -> Result<Tensor, Error> {
    let (kernel, shape, dtype) = (args.get::<&Function>(1)?, args.get::<&Shape>(2)?, args.get::<DType>(3)?);
    let block = program.allocator(0)?.alloc(storage_bytes(shape, dtype)?)?;
    let made = Storage::new(block).tensor(dtype, shape, 0)?;
    let mut given = args.slice(4..args.len())?.to_vec();
    given.push(Any::from(made.clone()));
    // The kernel's scratch memory is not retained.
    Rc::new(Workspace::new()).within(|| kernel.call(&given))?;
    // An error on a device must not leave a constant.
    if program.is_on_device {
        program.synchronize()?;
    }
    Ok(made.constant())
}

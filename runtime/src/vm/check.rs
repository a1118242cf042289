//! Checks of values against annotations, as separate steps.
use super::decode::value;
use super::program::Program;
use super::registers::Registers;
use crate::executable::compact::{CheckPlan, MatchSize, Matching, PlanArg, Size, Slot};
use crate::ffi::{self, Error, kind};
use crate::value::{Any, Shape, Tensor};

/// Returns true if a value matches a plan. Sizes before a mismatch are stored to the heap.
#[inline]
pub(super) fn holds(frame: &Registers<'_>, slot: Slot, heap: Slot, plan: u32) -> bool {
    let value = frame.get(slot);
    match &frame.body.checks[plan as usize].matching {
        Matching::Tensor { ndim, dtype } => value.get::<&Tensor>().is_some_and(|tensor| {
            let dl = tensor.as_dl();
            (*ndim == -1 || *ndim == i64::from(dl.ndim)) && dtype.is_none_or(|dtype| dtype == dl.dtype)
        }),
        Matching::Shape(expected) => {
            let sizes = match (value.get::<&Tensor>(), value.get::<&Shape>()) {
                (Some(tensor), _) => tensor.shape(),
                (_, Some(shape)) => shape.as_slice(),
                _ => return false,
            };
            let matches = |(expected, size): (&MatchSize, &i64)| match *expected {
                MatchSize::Any => true,
                MatchSize::Equal(Size::Static(expected)) => *size == expected,
                MatchSize::Equal(Size::Heap(index)) => frame.heap(heap, index).is_some_and(|address| {
                    // SAFETY: an address in a heap, which belongs to one call of one function and is only used by its
                    // thread.
                    unsafe { address.read() == *size }
                }),
                // Constants may be in read-only memory.
                MatchSize::Store(_) if frame.get(heap).get::<&Tensor>().is_some_and(Tensor::is_read_only) => false,
                // A size is never negative: proofs about the program rely on it.
                MatchSize::Store(_) if *size < 0 => false,
                MatchSize::Store(index) => frame.heap(heap, index).is_some_and(|address| {
                    // SAFETY: as above.
                    unsafe { address.write(*size) };
                    true
                }),
            };
            sizes.len() == expected.len() && expected.iter().zip(sizes).all(matches)
        }
    }
}

/// Makes the call that a check replaces, to get its error message.
#[cold]
pub(super) fn explain(program: &Program, frame: &Registers<'_>, plan: u32) -> Result<(), Error> {
    let CheckPlan { function, args, .. } = &frame.body.checks[plan as usize];
    let arg = |arg: &PlanArg| match *arg {
        PlanArg::Slot(slot) => frame.get(slot).clone(),
        PlanArg::Fixed(arg) => value(&program.values, &program.constants, arg),
    };
    let args: Vec<Any> = args.iter().map(arg).collect();
    let Some(native) = &program.natives[*function as usize] else {
        return Err(Error::new(kind::INTERNAL, "a check is not a function of the runtime"));
    };
    // SAFETY: the program owns its native functions, which follow the convention.
    unsafe { ffi::invoke(native.callee.call, native.callee.handle, &args) }.map(drop)
}

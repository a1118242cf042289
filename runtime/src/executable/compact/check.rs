//! Checks of values: steps for `check_tensor_info` and `match_shape`.
use super::super::{Arg, Constant, Executable};
use super::{Size, Slot};
use crate::value::DType;

/// Plan of a check, with the call it replaces. If the check fails, the call is made and reports the error.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckPlan {
    /// Index of the builtin in the function table.
    pub function: u32,
    /// All its arguments.
    pub args: Vec<PlanArg>,
    /// The condition.
    pub matching: Matching,
}

/// An argument of a call on a slow path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlanArg {
    /// The value of a slot.
    Slot(Slot),
    /// A constant or immediate.
    Fixed(Arg),
}

/// Condition on a value.
#[expect(missing_docs, reason = "the variants say it")]
#[derive(Debug, Clone, PartialEq)]
pub enum Matching {
    /// A tensor of this rank (-1: any) and dtype.
    Tensor { ndim: i64, dtype: Option<DType> },
    /// A tensor or shape with these sizes.
    Shape(Vec<MatchSize>),
}

impl Matching {
    /// Returns true if it reads or writes the shape heap.
    pub(super) fn uses_heap(&self) -> bool {
        let uses = |size: &MatchSize| matches!(size, MatchSize::Store(_) | MatchSize::Equal(Size::Heap(_)));
        matches!(self, Matching::Shape(sizes) if sizes.iter().any(uses))
    }
}

/// Condition on a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatchSize {
    /// Equal to a known size.
    Equal(Size),
    /// Any size, which is stored at this index of the shape heap.
    Store(u32),
    /// Any size.
    Any,
}

/// The condition that a call of `check_tensor_info` checks.
pub(super) fn tensor(executable: &Executable, args: &[Arg]) -> Option<Matching> {
    match *args {
        [Arg::Register(_), Arg::Immediate(ndim), Arg::Constant(dtype), _] => {
            let Constant::DType(dtype) = executable.constants[dtype as usize] else { return None };
            Some(Matching::Tensor { ndim, dtype: Some(dtype) })
        }
        [Arg::Register(_), Arg::Immediate(ndim), _] => Some(Matching::Tensor { ndim, dtype: None }),
        _ => None,
    }
}

/// The condition that a call of `match_shape` checks.
pub(super) fn shape(args: &[Arg]) -> Option<Matching> {
    let [Arg::Register(_), Arg::Register(_), Arg::Immediate(count), codes @ .., _] = args else { return None };
    let sizes = codes.chunks_exact(2).map(|pair| {
        let [Arg::Immediate(code), Arg::Immediate(number)] = *pair else { return None };
        let index = u32::try_from(number).ok();
        match code {
            0 => Some(MatchSize::Equal(Size::Static(number))),
            1 => index.map(MatchSize::Store),
            2 => Some(MatchSize::Any),
            3 => index.map(|index| MatchSize::Equal(Size::Heap(index))),
            _ => None,
        }
    });
    let sizes: Vec<_> = sizes.collect::<Option<_>>()?;
    (codes.len() % 2 == 0 && sizes.len() as i64 == *count).then_some(Matching::Shape(sizes))
}

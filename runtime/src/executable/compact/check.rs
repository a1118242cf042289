//! Checks of values: the steps for `check_tensor_info` and `match_shape`.
use super::super::{Arg, Constant, Executable};
use super::{Size, Slot};
use crate::value::DType;

/// A check, and the call it stands for, which is made when the check fails: it finds out what to say.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckPlan {
    /// The builtin, by index of the function table.
    pub function: u32,
    /// All its arguments.
    pub args: Vec<PlanArg>,
    /// What is checked.
    pub matching: Matching,
}

/// An argument of a call that is seldom made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlanArg {
    /// What a register holds.
    Slot(Slot),
    /// What holds for the whole program.
    Fixed(Arg),
}

/// What a value must be.
#[expect(missing_docs, reason = "the variants say it")]
#[derive(Debug, Clone, PartialEq)]
pub enum Matching {
    /// A tensor of this rank (-1: any) and type.
    Tensor { ndim: i64, dtype: Option<DType> },
    /// A tensor or shape whose sizes are these.
    Shape(Vec<MatchSize>),
}

impl Matching {
    /// Does it read or write the heap of sizes?
    pub(super) fn uses_heap(&self) -> bool {
        let uses = |size: &MatchSize| matches!(size, MatchSize::Store(_) | MatchSize::Equal(Size::Heap(_)));
        matches!(self, Matching::Shape(sizes) if sizes.iter().any(uses))
    }
}

/// What a size must be, or is kept as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatchSize {
    /// Equal to this.
    Equal(Size),
    /// Anything; it goes to this place of the heap.
    Store(u32),
    /// Anything.
    Any,
}

/// What a call of `check_tensor_info` checks.
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

/// What a call of `match_shape` checks.
pub(super) fn shape(args: &[Arg]) -> Option<Matching> {
    let [Arg::Register(_), Arg::Register(_), Arg::Immediate(count), codes @ .., _] = args else { return None };
    let sizes = codes.chunks_exact(2).map(|pair| {
        let [Arg::Immediate(code), Arg::Immediate(number)] = *pair else { return None };
        let place = u32::try_from(number).ok();
        match code {
            0 => Some(MatchSize::Equal(Size::Static(number))),
            1 => place.map(MatchSize::Store),
            2 => Some(MatchSize::Any),
            3 => place.map(|place| MatchSize::Equal(Size::Heap(place))),
            _ => None,
        }
    });
    let sizes: Vec<_> = sizes.collect::<Option<_>>()?;
    (codes.len() % 2 == 0 && sizes.len() as i64 == *count).then_some(Matching::Shape(sizes))
}

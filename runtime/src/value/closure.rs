//! Closures: a function of a program and its last arguments.
use super::object::{Cell, Ref};
use super::{Any, drop_nested, index};
use std::fmt;

/// The cell of a closure: which program, which of its functions, the arguments bound to its last parameters.
pub struct ClosureCell {
    program: u64,
    function: u32,
    bound: Vec<Any>,
}

// SAFETY: the index is Hammock's own, and only `Closure::new` makes such objects.
unsafe impl Cell for ClosureCell {
    const TYPE_INDEX: i32 = index::CLOSURE;
}

impl Drop for ClosureCell {
    fn drop(&mut self) {
        drop_nested(std::mem::take(&mut self.bound).into_iter());
    }
}

/// A closure value. Cheap to clone. It does not keep its program alive; the machine that runs the program checks
/// that the closure is the program's own.
#[derive(Clone)]
#[repr(transparent)]
pub struct Closure(pub(super) Ref<ClosureCell>);

impl Closure {
    /// Function number `function` of the program with identity `program`, its last parameters bound.
    pub fn new(program: u64, function: u32, bound: Vec<Any>) -> Closure {
        Closure(Ref::allocate::<(), u8>(0, |_| (ClosureCell { program, function, bound }, ())))
    }

    /// Identity of the program.
    pub fn program(&self) -> u64 {
        self.0.program
    }

    /// Number of the function in its program.
    pub fn function(&self) -> u32 {
        self.0.function
    }

    /// Values of the last parameters.
    pub fn bound(&self) -> &[Any] {
        &self.0.bound
    }

    /// The closure that has `last` bound as well: they go before those bound already, which stay the last.
    pub fn bind(&self, last: &[Any]) -> Closure {
        let bound = last.iter().chain(self.bound()).cloned().collect();
        Closure::new(self.program(), self.function(), bound)
    }
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Closure(function {}, {} bound)", self.function(), self.bound().len())
    }
}

//! Closures: a function of a program with bound trailing arguments.
use super::object::{Cell, Ref};
use super::{Any, drop_nested, index};
use std::fmt;

/// The cell of a closure: the program, the function, and the values bound to its last parameters.
pub struct ClosureCell {
    program: u64,
    function: u32,
    bound: Vec<Any>,
}

// SAFETY: the type index belongs to Hammock, and only `Closure::new` creates such objects.
unsafe impl Cell for ClosureCell {
    const TYPE_INDEX: i32 = index::CLOSURE;
}

impl Drop for ClosureCell {
    fn drop(&mut self) {
        drop_nested(std::mem::take(&mut self.bound).into_iter());
    }
}

/// A closure value. Cheap to clone. It does not keep its program alive; the virtual machine that calls it checks that
/// it belongs to the machine's program.
#[derive(Clone)]
#[repr(transparent)]
pub struct Closure(pub(super) Ref<ClosureCell>);

impl Closure {
    /// A closure of function `function` of the program with identity `program`.
    pub fn new(program: u64, function: u32, bound: Vec<Any>) -> Closure {
        Closure(Ref::allocate::<(), u8>(0, |_| (ClosureCell { program, function, bound }, ())))
    }

    /// Identity of the program.
    pub fn program(&self) -> u64 {
        self.0.program
    }

    /// Index of the function in its program.
    pub fn function(&self) -> u32 {
        self.0.function
    }

    /// Values of the last parameters.
    pub fn bound(&self) -> &[Any] {
        &self.0.bound
    }

    /// Returns a closure with `last` bound before the values that are bound already.
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

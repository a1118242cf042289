//! Floating-point state of a thread: rounding mode, treatment of subnormal numbers (denormals), and traps.
//!
//! The state is a register of each thread that any code may change, so the same kernel would give different results
//! depending on the thread that runs it. A call of a program therefore sets a state of its own on every thread that
//! works for it: IEEE 754's default, optionally with subnormal numbers flushed to zero ([`Options::flush_denormals`]).
//! The caller's state is restored when the call returns.
//!
//! [`Options::flush_denormals`]: crate::vm::Options::flush_denormals

use crate::arch::{Arch, Host};

/// Control bits of the register, without the exception flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatState(u64);

/// Restores a thread's previous state on drop.
#[must_use]
pub(crate) struct Restore(Option<u64>);

/// Reads the register; Miri has none.
#[inline]
fn read() -> u64 {
    if cfg!(miri) { Host::FLOAT_IEEE } else { Host::float_state() }
}

/// Writes the register.
#[inline]
fn write(state: u64) {
    if !cfg!(miri) {
        Host::set_float_state(state);
    }
}

impl FloatState {
    /// IEEE 754's default: round to nearest, gradual underflow, no traps.
    pub(crate) const IEEE: FloatState = FloatState(Host::FLOAT_IEEE);
    /// IEEE 754's default with subnormal operands and results flushed to zero.
    pub(crate) const FLUSH: FloatState = FloatState(Host::FLOAT_IEEE | Host::FLOAT_FLUSH);

    /// A state in which most code misbehaves: rounds up, and traps on inexact results.
    #[cfg(all(test, target_arch = "x86_64", not(miri)))]
    pub(crate) const HOSTILE: FloatState = FloatState(0x4000 | Host::FLOAT_FLUSH);

    /// The current thread's state.
    #[inline]
    pub(crate) fn current() -> FloatState {
        FloatState(read() & Host::FLOAT_CONTROL)
    }

    /// Sets the thread's state until the result is dropped; nearly free if the thread has it already.
    #[inline]
    pub(crate) fn enter(self) -> Restore {
        let before = read();
        if before & Host::FLOAT_CONTROL == self.0 {
            return Restore(None);
        }
        write(self.0);
        Restore(Some(before))
    }
}

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            write(before);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// A quarter of the smallest normal number.
    fn subnormal() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.25)
    }

    #[test]
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), ignore = "there is no register")]
    fn states_nest_and_end() {
        assert_eq!(FloatState::current(), FloatState::IEEE);
        let flush = FloatState::FLUSH.enter();
        assert_eq!((subnormal(), FloatState::current()), (0.0, FloatState::FLUSH));
        let ieee = FloatState::IEEE.enter();
        assert!(subnormal() > 0.0);
        drop(ieee);
        assert_eq!(subnormal(), 0.0);
        drop(flush);
        assert!(subnormal() > 0.0);
    }
}

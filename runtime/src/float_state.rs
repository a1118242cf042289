//! Floating-point state of a thread: rounding mode, treatment of subnormal numbers (denormals), and traps.
//!
//! The state is a register of each thread that any code may change, so the same kernel would give different results
//! depending on the thread that runs it. A call of a program therefore sets a state of its own on every thread that
//! works for it: IEEE 754's default, optionally with subnormal numbers flushed to zero ([`Options::flush_denormals`]).
//! The caller's state is restored when the call returns.
//!
//! [`Options::flush_denormals`]: crate::vm::Options::flush_denormals

/// Control bits of the register, without the exception flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatState(u64);

/// Restores a thread's previous state on drop.
#[must_use]
pub(crate) struct Restore(Option<u64>);

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod register {
    use std::arch::asm;

    /// All control bits: denormals-are-zero, trap masks, rounding mode, flush-to-zero.
    pub(super) const CONTROL: u64 = 0xFFC0;
    /// All traps masked, round to nearest.
    pub(super) const IEEE: u64 = 0x1F80;
    /// Flush-to-zero and denormals-are-zero.
    pub(super) const FLUSH: u64 = 1 << 15 | 1 << 6;

    pub(super) fn read() -> u64 {
        let mut mxcsr = 0u32;
        // SAFETY: the instruction writes its operand, 4 bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr.into()
    }

    pub(super) fn write(state: u64) {
        let mxcsr = state as u32;
        // SAFETY: the instruction reads its operand; no reserved bit is set in a value that was read or is a constant
        // here. Until the state is restored, no code runs that was compiled for another rounding mode or for traps.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags)) };
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod register {
    use std::arch::asm;

    /// Rounding mode, flush-to-zero (also for 16 bits), default NaNs, enabled traps.
    pub(super) const CONTROL: u64 = 0x07C8_9F07;
    pub(super) const IEEE: u64 = 0;
    pub(super) const FLUSH: u64 = 1 << 24;

    pub(super) fn read() -> u64 {
        let fpcr: u64;
        // SAFETY: reading the register has no other effect.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        fpcr
    }

    pub(super) fn write(state: u64) {
        // SAFETY: until the state is restored, no code runs that was compiled for another rounding mode or for traps.
        unsafe { asm!("msr fpcr, {}", in(reg) state, options(nostack, preserves_flags)) };
    }
}

/// Elsewhere threads keep their state.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod register {
    pub(super) const CONTROL: u64 = 0;
    pub(super) const IEEE: u64 = 0;
    pub(super) const FLUSH: u64 = 0;

    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn write(_state: u64) {}
}

impl FloatState {
    /// IEEE 754's default: round to nearest, gradual underflow, no traps.
    pub(crate) const IEEE: FloatState = FloatState(register::IEEE);
    /// IEEE 754's default with subnormal operands and results flushed to zero.
    pub(crate) const FLUSH: FloatState = FloatState(register::IEEE | register::FLUSH);

    /// A state in which most code misbehaves: rounds up, and traps on inexact results.
    #[cfg(all(test, target_arch = "x86_64", not(miri)))]
    pub(crate) const HOSTILE: FloatState = FloatState(0x4000 | register::FLUSH);

    /// The current thread's state.
    #[inline]
    pub(crate) fn current() -> FloatState {
        FloatState(register::read() & register::CONTROL)
    }

    /// Sets the thread's state until the result is dropped; nearly free if the thread has it already.
    #[inline]
    pub(crate) fn enter(self) -> Restore {
        let before = register::read();
        if before & register::CONTROL == self.0 {
            return Restore(None);
        }
        register::write(self.0);
        Restore(Some(before))
    }
}

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            register::write(before);
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

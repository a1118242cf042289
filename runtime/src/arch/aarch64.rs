//! AArch64: no CPU features are named yet, so its code may only use the baseline.

use std::arch::asm;

/// The family of AArch64; its floating-point state is the register FPCR.
pub(crate) struct Aarch64;

impl super::Arch for Aarch64 {
    const ELF_MACHINE: u16 = 183;
    const RELATIVE_RELOCATION: u32 = 1027;
    const SYMBOL_RELOCATION: u32 = 257;

    fn detect_features() -> u64 {
        0
    }

    /// Rounding mode, flush-to-zero (also for 16 bits), default NaNs, enabled traps.
    const FLOAT_CONTROL: u64 = 0x07C8_9F07;
    const FLOAT_IEEE: u64 = 0;
    const FLOAT_FLUSH: u64 = 1 << 24;

    #[inline]
    fn float_state() -> u64 {
        let fpcr: u64;
        // SAFETY: reading the register has no other effect.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        fpcr
    }

    #[inline]
    fn set_float_state(state: u64) {
        // SAFETY: until the state is restored, no code runs that was compiled for another rounding mode or for traps.
        unsafe { asm!("msr fpcr, {}", in(reg) state, options(nostack, preserves_flags)) };
    }
}

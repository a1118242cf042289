//! x86-64.

/// Declares features by LLVM's names, with Rust's where they differ, and their detection.
macro_rules! features {
    ($($name:tt $(= $rust:tt)?),* $(,)?) => {
        /// Names of CPU features beyond plain x86-64, as LLVM writes them. Executables refer to them by index: new ones
        /// go to the end.
        pub const FEATURES: &[&str] = &[$($name),*];

        #[cfg(target_arch = "x86_64")]
        fn detected() -> u64 {
            let mut set = 0;
            let mut bit = 0;
            $(
                set |= u64::from(features!(@detect $name $($rust)?)) << bit;
                bit += 1;
            )*
            debug_assert!(bit <= 64);
            set
        }
    };
    (@detect $name:tt) => { is_x86_feature_detected!($name) };
    (@detect $name:tt $rust:tt) => { is_x86_feature_detected!($rust) };
}

// Features that code generators use on their own; those only reached through dedicated intrinsics (AES, SHA) are
// absent.
features!(
    "sse4.1",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
    "avxvnni",
    "avx512bf16",
    "sse3",
    "ssse3",
    "sse4.2",
    "sse4a",
    "popcnt",
    "lzcnt",
    "bmi" = "bmi1",
    "bmi2",
    "tbm",
    "movbe",
    "gfni",
    "avx512cd",
    "avx512ifma",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512bitalg",
    "avx512vpopcntdq",
    "avx512fp16",
    "avxifma",
    "avxneconvert",
    "avxvnniint8",
    "avxvnniint16",
);

/// The family of x86-64; its floating-point state is the register MXCSR.
#[cfg(target_arch = "x86_64")]
pub(crate) struct X86_64;

#[cfg(target_arch = "x86_64")]
impl super::Arch for X86_64 {
    const ELF_MACHINE: u16 = 62;
    const RELATIVE_RELOCATION: u32 = 8;
    const SYMBOL_RELOCATION: u32 = 1;

    fn detect_features() -> u64 {
        detected()
    }

    /// All control bits: denormals-are-zero, trap masks, rounding mode, flush-to-zero.
    const FLOAT_CONTROL: u64 = 0xFFC0;
    /// All traps masked, round to nearest.
    const FLOAT_IEEE: u64 = 0x1F80;
    /// Flush-to-zero and denormals-are-zero.
    const FLOAT_FLUSH: u64 = 1 << 15 | 1 << 6;

    #[inline]
    fn float_state() -> u64 {
        let mut mxcsr = 0u32;
        // SAFETY: the instruction writes its operand, 4 bytes.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr.into()
    }

    #[inline]
    fn set_float_state(state: u64) {
        let mxcsr = state as u32;
        // SAFETY: the instruction reads its operand; no reserved bit is set in a value that was read or is a constant
        // here. Until the state is restored, no code runs that was compiled for another rounding mode or for traps.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags)) };
    }
}

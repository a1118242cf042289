//! Processor families: the properties of the family that the runtime is compiled for.
//!
//! Each family is a file here that implements [`Arch`]; [`Host`] is the family of this build. The rest of the runtime
//! is portable. Names of CPU features, so far only of x86-64, are the same on every host: compilers need those of the
//! families that they generate code for.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::Aarch64 as Host;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::Other as Host;
pub use x86_64::FEATURES;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::X86_64 as Host;

/// A processor family.
pub(crate) trait Arch {
    /// Machine number (`e_machine`) of its ELF files.
    const ELF_MACHINE: u16;
    /// Kind of the relocation of an 8-byte field to where the library is loaded.
    const RELATIVE_RELOCATION: u32;
    /// Kind of the relocation of an 8-byte field to a symbol.
    const SYMBOL_RELOCATION: u32;

    /// Returns the features of this machine, as a bit mask over [`FEATURES`].
    fn detect_features() -> u64;

    /// Control bits of the register with a thread's floating-point state, without the exception flags.
    const FLOAT_CONTROL: u64;
    /// IEEE 754's default: round to nearest, gradual underflow, no traps.
    const FLOAT_IEEE: u64;
    /// Bits that flush subnormal operands and results to zero.
    const FLOAT_FLUSH: u64;

    /// Returns this thread's floating-point state.
    fn float_state() -> u64;

    /// Sets this thread's floating-point state.
    fn set_float_state(state: u64);
}

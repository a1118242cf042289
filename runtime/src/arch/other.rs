//! Families without a file of their own: bytecode runs, but no machine code can be loaded, no CPU features are
//! detected, and threads keep their floating-point state.

/// A family that the runtime does not know.
pub(crate) struct Other;

impl super::Arch for Other {
    /// No machine: no library is for it.
    const ELF_MACHINE: u16 = 0;
    const RELATIVE_RELOCATION: u32 = u32::MAX;
    const SYMBOL_RELOCATION: u32 = u32::MAX;

    fn detect_features() -> u64 {
        0
    }

    const FLOAT_CONTROL: u64 = 0;
    const FLOAT_IEEE: u64 = 0;
    const FLOAT_FLUSH: u64 = 0;

    fn float_state() -> u64 {
        0
    }

    fn set_float_state(_state: u64) {}
}

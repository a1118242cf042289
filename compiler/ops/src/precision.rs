//! Classes of operators for mixed precision (`ToMixedPrecision`).

/// Behaviour of an operator under mixed precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Computes in 16 bits: it gains the most, and accumulates in a wider type.
    Always,
    /// Computes in 16 bits if all its operands are 16 bits already.
    Follow,
    /// Requires its operands' dtypes as in the program.
    #[default]
    Never,
}

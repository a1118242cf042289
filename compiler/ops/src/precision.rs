//! Which operators compute in 16 bits when `ToMixedPrecision` asks for it.

/// What an operator does in a program of mixed precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Its floats become 16 bits wide: it gains the most, and adds up in a wider type.
    Always,
    /// It stays in 16 bits when all its operands are there already.
    Follow,
    /// It needs the dtypes that the program gives its operands.
    #[default]
    Never,
}

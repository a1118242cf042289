//! Comparisons of `setp` and `set`, and `testp`.
use super::Type;

/// Comparison operators of `setp` and `set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Lo,
    Ls,
    Hi,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

impl Comparison {
    /// Returns the comparison of a suffix without its dot.
    pub fn parse(name: &str) -> Option<Comparison> {
        todo!("{name}")
    }
}

/// Properties that `testp` tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TestProperty {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl TestProperty {
    /// Returns the property of a suffix without its dot.
    pub fn parse(name: &str) -> Option<TestProperty> {
        todo!("{name}")
    }
}

/// Checks that PTX has the comparison for the type.
///
/// # Errors
/// Names what is wrong.
pub fn check_comparison(comparison: Comparison, ty: Type, ftz: bool) -> Result<(), String> {
    todo!("{comparison:?} {ty:?} {ftz}")
}

/// Compares values of a type that is not packed. Of `f16x2` compare the halves: shift by 16 bits and use [`Type::half`].
pub fn compare(comparison: Comparison, ty: Type, ftz: bool, a: u64, b: u64) -> bool {
    todo!("{comparison:?} {ty:?} {ftz} {a} {b}")
}

/// Tests a property of an `f32` or `f64`.
pub fn testp(property: TestProperty, ty: Type, a: u64) -> bool {
    todo!("{property:?} {ty:?} {a}")
}

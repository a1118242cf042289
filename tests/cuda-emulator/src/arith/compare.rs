//! Comparisons of `setp` and `set`, and `testp`.
use std::cmp::Ordering;

use super::format::Format;
use super::{Type, integer};

macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $enum { $(#[doc = concat!("`.", $name, "`")] $variant,)* }

        impl $enum {
            /// Returns the value of a suffix without its dot.
            pub fn parse(name: &str) -> Option<$enum> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }

            /// The suffix without its dot.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// Comparison operators of `setp` and `set`.
    Comparison {
        Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", Lo "lo", Ls "ls", Hi "hi", Hs "hs", Equ "equ",
        Neu "neu", Ltu "ltu", Leu "leu", Gtu "gtu", Geu "geu", Num "num", Nan "nan",
    }
}

named! {
    /// Properties that `testp` tests.
    TestProperty {
        Finite "finite", Infinite "infinite", Number "number", NotANumber "notanumber", Normal "normal",
        Subnormal "subnormal",
    }
}

/// Checks that PTX has the comparison for the type.
///
/// # Errors
/// Names what is wrong.
pub fn check_comparison(comparison: Comparison, ty: Type, ftz: bool) -> Result<(), String> {
    use Comparison::*;
    let known = match comparison {
        Eq | Ne => ty != Type::B8 && ty.bits() >= 16 && ty.bits() <= 64,
        Lt | Le | Gt | Ge => ty.is_float() || ty.is_integer() && ty.bits() >= 16,
        Lo | Ls | Hi | Hs => ty.is_integer() && !ty.is_signed() && ty.bits() >= 16,
        _ => ty.is_float(),
    };
    use Type::{E4M3, E4M3x2, E5M2, E5M2x2, S16x2, TF32, U16x2};
    let has_type = !matches!(ty, TF32 | E4M3 | E5M2 | E4M3x2 | E5M2x2 | U16x2 | S16x2);
    if !known || !has_type {
        return Err(format!("comparison .{} of type .{}", comparison.name(), ty.name()));
    }
    if ftz && !matches!(ty, Type::F32 | Type::F16 | Type::F16x2) {
        return Err(format!(".ftz of a comparison of type .{}", ty.name()));
    }
    Ok(())
}

/// Compares values of a type that is not packed. Of `f16x2` compare the halves: shift by 16 bits and use [`Type::half`].
pub fn compare(comparison: Comparison, ty: Type, ftz: bool, a: u64, b: u64) -> bool {
    use Comparison::*;
    let order = if ty.is_float() { float_order(ty, ftz, a, b) } else { Some(integer_order(ty, a, b)) };
    match comparison {
        Eq => order == Some(Ordering::Equal),
        // The ordered one: false for NaN.
        Ne => matches!(order, Some(Ordering::Less | Ordering::Greater)),
        Lt | Lo => order == Some(Ordering::Less),
        Le | Ls => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Gt | Hi => order == Some(Ordering::Greater),
        Ge | Hs => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Equ => matches!(order, None | Some(Ordering::Equal)),
        Neu => order != Some(Ordering::Equal),
        Ltu => matches!(order, None | Some(Ordering::Less)),
        Leu => order != Some(Ordering::Greater),
        Gtu => matches!(order, None | Some(Ordering::Greater)),
        Geu => order != Some(Ordering::Less),
        Num => order.is_some(),
        Nan => order.is_none(),
    }
}

fn integer_order(ty: Type, a: u64, b: u64) -> Ordering {
    integer::value(ty, a).cmp(&integer::value(ty, b))
}

/// The order of two floats; zeros of both signs are equal.
fn float_order(ty: Type, ftz: bool, a: u64, b: u64) -> Option<Ordering> {
    let format = Format::of(ty);
    let key = |bits: u64| {
        let bits = bits & ty.mask();
        let bits = if ftz { format.flush(bits) } else { bits };
        let magnitude = (bits & (format.sign_bit() - 1)) as i64;
        (!format.is_nan(bits)).then_some(if bits & format.sign_bit() != 0 { -magnitude } else { magnitude })
    };
    Some(key(a)?.cmp(&key(b)?))
}

/// Tests a property of an `f32` or `f64`.
pub fn testp(property: TestProperty, ty: Type, a: u64) -> bool {
    let format = Format::of(ty);
    let magnitude = a & (format.sign_bit() - 1);
    let (nan, finite) = (magnitude > format.overflow(), magnitude < format.overflow());
    match property {
        TestProperty::Finite => finite,
        TestProperty::Infinite => magnitude == format.overflow(),
        TestProperty::Number => !nan,
        TestProperty::NotANumber => nan,
        // Zeros count as normal.
        TestProperty::Normal => finite && !format.is_subnormal(a),
        TestProperty::Subnormal => format.is_subnormal(a),
    }
}

//! Dtypes of the arguments of mathematical functions.

use super::kernel::Kernel;
use crate::{
    DType,
    prim::{PrimCall, PrimCallee},
};
use hammock_diagnostics::codes;

/// Functions of floats, all of one dtype.
const OF_FLOATS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp10",
    "exp2",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "nextafter",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
];

/// Functions of the bits of integers.
const OF_INTEGERS: &[&str] =
    &["bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "popcount", "shift_left", "shift_right"];

/// Functions of numbers of any kind, all of one dtype.
const OF_NUMBERS: &[&str] = &["abs", "ceil", "fabs", "floor", "fma", "nearbyint", "pow", "round", "trunc"];

impl Kernel<'_> {
    /// Checks what a mathematical function is given.
    pub fn intrinsic(&mut self, call: &PrimCall) {
        let PrimCallee::Intrin(name) = &call.callee else { return };
        let name = name.as_str();
        let fits: fn(DType) -> bool = match name {
            _ if OF_FLOATS.contains(&name) => DType::is_floating,
            _ if OF_INTEGERS.contains(&name) => |t| t.is_integer() || t.is_bool(),
            _ if OF_NUMBERS.contains(&name) => |t| !t.is_handle(),
            _ => return,
        };
        let mut dtypes = call.args.iter().map(|arg| arg.dtype());
        let Some(first) = dtypes.next() else { return };
        if !fits(first) {
            let of = if OF_FLOATS.contains(&name) { "a float" } else { "an integer" };
            let to = if OF_FLOATS.contains(&name) { "float32" } else { "int32" };
            let message = format!("`T.{name}` is a function of {of}, not of {first}");
            self.error(codes::KERNEL_TYPES, message).help(format!("convert it: `T.{name}(T.Cast(\"{to}\", …))`"));
        } else if let Some(other) = dtypes.find(|t| *t != first) {
            let message = format!("`T.{name}` takes values of one dtype, not {first} and {other}");
            self.error(codes::KERNEL_TYPES, message).help("convert one of them: `T.Cast(\"…\", …)`");
        }
    }
}

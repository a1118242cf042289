//! Math functions of the C library.

use crate::DType;

/// Unary C functions on float64; with the suffix `f`, on float32.
const C_UNARY: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "nearbyint",
    "rint",
    "round",
    "roundeven",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];
/// Binary ones.
const C_BINARY: &[&str] =
    &["atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder"];

/// Parameter dtypes and result dtype of a C math function, by symbol name.
pub fn c_prototype(symbol: &str) -> Option<(Vec<DType>, DType)> {
    let (params, float) = match symbol.strip_suffix('f').and_then(|name| c_params(name, DType::FLOAT32)) {
        Some(params) => (params, DType::FLOAT32),
        None => (c_params(symbol, DType::FLOAT64)?, DType::FLOAT64),
    };
    Some((params, float))
}

/// Parameter dtypes of the C math function of that name, for a float dtype.
pub fn c_params(name: &str, float: DType) -> Option<Vec<DType>> {
    match name {
        _ if C_UNARY.contains(&name) => Some(vec![float]),
        _ if C_BINARY.contains(&name) => Some(vec![float; 2]),
        "fma" => Some(vec![float; 3]),
        "ldexp" | "scalbn" => Some(vec![float, DType::INT32]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_say_the_dtype() {
        let (single, double) = (DType::FLOAT32, DType::FLOAT64);
        assert_eq!(c_prototype("expf"), Some((vec![single], single)));
        assert_eq!(c_prototype("erf"), Some((vec![double], double)), "not er of float32");
        assert_eq!(c_prototype("ldexpf"), Some((vec![single, DType::INT32], single)));
        assert_eq!(c_prototype("expff"), None);
    }
}

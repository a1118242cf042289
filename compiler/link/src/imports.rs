//! Functions of the C library and its math library that kernels may use.

/// A system library that symbols can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SystemLibrary {
    /// The C library.
    C,
    /// Its mathematics.
    Math,
}

impl SystemLibrary {
    /// Shared object name.
    pub fn soname(self) -> &'static str {
        match self {
            SystemLibrary::C => "libc.so.6",
            SystemLibrary::Math => "libm.so.6",
        }
    }

    /// Returns the library that defines a symbol.
    pub fn of(symbol: &str) -> Option<SystemLibrary> {
        if C.contains(&symbol) {
            return Some(SystemLibrary::C);
        }
        let base = symbol.strip_suffix('f').filter(|base| MATH.contains(base)).unwrap_or(symbol);
        MATH.contains(&base).then_some(SystemLibrary::Math)
    }
}

/// Functions that compilers call implicitly, and a few that take no pointers. Others that access memory are excluded:
/// kernels that call them could do anything.
const C: &[&str] = &["abs", "bcmp", "labs", "memcmp", "memcpy", "memmove", "memset", "rand", "strlen"];

/// Functions of double; with `f` appended, of float.
const MATH: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "ilogb",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "roundeven",
    "scalbn",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_and_double_functions_are_in_libm() {
        for name in ["exp", "expf", "erf", "erff", "fmodf", "ldexpf"] {
            assert_eq!(SystemLibrary::of(name), Some(SystemLibrary::Math), "{name}");
        }
        assert_eq!(SystemLibrary::of("memcpy"), Some(SystemLibrary::C));
        assert_eq!(SystemLibrary::of("expff"), None);
        assert_eq!(SystemLibrary::of("no_such_function"), None);
    }
}

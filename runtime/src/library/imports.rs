//! Functions of the C library and its math library that kernels may use.
use std::ffi::c_void;
use std::ptr::NonNull;

/// A system library that defines functions for kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemLibrary {
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

    /// The library that defines a function; `None` if kernels may not use it.
    pub fn of(symbol: &str) -> Option<SystemLibrary> {
        find(symbol).map(|import| import.library)
    }
}

/// The address of a function that kernels may use.
pub(super) fn address(symbol: &str) -> Option<NonNull<c_void>> {
    find(symbol).and_then(|import| NonNull::new(import.function.cast_mut().cast()))
}

fn find(symbol: &str) -> Option<&'static Import> {
    IMPORTS.iter().find(|import| import.name == symbol)
}

struct Import {
    name: &'static str,
    library: SystemLibrary,
    function: *const (),
}

/// Declares functions, which are never called by these declarations, and the table of them and of our `own`.
macro_rules! imports {
    ({ $($library:ident: $($name:ident)*;)* } own $own_library:ident: $($own:ident)*) => {
        mod functions {
            unsafe extern "C" {
                $($(pub(super) fn $name();)*)*
            }
        }

        const IMPORTS: &[Import] = &[
            $($(Import {
                name: stringify!($name),
                library: SystemLibrary::$library,
                function: functions::$name as *const (),
            },)*)*
            $(Import {
                name: stringify!($own),
                library: SystemLibrary::$own_library,
                function: $own as *const (),
            },)*
        ];
    };
}

// Not every C library has these two.

extern "C" fn roundeven(x: f64) -> f64 {
    x.round_ties_even()
}

extern "C" fn roundevenf(x: f32) -> f32 {
    x.round_ties_even()
}

// Of the C library, functions that compilers call implicitly, and a few that take no pointers. Others that access memory
// are excluded: kernels that call them could do anything. Of its mathematics, functions of double and of float.
imports! {
    {
        C: abs bcmp labs memcmp memcpy memmove memset rand strlen;
        Math: acos acosf acosh acoshf asin asinf asinh asinhf atan atanf atan2 atan2f atanh atanhf cbrt cbrtf ceil ceilf
            copysign copysignf cos cosf cosh coshf erf erff erfc erfcf exp expf exp10 exp10f exp2 exp2f expm1 expm1f
            fabs fabsf fdim fdimf floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf hypot hypotf ilogb ilogbf
            ldexp ldexpf lgamma lgammaf llrint llrintf llround llroundf log logf log10 log10f log1p log1pf log2 log2f
            logb logbf lrint lrintf lround lroundf nearbyint nearbyintf nextafter nextafterf pow powf remainder remainderf
            rint rintf round roundf scalbn scalbnf sin sinf sincos sincosf sinh sinhf sqrt sqrtf
            tan tanf tanh tanhf tgamma tgammaf trunc truncf;
    }
    own Math: roundeven roundevenf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_float_and_double_are_mathematics() {
        for name in ["exp", "expf", "erf", "erff", "fmodf", "ldexpf"] {
            assert_eq!(SystemLibrary::of(name), Some(SystemLibrary::Math), "{name}");
        }
        assert_eq!(SystemLibrary::of("memcpy"), Some(SystemLibrary::C));
        assert_eq!(SystemLibrary::of("expff"), None);
        assert_eq!(SystemLibrary::of("no_such_function"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls the C library")]
    fn addresses_are_those_of_the_functions() {
        let address = address("cbrt").unwrap();
        // SAFETY: the function's type in C.
        let cbrt = unsafe { std::mem::transmute::<NonNull<c_void>, extern "C" fn(f64) -> f64>(address) };
        assert_eq!(cbrt(27.0), 3.0);
    }
}

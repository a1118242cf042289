//! Vector math functions: each is expanded to arithmetic on whole vectors, so that no inner loop calls a library.
//!
//! Every function takes operands of float32 or float64 with any number of lanes and returns an expression that uses
//! only operations that CPUs have: `+ - * /`, `fma`, `sqrt`, `floor`, `ceil`, `trunc`, `nearbyint`, `fabs`,
//! comparisons and selects, conversions, integer arithmetic on the bits, and `vector_any` around paths that are rarely
//! taken.
//!
//! Error bounds in ulps of the result, over the whole range, denormals included:
//!
//! | function | float32 | float64 |
//! | --- | --- | --- |
//! | exp, exp2, log, log2, sin, cos, tanh | 2 | 3 |
//! | erf | 2 | 3 |
//! | tan, sigmoid | 3 | 3 |
//! | log1p | 2 | 4 |
//! | exp10, log10, expm1, sinh, cosh, asin, acos, atan, atan2, pow, hypot | 1 | 4 |
//! | asinh, acosh, atanh | 1 | 4 |
//! | rsqrt | 2 | 2 |
//! | fmod, round, ldexp, nextafter, copysign | exact | exact |
//!
//! The first four rows have float32 forms of their own; the other float32 functions compute in float64 and round.
//! Infinities, NaNs and signed zeros follow IEEE 754 and C (Annex F). Polynomials are near-minimax fits of the function
//! in the comment, computed in 60-digit arithmetic by iteratively reweighted fits (Lawson 1961). Coefficients are
//! rounded one at a time, and the remaining ones are fitted again.

mod angle_reduction;
mod bits;
mod compare_ops;
mod erf;
mod exp;
mod fmod;
mod hyperbolic;
mod inverse_trig;
mod log;
mod pow;
mod round;
mod scope;
mod trig;

use compare_ops::CompareOps;
use hammock_ir::{DType, PrimExpr};
pub use scope::{Machine, Scope};

/// `log(1 + x)` of numbers from 0 to 1.
pub const LOG1P_OF_FRACTION: &str = "log1p_of_fraction";

/// `tanh(log(1 + e^x))`.
pub const TANH_OF_SOFTPLUS: &str = "tanh_of_softplus";

/// `1 + tanh x`.
pub const ONE_PLUS_TANH: &str = "one_plus_tanh";

/// Expands a math function to arithmetic; `None` if it has no expansion. Operands are float32 or float64 vectors or
/// scalars of one dtype, except for the exponent of `ldexp`.
pub fn expand(name: &str, args: &[PrimExpr], machine: Machine) -> Option<PrimExpr> {
    let dtype = args.first()?.dtype();
    if through_double(name) && dtype.bits == 32 {
        let wide = DType::FLOAT64.with_lanes(dtype.lanes);
        let args: Vec<PrimExpr> =
            args.iter().map(|a| if is_float(a) { a.clone().cast(wide) } else { a.clone() }).collect();
        return Some(expand(name, &args, machine)?.cast(dtype));
    }
    let mut s = Scope::new(dtype, machine);
    let args: Vec<PrimExpr> = args.iter().map(|a| s.name("x", a.clone())).collect();
    let result = match args.as_slice() {
        [x] => unary(&mut s, name, x)?,
        [x, y] => binary(&mut s, name, x, y)?,
        _ => return None,
    };
    Some(s.finish(result))
}

/// Returns true if the float32 form of a function is the rounded float64 form.
fn through_double(name: &str) -> bool {
    let names = [
        "exp10", "log10", "expm1", "sinh", "cosh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "pow",
        "hypot", "ldexp",
    ];
    names.contains(&name)
}

fn is_float(e: &PrimExpr) -> bool {
    e.dtype().is_floating()
}

fn unary(s: &mut Scope, name: &str, x: &PrimExpr) -> Option<PrimExpr> {
    Some(match name {
        "exp" => exp::exp(s, x),
        "exp2" => exp::exp2(s, x),
        "exp10" => exp::exp10(s, x),
        "expm1" => exp::expm1(s, x),
        "log" => log::log(s, x),
        "log2" => log::log2(s, x),
        "log10" => log::log10(s, x),
        "log1p" => log::log1p(s, x),
        LOG1P_OF_FRACTION => log::log1p_of_fraction(s, x),
        "sin" => trig::sin(s, x),
        "cos" => trig::cos(s, x),
        "tan" => trig::tan(s, x),
        "asin" => inverse_trig::asin(s, x),
        "acos" => inverse_trig::acos(s, x),
        "atan" => inverse_trig::atan(s, x),
        "sinh" => hyperbolic::sinh(s, x),
        "cosh" => hyperbolic::cosh(s, x),
        "tanh" => hyperbolic::tanh(s, x),
        "asinh" => hyperbolic::asinh(s, x),
        "acosh" => hyperbolic::acosh(s, x),
        "atanh" => hyperbolic::atanh(s, x),
        ONE_PLUS_TANH => hyperbolic::one_plus_tanh(s, x),
        TANH_OF_SOFTPLUS => hyperbolic::tanh_of_softplus(s, x),
        "sigmoid" => hyperbolic::sigmoid(s, x),
        "erf" => erf::erf(s, x),
        "rsqrt" => s.c(1.0) / x.clone().unary("sqrt"),
        "round" => s.nearest(x),
        "floor" | "ceil" | "trunc" | "nearbyint" if !s.machine.rounds => s.emulate_rounding(name, x),
        "isnan" => x.is_ne(x),
        "isinf" => x.clone().unary("fabs").is_eq(s.c(f64::INFINITY)),
        "isfinite" => x.clone().unary("fabs").is_lt(s.c(f64::INFINITY)),
        _ => return None,
    })
}

fn binary(s: &mut Scope, name: &str, x: &PrimExpr, y: &PrimExpr) -> Option<PrimExpr> {
    Some(match name {
        "pow" => pow::pow(s, x, y),
        "atan2" => inverse_trig::atan2(s, x, y),
        "hypot" => pow::hypot(s, x, y),
        "fmod" => fmod::fmod(s, x, y),
        "copysign" => s.copy_sign(x, y),
        "nextafter" => bits::next_after(s, x, y),
        "ldexp" => bits::ldexp(s, x, y),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

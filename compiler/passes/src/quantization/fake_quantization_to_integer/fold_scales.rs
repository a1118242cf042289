//! Folding of scales into constants.
//!
//! `quantize(x, s, z)` divides by `s`. If `x` is linear in constant operands, these are divided instead, at compile
//! time: `max(p * a + b, 0) / s` is `max(p * (a / s) + b / s, 0)`.

use super::constants::{is_known, scale};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    DType, PrimExpr,
    relax::{Call, Constant, Definitions, Operand, Value},
};

/// Operators with `f(x / s) = f(x) / s`.
const HOMOGENEOUS: &[&str] = &[
    "expand_dims",
    "mean",
    "nn.avg_pool1d",
    "nn.avg_pool2d",
    "nn.avg_pool3d",
    "nn.max_pool1d",
    "nn.max_pool2d",
    "nn.max_pool3d",
    "nn.relu",
    "permute_dims",
    "reshape",
    "squeeze",
    "sum",
];

/// Maximum number of operators traversed.
const MAX_DEPTH: usize = 12;

/// Returns a `quantize` whose scale is folded into its input.
pub fn fold_scale(e: &mut Editor, quantize: &Call) -> Option<Value> {
    let [x, by, zero] = quantize.operands()?;
    let unit = scale(e, by).filter(|unit| *unit != 1.0)?;
    if e.tensor(by)?.dtype != Some(DType::FLOAT32) || e.tensor(x)?.dtype != Some(DType::FLOAT32) {
        return None;
    }
    let by = Constant::float(unit, DType::FLOAT32)?;
    let x = divide(e, x, &by, MAX_DEPTH)?;
    let one = Operand::Const(Constant::float(1.0, DType::FLOAT32)?);
    Some(Value::Call(Call { args: vec![x, one, zero.clone()], ..quantize.clone() }))
}

/// Divides an operand by a scalar, by dividing constants in it.
fn divide(e: &mut Editor, x: &Operand, by: &Constant, depth: usize) -> Option<Operand> {
    let unit = || Operand::Const(by.clone());
    let is_known_tensor = is_known(e, x) && matches!(e.source(x), Operand::Const(_) | Operand::Var(_));
    if is_known_tensor {
        return e.emit("divide", [x.clone(), unit()], []);
    }
    let mut call = e.call(x)?.clone();
    let is = |names: &[&str]| names.iter().any(|name| call.is_op(name));
    let depth = depth.checked_sub(1)?;
    if is(&["dequantize"]) {
        let own = call.args[1].clone();
        is_known(e, &own).then_some(())?;
        call.args[1] = e.emit("divide", [own, unit()], [])?;
        return e.bind(Value::Call(call));
    }
    // Other users would compute it again.
    if e.is_shared(x) {
        return None;
    }
    let [first, second] = [0, 1].map(|at| call.args.get(at).cloned());
    if is(&["multiply"]) {
        let at = usize::from(is_known(e, second.as_ref()?));
        call.args[at] = divide(e, &call.args[at].clone(), by, depth)?;
    } else if is(&["divide"]) || is(HOMOGENEOUS) {
        call.args[0] = divide(e, &first?, by, depth)?;
    } else if is(&["add", "subtract", "maximum", "minimum"]) {
        call.args[0] = divide(e, &first?, by, depth)?;
        call.args[1] = divide(e, &second?, by, depth)?;
    } else if is(&["clip"]) {
        call.args[0] = divide(e, &first?, by, depth)?;
        for bound in &mut call.args[1..] {
            let Operand::Prim(limit) = bound else { return None };
            let limit = limit.as_float().or_else(|| limit.as_int().map(|v| v as f64))?;
            let by = by.tensor.as_slice::<f32>().ok()?.first().copied()?;
            *bound = Operand::Prim(PrimExpr::float(f64::from(limit as f32 / by), DType::FLOAT32));
        }
    } else {
        return None;
    }
    e.bind(Value::Call(call))
}

//! Scaling and imputation of features.

use super::{
    super::{Op, Result},
    constant_floats, float_elements, op,
};
use crate::node::{self, Node, axes_attr};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("Binarizer", binarize).attributes("threshold"),
    op("Imputer", impute)
        .attributes("imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64"),
    op("Normalizer", normalize).attributes("norm"),
    op("Scaler", scale).attributes("offset scale"),
];

fn binarize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let above = n.with_scalar("greater", &x, n.attrs.float_or("threshold", 0.0)?)?;
    let dtype = n.dtype(&x)?;
    Ok(n.cast(above, dtype)?.into())
}

/// `(x - offset) * scale`
fn scale(n: &mut Node) -> Result {
    let mut y = float_elements(n)?;
    for (name, ours) in [("offset", "subtract"), ("scale", "multiply")] {
        if let Some(values) = n.attrs.floats(name)?.filter(|values| !values.is_empty()) {
            let values = per_feature(n, &y, name, &values)?;
            y = n.call(ours, [y, values])?;
        }
    }
    Ok(n.cast(y, DType::FLOAT32)?.into())
}

/// Returns a value for all features, or one for each, of the dtype of `like`.
fn per_feature(n: &Node, like: &Operand, name: &str, values: &[f64]) -> node::Result<Operand> {
    if let [value] = values {
        return n.scalar_like(*value, like);
    }
    let features = n.dims(like)?.last().and_then(hammock_ir::PrimExpr::as_int);
    if features.is_some_and(|features| features != values.len() as i64) {
        let features = features.unwrap_or_default();
        return n.error(format!("its `{name}` has {} values, but its input {features} features", values.len()));
    }
    constant_floats(n.dtype(like)?, &[values.len()], values)
}

/// Divides rows by their maximum, or their L1 or L2 norm, unless it is zero.
fn normalize(n: &mut Node) -> Result {
    let x = float_elements(n)?;
    let attrs = [("axis", axes_attr(&[n.rank(&x)?.saturating_sub(1)])), ("keepdims", true.into())];
    let norm = match n.attrs.str_or("norm", "MAX")? {
        "MAX" => n.call_with("max", [x.clone()], &attrs)?,
        "L1" => {
            let size = n.call("abs", [x.clone()])?;
            n.call_with("sum", [size], &attrs)?
        }
        "L2" => {
            let square = n.call("multiply", [x.clone(), x.clone()])?;
            let sum = n.call_with("sum", [square], &attrs)?;
            n.call("sqrt", [sum])?
        }
        other => return n.error(format!("its `norm` is `{other}`")),
    };
    let is_zero = n.with_scalar("equal", &norm, 0.0)?;
    let one = n.scalar_like(1.0, &norm)?;
    let divisor = n.call("where", [is_zero, one, norm])?;
    let y = n.call("divide", [x, divisor])?;
    Ok(n.cast(y, DType::FLOAT32)?.into())
}

/// Replaces elements that equal a value, or NaN.
fn impute(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let (missing, values) = if dtype.is_floating() {
        let replaced = n.attrs.float_or("replaced_value_float", 0.0)?;
        let missing = match replaced.is_nan() {
            true => n.call("isnan", [x.clone()])?,
            false => n.with_scalar("equal", &x, replaced)?,
        };
        let Some(values) = n.attrs.floats("imputed_value_floats")?.filter(|values| !values.is_empty()) else {
            return n.error("its `imputed_value_floats` are missing");
        };
        (missing, per_feature(n, &x, "imputed_value_floats", &values)?)
    } else {
        let replaced = n.int64_vector([n.attrs.int_or("replaced_value_int64", 0)?])?;
        let replaced = n.cast(replaced, dtype)?;
        let values = n.attrs.ints_or_empty("imputed_value_int64s")?;
        let features = n.dims(&x)?.last().and_then(hammock_ir::PrimExpr::as_int);
        if values.is_empty() || values.len() > 1 && features.is_some_and(|f| f != values.len() as i64) {
            return n.error(format!("its `imputed_value_int64s` has {} values", values.len()));
        }
        let values = n.int64_vector(values)?;
        (n.call("equal", [x.clone(), replaced])?, n.cast(values, dtype)?)
    };
    Ok(n.call("where", [missing, values, x])?.into())
}

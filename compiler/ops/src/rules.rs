//! Type rules that many operators share.

use crate::{
    CallContext, dims,
    text::{dim_text, dims_text},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type, VDevice, count,
    relax::{InferError, Operand},
};
use std::sync::Arc;

/// The result of a rule.
pub type Inferred = Result<Type, InferError>;

/// The rule of operators whose result has the type of a tensor operand.
pub fn same_as(param: &'static str) -> impl Fn(&CallContext) -> Inferred + Send + Sync {
    move |cx| Ok(cx.tensor(param)?.into())
}

/// Checks that a tensor or scalar is of integers or bools.
///
/// # Errors
/// When it holds something else.
pub fn expect_bits(cx: &CallContext, param: &'static str) -> Result<(), InferError> {
    let dtype = cx.tensor_or_scalar(param)?.dtype;
    match dtype.filter(|t| !t.is_integer() && !t.is_bool()) {
        None => Ok(()),
        Some(t) => Err(cx
            .error_at(param, format_args!("`{param}` must hold integers or bools, not {t}"))
            .help("convert it with R.astype(…, \"int32\"), or compare it for bools")),
    }
}

/// The common dtype of two operands; unknown if one is.
///
/// # Errors
/// When both are known and differ.
pub fn common_dtype(
    cx: &CallContext,
    (a_name, a): (&str, &TensorType),
    (b_name, b): (&str, &TensorType),
) -> Result<Option<DType>, InferError> {
    match (a.dtype, b.dtype) {
        (Some(x), Some(y)) if x != y => Err(cx
            .error_at(b_name, format_args!("`{a_name}` is {x}, but `{b_name}` is {y}"))
            .help(format!("operands must have one dtype; convert one with R.astype(…, \"{x}\")"))),
        (Some(x), Some(_)) => Ok(Some(x)),
        _ => Ok(None),
    }
}

/// The device of several operands: that of the first that has one.
///
/// # Errors
/// When two name different devices.
pub fn common_vdevice<'t>(
    cx: &CallContext,
    tensors: impl IntoIterator<Item = &'t TensorType>,
) -> Result<Option<Arc<VDevice>>, InferError> {
    let mut found: Option<Arc<VDevice>> = None;
    for device in tensors.into_iter().filter_map(|t| t.vdevice.as_ref()) {
        match &found {
            Some(first) if !same_device(first, device) => {
                let [first, other] = [first, device].map(|device| cx.module.vdevice_name(device));
                let error = cx.error(format!("operands are on different devices, `{first}` and `{other}`"));
                return Err(error.help(format!("copy one: `R.to_vdevice(…, \"{first}\")`")));
            }
            Some(_) => {}
            None => found = Some(device.clone()),
        }
    }
    Ok(found)
}

fn same_device(a: &Arc<VDevice>, b: &Arc<VDevice>) -> bool {
    Arc::ptr_eq(a, b) || (a.kind() == b.kind() && a.index == b.index)
}

/// The operands' broadcast shape, or only its rank if an axis is undecided.
///
/// # Errors
/// When two sizes of an axis differ and neither is 1.
pub fn broadcast_shapes(cx: &CallContext, operands: &[(&str, &TensorType)]) -> Result<TensorShape, InferError> {
    let Some(ndim) = operands.iter().map(|(_, t)| t.ndim()).collect::<Option<Vec<_>>>() else {
        return Ok(TensorShape::Unknown);
    };
    let rank = ndim.into_iter().max().unwrap_or(0);
    if let Some(same) = same_shape_variable(operands) {
        return Ok(same);
    }
    let Some(shapes) = operands.iter().map(|(n, t)| t.dims().map(|d| (*n, d))).collect::<Option<Vec<_>>>() else {
        return Ok(TensorShape::Rank(rank));
    };
    let mut result: Vec<PrimExpr> = Vec::new();
    let mut from = "";
    let mut decided = true;
    for (name, shape) in shapes {
        match broadcast_dims(&result, shape) {
            Broadcast::To(dims) => result = dims,
            Broadcast::Undecided => decided = false,
            Broadcast::Mismatch(x, y, axis) => {
                return Err(cx
                    .error_at(name, mismatch_text((from, &result), (name, shape), (&x, &y), axis))
                    .help("broadcasting needs equal sizes or 1, aligned at the last axis"));
            }
        }
        from = name;
    }
    Ok(if decided { TensorShape::Known(result.into()) } else { TensorShape::Rank(rank) })
}

fn mismatch_text(a: (&str, &[PrimExpr]), b: (&str, &[PrimExpr]), sizes: (&PrimExpr, &PrimExpr), axis: i64) -> String {
    let (x, y) = (dim_text(sizes.0), dim_text(sizes.1));
    let shapes = format!("`{}` of shape {} and `{}` of shape {}", a.0, dims_text(a.1), b.0, dims_text(b.1));
    format!("{shapes} do not broadcast: axis {axis} is {x} against {y}")
}

/// The shape of operands that all have one and the same shape variable as shape.
fn same_shape_variable(operands: &[(&str, &TensorType)]) -> Option<TensorShape> {
    let variable = |t: &TensorType| if let TensorShape::Var(v, _) = t.shape { Some(v) } else { None };
    let first = operands.first()?.1;
    let all = operands.iter().all(|(_, t)| variable(t).is_some() && variable(t) == variable(first));
    all.then(|| first.shape.clone())
}

/// Result of broadcasting two shapes.
pub enum Broadcast {
    /// This shape.
    To(Vec<PrimExpr>),
    /// Depends on symbolic values.
    Undecided,
    /// Mismatch: these sizes of this axis, counted from the end, are different and not 1.
    Mismatch(PrimExpr, PrimExpr, i64),
}

/// Broadcasts two shapes, aligned at the last axis.
pub fn broadcast_dims(a: &[PrimExpr], b: &[PrimExpr]) -> Broadcast {
    let rank = a.len().max(b.len());
    let mut result = Vec::with_capacity(rank);
    let mut decided = true;
    for back in 1..=rank {
        let side = |s: &[PrimExpr]| s.len().checked_sub(back).map(|i| s[i].clone());
        match (side(a), side(b)) {
            (Some(x), Some(y)) if dims::is(&x, 1) || dims::equal(&x, &y) == Some(true) => {
                result.push(if dims::is(&x, 1) { y } else { x })
            }
            (Some(x), Some(y)) if dims::is(&y, 1) => result.push(x),
            (Some(x), Some(y)) if x.as_int().is_some() && y.as_int().is_some() => {
                return Broadcast::Mismatch(x, y, -(back as i64));
            }
            (Some(_), Some(_)) => decided = false,
            (x, y) => result.extend(x.or(y)),
        }
    }
    result.reverse();
    if decided { Broadcast::To(result) } else { Broadcast::Undecided }
}

/// Broadcasts two operands, scalars included, and returns the shape and device of the result with the operands' dtype.
///
/// # Errors
/// When shapes, dtypes or devices do not match.
pub fn broadcast_pair(cx: &CallContext, a: &str, b: &str) -> Result<TensorType, InferError> {
    let (mut x, mut y) = (cx.tensor_or_scalar(a)?, cx.tensor_or_scalar(b)?);
    if let Some(dtype) = adopted_dtype(cx, a, y.dtype)? {
        x.dtype = Some(dtype);
    } else if let Some(dtype) = adopted_dtype(cx, b, x.dtype)? {
        y.dtype = Some(dtype);
    }
    let dtype = common_dtype(cx, (a, &x), (b, &y))?;
    let vdevice = common_vdevice(cx, [&x, &y])?;
    let shape = broadcast_shapes(cx, &[(a, &x), (b, &y)])?;
    Ok(TensorType { shape, dtype, vdevice })
}

/// The dtype that a number in the program adopts from the other operand: any for an integer, a float dtype for a float.
fn adopted_dtype(cx: &CallContext, param: &str, other: Option<DType>) -> Result<Option<DType>, InferError> {
    let Operand::Prim(e) = cx.operand(param)? else { return Ok(None) };
    Ok(other.filter(|t| e.as_int().is_some() || (e.as_float().is_some() && t.is_floating())))
}

/// The number of dimensions, checked against the operator's; `None` if unknown.
///
/// # Errors
/// When it is known and another.
pub fn expect_ndim(cx: &CallContext, param: &str, ty: &TensorType, ndim: usize) -> Result<(), InferError> {
    match ty.ndim() {
        Some(n) if n != ndim => {
            Err(cx.error_at(param, format_args!("`{param}` must have {}, but it has {n}", count(ndim, "dimension"))))
        }
        _ => Ok(()),
    }
}

//! Reshapes.

use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized},
    op::{Op, OperandKind},
    precision::Precision,
    rules::Inferred,
    text::dims_text,
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![reshape(), flatten_op()]
}

fn reshape() -> Op {
    Op::new("reshape")
        .doc(
            "The same elements in row-major order under another shape. In the text, one size may be -1 (inferred) and 0 keeps a size of `x`.",
        )
        .example("x: float32[2, 6]", "x, (3, -1)")
        .tensor("x")
        .view()
        .operand("shape", OperandKind::Shape)
        .precision(Precision::Follow)
        .resolve(resolve_reshape)
        .infer(reshape_type)
        .legalize(|cx| reshape_tir(cx, "reshape"))
}

fn flatten_op() -> Op {
    Op::new("flatten")
        .doc("Flattens to one dimension, in row-major order.")
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .view()
        .precision(Precision::Follow)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            let shape = x.dims().map_or(TensorShape::Rank(1), |d| TensorShape::Known([dims::product(d)].into()));
            Ok(TensorType { shape, ..x }.into())
        })
        .legalize(|cx| reshape_tir(cx, "flatten"))
}

fn reshape_tir(cx: &CallContext, name: &str) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, name)?;
    let x = b.input("x")?;
    let out = b.output("T_reshape")?;
    let (have, need) = (dims::product(x.shape()), dims::product(&out.shape));
    b.require_equal(&have, &need, "the numbers of elements of `x` and `shape` differ");
    b.compute(&out, |i| x.at(&map_indices(i, &out.shape, x.shape())));
    Ok(b.finish())
}

/// Replaces -1 and 0 by sizes.
fn resolve_reshape(cx: &CallContext) -> Result<Call, InferError> {
    let mut call = cx.call.clone();
    let Operand::Shape(given) = cx.operand("shape")? else { return Ok(call) };
    let x = cx.tensor("x")?;
    let keep = |(i, d): (usize, &PrimExpr)| match x.dims().and_then(|dims| dims.get(i)) {
        Some(own) if dims::is(d, 0) && !x.dims().is_some_and(has_zero) => own.clone(),
        _ => d.clone(),
    };
    let mut shape: Vec<PrimExpr> = given.iter().enumerate().map(keep).collect();
    let open: Vec<usize> = (0..shape.len()).filter(|i| dims::is(&shape[*i], -1)).collect();
    match (open.as_slice(), x.dims()) {
        ([], _) => {}
        ([at], Some(own)) => shape[*at] = rest(cx, own, &shape)?,
        ([_], None) => {
            let error = cx.error_at("shape", "-1 cannot be replaced while the shape of `x` is not known");
            return Err(error.help("give it with R.match_cast"));
        }
        _ => return Err(cx.error_at("shape", "`shape` may hold one -1 only")),
    }
    call.args[1] = Operand::Shape(shape);
    Ok(call)
}

fn has_zero(dims: &[PrimExpr]) -> bool {
    dims.iter().any(|d| dims::is(d, 0))
}

/// The size denoted by -1. Sizes that both shapes have are cancelled before dividing.
fn rest(cx: &CallContext, own: &[PrimExpr], shape: &[PrimExpr]) -> Result<PrimExpr, InferError> {
    let mut left: Vec<&PrimExpr> = own.iter().collect();
    let mut by = Vec::new();
    for dim in shape.iter().filter(|d| !dims::is(d, -1)) {
        match left.iter().position(|l| dims::equal(l, dim) == Some(true)) {
            Some(at) if !dims::is(dim, 1) => drop(left.remove(at)),
            _ => by.push(dim),
        }
    }
    let (total, by) = split_constant(dims::product(left.iter().copied()), dims::product(by));
    if let (Some(n), Some(d)) = (total.as_int(), by.as_int())
        && (d == 0 || n % d != 0)
    {
        let (from, to) = (dims_text(own), dims_text(shape));
        return Err(cx.error_at("shape", format_args!("{from} cannot become {to}: no size fits for -1")));
    }
    Ok(dims::floordiv(&total, &by))
}

/// Divides the constant factor of a multiplication by a constant divisor if it is divisible.
fn split_constant(total: PrimExpr, by: PrimExpr) -> (PrimExpr, PrimExpr) {
    use hammock_ir::prim::{BinaryOp, PrimKind};
    if let (PrimKind::Binary(BinaryOp::Mul, a, b), Some(d)) = (total.kind(), by.as_int())
        && let Some(n) = b.as_int()
        && d != 0
        && n % d == 0
    {
        return (dims::mul(a, &PrimExpr::int64(n / d)), PrimExpr::int64(1));
    }
    (total, by)
}

fn reshape_type(cx: &CallContext) -> Inferred {
    let (x, shape) = (cx.tensor("x")?, cx.shape("shape")?);
    if let (Some(old), ShapeType::Known(new)) = (x.dims(), &shape)
        && dims::equal(&dims::product(old), &dims::product(new.iter())) == Some(false)
    {
        let (old, new) = (dims_text(old), dims_text(new));
        let error = cx.error_at("shape", format_args!("{old} cannot become {new}: the numbers of elements differ"));
        return Err(error.help("one size may be -1 to take whatever is left"));
    }
    if let ShapeType::Known(new) = &shape
        && let Some(negative) = new.iter().find(|size| size.as_int().is_some_and(|size| size < 0))
    {
        let error = cx.error_at("shape", format_args!("{negative} is not a size"));
        return Err(error.help("one size may be -1 to take whatever is left"));
    }
    Ok(TensorType { shape: target(cx, shape)?, ..x }.into())
}

/// The shape that the operand `shape` holds.
pub fn target(cx: &CallContext, shape: ShapeType) -> Result<TensorShape, InferError> {
    Ok(match (shape, cx.operand("shape")?.as_var()) {
        (ShapeType::Known(dims), _) => TensorShape::Known(dims),
        (shape, Some(var)) => TensorShape::Var(var, shape.ndim()),
        (shape, None) => shape.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
    })
}

/// Maps `indices` in `shape` to indices of the same element in `from`. With symbolic sizes, common leading dimensions
/// are mapped separately, so that fewer divisions by sizes are needed.
fn map_indices(indices: &[PrimExpr], shape: &[PrimExpr], from: &[PrimExpr]) -> Vec<PrimExpr> {
    let constant = shape.iter().chain(from).all(|extent| extent.as_int().is_some());
    if constant || !has_equal_count(shape, from) {
        return unflatten(&flatten(indices, shape), from);
    }
    let (mut own, mut others, mut result) = (0, 0, Vec::new());
    while own < shape.len() || others < from.len() {
        let (count, other_count) = common_prefix(&shape[own..], &from[others..]);
        let (to, other_to) = (own + count, others + other_count);
        match (count, other_count) {
            (1, 1) => result.push(indices[own].clone()),
            _ => result.extend(unflatten(&flatten(&indices[own..to], &shape[own..to]), &from[others..other_to])),
        }
        (own, others) = (to, other_to);
    }
    result
}

/// The minimum numbers of leading dimensions, not both zero, with equal element counts in both shapes.
fn common_prefix(a: &[PrimExpr], b: &[PrimExpr]) -> (usize, usize) {
    let pairs = (1..a.len() + b.len()).flat_map(|sum| (0..=sum).map(move |count| (count, sum - count)));
    let mut inside = pairs.filter(|(m, n)| *m <= a.len() && *n <= b.len());
    inside.find(|(m, n)| has_equal_count(&a[..*m], &b[..*n])).unwrap_or((a.len(), b.len()))
}

fn has_equal_count(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    dims::equal(&dims::product(a), &dims::product(b)) == Some(true)
}

/// The position of an index in row-major order.
pub fn flatten(indices: &[PrimExpr], shape: &[PrimExpr]) -> PrimExpr {
    let mut dims = indices.iter().zip(shape);
    let Some((first, _)) = dims.next() else { return PrimExpr::int64(0) };
    dims.fold(first.clone(), |at, (i, extent)| dims::add(&dims::mul(&at, extent), i))
}

/// The index at a position in row-major order. Each is taken modulo its extent, so that a position beyond the end stays
/// in bounds.
pub fn unflatten(position: &PrimExpr, shape: &[PrimExpr]) -> Vec<PrimExpr> {
    let mut stride = PrimExpr::int64(1);
    let mut indices = Vec::new();
    for extent in shape.iter().rev() {
        indices.push(match dims::is(extent, 1) {
            true => PrimExpr::int64(0),
            false => dims::floordiv(position, &stride).floormod(extent.clone()),
        });
        stride = dims::mul(&stride, extent);
    }
    indices.reverse();
    indices
}

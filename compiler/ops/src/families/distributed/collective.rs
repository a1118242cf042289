//! Collective communication: operators of several workers that each run the program on a shard of the data.
//!
//! They are lowered to calls of the runtime's functions of the same names (`runtime.disco.…`), which know the workers.

use crate::{
    CallContext, dims,
    legalize::Emit,
    op::{AttrKind, Op},
    relayout,
    rules::{Inferred, same_as},
    text::dim_text,
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType,
    relax::{Call, InferError, Operand, Value},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![all_reduce(), all_gather(), broadcast(), scatter()]
}

/// Reductions of `ccl.allreduce`, in the runtime's numbering.
const REDUCTIONS: &[&str] = &["sum", "prod", "min", "max", "avg"];

fn all_reduce() -> Op {
    Op::new("ccl.allreduce")
        .doc("Reduces a tensor over all workers; every worker gets the result.")
        .example("x: float32[2, 3]", r#"x, op_type="sum""#)
        .tensor("x")
        .attr("op_type", AttrKind::Str, "sum")
        .attr("in_group", AttrKind::Bool, true)
        .layouts(relayout::elementwise)
        .infer(|cx| {
            cx.one_of("op_type", REDUCTIONS)?;
            Ok(cx.tensor("x")?.into())
        })
        .decompose(|cx, emit| {
            let given = cx.one_of("op_type", REDUCTIONS)?;
            let number = REDUCTIONS.iter().position(|r| *r == given).unwrap_or(0);
            let args = vec![cx.operand("x")?.clone(), Operand::Shape(vec![(number as i64).into()]), in_group(cx)?];
            call(cx, emit, "runtime.disco.allreduce", args)
        })
}

fn all_gather() -> Op {
    Op::new("ccl.allgather")
        .doc("Concatenates the tensors of all workers along the first axis, on every worker.")
        .example("x: float32[2, 3]", "x, num_workers=1")
        .tensor("x")
        .required("num_workers", AttrKind::Int)
        .attr("in_group", AttrKind::Bool, true)
        .layouts(relayout::gather)
        .infer(|cx| with_axis_size(cx, |cx, size| Ok(dims::mul(size, &num_workers(cx)?.into())), |_| Ok(0)))
        .decompose(|cx, emit| {
            let args = vec![cx.operand("x")?.clone(), in_group(cx)?];
            call(cx, emit, "runtime.disco.allgather", args)
        })
}

fn broadcast() -> Op {
    Op::new("ccl.broadcast_from_worker0")
        .doc("Broadcasts the first worker's tensor to all workers.")
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .layouts(relayout::elementwise)
        .infer(same_as("x"))
        .decompose(|cx, emit| {
            let args = vec![cx.operand("x")?.clone(), Operand::Prim(PrimExpr::int64(0))];
            call(cx, emit, "runtime.disco.broadcast_from_worker0", args)
        })
}

fn scatter() -> Op {
    Op::new("ccl.scatter_from_worker0")
        .doc("Scatters the first worker's tensor along an axis, one part for each worker.")
        .example("x: float32[2, 3]", "x, num_workers=1")
        .tensor("x")
        .required("num_workers", AttrKind::Int)
        .attr("axis", AttrKind::Int, 0i64)
        .infer(|cx| with_axis_size(cx, shard_size, scatter_axis))
        .decompose(decompose_scatter)
}

/// The number of workers: positive.
///
/// # Errors
/// When it is not positive.
pub fn num_workers(cx: &CallContext) -> Result<i64, InferError> {
    match cx.int("num_workers")? {
        n if n > 0 => Ok(n),
        other => Err(cx.error_at("num_workers", format_args!("`num_workers` must be greater than 0, not {other}"))),
    }
}

/// Size of each worker's shard of an axis.
///
/// # Errors
/// When the axis cannot be split evenly.
pub fn shard_size(cx: &CallContext, size: &PrimExpr) -> Result<PrimExpr, InferError> {
    let workers = num_workers(cx)?;
    match size.as_int() {
        Some(n) if n % workers != 0 => {
            let size = dim_text(size);
            Err(cx.error(format_args!("{size} elements cannot be shared evenly by {workers} workers")))
        }
        _ => Ok(dims::floordiv(size, &workers.into())),
    }
}

fn scatter_axis(cx: &CallContext) -> Result<usize, InferError> {
    match cx.tensor("x")?.ndim() {
        Some(ndim) => cx.axis("axis", ndim),
        None => Ok(0),
    }
}

/// The type of the first operand with another size along an axis.
///
/// # Errors
/// When the size is invalid.
pub fn with_axis_size(
    cx: &CallContext,
    size: impl Fn(&CallContext, &PrimExpr) -> Result<PrimExpr, InferError>,
    axis: impl Fn(&CallContext) -> Result<usize, InferError>,
) -> Inferred {
    let param = cx.op.params[0].name;
    let x = cx.tensor(param)?;
    let Some(sizes) = x.dims() else { return Ok(x.into()) };
    let axis = axis(cx)?;
    if axis >= sizes.len() {
        return Err(cx.error_at(param, format_args!("`{param}` must have at least one dimension")));
    }
    let mut sizes = sizes.to_vec();
    sizes[axis] = size(cx, &sizes[axis])?;
    Ok(TensorType { shape: TensorShape::Known(sizes.into()), ..x }.into())
}

fn in_group(cx: &CallContext) -> Result<Operand, InferError> {
    Ok(Operand::int(cx.bool("in_group")?.into()))
}

/// A call of a runtime function that writes the result of this operator.
fn call(cx: &CallContext, emit: &mut dyn Emit, name: &str, args: Vec<Operand>) -> Result<Operand, InferError> {
    emit.emit(Value::Call(Call::dps_packed(name.into(), args, (cx.op.infer)(cx)?)))
}

/// Moves the workers' axis to the front, so that each shard is contiguous in memory.
fn decompose_scatter(cx: &CallContext, emit: &mut dyn Emit) -> Result<Operand, InferError> {
    let (workers, axis) = (num_workers(cx)?, scatter_axis(cx)?);
    let x = cx.tensor("x")?;
    let Some(sizes) = x.dims() else {
        return Err(cx.error_at("x", "cannot be compiled while the shape of `x` is not known"));
    };
    let mut parts = sizes.to_vec();
    parts.splice(axis..=axis, [workers.into(), shard_size(cx, &sizes[axis])?]);
    let mut data = emit.op("reshape", vec![cx.operand("x")?.clone(), Operand::Shape(parts)], [])?;
    if axis > 0 {
        let mut order: Vec<i64> = (0..=sizes.len() as i64).collect();
        order.remove(axis);
        order.insert(0, axis as i64);
        data = emit.op("permute_dims", vec![data], [("axes", order.into())])?;
    }
    call(cx, emit, "runtime.disco.scatter_from_worker0", vec![data, Operand::int(0)])
}

//! `take`

use super::{Progression, clamp, expect_inside, expect_integers, from_end, inside, zero_if_empty};
use crate::{
    CallContext, dims,
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, NONE, Op, OperandKind},
    rules::{Inferred, common_vdevice},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, count, relax::InferError};

/// Handling of out-of-bounds indices.
const MODES: [&str; 4] = ["fast", "clip", "wrap", "nan"];

/// `take`
pub fn take() -> Op {
    Op::new("take")
        .doc(
            "Slices of an axis, one for each index. Indices outside go to the nearest end (\"clip\"), round (\"wrap\"), \
             or give NaN (\"nan\"); with \"fast\" negative ones count from the end, and those further out are an error.",
        ).example("x: float32[4, 3]; i: int64[2]", "x, i, axis=0")
        .tensor("x")
        .operand("indices", OperandKind::Any)
        .attr("axis", AttrKind::OptionalInt, NONE)
        .attr("mode", AttrKind::Str, "fast")
        .infer(take_type)
        .legalize(take_tir)
}

fn axis_of(cx: &CallContext, ndim: usize) -> Result<usize, InferError> {
    match cx.optional_int("axis")? {
        Some(axis) => cx.normalize_axis("axis", axis, ndim),
        None if ndim == 1 => Ok(0),
        None => Err(cx
            .error_at("axis", format_args!("`x` has {}, so `axis` must be given", count(ndim, "dimension")))
            .help("say which dimension to take from, such as `axis=0`")),
    }
}

fn take_type(cx: &CallContext) -> Inferred {
    let (x, indices) = (cx.tensor("x")?, cx.tensor_or_scalar("indices")?);
    expect_integers(cx, "indices", &indices)?;
    if cx.one_of("mode", &MODES)? == "nan" && x.dtype.is_some_and(|t| !t.is_floating()) {
        return Err(cx.error_at("mode", "`mode=\"nan\"` needs floats in `x`"));
    }
    let vdevice = common_vdevice(cx, [&x, &indices])?;
    let axis = x.ndim().map(|n| axis_of(cx, n)).transpose()?;
    if let (Some(dims), Some(axis), "fast") = (x.dims(), axis, cx.str("mode")?) {
        expect_inside(cx, "indices", cx.operand("indices")?, &dims[axis..=axis])?;
    }
    let shape = match (x.dims(), indices.dims(), axis) {
        (Some(x), Some(i), Some(axis)) => TensorShape::Known([&x[..axis], i, &x[axis + 1..]].concat().into()),
        _ => {
            let ndim = x.ndim().zip(indices.ndim()).map(|(x, i)| x + i - 1);
            ndim.map_or(TensorShape::Unknown, TensorShape::Rank)
        }
    };
    Ok(TensorType { shape, dtype: x.dtype, vdevice }.into())
}

fn take_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "take")?;
    let x = b.input("x")?;
    let axis = axis_of(cx, x.ndim())?;
    if let Some(positions) = Progression::of(cx.operand("indices")?, &x.shape()[axis]) {
        let out = b.output("T_take")?;
        b.compute(&out, |i| {
            let position = dims::offset(&dims::mul(&i[axis], &positions.step.into()), positions.begin);
            x.at(&[&i[..axis], &[position], &i[axis + 1..]].concat())
        });
        return Ok(b.finish());
    }
    let indices = b.input("indices")?;
    let mode = cx.one_of("mode", &MODES)?;
    let out = b.output("T_take")?;
    b.compute(&out, |i| {
        let (before, rest) = i.split_at(axis);
        let (chosen, after) = rest.split_at(indices.ndim());
        let index = indices.index_at(chosen);
        element(&x, mode, axis, before, &index, after)
    });
    Ok(b.finish())
}

/// The element of `x` at an index of its axis.
fn element(x: &Input, mode: &str, axis: usize, before: &[PrimExpr], index: &PrimExpr, after: &[PrimExpr]) -> PrimExpr {
    let extent = &x.shape()[axis];
    let at = |index: PrimExpr| x.at(&[before, &[index], after].concat());
    match mode {
        "nan" => {
            let nan = PrimExpr::float(f64::NAN, x.dtype());
            inside(index, extent).if_then_else(at(index.clone()), nan)
        }
        "wrap" => {
            let length = if extent.as_int().is_some() { extent.clone() } else { dims::max(extent, &1i64.into()) };
            zero_if_empty([extent], at(index.clone().floormod(length)))
        }
        "fast" => at(from_end(index.clone(), extent)),
        _ => zero_if_empty([extent], at(clamp(index, extent))),
    }
}

//! Sampling at grid positions, and grids of affine maps.
//!
//! Coordinates run from -1 to 1 over the data: between the centres of its outer elements (`align_corners`), or between
//! their outer edges. Positions outside the data read zero, the nearest border element, or the element reflected at the
//! border.

use super::sampling::{Axis, Sampler};
use crate::{
    CallContext, dims,
    families::nn::{activation::float_tensor, expect_layout, layout, rows::number},
    layout::Layout,
    legalize::{Builder, Legalized, accumulator},
    op::{AttrKind, Op, OperandKind},
    precision::Precision,
    rules::{Inferred, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![grid_sample(), affine_grid()]
}

fn grid_sample() -> Op {
    Op::new("image.grid_sample")
        .doc(
            "Samples images or volumes at the positions in a grid `(N, 2 or 3, …)` of coordinates from -1 to 1, x \
              first.",
        )
        .example("x: float32[1, 2, 4, 4]; g: float32[1, 2, 3, 3]", r#"x, g, method="bilinear""#)
        .tensor("data")
        .tensor("grid")
        .attr("method", AttrKind::Str, "bilinear")
        .attr("layout", AttrKind::Str, "NCHW")
        .attr("padding_mode", AttrKind::Str, "zeros")
        .attr("align_corners", AttrKind::Bool, false)
        .precision(Precision::Follow)
        .infer(infer_grid_sample)
        .legalize(legalize_grid_sample)
}

const METHODS: &[&str] = &["bilinear", "nearest", "bicubic"];
const PADDINGS: &[&str] = &["zeros", "border", "reflection"];

/// The spatial axes of the data: those of an image or of a volume.
fn spatial(cx: &CallContext) -> Result<&'static str, InferError> {
    let text = cx.str("layout")?;
    Ok(if Layout::parse(text).is_some_and(|l| l.holds("NCDHW")) { "DHW" } else { "HW" })
}

fn infer_grid_sample(cx: &CallContext) -> Inferred {
    let spatial = spatial(cx)?;
    let primal = format!("NC{spatial}");
    let layout = layout(cx, "layout", &primal)?;
    let method = cx.one_of("method", METHODS)?;
    cx.one_of("padding_mode", PADDINGS)?;
    if method == "bicubic" && spatial.len() == 3 {
        return Err(cx.error("volumes have no method \"bicubic\""));
    }
    let (data, grid) = (cx.tensor("data")?, float_tensor(cx, "grid")?);
    expect_layout(cx, "data", &data, "layout", &layout)?;
    expect_ndim(cx, "grid", &grid, spatial.len() + 2)?;
    let (Some(d), Some(g)) = (data.dims(), grid.dims()) else {
        return Ok(TensorType { shape: TensorShape::Rank(layout.ndim()), ..data }.into());
    };
    let mut sizes = layout.to_primal(&primal, d);
    if dims::equal(&sizes[0], &g[0]) == Some(false) {
        let (a, b) = (dim_text(&sizes[0]), dim_text(&g[0]));
        return Err(cx.error_at("grid", format_args!("`data` and `grid` must have one batch size, not {a} and {b}")));
    }
    sizes.splice(2.., g[2..].iter().cloned());
    Ok(TensorType { shape: TensorShape::Known(layout.from_primal(&primal, &sizes).into()), ..data }.into())
}

fn legalize_grid_sample(cx: &CallContext) -> Result<Legalized, InferError> {
    let primal = format!("NC{}", spatial(cx)?);
    let layout = layout(cx, "layout", &primal)?;
    let (method, padding) = (cx.one_of("method", METHODS)?, cx.one_of("padding_mode", PADDINGS)?);
    let align_corners = cx.bool("align_corners")?;
    let mut b = Builder::new(cx, "grid_sample")?;
    let (data, grid) = (b.input("data")?, b.input("grid")?);
    let out = b.output("grid_sample")?;
    let dtype = accumulator(grid.dtype());
    let sizes = layout.to_primal(&primal, data.shape());
    b.require_equal(&sizes[0], &grid.shape()[0], "`data` and `grid` must have one batch size");
    let axes = sizes[2..].iter().map(|size| Axis { size: size.clone(), align_corners, padding, dtype });
    let sampler = Sampler { axes: axes.collect(), method, data, grid, layout, primal, sizes };
    sampler.sample(&mut b, &out);
    Ok(b.finish())
}

fn affine_grid() -> Op {
    Op::new("image.affine_grid")
        .doc(
            "The sampling grid of affine maps `(N, 2, 3)`, or `(N, 3, 4)` for volumes: where each target position \
              samples its source.",
        )
        .example("m: float32[1, 2, 3]", "m, size=(3, 3)")
        .tensor("data")
        .operand("size", OperandKind::Shape)
        .attr("align_corners", AttrKind::Bool, true)
        .complete(|call: &mut Call| {
            if let Some(Operand::Shape(size)) = call.args.get_mut(1)
                && let [one] = size.as_slice()
            {
                *size = vec![one.clone(); 2];
            }
        })
        .precision(Precision::Follow)
        .infer(infer_affine_grid)
        .legalize(legalize_affine_grid)
}

fn infer_affine_grid(cx: &CallContext) -> Inferred {
    let data = float_tensor(cx, "data")?;
    expect_ndim(cx, "data", &data, 3)?;
    let size = cx.shape("size")?;
    let rank = match size.ndim() {
        Some(n @ (2 | 3)) => n,
        Some(n) => return Err(cx.error_at("size", format_args!("`size` must have 2 or 3 dimensions, but it has {n}"))),
        None => return Ok(TensorType { shape: TensorShape::Unknown, ..data }.into()),
    };
    if let Some(d) = data.dims()
        && (dims::equal(&d[1], &(rank as i64).into()) == Some(false)
            || dims::equal(&d[2], &(rank as i64 + 1).into()) == Some(false))
    {
        let (rows, columns) = (dim_text(&d[1]), dim_text(&d[2]));
        return Err(cx.error_at(
            "data",
            format_args!("maps of {rank} axes are {rank} by {}, not {rows} by {columns}", rank + 1),
        ));
    }
    let shape = match (data.dims(), size) {
        (Some(d), ShapeType::Known(size)) => {
            let mut shape = vec![d[0].clone(), (rank as i64).into()];
            shape.extend(size.iter().cloned());
            TensorShape::Known(shape.into())
        }
        _ => TensorShape::Rank(rank + 2),
    };
    Ok(TensorType { shape, ..data }.into())
}

fn legalize_affine_grid(cx: &CallContext) -> Result<Legalized, InferError> {
    let align_corners = cx.bool("align_corners")?;
    let mut b = Builder::new(cx, "affine_grid")?;
    let data = b.input("data")?;
    let out = b.output("affine_grid")?;
    let dtype = accumulator(data.dtype());
    let rank = out.ndim() - 2;
    b.compute(&out, |at| {
        let map = |column: usize| data.at(&[at[0].clone(), at[1].clone(), (column as i64).into()]).cast(dtype);
        let axes =
            (0..rank).map(|k| map(rank - 1 - k) * coordinate(&at[k + 2], &out.shape[k + 2], align_corners, dtype));
        axes.fold(map(rank), |sum, term| sum + term).cast(out.dtype)
    });
    Ok(b.finish())
}

/// The coordinate, from -1 to 1, of index `i` along an axis.
fn coordinate(i: &PrimExpr, size: &PrimExpr, align_corners: bool, dtype: DType) -> PrimExpr {
    let constant = |v| PrimExpr::float(v, dtype);
    let position = i.clone().cast(dtype);
    if align_corners {
        let steps = number(&dims::max(&dims::offset(size, -1), &1i64.into()), dtype);
        return position * (constant(2.0) / steps) - constant(1.0);
    }
    (position * constant(2.0) + constant(1.0)) / number(size, dtype) - constant(1.0)
}

//! Sampling along a grid of places, and grids of affine maps.

use crate::{
    context::CallContext,
    dims,
    families::nn::{activation::float_tensor, expect_layout, layout, layout::Layout},
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    TensorShape, TensorType,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![grid_sample(), affine_grid()]
}

fn grid_sample() -> Op {
    Op::new("image.grid_sample")
        .doc("Values of images, or volumes, at places of a grid `(N, 2 or 3, …)` of coordinates from -1 to 1, x first.")
        .tensor("data")
        .tensor("grid")
        .attr("method", AttrKind::Str, "bilinear")
        .attr("layout", AttrKind::Str, "NCHW")
        .attr("padding_mode", AttrKind::Str, "zeros")
        .attr("align_corners", AttrKind::Bool, false)
        .infer(infer_grid_sample)
        .structural("")
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

fn affine_grid() -> Op {
    Op::new("image.affine_grid")
        .doc("The grid of places that affine maps `(N, 2, 3)`, or `(N, 3, 4)` for volumes, send a target's places to.")
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
        .infer(infer_affine_grid)
        .structural("")
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

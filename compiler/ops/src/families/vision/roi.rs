//! Pooling of regions of interest. A region is a row `[batch, x1, y1, x2, y2]`.

use crate::{
    context::CallContext,
    dims,
    families::nn::{activation::float_tensor, expect_layout, layout, layout::Layout},
    op::{AttrKind, Op},
    rules::{Inferred, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType,
    relax::{Call, InferError},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![roi_align(), roi_pool()]
}

fn roi_align() -> Op {
    signature("vision.roi_align", "Means, or maxima, of interpolated samples in each bin of each region.")
        .attr("sample_ratio", AttrKind::Int, -1i64)
        .attr("aligned", AttrKind::Bool, false)
        .attr("layout", AttrKind::Str, "NCHW")
        .attr("mode", AttrKind::Str, "avg")
        .infer(|cx| {
            cx.one_of("mode", &["avg", "max"])?;
            infer(cx)
        })
        .structural("")
}

fn roi_pool() -> Op {
    signature("vision.roi_pool", "The largest element in each bin of each region.")
        .attr("layout", AttrKind::Str, "NCHW")
        .infer(infer)
        .structural("")
}

fn signature(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .tensor("data")
        .tensor("rois")
        .required("pooled_size", AttrKind::Ints)
        .required("spatial_scale", AttrKind::Float)
        .complete(|call: &mut Call| {
            crate::families::nn::window::rewrite(&mut call.attrs, "pooled_size", |given| match given {
                [one] => Some(vec![*one; 2]),
                all => Some(all.to_vec()),
            });
        })
}

/// Bins along height and width.
fn pooled_size(cx: &CallContext) -> Result<[i64; 2], InferError> {
    match cx.ints("pooled_size")?.as_slice() {
        [one] if *one > 0 => Ok([*one, *one]),
        [h, w] if *h > 0 && *w > 0 => Ok([*h, *w]),
        other => Err(cx.error(format_args!("`pooled_size` must be 1 or 2 numbers greater than 0, not {other:?}"))),
    }
}

fn infer(cx: &CallContext) -> Inferred {
    let [height, width] = pooled_size(cx)?;
    cx.float("spatial_scale")?;
    let layout: Layout = layout(cx, "layout", "NCHW")?;
    let (data, rois) = (float_tensor(cx, "data")?, float_tensor(cx, "rois")?);
    expect_layout(cx, "data", &data, "layout", &layout)?;
    expect_ndim(cx, "rois", &rois, 2)?;
    if let Some(r) = rois.dims()
        && dims::equal(&r[1], &5i64.into()) == Some(false)
    {
        let columns = dim_text(&r[1]);
        return Err(
            cx.error_at("rois", format_args!("`rois` must have 5 columns: batch, x1, y1, x2, y2; it has {columns}"))
        );
    }
    let shape = match (data.dims(), rois.dims()) {
        (Some(d), Some(r)) => {
            let channels = layout.to_primal("NCHW", d).swap_remove(1);
            let sizes: [PrimExpr; 4] = [r[0].clone(), channels, height.into(), width.into()];
            TensorShape::Known(layout.from_primal("NCHW", &sizes).into())
        }
        _ => TensorShape::Rank(layout.ndim()),
    };
    Ok(TensorType { shape, ..data }.into())
}

//! Boxes from anchors, as single-shot detectors predict them.

use crate::{
    context::CallContext,
    dims,
    families::nn::activation::float_tensor,
    op::{AttrKind, Op},
    rules::{Inferred, expect_ndim},
    text::shape_text,
};
use hammock_ir::{AttrValue, TensorShape, TensorType, Type};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        Op::new("vision.multibox_transform_loc")
            .doc("Boxes `(N, anchors, [ymin, xmin, ymax, xmax])` and scores `(N, classes, anchors)` from predictions.")
            .tensor("cls_pred")
            .tensor("loc_pred")
            .tensor("anchor")
            .attr("clip", AttrKind::Bool, false)
            .attr("threshold", AttrKind::Float, 0.0)
            .attr("variances", AttrKind::Floats, vec![AttrValue::Float(1.0); 4])
            .attr("keep_background", AttrKind::Bool, true)
            .attr("apply_softmax", AttrKind::Bool, true)
            .infer(infer)
            .structural(""),
    ]
}

fn infer(cx: &CallContext) -> Inferred {
    let [scores, places, anchors] = [float_tensor(cx, "cls_pred")?, cx.tensor("loc_pred")?, cx.tensor("anchor")?];
    for (param, ty, ndim) in [("cls_pred", &scores, 3), ("loc_pred", &places, 2), ("anchor", &anchors, 3)] {
        expect_ndim(cx, param, ty, ndim)?;
        if ty.dtype.is_some() && scores.dtype.is_some() && ty.dtype != scores.dtype {
            return Err(cx.error_at(param, format_args!("`cls_pred` and `{param}` must have one dtype")));
        }
    }
    if cx.floats("variances")?.len() != 4 {
        return Err(cx.error("`variances` must be 4 numbers, for x, y, width and height"));
    }
    let Some(s) = scores.dims() else {
        let of = |ty: &TensorType| Type::from(TensorType { shape: TensorShape::Rank(3), ..ty.clone() });
        return Ok(Type::Tuple(vec![of(&scores), of(&scores)]));
    };
    let misfit = |param: &str, ty: &TensorType, want: &str| {
        let shape = shape_text(ty);
        cx.error_at(param, format_args!("`{param}` must have the shape {want}, but it has {shape}"))
    };
    if let Some(p) = places.dims()
        && (dims::equal(&p[0], &s[0]) == Some(false)
            || dims::equal(&p[1], &dims::mul(&s[2], &4i64.into())) == Some(false))
    {
        return Err(misfit("loc_pred", &places, "(batch, 4 * anchors)"));
    }
    if let Some(a) = anchors.dims()
        && (dims::equal(&a[0], &1i64.into()) == Some(false)
            || dims::equal(&a[1], &s[2]) == Some(false)
            || dims::equal(&a[2], &4i64.into()) == Some(false))
    {
        return Err(misfit("anchor", &anchors, "(1, anchors, 4)"));
    }
    let boxes = [s[0].clone(), s[2].clone(), 4i64.into()];
    let boxes = TensorType { shape: TensorShape::Known(boxes.into()), ..scores.clone() };
    Ok(Type::Tuple(vec![boxes.into(), scores.into()]))
}

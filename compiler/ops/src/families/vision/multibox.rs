//! Decoding of anchor boxes predicted by single-shot detectors.

use crate::{
    CallContext, dims,
    families::nn::{activation::float_tensor, rows::Rows, softmax::Exponentials},
    legalize::{Builder, Input, Legalized, accumulator},
    op::{AttrKind, Op},
    rules::{Inferred, expect_ndim},
    text::shape_text,
};
use hammock_ir::{AttrValue, PrimExpr, TensorShape, TensorType, Type, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        Op::new("vision.multibox_transform_loc")
            .doc("Boxes `(N, anchors, [ymin, xmin, ymax, xmax])` and scores `(N, classes, anchors)` from predictions.")
            .example("c: float32[1, 2, 3]; l: float32[1, 12]; a: float32[1, 3, 4]", "c, l, a")
            .tensor("cls_pred")
            .tensor("loc_pred")
            .tensor("anchor")
            .attr("clip", AttrKind::Bool, false)
            .attr("threshold", AttrKind::Float, 0.0)
            .attr("variances", AttrKind::Floats, vec![AttrValue::Float(1.0); 4])
            .attr("keep_background", AttrKind::Bool, true)
            .attr("apply_softmax", AttrKind::Bool, true)
            .infer(infer)
            .legalize(legalize),
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
        return Err(cx.error_at("variances", "`variances` must be 4 numbers, for x, y, width and height"));
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

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "multibox_transform_loc")?;
    let (classes, places, anchors) = (b.input("cls_pred")?, b.input("loc_pred")?, b.input("anchor")?);
    let [batch, _, count] = [0, 1, 2].map(|axis| classes.shape()[axis].clone());
    b.require_shape("loc_pred", &places, &[batch, dims::mul(&count, &4i64.into())]);
    b.require_shape("anchor", &anchors, &[1i64.into(), count, 4i64.into()]);
    let (boxes, scores) = (b.output("boxes")?, b.output("scores")?);
    let (clip, variances) = (cx.bool("clip")?, cx.floats("variances")?);
    let wide = accumulator(boxes.dtype);
    b.compute(&boxes, |i| {
        let anchor = |k: i64| anchors.at(&[0i64.into(), i[1].clone(), k.into()]).cast(wide);
        let offset = |k: i64| places.at(&[i[0].clone(), &i[1] * 4i64 + k]).cast(wide);
        let side = |axis: usize, far: bool| corner(&anchor, &offset, &variances, axis, far, clip);
        let is = |k: i64| i[2].clone().eq(k);
        let low = is(0).select(side(1, false), side(0, false));
        let high = is(2).select(side(1, true), side(0, true));
        i[2].clone().lt(2i64).select(low, high).cast(boxes.dtype)
    });
    let threshold = PrimExpr::float(cx.float("threshold")?, wide);
    let (softmax, background) = (cx.bool("apply_softmax")?, cx.bool("keep_background")?);
    let score = Score::of(&mut b, classes, softmax);
    b.compute(&scores, |i| {
        let value = score.at(i);
        let mut retained = value.clone().ge(threshold);
        if !background {
            retained = retained.and(i[1].clone().ne(0i64));
        }
        retained.select(value, PrimExpr::float(0.0, wide)).cast(scores.dtype)
    });
    Ok(b.finish())
}

/// The lower or upper side of a box along x (0) or y (1): the anchor's centre and size, shifted and scaled by the
/// prediction.
fn corner(
    anchor: &impl Fn(i64) -> PrimExpr,
    offset: &impl Fn(i64) -> PrimExpr,
    variances: &[f64],
    axis: usize,
    far: bool,
    clip: bool,
) -> PrimExpr {
    let k = axis as i64;
    let (near_side, far_side) = (anchor(k), anchor(k + 2));
    let constant = |v| PrimExpr::float(v, near_side.dtype());
    let (centre, size) = ((&near_side + &far_side) * constant(0.5), &far_side - &near_side);
    let moved = offset(k) * constant(variances[axis]) * &size + centre;
    let half = constant(0.5) * (offset(k + 2) * constant(variances[axis + 2])).unary("exp") * size;
    let side = if far { moved + half } else { moved - half };
    if clip { side.min(constant(1.0)).max(constant(0.0)) } else { side }
}

/// Class scores: the predictions, or their softmax.
enum Score {
    Given(Input),
    Softmax(Exponentials, Rows),
}

impl Score {
    fn of(b: &mut Builder, classes: Input, softmax: bool) -> Self {
        if !softmax {
            return Score::Given(classes);
        }
        let rows = Rows::new(3, vec![1]);
        Score::Softmax(Exponentials::of(b, &classes, &rows), rows)
    }

    fn at(&self, i: &[PrimExpr]) -> PrimExpr {
        match self {
            Score::Given(classes) => classes.at(i).cast(accumulator(classes.dtype())),
            Score::Softmax(parts, rows) => parts.exp.at(i) / parts.sum.at(&rows.retained(i)),
        }
    }
}

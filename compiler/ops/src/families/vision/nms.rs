//! Non-maximum suppression.

use super::{boxes::require_elements, suppress};
use crate::{
    CallContext, dims,
    families::nn::activation::float_tensor,
    legalize::{
        Builder, Legalized,
        loops::{Cell, each, in_order, when},
    },
    op::{AttrKind, Op},
    rules::{Inferred, expect_ndim},
    text::{dim_text, shape_text},
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, Type, relax::InferError, tir::Stmt};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![get_valid_counts(), non_max_suppression(), all_class_non_max_suppression()]
}

fn get_valid_counts() -> Op {
    Op::new("vision.get_valid_counts")
        .doc(
            "Moves the boxes whose score is above a threshold to the front; returns their number, the boxes, and \
             their old indices.",
        )
        .example("x: float32[1, 4, 6]", "x, score_threshold=0.5")
        .tensor("data")
        .attr("score_threshold", AttrKind::Float, 0.0)
        .attr("id_index", AttrKind::Int, 0i64)
        .attr("score_index", AttrKind::Int, 1i64)
        .infer(infer_valid_counts)
        .legalize(legalize_valid_counts)
}

/// Checks that an index is at least `least` and less than the size of a box.
fn expect_element(cx: &CallContext, name: &str, data: &TensorType, min: i64) -> Result<(), InferError> {
    let index = cx.int(name)?;
    let length = data.dims().and_then(|d| d[2].as_int());
    if index < min || length.is_some_and(|n| index >= n) {
        let length = length.map_or("…".to_owned(), |n| n.to_string());
        return Err(cx.error_at(name, format_args!("`{name}` is {index}, but the size of a box is {length}")));
    }
    Ok(())
}

fn infer_valid_counts(cx: &CallContext) -> Inferred {
    let data = float_tensor(cx, "data")?;
    expect_ndim(cx, "data", &data, 3)?;
    expect_element(cx, "score_index", &data, 0)?;
    expect_element(cx, "id_index", &data, -1)?;
    let counts = leading(&data, 1, DType::INT32);
    let places = leading(&data, 2, DType::INT32);
    Ok(Type::Tuple(vec![counts, with_rank(data, 3).into(), places]))
}

/// A tensor of the leading axes of another.
fn leading(ty: &TensorType, axes: usize, dtype: DType) -> Type {
    let shape = match ty.dims() {
        Some(dims) => TensorShape::Known(dims[..axes].into()),
        None => TensorShape::Rank(axes),
    };
    TensorType { shape, dtype: Some(dtype), vdevice: ty.vdevice.clone() }.into()
}

fn with_rank(ty: TensorType, ndim: usize) -> TensorType {
    if ty.ndim().is_some() { ty } else { TensorType { shape: TensorShape::Rank(ndim), ..ty } }
}

/// Moves the boxes of each image sequentially.
fn legalize_valid_counts(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "get_valid_counts")?;
    let data = b.input("data")?;
    let (counts, boxes, places) = (b.output("valid_count")?, b.output("boxes")?, b.output("places")?);
    let (threshold, score) = (cx.float("score_threshold")?, cx.int("score_index")?);
    let class = Some(cx.int("id_index")?).filter(|i| *i >= 0);
    let shape = data.shape().to_vec();
    require_elements(&mut b, &shape[2], score.max(class.unwrap_or(0)));
    b.block("get_valid_counts", &shape[..1], |i| {
        let (image, next) = (&i[0], Cell::new("next", DType::INT64));
        let element = |j: &PrimExpr, k: PrimExpr| data.at(&[image.clone(), j.clone(), k]);
        let row = |j: &PrimExpr, value: &dyn Fn(&PrimExpr) -> PrimExpr| {
            each("e", shape[2].clone(), |k| Stmt::store(&boxes, vec![image.clone(), j.clone(), k.clone()], value(k)))
        };
        let place = |j: &PrimExpr, value: PrimExpr| Stmt::store(&places, vec![image.clone(), j.clone()], value);
        let take = each("j", shape[1].clone(), |j| {
            let mut counts = element(j, score.into()).gt(PrimExpr::float(threshold, data.dtype()));
            if let Some(class) = class {
                counts = counts.and(element(j, class.into()).ge(PrimExpr::float(0.0, data.dtype())));
            }
            let copy = row(&next.get(), &|k| element(j, k.clone()));
            let from = place(&next.get(), j.clone().cast(DType::INT32));
            when(counts, in_order([copy, from, next.add(1i64)]))
        });
        let rest = each("j", shape[1].clone(), |j| {
            let empty = row(j, &|_| PrimExpr::float(-1.0, data.dtype()));
            when(j.clone().ge(next.get()), in_order([empty, place(j, PrimExpr::int32(-1))]))
        });
        let count = Stmt::store(&counts, vec![image.clone()], next.get().cast(DType::INT32));
        in_order(next.declare(0i64.into()).into_iter().chain([take, count, rest]))
    });
    Ok(b.finish())
}

fn non_max_suppression() -> Op {
    Op::new("vision.non_max_suppression")
        .doc(
            "Non-maximum suppression: drops boxes that overlap a better one of their class by `iou_threshold` or more.",
        )
        .example("x: float32[1, 4, 6]; n: int32[1]; i: int32[1, 4]", "x, n, i, iou_threshold=0.5")
        .tensor("data")
        .tensor("valid_count")
        .tensor("indices")
        .attr("max_output_size", AttrKind::Int, -1i64)
        .attr("iou_threshold", AttrKind::Float, 0.5)
        .attr("force_suppress", AttrKind::Bool, false)
        .attr("top_k", AttrKind::Int, -1i64)
        .attr("coord_start", AttrKind::Int, 2i64)
        .attr("score_index", AttrKind::Int, 1i64)
        .attr("id_index", AttrKind::Int, 0i64)
        .attr("return_indices", AttrKind::Bool, true)
        .attr("invalid_to_bottom", AttrKind::Bool, false)
        .attr("soft_nms_sigma", AttrKind::Float, 0.0)
        .attr("score_threshold", AttrKind::Float, 0.0)
        .infer(infer_suppression)
        .legalize(suppress::legalize)
}

fn infer_suppression(cx: &CallContext) -> Inferred {
    let (data, counts, places) = (float_tensor(cx, "data")?, cx.tensor("valid_count")?, cx.tensor("indices")?);
    for (param, ty, ndim) in [("data", &data, 3), ("valid_count", &counts, 1), ("indices", &places, 2)] {
        expect_ndim(cx, param, ty, ndim)?;
        if param != "data" && ty.dtype.is_some_and(|t| t != DType::INT32) {
            return Err(cx.error_at(param, format_args!("`{param}` must hold int32")));
        }
        if let (Some(d), Some(own)) = (data.dims(), ty.dims())
            && own.iter().zip(d).any(|(a, b)| dims::equal(a, b) == Some(false))
        {
            let (shape, data) = (shape_text(ty), shape_text(&data));
            return Err(
                cx.error_at(param, format_args!("`{param}` of shape {shape} does not fit `data` of shape {data}"))
            );
        }
    }
    expect_element(cx, "score_index", &data, 0)?;
    expect_element(cx, "id_index", &data, -1)?;
    expect_element(cx, "coord_start", &data, 0)?;
    if let Some(n) = data.dims().and_then(|d| d[2].as_int())
        && cx.int("coord_start")? + 4 > n
    {
        return Err(cx.error_at(
            "coord_start",
            format_args!("`coord_start` must leave four of a box's {n} elements for its corners"),
        ));
    }
    let boxes = Type::from(with_rank(data.clone(), 3));
    if !cx.bool("return_indices")? {
        return Ok(boxes);
    }
    let kept = match data.dims() {
        Some(d) => TensorShape::Known([d[0].clone(), 1i64.into()].into()),
        None => TensorShape::Rank(2),
    };
    let kept = TensorType { shape: kept, dtype: Some(DType::INT32), vdevice: data.vdevice.clone() };
    let mut results = vec![leading(&data, 2, DType::INT32), kept.into()];
    if cx.float("soft_nms_sigma")? > 0.0 {
        results.insert(0, boxes);
    }
    Ok(Type::Tuple(results))
}

fn all_class_non_max_suppression() -> Op {
    Op::new("vision.all_class_non_max_suppression")
        .doc(
            "Non-maximum suppression of scores `(N, classes, boxes)`, separately for each class, in ONNX's or \
              TensorFlow's output format.",
        )
        .example(
            "b: float32[1, 4, 4]; s: float32[1, 2, 4]",
            r#"b, s, R.const(2, "int64"), R.const(0.5, "float32"), R.const(0.1, "float32")"#,
        )
        .tensor("boxes")
        .tensor("scores")
        .tensor("max_output_boxes_per_class")
        .tensor("iou_threshold")
        .tensor("score_threshold")
        .attr("output_format", AttrKind::Str, "onnx")
        .infer(infer_all_class)
        .packed("vm.builtin.all_class_non_max_suppression")
}

fn infer_all_class(cx: &CallContext) -> Inferred {
    let (boxes, scores) = (float_tensor(cx, "boxes")?, float_tensor(cx, "scores")?);
    let onnx = cx.one_of("output_format", &["onnx", "tensorflow"])? == "onnx";
    expect_ndim(cx, "boxes", &boxes, 3)?;
    expect_ndim(cx, "scores", &scores, 3)?;
    if let (Some(b), Some(s)) = (boxes.dims(), scores.dims()) {
        if dims::equal(&b[2], &4i64.into()) == Some(false) {
            let length = dim_text(&b[2]);
            return Err(cx.error_at("boxes", format_args!("a box has 4 elements, not {length}")));
        }
        if dims::equal(&b[0], &s[0]) == Some(false) || dims::equal(&b[1], &s[2]) == Some(false) {
            let (b, s) = (shape_text(&boxes), shape_text(&scores));
            return Err(cx.error_at("scores", format_args!("`scores` of shape {s} do not fit `boxes` of shape {b}")));
        }
    }
    let tensor = |dims: Option<Vec<PrimExpr>>, rank: usize, dtype: DType| -> Type {
        let shape = dims.map_or(TensorShape::Rank(rank), |d| TensorShape::Known(d.into()));
        TensorType { shape, dtype: Some(dtype), vdevice: scores.vdevice.clone() }.into()
    };
    let sizes = scores.dims();
    let per_batch = sizes.map(|s| dims::mul(&s[1], &s[2]));
    let batch = sizes.map(|s| s[0].clone());
    if onnx {
        // The number of rows depends on the data.
        return Ok(Type::Tuple(vec![tensor(None, 2, DType::INT64), tensor(Some(vec![1i64.into()]), 1, DType::INT64)]));
    }
    let pair = batch.clone().zip(per_batch).map(|(n, k)| vec![n, k]);
    let indices = pair.clone().map(|p| [p, vec![2i64.into()]].concat());
    Ok(Type::Tuple(vec![
        tensor(indices, 3, DType::INT64),
        tensor(pair, 2, DType::FLOAT32),
        tensor(batch.map(|n| vec![n]), 1, DType::INT64),
    ]))
}

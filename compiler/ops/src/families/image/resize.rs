//! Resizing of images and volumes.

use crate::{
    context::CallContext,
    families::nn::{expect_layout, layout, layout::Layout},
    op::{AttrKind, NONE, Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{
    AttrValue, DType, PrimExpr, TensorShape, TensorType,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        resize("image.resize2d", "HW", "round", "Resizes images."),
        resize("image.resize3d", "DHW", "", "Resizes volumes."),
    ]
}

/// How values between elements are found.
const METHODS: &[&str] = &["nearest_neighbor", "linear", "cubic"];

/// How places in the result become places in the data.
const COORDINATES: &[&str] =
    &["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"];

/// How a place between elements is rounded to one.
const ROUNDINGS: &[&str] = &["", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"];

fn resize(name: &'static str, spatial: &'static str, rounding: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .tensor("data")
        .operand("size", OperandKind::Shape)
        .attr("roi", AttrKind::Any, NONE)
        .attr("layout", AttrKind::Str, format!("NC{spatial}").as_str())
        .attr("method", AttrKind::Str, "linear")
        .attr("coordinate_transformation_mode", AttrKind::Str, "half_pixel")
        .attr("rounding_method", AttrKind::Str, rounding)
        .attr("cubic_alpha", AttrKind::Float, -0.75)
        .attr("cubic_exclude", AttrKind::Int, 0i64)
        .attr("extrapolation_value", AttrKind::Float, 0.0)
        .attr("out_dtype", AttrKind::DType, NONE)
        .complete(move |call| complete(call, spatial.len()))
        .infer(move |cx| infer(cx, spatial))
        .structural("")
}

/// One size is for every axis; a region left out is empty, and its bounds are float32.
fn complete(call: &mut Call, rank: usize) {
    if let Some(Operand::Shape(size)) = call.args.get_mut(1)
        && let [one] = size.as_slice()
    {
        *size = vec![one.clone(); rank];
    }
    let bound = |v: f64| AttrValue::from(PrimExpr::float(v, DType::FLOAT32));
    let given: Option<Vec<f64>> = match call.attrs.get("roi") {
        Some(AttrValue::None) | None => Some(vec![0.0; 2 * rank]),
        Some(roi) => match roi.as_list() {
            Some(list) => list.iter().map(AttrValue::as_float).collect(),
            None => roi.as_float().map(|v| vec![v; 2 * rank]),
        },
    };
    if let Some(given) = given {
        call.attrs.set("roi", AttrValue::List(given.into_iter().map(bound).collect()));
    }
}

fn expect_attributes(cx: &CallContext, rank: usize) -> Result<(), InferError> {
    cx.one_of("method", METHODS)?;
    cx.one_of("coordinate_transformation_mode", COORDINATES)?;
    cx.one_of("rounding_method", ROUNDINGS)?;
    match cx.floats("roi")?.len() {
        n if n == 2 * rank => Ok(()),
        n => Err(cx.error(format_args!("`roi` must hold {} bounds, the lower ones first, not {n}", 2 * rank))),
    }
}

fn infer(cx: &CallContext, spatial: &str) -> Inferred {
    let rank = spatial.len();
    expect_attributes(cx, rank)?;
    let primal = format!("NC{spatial}");
    let layout: Layout = layout(cx, "layout", &primal)?;
    let data = cx.tensor("data")?;
    expect_layout(cx, "data", &data, "layout", &layout)?;
    let size = cx.shape("size")?;
    if let Some(n) = size.ndim().filter(|n| *n != rank) {
        return Err(cx.error_at("size", format_args!("`size` must have {rank} dimensions, but it has {n}")));
    }
    let dtype = cx.dtype("out_dtype")?.or(data.dtype);
    let shape = match (data.dims(), size) {
        (Some(dims), ShapeType::Known(size)) => {
            let mut sizes = layout.to_primal(&primal, dims);
            sizes.splice(2.., size.iter().cloned());
            TensorShape::Known(layout.from_primal(&primal, &sizes).into())
        }
        _ => TensorShape::Rank(layout.ndim()),
    };
    Ok(TensorType { shape, dtype, ..data }.into())
}

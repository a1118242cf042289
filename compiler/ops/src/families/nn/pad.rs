//! Padding, and pixel shuffle (depth to space).

use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
    text::{dim_text, shape_text},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![pad(), pixel_shuffle()]
}

/// Contents of the padding.
const MODES: &[&str] = &["constant", "reflect", "replicate", "circular"];

fn pad() -> Op {
    Op::new("nn.pad")
        .doc("Pads a tensor: `pad_width` holds the number of elements before and after, for each axis.")
        .example("x: float32[2, 3]", "x, pad_width=[0, 0, 1, 2]")
        .tensor("data")
        .required("pad_width", AttrKind::Ints)
        .attr("pad_mode", AttrKind::Str, "constant")
        .attr("pad_value", AttrKind::Float, 0.0)
        .attr_order(&["pad_width", "pad_value", "pad_mode"])
        .layouts(relayout::padded)
        .infer(infer_pad)
        .legalize(legalize_pad)
}

/// Numbers before and after, one pair per axis.
fn widths(cx: &CallContext) -> Result<Vec<(i64, i64)>, InferError> {
    let given = cx.ints("pad_width")?;
    if given.len() % 2 != 0 {
        return Err(
            cx.error_at("pad_width", format_args!("`pad_width` must hold two numbers for each axis, not {given:?}"))
        );
    }
    Ok(given.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

fn infer_pad(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let widths = widths(cx)?;
    let mode = cx.one_of("pad_mode", MODES)?;
    if let Some(n) = data.ndim().filter(|n| *n != widths.len()) {
        let axes = if widths.len() == 1 { "1 axis".to_owned() } else { format!("{} axes", widths.len()) };
        return Err(cx.error_at("pad_width", format_args!("`pad_width` is for {axes}, but `data` has {n}")));
    }
    let Some(sizes) = data.dims() else {
        return Ok(TensorType { shape: TensorShape::Rank(widths.len()), ..data }.into());
    };
    for (axis, (size, (before, after))) in sizes.iter().zip(&widths).enumerate() {
        if mode != "constant" && dims::is(size, 0) && before + after > 0 {
            return Err(
                cx.error_at("data", format_args!("axis {axis} is empty: there is nothing to fill the padding with"))
            );
        }
        if size.as_int().is_some_and(|s| s.saturating_add(*before).saturating_add(*after) < 0) {
            return Err(cx.error_at(
                "pad_width",
                format_args!("`pad_width` takes more from axis {axis} than its size, {}", dim_text(size)),
            ));
        }
    }
    let dims = sizes.iter().zip(&widths).map(|(s, (before, after))| dims::offset(s, before + after));
    Ok(TensorType { shape: TensorShape::Known(dims.collect()), ..data }.into())
}

fn legalize_pad(cx: &CallContext) -> Result<Legalized, InferError> {
    let (widths, mode, value) = (widths(cx)?, cx.one_of("pad_mode", MODES)?, cx.float("pad_value")?);
    let name = if mode == "constant" { "pad".to_owned() } else { format!("{mode}_pad") };
    let mut b = Builder::new(cx, &name)?;
    let data = b.input("data")?;
    let out = b.output("padded")?;
    b.compute(&out, |at| {
        let mut from = Vec::new();
        let mut conditions = Vec::new();
        for ((i, size), (before, after)) in at.iter().zip(data.shape()).zip(&widths) {
            let position = dims::offset(i, -before);
            if mode == "constant" {
                conditions.extend((*before > 0).then(|| position.clone().ge(0i64)));
                conditions.extend((*after > 0).then(|| position.clone().lt(size)));
            }
            let padded = *before != 0 || *after != 0;
            from.push(if padded { source(mode, position, size) } else { position });
        }
        let pieces = at.last().zip(data.shape().last()).zip(widths.last());
        let pieces = pieces.and_then(|((i, size), widths)| Segments::of(mode, i, size.as_int()?, *widths));
        if let Some(pieces) = pieces {
            from.pop();
            return pieces.value(|position| data.at(&[&from[..], &[position]].concat()));
        }
        let element = match at.last().zip(data.shape().last()).zip(widths.last()) {
            // The data are read in vectors, and only the padding by computed indices.
            Some(((i, size), (before, after))) if mode != "constant" && (*before != 0 || *after != 0) => {
                let position = dims::offset(i, -before);
                let inside = position.clone().ge(0i64).and(position.clone().lt(size));
                let padding = data.at(&from);
                let last = from.len() - 1;
                inside.if_then_else(data.at(&[&from[..last], &[position]].concat()), padding)
            }
            _ => data.at(&from),
        };
        let fill = PrimExpr::constant(value, data.dtype());
        let inside = conditions.into_iter().reduce(PrimExpr::and);
        inside.map_or(element.clone(), |inside| inside.if_then_else(element, fill))
    });
    Ok(b.finish())
}

/// Reads of the last axis in three segments: before, inside and after the data. Each segment has stride 1, -1 or 0, so
/// it is read in vectors.
struct Segments {
    /// The condition that a position is before the data, and the index read there; `None` without such positions.
    low: Option<(PrimExpr, PrimExpr)>,
    inside: PrimExpr,
    /// The condition that it is not after the data, and the index read after it.
    high: Option<(PrimExpr, PrimExpr)>,
}

impl Segments {
    /// The segments of an axis of known size, if the padding does not reflect or wrap more than once.
    fn of(mode: &str, i: &PrimExpr, size: i64, (before, after): (i64, i64)) -> Option<Segments> {
        let reach = match mode {
            "reflect" => size - 1,
            "circular" => size,
            "replicate" if size > 0 => i64::MAX,
            _ => return None,
        };
        if before < 0 || after < 0 || before.max(after) > reach || before + after == 0 {
            return None;
        }
        let position = |by: i64| dims::offset(i, by);
        let mirrored = |at: i64| dims::sub(&at.into(), i);
        let (low, high) = match mode {
            "reflect" => (mirrored(before), mirrored(before + 2 * (size - 1))),
            "circular" => (position(size - before), position(-before - size)),
            _ => (0i64.into(), (size - 1).into()),
        };
        Some(Segments {
            low: (before > 0).then(|| (i.clone().lt(before), low)),
            inside: position(-before),
            high: (after > 0).then(|| (i.clone().lt(before + size), high)),
        })
    }

    fn value(self, read: impl Fn(PrimExpr) -> PrimExpr) -> PrimExpr {
        let inside = read(self.inside);
        let inside = match self.high {
            Some((is_inside, high)) => is_inside.if_then_else(inside, read(high)),
            None => inside,
        };
        match self.low {
            Some((is_before, low)) => is_before.if_then_else(read(low), inside),
            None => inside,
        }
    }
}

/// The index at which an axis is read for a position that may be outside it.
fn source(mode: &str, position: PrimExpr, size: &PrimExpr) -> PrimExpr {
    let last = dims::offset(size, -1);
    match mode {
        "reflect" => {
            let there_and_back = dims::max(&dims::mul(&last, &2i64.into()), &1i64.into());
            let step = dims::floormod(&position, &there_and_back);
            // Never beyond the last element; the explicit minimum makes that easy to prove.
            dims::min(&step.clone().min(there_and_back - step), &last)
        }
        "replicate" => position.max(0i64).min(last),
        "circular" => dims::floormod(&position, size),
        _ => position,
    }
}

fn pixel_shuffle() -> Op {
    Op::new("nn.pixel_shuffle")
        .doc("Rearranges groups of `upscale_factor²` channels into squares of pixels.")
        .example("x: float32[1, 8, 3, 3]", "x, upscale_factor=2")
        .tensor("data")
        .required("upscale_factor", AttrKind::Int)
        .infer(infer_pixel_shuffle)
        .legalize(legalize_pixel_shuffle)
}

fn upscale_factor(cx: &CallContext) -> Result<i64, InferError> {
    match cx.int("upscale_factor")? {
        factor if (1..1 << 20).contains(&factor) => Ok(factor),
        other => {
            Err(cx.error_at("upscale_factor", format_args!("`upscale_factor` must be greater than 0, not {other}")))
        }
    }
}

fn infer_pixel_shuffle(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let factor = upscale_factor(cx)?;
    if data.ndim().is_some_and(|n| n < 3) {
        let shape = shape_text(&data);
        return Err(
            cx.error_at("data", format_args!("`data` must have at least 3 dimensions, but its shape is {shape}"))
        );
    }
    let Some(sizes) = data.dims() else { return Ok(TensorType::clone(&data).into()) };
    let at = sizes.len() - 3;
    let square = factor * factor;
    if sizes[at].as_int().is_some_and(|c| c % square != 0) {
        let channels = dim_text(&sizes[at]);
        return Err(
            cx.error_at("data", format_args!("the {channels} channels cannot be split into groups of {square}"))
        );
    }
    let mut out = sizes.to_vec();
    out[at] = dims::floordiv(&sizes[at], &square.into());
    for size in &mut out[at + 1..] {
        *size = dims::mul(size, &factor.into());
    }
    Ok(TensorType { shape: TensorShape::Known(out.into()), ..data }.into())
}

fn legalize_pixel_shuffle(cx: &CallContext) -> Result<Legalized, InferError> {
    let factor: PrimExpr = upscale_factor(cx)?.into();
    let mut b = Builder::new(cx, "pixel_shuffle")?;
    let data = b.input("data")?;
    let out = b.output("pixel_shuffle")?;
    b.compute(&out, |at| {
        let (batch, position) = at.split_at(at.len() - 3);
        let inside = |p: &PrimExpr| dims::floormod(p, &factor);
        let channel = dims::mul(&position[0], &dims::mul(&factor, &factor));
        let channel = dims::add(&channel, &dims::mul(&inside(&position[1]), &factor));
        let mut from = batch.to_vec();
        from.push(dims::add(&channel, &inside(&position[2])));
        from.extend(position[1..].iter().map(|p| dims::floordiv(p, &factor)));
        data.at(&from)
    });
    Ok(b.finish())
}

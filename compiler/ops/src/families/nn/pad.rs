//! Padding, and pixel shuffle (depth to space).

use crate::{
    CallContext, dims,
    legalize::{Builder, Input, Legalized},
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
        let axes: Vec<Axis> = at
            .iter()
            .zip(data.shape())
            .zip(&widths)
            .map(|((i, size), (before, after))| Axis { i, size, before: *before, after: *after })
            .collect();
        if mode != "constant" {
            return padded_by_elements(mode, &data, &axes);
        }
        let from: Vec<PrimExpr> = axes.iter().map(Axis::position).collect();
        let inside = axes.iter().flat_map(Axis::conditions).reduce(PrimExpr::and);
        let (element, fill) = (data.at(&from), PrimExpr::constant(value, data.dtype()));
        inside.map_or(element.clone(), |inside| inside.if_then_else(element, fill))
    });
    Ok(b.finish())
}

/// A position along an axis of the result, and how the axis is padded.
struct Axis<'a> {
    i: &'a PrimExpr,
    /// Size of the axis of the data.
    size: &'a PrimExpr,
    before: i64,
    after: i64,
}

impl Axis<'_> {
    /// The position in the data, outside of them in the padding.
    fn position(&self) -> PrimExpr {
        dims::offset(self.i, -self.before)
    }

    fn is_padded(&self) -> bool {
        self.before != 0 || self.after != 0
    }

    /// The conditions that the position is inside the data.
    fn conditions(&self) -> impl Iterator<Item = PrimExpr> + use<> {
        let position = self.position();
        let low = (self.before > 0).then(|| position.clone().ge(0i64));
        low.into_iter().chain((self.after > 0).then(|| position.lt(self.size)))
    }

    /// The condition that padding does not reflect or wrap more than once, and has elements to repeat.
    fn is_long_enough(&self, mode: &str) -> PrimExpr {
        let width = self.before.max(self.after).max(0);
        let minimum = match mode {
            "reflect" => width.saturating_add(1),
            "circular" => width.max(1),
            _ => 1,
        };
        match self.size.as_int() {
            Some(size) => PrimExpr::bool(size >= minimum),
            None => self.size.clone().ge(minimum),
        }
    }

    /// The value that `read` has at the element for a position, if the axis is long enough: by segments before, inside
    /// and after the data. Each has stride 1, -1 or 0, so it is read in vectors.
    fn by_segments(&self, mode: &str, read: impl Fn(PrimExpr) -> PrimExpr) -> PrimExpr {
        let Axis { i, size, before, after } = *self;
        let mirrored = |at: PrimExpr| dims::sub(&at, i);
        let (low, high) = match mode {
            "reflect" => {
                let twice = dims::mul(&dims::offset(size, -1), &2i64.into());
                (mirrored(before.into()), mirrored(dims::offset(&twice, before)))
            }
            "circular" => (dims::add(i, &dims::offset(size, -before)), dims::offset(&dims::sub(i, size), -before)),
            _ => (0i64.into(), dims::offset(size, -1)),
        };
        let mut value = read(self.position());
        if after > 0 {
            value = i.clone().lt(dims::offset(size, before)).if_then_else(value, read(high));
        }
        if before > 0 {
            value = i.clone().lt(before).if_then_else(read(low), value);
        }
        value
    }
}

/// The value of an element whose padding repeats elements of the data.
fn padded_by_elements(mode: &str, data: &Input, axes: &[Axis]) -> PrimExpr {
    let conditions = || axes.iter().filter(|axis| axis.is_padded()).map(|axis| axis.is_long_enough(mode));
    if conditions().any(|condition| condition.as_int() == Some(0)) {
        return by_division(mode, data, axes);
    }
    let Some((last, outer)) = axes.split_last() else { return data.at(&[]) };
    // The bounds make it easy to prove that the index is in the data.
    let index = |axis: &Axis| match axis.is_padded() {
        true => dims::min(&axis.by_segments(mode, |index| index).max(0i64), &dims::offset(axis.size, -1)),
        false => axis.position(),
    };
    let outer: Vec<PrimExpr> = outer.iter().map(index).collect();
    let value = last.by_segments(mode, |index| data.at(&[&outer[..], &[index]].concat()));
    match conditions().filter(|condition| condition.as_int().is_none()).reduce(PrimExpr::and) {
        Some(are_long_enough) => are_long_enough.if_then_else(value, by_division(mode, data, axes)),
        None => value,
    }
}

/// The same for axes of any size: padding may reflect or wrap several times.
fn by_division(mode: &str, data: &Input, axes: &[Axis]) -> PrimExpr {
    let index = |axis: &Axis| match axis.is_padded() {
        true => source(mode, axis.position(), axis.size),
        false => axis.position(),
    };
    let from: Vec<PrimExpr> = axes.iter().map(index).collect();
    let Some((last, outer)) = axes.split_last().filter(|(last, _)| last.is_padded()) else { return data.at(&from) };
    // Only the padding is read by computed indices.
    let position = last.position();
    let inside = position.clone().ge(0i64).and(position.clone().lt(last.size));
    inside.if_then_else(data.at(&[&from[..outer.len()], &[position]].concat()), data.at(&from))
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

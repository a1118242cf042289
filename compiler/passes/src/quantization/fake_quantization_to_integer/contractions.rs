//! Matmuls and convolutions of int8 and uint8 in int32.
//!
//! With zero points `a` and `b`, the contraction of `x - a` and `w - b` over `k` elements is
//! `Σxw - a Σw - b Σx + kab`. A convolution pads with the zero point, which represents zero.

use super::{
    constants::dtype,
    quantized::{Parameter, Quantized, int, sums},
};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    AttrValue, DType, PrimExpr,
    relax::{Call, Operand, Value},
};

/// Maximum reduction extent for which an int32 accumulator cannot overflow.
const MAX_REDUCTION: i64 = i32::MAX as i64 / (255 * 255);

/// Rewrites a matmul or convolution to integers.
pub fn integer(e: &mut Editor, call: &Call) -> Option<Value> {
    let is_conv = ["nn.conv1d", "nn.conv2d", "nn.conv3d"].iter().any(|name| call.is_op(name));
    if !is_conv && !call.is_op("matmul") {
        return None;
    }
    let [x, w] = call.operands()?;
    let (x, w) = (Quantized::of(e, x)?, Quantized::of(e, w)?.signed(e)?);
    let asked = dtype(call, "out_dtype");
    let own = if x.scale.is_some() { DType::FLOAT32 } else { DType::INT32 };
    if x.scale.is_some() != w.scale.is_some() || asked.is_some_and(|dtype| dtype != own) {
        return None;
    }
    let contraction = if is_conv { convolution(e, call, &x, &w)? } else { matmul(e, call, &x, &w)? };
    match contraction.scale {
        None => Some(Value::Operand(contraction.sums)),
        Some(scale) => {
            let real = e.emit("astype", [contraction.sums], [("dtype", DType::FLOAT32.into())])?;
            e.make("multiply", [real, scale], [])
        }
    }
}

/// An integer contraction, and its scale.
struct Contraction {
    sums: Operand,
    scale: Option<Operand>,
}

fn matmul(e: &mut Editor, call: &Call, x: &Quantized, w: &Quantized) -> Option<Contraction> {
    let (left, right) = (e.tensor(&x.numbers)?, e.tensor(&w.numbers)?);
    let (rows, columns) = (left.ndim()?.checked_sub(2)?, right.ndim()?.checked_sub(1).filter(|last| *last > 0)?);
    let extent = left.dims()?.last()?.as_int().filter(|extent| (0..=MAX_REDUCTION).contains(extent))?;
    if !x.varies_only(rows) || !w.varies_only(columns) {
        return None;
    }
    let mut all = e.bind(bytes(call, &x.numbers, &w.numbers))?;
    for (zero, other, axis) in [(&x.zero, &w.numbers, -2), (&w.zero, &x.numbers, -1)] {
        if let Some(zero) = zero {
            let sums = sums(e, other, vec![axis])?;
            all = subtract_zero_term(e, all, zero, sums)?;
        }
    }
    if let (Some(a), Some(b)) = (&x.zero, &w.zero) {
        let both = e.emit("multiply", [a.operand.clone(), b.operand.clone()], [])?;
        let each = e.emit("multiply", [both, int(extent as i32)?], [])?;
        all = e.emit("add", [all, each], [])?;
    }
    let scale = both_scales(e, &x.scale, w.scale.as_ref().map(|scale| scale.operand.clone()))?;
    Some(Contraction { sums: all, scale })
}

fn convolution(e: &mut Editor, call: &Call, x: &Quantized, w: &Quantized) -> Option<Contraction> {
    let layout = |name: &str| call.attrs.get(name)?.as_str().map(str::to_owned);
    let (data, kernel) = (layout("data_layout")?, layout("kernel_layout")?);
    let out = layout("out_layout").filter(|layout| !layout.is_empty()).unwrap_or_else(|| data.clone());
    let dims = e.tensor(&w.numbers)?.dims()?.iter().map(PrimExpr::as_int).collect::<Option<Vec<_>>>()?;
    if data.len() != dims.len() || kernel.len() != dims.len() || out.len() != dims.len() {
        return None;
    }
    let output_channels = kernel.find('O')?;
    let extent: i64 = dims.iter().enumerate().filter(|(at, _)| *at != output_channels).map(|(_, size)| size).product();
    let single = |parameter: &Option<Parameter>| parameter.as_ref().is_none_or(|own| own.axis.is_none());
    let fits = single(&x.zero) && single(&x.scale) && w.zero.is_none() && w.varies_only(output_channels);
    if !fits || extent > MAX_REDUCTION {
        return None;
    }
    let mut numbers = x.numbers.clone();
    let mut call = call.clone();
    if let Some(zero) = &x.zero {
        (numbers, call) = pad_with_zero_point(e, numbers, call, zero, &data)?;
    }
    // Parameters that vary along the output channels.
    let channels: Vec<PrimExpr> =
        out.chars().map(|letter| PrimExpr::int64(if letter == 'C' { dims[output_channels] } else { 1 })).collect();
    let along = |e: &mut Editor, operand: Operand| e.emit("reshape", [operand, Operand::Shape(channels.clone())], []);
    let mut all = e.bind(bytes(&call, &numbers, &w.numbers))?;
    if let Some(zero) = &x.zero {
        let axes = (0..dims.len()).filter(|at| *at != output_channels).map(|at| at as i64).collect();
        let sums = sums(e, &w.numbers, axes)?;
        let sums = along(e, sums)?;
        all = subtract_zero_term(e, all, zero, sums)?;
    }
    let own = match &w.scale {
        Some(Parameter { operand, axis: Some(_), .. }) => Some(along(e, operand.clone())?),
        scale => scale.as_ref().map(|scale| scale.operand.clone()),
    };
    let scale = both_scales(e, &x.scale, own)?;
    Some(Contraction { sums: all, scale })
}

/// Returns the call with integer operands.
fn bytes(call: &Call, x: &Operand, w: &Operand) -> Value {
    let mut call = Call { args: vec![x.clone(), w.clone()], ..call.clone() };
    call.attrs.set("out_dtype", DType::INT32);
    Value::Call(call)
}

/// Emits `sums - zero * others`.
fn subtract_zero_term(e: &mut Editor, sums: Operand, zero: &Parameter, others: Operand) -> Option<Operand> {
    let added = e.emit("multiply", [others, zero.operand.clone()], [])?;
    e.emit("subtract", [sums, added], [])
}

/// Emits the product of both scales; `None` if there are none.
fn both_scales(e: &mut Editor, x: &Option<Parameter>, w: Option<Operand>) -> Option<Option<Operand>> {
    match (x, w) {
        (Some(x), Some(w)) => Some(Some(e.emit("multiply", [w, x.operand.clone()], [])?)),
        _ => Some(None),
    }
}

/// Pads data with its zero point, which must be known, and returns the convolution without padding.
fn pad_with_zero_point(
    e: &mut Editor,
    numbers: Operand,
    mut call: Call,
    zero: &Parameter,
    layout: &str,
) -> Option<(Operand, Call)> {
    let padding = call.attrs.get("padding")?.as_list()?.iter().map(AttrValue::as_int).collect::<Option<Vec<_>>>()?;
    if padding.iter().all(|width| *width == 0) {
        return Some((numbers, call));
    }
    let spatial: Vec<char> = "DHW".chars().filter(|letter| layout.contains(*letter)).collect();
    if padding.len() != 2 * spatial.len() {
        return None;
    }
    let widths = layout.chars().flat_map(|letter| match spatial.iter().position(|own| *own == letter) {
        Some(at) => [padding[at], padding[at + spatial.len()]],
        None => [0, 0],
    });
    let widths = AttrValue::from(widths.collect::<Vec<_>>());
    let value = zero.known.as_ref()?.first().copied()?;
    call.attrs.set("padding", vec![0i64; padding.len()]);
    let numbers = e.emit("nn.pad", [numbers], [("pad_width", widths), ("pad_value", value.into())])?;
    Some((numbers, call))
}

//! Convolutions.

use super::{Op, Result, op, windows::Windows};
use crate::node::{self, Node};
use hammock_ir::{
    DType, PrimExpr,
    relax::{InferError, Operand},
};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("Conv", conv).attributes("auto_pad dilations group kernel_shape pads strides"),
    op("ConvTranspose", conv_transpose)
        .attributes("auto_pad dilations group kernel_shape output_padding output_shape pads strides"),
];

fn conv(n: &mut Node) -> Result {
    let (x, weight) = (n.input(0)?, n.input(1)?);
    let y = append_conv(n, x, weight, None)?;
    let spatial = n.rank(&y)?.saturating_sub(2);
    Ok(n.with_bias(y, 2, spatial)?.into())
}

/// Appends a convolution with the node's attributes; `out_dtype` is the accumulator dtype, if given.
pub(super) fn append_conv(
    n: &mut Node,
    x: Operand,
    weight: Operand,
    out_dtype: Option<DType>,
) -> node::Result<Operand> {
    let kernel = n.kernel_size(&weight)?;
    let windows = Windows::from_attributes(n, &x, &kernel)?;
    let x = windows.pad_dynamic(n, x, 0.0)?;
    let groups = n.attrs.int_or("group", 1)?;
    let ours = match kernel.len() {
        1 => "nn.conv1d",
        2 => "nn.conv2d",
        3 => "nn.conv3d",
        other => return n.error(format!("convolutions of {other} spatial dimensions are not supported")),
    };
    let mut attrs = vec![
        ("strides", windows.strides.clone().into()),
        ("padding", windows.pads.clone().into()),
        ("dilation", windows.dilations.clone().into()),
        ("groups", groups.into()),
    ];
    attrs.extend(out_dtype.map(|dtype| ("out_dtype", dtype.into())));
    let y = n.call_with(ours, [x, weight], &attrs)?;
    windows.cast_counts(n, y)
}

fn conv_transpose(n: &mut Node) -> Result {
    let (x, weight) = (n.input(0)?, n.input(1)?);
    let kernel = n.kernel_size(&weight)?;
    let rank = kernel.len();
    let ours = match rank {
        1 => "nn.conv1d_transpose",
        2 => "nn.conv2d_transpose",
        3 => "nn.conv3d_transpose",
        other => return n.error(format!("convolutions of {other} spatial dimensions are not supported")),
    };
    let ones = vec![1i64; rank];
    let strides = n.spatial("strides", &ones)?;
    let dilations = n.spatial("dilations", &ones)?;
    let mut output_padding = n.spatial("output_padding", &vec![0; rank])?;
    let groups = n.attrs.int_or("group", 1)?;
    let sizes = n.dims(&x)?;
    let shape = n.attrs.ints("output_shape")?;
    let large = |v: &i64| v.unsigned_abs() > 1 << 31;
    if sizes.len() != rank + 2
        || sizes
            .iter()
            .filter_map(PrimExpr::as_int)
            .chain(kernel.clone())
            .chain(shape.iter().flatten().copied())
            .any(|v| large(&v))
    {
        return n.error("its sizes do not fit its kernel, or are too large");
    }
    let pads = match (shape, n.attrs.str_or("auto_pad", "NOTSET")?) {
        (Some(shape), mode) => {
            let shape = &shape[shape.len().saturating_sub(rank)..];
            let excess = excess_of_shape(&sizes, shape, (&kernel, &strides, &dilations), &output_padding)?;
            transposed_pads(&excess, &mut output_padding, mode)
        }
        // The result has `stride * size` elements for every size.
        (None, mode @ ("SAME_UPPER" | "SAME_LOWER")) => {
            let excess = |axis: usize| (kernel[axis] - 1) * dilations[axis] + 1 + output_padding[axis] - strides[axis];
            let excess: Vec<i64> = (0..rank).map(excess).collect();
            transposed_pads(&excess, &mut output_padding, mode)
        }
        (None, "VALID") => vec![0; 2 * rank],
        (None, _) => n.spatial("pads", &vec![0; 2 * rank])?,
    };
    let attrs = [
        ("strides", strides.into()),
        ("padding", pads.into()),
        ("output_padding", output_padding.into()),
        ("dilation", dilations.into()),
        ("groups", groups.into()),
    ];
    let y = n.call_with(ours, [x, weight], &attrs)?;
    Ok(n.with_bias(y, 2, rank)?.into())
}

/// Number of elements per axis by which the unpadded result of a transposed convolution exceeds a shape.
fn excess_of_shape(
    sizes: &[PrimExpr],
    shape: &[i64],
    (kernel, strides, dilations): (&[i64], &[i64], &[i64]),
    output_padding: &[i64],
) -> node::Result<Vec<i64>> {
    if shape.len() != kernel.len() {
        return Err(InferError::new("its `output_shape` has another number of dimensions than its kernel"));
    }
    let excess = |axis: usize| {
        let size = sizes[axis + 2].as_int();
        let size = size.ok_or_else(|| InferError::new("`output_shape` needs an input whose sizes are known"))?;
        let whole = strides[axis] * (size - 1) + output_padding[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
        Ok(whole - shape[axis])
    };
    (0..kernel.len()).map(excess).collect()
}

/// Returns the padding that crops the excess of a transposed convolution; missing elements are added to
/// `output_padding`.
fn transposed_pads(excess: &[i64], output_padding: &mut [i64], mode: &str) -> Vec<i64> {
    let rank = excess.len();
    let mut pads = vec![0; 2 * rank];
    for axis in 0..rank {
        let total = excess[axis].max(0);
        output_padding[axis] += total - excess[axis];
        let (less, more) = (total / 2, total - total / 2);
        (pads[axis], pads[axis + rank]) = if mode == "SAME_UPPER" { (less, more) } else { (more, less) };
    }
    pads
}

impl Node<'_, '_> {
    /// Returns the spatial dimensions of a convolution's kernel.
    pub(super) fn kernel_size(&self, weight: &Operand) -> node::Result<Vec<i64>> {
        let sizes = self.dims(weight)?;
        let sizes = sizes.get(2..).unwrap_or(&[]).iter().map(PrimExpr::as_int).collect::<Option<Vec<_>>>();
        sizes.ok_or_else(|| InferError::new("the sizes of its kernel have to be known when the model is compiled"))
    }

    /// Returns an attribute with one integer per spatial dimension, of the same length as its default.
    pub(super) fn spatial(&self, name: &str, default: &[i64]) -> node::Result<Vec<i64>> {
        match self.attrs.ints(name)? {
            Some(given) if given.iter().any(|v| v.unsigned_abs() > 1 << 31) => {
                self.error(format!("its `{name}` has numbers that are too large"))
            }
            Some(given) if given.len() == default.len() => Ok(given),
            Some(given) => self.error(format!("its `{name}` has {} numbers, not {}", given.len(), default.len())),
            None => Ok(default.to_vec()),
        }
    }

    /// Adds a per-channel bias, if the input is present.
    pub(super) fn with_bias(&mut self, y: Operand, at: usize, spatial: usize) -> node::Result<Operand> {
        let Some(bias) = self.optional(at)? else { return Ok(y) };
        let channels = dims::product(&self.dims(&bias)?);
        let mut shape = vec![PrimExpr::int64(1); spatial + 2];
        shape[1] = channels;
        let bias = self.reshape(bias, shape)?;
        self.call("add", [y, bias])
    }
}

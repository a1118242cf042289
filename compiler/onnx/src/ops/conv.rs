//! Convolutions.

use super::{Op, Result, op, pool::Windows};
use crate::node::{self, Node};
use hammock_ir::{
    DType, PrimExpr,
    relax::{InferError, Operand},
};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("Conv", conv), op("ConvTranspose", conv_transpose)];

fn conv(n: &mut Node) -> Result {
    let (x, weight) = (n.input(0)?, n.input(1)?);
    let y = convolved(n, x, weight, None)?;
    let spatial = n.rank(&y)?.saturating_sub(2);
    Ok(n.with_bias(y, 2, spatial)?.into())
}

/// A convolution with the node's attributes, whose sums are of that type if it is given.
pub(super) fn convolved(n: &mut Node, x: Operand, weight: Operand, out_dtype: Option<DType>) -> node::Result<Operand> {
    let kernel = n.kernel_size(&weight)?;
    let windows = Windows::of(n, &x, &kernel)?;
    let groups = n.attrs.int_or("group", 1)?;
    let ours = match kernel.len() {
        1 => "nn.conv1d",
        2 => "nn.conv2d",
        3 => "nn.conv3d",
        other => return n.error(format!("convolutions of {other} spatial dimensions are not supported")),
    };
    let mut attrs = vec![
        ("strides", windows.strides.into()),
        ("padding", windows.pads.into()),
        ("dilation", windows.dilations.into()),
        ("groups", groups.into()),
    ];
    attrs.extend(out_dtype.map(|dtype| ("out_dtype", dtype.into())));
    n.call_with(ours, [x, weight], &attrs)
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
    let mut beyond = n.spatial("output_padding", &vec![0; rank])?;
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
            let shape = shape[shape.len().saturating_sub(rank)..].to_vec();
            transposed_pads(&sizes, &shape, (&kernel, &strides, &dilations), &mut beyond, mode)?
        }
        (None, "SAME_UPPER" | "SAME_LOWER") => {
            let shape = sizes[2..].iter().zip(&strides).map(|(s, by)| s.as_int().map(|s| s * by));
            let shape = shape.collect::<Option<Vec<_>>>();
            let shape = shape.ok_or_else(|| InferError::new("`auto_pad` needs sizes that are known"))?;
            let mode = n.attrs.str_or("auto_pad", "")?;
            transposed_pads(&sizes, &shape, (&kernel, &strides, &dilations), &mut beyond, mode)?
        }
        (None, "VALID") => vec![0; 2 * rank],
        (None, _) => n.spatial("pads", &vec![0; 2 * rank])?,
    };
    let attrs = [
        ("strides", strides.into()),
        ("padding", pads.into()),
        ("output_padding", beyond.into()),
        ("dilation", dilations.into()),
        ("groups", groups.into()),
    ];
    let y = n.call_with(ours, [x, weight], &attrs)?;
    Ok(n.with_bias(y, 2, rank)?.into())
}

/// The padding with which a transposed convolution has results of that shape.
fn transposed_pads(
    sizes: &[PrimExpr],
    shape: &[i64],
    (kernel, strides, dilations): (&[i64], &[i64], &[i64]),
    beyond: &mut [i64],
    mode: &str,
) -> node::Result<Vec<i64>> {
    let rank = kernel.len();
    let mut pads = vec![0; 2 * rank];
    if shape.len() != rank || sizes.len() != rank + 2 {
        return Err(InferError::new("its `output_shape` has another number of dimensions than its kernel"));
    }
    for axis in 0..rank {
        let size = sizes[axis + 2].as_int().ok_or_else(|| InferError::new("its input's sizes have to be known"))?;
        let whole = strides[axis] * (size - 1) + beyond[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
        let total = whole - shape[axis];
        if total < 0 {
            beyond[axis] -= total;
        }
        let (less, total) = (total.max(0) / 2, total.max(0));
        let begin = if mode == "SAME_UPPER" { less } else { total - less };
        (pads[axis], pads[axis + rank]) = (begin, total - begin);
    }
    Ok(pads)
}

impl Node<'_, '_> {
    /// The spatial sizes of a convolution's kernel.
    pub(super) fn kernel_size(&self, weight: &Operand) -> node::Result<Vec<i64>> {
        let sizes = self.dims(weight)?;
        let sizes = sizes.get(2..).unwrap_or(&[]).iter().map(PrimExpr::as_int).collect::<Option<Vec<_>>>();
        sizes.ok_or_else(|| InferError::new("the sizes of its kernel have to be known when the model is compiled"))
    }

    /// A list of integers for spatial dimensions, of the length of its default.
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

    /// `y` plus an input that has a value for each channel, if it is given.
    pub(super) fn with_bias(&mut self, y: Operand, at: usize, spatial: usize) -> node::Result<Operand> {
        let Some(bias) = self.optional(at)? else { return Ok(y) };
        let channels = dims::product(&self.dims(&bias)?);
        let mut shape = vec![PrimExpr::int64(1); spatial + 2];
        shape[1] = channels;
        let bias = self.reshape(bias, shape)?;
        self.call("add", [y, bias])
    }
}

//! Weights as 4-bit codes of a table of floats (FP4 and NF4 of the library bitsandbytes), with a scale for each block.

use super::{MAX_SIZE, Result, unpack};
use crate::node::{self, Node};
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};

/// Floats of FP4 codes, from <https://github.com/bitsandbytes-foundation/bitsandbytes>.
const FP4: [f32; 8] = [0.0, 0.005_208_333, 0.666_666_7, 1.0, 0.333_333_34, 0.5, 0.166_666_67, 0.25];

/// Floats of NF4 codes: quantiles of the normal distribution (QLoRA, appendix E).
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Inputs: data, the codes of the transposed matrix, and the scales of blocks of its elements. The first of two codes is
/// in the high bits.
pub(super) fn matmul(n: &mut Node) -> Result {
    let (x, codes, scales) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let dtype = n.dtype(&x)?;
    let size = |name: &str| match n.attrs.int(name)?.filter(|size| (1..=MAX_SIZE).contains(size)) {
        Some(size) => Ok(size),
        None => n.error(format!("its `{name}` has to be a positive integer")),
    };
    let (rows, columns, block) = (size("K")?, size("N")?, size("block_size")?);
    let count = rows * columns;
    for (x, name, needed) in [(&codes, "codes", (count + 1) / 2), (&scales, "scales", (count + block - 1) / block)] {
        let own = node::product(&n.dims(x)?);
        if own.as_int().is_some_and(|own| own != needed) {
            let own = node::shown_size(&own);
            return n.error(format!("its {name} have {own} elements, but `K`, `N` and `block_size` need {needed}"));
        }
    }
    let table = table(n)?;
    let codes = n.reshape(codes, vec![((count + 1) / 2).into(), 1i64.into()])?;
    let codes = unpack(n, codes, 4)?;
    let codes = n.call_with("flip", [codes], &[("axis", 1i64.into())])?;
    let codes = n.reshape(codes, vec![((count + 1) / 2 * 2).into()])?;
    let codes = n.slice_axis(codes, 0, 0i64.into(), count.into())?;
    let codes = n.cast(codes, DType::INT32)?;
    let values = n.call_with("take", [table, codes], &[("axis", 0i64.into())])?;
    let scales = n.cast(scales, DType::FLOAT32)?;
    let scales = n.reshape(scales, vec![((count + block - 1) / block).into()])?;
    let scales = n.call_with("repeat", [scales], &[("repeats", block.into()), ("axis", 0i64.into())])?;
    let scales = n.slice_axis(scales, 0, 0i64.into(), count.into())?;
    let weights = n.call("multiply", [values, scales])?;
    let weights = n.cast(weights, dtype)?;
    let weights = n.reshape(weights, vec![columns.into(), rows.into()])?;
    let is_transposed = n.attrs.int_or("transB", 1)? != 0;
    let weights = if is_transposed { n.call("permute_dims", [weights])? } else { weights };
    Ok(n.call("matmul", [x, weights])?.into())
}

fn table(n: &Node) -> node::Result<Operand> {
    let values = match n.attrs.int("quant_type")? {
        Some(0) => [FP4, FP4.map(|value| -value)].concat(),
        Some(1) => NF4.to_vec(),
        _ => return n.error("its `quant_type` has to be 0 (FP4) or 1 (NF4)"),
    };
    let table = Tensor::from_slice(&[16], &values).map_err(|error| InferError::new(error.to_string()))?;
    Ok(Operand::Const(Constant::new(table)))
}

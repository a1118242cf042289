//! Properties of tensors.
use crate::ffi::{Error, kind};
use crate::value::Tensor;
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("relax.inspect.tensor_ndim", ndim(value: &Tensor) -> "int", "Returns a tensor's rank."),
    builtin!("relax.inspect.tensor_dtype_code", dtype_code(value: &Tensor) -> "int",
        "Returns the DLPack type code of a tensor's dtype."),
    builtin!("relax.inspect.tensor_dtype_bits", dtype_bits(value: &Tensor) -> "int",
        "Returns the bits per lane of a tensor's dtype."),
    builtin!("relax.inspect.tensor_dtype_lanes", dtype_lanes(value: &Tensor) -> "int",
        "Returns the lanes of a tensor's dtype."),
    builtin!("relax.inspect.tensor_byte_offset", byte_offset(value: &Tensor) -> "int",
        "Returns a tensor's offset into its memory, in bytes."),
    builtin!("relax.inspect.tensor_elem_offset", elem_offset(value: &Tensor) -> "int",
        "Returns a tensor's offset into its memory, in elements."),
    builtin!("relax.inspect.tensor_shape_i", shape_i(value: &Tensor, axis: i64) -> "int",
        "Returns a tensor's size along an axis."),
    builtin!("relax.inspect.tensor_stride_i", stride_i(value: &Tensor, axis: i64) -> "int",
        "Returns a tensor's stride along an axis, in elements."),
];

fn ndim(value: &Tensor) -> Result<i64, Error> {
    Ok(value.shape().len() as i64)
}

fn dtype_code(value: &Tensor) -> Result<i64, Error> {
    Ok(value.dtype().code.into())
}

fn dtype_bits(value: &Tensor) -> Result<i64, Error> {
    Ok(value.dtype().bits.into())
}

fn dtype_lanes(value: &Tensor) -> Result<i64, Error> {
    Ok(value.dtype().lanes.into())
}

fn byte_offset(value: &Tensor) -> Result<i64, Error> {
    Ok(value.as_dl().byte_offset as i64)
}

fn elem_offset(value: &Tensor) -> Result<i64, Error> {
    Ok(byte_offset(value)? / value.dtype().bytes().max(1) as i64)
}

fn shape_i(value: &Tensor, axis: i64) -> Result<i64, Error> {
    along(value.shape(), axis)
}

fn stride_i(value: &Tensor, axis: i64) -> Result<i64, Error> {
    if !value.strides().is_empty() {
        return along(value.strides(), axis);
    }
    along(value.shape(), axis)?;
    Ok(value.shape()[axis as usize + 1..].iter().product())
}

fn along(values: &[i64], axis: i64) -> Result<i64, Error> {
    let value = usize::try_from(axis).ok().and_then(|axis| values.get(axis));
    value
        .copied()
        .ok_or_else(|| Error::new(kind::INDEX, format!("a tensor of {} axes has no axis {axis}", values.len())))
}

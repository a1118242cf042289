//! Sparse tensors of the file, which are converted to dense ones.

use crate::{external::Folder, listing::brief, schema::SparseTensorProto, tensor};
use hammock_ir::{DType, Tensor};
use hammock_runtime::Element;

/// Maximum size in bytes of a dense tensor, the limit of a protobuf message: a small file must not expand beyond it.
const MAX_BYTES: i64 = i32::MAX as i64;

/// Returns the name of a sparse tensor, which is that of its values.
pub fn name(proto: &SparseTensorProto) -> &str {
    proto.values.as_ref().map_or("", |values| &values.name)
}

/// Converts a sparse tensor to a dense one.
///
/// # Errors
/// The reason, in a sentence without the tensor's name.
pub fn read(proto: &SparseTensorProto, folder: &Folder) -> Result<Tensor, String> {
    let (Some(values), Some(indices)) = (&proto.values, &proto.indices) else {
        return Err("a sparse tensor needs values and indices".to_owned());
    };
    let values = tensor::read(values, folder)?;
    let indices = tensor::read(indices, folder)?;
    let (dims, count) = (&proto.dims, values.element_count());
    let offsets = linear_indices(dims, indices.shape(), &integers(&indices)?, count)?;
    let width = values.dtype().bytes();
    let total = dims.iter().try_fold(width as i64, |all, size| all.checked_mul(*size));
    let total = total.filter(|total| (0..=MAX_BYTES).contains(total) && dims.iter().all(|size| *size >= 0));
    let total = total.ok_or_else(|| format!("its shape {dims:?} cannot be that of a dense tensor"))?;
    let mut dense: Vec<u8> = Vec::new();
    dense.try_reserve_exact(total as usize).map_err(|e| e.to_string())?;
    dense.resize(total as usize, 0);
    let bytes = values.as_bytes().map_err(|e| e.to_string())?;
    for (offset, value) in offsets.into_iter().zip(bytes.chunks_exact(width)) {
        let offset = offset * width;
        dense.get_mut(offset..offset + width).ok_or("an index is out of range")?.copy_from_slice(value);
    }
    Tensor::from_bytes(values.dtype(), dims, &dense).map_err(|e| e.to_string())
}

/// Returns the elements of a tensor of indices. ONNX has int64; ONNX Runtime writes the narrowest dtype that fits.
fn integers(indices: &Tensor) -> Result<Vec<i64>, String> {
    fn read<T: Element + Into<i64>>(indices: &Tensor) -> Result<Vec<i64>, String> {
        let indices = indices.as_slice::<T>().map_err(|error| format!("its indices: {error}"))?;
        Ok(indices.iter().map(|index| (*index).into()).collect())
    }
    match indices.dtype() {
        DType::INT8 => read::<i8>(indices),
        DType::INT16 => read::<i16>(indices),
        DType::INT32 => read::<i32>(indices),
        _ => read::<i64>(indices),
    }
}

/// Returns the linear indices of the listed elements: `indices` are linear, or coordinates with one row per element.
fn linear_indices(dims: &[i64], shape: &[i64], indices: &[i64], count: usize) -> Result<Vec<usize>, String> {
    let rank = dims.len();
    let rows = match shape {
        [rows] if *rows == count as i64 => 1,
        [rows, columns] if *rows == count as i64 && *columns == rank as i64 => rank,
        _ => {
            let shown = brief(&format!("{shape:?}"));
            return Err(format!(
                "its {count} values need indices of shape [{count}] or [{count}, {rank}], not {shown}"
            ));
        }
    };
    let whole = [dims.iter().try_fold(1i64, |all, size| all.checked_mul(*size)).unwrap_or(i64::MAX)];
    let sizes = if rows == 1 && shape.len() == 1 { &whole[..] } else { dims };
    let linear_index = |row: &[i64]| {
        let mut linear = 0i64;
        for (index, size) in row.iter().zip(sizes) {
            if !(0..*size).contains(index) {
                return Err(format!("its index {index} is not in a dimension of {size} elements"));
            }
            linear = linear
                .checked_mul(*size)
                .and_then(|linear| linear.checked_add(*index))
                .ok_or("an index is too large")?;
        }
        usize::try_from(linear).map_err(|e| e.to_string())
    };
    if rows == 0 {
        return Ok(vec![0; count]);
    }
    indices.chunks_exact(rows).map(linear_index).collect()
}

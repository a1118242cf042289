//! Tensors of the file: initializers and constants.

use crate::{dtype, external::Folder, schema::TensorProto, value::Value};
use bytes::Bytes;
use hammock_ir::{
    DType, MAX_RANK, Tensor,
    relax::{Constant, Operand},
};
use hammock_runtime::memory::MappedFile;
use hammock_tools::ElementType;
use std::{io::Write, sync::Arc};

/// Minimum size in bytes of a tensor whose copy is written to a file.
const MIN_FILE_BACKED_BYTES: usize = 32 << 20;

/// Reads a tensor. Aligned raw data are used in the mapped file, without a copy.
///
/// # Errors
/// The reason, in a sentence without the tensor's name.
pub fn read(proto: &TensorProto, folder: &Folder) -> Result<Tensor, String> {
    let number = i64::from(proto.data_type);
    let element = ElementType::of(number);
    let element = element.ok_or_else(|| format!("elements of {} are not supported", dtype::name(number)))?;
    let dtype = element.stored;
    let (count, bytes) = size(&proto.dims, dtype)?;
    let data = match proto.data_location {
        0 if proto.raw_data.is_empty() => typed(proto, dtype)?,
        0 => proto.raw_data.clone(),
        1 => folder.external(&proto.external_data, bytes)?,
        other => return Err(format!("its data location {other} is not supported")),
    };
    if data.len() != bytes {
        let (dims, have) = (&proto.dims, data.len());
        return Err(format!("{dims:?} of {dtype} are {bytes} bytes, but its data are {have}"));
    }
    if element.is_narrow() {
        return Tensor::from_bytes(element.held, &proto.dims, &element.unpacked(&data, count))
            .map_err(|e| e.to_string());
    }
    of_bytes(dtype, &proto.dims, data, folder)
}

/// Returns the tensor of a message as a value.
pub fn value(proto: &TensorProto, tensor: Tensor) -> Value {
    let operand = Operand::Const(Constant::new(tensor));
    match ElementType::of(i64::from(proto.data_type)) {
        Some(element) => Value::of(operand, element),
        None => Value::Operand(operand),
    }
}

/// Creates a tensor over bytes, which are copied only if they are not aligned.
fn of_bytes(dtype: DType, dims: &[i64], data: Bytes, folder: &Folder) -> Result<Tensor, String> {
    if folder.mapped_range(&data).is_some() {
        folder.reserve_mapped(data.len())?;
    }
    let aligned = (data.as_ptr() as usize).is_multiple_of(dtype.bytes().max(1));
    let tensor = match folder.mapped_range(&data).filter(|_| !data.is_empty()) {
        Some((file, range)) if aligned => Tensor::from_mapped(dtype, dims, file, range),
        Some((file, range)) => {
            let copy = match large_copy(&data) {
                Some(copy) => Tensor::from_mapped(dtype, dims, copy, 0..data.len()),
                None => Tensor::from_bytes(dtype, dims, &data),
            };
            file.evict(range);
            copy
        }
        None => Tensor::from_bytes(dtype, dims, &data),
    };
    let tensor = tensor.map_err(|e| e.to_string())?;
    if dtype == DType::BOOL {
        tensor.as_slice::<bool>().map_err(|e| e.to_string())?;
    }
    Ok(tensor)
}

/// Copies a large tensor's data to a temporary file: unlike heap memory, pages of a mapped file can be evicted while
/// the data are processed. `None` if no such file can be written.
fn large_copy(data: &[u8]) -> Option<Arc<MappedFile>> {
    if data.len() < MIN_FILE_BACKED_BYTES {
        return None;
    }
    let mut file = tempfile::tempfile().ok()?;
    file.write_all(data).ok()?;
    MappedFile::new(&file).ok().map(Arc::new)
}

/// Returns the number of elements and bytes of a tensor in the file.
fn size(dims: &[i64], dtype: DType) -> Result<(usize, usize), String> {
    if dims.len() > MAX_RANK {
        return Err(format!("it has {} dimensions, more than {MAX_RANK}", dims.len()));
    }
    let sizes = dims.iter().map(|d| usize::try_from(*d).ok());
    let count = sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?));
    let bytes = count.and_then(|count| Some((count, dtype.storage_bytes(count)?)));
    bytes.filter(|(_, bytes)| isize::try_from(*bytes).is_ok()).ok_or_else(|| format!("its shape {dims:?} cannot be"))
}

/// Returns the bytes of data in typed fields.
fn typed(proto: &TensorProto, dtype: DType) -> Result<Bytes, String> {
    let narrow = |bytes: usize| proto.int32_data.iter().flat_map(|v| v.to_le_bytes()[..bytes].to_vec()).collect();
    let bytes: Vec<u8> = match dtype {
        DType::FLOAT32 => proto.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::FLOAT64 => proto.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::INT64 => proto.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::UINT64 => proto.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::UINT32 => proto.uint64_data.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect(),
        DType::INT32 => proto.int32_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        dtype => narrow(dtype.bytes()),
    };
    Ok(bytes.into())
}

/// Returns the elements of a tensor as numbers.
///
/// # Errors
/// The reason, if it does not hold integers or floats.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f64>, String> {
    fn of<T: hammock_runtime::Element>(tensor: &Tensor, number: impl Fn(T) -> f64) -> Result<Vec<f64>, String> {
        let elements = tensor.as_slice::<T>().map_err(|error| error.to_string())?;
        Ok(elements.iter().map(|element| number(*element)).collect())
    }
    match tensor.dtype() {
        DType::FLOAT64 => of(tensor, |v: f64| v),
        DType::FLOAT32 => of(tensor, |v: f32| v.into()),
        DType::FLOAT16 => of(tensor, |v: half::f16| v.into()),
        DType::INT64 => of(tensor, |v: i64| v as f64),
        DType::INT32 => of(tensor, |v: i32| v.into()),
        DType::INT16 => of(tensor, |v: i16| v.into()),
        DType::UINT8 => of(tensor, |v: u8| v.into()),
        other => Err(format!("elements of {other} are not supported")),
    }
}

//! Tensors of the file: initializers and constants.

use crate::{dtype, external::Folder, schema::TensorProto, value::Value};
use bytes::Bytes;
use hammock_ir::{
    DType, MAX_RANK, Tensor,
    relax::{Constant, Operand},
};
use hammock_runtime::{memory::MappedFile, tools::ElementType};
use std::{io::Write, sync::Arc};

/// Bytes from which a copy goes to a file.
const LARGE: usize = 32 << 20;

/// A tensor's data as a tensor. Data that lie in the file as they are used stay there, if they are aligned.
///
/// # Errors
/// What is wrong with it, in a sentence without the tensor's name.
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
        other => return Err(format!("its data are in a place of number {other}, which is not known")),
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

/// The tensor of a message as a value.
pub fn value(proto: &TensorProto, tensor: Tensor) -> Value {
    let operand = Operand::Const(Constant::new(tensor));
    match ElementType::of(i64::from(proto.data_type)) {
        Some(element) => Value::of(operand, element),
        None => Value::Operand(operand),
    }
}

/// A tensor over bytes, which are copied only where they are not aligned.
fn of_bytes(dtype: DType, dims: &[i64], data: Bytes, folder: &Folder) -> Result<Tensor, String> {
    if folder.place(&data).is_some() {
        folder.count(data.len())?;
    }
    let aligned = (data.as_ptr() as usize).is_multiple_of(dtype.bytes().max(1));
    let tensor = match folder.place(&data).filter(|_| !data.is_empty()) {
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

/// A large tensor's data in a file of their own, which is removed with the process: unlike memory, a mapped file can be
/// set aside while what is computed of it takes the room. None where no such file can be written.
fn large_copy(data: &[u8]) -> Option<Arc<MappedFile>> {
    if data.len() < LARGE {
        return None;
    }
    let mut file = tempfile::tempfile().ok()?;
    file.write_all(data).ok()?;
    MappedFile::new(&file).ok().map(Arc::new)
}

/// How many elements and bytes a tensor has in a file.
fn size(dims: &[i64], dtype: DType) -> Result<(usize, usize), String> {
    if dims.len() > MAX_RANK {
        return Err(format!("it has {} dimensions, more than {MAX_RANK}", dims.len()));
    }
    let sizes = dims.iter().map(|d| usize::try_from(*d).ok());
    let count = sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?));
    let bytes = count.and_then(|count| Some((count, dtype.storage_bytes(count)?)));
    bytes.filter(|(_, bytes)| isize::try_from(*bytes).is_ok()).ok_or_else(|| format!("its shape {dims:?} cannot be"))
}

/// The bytes of data that are listed by type.
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

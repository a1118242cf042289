//! safetensors files: mapped when they are read, written in pieces.

use super::failed;
use crate::{
    error::{InputError, brief},
    output::{Content, write_file},
};
use hammock_runtime::{
    DType, Tensor,
    executable::ConstantData,
    image::External,
    json::Json,
    memory::{MappedFile, reserve},
};
use safetensors::{Dtype, SafeTensors};
use std::{cmp::Reverse, io, path::Path, sync::Arc};

/// Alignment of the data: constants are used in place.
const ALIGNMENT: usize = 64;

/// The dtypes of safetensors files.
const DTYPES: [(Dtype, DType); 15] = [
    (Dtype::BOOL, DType::BOOL),
    (Dtype::U8, DType::UINT8),
    (Dtype::I8, DType::INT8),
    (Dtype::I16, DType::INT16),
    (Dtype::U16, DType::UINT16),
    (Dtype::F16, DType::FLOAT16),
    (Dtype::BF16, DType::BFLOAT16),
    (Dtype::I32, DType::INT32),
    (Dtype::U32, DType::UINT32),
    (Dtype::F32, DType::FLOAT32),
    (Dtype::F64, DType::FLOAT64),
    (Dtype::I64, DType::INT64),
    (Dtype::U64, DType::UINT64),
    (Dtype::F8_E4M3, DType::FLOAT8_E4M3FN),
    (Dtype::F8_E5M2, DType::FLOAT8_E5M2),
];

/// An entry of the header.
struct Entry {
    name: String,
    dtype: String,
    shape: Vec<i64>,
    bytes: usize,
}

/// The beginning of a file: the size of the header, and the header, which describes contiguous data.
fn head(entries: &[Entry]) -> Vec<u8> {
    let mut end = 0;
    let members = entries.iter().map(|Entry { name, dtype, shape, bytes }| {
        let begin = end;
        end += bytes;
        let numbers = |numbers: &[i64]| numbers.iter().map(|number| Json::Int(*number)).collect();
        let offsets = numbers(&[begin as i64, end as i64]);
        let entry = [("dtype", dtype.as_str().into()), ("shape", numbers(shape)), ("data_offsets", offsets)];
        (name.clone(), Json::object(entry))
    });
    let mut table = Json::Object(members.collect()).to_string();
    let len = (size_of::<u64>() + table.len()).next_multiple_of(ALIGNMENT) - size_of::<u64>();
    table.extend(std::iter::repeat_n(' ', len - table.len()));
    [&(len as u64).to_le_bytes(), table.as_bytes()].concat()
}

fn dtype_name(dtype: DType) -> Option<String> {
    DTYPES.iter().find(|(_, ours)| *ours == dtype).map(|(theirs, _)| theirs.to_string())
}

/// Reads a mapped safetensors file. Tensors stay mapped if they are aligned there.
///
/// # Errors
/// If it is damaged, or has an unsupported dtype.
pub(super) fn load(path: &Path, map: Arc<MappedFile>) -> Result<Vec<(String, Tensor)>, InputError> {
    let whole = &map[..];
    // If memory is limited, the tensors must fit.
    let _room = reserve(whole.len()).map_err(|e| failed(path, e.message()))?;
    let damaged =
        |why: &dyn std::fmt::Display| failed(path, format!("it is not a safetensors file, or damaged: {why}"));
    let file = SafeTensors::deserialize(whole).map_err(|e| damaged(&e))?;
    let header = whole.get(8..).and_then(|rest| rest.get(..SafeTensors::read_metadata(whole).ok()?.0)).unwrap_or(&[]);
    if count_names(header) > file.len() {
        return Err(damaged(&"it has the same name twice"));
    }
    let mut found = Vec::new();
    for (name, view) in file.tensors() {
        let of_tensor = |why: &dyn std::fmt::Display| failed(path, format!("tensor `{}`: {why}", brief(&name)));
        let dtype = DTYPES.iter().find(|(theirs, _)| *theirs == view.dtype()).map(|(_, dtype)| *dtype);
        let dtype = dtype.ok_or_else(|| of_tensor(&format_args!("dtype {:?} is not supported", view.dtype())))?;
        let shape = view.shape().iter().map(|d| *d as i64).collect::<Vec<_>>();
        let data = view.data();
        let start = data.as_ptr() as usize - whole.as_ptr() as usize;
        let tensor = if start.is_multiple_of(dtype.bytes().max(1)) {
            Tensor::from_mapped(dtype, &shape, map.clone(), start..start + data.len())
        } else {
            Tensor::from_bytes(dtype, &shape, data)
        };
        let tensor = tensor.map_err(|e| of_tensor(&e))?;
        if dtype == DType::BOOL {
            tensor.as_slice::<bool>().map_err(|e| of_tensor(&e))?;
        }
        found.push((start, name, tensor));
    }
    // Tensors without elements share their offset with others.
    found.sort_by(|(a, n, _), (b, m, _)| (a, n).cmp(&(b, m)));
    Ok(found.into_iter().map(|(_, name, tensor)| (name, tensor)).collect())
}

/// Number of tensors that a safetensors header names, counting duplicates: the keys of a well-formed object, except
/// `__metadata__`.
fn count_names(header: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped, mut count, mut start) = (0, false, false, 0, 0);
    for (at, byte) in header.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => {
                quoted = !quoted;
                if quoted {
                    start = at + 1;
                } else if depth == 1 && &header[start..at] != b"__metadata__" {
                    count += 1;
                }
            }
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    count
}

/// Writes tensors by name as a safetensors file, sorted by descending element size, so that all are aligned.
///
/// # Errors
/// If a tensor has a dtype that the format lacks, or the file cannot be written.
pub fn save_safetensors(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), InputError> {
    let fail = |error: &dyn std::fmt::Display| InputError::new(format!("cannot write {}: {error}", path.display()));
    let mut sorted: Vec<&(String, Tensor)> = tensors.iter().collect();
    sorted.sort_by_key(|(_, tensor)| Reverse(tensor.dtype().bytes()));
    let entry = |(name, tensor): &&(String, Tensor)| {
        let dtype = dtype_name(tensor.dtype()).ok_or_else(|| {
            fail(&format_args!("safetensors files cannot hold tensor `{name}`, which is {}", tensor.dtype()))
        })?;
        Ok(Entry { name: name.clone(), dtype, shape: tensor.shape().to_vec(), bytes: tensor.nbytes() })
    };
    let entries: Vec<Entry> = sorted.iter().map(entry).collect::<Result<_, InputError>>()?;
    write_file(path, Content::Data, |out| {
        out.write_all(&head(&entries))?;
        sorted.iter().try_for_each(|(_, tensor)| {
            let dense = tensor.to_contiguous().map_err(io::Error::other)?;
            out.write_all(dense.as_bytes().map_err(io::Error::other)?)
        })
    })
}

/// The constants of an executable as a separate safetensors file.
pub struct ExternalWeights {
    head: Vec<u8>,
    constants: ConstantData,
}

impl ExternalWeights {
    /// The location that the constants will have in a file, and the file's header.
    pub fn locate(file: &str, constants: &ConstantData) -> (External, Vec<u8>) {
        let head = head(&entries(constants));
        let (start, len) = (head.len(), constants.len());
        (External { file: file.to_owned(), start, len, checksum: constants.checksum().finalize() }, head)
    }

    /// The file with this header.
    pub fn new(head: Vec<u8>, constants: ConstantData) -> Self {
        ExternalWeights { head, constants }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), InputError> {
        write_file(path, Content::Data, |out| {
            out.write_all(&self.head)?;
            self.constants.try_each(|bytes| out.write_all(bytes))
        })
    }
}

/// Entries of constants, named by index. The padding between them gets entries too, because the format has no gaps.
fn entries(constants: &ConstantData) -> Vec<Entry> {
    let bytes = |name: String, bytes: usize| Entry { name, dtype: "U8".into(), shape: vec![bytes as i64], bytes };
    let (mut entries, mut end) = (Vec::new(), 0);
    for (number, (at, tensor)) in constants.tensors().enumerate() {
        if at > end {
            entries.push(bytes(format!("padding.{number}"), at - end));
        }
        let name = format!("c{number}");
        let size = tensor.nbytes();
        entries.push(match dtype_name(tensor.dtype()) {
            Some(dtype) => Entry { name, dtype, shape: tensor.shape().to_vec(), bytes: size },
            None => bytes(name, size),
        });
        end = at + size;
    }
    entries
}

//! Writing safetensors files in pieces.

use crate::{
    InputError,
    output::{Content, write_file},
    weights::DTYPES,
};
use hammock_runtime::{DType, Tensor, executable::ConstantData, image::External, json::Json};
use std::{cmp::Reverse, io, path::Path};

/// Alignment of the data: constants are used in place.
const ALIGNMENT: usize = 64;

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

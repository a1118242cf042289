//! The file format of executables, TVM's `relax.VMExecutable`: header, function table, memory scopes, constant pool,
//! instructions. All numbers are little-endian, lengths are 64 bits wide.
//!
//! In an image, the constant pool only describes tensors; their data is in a separate section, aligned and used in
//! place ([`Constants::Separate`]).
use super::{Code, Constant, ConstantData, Executable, ExecutableError, FunctionInfo, FunctionKind};
use crate::bytes::{Put, Reader, Truncated};
use crate::memory::ALIGNMENT;
use crate::value::{DType, Device, Shape, SharedBytes, Str, Tensor, TensorError, index};
use std::ops::Range;
use std::sync::Arc;

const MAGIC: u64 = 0xD225_DE2F_4214_151E;
/// The older format, without memory scopes.
const MAGIC_WITHOUT_SCOPES: u64 = 0xD225_DE2F_4214_151D;
const VERSION: &str = "0.14";
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;
/// Maximum rank of a tensor, which guards against damaged files.
const MAX_NDIM: i32 = 64;

/// Location of the data of tensors in the constant pool.
pub(crate) enum Constants<'a> {
    /// In the constant pool, as in TVM's files.
    Inline,
    /// In a separate section, each aligned to 64 bytes. When writing: collected to be written later.
    Append(&'a mut ConstantData),
    /// In a separate section. When reading: in `range` of `owner`'s bytes.
    Separate(SharedBytes, Range<usize>),
    /// In a separate section. When reading: as tensors that are used as they are.
    Tensors(&'a ConstantData),
}

type Result<T> = std::result::Result<T, ExecutableError>;

/// Writes an executable.
pub(crate) fn encode(executable: &Executable, constants: &mut Constants<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_u64(MAGIC);
    out.put_blob(VERSION.as_bytes());
    out.put_u64(executable.functions.len() as u64);
    executable.functions.iter().for_each(|function| put_function(&mut out, function));
    out.put_u64(executable.memory_scopes.len() as u64);
    for (constant, scope) in &executable.memory_scopes {
        out.put_i64(*constant);
        out.put_blob(scope.as_bytes());
    }
    out.put_u64(executable.constants.len() as u64);
    executable.constants.iter().for_each(|constant| put_constant(&mut out, constant, constants));
    out.put_i64s(executable.code.offsets());
    out.put_i64s(executable.code.words());
    out
}

fn put_function(out: &mut Vec<u8>, function: &FunctionInfo) {
    out.put_i32(function.kind as i32);
    out.put_blob(function.name.as_bytes());
    out.put_i64(function.start as i64);
    out.put_i64(function.end as i64);
    out.put_i64(function.num_args);
    out.put_i64(function.register_count as i64);
    out.put_u64(function.param_names.len() as u64);
    function.param_names.iter().for_each(|name| out.put_blob(name.as_bytes()));
}

fn put_constant(out: &mut Vec<u8>, constant: &Constant, constants: &mut Constants<'_>) {
    match constant {
        Constant::Tensor(tensor) => put_tensor(out, tensor, constants),
        Constant::Shape(shape) => {
            out.put_i32(index::SHAPE);
            out.put_i64s(shape);
        }
        Constant::Str(text) => {
            out.put_i32(index::STR);
            out.put_blob(text.as_bytes());
        }
        Constant::Int(value) => {
            out.put_i32(index::INT);
            out.put_i64(*value);
        }
        Constant::Float(value) => {
            out.put_i32(index::FLOAT);
            out.put_u64(value.to_bits());
        }
        Constant::DType(dtype) => {
            out.put_i32(index::DATA_TYPE);
            put_dtype(out, *dtype);
        }
    }
}

fn put_dtype(out: &mut Vec<u8>, dtype: DType) {
    out.put(&[dtype.code, dtype.bits]);
    out.put(&dtype.lanes.to_le_bytes());
}

/// Writes the data of a constant tensor, which is on the host; it is copied if it is not contiguous.
fn put_tensor(out: &mut Vec<u8>, tensor: &Tensor, constants: &mut Constants<'_>) {
    let dense = tensor.to_device(Device::CPU).ok().and_then(|tensor| tensor.to_contiguous().ok());
    let data = dense.as_ref().and_then(|tensor| tensor.as_bytes().ok()).unwrap_or_default();
    let apart = matches!(constants, Constants::Append(_));
    out.put_i32(if apart { index::DL_TENSOR_PTR } else { index::TENSOR });
    out.put_u64(TENSOR_MAGIC);
    out.put_u64(0);
    out.put_i32(Device::CPU.kind);
    out.put_i32(Device::CPU.id);
    out.put_i32(tensor.shape().len() as i32);
    put_dtype(out, tensor.dtype());
    tensor.shape().iter().for_each(|size| out.put_i64(*size));
    out.put_i64(data.len() as i64);
    match constants {
        Constants::Append(section) => {
            let at = dense.as_ref().map_or(0, |tensor| section.add(tensor.clone()));
            out.put_u64(at as u64);
        }
        _ => out.put(data),
    }
}

/// Encodes a tensor as in the constant pool, without the tag.
pub(crate) fn tensor_to_bytes(tensor: &Tensor) -> Vec<u8> {
    let mut out = Vec::new();
    put_tensor(&mut out, tensor, &mut Constants::Inline);
    out.split_off(size_of::<i32>())
}

/// Decodes a tensor that [`tensor_to_bytes`] encoded.
pub(crate) fn tensor_from_bytes(bytes: &[u8]) -> Option<Tensor> {
    let mut reader = Reader::new(bytes);
    let tensor = read_tensor(&mut reader, None).ok()?;
    (reader.remaining() == 0).then_some(tensor)
}

/// Decodes an executable without verifying it.
pub(crate) fn decode(bytes: &[u8], constants: &Constants<'_>) -> Result<Executable> {
    let mut reader = Reader::new(bytes);
    let scoped = read_header(&mut reader)?;
    let functions = reader.list(52, read_function).map_err(|e| e.within("function table"))?;
    let memory_scopes = match scoped {
        true => reader.list(16, read_scope).map_err(|e| e.within("memory scopes"))?,
        false => Vec::new(),
    };
    let constants = reader.list(8, |r| read_constant(r, constants)).map_err(|e| e.within("constant pool"))?;
    let mut words = || reader.i64s().map_err(|_| ExecutableError::Truncated("instructions"));
    let code = Code::from_parts(words()?, words()?);
    match reader.remaining() {
        0 => Ok(Executable { functions, memory_scopes, constants, code }),
        bytes => Err(ExecutableError::Trailing(bytes)),
    }
}

/// Returns true if the bytes begin with the magic number of an executable.
pub fn is_executable(bytes: &[u8]) -> bool {
    let magic = Reader::new(bytes).u64();
    magic == Ok(MAGIC) || magic == Ok(MAGIC_WITHOUT_SCOPES)
}

/// Checks magic and version; returns true if the file has memory scopes.
fn read_header(reader: &mut Reader<'_>) -> Result<bool> {
    let truncated = |_| ExecutableError::Truncated("header");
    let magic = reader.u64().map_err(truncated)?;
    if magic != MAGIC && magic != MAGIC_WITHOUT_SCOPES {
        return Err(ExecutableError::BadMagic(magic));
    }
    let version = reader.blob().map_err(truncated)?;
    if version != VERSION.as_bytes() {
        return Err(ExecutableError::BadVersion(String::from_utf8_lossy(version).into_owned()));
    }
    Ok(magic == MAGIC)
}

/// A failure in a section that is not yet known.
enum Failure {
    Truncated,
    Malformed(String),
}

impl From<Truncated> for Failure {
    fn from(_: Truncated) -> Failure {
        Failure::Truncated
    }
}

impl Failure {
    fn within(self, section: &'static str) -> ExecutableError {
        match self {
            Failure::Truncated => ExecutableError::Truncated(section),
            Failure::Malformed(what) => ExecutableError::Malformed(format!("{what} in its {section}")),
        }
    }
}

fn malformed<T>(what: impl Into<String>) -> std::result::Result<T, Failure> {
    Err(Failure::Malformed(what.into()))
}

fn read_function(reader: &mut Reader<'_>) -> std::result::Result<FunctionInfo, Failure> {
    let kind = match reader.i32()? {
        0 => FunctionKind::Packed,
        1 => FunctionKind::Bytecode,
        2 => FunctionKind::Compiled,
        other => return malformed(format!("{other} is not a kind of function")),
    };
    Ok(FunctionInfo {
        kind,
        name: read_text(reader)?,
        start: read_size(reader)?,
        end: read_size(reader)?,
        num_args: reader.i64()?,
        register_count: read_size(reader)?,
        param_names: reader.list(8, read_text)?,
    })
}

fn read_size(reader: &mut Reader<'_>) -> std::result::Result<usize, Failure> {
    let value = reader.i64()?;
    usize::try_from(value).or_else(|_| malformed(format!("{value} is not an index")))
}

fn read_text(reader: &mut Reader<'_>) -> std::result::Result<String, Failure> {
    match std::str::from_utf8(reader.blob()?) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => malformed("a string is not UTF-8"),
    }
}

fn read_scope(reader: &mut Reader<'_>) -> std::result::Result<(i64, String), Failure> {
    Ok((reader.i64()?, read_text(reader)?))
}

fn read_constant(reader: &mut Reader<'_>, constants: &Constants<'_>) -> std::result::Result<Constant, Failure> {
    Ok(match reader.i32()? {
        index::TENSOR => Constant::Tensor(read_tensor(reader, None)?),
        index::DL_TENSOR_PTR => Constant::Tensor(read_tensor(reader, Some(constants))?),
        index::SHAPE => Constant::Shape(Shape::new(&reader.i64s()?)),
        index::STR => Constant::Str(Str::new(&read_text(reader)?)),
        index::INT => Constant::Int(reader.i64()?),
        index::FLOAT => Constant::Float(f64::from_bits(reader.u64()?)),
        index::DATA_TYPE => Constant::DType(read_dtype(reader)?),
        other => return malformed(format!("{other} is not a kind of constant")),
    })
}

fn read_dtype(reader: &mut Reader<'_>) -> std::result::Result<DType, Failure> {
    Ok(DType::new(reader.u8()?, reader.u8()?, reader.u16()?))
}

/// A tensor over the memory of another one, which is copied only if it is not aligned to [`ALIGNMENT`].
fn read_only(tensor: &Tensor) -> std::result::Result<Tensor, TensorError> {
    struct Held(Tensor);
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes().unwrap_or_default()
        }
    }
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    let held = match tensor.is_aligned() {
        true => tensor.clone(),
        false => {
            let copy = Tensor::from_bytes(dtype, shape, tensor.as_bytes()?)?;
            tensor.evict();
            copy
        }
    };
    Tensor::from_shared(dtype, shape, Arc::new(Held(held)), 0..tensor.nbytes())
}

fn read_tensor(reader: &mut Reader<'_>, apart: Option<&Constants<'_>>) -> std::result::Result<Tensor, Failure> {
    if reader.u64()? != TENSOR_MAGIC || reader.u64()? != 0 {
        return malformed("a tensor does not start with a tensor header");
    }
    if (Device { kind: reader.i32()?, id: reader.i32()? }) != Device::CPU {
        return malformed("a tensor is not on the host");
    }
    let ndim = reader.i32()?;
    if !(0..=MAX_NDIM).contains(&ndim) {
        return malformed(format!("a tensor has {ndim} dimensions"));
    }
    let dtype = read_dtype(reader)?;
    let shape = (0..ndim).map(|_| reader.i64()).collect::<std::result::Result<Vec<_>, _>>()?;
    let len = read_size(reader)?;
    let tensor = match apart {
        None => Tensor::from_bytes(dtype, &shape, reader.take(len)?),
        Some(Constants::Separate(owner, range)) => {
            let begin = range.start.saturating_add(read_size(reader)?);
            let end = begin.saturating_add(len);
            if end > range.end || !begin.is_multiple_of(ALIGNMENT) {
                return malformed("a tensor's data is outside its section");
            }
            Tensor::from_shared(dtype, &shape, owner.clone(), begin..end)
        }
        Some(Constants::Tensors(constants)) => match constants.find(read_size(reader)?, dtype, &shape) {
            Some(tensor) => read_only(tensor),
            None => return malformed("a tensor is not among the constants"),
        },
        Some(_) => return malformed("a tensor's data is missing"),
    };
    tensor.or_else(|error| malformed(error.to_string()))
}

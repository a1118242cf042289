//! Signatures of kernels, and the check of arguments against them.
//!
//! Kernels do not check their arguments. A caller from outside the planned program checks them against the kernel's
//! signature first.
use crate::bytes::{Put, Reader, Truncated};
use crate::ffi::{Error, kind};
use crate::value::{Any, DLTensor, DType, Device, Tensor, is_dense};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A size of a tensor parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dim {
    /// A constant.
    Static(i64),
    /// Equal to all other occurrences of this symbol in the signature.
    Symbol(u32),
}

/// Kind of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamKind {
    /// A contiguous tensor on a device of the signature's kind.
    Tensor {
        /// Dtype of the elements.
        dtype: DType,
        /// Shape.
        shape: Vec<Dim>,
        /// Alignment of the address.
        alignment: u32,
    },
    /// A number or handle.
    Scalar {
        /// Dtype.
        dtype: DType,
        /// The symbol that it binds, if it is a size.
        symbol: Option<u32>,
    },
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelParam {
    /// Its name.
    pub name: String,
    /// Kind.
    pub kind: ParamKind,
    /// True if the kernel writes the tensor; then it must not be a constant.
    pub is_written: bool,
}

/// A kernel's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature {
    /// The kernel's name, without the prefix of its symbol.
    pub name: String,
    /// Device of its tensors. Of devices other than the host, only the kind is significant: all tensors of a call are on
    /// the same one.
    pub device: Device,
    /// Number of symbols in its parameters.
    pub symbol_count: u32,
    /// Its parameters.
    pub params: Vec<KernelParam>,
}

impl KernelSignature {
    /// Checks arguments against the signature.
    pub fn check(&self, args: &[Any]) -> Result<(), Error> {
        if args.len() != self.params.len() {
            return Err(self.error(kind::TYPE, format!("takes {} arguments, not {}", self.params.len(), args.len())));
        }
        let mut symbols = [None; 16];
        let mut more_symbols = vec![None; (self.symbol_count as usize).saturating_sub(symbols.len())];
        let mut bind = |symbol: u32, value: i64| {
            let index = symbol as usize;
            let slot = if index < symbols.len() { &mut symbols[index] } else { &mut more_symbols[index - 16] };
            *slot.get_or_insert(value)
        };
        let mut device = None;
        self.params.iter().zip(args).try_for_each(|(param, arg)| match &param.kind {
            ParamKind::Tensor { dtype, shape, alignment } => {
                let tensor = arg.as_dl_tensor().ok_or_else(|| self.mismatch(param, &"a Tensor", arg))?;
                // The virtual machine's own values are valid; those of other callers may be anything.
                arg.check()?;
                self.check_tensor(param, tensor, *dtype, *alignment)?;
                self.check_device(param, tensor.device, &mut device)?;
                if param.is_written && arg.get::<&Tensor>().is_some_and(Tensor::is_read_only) {
                    return Err(self.unwritable(param));
                }
                self.check_shape(param, tensor.sizes(), shape, &mut bind)
            }
            ParamKind::Scalar { dtype, symbol } => self.check_scalar(param, arg, *dtype, *symbol, &mut bind),
        })
    }

    fn check_tensor(&self, param: &KernelParam, tensor: &DLTensor, dtype: DType, alignment: u32) -> Result<(), Error> {
        if tensor.dtype != dtype {
            return Err(self.mismatch(param, &format_args!("elements of {dtype}"), &tensor.dtype));
        }
        if !is_dense(tensor.sizes(), tensor.steps()) {
            return Err(self.mismatch(param, &"a contiguous Tensor", &format_args!("strides {:?}", tensor.steps())));
        }
        let data = tensor.data.wrapping_add(tensor.byte_offset as usize);
        // A tensor without elements has no data, so its pointer does not matter.
        let is_empty = tensor.sizes().contains(&0);
        if !is_empty && !data.addr().is_multiple_of(alignment.max(1) as usize) {
            return Err(self.mismatch(
                param,
                &format_args!("data aligned to {alignment} bytes"),
                &format_args!("{data:p}"),
            ));
        }
        Ok(())
    }

    /// Checks the device of a tensor: all are on the host, whose devices share its memory, or all on the same device of
    /// the signature's kind, which is that of the first one.
    fn check_device(&self, param: &KernelParam, device: Device, first: &mut Option<Device>) -> Result<(), Error> {
        if device.is_host() && self.device.is_host() {
            return Ok(());
        }
        if device.kind != self.device.kind {
            return Err(self.mismatch(param, &format_args!("a Tensor on {}", first.unwrap_or(self.device)), &device));
        }
        let first = *first.get_or_insert(device);
        if first == device {
            return Ok(());
        }
        Err(self.mismatch(param, &format_args!("a Tensor on {first}, as the Tensors before it"), &device))
    }

    fn unwritable(&self, param: &KernelParam) -> Error {
        let why = "which must not change: it is a constant, or was lent for reading only";
        self.error(kind::VALUE, format!("writes parameter `{}`, {why}; give it a copy", param.name))
    }

    fn check_shape(
        &self,
        param: &KernelParam,
        sizes: &[i64],
        shape: &[Dim],
        bind: &mut dyn FnMut(u32, i64) -> i64,
    ) -> Result<(), Error> {
        if sizes.len() != shape.len() {
            return Err(self.mismatch(param, &format_args!("{} dimensions", shape.len()), &sizes.len()));
        }
        for (axis, (size, dim)) in sizes.iter().zip(shape).enumerate() {
            let expected = match dim {
                Dim::Static(size) => *size,
                Dim::Symbol(symbol) => bind(*symbol, *size),
            };
            if *size != expected {
                return Err(self.mismatch(param, &format_args!("shape[{axis}] to be {expected}"), size));
            }
        }
        Ok(())
    }

    fn check_scalar(
        &self,
        param: &KernelParam,
        arg: &Any,
        dtype: DType,
        symbol: Option<u32>,
        bind: &mut dyn FnMut(u32, i64) -> i64,
    ) -> Result<(), Error> {
        let fits = match dtype {
            _ if dtype.is_floating() => arg.get::<f64>().is_some(),
            _ if dtype.is_handle() => arg.as_opaque().is_some_and(|address| !address.is_null()),
            _ => arg.get::<i64>().is_some_and(|value| int_range(dtype).contains(&value)),
        };
        if !fits {
            return Err(self.mismatch(param, &dtype, arg));
        }
        if let (Some(symbol), Some(value)) = (symbol, arg.get::<i64>()) {
            let expected = bind(symbol, value);
            if value != expected {
                return Err(self.mismatch(param, &expected, &value));
            }
        }
        Ok(())
    }

    fn mismatch(&self, param: &KernelParam, expected: &dyn Display, got: &dyn Display) -> Error {
        self.error(kind::VALUE, format!("expects {expected} for parameter `{}`, got {got}", param.name))
    }

    fn error(&self, kind: &'static str, message: String) -> Error {
        Error::new(kind, format!("kernel `{}` {message}", self.name))
    }
}

/// Range of integers that a scalar parameter can hold; unsigned 64-bit integers are passed as their bits.
pub(super) fn int_range(dtype: DType) -> RangeInclusive<i64> {
    match dtype.bits {
        _ if dtype.is_bool() => 0..=1,
        bits @ 1..=63 if dtype.is_uint() => 0..=(1 << bits) - 1,
        bits @ 1..=63 => -1 << (bits - 1)..=(1 << (bits - 1)) - 1,
        _ => i64::MIN..=i64::MAX,
    }
}

const TENSOR: u8 = 0;
const SCALAR: u8 = 1;
/// Flag of a tensor that the kernel writes.
const WRITTEN: u8 = 2;
/// Encoding of "no symbol".
const NO_SYMBOL: u32 = u32::MAX;

pub(super) fn encode(signatures: &[KernelSignature], out: &mut Vec<u8>) {
    out.put_u64(signatures.len() as u64);
    for signature in signatures {
        out.put_blob(signature.name.as_bytes());
        out.put_i32(signature.device.kind);
        out.put_i32(signature.device.id);
        out.put_u32(signature.symbol_count);
        out.put_u64(signature.params.len() as u64);
        for param in &signature.params {
            out.put_blob(param.name.as_bytes());
            encode_kind(param, out);
        }
    }
}

fn encode_kind(KernelParam { kind, is_written, .. }: &KernelParam, out: &mut Vec<u8>) {
    let (tag, dtype) = match kind {
        ParamKind::Tensor { dtype, .. } => (if *is_written { WRITTEN } else { TENSOR }, dtype),
        ParamKind::Scalar { dtype, .. } => (SCALAR, dtype),
    };
    out.put(&[tag, dtype.code, dtype.bits]);
    out.put(&dtype.lanes.to_le_bytes());
    match kind {
        ParamKind::Tensor { shape, alignment, .. } => {
            out.put_u32(*alignment);
            out.put_u64(shape.len() as u64);
            for dim in shape {
                let (symbol, size) = match dim {
                    Dim::Static(size) => (NO_SYMBOL, *size),
                    Dim::Symbol(symbol) => (*symbol, 0),
                };
                out.put_u32(symbol);
                out.put_i64(size);
            }
        }
        ParamKind::Scalar { symbol, .. } => out.put_u32(symbol.unwrap_or(NO_SYMBOL)),
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<KernelSignature>, Truncated> {
    let mut reader = Reader::new(bytes);
    let signatures = reader.list(28, decode_signature)?;
    if reader.remaining() == 0 { Ok(signatures) } else { Err(Truncated) }
}

fn decode_signature(reader: &mut Reader<'_>) -> Result<KernelSignature, Truncated> {
    let name = reader.text()?;
    let device = Device { kind: reader.i32()?, id: reader.i32()? };
    let symbol_count = reader.u32()?;
    let symbol = |reader: &mut Reader<'_>| match reader.u32()? {
        NO_SYMBOL => Ok(None),
        symbol if symbol < symbol_count => Ok(Some(symbol)),
        _ => Err(Truncated),
    };
    let params = reader.list(17, |reader| {
        let name = reader.text()?;
        let tag = reader.u8()?;
        let dtype = DType::new(reader.u8()?, reader.u8()?, reader.u16()?);
        let kind = match tag {
            TENSOR | WRITTEN => {
                let alignment = reader.u32()?;
                let shape = reader.list(12, |reader| {
                    let (symbol, size) = (symbol(reader)?, reader.i64()?);
                    Ok::<_, Truncated>(symbol.map_or(Dim::Static(size), Dim::Symbol))
                })?;
                ParamKind::Tensor { dtype, shape, alignment }
            }
            SCALAR => ParamKind::Scalar { dtype, symbol: symbol(reader)? },
            _ => return Err(Truncated),
        };
        Ok::<_, Truncated>(KernelParam { name, kind, is_written: tag == WRITTEN })
    })?;
    // Every symbol is bound by a dimension or a scalar; a larger count would only allocate memory.
    let dims: usize = params.iter().map(|param| param.kind.symbol_places()).sum();
    if symbol_count as usize <= dims {
        Ok(KernelSignature { name, device, symbol_count, params })
    } else {
        Err(Truncated)
    }
}

impl ParamKind {
    fn symbol_places(&self) -> usize {
        match self {
            ParamKind::Tensor { shape, .. } => shape.len(),
            ParamKind::Scalar { .. } => 1,
        }
    }
}

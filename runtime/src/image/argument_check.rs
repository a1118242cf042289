//! A fast check of a kernel's arguments before every call. It returns whether they fit; the slow check reports why not.
use super::kernels::int_range;
use super::{Dim, KernelSignature, ParamKind};
use crate::value::{Any, DLTensor, DType, Device, Tensor};
use std::mem::offset_of;
use std::ops::RangeInclusive;

/// A kernel's signature, in a layout for fast comparison.
pub struct ArgumentCheck {
    params: Vec<ParamCheck>,
    /// Number of symbols, if it is small.
    symbols: Option<usize>,
}

enum ParamCheck {
    /// A tensor with static shape: the head of its `DLTensor`, its sizes and its strides.
    Static {
        head: Head,
        alignment_mask: usize,
        sizes: Box<[(i64, i64)]>,
        is_written: bool,
    },
    /// A tensor with symbolic sizes.
    Symbolic {
        head: Head,
        alignment_mask: usize,
        sizes: Box<[Dim]>,
        is_written: bool,
    },
    Int {
        range: RangeInclusive<i64>,
        symbol: Option<u32>,
    },
    Float,
    /// Only the signature itself can check it.
    Other,
}

/// Device, rank and dtype of a tensor, as stored in its `DLTensor`.
type Head = [u64; 2];

const _: () = assert!(offset_of!(DLTensor, ndim) == offset_of!(DLTensor, device) + 8);
const _: () = assert!(offset_of!(DLTensor, dtype) == offset_of!(DLTensor, ndim) + 4);

#[inline(always)]
fn head(tensor: &DLTensor) -> Head {
    // SAFETY: device, rank and dtype are 16 contiguous bytes of plain numbers, as asserted.
    unsafe { (&raw const *tensor).byte_add(offset_of!(DLTensor, device)).cast::<Head>().read() }
}

/// Maximum number of symbols of the fast check.
const QUICK_SYMBOLS: usize = 8;

impl ArgumentCheck {
    /// Compiles a signature; arguments for which `is_writable` returns true are known to be writable.
    pub fn new(signature: &KernelSignature, is_writable: impl Fn(usize) -> bool) -> ArgumentCheck {
        let params = signature.params.iter().enumerate().map(|(number, param)| match &param.kind {
            ParamKind::Tensor { dtype, shape, alignment } if alignment.max(&1).is_power_of_two() => {
                let is_written = param.is_written && !is_writable(number);
                ParamCheck::tensor(signature.device, *dtype, shape, *alignment, is_written)
            }
            ParamKind::Scalar { dtype, symbol: None } if dtype.is_floating() => ParamCheck::Float,
            ParamKind::Scalar { dtype, symbol } if !dtype.is_floating() && !dtype.is_handle() => {
                ParamCheck::Int { range: int_range(*dtype), symbol: *symbol }
            }
            _ => ParamCheck::Other,
        });
        let params = params.collect();
        let symbols = Some(signature.symbol_count as usize).filter(|count| *count <= QUICK_SYMBOLS);
        ArgumentCheck { params, symbols }
    }

    /// Returns true if the arguments are known to fit. Tensors with unusual strides or negative sizes are left to
    /// [`KernelSignature::check`], which accepts some of them.
    #[inline]
    pub fn accepts(&self, args: &[Any]) -> bool {
        if args.len() != self.params.len() {
            return false;
        }
        match self.symbols {
            Some(0) => self.accept(args, |_, _| false),
            Some(_) => {
                let mut symbols = [-1; QUICK_SYMBOLS];
                self.accept(args, |symbol, value| {
                    let known = &mut symbols[symbol as usize % QUICK_SYMBOLS];
                    if *known == -1 {
                        *known = value;
                    }
                    *known == value && value >= 0
                })
            }
            None => false,
        }
    }

    #[inline(always)]
    fn accept(&self, args: &[Any], mut bind: impl FnMut(u32, i64) -> bool) -> bool {
        self.params.iter().zip(args).all(|(param, arg)| match param {
            ParamCheck::Static { head, alignment_mask, sizes, is_written } => {
                let dims = dims(arg, head, *alignment_mask, *is_written);
                dims.is_some_and(|dims| (0..sizes.len()).all(|axis| dims.get(axis) == sizes[axis]))
            }
            ParamCheck::Symbolic { head, alignment_mask, sizes, is_written } => {
                let dims = dims(arg, head, *alignment_mask, *is_written);
                dims.is_some_and(|dims| dims.match_symbols(sizes, &mut bind))
            }
            ParamCheck::Int { range, symbol } => arg
                .get::<i64>()
                .is_some_and(|value| range.contains(&value) && symbol.is_none_or(|symbol| bind(symbol, value))),
            ParamCheck::Float => arg.get::<f64>().is_some(),
            ParamCheck::Other => false,
        })
    }
}

impl ParamCheck {
    fn tensor(device: Device, dtype: DType, shape: &[Dim], alignment: u32, is_written: bool) -> ParamCheck {
        let alignment_mask = alignment.max(1) as usize - 1;
        let known = shape.iter().map(|dim| match dim {
            Dim::Static(size) => Some(*size),
            Dim::Symbol(_) => None,
        });
        let known: Option<Vec<i64>> = known.collect();
        let any = vec![1; shape.len()];
        let model = Tensor::without_memory(dtype, known.as_deref().unwrap_or(&any), device);
        let head = head(model.as_dl());
        match known {
            Some(sizes) => {
                let sizes = sizes.iter().copied().zip(model.strides().iter().copied()).collect();
                ParamCheck::Static { head, alignment_mask, sizes, is_written }
            }
            None => ParamCheck::Symbolic { head, alignment_mask, sizes: shape.into(), is_written },
        }
    }
}

/// Sizes and strides of a tensor.
struct DimPointers {
    sizes: *const i64,
    strides: *const i64,
}

/// Returns sizes and strides of a tensor if head, alignment and writability are as expected.
#[inline(always)]
fn dims(arg: &Any, expected: &Head, alignment_mask: usize, is_written: bool) -> Option<DimPointers> {
    let object = arg.get::<&Tensor>().filter(|tensor| !is_written || !tensor.is_read_only())?;
    let tensor = object.as_dl();
    let address = tensor.data.addr().wrapping_add(tensor.byte_offset as usize);
    let fits = head(tensor) == *expected && address & alignment_mask == 0 && !tensor.strides.is_null();
    fits.then_some(DimPointers { sizes: tensor.shape, strides: tensor.strides })
}

impl DimPointers {
    #[inline(always)]
    fn get(&self, axis: usize) -> (i64, i64) {
        // SAFETY: `dims` compared the tensor's rank with the parameter's, and `axis` is one of the parameter's.
        unsafe { (*self.sizes.add(axis), *self.strides.add(axis)) }
    }

    #[inline(always)]
    fn match_symbols(&self, sizes: &[Dim], bind: &mut impl FnMut(u32, i64) -> bool) -> bool {
        let mut dense = 1i64;
        (0..sizes.len()).rev().all(|axis| {
            let (size, stride) = self.get(axis);
            let fits = match sizes[axis] {
                Dim::Static(expected) => size == expected,
                Dim::Symbol(symbol) => bind(symbol, size),
            };
            let is_dense = stride == dense;
            dense = dense.wrapping_mul(size);
            fits && is_dense
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::KernelParam;

    fn signature() -> KernelSignature {
        let tensor = |name: &str, shape: &[Dim]| KernelParam {
            name: name.into(),
            kind: ParamKind::Tensor { dtype: DType::FLOAT32, shape: shape.to_vec(), alignment: 64 },
            is_written: name == "b",
        };
        let scalar = |dtype, symbol| KernelParam {
            name: "s".into(),
            kind: ParamKind::Scalar { dtype, symbol },
            is_written: false,
        };
        let params = vec![
            tensor("a", &[Dim::Symbol(0), Dim::Static(3)]),
            tensor("b", &[Dim::Static(3), Dim::Symbol(0)]),
            scalar(DType::INT64, Some(0)),
            scalar(DType::FLOAT32, None),
        ];
        KernelSignature { name: "k".into(), device: Device::CPU, symbol_count: 1, params }
    }

    /// The fast check accepts nothing that the slow check rejects, and accepts common arguments.
    #[test]
    fn agrees_with_the_signature() {
        let (signature, tensor) =
            (signature(), |shape: &[i64], dtype| Any::from(Tensor::empty(dtype, shape, Device::CPU).unwrap()));
        let check = ArgumentCheck::new(&signature, |_| false);
        let float = |shape: &[i64]| tensor(shape, DType::FLOAT32);
        let good = [float(&[5, 3]), float(&[3, 5]), Any::from(5i64), Any::from(0.5f64)];
        assert!(check.accepts(&good) && signature.check(&good).is_ok());
        assert!(!check.accepts(&good[..3]));
        let wide = Tensor::empty(DType::FLOAT32, &[5, 64], Device::CPU).unwrap();
        let strided = Any::from(wide.strided(&[5, 3], &[64, 1], 0).unwrap());
        let shifted = Any::from(wide.view(DType::FLOAT32, &[5, 3], 4).unwrap());
        let wrong = [
            float(&[4, 3]),
            float(&[5, 4]),
            float(&[5]),
            tensor(&[5, 3], DType::INT32),
            strided,
            shifted,
            Any::NONE,
            Any::from(5i64),
            Any::from(wide.view(DType::FLOAT32, &[3, 5], 0).unwrap().constant()),
        ];
        for (position, value) in wrong.iter().enumerate().flat_map(|(i, value)| [(0, value), (i % 4, value)]) {
            let mut args = good.clone();
            args[position] = value.clone();
            assert!(!check.accepts(&args) || signature.check(&args).is_ok(), "{value} for argument {position}");
            assert!(position > 0 || !check.accepts(&args), "{value}");
        }
        // Writability is not checked for arguments known to be writable.
        let mut args = good;
        args[1] = Tensor::empty(DType::FLOAT32, &[3, 5], Device::CPU).unwrap().constant().into();
        assert!(signature.check(&args).unwrap_err().message().contains("writes parameter `b`"));
        assert!(!check.accepts(&args) && ArgumentCheck::new(&signature, |number| number == 1).accepts(&args));
    }

    #[test]
    fn integers_fit_their_parameters() {
        for (dtype, value, fits) in [
            (DType::INT32, 1 << 31, false),
            (DType::INT32, -1 << 31, true),
            (DType::UINT8, 255, true),
            (DType::UINT8, -1, false),
            (DType::BOOL, 2, false),
            (DType::INT64, i64::MIN, true),
            (DType::UINT64, -1, true),
        ] {
            let kind = ParamKind::Scalar { dtype, symbol: None };
            let params = vec![KernelParam { name: "s".into(), kind, is_written: false }];
            let signature = KernelSignature { name: "k".into(), device: Device::CPU, symbol_count: 0, params };
            let args = [Any::from(value)];
            assert_eq!(signature.check(&args).is_ok(), fits, "{value} as {dtype}");
            assert_eq!(ArgumentCheck::new(&signature, |_| false).accepts(&args), fits, "{value} as {dtype}");
        }
    }
}

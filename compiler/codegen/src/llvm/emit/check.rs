//! Argument checks of a packed entry, for callers that do not check: the same rules as [`KernelSignature::check`] in
//! the runtime.

use super::{Emitter, Ty, Value};
use hammock_ir::{DType, count};
use hammock_runtime::{
    image::{Dim, KernelParam, KernelSignature, ParamKind},
    value::{DLTensor, index},
};
use std::mem::offset_of;

/// DLPack's device type of the CPU.
const HOST: i64 = 1;

/// Error kinds.
const TYPE: &str = "TypeError";
const VALUE: &str = "ValueError";

impl Emitter<'_, '_> {
    /// Returns an error unless the `args` match the parameters.
    pub(super) fn check_arguments(&mut self, signature: &KernelSignature, args: &Value, count: &Value) {
        let expected = signature.params.len() as i64;
        let ok = self.f.compare("icmp eq", count, &Value::int(expected, Ty::I32));
        self.require(&ok, TYPE, &format!("takes {}", hammock_ir::count(signature.params.len(), "argument")));
        let mut symbols = vec![None; signature.symbol_count as usize];
        for (arg, param) in signature.params.iter().enumerate() {
            match &param.kind {
                ParamKind::Tensor { dtype, shape, alignment } => {
                    self.check_tensor(param, args, arg, *dtype, shape.len());
                    let sizes = self.check_sizes(param, args, arg, shape, &mut symbols);
                    self.check_layout(param, args, arg, &sizes);
                    self.check_alignment(param, args, arg, *alignment);
                }
                ParamKind::Scalar { dtype, symbol } => {
                    self.check_scalar(param, args, arg, *dtype);
                    if let Some(symbol) = symbol {
                        let value = self.scalar(args, arg, Ty::I64);
                        self.check_size(
                            &format!("parameter `{}`", param.name),
                            &value,
                            Dim::Symbol(*symbol),
                            &mut symbols,
                        );
                    }
                }
            }
        }
    }

    fn check_tensor(&mut self, param: &KernelParam, args: &Value, arg: usize, dtype: DType, ndim: usize) {
        let name = &param.name;
        self.require_kind(param, args, arg, &[index::TENSOR, index::DL_TENSOR_PTR], "a Tensor");
        let tensor = self.tensor(args, arg);
        let is_code = self.equals(&tensor, Ty::I32, offset_of!(DLTensor, dtype), packed(dtype));
        self.require(&is_code, TYPE, &format!("parameter `{name}` must have elements of {dtype}"));
        let is_host = self.equals(&tensor, Ty::I32, offset_of!(DLTensor, device), HOST);
        self.require(&is_host, VALUE, &format!("parameter `{name}` must be on the host"));
        let has_ndim = self.equals(&tensor, Ty::I32, offset_of!(DLTensor, ndim), ndim as i64);
        self.require(&has_ndim, VALUE, &format!("parameter `{name}` must have {}", count(ndim, "dimension")));
    }

    fn check_sizes(
        &mut self,
        param: &KernelParam,
        args: &Value,
        arg: usize,
        shape: &[Dim],
        symbols: &mut [Option<Value>],
    ) -> Vec<Value> {
        let mut sizes = Vec::with_capacity(shape.len());
        for (axis, dim) in shape.iter().enumerate() {
            let size = self.tensor_size(args, arg, axis);
            self.check_size(&format!("shape[{axis}] of parameter `{}`", param.name), &size, *dim, symbols);
            sizes.push(size);
        }
        sizes
    }

    /// Checks a size; the first occurrence of a symbol defines it.
    fn check_size(&mut self, what: &str, size: &Value, dim: Dim, symbols: &mut [Option<Value>]) {
        let (expected, meaning) = match dim {
            Dim::Static(expected) => (Value::i64(expected), expected.to_string()),
            Dim::Symbol(symbol) => {
                let known = symbols[symbol as usize].get_or_insert_with(|| size.clone());
                (known.clone(), "what the same size is elsewhere".to_owned())
            }
        };
        if *size != expected {
            let ok = self.f.compare("icmp eq", size, &expected);
            self.require(&ok, VALUE, &format!("{what} must be {meaning}"));
        }
    }

    /// Checks the strides, which are optional: they must be those of a dense tensor, except along axes of size one.
    fn check_layout(&mut self, param: &KernelParam, args: &Value, arg: usize, sizes: &[Value]) {
        let tensor = self.tensor(args, arg);
        let strides = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, strides));
        let is_compact = self.f.compare("icmp eq", &strides, &Value::zero(Ty::PTR));
        let (given, next) = (self.f.label(), self.f.label());
        self.f.branch(&is_compact, next, given);
        self.f.start(given);
        let mut expected = Value::i64(1);
        for (axis, size) in sizes.iter().enumerate().rev() {
            let stride = self.field(&strides, Ty::I64, 8 * axis);
            let fits = self.f.compare("icmp eq", &stride, &expected);
            let is_one = self.f.compare("icmp eq", size, &Value::i64(1));
            let ok = self.f.binary("or", &fits, &is_one);
            self.require(&ok, VALUE, &format!("parameter `{}` must be contiguous", param.name));
            expected = self.f.binary("mul", &expected, size);
        }
        self.f.jump(next);
        self.f.start(next);
    }

    fn check_alignment(&mut self, param: &KernelParam, args: &Value, arg: usize, alignment: u32) {
        if alignment <= 1 {
            return;
        }
        let data = self.tensor_data(args, arg);
        let address = self.f.convert("ptrtoint", &data, Ty::I64);
        let rest = self.f.binary("and", &address, &Value::i64(i64::from(alignment) - 1));
        let ok = self.f.compare("icmp eq", &rest, &Value::i64(0));
        self.require(&ok, VALUE, &format!("data of parameter `{}` must be aligned to {alignment} bytes", param.name));
    }

    fn check_scalar(&mut self, param: &KernelParam, args: &Value, arg: usize, dtype: DType) {
        let (kinds, meaning): (&[i32], _) = match () {
            () if dtype.is_handle() => {
                (&[index::OPAQUE_PTR, index::NONE, index::TENSOR, index::DL_TENSOR_PTR], "a pointer or a Tensor")
            }
            () if dtype.is_floating() => (&[index::FLOAT, index::INT, index::BOOL], "a number"),
            () => (&[index::INT, index::BOOL], "an integer"),
        };
        self.require_kind(param, args, arg, kinds, meaning);
    }

    fn require_kind(&mut self, param: &KernelParam, args: &Value, arg: usize, kinds: &[i32], meaning: &str) {
        let any = self.item(args, arg);
        let mut ok = Value::bool(false);
        for kind in kinds {
            let is_kind = self.is_kind(&any, *kind);
            ok = self.f.binary("or", &ok, &is_kind);
        }
        self.require(&ok, TYPE, &format!("parameter `{}` must be {meaning}", param.name));
    }

    fn equals(&mut self, base: &Value, ty: Ty, offset: usize, expected: i64) -> Value {
        let found = self.field(base, ty, offset);
        self.f.compare("icmp eq", &found, &Value::int(expected, ty))
    }
}

/// Returns a dtype in DLPack's layout: code, bits, lanes.
pub(super) fn packed(dtype: DType) -> i64 {
    i64::from(dtype.code) | i64::from(dtype.bits) << 8 | i64::from(dtype.lanes) << 16
}

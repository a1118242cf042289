//! What callers check a kernel's packed arguments against, in the runtime's form.

use hammock_ir::{DType, PrimExpr};
use hammock_kernels::{ArgDesc, FlatKernel, TensorDesc};
use hammock_runtime::{
    Device,
    image::{Dim, KernelParam, KernelSignature, ParamKind},
};

/// The signature of a kernel on the CPU. A size that is a variable must be the same wherever it stands; one that is an
/// expression is checked where that expression stands again.
pub fn signature(kernel: &FlatKernel) -> KernelSignature {
    let mut symbols = Symbols::default();
    let params = kernel.signature.args.iter().map(|arg| param(arg, &mut symbols)).collect();
    let symbol_count = symbols.0.len() as u32;
    KernelSignature { name: kernel.name.to_string(), device: Device::CPU, symbol_count, params }
}

/// Sizes met so far, by number.
#[derive(Default)]
struct Symbols(Vec<String>);

impl Symbols {
    fn number(&mut self, key: String) -> u32 {
        let found = self.0.iter().position(|k| *k == key);
        found.unwrap_or_else(|| {
            self.0.push(key);
            self.0.len() - 1
        }) as u32
    }

    fn dim(&mut self, size: &PrimExpr) -> Dim {
        match size.as_int() {
            Some(size) => Dim::Static(size),
            None => Dim::Symbol(self.number(format!("{size:?}"))),
        }
    }
}

fn param(arg: &ArgDesc, symbols: &mut Symbols) -> KernelParam {
    match arg {
        ArgDesc::Tensor(tensor) => tensor_param(tensor, symbols),
        ArgDesc::Scalar { name, dtype } => {
            let kind = ParamKind::Scalar { dtype: *dtype, symbol: None };
            KernelParam { name: name.to_string(), kind }
        }
        ArgDesc::Handle { name } => {
            let kind = ParamKind::Scalar { dtype: DType::HANDLE, symbol: None };
            KernelParam { name: name.to_string(), kind }
        }
    }
}

fn tensor_param(tensor: &TensorDesc, symbols: &mut Symbols) -> KernelParam {
    let shape = tensor.shape.iter().map(|size| symbols.dim(size)).collect();
    let alignment = tensor.dtype.element().bytes().next_power_of_two() as u32;
    let kind = ParamKind::Tensor { dtype: tensor.dtype, shape, alignment };
    KernelParam { name: tensor.name.to_string(), kind }
}

//! Signature against which callers check a kernel's packed arguments.

use super::arch::nvptx;
use hammock_ir::{DType, PrimExpr};
use hammock_kernels::{ArgDesc, TensorDesc};
use hammock_runtime::{
    Device,
    image::{Dim, KernelParam, KernelSignature, ParamKind},
};

/// Alignment in bytes of the tensors of kernels for GPUs: that of their widest access.
pub const DEVICE_ALIGNMENT: u32 = nvptx::MAX_ACCESS_BYTES;

/// Returns the signature of a kernel for a kind of device; `written` marks the arguments that it writes. A symbolic
/// size must be the same at every occurrence, including scalar arguments; an expression is checked where it occurs
/// again.
pub fn signature(name: &str, args: &[ArgDesc], written: &[bool], device: Device) -> KernelSignature {
    let mut symbols = Symbols::default();
    // Collect all sizes first: a scalar that is one may precede the tensor.
    let sizes =
        args.iter().filter_map(|arg| if let ArgDesc::Tensor(tensor) = arg { Some(&tensor.shape) } else { None });
    sizes.flatten().for_each(|size| _ = symbols.dim(size));
    let params = args.iter().zip(written).map(|(arg, is_written)| {
        let (name, kind) = param(arg, &mut symbols, device);
        KernelParam { name, kind, is_written: *is_written }
    });
    let params = params.collect();
    let symbol_count = symbols.0.len() as u32;
    KernelSignature { name: name.to_owned(), device, symbol_count, params }
}

/// Symbolic sizes so far, by index.
#[derive(Default)]
struct Symbols(Vec<String>);

impl Symbols {
    fn find(&self, size: &PrimExpr) -> Option<u32> {
        let key = format!("{size:?}");
        self.0.iter().position(|known| *known == key).map(|index| index as u32)
    }

    fn dim(&mut self, size: &PrimExpr) -> Dim {
        if let Some(size) = size.as_int() {
            return Dim::Static(size);
        }
        Dim::Symbol(self.find(size).unwrap_or_else(|| {
            self.0.push(format!("{size:?}"));
            self.0.len() as u32 - 1
        }))
    }
}

/// Returns the name and the kind of a parameter.
fn param(arg: &ArgDesc, symbols: &mut Symbols, device: Device) -> (String, ParamKind) {
    match arg {
        ArgDesc::Tensor(tensor) => (tensor.name.to_string(), tensor_param(tensor, symbols, device)),
        ArgDesc::Scalar(var) => {
            let kind = ParamKind::Scalar { dtype: var.dtype(), symbol: symbols.find(&var.expr()) };
            (var.name().to_string(), kind)
        }
        ArgDesc::Handle { name } => (name.to_string(), ParamKind::Scalar { dtype: DType::HANDLE, symbol: None }),
    }
}

fn tensor_param(tensor: &TensorDesc, symbols: &mut Symbols, device: Device) -> ParamKind {
    let shape = tensor.shape.iter().map(|size| symbols.dim(size)).collect();
    let own = tensor.dtype.element().bytes().next_power_of_two() as u32;
    let alignment = if device == Device::CPU { own } else { own.max(DEVICE_ALIGNMENT) };
    ParamKind::Tensor { dtype: tensor.dtype, shape, alignment }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::{
        Attrs,
        prim::Var,
        tir::{Buffer, Param, PrimFunc, Stmt},
    };
    use hammock_kernels::lower;
    use hammock_target::Target;

    /// Returns the signature of `f(n, x: (n, n + 1), y: (n + 1, m + 1), v: (2,) of four floats, m, p)`.
    fn sample() -> KernelSignature {
        let [n, m] = ["n", "m"].map(Var::int64);
        let next = |var: &Var| var.expr() + PrimExpr::int64(1);
        let x = Buffer::new("x", vec![n.expr(), next(&n)], DType::FLOAT32);
        let y = Buffer::new("y", vec![next(&n), next(&m)], DType::INT8);
        let v = Buffer::new("v", vec![PrimExpr::int64(2)], DType::FLOAT32.with_lanes(4));
        let body = Stmt::store(&x, vec![PrimExpr::int64(0), PrimExpr::int64(0)], PrimExpr::float(1.0, DType::FLOAT32));
        let params = [Param::scalar(n), Param::buffer(x), Param::buffer(y), Param::buffer(v), Param::scalar(m)];
        let params = params.into_iter().chain([Param::scalar(Var::new("p", DType::HANDLE))]).collect();
        let attrs = Attrs::new().with("global_symbol", "f");
        let func = PrimFunc { params, ret_ty: None, body, attrs, s_tir: false, span: Default::default() };
        let flat = lower(&func, &Target::baseline()).unwrap();
        signature(&flat.name, &flat.signature.args, &flat.output_args(), Device::CPU)
    }

    #[test]
    fn symbolic_sizes_are_consistent() {
        let KernelSignature { symbol_count, params, .. } = sample();
        let symbols = |shape: &[Dim]| shape.iter().map(|dim| format!("{dim:?}")).collect::<Vec<_>>().join(" ");
        let told = params.iter().map(|param| match &param.kind {
            ParamKind::Tensor { shape, .. } => symbols(shape),
            ParamKind::Scalar { symbol, .. } => format!("{symbol:?}"),
        });
        let [n, n_1, m_1] = [0, 1, 2].map(|symbol| format!("Symbol({symbol})"));
        let expected = ["Some(0)", &format!("{n} {n_1}"), &format!("{n_1} {m_1}"), "Static(2)", "None", "None"];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert_eq!(symbol_count, 3);
    }

    #[test]
    fn written_arguments_are_marked() {
        let written = sample().params.into_iter().filter(|param| param.is_written).map(|param| param.name);
        assert_eq!(written.collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn tensors_are_aligned_as_their_elements() {
        let alignments = sample().params.into_iter().filter_map(|param| match param.kind {
            ParamKind::Tensor { alignment, .. } => Some(alignment),
            ParamKind::Scalar { .. } => None,
        });
        assert_eq!(alignments.collect::<Vec<_>>(), [4, 1, 4]);
    }
}

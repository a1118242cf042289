//! Static argument checks: decides before the call whether arguments fit a kernel.
use super::kernels::int_range;
use super::{Dim, KernelParam, KernelSignature, ParamKind};
use crate::executable::compact::{Content, Facts, Slot, TensorFacts};
use crate::value::Device;

/// Result of a static check of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// They certainly do not fit.
    Never,
    /// They must be checked at run time.
    Maybe,
    /// They certainly fit.
    Always,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Fit {
        if fits { Fit::Always } else { Fit::Never }
    }
}

impl Fit {
    /// `Maybe` if nothing is known.
    fn of(fits: Option<bool>) -> Fit {
        fits.map_or(Fit::Maybe, Fit::from)
    }
}

impl KernelSignature {
    /// Checks arguments by the facts known about them. `Always` implies that [`KernelSignature::check`] accepts them.
    pub fn fit(&self, facts: &Facts<'_>, args: &[Slot]) -> Fit {
        if args.len() != self.params.len() {
            return Fit::Never;
        }
        let mut symbols = Symbols(vec![None; self.symbol_count as usize]);
        let fit = |(param, slot): (&KernelParam, &Slot)| match (&param.kind, facts.get(*slot)) {
            (_, Content::Unknown) => Fit::Maybe,
            (ParamKind::Tensor { .. }, Content::Tensor(tensor)) => fit_tensor(param, self.device, tensor, &mut symbols),
            (ParamKind::Tensor { .. }, _) => Fit::Never,
            (ParamKind::Scalar { dtype, .. }, _) if dtype.is_handle() => Fit::Maybe,
            (ParamKind::Scalar { .. }, Content::Tensor(_) | Content::Storage(_) | Content::Nothing) => Fit::Never,
            (ParamKind::Scalar { dtype, .. }, Content::Float) => dtype.is_floating().into(),
            (ParamKind::Scalar { dtype, symbol }, Content::Int(value)) if !dtype.is_floating() => {
                let fits = Fit::from(int_range(*dtype).contains(value));
                fits.min(symbol.map_or(Fit::Always, |symbol| symbols.bind(symbol, Some(*value))))
            }
            (ParamKind::Scalar { .. }, _) => Fit::Maybe,
        };
        self.params.iter().zip(args).map(fit).min().unwrap_or(Fit::Always)
    }

    /// Adds the facts that hold for accepted arguments.
    pub fn learn(&self, facts: &mut Facts<'_>, args: &[Slot]) {
        for (param, slot) in self.params.iter().zip(args) {
            param.tensor(self.device).iter().for_each(|tensor| facts.learn(*slot, tensor));
        }
    }
}

impl KernelParam {
    /// Facts about an accepted argument, if the parameter is a tensor.
    pub fn tensor(&self, device: Device) -> Option<TensorFacts> {
        let ParamKind::Tensor { dtype, shape, alignment } = &self.kind else { return None };
        let size = |dim: &Dim| match dim {
            Dim::Static(size) => Some(*size),
            Dim::Symbol(_) => None,
        };
        Some(TensorFacts {
            dtype: Some(*dtype),
            dims: Some(shape.iter().map(size).collect()),
            // Which of several devices it is on is not known.
            device: device.is_host().then_some(device),
            is_dense: true,
            alignment: *alignment as usize,
            is_writable: self.is_written,
        })
    }
}

fn fit_tensor(param: &KernelParam, device: Device, tensor: &TensorFacts, symbols: &mut Symbols) -> Fit {
    let ParamKind::Tensor { dtype, shape, alignment } = &param.kind else { return Fit::Never };
    let known = |fits: bool| if fits { Fit::Always } else { Fit::Maybe };
    let is_aligned = tensor.alignment.max(1).is_multiple_of(*alignment.max(&1) as usize);
    let description = [
        Fit::of(tensor.dtype.map(|known| known == *dtype)),
        fit_device(device, tensor),
        known(tensor.is_dense),
        known(is_aligned),
        known(tensor.is_writable || !param.is_written),
    ];
    let description = description.into_iter().min().unwrap_or(Fit::Always);
    let Some(dims) = &tensor.dims else { return description.min(Fit::Maybe) };
    let size = |(dim, known): (&Dim, &Option<i64>)| match dim {
        Dim::Static(size) => Fit::of(known.map(|known| known == *size)),
        Dim::Symbol(symbol) => symbols.bind(*symbol, *known),
    };
    let rank = Fit::from(dims.len() == shape.len());
    shape.iter().zip(dims).map(size).chain([description, rank]).min().unwrap_or(rank)
}

/// Other devices than the host of the same kind are compared at run time: tensors must be on the same one.
fn fit_device(device: Device, tensor: &TensorFacts) -> Fit {
    match tensor.device {
        None => Fit::Maybe,
        Some(known) if !device.is_host() && known.kind == device.kind && known != device => Fit::Maybe,
        Some(_) => tensor.is_on(device).into(),
    }
}

/// Values of symbols, where known.
struct Symbols(Vec<Option<i64>>);

impl Symbols {
    /// Binds a symbol to a value, or compares it with the value bound before.
    fn bind(&mut self, symbol: u32, value: Option<i64>) -> Fit {
        let Some(value) = value else { return Fit::Maybe };
        (*self.0[symbol as usize].get_or_insert(value) == value).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable::compact::{Compact, Folding, compact};
    use crate::executable::{Executable, FunctionInfo, Instruction, Register};
    use crate::image::KernelParam;
    use crate::value::{Any, DType, Tensor};
    use proptest::prelude::*;
    use proptest::sample::select;

    /// All kinds of arguments.
    fn values() -> Vec<Any> {
        let dense = |dtype, shape: &[i64]| Tensor::empty(dtype, shape, Device::CPU).unwrap();
        let wide = dense(DType::FLOAT32, &[4, 32]);
        let mut values: Vec<Any> = [&[][..], &[1], &[2], &[2, 3], &[3, 2], &[3, 3], &[0, 3]]
            .into_iter()
            .flat_map(|shape| [dense(DType::FLOAT32, shape).into(), dense(DType::INT32, shape).into()])
            .collect();
        values.push(wide.view(DType::FLOAT32, &[2, 3], 4).unwrap().into());
        values.push(wide.strided(&[2, 3], &[32, 1], 0).unwrap().into());
        values.push(wide.strided(&[1, 3], &[32, 1], 0).unwrap().into());
        values.push(Tensor::without_memory(DType::FLOAT32, &[2, 3], Device { id: 1, ..Device::CPU }).into());
        values.push(Tensor::without_memory(DType::FLOAT32, &[2, 3], Device { kind: 2, id: 0 }).into());
        values.extend([Any::NONE, true.into(), 2i64.into(), 3i64.into(), 0.5f64.into()]);
        values.push(dense(DType::FLOAT32, &[2, 3]).constant().into());
        values.push(dense(DType::FLOAT32, &[2, 3]).constant().reshape(&[3, 2]).unwrap().into());
        values.push(Any::opaque(std::ptr::null_mut()));
        values.push(crate::value::Str::new("2").into());
        values
    }

    fn param() -> impl Strategy<Value = KernelParam> {
        let dim = prop_oneof![(0..4i64).prop_map(Dim::Static), (0..2u32).prop_map(Dim::Symbol)];
        let dtype = select(vec![DType::FLOAT32, DType::INT32]);
        let tensor = (dtype, prop::collection::vec(dim, 0..3), select(vec![0, 1, 4, 12, 64]))
            .prop_map(|(dtype, shape, alignment)| ParamKind::Tensor { dtype, shape, alignment });
        let scalar = select(vec![DType::FLOAT32, DType::INT64, DType::BOOL, DType::HANDLE]);
        let scalar =
            (scalar, proptest::option::of(0..2u32)).prop_map(|(dtype, symbol)| ParamKind::Scalar { dtype, symbol });
        let tensor = (tensor, any::<bool>());
        let scalar = (scalar, Just(false));
        prop_oneof![3 => tensor, 1 => scalar].prop_map(|(kind, is_written)| KernelParam {
            name: "p".into(),
            kind,
            is_written,
        })
    }

    fn signature() -> impl Strategy<Value = KernelSignature> {
        prop::collection::vec(param(), 2).prop_map(|params| KernelSignature {
            name: "k".into(),
            device: Device::CPU,
            symbol_count: 2,
            params,
        })
    }

    /// A function with two registers, followed by `pool`.
    fn steps() -> (Executable, Compact) {
        let mut executable = Executable::default();
        executable.code.push(&Instruction::Ret { value: Register(0) });
        let info = FunctionInfo { register_count: 2, end: 1, ..FunctionInfo::packed("f") };
        let steps = compact(&executable, &info, Folding::None);
        (executable, steps)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 2000 }))]

        #[test]
        fn static_checks_agree_with_the_signature(signature in signature(), args in prop::collection::vec(select(values()), 2)) {
            let (executable, steps) = steps();
            let first = steps.registers as Slot;
            let facts = Facts::new(&executable, &steps, args.iter().map(Content::of).collect(), &[Device::CPU]);
            match signature.fit(&facts, &[first, first + 1]) {
                Fit::Never => prop_assert!(signature.check(&args).is_err()),
                Fit::Maybe => (),
                Fit::Always => prop_assert!(signature.check(&args).is_ok()),
            }
        }

        #[test]
        fn learned_facts_hold(
            signatures in prop::collection::vec(signature(), 3),
            args in prop::collection::vec(select(values()), 2),
        ) {
            let (executable, steps) = steps();
            let mut facts = Facts::new(&executable, &steps, Vec::new(), &[Device::CPU]);
            for signature in &signatures {
                let (fit, outcome) = (signature.fit(&facts, &[0, 1]), signature.check(&args));
                prop_assert!(fit != Fit::Always || outcome.is_ok());
                prop_assert!(fit != Fit::Never || outcome.is_err());
                if outcome.is_ok() {
                    signature.learn(&mut facts, &[0, 1]);
                }
            }
        }
    }

    #[test]
    fn accepted_arguments_are_not_checked_again() {
        let tensor = |alignment| ParamKind::Tensor { dtype: DType::FLOAT32, shape: vec![Dim::Static(3)], alignment };
        let params =
            [4, 64].map(|alignment| KernelParam { name: "p".into(), kind: tensor(alignment), is_written: true });
        let params = params.to_vec();
        let signature = KernelSignature { name: "k".into(), device: Device::CPU, symbol_count: 0, params };
        let (executable, steps) = steps();
        let mut facts = Facts::new(&executable, &steps, Vec::new(), &[Device::CPU]);
        assert_eq!(signature.fit(&facts, &[0, 1]), Fit::Maybe);
        signature.learn(&mut facts, &[0, 1]);
        assert_eq!(signature.fit(&facts, &[0, 1]), Fit::Always);
        assert_eq!(signature.fit(&facts, &[1, 0]), Fit::Maybe, "the first was only looked at for less");
        facts.forget();
        assert_eq!(signature.fit(&facts, &[0, 1]), Fit::Maybe);
    }
}

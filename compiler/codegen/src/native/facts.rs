//! Facts about constants that machine code may assume, for every program that is loaded with it.
use hammock_runtime::Device;
use hammock_runtime::executable::compact::{Compact, Content, Facts, TensorFacts};
use hammock_runtime::executable::{Arg, Constant, Executable};
use hammock_runtime::memory::ALIGNMENT;

/// Device 0 is the CPU.
const DEVICES: &[Device] = &[Device::CPU];

/// Returns the facts at the entry of a function.
pub(super) fn facts<'a>(executable: &'a Executable, steps: &'a Compact) -> Facts<'a> {
    let pool = steps.pool.iter().map(|arg| pooled(executable, *arg)).collect();
    Facts::new(executable, steps, pool, DEVICES)
}

fn pooled(executable: &Executable, arg: Arg) -> Content {
    match arg {
        Arg::Immediate(value) => Content::Int(value),
        Arg::Constant(index) => match &executable.constants[index as usize] {
            Constant::Tensor(tensor) => Content::Tensor(TensorFacts {
                dtype: Some(tensor.dtype()),
                dims: Some(tensor.shape().iter().copied().map(Some).collect()),
                device: Some(tensor.device()),
                is_dense: true,
                alignment: ALIGNMENT,
                is_writable: false,
            }),
            Constant::Int(value) => Content::Int(*value),
            Constant::Float(_) => Content::Float,
            Constant::DType(_) => Content::Plain,
            Constant::Shape(_) | Constant::Str(_) => Content::Unknown,
        },
        Arg::Register(_) => Content::Plain,
        Arg::Function(_) => Content::Unknown,
    }
}

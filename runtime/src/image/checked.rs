//! Kernels as function values.
//!
//! The virtual machine checks the arguments of its own calls. A kernel as a function value may be called with any
//! arguments, so it checks them against the same table.
use super::{ArgumentCheck, KernelSignature};
use crate::device;
use crate::ffi::{Error, launch};
use crate::float_state::FloatState;
use crate::memory::meter::Account;
use crate::value::{Any, Callable, Function};

/// A kernel with its signature.
struct GuardedKernel {
    kernel: Function,
    signature: KernelSignature,
    check: ArgumentCheck,
}

// SAFETY: see the other implementations of `Callable`.
unsafe impl Callable for GuardedKernel {
    const MARK: u8 = 1;

    fn call(&self, args: &[Any]) -> Result<Any, Error> {
        if !self.check.accepts(args) {
            self.signature.check(args)?;
        }
        // All kernels of a program's call share the call's floating-point state, and it waits for their devices.
        let is_outermost = Account::current().is_none();
        let _float_state = is_outermost.then(|| FloatState::IEEE.enter());
        if self.signature.device.is_host() {
            return self.kernel.call(args);
        }
        let device = launch::device_of(args, self.signature.device);
        let result = launch::call_on_device(&self.kernel, args, device, &[])?;
        if is_outermost {
            device::find(device)?.synchronize()?;
        }
        Ok(result)
    }
}

impl KernelSignature {
    /// Wraps the kernel in a function that checks its arguments.
    pub fn guard(&self, kernel: Function) -> Function {
        if self.guarded(&kernel).is_some() {
            return kernel;
        }
        let check = ArgumentCheck::new(self, |_| false);
        Function::from_callable(GuardedKernel { kernel, signature: self.clone(), check })
    }

    /// The unwrapped kernel, if this signature guards it: for callers that check arguments themselves.
    pub fn guarded<'a>(&self, function: &'a Function) -> Option<&'a Function> {
        function.downcast().filter(|known: &&GuardedKernel| known.signature == *self).map(|known| &known.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{Dim, KernelParam, ParamKind};
    use crate::value::{DType, Device, Tensor};

    #[test]
    fn function_values_look_at_their_arguments() {
        let kind =
            ParamKind::Tensor { dtype: DType::FLOAT32, shape: vec![Dim::Symbol(0), Dim::Static(5)], alignment: 4 };
        let param = |name: &str, is_written| KernelParam { name: name.into(), kind: kind.clone(), is_written };
        let params = vec![param("a", false), param("b", true)];
        let signature = KernelSignature { name: "k".into(), device: Device::CPU, symbol_count: 1, params };
        let kernel = signature.guard(Function::new(|_| Ok(1i64.into())));
        let tensor = |rows| Tensor::empty(DType::FLOAT32, &[rows, 5], Device::CPU).unwrap();
        let call = |a: Any, b: Any| kernel.call(&[a, b]).map_err(|error| error.message().to_owned());
        assert!(call(tensor(3).into(), tensor(3).into()).is_ok());
        let error = |a: Any, b: Any| call(a, b).unwrap_err();
        assert!(error(tensor(300).into(), tensor(1).into()).contains("shape[0] to be 300 for parameter `b`, got 1"));
        assert!(error(7i64.into(), tensor(1).into()).contains("a Tensor for parameter `a`, got 7"));
        assert!(error(tensor(3).into(), tensor(3).constant().into()).contains("writes parameter `b`"));
        assert!(call(tensor(3).constant().into(), tensor(3).into()).is_ok());
        let view = tensor(3).constant().reshape(&[3, 5]).unwrap();
        assert!(error(tensor(3).into(), view.into()).contains("writes parameter `b`"));
        assert!(kernel.call(&[]).is_err());
        // The virtual machine unwraps the kernels that it checks itself, and no others.
        assert!(signature.guarded(&kernel).is_some() && signature.guarded(&Function::new(|_| Ok(Any::NONE))).is_none());
        let other = KernelSignature { symbol_count: 2, ..signature.clone() };
        assert!(other.guarded(&kernel).is_none() && other.guarded(&other.guard(kernel.clone())).is_some());
    }
}

//! Shared test utilities: an assembler for programs, and kernels.
mod calls;
mod failures;
mod folding;
mod instruments;
mod kernels;
mod memory;
mod stateful;
mod time;

use super::*;
use crate::executable::build::{VM, VOID, branch, goto, int, reg, ret};
use crate::executable::{Arg, Constant, Executable};
use crate::ffi::{Args, kind};
use crate::image::{Dim, KernelParam, KernelSignature, ParamKind, SourceMap, Span};
use crate::value::{Shape, Str, Tensor, Tuple};
use std::ops::{Deref, DerefMut};

/// An executable under construction, with source locations of its instructions.
#[derive(Default)]
pub(super) struct Assembler {
    executable: Executable,
    sources: SourceMap,
    kernels: Vec<KernelSignature>,
}

impl Deref for Assembler {
    type Target = Executable;

    fn deref(&self) -> &Executable {
        &self.executable
    }
}

impl DerefMut for Assembler {
    fn deref_mut(&mut self) -> &mut Executable {
        &mut self.executable
    }
}

impl Assembler {
    pub(super) fn image(self) -> Arc<Image> {
        let image =
            Image { executable: self.executable, sources: self.sources, kernels: self.kernels, ..Image::default() };
        Arc::new(Image::from_bytes(image.save()).unwrap())
    }

    fn vm_with(self, options: Options) -> Vm {
        Vm::new(self.image(), options, |name| Ok(arithmetic(name))).unwrap()
    }

    fn vm(self) -> Vm {
        self.vm_with(Options::default())
    }
}

/// Integer functions that tests call as kernels.
pub(super) fn arithmetic(name: &str) -> Option<Function> {
    let operation: fn(i64, i64) -> i64 = match name {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "mul" => |a, b| a * b,
        "less" => |a, b| i64::from(a < b),
        _ => return None,
    };
    Some(Function::new(move |values| {
        let args = Args::new("arithmetic", values);
        Ok(operation(args.get(0)?, args.get(1)?).into())
    }))
}

fn ints(values: &[i64]) -> Vec<Any> {
    values.iter().map(|value| Any::from(*value)).collect()
}

fn call(vm: &Vm, name: &str, args: &[i64]) -> Result<i64, String> {
    vm.call(name, &ints(args)).map(|value| value.get().unwrap()).map_err(|error| error.to_string())
}

/// `factorial(n) = n * factorial(n - 1)`, by recursion that is not a tail call.
fn factorial() -> Assembler {
    let mut a = Assembler::default();
    let body = [
        branch(0, 5),
        a.call(1, "sub", &[reg(0), int(1)]),
        a.call(1, "factorial", &[reg(1)]),
        a.call(2, "mul", &[reg(0), reg(1)]),
        goto(2),
        a.call(2, "vm.builtin.copy", &[int(1)]),
        ret(2),
    ];
    a.define("factorial", 1, 3, &body);
    a
}

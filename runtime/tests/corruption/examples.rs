//! Three executables, with kernels that need no compiler.

use hammock_runtime::{
    Any, Error, Executable, Function, Image, Tensor,
    library::image_of,
    vm::{Options, Vm},
};
use std::{io::Write, sync::Arc, time::Duration};

/// Time limit of a call.
pub const TIMEOUT: Duration = Duration::from_millis(20);

/// An executable with calls of its functions.
pub struct Example {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    calls: Vec<(&'static str, Vec<Any>)>,
}

/// Outcome for a damaged executable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was rejected before anything ran.
    Refused,
    /// A call failed.
    Failed,
    /// All calls returned results.
    Ran,
}

pub fn examples() -> Vec<Example> {
    let floats = |shape: &[i64], values: &[f32]| Any::from(Tensor::from_slice(shape, values).unwrap());
    let ints = Tensor::from_slice(&[4], &[0i64, 5, 0, 7]).unwrap();
    vec![
        Example { name: "control_flow", bytes: of_tvm(), calls: vec![("main", vec![floats(&[], &[20.0])])] },
        Example {
            name: "symbolic_shapes",
            bytes: include_bytes!("symbolic_shapes.bin").to_vec(),
            calls: vec![("main", vec![floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])]), ("count", vec![ints.into()])],
        },
        Example {
            name: "functions",
            bytes: include_bytes!("functions.bin").to_vec(),
            calls: vec![("main", vec![floats(&[2], &[1.0; 2])])],
        },
    ]
}

impl Example {
    /// Loads damaged bytes of the example's executable and makes the calls.
    pub fn outcome_of_bytes(&self, bytes: &[u8], timeout: Duration) -> Outcome {
        Executable::load(bytes).map_or(Outcome::Refused, |executable| self.outcome(executable, timeout))
    }

    /// Makes the calls on a verified executable, each within a time limit.
    pub fn outcome(&self, executable: Executable, timeout: Duration) -> Outcome {
        let image = Arc::new(Image { executable, ..Image::default() });
        let options = Options {
            memory_limit: Some(1 << 24),
            max_depth: 200,
            max_stack: 1 << 22,
            timeout: Some(timeout),
            ..Options::default()
        };
        let Ok(vm) = Vm::new(image, options, |name| Ok(kernel(name))) else { return Outcome::Refused };
        let ran = self.calls.iter().all(|(function, args)| vm.call(function, args).is_ok());
        if ran { Outcome::Ran } else { Outcome::Failed }
    }
}

/// The bytecode of a library that TVM exported.
fn of_tvm() -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(include_bytes!("../tvm/control_flow.so")).unwrap();
    image_of(file.path()).unwrap().executable.save()
}

/// The kernels of the examples.
fn kernel(name: &str) -> Option<Function> {
    let add = match name {
        "less" | "reshape" | "shape_func" => 0.0,
        "add" | "add1" | "full" => 1.0,
        "subtract" => -1.0,
        "multiply" => -10.0,
        _ => return None,
    };
    Some(Function::kernel(move |args| {
        let tensors: Vec<&Tensor> = args.iter().filter_map(|arg| arg.get::<&Tensor>()).collect();
        let [first, .., last] = tensors[..] else { return heap(&tensors) };
        let x = f64::from(first.as_slice::<f32>().ok().and_then(|v| v.first().copied()).unwrap_or_default()) + add;
        let n = last.element_count();
        let filled = match last.dtype() {
            t if t.is_bool() => Tensor::from_slice(last.shape(), &vec![x < 1.0; n]),
            t if t.is_integer() => Tensor::from_slice(last.shape(), &vec![x as i64; n]),
            _ => Tensor::from_slice(last.shape(), &vec![x as f32; n]),
        };
        Ok((Any::NONE, vec![(args.len() - 1, filled?)]))
    }))
}

/// A shape heap with `n`, `8 * n` and `2 * n`. Other tensors are filled with ones.
fn heap(tensors: &[&Tensor]) -> Result<(Any, Vec<(usize, Tensor)>), Error> {
    let [only] = tensors else { return Err(Error::type_error("a kernel of the test takes tensors")) };
    let filled = match only.as_slice::<i64>() {
        Ok(sizes) => {
            let n = sizes.first().copied().unwrap_or_default();
            let factors = [1, 8, 2].into_iter().chain(std::iter::repeat(0));
            let sizes: Vec<i64> = sizes.iter().zip(factors).map(|(_, factor)| n.wrapping_mul(factor)).collect();
            Tensor::from_slice(only.shape(), &sizes)?
        }
        Err(_) => Tensor::from_slice(only.shape(), &vec![1f32; only.element_count()])?,
    };
    Ok((Any::NONE, vec![(0, filled)]))
}

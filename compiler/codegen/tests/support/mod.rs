//! Helpers that build, compile and run small kernels.

pub mod plan_edits;
#[path = "../random_kernels/rng.rs"]
pub mod rng;

use hammock_codegen::llvm::{self, Emit, Host, LlvmError, OptLevel};
use hammock_diagnostics::SourceFile;
use hammock_interp as interp;
use hammock_ir::{
    DType, Function as IrFunction, PrimExpr, Tensor,
    prim::{BinaryOp, PrimKind, Var},
    tir::PrimFunc,
};
use hammock_kernels::{Options, lower_with};
use hammock_runtime::{Any, Device, Error, Function, Image, Library, image::Integrity};
use hammock_target::Target;
use std::{cell::RefCell, iter, ops::Range, sync::Arc};

/// Targets of every vector width that this machine can run.
pub fn targets() -> impl Iterator<Item = Target> {
    let widths = [Target::avx512(), Target::avx2(), Target::baseline()];
    widths.into_iter().filter(|target| target.vector_bytes <= Target::host().vector_bytes)
}

/// Seeds of random cases: `count` of them by default, `CLASSES` on request, from `CLASSES_FROM` on.
pub fn seeds(count: u64) -> Range<u64> {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let from = number("CLASSES_FROM", 0);
    from..from + number("CLASSES", count)
}

/// Compiles an object for a target.
pub fn compile(f: &PrimFunc, target: &Target) -> Result<Vec<u8>, LlvmError> {
    compile_with(f, target, Options::new(target))
}

fn compile_with(f: &PrimFunc, target: &Target, options: Options) -> Result<Vec<u8>, LlvmError> {
    let flat = lower_with(f, options).unwrap();
    llvm::compile(&[flat], target, Host::Hammock, OptLevel::Lean, Emit::Object)
}

/// A compiled function and its result slot.
pub struct Kernel {
    function: Function,
    func: PrimFunc,
}

impl Kernel {
    /// Compiles for this machine.
    pub fn new(func: &PrimFunc) -> Kernel {
        Kernel::for_target(func, &llvm::host())
    }

    pub fn for_target(func: &PrimFunc, target: &Target) -> Kernel {
        Kernel::of(func, compile(func, target).unwrap())
    }

    /// Compiles for this machine, with plans for another.
    pub fn planned(func: &PrimFunc, options: Options) -> Kernel {
        Kernel::of(func, compile_with(func, &llvm::host(), options).unwrap())
    }

    /// Compiles and plans for the same processor, whose features this machine must have.
    pub fn for_options(func: &PrimFunc, options: Options) -> Kernel {
        Kernel::of(func, compile_with(func, options.target, options).unwrap())
    }

    fn of(func: &PrimFunc, object: Vec<u8>) -> Kernel {
        let linked = hammock_link::link(&[&object], &Image::default().save()).unwrap();
        let library = Library::from_bytes(Arc::new(linked), Integrity::Trust).unwrap();
        Kernel { function: library.kernel("f").unwrap().unwrap(), func: func.clone() }
    }

    pub fn call(&self, args: &[Any]) -> Result<Any, Error> {
        self.function.call(args)
    }

    /// Calls the kernel with fresh outputs for the parameters after the inputs.
    pub fn run(&self, inputs: &[Any]) -> Vec<Tensor> {
        let outputs = self.outputs(inputs);
        let fresh = |(shape, dtype): &(Vec<i64>, DType)| Tensor::empty(*dtype, shape, Device::CPU).unwrap();
        let outputs: Vec<Tensor> = outputs.iter().map(fresh).collect();
        let args: Vec<Any> = inputs.iter().cloned().chain(outputs.iter().map(|t| t.clone().into())).collect();
        self.call(&args).unwrap();
        outputs
    }

    /// Returns the results of the interpreter, which is slow: several plans of one function are compared with one run of it.
    pub fn interpreted(&self, inputs: &[Any]) -> Vec<Tensor> {
        thread_local!(static LAST: RefCell<Option<Reference>> = const { RefCell::new(None) });
        let func = self.func.params[0].var.clone();
        let inputs: Vec<Tensor> = inputs.iter().map(|a| a.get::<&Tensor>().unwrap().clone()).collect();
        LAST.with_borrow_mut(|last| match last {
            Some(last) if last.func == func && iter::zip(&last.inputs, &inputs).all(|(a, b)| a.ptr_eq(b)) => {
                last.results.clone()
            }
            _ => {
                let args: Vec<interp::Arg> = inputs.iter().cloned().map(interp::Arg::Tensor).collect();
                let outputs = self.outputs(&inputs.iter().cloned().map(Any::from).collect::<Vec<_>>());
                let results = interp::call_tir(&self.func, &args, &outputs).unwrap();
                *last = Some(Reference { func, inputs, results: results.clone() });
                results
            }
        })
    }

    /// Shapes and dtypes of the parameters after the inputs, with symbolic sizes bound by these.
    fn outputs(&self, inputs: &[Any]) -> Vec<(Vec<i64>, DType)> {
        let mut sizes = hammock_ir::prim::Substitution::default();
        for (param, arg) in self.func.params.iter().zip(inputs) {
            let (Some(buffer), Some(tensor)) = (&param.buffer, arg.get::<&Tensor>()) else { continue };
            for (size, value) in buffer.shape.iter().zip(tensor.shape()) {
                if let Some(var) = size.as_var() {
                    sizes.insert(var.clone(), PrimExpr::int64(*value));
                }
            }
        }
        let outputs = self.func.params[inputs.len()..].iter().filter_map(|p| p.buffer.as_ref());
        let size = |e: &PrimExpr| constant(&e.substitute(&sizes));
        outputs.map(|b| (b.shape.iter().map(size).collect(), b.dtype)).collect()
    }
}

/// The interpreter's last run.
struct Reference {
    /// Handle of the first parameter, which no other function has.
    func: Var,
    inputs: Vec<Tensor>,
    results: Vec<Tensor>,
}

/// Evaluates additions and multiplications of constants.
fn constant(e: &PrimExpr) -> i64 {
    match e.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => constant(a) * constant(b),
        PrimKind::Binary(BinaryOp::Add, a, b) => constant(a) + constant(b),
        _ => e.as_int().unwrap(),
    }
}

/// Runs the function natively and by the interpreter: outputs must have the same bits, NaNs aside.
pub fn check(f: &PrimFunc, inputs: &[Any]) {
    check_kernel(&Kernel::new(f), inputs);
}

/// The same for a compiled kernel.
pub fn check_kernel(kernel: &Kernel, inputs: &[Any]) {
    let f = &kernel.func;
    let expected = kernel.interpreted(inputs);
    for (number, (found, expected)) in kernel.run(inputs).iter().zip(&expected).enumerate() {
        let width = found.dtype().bytes();
        let pairs = found.as_bytes().unwrap().chunks(width).zip(expected.as_bytes().unwrap().chunks(width));
        for (at, (a, b)) in pairs.enumerate() {
            let same = a == b || (is_nan(a, found.dtype()) && is_nan(b, found.dtype()));
            assert!(same, "output {number}, element {at}: {a:02x?} instead of {b:02x?}\n{:?}", f.body);
        }
    }
}

fn is_nan(bytes: &[u8], dtype: DType) -> bool {
    match (bytes.len(), dtype) {
        (2, t) if t.is_float16() => half::f16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        (2, t) if t.is_bfloat16() => half::bf16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        (4, t) if t.is_float() => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        (8, t) if t.is_float() => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    }
}

/// Returns a tensor of these numbers in a dtype of floats.
pub fn floats(dtype: &str, shape: &[i64], values: impl IntoIterator<Item = i64>) -> Any {
    let values = values.into_iter().map(|v| v as f32);
    let bytes: Vec<u8> = match dtype {
        "float16" => values.flat_map(|v| half::f16::from_f32(v).to_le_bytes()).collect(),
        "bfloat16" => values.flat_map(|v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        "float32" => values.flat_map(f32::to_le_bytes).collect(),
        _ => panic!("no dtype of floats that tests use: {dtype}"),
    };
    Tensor::from_bytes(dtype.parse::<DType>().unwrap(), shape, &bytes).unwrap().into()
}

/// Parses a kernel.
pub fn function(text: &str) -> PrimFunc {
    let source = SourceFile::new("kernel.py", text).unwrap();
    let module = hammock_import::read_module(&source, &Default::default()).unwrap_or_else(|found| {
        panic!("{}\n{text}", hammock_diagnostics::render_text(&found[0], Some(&source), false))
    });
    match module.functions.values().next() {
        Some(IrFunction::Tir(func)) => func.clone(),
        _ => panic!("no kernel\n{text}"),
    }
}

//! Kernels of the examples of all operators, lowered for a GPU: host and device functions compute the same in the
//! reference interpreter, which checks for races, as the kernels as they were written.

#[path = "gpu_kernels/attention.rs"]
mod attention;

use hammock_compiler::{Evaluator, Options, ReadOptions, read_text};
use hammock_diagnostics::SourceFile;
use hammock_interp::{self as interp, Arg};
use hammock_ir::{
    DType, Function, Module, Tensor, print,
    tir::{Buffer, PrimFunc},
};
use hammock_kernels::{GpuKernel, RawParam, inline_calls, lower_gpu};
use hammock_passes::{Silent, pipeline};
use hammock_runtime::Device;
use hammock_target::{Gpu, Target};

/// Tolerance relative to the largest value of a result: threads sum in another order.
const TOLERANCE: f64 = 1e-5;
/// The same for float16 and bfloat16, which round to a neighbour then.
const FLOAT16_TOLERANCE: f64 = 1e-3;
const BFLOAT16_TOLERANCE: f64 = 8e-3;
/// Kernels with more elements take the interpreter too long.
const MAX_ELEMENTS: i64 = 20_000;

#[test]
fn operators_compute_the_same_on_blocks_and_threads() {
    let only = std::env::var("OPERATOR").ok();
    let (mut compared, mut refused, mut reports) = (0, Vec::new(), Vec::new());
    for op in hammock_ops::ops().filter(|op| only.as_deref().is_none_or(|only| only == op.name)) {
        let (Some(_), Some(text)) = (op.example, op.example_module()) else { continue };
        let module = lowered(&SourceFile::new(format!("{}.py", op.name), text).unwrap());
        for func in module.functions.values().filter_map(|function| match function {
            Function::Tir(func) if func.buffers().next().is_some() => Some(func),
            _ => None,
        }) {
            let name = format!("R.{}, kernel `{}`", op.name, func.global_symbol().unwrap_or_default());
            let func = inline_calls(func, &|name| module.tir(name), &|_| None).unwrap();
            let (target, gpu) = (Target::baseline(), Gpu::DEFAULT);
            match lower_gpu(&func, hammock_kernels::Options::new(&target), &gpu) {
                Ok(kernel) => {
                    if only.is_some() {
                        println!("{}", text_of(&func, &kernel));
                    }
                    compared += usize::from(compare(&func, &kernel, &name, &mut reports));
                }
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(reports.is_empty(), "{} kernels differ:\n{}", reports.len(), reports.join("\n"));
    assert!(only.is_some() || compared > 150, "only {compared} kernels were compared");
    let unexpected: Vec<_> = refused.iter().filter(|error| !error.contains("runs on the host only")).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    println!("{compared} kernels; {} need the host:\n{}", refused.len(), refused.join("\n"));
}

fn lowered(source: &SourceFile) -> Module {
    let mut module = read_text(source, &ReadOptions::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let (options, evaluator) = (Options::default(), Evaluator::new());
    if let Err(diagnostic) = pipeline(2).run(&mut module, &options.environment(&evaluator), &mut Silent) {
        panic!("{}", hammock_diagnostics::render_text(&diagnostic, Some(source), false));
    }
    module
}

fn text_of(func: &PrimFunc, kernel: &GpuKernel) -> String {
    let text = |func: &PrimFunc| print::function_text(&"f".into(), &Function::Tir(func.clone()));
    let device = kernel.device.iter().map(|device| text(&device.func));
    [text(func), text(&kernel.host.func)].into_iter().chain(device).collect::<Vec<_>>().join("\n")
}

/// Compares both forms of a kernel. Returns false if it has no arguments of known size, or too many elements.
fn compare(func: &PrimFunc, kernel: &GpuKernel, name: &str, reports: &mut Vec<String>) -> bool {
    let Some(args) = func.params.iter().enumerate().map(|(i, p)| argument(p.buffer.as_ref()?, i)).collect() else {
        return false;
    };
    compare_on(func, kernel, args, name, reports);
    true
}

/// Compares both forms of a kernel on arguments.
fn compare_on(func: &PrimFunc, kernel: &GpuKernel, args: Vec<Arg>, name: &str, reports: &mut Vec<String>) {
    let (mut expected, mut found) = (args.clone(), raw_args(kernel, &args));
    let written = interp::run(func, &mut expected);
    let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
    match (interp::run_kernel(&kernel.host.func, &device, &mut found), written) {
        (Ok(_), Ok(_)) => {}
        (Err(_), Err(_)) => return,
        (Ok(_), Err(error)) => {
            reports.push(format!("{name}: no error, but as it is written: {error}"));
            return;
        }
        (Err(error), Ok(_)) => {
            reports.push(format!("{name}: {error}"));
            return;
        }
    }
    for (raw, found) in kernel.host.signature.raw.iter().zip(&found) {
        let (RawParam::Data(arg), Arg::Tensor(found)) = (raw, found) else { continue };
        let Arg::Tensor(expected) = &expected[*arg] else { continue };
        let (a, b) = (numbers(found), numbers(expected));
        let largest = b.iter().copied().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
        let tolerance = match found.dtype() {
            DType::FLOAT16 => FLOAT16_TOLERANCE,
            DType::BFLOAT16 => BFLOAT16_TOLERANCE,
            _ => TOLERANCE,
        };
        let near = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * largest;
        if let Some(at) = (0..a.len()).find(|at| !near(a[*at], b[*at])) {
            reports.push(format!("{name}: argument {arg}, element {at}: {} instead of {}", a[at], b[at]));
            return;
        }
    }
}

/// Returns small numbers for a buffer of constant shape.
fn argument(buffer: &Buffer, number: usize) -> Option<Arg> {
    let shape: Vec<i64> = buffer.shape.iter().map(|size| size.as_int()).collect::<Option<_>>()?;
    let is_small = shape.iter().product::<i64>() <= MAX_ELEMENTS && buffer.strides.is_empty();
    is_small.then(|| tensor_of(buffer.dtype, &shape, number)).flatten()
}

/// Returns a tensor of small numbers.
fn tensor_of(dtype: DType, shape: &[i64], number: usize) -> Option<Arg> {
    let count = shape.iter().product::<i64>();
    let value = |i: i64| (i * 7 + number as i64 * 3) % 11;
    let values = 0..count;
    let tensor = match dtype {
        DType::FLOAT32 => {
            Tensor::from_slice(shape, &values.map(|i| value(i) as f32 / 4.0 - 1.0).collect::<Vec<_>>()).unwrap()
        }
        DType::FLOAT16 => {
            let bits = values.map(|i| half::f16::from_f32(value(i) as f32 / 4.0 - 1.0));
            Tensor::from_bytes(dtype, shape, &bits.flat_map(half::f16::to_le_bytes).collect::<Vec<_>>()).unwrap()
        }
        DType::BFLOAT16 => {
            let bits = values.map(|i| half::bf16::from_f32(value(i) as f32 / 4.0 - 1.0));
            Tensor::from_bytes(dtype, shape, &bits.flat_map(half::bf16::to_le_bytes).collect::<Vec<_>>()).unwrap()
        }
        DType::FLOAT64 => {
            Tensor::from_slice(shape, &values.map(|i| value(i) as f64 / 4.0 - 1.0).collect::<Vec<_>>()).unwrap()
        }
        DType::INT64 => Tensor::from_slice(shape, &values.map(|i| value(i) % 2).collect::<Vec<_>>()).unwrap(),
        DType::INT32 => Tensor::from_slice(shape, &values.map(|i| (value(i) % 2) as i32).collect::<Vec<_>>()).unwrap(),
        dtype if dtype.is_scalar() && dtype.bits >= 8 => {
            let bytes: Vec<u8> = (0..count * dtype.bytes() as i64).map(|i| (value(i) % 2) as u8).collect();
            Tensor::from_bytes(dtype, shape, &bytes).unwrap()
        }
        _ => return None,
    };
    Some(Arg::Tensor(tensor))
}

/// Converts packed arguments to those of the raw entry.
fn raw_args(kernel: &GpuKernel, args: &[Arg]) -> Vec<Arg> {
    let tensor = |i: usize| match &args[i] {
        Arg::Tensor(tensor) => tensor,
        other => panic!("{other:?} is no tensor"),
    };
    let value = |raw: &RawParam| match *raw {
        RawParam::Data(i) | RawParam::Scalar(i) => args[i].clone(),
        RawParam::Size(i, axis) => Arg::Int(tensor(i).shape()[axis]),
        RawParam::Stride(i, axis) => Arg::Int(tensor(i).shape()[axis + 1..].iter().product()),
        RawParam::Result => Tensor::empty(DType::INT64, &[1], Device::CPU).unwrap().into(),
    };
    kernel.host.signature.raw.iter().map(value).collect()
}

/// Returns a tensor's elements as float64; for rare dtypes, its bytes.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let dense = tensor.to_contiguous().unwrap();
    match dense.dtype() {
        DType::FLOAT32 => dense.as_slice::<f32>().unwrap().iter().map(|v| f64::from(*v)).collect(),
        DType::FLOAT64 => dense.as_slice::<f64>().unwrap().to_vec(),
        DType::INT64 => dense.as_slice::<i64>().unwrap().iter().map(|v| *v as f64).collect(),
        DType::INT32 => dense.as_slice::<i32>().unwrap().iter().map(|v| f64::from(*v)).collect(),
        DType::BFLOAT16 => {
            let pairs = dense.as_bytes().unwrap().chunks_exact(2);
            pairs.map(|pair| half::bf16::from_le_bytes([pair[0], pair[1]]).to_f64()).collect()
        }
        DType::FLOAT16 => dense.as_slice::<half::f16>().unwrap().iter().map(|v| v.to_f64()).collect(),
        _ => dense.as_bytes().unwrap().iter().map(|v| f64::from(*v)).collect(),
    }
}

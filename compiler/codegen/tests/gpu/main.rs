//! Random kernels for a GPU in the reference interpreter: the host function with its device functions gives the same
//! error or the same numbers as the kernel as it was written.
//!
//! `KERNELS=10000` runs more of them, from `KERNELS_FROM` on; `KERNEL=17` runs one and prints its text.

#[allow(dead_code)]
#[path = "../random_kernels/exprs.rs"]
mod exprs;
#[allow(dead_code)]
#[path = "../random_kernels/generate.rs"]
mod generate;
#[allow(dead_code)]
#[path = "../random_kernels/rng.rs"]
mod rng;
#[allow(dead_code)]
#[path = "../random_kernels/stmts.rs"]
mod stmts;

use generate::{Case, Value, case};
use hammock_interp::{self as interp, Arg};
use hammock_ir::{DType, Function, Tensor, print};
use hammock_kernels::{GpuKernel, KernelError, Options, RawParam, Reason, lower_gpu};
use hammock_runtime::Device;
use hammock_target::{Gpu, Target};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_kernels_match_on_blocks_and_threads() {
    let one = number("KERNEL");
    let (from, count) = (number("KERNELS_FROM").unwrap_or(0), number("KERNELS").unwrap_or(400));
    let (from, count) = one.map_or((from, count), |one| (one, 1));
    let (mut reports, mut run) = (Vec::new(), 0);
    for number in from..from + count {
        let case = case(number);
        if one.is_some() {
            println!("{}", print::function_text(&"f".into(), &Function::Tir(case.func.clone())));
        }
        let target = Target::baseline();
        match lower_gpu(&case.func, Options::new(&target), &Gpu::DEFAULT) {
            Ok(kernel) => {
                if one.is_some() {
                    kernel.device.iter().for_each(|device| {
                        println!("{}", print::function_text(&"d".into(), &Function::Tir(device.func.clone())));
                    });
                    println!("{}", print::function_text(&"h".into(), &Function::Tir(kernel.host.func.clone())));
                }
                run += 1;
                reports.extend(compare(&case, &kernel).map(|report| format!("kernel {number}: {report}")));
            }
            // Sizes of temporary buffers that depend on data.
            Err(KernelError { reason: Reason::BufferSize(_) | Reason::HostOnly { .. }, .. }) => {}
            Err(error) => reports.push(format!("kernel {number}: {error}")),
        }
    }
    assert!(reports.is_empty(), "{} of {count} kernels differ:\n{}", reports.len(), reports.join("\n"));
    assert!(run * 10 >= count * 9, "only {run} of {count} kernels run on a GPU");
}

/// Returns the difference between a kernel as it was written and its host and device functions.
fn compare(case: &Case, kernel: &GpuKernel) -> Option<String> {
    let mut expected: Vec<Arg> = case.args.iter().map(argument).collect();
    let mut found = raw_args(kernel, &expected);
    let written = interp::run(&case.func, &mut expected);
    let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
    match (interp::run_kernel(&kernel.host.func, &device, &mut found), written) {
        (Ok(_), Ok(_)) => {}
        (Err(_), Err(_)) => return None,
        (Ok(_), Err(e)) => return Some(format!("no error, but as it is written: {}", e.fault)),
        (Err(e), Ok(_)) => return Some(format!("as it is written there is no error: {e}")),
    }
    let tensors = kernel.host.signature.raw.iter().zip(&found).filter_map(|(raw, found)| match raw {
        RawParam::Data(arg) => Some((*arg, found)),
        _ => None,
    });
    tensors.into_iter().find_map(|(arg, found)| {
        let (Arg::Tensor(expected), Arg::Tensor(found)) = (&expected[arg], found) else { return None };
        let width = found.dtype().bytes();
        let pairs = found.as_bytes().unwrap().chunks(width).zip(expected.as_bytes().unwrap().chunks(width));
        let (at, (a, b)) = pairs.enumerate().find(|(_, (a, b))| !same(a, b, found.dtype()))?;
        Some(format!("argument {arg}, element {at}: {a:02x?} instead of {b:02x?}"))
    })
}

fn argument(value: &Value) -> Arg {
    match value {
        Value::Tensor(tensor) => Arg::Tensor(tensor.clone()),
        Value::Int(value) => Arg::Int(*value),
    }
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
        RawParam::Stride(i, axis) => {
            let compact = || tensor(i).shape()[axis + 1..].iter().product();
            Arg::Int(tensor(i).strides().get(axis).copied().unwrap_or_else(compact))
        }
        RawParam::Result => Tensor::empty(DType::INT64, &[1], Device::CPU).unwrap().into(),
    };
    kernel.host.signature.raw.iter().map(value).collect()
}

/// Returns true if bits are equal, or both are NaN.
fn same(a: &[u8], b: &[u8], dtype: DType) -> bool {
    let nan = |bytes: &[u8]| match bytes.len() {
        2 => half::f16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
    };
    a == b || dtype.is_floating() && nan(a) && nan(b)
}

//! A program on the device and in the reference interpreter.

use half::{bf16, f16};
use hammock_compiler::{
    Build, Dump, Emit, Evaluator, Gpu, Model, Options, ReadOptions, Silent, lower, read_text, reference,
};
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
use hammock_passes::pipeline;
use hammock_runtime::{Any, DType, Device, Tensor, Tuple, vm};
use hammock_tools::RunOptions;

/// A text as a module, with its source.
pub fn parse(text: &str) -> Result<(SourceFile, Module), String> {
    let source = SourceFile::new("case.py", text.to_owned()).map_err(|e| e.message.clone())?;
    let module = read_text(&source, &ReadOptions::default()).map_err(|failure| failure.render(false))?;
    Ok((source, module))
}

/// What `main` gives as it is written, without optimizations, and what is in its arguments afterwards.
pub fn expected(source: &SourceFile, module: &Module, args: &[Tensor]) -> Result<Vec<Any>, String> {
    let (options, evaluator) = (Options::default(), Evaluator::interpreting());
    let mut module = module.clone();
    lower(&mut module, source, &pipeline(0), &options.environment(&evaluator), &mut Dump::default())
        .map_err(|failure| failure.render(false))?;
    let vm = reference(&module, source, None, vm::Options::default()).map_err(|failure| failure.render(false))?;
    let args: Vec<Any> = args.iter().map(|arg| arg.clone().into()).collect();
    let result = vm.call("main", &args).map_err(|e| e.to_string())?;
    Ok([vec![result], args].concat())
}

/// The same of the module compiled with options: for the device if these have a GPU.
pub fn compiled(source: &SourceFile, module: &Module, options: Options, args: &[Tensor]) -> Result<Vec<Any>, String> {
    let model = Model { module: module.clone(), source: source.clone(), signatures: Vec::new(), weights: None };
    let mut progress = Silent;
    let mut build = Build::new(model, options, &mut progress);
    build.lower(&build.options().pipeline(), &mut Dump::default()).map_err(|failure| failure.render(false))?;
    let artifact = build.compile(Emit::Lib).map_err(|failure| failure.render(false))?;
    let session = artifact.load(&RunOptions::default()).map_err(|e| e.to_string())?;
    let on_first_device = |arg: &Tensor| session.vm().on_first_device(&arg.clone().into()).map_err(|e| e.to_string());
    let args: Vec<Any> = args.iter().map(on_first_device).collect::<Result<_, _>>()?;
    let result = session.call("main", &args).map_err(|e| e.to_string())?;
    Ok([vec![result], args].concat())
}

/// Options for the device at a level.
pub fn for_device(level: u8) -> Options {
    Options { gpu: Some(Gpu::DEFAULT), level, ..Options::default() }
}

/// How the first of the values that differ does.
pub fn first_difference(expected: &[Any], actual: &[Any], tolerance: f64) -> Result<(), String> {
    let mut pairs = expected.iter().zip(actual);
    pairs.find_map(|(a, b)| difference(a, b, tolerance)).map_or(Ok(()), Err)
}

/// How two values differ; floating-point numbers may by `tolerance` of the largest.
fn difference(expected: &Any, actual: &Any, tolerance: f64) -> Option<String> {
    if let (Some(a), Some(b)) = (expected.get::<Tuple>(), actual.get::<Tuple>()) {
        let (a, b) = (a.as_slice(), b.as_slice());
        if a.len() != b.len() {
            return Some(format!("{} results instead of {}", b.len(), a.len()));
        }
        let fields = a.iter().zip(b).enumerate();
        return fields.map(|(i, (a, b))| Some(format!("result {i}: {}", difference(a, b, tolerance)?))).find_map(|d| d);
    }
    let (Some(a), Some(b)) = (expected.get::<Tensor>(), actual.get::<Tensor>()) else {
        return Some("values of different kinds".into());
    };
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Some(format!("{:?} {} instead of {:?} {}", b.shape(), b.dtype(), a.shape(), a.dtype()));
    }
    let (a, b) = (numbers(&a), numbers(&b));
    let largest = a.iter().filter(|v| v.is_finite()).fold(1.0_f64, |most, v| most.max(v.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * largest;
    let at = a.iter().zip(&b).position(|pair| !same(pair))?;
    Some(format!("element {at} is {} instead of {}", b[at], a[at]))
}

/// Elements of a tensor, which are equal if these numbers are.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let dense = tensor.to_device(Device::CPU).unwrap().to_contiguous().unwrap();
    macro_rules! elements {
        ($element:ty, $number:expr) => {
            dense.as_slice::<$element>().unwrap().iter().map($number).collect()
        };
    }
    match dense.dtype() {
        DType::FLOAT64 => elements!(f64, |v| *v),
        DType::FLOAT32 => elements!(f32, |v| f64::from(*v)),
        DType::FLOAT16 => elements!(f16, |v| v.to_f64()),
        DType::BFLOAT16 => elements!(bf16, |v| v.to_f64()),
        DType::INT64 => elements!(i64, |v| *v as f64),
        DType::INT32 => elements!(i32, |v| f64::from(*v)),
        DType::INT8 => elements!(i8, |v| f64::from(*v)),
        DType::UINT8 => elements!(u8, |v| f64::from(*v)),
        DType::BOOL => elements!(bool, |v| f64::from(u8::from(*v))),
        other => panic!("no test has tensors of {other}"),
    }
}

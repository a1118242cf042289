//! Examples of all operators: each parses, verifies, runs through the default pipeline, and computes the same with
//! compiled graphs and kernels as with interpreted ones.
mod types;

use hammock_compiler::{
    Emit, Evaluator, ExecMode, Options, ReadOptions, TRANSFORMS, compile, read_text, reference, stages,
};
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
use hammock_passes::{Silent, pipeline};
use hammock_runtime::{Any, DType, Tensor, show::leaves};
use hammock_tools::{RunOptions, Session, parse_argument};

/// Tolerance of compiled kernels, relative to the largest value of a result: they sum in another order.
const TOLERANCE: f64 = 1e-5;

#[test]
fn examples_compute_the_same_compiled_and_interpreted() {
    let mut compared = 0;
    for op in hammock_ops::ops() {
        let (Some(example), Some(text)) = (op.example, op.example_module()) else { continue };
        let source = SourceFile::new(format!("{}.py", op.name), text).unwrap();
        let module = lowered(&source, op.name);
        let args: Vec<Any> = example.values().iter().map(|text| parse_argument(text).unwrap()).collect();
        let run = |session: Session| session.vm().call("main", &args).map_err(|e| e.to_string());
        let interpreted =
            run(Session::from_vm(reference(&module, &source, None, RunOptions::default().options()).unwrap()));
        let options = Options { threads: 1, level: 0, exec_mode: ExecMode::Compiled, ..Options::default() };
        let library = compile(&module, &source, &options, Emit::Lib).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let compiled = run(Session::from_bytes(
            library.file.into_bytes(),
            &RunOptions { threads: Some(1), ..RunOptions::default() },
        )
        .unwrap());
        compare(op.name, &compiled, &interpreted);
        let staged = with_stages(module, &source);
        let staged = reference(&staged, &source, None, RunOptions::default().options()).unwrap();
        compare(op.name, &run(Session::from_vm(staged)), &interpreted);
        compared += 1;
    }
    assert!(compared > 200, "only {compared} operators have examples");
}

/// The module with its kernels as the stages that all transforms leave.
fn with_stages(mut module: Module, source: &SourceFile) -> Module {
    let options = Options { target: "x86-64-v3".into(), threads: 1, ..Options::default() };
    let stages = stages(&module, source, &options, TRANSFORMS.len()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    for (name, function) in &mut module.functions {
        if let Some(kernel) = stages.functions.get(function.global_symbol().unwrap_or(name)) {
            *function = kernel.clone();
        }
    }
    module
}

fn lowered(source: &SourceFile, name: &str) -> Module {
    let mut module = read_text(source, &ReadOptions::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    verify(&module, name);
    let (options, evaluator) = (Options::default(), Evaluator::new());
    if let Err(diagnostic) = pipeline(2).run(&mut module, &options.environment(&evaluator), &mut Silent) {
        panic!("{}", hammock_diagnostics::render_text(&diagnostic, Some(source), false));
    }
    verify(&module, name);
    module
}

fn verify(module: &Module, name: &str) {
    let found = hammock_ir::verify::errors(module, &hammock_ops::Table);
    assert!(found.is_empty(), "the example of R.{name} is not well formed: {found:#?}");
}

fn compare(name: &str, compiled: &Result<Any, String>, interpreted: &Result<Any, String>) {
    let (Ok(compiled), Ok(interpreted)) = (compiled, interpreted) else {
        panic!("R.{name}: compiled {compiled:?}, interpreted {interpreted:?}");
    };
    let (compiled, interpreted) = (leaves(compiled).unwrap(), leaves(interpreted).unwrap());
    assert_eq!(compiled.len(), interpreted.len(), "R.{name}: how many tensors");
    for ((path, a), (_, b)) in compiled.iter().zip(&interpreted) {
        assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "R.{name}, result {path}");
        let (a, b) = (numbers(a), numbers(b));
        let largest = b.iter().copied().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
        for (i, (x, y)) in a.iter().zip(&b).enumerate() {
            let near = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= TOLERANCE * largest;
            assert!(near, "R.{name}, result {path}, element {i}: compiled {x}, interpreted {y}");
        }
    }
}

/// Returns a tensor's elements as float64; for rare dtypes, its bytes.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let dense = tensor.to_contiguous().unwrap();
    match dense.dtype() {
        DType::FLOAT32 => dense.as_slice::<f32>().unwrap().iter().map(|v| f64::from(*v)).collect(),
        DType::FLOAT64 => dense.as_slice::<f64>().unwrap().to_vec(),
        DType::INT64 => dense.as_slice::<i64>().unwrap().iter().map(|v| *v as f64).collect(),
        DType::INT32 => dense.as_slice::<i32>().unwrap().iter().map(|v| f64::from(*v)).collect(),
        _ => dense.as_bytes().unwrap().iter().map(|v| f64::from(*v)).collect(),
    }
}

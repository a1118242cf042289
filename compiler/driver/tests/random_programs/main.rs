//! Random programs, after random passes and as they are: both give the same results.
//!
//! Programs have dataflow blocks, branches, functions, tuples, casts, symbolic sizes, and kernels that write over their
//! arguments, between reads of them by this name and others. Bindings run in their order: that is what a program means,
//! and what is in `main`'s arguments afterwards belongs to its results. Kernels are interpreted, so nothing but the passes can be at fault. Programs follow from their numbers:
//! `PROGRAMS=10000` runs more of them, from `PROGRAMS_FROM` on; `PROGRAM=17` one, with its text and passes.

mod generate;
#[path = "../../../codegen/tests/random_kernels/rng.rs"]
mod rng;

use generate::{Program, program};
use hammock_compiler::{Evaluator, Options, ReadOptions, read_text, reference};
use hammock_diagnostics::{SourceFile, render_text};
use hammock_ir::{Module, print::module_text};
use hammock_passes::{Pipeline, pipeline};
use hammock_runtime::{Any, Tensor, Tuple, vm};
use rng::Rng;

/// Passes that do not change what a program computes, and take any.
const PASSES: &[&str] = &[
    "AdjustMatmulOrder",
    "CanonicalizeBindings",
    "CombineParallelMatmul",
    "ConvertToDataflow",
    "ConvertToDataflow{min_size=1}",
    "DataflowUseInplaceCalls",
    "DeadCodeElimination",
    "DecomposeOpsForInference",
    "EliminateCommonSubexpr",
    "ExpandMatmulOfSum",
    "ExpandTupleArguments",
    "FoldConstant",
    "FuseOpsByPattern{patterns=[[\"x.a\", \"R.exp(R.tanh(_))\"], [\"y.b\", \"R.tanh(_) | R.abs(_)\"]]}",
    "FuseOpsByPattern{patterns=[[\"x.a\", \"R.add(_, ...)\"], [\"x.b\", \"R.nn.relu(_)\"]],annotate_codegen=true}",
    "FuseOpsByPattern{patterns=[[\"x.a\", \"R.tanh(_)\"], [\"x.b\", \"R.split(_)\"], [\"x.c\", \"R.matmul(_, _)\"], \
     [\"x.d\", \"R.concat(_)\"], [\"y.e\", \"R.add(_, _)\"], [\"y.f\", \"R.multiply(_, _)\"]]},MergeCompositeFunctions",
    "FuseTransposeMatmul",
    "InlinePrivateFunctions",
    "LambdaLift",
    "LegalizeOps",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps",
    "LegalizeOps,RewriteDataflowReshape",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR",
    "LegalizeOps,FuseRows",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,FuseRows,FuseTIR",
    "Normalize",
    "RemoveRedundantPermuteDims",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
    "SeparateOutputs",
    "SpecializePrimFuncBasedOnCallSite",
    "ToNonDataflow",
    "TopologicalSort",
    "TopologicalSort{order=\"breadth-first\"}",
    "TopologicalSort{order=\"latest\"}",
    "LegalizeOps,s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerOpaqueBlock",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,s_tir.LowerInitBlock,\
     s_tir.PlanAndUpdateBufferAllocationLocation,s_tir.ConvertBlocksToOpaque,s_tir.CompactBufferAllocation",
    "LegalizeOps,s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerMatchBuffer,s_tir.LowerOpaqueBlock,\
     tirx.FlattenBuffer,tirx.NarrowDataType,tirx.VectorizeLoop,tirx.CommonSubexprElim",
    "tirx.BindTarget",
    "LegalizeOps,tirx.NarrowDataType",
    "tirx.NarrowDataType{target_bits=32}",
    "tirx.RemoveNoOp",
    "tirx.StmtSimplify",
    "tirx.UnrollLoop{auto_max_extent=3}",
    "s_tir.AnnotateIrregularLoop",
    "s_tir.CanonicalizeLoop",
    "s_tir.HoistIfThenElse",
    "s_tir.RewriteUnsafeSelect",
    "s_tir.LowerMatchBuffer",
];

/// Sizes are known: memory is planned in another way then.
const KNOWN_SIZES: &str = r#"BindSymbolicVars{binding_map={"n":3,"m":4}}"#;

/// Reassociated sums of numbers around one differ by that much of the largest.
const TOLERANCE: f64 = 2e-4;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn passes_keep_what_programs_compute() {
    let one = number("PROGRAM");
    let from = one.or(number("PROGRAMS_FROM")).unwrap_or(0);
    let count = if one.is_some() { 1 } else { number("PROGRAMS").unwrap_or(60) };
    let mut reports = Vec::new();
    for seed in from..from + count {
        let program = program(seed);
        let passes = passes(seed);
        if one.is_some() {
            println!("{}\n{passes}", program.text);
        }
        if let Err(why) = compare(&program, &passes) {
            reports.push(format!("program {seed}, {passes}: {why}"));
        }
    }
    assert!(reports.is_empty(), "{} of {count} programs differ:\n{}", reports.len(), reports.join("\n"));
}

/// Some passes, then a level's; for every other program, with sizes that are known.
fn passes(seed: u64) -> String {
    let mut rng = Rng::new(seed.wrapping_add(0x5eed));
    let some: Vec<&str> = (0..rng.below(7)).map(|_| *rng.pick(PASSES)).collect();
    let level = rng.below(4) as u8;
    let known = rng.chance(50).then_some(KNOWN_SIZES);
    known.into_iter().chain(some).map(str::to_owned).chain([pipeline(level).to_string()]).collect::<Vec<_>>().join(",")
}

fn compare(program: &Program, passes: &str) -> Result<(), String> {
    let expected = run(program, &pipeline(0))?;
    let actual = run(program, &Pipeline::parse(passes).map_err(|d| d.message)?)?;
    difference(&expected, &actual).map_or(Ok(()), Err)
}

fn run(program: &Program, passes: &Pipeline) -> Result<Any, String> {
    let source = SourceFile::new("program.py", program.text.clone()).map_err(|e| e.message.clone())?;
    let mut module = read_text(&source, &ReadOptions::default()).map_err(|failure| failure.render(false))?;
    let (options, evaluator) = (Options::default(), Evaluator::new());
    let environment = options.environment(&evaluator);
    for (at, step) in passes.steps.iter().enumerate() {
        let alone = Pipeline { steps: vec![step.clone()] };
        alone
            .run(&mut module, &environment, &mut hammock_passes::Silent)
            .map_err(|d| render_text(&d, Some(&source), false))?;
        verified(&module).map_err(|why| format!("after pass {at}, {alone}: {why}"))?;
    }
    let vm = reference(&module, &source, None, vm::Options::default()).map_err(|failure| failure.render(false))?;
    let args = program.args();
    let result = vm.call("main", &args).map_err(|e| e.to_string())?;
    Ok(Tuple::new([Tuple::new(args.into_iter()).into(), result].into_iter()).into())
}

fn verified(module: &Module) -> Result<(), String> {
    match hammock_ir::verify::module(module, &hammock_ops::Table).iter().find(|found| found.is_error()) {
        None => Ok(()),
        Some(error) => Err(format!("{}\n{}", error.message, module_text(module, &Default::default()))),
    }
}

/// How two values differ.
fn difference(expected: &Any, actual: &Any) -> Option<String> {
    if let (Some(a), Some(b)) = (expected.get::<Tuple>(), actual.get::<Tuple>()) {
        let (a, b) = (a.as_slice(), b.as_slice());
        if a.len() != b.len() {
            return Some(format!("{} results instead of {}", b.len(), a.len()));
        }
        return a.iter().zip(b).enumerate().find_map(|(i, (a, b))| Some(format!("result {i}: {}", difference(a, b)?)));
    }
    let (Some(a), Some(b)) = (expected.get::<Tensor>(), actual.get::<Tensor>()) else {
        return Some("values of different kinds".into());
    };
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Some(format!("{:?} {} instead of {:?} {}", b.shape(), b.dtype(), a.shape(), a.dtype()));
    }
    let (a, b) = (numbers(&a), numbers(&b));
    let largest = a.iter().filter(|v| v.is_finite()).fold(1.0_f64, |most, v| most.max(v.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * largest;
    let at = a.iter().zip(&b).position(|pair| !same(pair))?;
    Some(format!("element {at} is {} instead of {}", b[at], a[at]))
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    if let Ok(values) = tensor.as_slice::<f32>() {
        return values.iter().map(|v| f64::from(*v)).collect();
    }
    match tensor.as_slice::<i64>() {
        Ok(values) => values.iter().map(|v| *v as f64).collect(),
        Err(_) => {
            tensor.as_slice::<bool>().map(|v| v.iter().map(|v| f64::from(u8::from(*v))).collect()).unwrap_or_default()
        }
    }
}

//! Live tensors never share memory: random programs, with branches, aliases, symbolic sizes, calls and in-place
//! kernels, compute the same with every kind of memory planning as with separate allocations. Kernels are interpreted.
//! Results of a call are checked again after the next call, which reuses the memory.
//!
//! More programs: `PROGRAMS=10000 cargo test --release --test memory_planning`.

mod program;

use hammock_compiler::{Evaluator, Options, ReadOptions, read_text, reference};
use hammock_diagnostics::SourceFile;
use hammock_passes::{MemoryPlan, Pipeline, Silent};
use hammock_runtime::{Any, Tensor, Vm, vm};

const LOWERED: &str = "LambdaLift,LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite";
/// Graph passes: none, or those that let results overwrite operands.
const GRAPHS: [&str; 2] =
    ["Normalize,CanonicalizeBindings", "Normalize,CanonicalizeBindings,ConvertToDataflow,DataflowUseInplaceCalls"];
const TO_BYTECODE: &str =
    "LowerAllocTensor,KillAfterLastUse,LowerRuntimeBuiltin,ComputePrimValue,VMShapeLower,AttachGlobalSymbol";
/// Kinds of memory planning.
const PLANS: [&str; 3] = [
    "StaticPlanBlockMemory",
    r#"StaticPlanBlockMemory{scope="function"}"#,
    r#"StaticPlanBlockMemory{scope="function",arena=true}"#,
];

/// Returns the program with memory planned by a pass, and whether a storage has several tensors.
fn load(text: &str, graphs: &str, plan: &str) -> (Vm, bool) {
    let source = SourceFile::new("random.py".to_owned(), text.to_owned()).unwrap();
    let mut module =
        read_text(&source, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    let (options, evaluator) = (Options::default(), Evaluator::new());
    let passes =
        [graphs, LOWERED, plan, TO_BYTECODE].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",");
    let run = |module: &mut _| Pipeline::parse(&passes)?.run(module, &options.environment(&evaluator), &mut Silent);
    run(&mut module).unwrap_or_else(|e| panic!("{}\n{text}", e.message));
    let found = hammock_ir::verify::module(&module, &hammock_ops::Table);
    assert!(found.is_empty(), "{found:#?}\n{text}");
    let plans = MemoryPlan::all(&module);
    let is_shared = plans.values().flat_map(|plan| &plan.storages).any(|storage| storage.tensors > 1);
    let vm = reference(&module, &source, None, vm::Options::default());
    (vm.unwrap_or_else(|e| panic!("{plan}: {}\n{text}", e.render(false))), is_shared)
}

fn ways() -> impl Iterator<Item = (&'static str, &'static str)> {
    GRAPHS.into_iter().flat_map(|graphs| PLANS.map(|plan| (graphs, plan)))
}

fn arguments(rows: i64, seed: i64, condition: bool) -> Vec<Any> {
    let tensor = |shape: &[i64], seed: i64| -> Any {
        let count: i64 = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|i| ((i * 7 + seed * 13) % 23 - 11) as f32).collect();
        Tensor::from_slice(shape, &values).unwrap().into()
    };
    let flag = Tensor::from_slice(&[], &[condition]).unwrap().into();
    vec![tensor(&[6, 4], seed), tensor(&[rows, 4], seed + 1), tensor(&[24], seed + 2), flag]
}

fn leaves(value: &Any) -> Vec<Vec<u8>> {
    if let Some(tensor) = value.get::<&Tensor>() {
        return vec![tensor.as_bytes().unwrap().to_vec()];
    }
    let tuple = value.get::<&hammock_runtime::Tuple>().unwrap();
    tuple.iter().flat_map(leaves).collect()
}

#[test]
fn memory_planning_preserves_results_of_random_programs() {
    let programs = std::env::var("PROGRAMS").map_or(25, |count| count.parse().unwrap());
    let mut shared = [0; GRAPHS.len() * PLANS.len()];
    for seed in 1..=programs {
        let text = program::random(seed);
        let (own, _) = load(&text, GRAPHS[0], "");
        let calls = [(3, 1, true), (5, 2, false), (3, 3, false), (1, 4, true)];
        let expected: Vec<_> =
            calls.map(|(rows, s, c)| leaves(&own.call("main", &arguments(rows, s, c)).unwrap())).into();
        for ((graphs, plan), shared) in ways().zip(&mut shared) {
            let (planned, is_shared) = load(&text, graphs, plan);
            *shared += u64::from(is_shared);
            let results = calls.map(|(rows, s, c)| planned.call("main", &arguments(rows, s, c)).unwrap());
            for (result, expected) in results.iter().zip(&expected) {
                assert_eq!(&leaves(result), expected, "program {seed}, {graphs}, {plan}:\n{text}");
            }
        }
    }
    assert!(shared.iter().all(|shared| shared * 3 > programs), "memory is shared in {shared:?} of {programs} programs");
}

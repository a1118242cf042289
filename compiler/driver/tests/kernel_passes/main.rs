//! Kernels before and after passes over TIR: interpreted, both give the same numbers.
//!
//! Kernels are those of the file-tests of these passes, and random ones, which follow from their numbers: `KERNELS=10000`
//! runs more of them, from `KERNELS_FROM` on; `KERNEL=17` one, with its text.

#[path = "../../../codegen/tests/random_kernels/exprs.rs"]
mod exprs;
mod filetests;
#[path = "../../../codegen/tests/random_kernels/generate.rs"]
mod generate;
#[path = "../../../codegen/tests/random_kernels/rng.rs"]
mod rng;
#[path = "../../../codegen/tests/random_kernels/stmts.rs"]
mod stmts;

use generate::{Case, Value, case};
use hammock_compiler::{Evaluator, Options};
use hammock_interp::{self as interp, Arg};
use hammock_ir::{
    DType, Function, Module, Name,
    print::module_text,
    tir::{Block, PrimFunc, Stmt},
};
use hammock_passes::{Pipeline, Silent};

/// Passes that keep what kernels compute. A kernel that one refuses is not compared.
const PASSES: &[&str] = &[
    "s_tir.LowerInitBlock,s_tir.PlanAndUpdateBufferAllocationLocation",
    "s_tir.LowerInitBlock,s_tir.PlanAndUpdateBufferAllocationLocation,s_tir.ConvertBlocksToOpaque,\
     s_tir.CompactBufferAllocation",
    "s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.CompactBufferAllocation{is_strict=false}",
    "s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerMatchBuffer,s_tir.LowerOpaqueBlock",
    "s_tir.AnnotateIrregularLoop",
    "s_tir.CanonicalizeLoop",
    "s_tir.HoistIfThenElse",
    "s_tir.RewriteUnsafeSelect",
    "tirx.NarrowDataType{target_bits=16}",
    "s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerMatchBuffer,s_tir.LowerOpaqueBlock,tirx.FlattenBuffer,\
     tirx.CommonSubexprElim",
    "tirx.RemoveNoOp",
    "tirx.StmtSimplify",
    "tirx.UnrollLoop{auto_max_extent=3}",
    "tirx.VectorizeLoop",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn passes_keep_what_random_kernels_compute() {
    let one = number("KERNEL");
    let from = one.or(number("KERNELS_FROM")).unwrap_or(0);
    let count = if one.is_some() { 1 } else { number("KERNELS").unwrap_or(200) };
    let (mut reports, mut compared) = (Vec::new(), 0);
    for number in from..from + count {
        let case = with_blocks(case(number));
        let args = || case.args.iter().map(interpreted).collect::<Vec<_>>();
        for passes in PASSES {
            match compare(&case.func, &args, passes) {
                Ok(same) => compared += u64::from(same),
                Err(why) => reports.push(format!("kernel {number}, {passes}: {why}")),
            }
        }
        if one.is_some() {
            println!("{}", text(&case));
        }
    }
    assert!(reports.is_empty(), "{} differ:\n{}", reports.len(), reports.join("\n"));
    assert!(one.is_some() || compared >= count, "only {compared} comparisons");
}

/// A case whose kernel says that it has blocks.
fn with_blocks(mut case: Case) -> Case {
    if !case.func.s_tir {
        let body = std::mem::replace(&mut case.func.body, Stmt::nop());
        case.func.body = Block::root(Vec::new(), body).into();
        case.func.s_tir = true;
    }
    case
}

/// Compares a kernel before and after passes; `false` where it gives an error, or they refuse it.
fn compare(kernel: &PrimFunc, args: &dyn Fn() -> Vec<Arg>, passes: &str) -> Result<bool, String> {
    let mut expected = args();
    if interp::run(kernel, &mut expected).is_err() {
        return Ok(false);
    }
    let name = Name::from("kernel");
    let mut module = Module::default();
    module.functions.insert(name.clone(), Function::Tir(kernel.clone()));
    let (options, evaluator) = (Options::default(), Evaluator::new());
    let pipeline = Pipeline::parse(passes).map_err(|d| d.message)?;
    if pipeline.run(&mut module, &options.environment(&evaluator), &mut Silent).is_err() {
        return Ok(false);
    }
    let after = || module_text(&module, &Default::default());
    if let Some(error) = hammock_ir::verify::module(&module, &hammock_ops::Table).iter().find(|found| found.is_error())
    {
        return Err(format!("{}\n{}", error.message, after()));
    }
    let Some(Function::Tir(kernel)) = module.functions.get(&name) else { return Err("it is gone".into()) };
    let mut found = args();
    if let Err(e) = interp::run(kernel, &mut found) {
        return Err(format!("{}\n{}", e.fault, after()));
    }
    let different = expected.iter().zip(&found).position(|(a, b)| !same(a, b));
    different.map_or(Ok(true), |i| Err(format!("argument {i} differs\n{}", after())))
}

fn interpreted(value: &Value) -> Arg {
    match value {
        Value::Tensor(t) => Arg::Tensor(t.clone()),
        Value::Int(v) => Arg::Int(*v),
    }
}

/// Equal bits, or both no number.
fn same(a: &Arg, b: &Arg) -> bool {
    let (Arg::Tensor(a), Arg::Tensor(b)) = (a, b) else { return true };
    let (bytes, others) = (a.as_bytes().unwrap(), b.as_bytes().unwrap());
    let width = a.dtype().bytes();
    bytes.len() == others.len()
        && bytes
            .chunks(width)
            .zip(others.chunks(width))
            .all(|(x, y)| x == y || is_nan(x, a.dtype()) && is_nan(y, a.dtype()))
}

fn is_nan(bytes: &[u8], dtype: DType) -> bool {
    match bytes {
        [a, b] if dtype.is_floating() => half::f16::from_le_bytes([*a, *b]).is_nan(),
        [a, b, c, d] if dtype.is_floating() => f32::from_le_bytes([*a, *b, *c, *d]).is_nan(),
        _ if dtype.is_floating() => bytes.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
        _ => false,
    }
}

fn text(case: &Case) -> String {
    let mut module = Module::default();
    module.functions.insert(format!("k{}", case.number).into(), Function::Tir(case.func.clone()));
    module_text(&module, &Default::default())
}

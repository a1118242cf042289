//! Inferred types match results: for every operator example, with attributes varied one by one, and with symbolic
//! sizes.

use hammock_compiler::{Dump, Evaluator, Options, ReadOptions, lower, read_text, reference};
use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, PrimExpr, TensorShape, Type, arith::Analyzer, prim::Substitution, types::ShapeType};
use hammock_ops::{AttrKind, Op, ParamKind};
use hammock_runtime::{Any, Shape, Tensor, Tuple};
use hammock_tools::{RunOptions, parse_argument};

/// Values of string attributes; operators that do not have them reject them.
const WORDS: &[&str] = &[
    "onnx",
    "tensorflow",
    "none",
    "sum",
    "mean",
    "both",
    "values",
    "indices",
    "constant",
    "reflect",
    "edge",
    "replicate",
    "circular",
    "NHWC",
    "NCHW",
    "NCHW4c",
    "nearest_neighbor",
    "linear",
    "cubic",
    "bilinear",
    "bicubic",
    "nearest",
    "zeros",
    "border",
    "reflection",
    "add",
    "mul",
    "min",
    "max",
    "update",
    "left",
    "right",
    "avg",
    "align_corners",
];

#[test]
fn results_match_inferred_types() {
    let ops: Vec<&Op> = hammock_ops::ops().filter(|op| op.example.is_some()).collect();
    let halves = ops.split_at(ops.len() / 2);
    let compared: usize = std::thread::scope(|scope| {
        let check = |ops: &[&Op]| ops.iter().map(|op| compare_all(op)).sum::<usize>();
        let spawn = |ops| std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, move || check(ops));
        [spawn(halves.0), spawn(halves.1)].into_iter().map(|half| half.unwrap().join().unwrap()).sum()
    });
    assert!(compared > 700, "only {compared} results were compared");
}

/// Compares all variants of an operator's example; returns the number of results.
fn compare_all(op: &Op) -> usize {
    let symbolic = op.example.map(|example| text(op, example.args, true));
    let calls = variants(op).into_iter().map(|args| text(op, &args, false)).chain(symbolic);
    calls.filter(|text| compare(op, text)).count()
}

/// Returns the arguments of an operator's example, and variants with one attribute changed.
fn variants(op: &Op) -> Vec<String> {
    let args = op.example.map(|example| example.args).unwrap_or_default();
    let mut all = vec![args.to_owned()];
    for param in op.attrs().iter().filter(|param| !args.contains(&format!("{}=", param.name))) {
        let ParamKind::Attr(kind) = param.kind else { continue };
        let quoted: Vec<String> = WORDS.iter().map(|word| format!("\"{word}\"")).collect();
        let values: Vec<&str> = match kind {
            AttrKind::Bool => vec!["True", "False"],
            AttrKind::Int | AttrKind::OptionalInt => vec!["-1", "0", "1", "2"],
            AttrKind::Ints | AttrKind::OptionalInts => vec!["[0]", "[1]", "[-1]", "[0, 1]", "[2, 2]"],
            AttrKind::Str | AttrKind::OptionalStr => quoted.iter().map(String::as_str).collect(),
            AttrKind::DType => vec!["\"float64\"", "\"float16\"", "\"int32\""],
            _ => vec![],
        };
        all.extend(values.into_iter().map(|value| format!("{args}, {}={value}", param.name)));
    }
    all
}

/// Returns a module that calls an operator with static operands, or with symbolic sizes named after their values.
fn text(op: &Op, args: &str, symbolic: bool) -> String {
    let size = |size: &str| if symbolic { format!("\"d{size}\",") } else { format!("{size},") };
    let param = |param: &str| {
        let (name, ty) = param.split_once(": ")?;
        let (dtype, sizes) = ty.strip_suffix(']')?.split_once('[')?;
        let sizes: String = sizes.split(", ").filter(|text| !text.is_empty()).map(size).collect();
        Some(format!("{name}: R.Tensor(({sizes}), dtype=\"{dtype}\")"))
    };
    let params: Vec<String> = op.example.iter().flat_map(|e| e.params.split("; ")).filter_map(param).collect();
    let (params, purity) = (params.join(", "), if op.pure { "" } else { "(pure=False)" });
    format!(
        "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    \
         @R.function{purity}\n    def main({params}):\n        result = R.{}({args})\n        return result\n",
        op.name
    )
}

/// Runs a call, if it is valid, and compares the result with its type.
fn compare(op: &Op, text: &str) -> bool {
    let source = SourceFile::new(format!("{}.py", op.name), text.to_owned()).unwrap();
    let Ok(mut module) = read_text(&source, &ReadOptions::default()) else { return false };
    let ty = module.relax("main").unwrap().lambda.ret_ty.clone();
    let Some(result) = run(op, &mut module, &source) else { return false };
    if let Err(fault) = conforms(&ty, &result) {
        panic!("{text}\n{fault}");
    }
    true
}

fn run(op: &Op, module: &mut Module, source: &SourceFile) -> Option<Any> {
    let (options, evaluator) = (Options::default(), Evaluator::interpreting());
    let environment = options.environment(&evaluator);
    lower(module, source, &hammock_passes::pipeline(2), &environment, &mut Dump::default()).ok()?;
    let values = op.example?.values();
    let args: Vec<Any> = values.iter().map(|text| parse_argument(text).unwrap()).collect();
    let vm = reference(module, source, None, RunOptions::default().options()).ok()?;
    vm.call("main", &args).ok()
}

/// Returns true if the value has the type.
fn conforms(ty: &Type, value: &Any) -> Result<(), String> {
    let wrong = || Err(format!("{value} is not of the type {ty:?}"));
    match ty {
        Type::Tensor(ty) => {
            let Some(tensor) = value.get::<&Tensor>() else { return wrong() };
            let fits = match &ty.shape {
                TensorShape::Known(dims) => are(dims, tensor.shape()),
                shape => shape.ndim().is_none_or(|ndim| ndim == tensor.shape().len()),
            };
            if fits && ty.dtype.is_none_or(|dtype| dtype == tensor.dtype()) { Ok(()) } else { wrong() }
        }
        Type::Shape(ShapeType::Known(dims)) => match value.get::<&Shape>() {
            Some(shape) if are(dims, shape) => Ok(()),
            _ => wrong(),
        },
        Type::Tuple(fields) if fields.is_empty() && value.is_none() => Ok(()),
        Type::Tuple(fields) => match value.get::<&Tuple>() {
            Some(tuple) if tuple.len() == fields.len() => {
                fields.iter().zip(tuple.iter()).try_for_each(|(ty, value)| conforms(ty, value))
            }
            _ => wrong(),
        },
        _ => Ok(()),
    }
}

/// Returns true if the sizes match; a size named `d2` must be 2.
fn are(dims: &[PrimExpr], sizes: &[i64]) -> bool {
    let is = |(dim, size): (&PrimExpr, &i64)| {
        let mut values = Substitution::default();
        dim.each_var(&mut |var| {
            if let Some(value) = var.name().strip_prefix('d').and_then(|size| size.parse::<i64>().ok()) {
                values.insert(var.clone(), PrimExpr::int64(value));
            }
        });
        Analyzer::new().as_constant(&dim.substitute(&values)).is_none_or(|dim| dim == *size)
    };
    dims.len() == sizes.len() && dims.iter().zip(sizes).all(is)
}

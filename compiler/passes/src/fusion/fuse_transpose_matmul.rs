//! FuseTransposeMatmul: fuses the transpose of an operand into a matmul (`NT` layout).
//!
//! Matches `R.matmul(x, R.permute_dims(w))` in dataflow blocks, where exactly the last two axes of `w` are swapped.
//! The kernel is called `NT_matmul`. The pass comes before LegalizeOps, and after passes that dispatch matmuls to
//! libraries. TVM's pass leaves an intermediate private function; this one makes none.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::permutation::swaps_last_two,
    rewrite::{self, dead_code, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, PrimExpr, TensorType, Type,
    relax::{
        Body, Call, Definitions, Function, Graph, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::{CallContext, Lowering, Table, dims, matmul_of_transposed};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseTransposeMatmul",
    doc: "Fuses the transpose of an operand into a matmul",
    options: &[MAX_ROWS],
    run,
};

pub const MAX_ROWS: PassOption = PassOption {
    name: "max_rows",
    kind: OptionKind::Integer,
    default: "0",
    doc: "Maximum number of rows that a matrix with no other transposed use is known to multiply, up to 16 of them if \
          they are longer than 1024; 0 for no limit",
};

/// Maximum number of rows for which the default pipeline fuses the transpose: the matrix is then read once, and not
/// copied. Of 768 by 768 weights, 1 row takes 0.04 of the time, 16 rows 0.14, 32 rows 0.83 and 64 rows 0.92 of it; of 12
/// by 1000 by 64 keys, 64 rows 0.87; of 8 by 2048 by 128 keys, 64 rows 0.87.
pub const FEW_ROWS: i64 = 64;
/// The same for matrices whose rows are longer than some elements: 64 rows by 4096 by 4096 take 1.24 of the time.
const FEW_LONG_ROWS: i64 = 16;
const MAX_SHORT_ROW: i64 = 1024;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut shared = SharedFunctions::default();
    let max_rows = Some(context.options.integer(MAX_ROWS.name)).filter(|rows| *rows != 0);
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let transposed_matmuls = transposed_matmuls(function, &memory, max_rows);
        if transposed_matmuls.is_empty() {
            return Ok(());
        }
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Some(call) = transposed_matmuls.get(&binding.var) {
                let context = CallContext { module, function, op: matmul_of_transposed(), call };
                let Lowering::Tir(build) = &context.op.lowering else { return Ok(()) };
                let made = build(&context).map_err(|error| rewrite::rule_broken(error, binding.span))?;
                let name = shared.share(module, &made.name, Global::Tir(made.func));
                binding.value = Value::Call(Call::tir(name, made.args, made.out_ty));
            }
            out.push(binding);
            Ok(())
        })?;
        dead_code::remove_unused(module, function, &writers);
        Ok(())
    })
}

/// Returns the matmuls with transposed operands, as calls of `NT_matmul`.
fn transposed_matmuls(function: &Function, memory: &MemoryDependences, max_rows: Option<i64>) -> FxHashMap<Var, Call> {
    let graph = Graph::of(function);
    let mut transposed_matmuls = FxHashMap::default();
    collect(function, (&graph, memory), max_rows, &function.lambda.body, &mut transposed_matmuls);
    transposed_matmuls
}

fn collect(
    function: &Function,
    chains: (&Graph, &MemoryDependences),
    max_rows: Option<i64>,
    body: &Body,
    transposed_matmuls: &mut FxHashMap<Var, Call>,
) {
    for block in &body.blocks {
        for binding in &block.bindings {
            binding.value.each_body(&mut |nested| collect(function, chains, max_rows, nested, transposed_matmuls));
            if block.dataflow
                && let Some(matmul) = matmul(function, chains, binding.var, &binding.value)
                && max_rows.is_none_or(|max_rows| is_small(function, chains.0, &binding.value, &matmul, max_rows))
            {
                transposed_matmuls.insert(binding.var, matmul);
            }
        }
    }
}

fn matmul(function: &Function, (graph, memory): (&Graph, &MemoryDependences), var: Var, value: &Value) -> Option<Call> {
    let matmul = value.as_op("matmul")?;
    let [x, transposed] = matmul.operands()?;
    let source = graph.source(transposed).as_var()?;
    let def = graph.def(source)?;
    if memory.changes_between(&def.binding.value, source, var) {
        return None;
    }
    let position = def.position;
    let here = graph.def(var)?.position;
    let permute = graph.op(transposed, "permute_dims")?;
    let [w] = permute.operands()?;
    let (left, right) = (tensor(function, x)?, tensor(function, w)?);
    let known = left.dims().is_some() && right.dims().is_some() && left.dtype.is_some() && right.dtype.is_some();
    let is_near = (position.body, position.block) == (here.body, here.block);
    (known && is_near && swaps_last_two(permute, right.ndim()?))
        .then(|| Call::op("matmul", vec![x.clone(), w.clone()], matmul.attrs.clone()))
}

/// Returns true if each matrix multiplies at most `max_rows` rows, or fewer long ones, and is transposed for this matmul
/// alone.
fn is_small(function: &Function, graph: &Graph, value: &Value, matmul: &Call, max_rows: i64) -> bool {
    let used_once = |operand: &Operand| operand.as_var().is_some_and(|var| graph.use_count(var) == 1);
    let are_few = || {
        let [x, w] = matmul.operands()?;
        let (x, w) = (tensor(function, x)?, tensor(function, w)?);
        let (size, rows) = x.dims()?.split_last()?;
        let is_short = size.as_int().is_some_and(|size| size <= MAX_SHORT_ROW);
        let max_rows = if is_short { max_rows } else { max_rows.min(FEW_LONG_ROWS) };
        // one matrix multiplies the rows of a whole batch
        let rows = match w.ndim()? {
            2 => dims::product(rows).as_int()?,
            _ => rows.last().map_or(Some(1), PrimExpr::as_int)?,
        };
        Some(rows <= max_rows)
    };
    value.as_op("matmul").and_then(|call| call.args.get(1)).is_some_and(used_once) && are_few().unwrap_or(false)
}

fn tensor(function: &Function, operand: &Operand) -> Option<TensorType> {
    match operand {
        Operand::Var(var) => function.ty(*var).as_tensor().cloned(),
        Operand::Const(constant) => match constant.ty() {
            Type::Tensor(tensor) => Some(tensor),
            _ => None,
        },
        _ => None,
    }
}

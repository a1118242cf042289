//! FuseTransposeMatmul: a product with a transposed matrix becomes a kernel that reads the matrix as it lies.
//!
//! Looks in dataflow blocks for `R.matmul(x, R.permute_dims(w))` where the last two axes of `w` are swapped, and nothing
//! else. The kernel is called `NT_matmul`. The pass comes before LegalizeOps, and after passes that hand products to
//! libraries. TVM's pass leaves a private function that it made on the way; this one makes none.

use crate::{Context, Pass, dead_code_elimination, rewrite, shared_functions::SharedFunctions};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Function as Global, Module, TensorType, Type,
    relax::{Body, Call, Definitions, Function, Graph, Operand, Value, Var},
};
use hammock_ops::{CallContext, Lowering, matmul_of_transposed};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseTransposeMatmul",
    doc: "Makes kernels that multiply with a transposed matrix without transposing it",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut shared = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        let products = products(function);
        if products.is_empty() {
            return Ok(());
        }
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Some(call) = products.get(&binding.var) {
                let context = CallContext { module, function, op: matmul_of_transposed(), call };
                let Lowering::Tir(build) = &context.op.lowering else { return Ok(()) };
                let made = build(&context).map_err(|error| rewrite::rule_broken(error, binding.span))?;
                let name = shared.share(module, &made.name, Global::Tir(made.func));
                binding.value = Value::Call(Call::tir(name, made.args, made.out_ty));
            }
            out.push(binding);
            Ok(())
        })?;
        dead_code_elimination::remove_unused(module, function);
        Ok(())
    })
}

/// The products with transposed matrices, as calls with the matrices as they lie.
fn products(function: &Function) -> FxHashMap<Var, Call> {
    let graph = Graph::of(function);
    let mut products = FxHashMap::default();
    collect(function, &graph, &function.lambda.body, &mut products);
    products
}

fn collect(function: &Function, graph: &Graph, body: &Body, products: &mut FxHashMap<Var, Call>) {
    for block in &body.blocks {
        for binding in &block.bindings {
            binding.value.each_body(&mut |nested| collect(function, graph, nested, products));
            if block.dataflow
                && let Some(product) = product(function, graph, binding.var, &binding.value)
            {
                products.insert(binding.var, product);
            }
        }
    }
}

fn product(function: &Function, graph: &Graph, var: Var, value: &Value) -> Option<Call> {
    let matmul = value.as_op("matmul")?;
    let [x, transposed] = matmul.operands()?;
    let place = graph.def(graph.source(transposed).as_var()?)?.place;
    let here = graph.def(var)?.place;
    let permute = graph.op(transposed, "permute_dims")?;
    let [w] = permute.operands()?;
    let (left, right) = (tensor(function, x)?, tensor(function, w)?);
    let known = left.dims().is_some() && right.dims().is_some() && left.dtype.is_some() && right.dtype.is_some();
    let is_near = (place.body, place.block) == (here.body, here.block);
    (known && is_near && swaps_last_two(permute.attrs.get("axes"), right.ndim()?))
        .then(|| Call::op("matmul", vec![x.clone(), w.clone()], matmul.attrs.clone()))
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

/// Whether axes of a permutation are those of a transposition of the last two. Without axes, all are reversed.
fn swaps_last_two(axes: Option<&AttrValue>, rank: usize) -> bool {
    let Some(axes) = axes.and_then(AttrValue::as_list) else { return rank == 2 };
    let axis = |axis: &AttrValue| {
        let axis = axis.as_int()?;
        usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()
    };
    let wanted = |at: usize| match rank - at {
        1 => rank - 2,
        2 => rank - 1,
        _ => at,
    };
    rank >= 2 && axes.len() == rank && axes.iter().enumerate().all(|(at, a)| axis(a) == Some(wanted(at)))
}

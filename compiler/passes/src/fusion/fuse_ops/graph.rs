//! Graph of the bindings in dataflow blocks, on which FuseOps works.

use crate::analysis::op_pattern::OpPattern;
use hammock_ir::{
    DType, Module, PrimExpr,
    prim::PrimKind,
    relax::{Binding, Block, Body, CallTir, Function, Operand, Value, Var, memory::MemoryDependences},
    tir::{Buffer, PrimFunc, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A binding.
pub struct Node {
    /// Its class.
    pub pattern: OpPattern,
    /// Bindings that use it, with their classes; opaque for those that only must come after it.
    pub users: Vec<(usize, OpPattern)>,
    /// True if it is visible outside its block.
    pub used_elsewhere: bool,
    /// True if it dequantizes or upcasts, such as quantized weights, gathers matrices, or rearranges such a result.
    pub widens: bool,
}

/// Returns the bindings of a function's dataflow blocks, also in branches, in order, and the variables that they bind. `widens` is
/// computed only if `widened`.
pub fn graph(module: &Module, function: &Function, memory: &MemoryDependences, widened: bool) -> (Vec<Node>, Vec<Var>) {
    let (mut nodes, mut vars): (Vec<Node>, Vec<Var>) = Default::default();
    let mut numbers: FxHashMap<Var, usize> = FxHashMap::default();
    // Bytes of each binding's result, if known.
    let mut results: Vec<Option<i64>> = Vec::new();
    let weights = weights(function);
    let mut blocks = Vec::new();
    dataflow_blocks(&function.lambda.body, &mut blocks);
    for binding in blocks.iter().flat_map(|b| &b.bindings) {
        let number = nodes.len();
        let pattern = pattern(module, binding, &weights);
        let sizes = if widened { sizes(module, binding) } else { Vec::new() };
        let result = sizes.last().copied().flatten();
        let kernel = kernel(module, binding);
        let mut widens = widens(&sizes) && !broadcasts(kernel) || widened && kernel.is_some_and(gathers_matrices);
        binding.value.each_use(&mut |used| {
            if let Some(producer) = numbers.get(&used) {
                nodes[*producer].users.push((number, pattern));
                // A rearranged result also counts, unless it is larger.
                let as_wide = result.is_some_and(|bytes| results[*producer].is_some_and(|own| bytes <= own));
                widens |= nodes[*producer].widens && pattern <= OpPattern::Injective && as_wide;
            }
        });
        numbers.insert(binding.var, number);
        vars.push(binding.var);
        results.push(result);
        let used_elsewhere = !function.vars[binding.var].dataflow;
        nodes.push(Node { pattern, users: Vec::new(), used_elsewhere, widens });
    }
    // Memory dependences count as uses that are never fused.
    for block in blocks {
        for (earlier, later) in memory.order(&block.bindings) {
            nodes[numbers[&earlier]].users.push((numbers[&later], OpPattern::Opaque));
        }
    }
    (nodes, vars)
}

/// Collects the dataflow blocks of a body and of its branches.
fn dataflow_blocks<'a>(body: &'a Body, blocks: &mut Vec<&'a Block>) {
    for block in &body.blocks {
        if block.dataflow {
            blocks.push(block);
        }
        for binding in &block.bindings {
            binding.value.each_body(&mut |nested| dataflow_blocks(nested, blocks));
        }
    }
}

/// Returns the bytes of a kernel's buffers, if known; the last is its result.
fn sizes(module: &Module, binding: &Binding) -> Vec<Option<i64>> {
    let bytes = |buffer: &Buffer| {
        let size = |n: i64, dim: &PrimExpr| n.checked_mul(dim.as_int()?);
        buffer.shape.iter().try_fold(buffer.dtype.bytes() as i64, size)
    };
    kernel(module, binding).into_iter().flat_map(PrimFunc::buffers).map(bytes).collect()
}

/// Returns true if a kernel's result is much larger than its inputs together.
fn widens(sizes: &[Option<i64>]) -> bool {
    let all: Option<Vec<i64>> = sizes.iter().copied().collect();
    all.as_deref()
        .and_then(<[i64]>::split_last)
        .is_some_and(|(result, given)| given.iter().sum::<i64>().saturating_mul(3) <= result.saturating_mul(2))
}

fn kernel<'a>(module: &'a Module, binding: &Binding) -> Option<&'a PrimFunc> {
    let Value::Call(call) = &binding.value else { return None };
    CallTir::or_inplace(call).and_then(|call| module.tir(call.kernel()?))
}

/// Returns true if a kernel only broadcasts its input: recomputing it gains nothing.
fn broadcasts(kernel: Option<&PrimFunc>) -> bool {
    let dtypes: Vec<DType> =
        kernel.into_iter().flat_map(|kernel| kernel.buffers().map(|buffer| buffer.dtype)).collect();
    dtypes.windows(2).all(|pair| pair[0] == pair[1])
}

/// Returns true if a kernel only copies matrices that indices from memory select, such as the weights of experts: the
/// last two axes of its result are those of its input.
fn gathers_matrices(kernel: &PrimFunc) -> bool {
    let Some(result) = kernel.buffers().last() else { return false };
    let mut stores = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Store { buffer, indices, value, predicate: None } = &stmt.kind {
            stores.push((buffer.clone(), indices.clone(), value.clone()));
        }
    });
    let [(buffer, to, value)] = &stores[..] else { return false };
    let PrimKind::Load(_, from, None) = value.kind() else { return false };
    let (Some(to), Some(rest)) = (to.last_chunk::<2>(), from.len().checked_sub(2)) else { return false };
    let same = to.iter().zip(&from[rest..]).all(|(to, from)| to.as_var().is_some() && to.as_var() == from.as_var());
    buffer == result && same && from[..rest].iter().any(PrimExpr::has_loads)
}

fn pattern(module: &Module, binding: &Binding, weights: &FxHashSet<Var>) -> OpPattern {
    match &binding.value {
        Value::Call(_) => kernel(module, binding).and_then(OpPattern::stated).unwrap_or(OpPattern::Opaque),
        // Weights are usually taken from their tuple at the start; the position of that must not decide what is
        // fused.
        Value::TupleGet(Operand::Var(tuple), _) if weights.contains(tuple) => OpPattern::Opaque,
        Value::TupleGet(..) => OpPattern::Injective,
        _ => OpPattern::Opaque,
    }
}

/// Returns the parameters after the inputs, if the function states its number of inputs.
fn weights(function: &Function) -> FxHashSet<Var> {
    let inputs = function.lambda.attrs.get("num_input").and_then(|n| n.as_int());
    let inputs = inputs.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    function.lambda.params.iter().skip(inputs).copied().collect()
}

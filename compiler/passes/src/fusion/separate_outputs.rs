//! SeparateOutputs: splits a kernel with several independent results, such as `split`, into one kernel per result.
//!
//! Works on `call_tir` in dataflow blocks after AnnotateTIROpPattern. A kernel whose results are all injective is
//! split if each result, except at most one, has a single consumer that FuseOps can fuse it with: then no part is
//! copied before it is used, and there are no more kernels than before.

use crate::{
    Context, Pass,
    analysis::op_pattern::{OP_PATTERN, OpPattern},
    rewrite::{self, dead_code::remove_unused, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Type,
    prim::{PrimKind, Substitution},
    relax::{
        Call, CallTir, Function, Graph, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
    tir::{Buffer, PrimFunc, Stmt, StmtKind, fresh::copy_body},
};
use hammock_ops::Table;
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "SeparateOutputs",
    doc: "Splits kernels with several results, such as `split`, into one per result, where FuseOps can fuse these",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut shared = SharedFunctions::default();
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let parts = separable(module, function, &memory);
        if parts.is_empty() {
            return Ok(());
        }
        let calls: FxHashMap<Var, Call> =
            parts.into_iter().map(|(var, part)| (var, part.call(module, &mut shared))).collect();
        rewrite::bindings(function, &mut |_, mut binding, out| {
            if let Some(call) = calls.get(&binding.var) {
                binding.value = Value::Call(call.clone());
            }
            out.push(binding);
            Ok(())
        })?;
        remove_unused(module, function, &writers);
        Ok(())
    })
}

/// One result, computed by its own kernel.
struct SingleOutput {
    name: String,
    kernel: PrimFunc,
    args: Vec<Operand>,
    ty: Type,
}

impl SingleOutput {
    fn call(self, module: &mut Module, shared: &mut SharedFunctions) -> Call {
        let name = shared.share(module, &self.name, Global::Tir(self.kernel));
        Call::tir(name, self.args, self.ty)
    }
}

/// Returns the variables of results that get their own kernels.
fn separable(module: &Module, function: &Function, memory: &MemoryDependences) -> Vec<(Var, SingleOutput)> {
    let mut found = Vec::new();
    let mut graph = None;
    for binding in function.lambda.body.blocks.iter().filter(|b| b.dataflow).flat_map(|b| &b.bindings) {
        if let Some(call) = CallTir::of_value(&binding.value)
            && let (Some(name), Some(args), Type::Tuple(types)) = (call.kernel(), call.inputs(), call.out_ty)
            && let Some(kernel) = module.tir(name).filter(|kernel| is_injective(kernel))
        {
            let graph = graph.get_or_insert_with(|| Graph::of(function));
            let Some(parts) = parts(module, function, graph, binding.var) else { continue };
            if parts.iter().any(|(part, _)| memory.changes_between(&binding.value, binding.var, *part)) {
                continue;
            }
            let made = parts.into_iter().map(|(var, at)| {
                let kernel = only_result(kernel, types.len(), at)?;
                Some((
                    var,
                    SingleOutput { name: format!("{name}_part"), kernel, args: args.to_vec(), ty: types[at].clone() },
                ))
            });
            found.extend(made.collect::<Option<Vec<_>>>().unwrap_or_default());
        }
    }
    found
}

/// Returns the variables of a kernel's results, with their indices; `None` if they are better computed together.
fn parts(module: &Module, function: &Function, graph: &Graph, results: Var) -> Option<Vec<(Var, usize)>> {
    let users = graph.users(results);
    if !function.vars[results].dataflow || graph.results(results) > 0 {
        return None;
    }
    let parts: Vec<(Var, usize)> = users
        .iter()
        .map(|user| match graph.def(*user)?.binding.value {
            Value::TupleGet(_, at) => Some((*user, at)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let alone = parts.iter().filter(|(var, _)| !is_fused(module, function, graph, *var)).count();
    (alone <= 1 && alone < parts.len()).then_some(parts)
}

/// Returns true if FuseOps can fuse the producer of a value with its only consumer.
fn is_fused(module: &Module, function: &Function, graph: &Graph, var: Var) -> bool {
    let user = graph.only_user(var).filter(|_| function.vars[var].dataflow).and_then(|user| graph.def(user));
    let call = user.and_then(|user| CallTir::of_value(&user.binding.value));
    call.and_then(|call| module.tir(call.kernel()?)).is_some_and(is_injective)
}

fn is_injective(kernel: &PrimFunc) -> bool {
    OpPattern::stated(kernel).is_some_and(|pattern| pattern <= OpPattern::Injective)
}

/// Returns the kernel that computes one of `count` results; `None` if the results are not computed independently.
fn only_result(kernel: &PrimFunc, count: usize, at: usize) -> Option<PrimFunc> {
    let mut kernel = kernel.clone();
    let first = kernel.params.len().checked_sub(count)?;
    let results: Vec<Buffer> =
        kernel.params[first..].iter().map(|param| param.buffer.clone()).collect::<Option<_>>()?;
    let wanted = results[at].clone();
    keep_only(root_body(&mut kernel.body)?, &results, &wanted)?;
    let outputs = kernel.params.split_off(first);
    kernel.params.push(outputs.into_iter().nth(at)?);
    let (mut values, mut buffers) = (Substitution::default(), FxHashMap::<Buffer, Buffer>::default());
    for param in &kernel.params {
        values.insert(param.var.clone(), param.var.expr());
        if let Some(buffer) = &param.buffer {
            buffer.each_expr(&mut |e| e.each_var(&mut |var| drop(values.insert(var.clone(), var.expr()))));
            values.insert(buffer.data.clone(), buffer.data.expr());
            buffers.insert(buffer.clone(), buffer.clone());
        }
    }
    kernel.body = copy_body(&kernel.body, values, buffers);
    kernel.attrs.set(OP_PATTERN, OpPattern::of(&kernel, true) as i64);
    Some(kernel)
}

/// Returns the body of the root block, if it allocates no buffers.
fn root_body(stmt: &mut Stmt) -> Option<&mut Stmt> {
    match &mut stmt.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.alloc_buffers.is_empty() => Some(&mut block.body),
        _ => None,
    }
}

/// Removes the statements that store other results; `None` if a statement stores several, or reads one.
fn keep_only(body: &mut Stmt, results: &[Buffer], wanted: &Buffer) -> Option<()> {
    let StmtKind::Seq(stmts) = &mut body.kind else { return None };
    let stored: Vec<Buffer> = stmts.iter().map(|stmt| only_stored(stmt, results)).collect::<Option<_>>()?;
    let mut keeps = stored.iter().map(|buffer| buffer == wanted);
    stmts.retain(|_| keeps.next().unwrap_or_default());
    Some(())
}

/// Returns the only buffer that a statement stores to, if it is a result and the statement reads none.
fn only_stored(stmt: &Stmt, results: &[Buffer]) -> Option<Buffer> {
    let (mut stored, mut is_plain) = (Vec::new(), true);
    stmt.walk(&mut |stmt| {
        match &stmt.kind {
            StmtKind::Store { buffer, .. } => stored.push(buffer.clone()),
            StmtKind::Block(block) => is_plain &= block.alloc_buffers.is_empty(),
            _ => {}
        }
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| is_plain &= !matches!(e.kind(), PrimKind::Load(buffer, ..) if results.contains(buffer)));
        });
    });
    match stored.as_slice() {
        [one] if is_plain && results.contains(one) => Some(one.clone()),
        _ => None,
    }
}

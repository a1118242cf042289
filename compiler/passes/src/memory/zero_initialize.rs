//! ZeroInitialize: zeroes fresh memory that a kernel may read before writing it.
//!
//! Fresh memory is allocated by a kernel, or passed by `R.call_tir` for a new output. If [`possible_reads`] cannot
//! exclude that a kernel reads an element of it first, the kernel begins by storing zeros, as a statement like any
//! other, which later passes and every way to run kernels respect. A kernel that is also called with tensors of its
//! callers is copied for the calls that pass fresh memory. All other kernels stay as they are. On a GPU, so does the
//! memory that the threads of a block share: what a thread reads there is what another one stored.

use crate::{
    Context, Pass,
    analysis::functions::{each_call, each_call_mut},
    rewrite::shared_functions::SharedFunctions,
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr,
    prim::Var,
    relax::{Call, CallTir, Callee, Operand},
    tir::{Block, Buffer, PrimFunc, Stmt, StmtKind, call::callees, initialization::possible_reads},
};
use hammock_ops::legalize::fill_block;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ZeroInitialize",
    doc: "Zeroes fresh memory that kernels may read before they write it",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    zero_outputs(module);
    let reads = module.tir_functions().map(|(name, kernel)| (name.clone(), possibly_read_memory(module, kernel, 0..0)));
    for (name, mut memory) in reads.filter(|(_, memory)| !memory.is_empty()).collect::<Vec<_>>() {
        if let Some(Global::Tir(kernel)) = module.functions.get_mut(&name) {
            if context.environment.gpu.is_some() {
                remove_shared(&kernel.body, &mut memory);
            }
            zero_allocated(&mut kernel.body, &memory);
        }
    }
    Ok(())
}

/// Removes the memory that the threads of a block share.
fn remove_shared(body: &Stmt, memory: &mut FxHashSet<Var>) {
    let mut remove = |buffer: &Buffer| {
        if buffer.scope.starts_with("shared") {
            memory.remove(&buffer.data);
        }
    };
    body.walk(&mut |stmt| match &stmt.kind {
        StmtKind::Alloc(buffer, _) => remove(buffer),
        StmtKind::Block(block) => block.alloc_buffers.iter().for_each(&mut remove),
        _ => {}
    });
}

/// Returns the fresh memory that a kernel may read first: its own, or that of the outputs in this range.
fn possibly_read_memory(module: &Module, kernel: &PrimFunc, outputs: std::ops::Range<usize>) -> FxHashSet<Var> {
    let outputs = kernel.params.get(outputs).unwrap_or_default().iter().filter_map(|p| p.buffer.as_ref());
    possible_reads(kernel, outputs, &|name| module.tir(name)).into_iter().map(|read| read.memory).collect()
}

/// Makes calls that pass fresh memory for outputs call kernels that store zeros there.
fn zero_outputs(module: &mut Module) {
    let mut calls: BTreeMap<(Name, usize), usize> = BTreeMap::new();
    for (_, function) in module.relax_functions() {
        each_call(&function.lambda.body, &mut |call| {
            if let Some(key) = fresh_from(call) {
                *calls.entry(key).or_default() += 1;
            }
        });
    }
    let mut shared = SharedFunctions::default();
    let mut renamed: FxHashMap<(Name, usize), Name> = FxHashMap::default();
    for (key, number) in calls {
        let (name, first) = &key;
        let Some(kernel) = module.tir(name) else { continue };
        let all = *first..kernel.params.len();
        let memory = possibly_read_memory(module, kernel, all.clone());
        let zeroed = |b: &&Buffer| memory.contains(&b.data);
        let outputs: Vec<Buffer> =
            kernel.params[all].iter().filter_map(|p| p.buffer.as_ref()).filter(zeroed).cloned().collect();
        if outputs.is_empty() {
            continue;
        }
        let mut kernel = kernel.clone();
        zero_at_start(&mut kernel, &outputs);
        if kernel.is_private() && uses(module, name) == number {
            module.functions.insert(name.clone(), Global::Tir(kernel));
            continue;
        }
        kernel.attrs.remove("global_symbol");
        let copy = shared.share(module, &format!("{name}_zero_initialized"), Global::Tir(kernel));
        renamed.insert(key, copy);
    }
    if renamed.is_empty() {
        return;
    }
    for (_, function) in module.relax_functions_mut() {
        each_call_mut(&mut function.lambda.body, &mut |call| {
            if let Some(copy) = fresh_from(call).and_then(|key| renamed.get(&key)) {
                call.args[0] = Operand::Global(copy.clone());
            }
        });
    }
}

/// Returns the kernel of a call that passes fresh memory for outputs, with the index of the first such parameter.
fn fresh_from(call: &Call) -> Option<(Name, usize)> {
    let parts = CallTir::of_kernel(call)?;
    let (name, inputs) = (parts.kernel()?, parts.inputs()?);
    parts.in_place().any(|overwritten| overwritten.is_none()).then(|| (name.clone(), inputs.len()))
}

/// Returns the number of uses of a kernel in the module.
fn uses(module: &Module, name: &Name) -> usize {
    let mut uses = 0;
    for (_, function) in module.relax_functions() {
        function.lambda.body.each_operand(&mut |operand| {
            operand.walk(&mut |o| uses += usize::from(matches!(o, Operand::Global(used) if used == name)));
        });
        each_call(&function.lambda.body, &mut |call| {
            uses += usize::from(matches!(&call.callee, Callee::Global(used) if used == name));
        });
    }
    uses + module.tir_functions().flat_map(|(_, kernel)| callees(kernel)).filter(|used| *used == name).count()
}

fn zero_at_start(kernel: &mut PrimFunc, outputs: &[Buffer]) {
    let mut has_blocks = false;
    kernel.body.walk(&mut |s| has_blocks |= matches!(s.kind, StmtKind::Block(_)));
    let zeros: Vec<Stmt> = outputs.iter().map(|b| zeros(b, has_blocks)).collect();
    // The root block contains all other blocks.
    match &mut kernel.body.kind {
        StmtKind::Block(root) if root.axes.is_empty() && root.init.is_none() && root.predicate.is_none() => {
            prepend(&mut root.body, zeros);
        }
        _ => prepend(&mut kernel.body, zeros),
    }
}

fn prepend(body: &mut Stmt, first: Vec<Stmt>) {
    let rest = std::mem::replace(body, Stmt::nop());
    let span = rest.span;
    *body = Stmt::seq(first.into_iter().chain([rest])).at(span);
}

/// Stores zeros in memory where it is allocated.
fn zero_allocated(stmt: &mut Stmt, memory: &FxHashSet<Var>) {
    stmt.each_child_mut(&mut |s| zero_allocated(s, memory));
    match &mut stmt.kind {
        StmtKind::Seq(stmts) => {
            let read = |s: &Stmt| matches!(&s.kind, StmtKind::Alloc(buffer, _) if memory.contains(&buffer.data));
            for at in (0..stmts.len()).rev().filter(|at| read(&stmts[*at])).collect::<Vec<_>>() {
                if let StmtKind::Alloc(buffer, _) = &stmts[at].kind {
                    let zeros = zeros(buffer, false);
                    stmts.insert(at + 1, zeros);
                }
            }
        }
        StmtKind::Block(block) => {
            let read: Vec<Buffer> = block.alloc_buffers.iter().filter(|b| memory.contains(&b.data)).cloned().collect();
            let zeros = read.iter().map(|buffer| zeros(buffer, true)).collect();
            if block.init.is_none() || read.is_empty() {
                return prepend(&mut block.body, zeros);
            }
            // The init of a reduction comes after the zeros.
            block.alloc_buffers.retain(|buffer| !read.contains(buffer));
            let mut body = std::mem::replace(stmt, Stmt::nop());
            let span = body.span;
            prepend(&mut body, zeros);
            *stmt = Stmt::from(Block { reads: None, writes: None, ..Block::root(read, body) }).at(span);
        }
        _ => {}
    }
}

/// Returns statements that zero a buffer, in a block or in loops alone.
fn zeros(buffer: &Buffer, in_block: bool) -> Stmt {
    let zero = PrimExpr::constant(0.0, buffer.dtype);
    if in_block {
        return fill_block(buffer, Attrs::new(), |_| (zero, Vec::new()));
    }
    let loops: Vec<Var> =
        buffer.shape.iter().enumerate().map(|(at, size)| Var::new(format!("ax{at}"), size.dtype())).collect();
    let store = Stmt::store(buffer, loops.iter().map(Var::expr).collect(), zero);
    let nest = |body, (var, size): (&Var, &PrimExpr)| Stmt::serial(var.clone(), size.clone(), body);
    loops.iter().zip(&buffer.shape).rev().fold(store, nest)
}

//! DataflowUseInplaceCalls: computes results in place, over operands that are dead afterwards.
//!
//! In dataflow blocks, a call of an operator that supports it ([`ResultMemory::OwnOrOperand`]) becomes
//! `R.call_tir_inplace`, whose kernel overwrites an operand. The operand has the type of the result, its memory is
//! allocated in the block, it is not used after the call under any name, and it does not alias another operand.
//! Memory that comes from outside, leaves the block, or may be retained by calls of other functions is excluded.

use crate::{
    Context, Pass,
    rewrite::{self, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Type,
    arith::Analyzer,
    prim::Substitution,
    relax::{
        Block, Body, Call, Callee, Function, OpTable, Operand, Value, Var,
        memory::{ANY, EXTERNAL, MemoryDependences, Region, Writers},
    },
    tir::{Buffer, PrimFunc, fresh::copy_body},
};
use hammock_ops::{
    CallContext, Lowering, ResultMemory, Table,
    legalize::{Legalized, has_normal_operands},
    lookup,
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DataflowUseInplaceCalls",
    doc: "Computes results in place, over operands that are dead afterwards",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made = SharedFunctions::default();
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::with_regions(function, &writers, &Table);
        let mut body = rewrite::take_body(function);
        rewrite_body(module, function, &memory, &mut body, &mut made);
        function.lambda.body = body;
        Ok(())
    })
}

fn rewrite_body(
    module: &mut Module,
    function: &Function,
    memory: &MemoryDependences,
    body: &mut Body,
    made: &mut SharedFunctions,
) {
    for block in &mut body.blocks {
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut |nested| rewrite_body(module, function, memory, nested, made));
        }
        if block.dataflow {
            rewrite_block(module, function, memory, block, made);
        }
    }
}

fn rewrite_block(
    module: &mut Module,
    function: &Function,
    memory: &MemoryDependences,
    block: &mut Block,
    made: &mut SharedFunctions,
) {
    let needed = Lifetimes::of(function, memory, block);
    for (at, binding) in block.bindings.iter_mut().enumerate() {
        let Value::Call(call) = &binding.value else { continue };
        let result = function.ty(binding.var);
        // Like TVM, prefer the last of several.
        let candidates = call.args.iter().rev().filter_map(Operand::as_var);
        let mut free = candidates.filter(|operand| {
            same_type(function.ty(*operand), result) && needed.is_free_after(*operand, at, &call.args)
        });
        if let Callee::Op(name) = call.callee
            && Table.result_memory(name) == ResultMemory::OwnOrOperand
            && let Some(operand) = free.next()
            && let Some(inplace) = inplace_call(module, function, call, operand, made)
        {
            binding.value = Value::Call(inplace);
        }
    }
}

/// Returns true if both are tensors of the same dtype and provably the same shape.
fn same_type(a: &Type, b: &Type) -> bool {
    let (Type::Tensor(a), Type::Tensor(b)) = (a, b) else { return false };
    let (Some(dims), Some(others)) = (a.dims(), b.dims()) else { return false };
    let analyzer = Analyzer::for_shapes();
    let same = dims.len() == others.len() && dims.iter().zip(others).all(|(x, y)| analyzer.prove_eq(x, y));
    same && a.dtype.is_some() && a.dtype == b.dtype
}

/// Returns the call of a kernel that overwrites the operand; `None` if the operator cannot be lowered yet.
fn inplace_call(
    module: &mut Module,
    function: &Function,
    call: &Call,
    operand: Var,
    made: &mut SharedFunctions,
) -> Option<Call> {
    let Callee::Op(name) = call.callee else { return None };
    let op = lookup(name)?;
    let Lowering::Tir(build) = &op.lowering else { return None };
    let context = CallContext { module, function, op, call };
    if !has_normal_operands(&context) {
        return None;
    }
    let Legalized { name, func, args, out_ty } = build(&context).ok()?;
    let index = args.iter().rposition(|arg| arg.as_var() == Some(operand))?;
    let func = overwriting(func, index)?;
    let name = made.share(module, &format!("{name}_inplace"), Global::Tir(func));
    Some(Call::tir_inplace(name, args, out_ty, &[Some(index)]))
}

/// Returns the kernel with its result, the last parameter, aliased to another parameter.
fn overwriting(mut func: PrimFunc, index: usize) -> Option<PrimFunc> {
    let result = func.params.pop()?.buffer?;
    let target = func.params.get(index)?.buffer.clone()?;
    let (mut values, mut buffers) = (Substitution::default(), FxHashMap::<Buffer, Buffer>::default());
    for param in &func.params {
        values.insert(param.var.clone(), param.var.expr());
        if let Some(buffer) = &param.buffer {
            buffer.each_expr(&mut |e| e.each_var(&mut |var| drop(values.insert(var.clone(), var.expr()))));
            values.insert(buffer.data.clone(), buffer.data.expr());
            buffers.insert(buffer.clone(), buffer.clone());
        }
    }
    values.insert(result.data.clone(), target.data.expr());
    buffers.insert(result, target);
    func.body = copy_body(&func.body, values, buffers);
    Some(func)
}

/// Lifetime of each memory region in a block.
struct Lifetimes<'a> {
    memory: &'a MemoryDependences,
    /// Last binding that uses each region under any name; the end if it leaves the block.
    until: FxHashMap<Region, usize>,
}

impl<'a> Lifetimes<'a> {
    fn of(function: &Function, memory: &'a MemoryDependences, block: &Block) -> Self {
        let mut needed = Lifetimes { memory, until: FxHashMap::default() };
        for (at, binding) in block.bindings.iter().enumerate() {
            let until = |var: Var| if function.vars[var].dataflow { at } else { usize::MAX };
            needed.need(binding.var, until(binding.var));
            let mut used = |var: Var| needed.need(var, until(var));
            // A member taken out of a tuple is live as long as its new name.
            if !matches!(binding.value, Value::TupleGet(..)) {
                binding.value.each_use(&mut used);
            }
        }
        needed
    }

    fn need(&mut self, var: Var, at: usize) {
        for region in self.memory.regions(var) {
            let until = self.until.entry(region).or_default();
            *until = (*until).max(at);
        }
    }

    /// Returns true if a call may overwrite an operand: it is dead afterwards, and no other operand aliases it.
    fn is_free_after(&self, operand: Var, at: usize, args: &[Operand]) -> bool {
        let regions = self.memory.regions(operand);
        let is_free = |region: &Region| self.until.get(region).is_none_or(|until| *until <= at);
        let others = args.iter().filter(|arg| arg.as_var() != Some(operand));
        let mut shared = false;
        others.for_each(|arg| {
            arg.each_var(&mut |var| shared |= self.memory.overlap(&self.memory.regions(var), &regions))
        });
        let is_own = !regions.is_empty() && regions.iter().all(|region| *region > EXTERNAL);
        is_own && !shared && is_free(&ANY) && regions.iter().all(is_free)
    }
}

//! DataflowUseInplaceCalls: a result takes the place of an operand that nobody needs any more.
//!
//! In dataflow blocks, a call of an operator that says that it could ([`ResultMemory::OwnOrOperand`]) becomes
//! `R.call_tir_inplace`, whose kernel writes over an operand. The operand has the type of the result and its memory is made in the block, is not used after the call under any name, and
//! is not that of another operand. Nothing is known of memory that comes from outside, or leaves the block, or that calls
//! of other functions may keep.

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
    legalize::{Legalized, is_written_out},
    lookup,
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DataflowUseInplaceCalls",
    doc: "Lets results overwrite operands that are not needed any more",
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
    let needed = Needed::of(function, memory, block);
    for (at, binding) in block.bindings.iter_mut().enumerate() {
        let Value::Call(call) = &binding.value else { continue };
        let result = function.ty(binding.var);
        // TVM takes the last of several, too.
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

/// Returns true if both are tensors of one dtype and certainly of one shape.
fn same_type(a: &Type, b: &Type) -> bool {
    let (Type::Tensor(a), Type::Tensor(b)) = (a, b) else { return false };
    let (Some(dims), Some(others)) = (a.dims(), b.dims()) else { return false };
    let analyzer = Analyzer::for_shapes();
    let same = dims.len() == others.len() && dims.iter().zip(others).all(|(x, y)| analyzer.prove_eq(x, y));
    same && a.dtype.is_some() && a.dtype == b.dtype
}

/// The call of a kernel that writes over the operand; none if the operator cannot be lowered yet.
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
    if !is_written_out(&context) {
        return None;
    }
    let Legalized { name, func, args, out_ty } = build(&context).ok()?;
    let index = args.iter().rposition(|arg| arg.as_var() == Some(operand))?;
    let func = writing_over(func, index)?;
    let name = made.share(module, &format!("{name}_inplace"), Global::Tir(func));
    Some(Call::tir_inplace(name, args, out_ty, &[Some(index)]))
}

/// The kernel with its result, the last parameter, in the memory of another.
fn writing_over(mut func: PrimFunc, index: usize) -> Option<PrimFunc> {
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

/// Until when a block needs each region of memory.
struct Needed<'a> {
    memory: &'a MemoryDependences,
    /// For each region, the last binding that uses it under any name; the end if it leaves the block.
    until: FxHashMap<Region, usize>,
}

impl<'a> Needed<'a> {
    fn of(function: &Function, memory: &'a MemoryDependences, block: &Block) -> Self {
        let mut needed = Needed { memory, until: FxHashMap::default() };
        for (at, binding) in block.bindings.iter().enumerate() {
            let until = |var: Var| if function.vars[var].dataflow { at } else { usize::MAX };
            needed.need(binding.var, until(binding.var));
            let mut used = |var: Var| needed.need(var, until(var));
            if let Value::Call(Call { callee: Callee::Var(callee), .. }) = &binding.value {
                used(*callee);
            }
            // A member that is taken out of a tuple is needed as long as its new name is.
            if !matches!(binding.value, Value::TupleGet(..)) {
                binding.value.each_operand(&mut |o| o.each_var(&mut used));
            }
            binding.value.each_body(&mut |body| body.each_use(&mut used));
        }
        needed
    }

    fn need(&mut self, var: Var, at: usize) {
        for region in self.memory.regions(var) {
            let until = self.until.entry(region).or_default();
            *until = (*until).max(at);
        }
    }

    /// Returns true if an operand of a call can be overwritten: nobody needs it later, and no other operand is in its
    /// memory.
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

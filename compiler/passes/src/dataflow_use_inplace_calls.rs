//! DataflowUseInplaceCalls: a result takes the place of an operand that nobody needs any more.
//!
//! In dataflow blocks, a call of an operator that says that it could ([`ResultMemory::OwnOrOperand`]) becomes
//! `R.call_tir_inplace`, whose kernel writes over an operand. The operand has the type of the result and its memory is made in the block, is not used after the call under any name, and
//! is not that of another operand. Nothing is known of memory that comes from outside, or leaves the block, or that calls
//! of other functions may keep.

use crate::{Context, Pass, rewrite, shared_functions::SharedFunctions};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Type,
    arith::Analyzer,
    prim::Substitution,
    relax::{Binding, Block, Body, Call, Callee, Function, Operand, Value, Var},
    tir::{Buffer, PrimFunc, fresh::copy_body},
};
use hammock_ops::{
    CallContext, Lowering, ResultMemory,
    legalize::{Legalized, is_written_out},
    lookup,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DataflowUseInplaceCalls",
    doc: "Lets results overwrite operands that are not needed any more",
    options: &[],
    run,
};

/// Of more pieces of memory behind one variable, nothing is known.
const MOST_HELD: usize = 64;

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        let mut body = rewrite::take_body(function);
        rewrite_body(module, function, &mut body, &mut made);
        function.lambda.body = body;
        Ok(())
    })
}

fn rewrite_body(module: &mut Module, function: &Function, body: &mut Body, made: &mut SharedFunctions) {
    for block in &mut body.blocks {
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut |nested| rewrite_body(module, function, nested, made));
        }
        if block.dataflow {
            rewrite_block(module, function, block, made);
        }
    }
}

fn rewrite_block(module: &mut Module, function: &Function, block: &mut Block, made: &mut SharedFunctions) {
    let memory = Memory::of(function, block);
    for (at, binding) in block.bindings.iter_mut().enumerate() {
        let Value::Call(call) = &binding.value else { continue };
        let result = function.ty(binding.var);
        // TVM takes the last of several, too.
        let candidates = call.args.iter().rev().filter_map(Operand::as_var);
        let mut free = candidates.filter(|operand| {
            same_type(function.ty(*operand), result) && memory.is_free_after(*operand, at, &call.args)
        });
        if let Callee::Op(name) = call.callee
            && memory_of(name) == ResultMemory::OwnOrOperand
            && let Some(operand) = free.next()
            && let Some(inplace) = inplace_call(module, function, call, operand, made)
        {
            binding.value = Value::Call(inplace);
        }
    }
}

/// Where the results of an operator are.
fn memory_of(operator: &str) -> ResultMemory {
    lookup(operator).map_or(ResultMemory::Unknown, |op| op.memory)
}

/// Whether both are tensors of one dtype and certainly of one shape.
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

/// The memory that may be behind a variable.
#[derive(Clone)]
enum Held {
    Unknown,
    AnyOf(Rc<[usize]>),
    Tuple(Rc<[Held]>),
}

/// What is known of the memory that a block works with.
struct Memory {
    held: FxHashMap<Var, Held>,
    /// For each piece of memory, the last binding that uses it under any name; the end if it leaves the block.
    needed: Vec<usize>,
}

impl Memory {
    fn of(function: &Function, block: &Block) -> Memory {
        let mut memory = Memory { held: FxHashMap::default(), needed: Vec::new() };
        for binding in &block.bindings {
            let held = memory.value(function, binding);
            memory.held.insert(binding.var, held);
        }
        for (at, binding) in block.bindings.iter().enumerate() {
            let after = if function.vars[binding.var].dataflow { at } else { usize::MAX };
            memory.need(binding.var, after);
            let mut used = |var: Var| memory.need(var, if function.vars[var].dataflow { at } else { usize::MAX });
            if let Value::Call(Call { callee: Callee::Var(callee), .. }) = &binding.value {
                used(*callee);
            }
            // A member that is taken out of a tuple is needed as long as its new name is.
            if !matches!(binding.value, Value::TupleGet(..)) {
                binding.value.each_operand(&mut |o| o.each_var(&mut used));
            }
            binding.value.each_body(&mut |body| body.each_use(&mut used));
        }
        memory
    }

    /// Whether an operand of a call can be overwritten: nobody needs it later, and no other operand is in its memory.
    fn is_free_after(&self, operand: Var, at: usize, args: &[Operand]) -> bool {
        let Some(Held::AnyOf(ids)) = self.held.get(&operand) else { return false };
        let mut shared = false;
        for other in args.iter().filter(|arg| arg.as_var() != Some(operand)) {
            each(&self.operand(other), &mut |id| shared |= id.is_some_and(|id| ids.contains(&id)));
        }
        !shared && ids.iter().all(|id| self.needed[*id] <= at)
    }

    fn need(&mut self, var: Var, at: usize) {
        let held = self.held.get(&var).cloned().unwrap_or(Held::Unknown);
        each(&held, &mut |id| {
            if let Some(id) = id {
                self.needed[id] = self.needed[id].max(at);
            }
        });
    }

    fn fresh(&mut self) -> Held {
        self.needed.push(0);
        Held::AnyOf(Rc::new([self.needed.len() - 1]))
    }

    /// New memory for a value of a type.
    fn fresh_of(&mut self, ty: &Type) -> Held {
        match ty {
            Type::Tuple(fields) => Held::Tuple(fields.iter().map(|field| self.fresh_of(field)).collect()),
            _ => self.fresh(),
        }
    }

    fn value(&mut self, function: &Function, binding: &Binding) -> Held {
        match &binding.value {
            Value::Operand(Operand::Const(_)) => Held::Unknown,
            Value::Operand(operand) | Value::MatchCast(operand, _) => self.operand(operand),
            Value::TupleGet(tuple, index) => match self.operand(tuple) {
                Held::Tuple(fields) => fields.get(*index).cloned().unwrap_or(Held::Unknown),
                held => held,
            },
            Value::Call(call) => match call.callee {
                Callee::Op(name) if memory_of(name) == ResultMemory::View => {
                    call.args.first().map_or(Held::Unknown, |arg| self.operand(arg))
                }
                Callee::Op(name) if memory_of(name).is_own() => self.fresh_of(function.ty(binding.var)),
                // The result may be any of the operands, or hold them.
                _ => self.any_of(call),
            },
            Value::If { .. } | Value::Function(_) => Held::Unknown,
        }
    }

    fn any_of(&mut self, call: &Call) -> Held {
        let (mut ids, mut is_known) = (Vec::new(), true);
        for arg in &call.args {
            each(&self.operand(arg), &mut |id| match id {
                Some(id) => ids.push(id),
                None => is_known = false,
            });
        }
        ids.sort_unstable();
        ids.dedup();
        match ids.len() {
            // What is unknown stays unknown, but what is known is still behind it.
            _ if !is_known || ids.len() > MOST_HELD => {
                ids.iter().for_each(|id| self.needed[*id] = usize::MAX);
                Held::Unknown
            }
            0 => self.fresh(),
            _ => Held::AnyOf(ids.into()),
        }
    }

    fn operand(&self, operand: &Operand) -> Held {
        match operand {
            Operand::Var(var) => self.held.get(var).cloned().unwrap_or(Held::Unknown),
            Operand::Tuple(fields) => Held::Tuple(fields.iter().map(|field| self.operand(field)).collect()),
            Operand::Const(_) => Held::Unknown,
            // No memory at all.
            _ => Held::Tuple(Rc::new([])),
        }
    }
}

/// Calls `f` on every piece of memory; on nothing for memory that nothing is known of.
fn each(held: &Held, f: &mut dyn FnMut(Option<usize>)) {
    match held {
        Held::Unknown => f(None),
        Held::AnyOf(ids) => ids.iter().for_each(|id| f(Some(*id))),
        Held::Tuple(fields) => fields.iter().for_each(|field| each(field, f)),
    }
}

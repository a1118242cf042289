//! Pattern rewriting: a rule inspects a value and its operands, and returns an equivalent value.
//!
//! ```ignore
//! /// `x @ y + x @ z` becomes `x @ (y + z)`.
//! fn factor(e: &mut Editor, value: &Value) -> Option<Value> {
//!     let [a, b] = value.as_op("add")?.operands()?;
//!     let [x, y] = e.op(a, "matmul")?.operands()?.clone();
//!     let [_, z] = e.op(b, "matmul")?.operands()?.clone();
//!     let sum = e.emit("add", [y, z], [])?;
//!     e.make("matmul", [x, sum], [])
//! }
//! ```
//!
//! [`apply`] visits each function from its first binding to its last. The rule is applied again to values that it
//! emits or returns, so each application must bring the function closer to a form in which it no longer applies.
//! After a change the function is tidied: aliases, common subexpressions and unused bindings are removed.

use crate::rewrite::{self, canonicalize, common_subexpr, dead_code};
use cranelift_entity::SecondaryMap;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, Name, Span, TensorType, Type,
    relax::{
        Binding, Block, Body, Definitions, Function, Graph, OpTable, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::{Table, lookup};

/// A rewriting rule: returns the new value, or `None` if it does not apply.
pub type Rule<'r> = dyn FnMut(&mut Editor, &Value) -> Option<Value> + 'r;

/// Applies a rule to every value of every function of a module, including nested functions and branches, to a fixed
/// point. `rule` returns the rule for a function; functions without one stay as they are.
pub fn apply<R>(module: &mut Module, rule: impl FnMut(&Name, &Function) -> Option<R>) -> Result<(), Diagnostic>
where
    R: FnMut(&mut Editor, &Value) -> Option<Value>,
{
    apply_then(module, rule, tidy)
}

/// Like [`apply`], without tidying.
pub fn apply_only<R>(module: &mut Module, rule: impl FnMut(&Name, &Function) -> Option<R>) -> Result<(), Diagnostic>
where
    R: FnMut(&mut Editor, &Value) -> Option<Value>,
{
    apply_then(module, rule, |_, _, _| Ok(()))
}

fn apply_then<R>(
    module: &mut Module,
    mut rule: impl FnMut(&Name, &Function) -> Option<R>,
    after: impl Fn(&Module, &mut Function, &Writers) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic>
where
    R: FnMut(&mut Editor, &Value) -> Option<Value>,
{
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, name, function| {
        let Some(mut rule) = rule(name, function) else { return Ok(()) };
        let memory = MemoryDependences::of(function, &writers, &Table);
        if apply_to(module, function, memory, &mut rule) {
            after(module, function, &writers)?;
        }
        Ok(())
    })
}

fn apply_to(module: &Module, function: &mut Function, memory: MemoryDependences, rule: &mut Rule) -> bool {
    let graph = Graph::of(function);
    let uses = function.vars.keys().map(|var| graph.use_count(var)).collect();
    let body = rewrite::take_body(function);
    let (positions, at) = (SecondaryMap::new(), (Span::NONE, false));
    let (bodies, emitted) = (Vec::new(), Vec::new());
    let mut editor =
        Editor { module, function, uses, memory, bodies, positions, emitted, at, target: None, changed: false };
    let body = editor.body(body, rule);
    let changed = editor.changed;
    function.lambda.body = body;
    changed
}

/// Removes what a rewriting leaves behind: aliases, common subexpressions, and unused bindings.
pub fn tidy(module: &Module, function: &mut Function, writers: &Writers) -> Result<(), Diagnostic> {
    canonicalize::canonicalize(function)?;
    common_subexpr::eliminate(module, function, writers, false);
    canonicalize::canonicalize(function)?;
    dead_code::remove_unused(module, function, writers);
    Ok(())
}

/// Returns true if a function is a fused group of kernels, which graph passes do not change.
pub fn is_primitive(function: &Function) -> bool {
    function.lambda.attrs.get("Primitive").and_then(AttrValue::as_int).is_some_and(|value| value != 0)
}

/// A function that is being rewritten, at one of its bindings.
///
/// Its [`Definitions`] are the bindings before this one in the enclosing bodies, except those whose operands may be
/// overwritten in between, or use variables that are not visible here.
pub struct Editor<'a> {
    /// The module, in which this function has only its signature.
    pub module: &'a Module,
    /// The function, without its body.
    pub function: &'a mut Function,
    /// Number of uses of each variable when the rewriting began.
    uses: Vec<usize>,
    memory: MemoryDependences,
    /// Rewritten blocks of the enclosing bodies, outer ones first.
    bodies: Vec<Vec<Block>>,
    positions: SecondaryMap<Var, Option<BindingPosition>>,
    emitted: Vec<Binding>,
    /// Span of the binding, and whether it is in a dataflow block.
    at: (Span, bool),
    /// Variable of the binding.
    target: Option<Var>,
    changed: bool,
}

#[derive(Clone, Copy)]
struct BindingPosition {
    depth: usize,
    block: usize,
    index: usize,
}

impl Definitions for Editor<'_> {
    fn value(&self, var: Var) -> Option<&Value> {
        let position = self.positions[var]?;
        let blocks = self.bodies.last()?;
        if position.depth + 1 != self.bodies.len() {
            return None;
        }
        let block = &blocks[position.block];
        if block.dataflow && position.block + 1 != blocks.len() {
            return None;
        }
        let value = &block.bindings[position.index].value;
        let changes = self.target.is_some_and(|target| self.memory.changes_between(value, var, target));
        (!changes).then_some(value)
    }
}

impl Editor<'_> {
    /// Returns the type of an operand.
    pub fn ty(&self, operand: &Operand) -> Type {
        self.function.operand_ty(self.module, operand)
    }

    /// Returns the type of an operand that is a tensor.
    pub fn tensor(&self, operand: &Operand) -> Option<TensorType> {
        self.ty(operand).as_tensor().cloned()
    }

    /// Returns the type of a value other than functions and branches; `None` if it has none.
    pub fn value_ty(&self, value: &Value) -> Option<Type> {
        match value {
            Value::Call(call) => Table.infer(self.module, self.function, call).ok(),
            Value::Operand(operand) => Some(self.ty(operand)),
            Value::TupleGet(tuple, index) => self.ty(tuple).as_tuple()?.get(*index).cloned(),
            Value::MatchCast(_, ty) => Some(ty.clone()),
            Value::If { .. } | Value::Function(_) => None,
        }
    }

    /// Returns true if the operand is a variable that is used more than once.
    pub fn is_shared(&self, operand: &Operand) -> bool {
        operand.as_var().is_some_and(|var| self.uses.get(var.as_u32() as usize).is_some_and(|uses| *uses > 1))
    }

    /// Returns true if the current binding's variable is visible only in its dataflow block.
    pub fn binds_local(&self) -> bool {
        self.at.1 && self.target.is_some_and(|var| self.function.vars[var].dataflow)
    }

    /// Returns true if the current value may share memory with an operand: neither is overwritten from here on.
    pub fn may_share(&self, operand: &Operand) -> bool {
        let is_written = |var: Var| self.memory.is_written(var) || self.memory.is_written_after(operand, var);
        self.target.is_none_or(|var| !is_written(var))
    }

    /// Returns a call of an operator with these attributes, the others at their defaults.
    pub fn make<const N: usize, const M: usize>(
        &self,
        op: &str,
        args: [Operand; N],
        attrs: [(&'static str, AttrValue); M],
    ) -> Option<Value> {
        Some(Value::Call(lookup(op)?.call(args.into(), attrs)))
    }

    /// Binds such a call before the current binding; `None` if it has no type.
    pub fn emit<const N: usize, const M: usize>(
        &mut self,
        op: &str,
        args: [Operand; N],
        attrs: [(&'static str, AttrValue); M],
    ) -> Option<Operand> {
        let value = self.make(op, args, attrs)?;
        self.bind(value)
    }

    /// Binds a value before the current binding; `None` if it is a call without a type.
    pub fn bind(&mut self, value: Value) -> Option<Operand> {
        let ty = self.value_ty(&value)?;
        let (span, dataflow) = self.at;
        let var = self.function.new_var("lv", ty, dataflow, span);
        if let Some(target) = self.target {
            self.memory.adopt(self.function, &Table, var, &value, target);
        }
        self.emitted.push(Binding { var, value, span });
        Some(var.into())
    }

    fn body(&mut self, body: Body, rule: &mut Rule) -> Body {
        self.bodies.push(Vec::with_capacity(body.blocks.len()));
        for block in body.blocks {
            self.block(block, rule);
        }
        Body { blocks: self.bodies.pop().unwrap_or_default(), result: body.result }
    }

    fn block(&mut self, block: Block, rule: &mut Rule) {
        let bindings = Vec::with_capacity(block.bindings.len());
        self.blocks().push(Block { dataflow: block.dataflow, bindings });
        let mut pending = block.bindings;
        pending.reverse();
        while let Some(mut binding) = pending.pop() {
            binding.value.each_body_mut(&mut |nested| {
                let whole = std::mem::replace(nested, Body::of(Operand::Tuple(Vec::new())));
                *nested = self.body(whole, rule);
            });
            self.at = (binding.span, block.dataflow);
            self.target = Some(binding.var);
            match rule(self, &binding.value) {
                Some(value) => {
                    self.changed = true;
                    if let Some(ty) =
                        self.value_ty(&value).filter(|ty| is_refinement(ty, self.function.ty(binding.var)))
                    {
                        self.function.vars[binding.var].ty = ty;
                    }
                    self.memory.adopt(self.function, &Table, binding.var, &value, binding.var);
                    pending.push(Binding { value, ..binding });
                    pending.extend(self.emitted.drain(..).rev());
                }
                None => {
                    self.emitted.clear();
                    self.position(binding);
                }
            }
        }
    }

    fn position(&mut self, binding: Binding) {
        let depth = self.bodies.len() - 1;
        let (var, blocks) = (binding.var, self.blocks());
        let Some(block) = blocks.len().checked_sub(1) else { return };
        let index = blocks[block].bindings.len();
        blocks[block].bindings.push(binding);
        self.positions[var] = Some(BindingPosition { depth, block, index });
    }

    fn blocks(&mut self) -> &mut Vec<Block> {
        let depth = self.bodies.len() - 1;
        &mut self.bodies[depth]
    }
}

/// Returns true if a new type has shapes or dtypes that the old type leaves open.
fn is_refinement(new: &Type, old: &Type) -> bool {
    match (new, old) {
        (Type::Tensor(new), Type::Tensor(old)) => new.dims().is_some() && old.dims().is_none(),
        (Type::Shape(new), Type::Shape(old)) => new.dims().is_some() && old.dims().is_none(),
        (Type::Tuple(new), Type::Tuple(old)) => new.iter().zip(old).any(|(new, old)| is_refinement(new, old)),
        (new, Type::Any) => !matches!(new, Type::Any),
        _ => false,
    }
}

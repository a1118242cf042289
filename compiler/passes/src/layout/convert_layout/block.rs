//! Layout assignment in one dataflow block, and the conversions between layouts.

use super::desired::Desired;
use crate::{
    analysis::types::{is_incomplete, refine_type},
    rewrite::{
        Emitter, call_ty,
        leaves::{Converted, Site, captured_vars},
        rule_broken,
    },
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, Span, TensorShape, TensorType, Type,
    relax::{Binding, Call, Callee, Function, OpTable, Operand, Replacements, Value, Var, memory::MemoryDependences},
};
use hammock_ops::{
    CallContext, Table,
    layout::Layout,
    lookup,
    relayout::{Arrangement, LayoutChange, Relayout},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rewrites the bindings of one block. A variable whose value has another layout is replaced by a new one, so that
/// rules find the program's types at the old one.
pub struct LayoutRewriter<'a> {
    module: &'a Module,
    function: &'a mut Function,
    desired: &'a Desired,
    memory: &'a MemoryDependences,
    unchanged: FxHashSet<Var>,
    replaced: FxHashMap<Var, (Var, Arrangement)>,
    out: Emitter,
    span: Span,
}

impl<'a> LayoutRewriter<'a> {
    /// Returns a rewriter for a block of a function.
    pub fn new(
        module: &'a Module,
        function: &'a mut Function,
        desired: &'a Desired,
        memory: &'a MemoryDependences,
    ) -> Self {
        LayoutRewriter {
            module,
            function,
            desired,
            memory,
            unchanged: FxHashSet::default(),
            replaced: FxHashMap::default(),
            out: Emitter::new(true),
            span: Span::NONE,
        }
    }

    /// Sets the variables whose calls stay in the program's layouts.
    pub fn with_unchanged(self, unchanged: FxHashSet<Var>) -> Self {
        LayoutRewriter { unchanged, ..self }
    }

    /// Returns the new bindings of the block.
    ///
    /// # Errors
    /// If a converted call breaks its operator's type rule.
    pub fn block(mut self, bindings: Vec<Binding>) -> Result<Vec<Binding>, Diagnostic> {
        self.out.bindings.reserve(bindings.len());
        for binding in bindings {
            self.span = binding.span;
            self.binding(binding)?;
        }
        Ok(self.out.bindings)
    }

    fn binding(&mut self, Binding { var, mut value, .. }: Binding) -> Result<(), Diagnostic> {
        self.release_captured(&mut value)?;
        let local = self.may_convert(var);
        match value {
            Value::Call(call) if self.unchanged.contains(&var) => self.keep_call(var, call),
            Value::Call(call) => match self.apply_layout_rule(&call, var)? {
                Some(relaid) => self.convert_call(var, call, relaid),
                None => self.keep_call(var, call),
            },
            Value::Operand(operand @ Operand::Tuple(_)) if local => {
                let arrangement = self.arrangement(&operand);
                let operand = self.renamed(&operand);
                let ty = self.function.operand_ty(self.module, &operand);
                self.bind(var, arrangement, ty, Value::Operand(operand));
                Ok(())
            }
            Value::Operand(operand) => {
                let from = self.arrangement(&operand);
                let value = self.convert_unbound(self.renamed(&operand), &from, &Arrangement::AsWritten)?;
                self.keep(var, value.into());
                Ok(())
            }
            Value::TupleGet(tuple, index) if local => {
                let arrangement = self.arrangement(&tuple).member(index);
                let tuple = self.renamed(&tuple);
                let member = self.function.operand_ty(self.module, &tuple);
                let member = member.as_tuple().and_then(|members| members.get(index)).cloned().unwrap_or(Type::Any);
                self.bind(var, arrangement, member, Value::TupleGet(tuple, index));
                Ok(())
            }
            Value::TupleGet(tuple, index) => {
                let tuple = self.operand(&tuple, &Arrangement::AsWritten)?;
                self.keep(var, Value::TupleGet(tuple, index));
                Ok(())
            }
            Value::MatchCast(operand, ty) => self.match_cast(var, operand, ty, local),
            value @ (Value::If { .. } | Value::Function(_)) => {
                self.keep(var, value);
                Ok(())
            }
        }
    }

    /// Applies the operator's layout rule; `None` if it has none, or the call must stay as it is.
    fn apply_layout_rule(&self, call: &Call, var: Var) -> Result<Option<LayoutChange>, Diagnostic> {
        let Callee::Op(name) = &call.callee else { return Ok(None) };
        let Some((op, rule)) = lookup(name).and_then(|op| Some((op, op.layouts.as_ref()?))) else { return Ok(None) };
        let known = |o: &Operand| has_known_ranks(&self.function.operand_ty(self.module, o));
        if !call.args.iter().all(known) || !has_known_ranks(self.function.ty(var)) {
            return Ok(None);
        }
        let cx = CallContext { module: self.module, function: self.function, op, call };
        let current = |operand: &Operand| self.arrangement(operand);
        let desired = self.desired.get(op.name).map(Vec::as_slice);
        rule(&Relayout { cx, current: &current, desired }).map_err(|error| rule_broken(error, self.span))
    }

    fn convert_call(&mut self, var: Var, mut call: Call, relaid: LayoutChange) -> Result<(), Diagnostic> {
        for (i, arg) in call.args.iter_mut().enumerate() {
            let to = relaid.operands.get(i).unwrap_or(&Arrangement::AsWritten);
            *arg = self.operand(arg, to)?;
        }
        relaid.attrs.into_iter().for_each(|(name, value)| call.attrs.set(name, value));
        relaid.replaced.into_iter().for_each(|(i, arg)| call.args[i] = arg);
        if relaid.result == Arrangement::AsWritten {
            self.keep(var, Value::Call(call));
            return Ok(());
        }
        let ty = call_ty(self.module, self.function, &call, self.span)?;
        if self.may_convert(var) {
            self.bind(var, relaid.result, ty, Value::Call(call));
            return Ok(());
        }
        let local = self.out.bind(self.function, "lv", ty, Value::Call(call), self.span);
        let value = self.convert_unbound(local.into(), &relaid.result, &Arrangement::AsWritten)?;
        self.keep(var, value.into());
        Ok(())
    }

    /// Returns true if a variable may be replaced by one in another layout: it is invisible elsewhere, and nothing
    /// overwrites it.
    fn may_convert(&self, var: Var) -> bool {
        self.function.vars[var].dataflow && !self.memory.is_overwritten(var)
    }

    /// Binds a call with operands in the program's layouts.
    fn keep_call(&mut self, var: Var, mut call: Call) -> Result<(), Diagnostic> {
        for arg in &mut call.args {
            *arg = self.operand(arg, &Arrangement::AsWritten)?;
        }
        self.keep(var, Value::Call(call));
        Ok(())
    }

    /// Converts the checked type along with the value, unless that needs blocks.
    fn match_cast(&mut self, var: Var, operand: Operand, ty: Type, local: bool) -> Result<(), Diagnostic> {
        let arrangement = self.arrangement(&operand);
        match converted_ty(&ty, &arrangement).filter(|_| local) {
            Some(replaced) => {
                let value = Value::MatchCast(self.renamed(&operand), replaced.clone());
                self.bind(var, arrangement, replaced, value);
            }
            None => {
                let operand = self.operand(&operand, &Arrangement::AsWritten)?;
                self.keep(var, Value::MatchCast(operand, ty));
            }
        }
        Ok(())
    }

    /// Converts variables captured by nested bodies back to the program's layouts.
    fn release_captured(&mut self, value: &mut Value) -> Result<(), Diagnostic> {
        let captured = captured_vars(value, |v| self.replaced.contains_key(&v));
        if captured.is_empty() {
            return Ok(());
        }
        let mut values = Replacements::default();
        for var in captured {
            values.insert(var, self.operand(&var.into(), &Arrangement::AsWritten)?);
        }
        value.each_body_mut(&mut |body| body.replace(&values));
        Ok(())
    }

    /// Binds a value in the program's layout; its type is completed by the call's.
    fn keep(&mut self, var: Var, value: Value) {
        let declared = self.function.ty(var);
        if let Value::Call(call) = &value
            && is_incomplete(declared)
            && let Ok(inferred) = Table.infer(self.module, self.function, call)
        {
            self.function.vars[var].ty = refine_type(declared, &inferred);
        }
        self.out.push(Binding { var, value, span: self.span });
    }

    /// Binds the variable, or its replacement in another layout.
    fn bind(&mut self, var: Var, arrangement: Arrangement, ty: Type, value: Value) {
        if arrangement == Arrangement::AsWritten {
            return self.keep(var, value);
        }
        let name = self.function.vars[var].name.clone();
        let new = self.out.bind(self.function, &name, ty, value, self.span);
        self.replaced.insert(var, (new, arrangement));
    }

    /// Returns the current layout of an operand of the program.
    fn arrangement(&self, operand: &Operand) -> Arrangement {
        match operand {
            Operand::Var(v) => self.replaced.get(v).map(|(_, a)| a.clone()).unwrap_or_default(),
            Operand::Tuple(members) => Arrangement::tuple(members.iter().map(|m| self.arrangement(m)).collect()),
            _ => Arrangement::AsWritten,
        }
    }

    /// Returns an operand of the program in its current layout.
    fn renamed(&self, operand: &Operand) -> Operand {
        let mut operand = operand.clone();
        operand.map(&mut |o| {
            if let Operand::Var(v) = o
                && let Some((new, _)) = self.replaced.get(v)
            {
                *v = *new;
            }
        });
        operand
    }

    /// Returns an operand of the program in another layout.
    fn operand(&mut self, operand: &Operand, to: &Arrangement) -> Result<Operand, Diagnostic> {
        let from = self.arrangement(operand);
        self.convert(self.renamed(operand), &from, to)
    }

    fn convert(&mut self, operand: Operand, from: &Arrangement, to: &Arrangement) -> Result<Operand, Diagnostic> {
        self.site().convert(operand, &|position, operand, _| conversion(operand, from.at(position), to.at(position)))
    }

    /// Converts an operand to another layout.
    fn convert_unbound(
        &mut self,
        operand: Operand,
        from: &Arrangement,
        to: &Arrangement,
    ) -> Result<Converted, Diagnostic> {
        self.site()
            .convert_unbound(operand, &|position, operand, _| conversion(operand, from.at(position), to.at(position)))
    }

    fn site(&mut self) -> Site<'_> {
        Site { module: self.module, function: self.function, out: &mut self.out, span: self.span }
    }
}

/// Returns the call that converts a tensor between layouts; `None` if they are the same. The program's layout is
/// `None`.
fn conversion(operand: &Operand, from: Option<&Layout>, to: Option<&Layout>) -> Option<Call> {
    let written = |other: &Layout| Layout::as_written(other.primal_ndim());
    let (from, to) = match (from, to) {
        (None, None) => return None,
        (Some(from), Some(to)) if from == to => return None,
        (Some(from), Some(to)) => (from.clone(), to.clone()),
        (Some(from), None) => (from.clone(), written(from)?),
        (None, Some(to)) => (written(to)?, to.clone()),
    };
    let call = |name: &str, attr: (&'static str, AttrValue)| Some(lookup(name)?.call(vec![operand.clone()], [attr]));
    match to.permutation_from(&from) {
        Some(axes) => call("permute_dims", ("axes", axes.into())),
        None => call("layout_transform", ("index_map", AttrValue::IndexMap(Arc::new(to.index_map_from(&from))))),
    }
}

/// Returns true if every tensor in it has a known rank, and all are on the same device mesh or none.
fn has_known_ranks(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.ndim().is_some(),
        Type::Tuple(members) => members.iter().all(has_known_ranks),
        Type::DTensor(_) => false,
        _ => true,
    }
}

/// Returns the type of a value in another layout; `None` if it cannot be expressed.
fn converted_ty(ty: &Type, arrangement: &Arrangement) -> Option<Type> {
    match (ty, arrangement) {
        (_, Arrangement::AsWritten) => Some(ty.clone()),
        (Type::Tensor(t), Arrangement::Tensor(layout)) if !layout.has_blocks() => {
            let shape = match &t.shape {
                TensorShape::Known(dims) if dims.len() == layout.ndim() => {
                    TensorShape::Known(layout.axes().map(|(axis, _)| dims[axis].clone()).collect())
                }
                TensorShape::Rank(n) if *n == layout.ndim() => t.shape.clone(),
                _ => return None,
            };
            Some(Type::Tensor(TensorType { shape, ..t.clone() }))
        }
        (Type::Tuple(types), Arrangement::Tuple(members)) if types.len() == members.len() => {
            let replaced = types.iter().zip(members).map(|(ty, member)| converted_ty(ty, member));
            replaced.collect::<Option<_>>().map(Type::Tuple)
        }
        _ => None,
    }
}

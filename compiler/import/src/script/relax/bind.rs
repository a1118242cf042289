//! Binding values to variables.

use super::RelaxEval;
use crate::script::{
    args::Arg,
    context::{Read, Reported},
    value::{Pending, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use hammock_ir::{
    Name, Type,
    relax::{Binding, Block, CallTir, InferError, OpTable, Operand, Value as IrValue, Var},
    verify,
};
use hammock_ops::{CallContext, Op, Table};
use std::sync::Arc;

/// Maximum total size of the types of a function's variables: 300 MB.
const MAX_TYPE_PARTS: usize = 4_000_000;

impl RelaxEval<'_, '_> {
    /// `name = value`, `name: ty = value`
    pub(super) fn bind(&mut self, name: &str, ty: Option<Type>, value: Arg, span: Span) -> Read<()> {
        let pending = match value.value {
            // Names for compile-time values: the module, names of namespaces, types, strings.
            Value::Module
            | Value::Path(_)
            | Value::Type(_)
            | Value::PrimType(_)
            | Value::Attr(_)
            | Value::Dict(_)
            | Value::Lambda(_)
            | Value::Metadata
            | Value::MetadataOf(_)
            | Value::None => {
                self.scope.define(name, value.value);
                return Ok(());
            }
            Value::Str(_) if ty.is_none() => {
                self.scope.define(name, value.value);
                return Ok(());
            }
            Value::Unbound(pending) => *pending,
            Value::Broken if ty.is_none() => {
                self.scope.define(name, Value::Broken);
                return Ok(());
            }
            _ => {
                let operand = self.bound_operand(&value, ty.as_ref())?;
                Pending { value: IrValue::Operand(operand), args: Vec::new(), attrs: Vec::new(), span }
            }
        };
        let var = self.emit(name, ty, pending, span)?;
        self.define_var(name, var);
        Ok(())
    }

    /// Defines the name of a variable; uses of an erroneous one are `Broken`.
    pub(super) fn define_var(&mut self, name: impl Into<Name>, var: Var) {
        let broken = matches!(self.dialect.function.ty(var), Type::Error);
        self.scope.define(name, if broken { Value::Broken } else { Value::Operand(Operand::Var(var)) });
    }

    /// A variable for an erroneous value.
    pub(super) fn erroneous(&mut self, span: Span) -> Read<Var> {
        let value = IrValue::Operand(Operand::Tuple(Vec::new()));
        self.emit("_", Some(Type::Error), Pending { value, args: Vec::new(), attrs: Vec::new(), span }, span)
    }

    /// The operand that a variable of this type is bound to; plain numbers become constants unless the type is a
    /// scalar's.
    fn bound_operand(&mut self, value: &Arg, ty: Option<&Type>) -> Read<Operand> {
        if value.value.number().is_none() {
            return self.to_operand(value);
        }
        match ty {
            Some(Type::Prim(dtype)) => self.to_scalar_like(value, *dtype).map(Operand::Prim),
            Some(Type::Tensor(t)) => self.literal(value, t.dtype),
            _ => self.literal(value, None),
        }
    }

    /// Binds a value to a new variable of that name.
    pub(super) fn emit(&mut self, name: &str, ty: Option<Type>, pending: Pending, span: Span) -> Read<Var> {
        let mut pending = pending;
        self.replace_placeholders(&mut pending.value, ty.as_ref())?;
        let ty = match ty {
            Some(ty) => ty,
            None => self.infer(&pending)?,
        };
        let ty = if self.has_wrong_outputs(&pending, span) { Type::Error } else { ty };
        self.count_types(&ty, span)?;
        let dataflow = self.dialect.dataflow;
        let var = self.dialect.function.new_var(name, ty, dataflow, span);
        self.push(Binding { var, value: pending.value, span });
        Ok(var)
    }

    /// Reports kernel calls whose declared output types differ from the kernel's; the result's type is then unknown.
    /// Kernels of older texts, whose trailing parameters are moved, are verified later.
    fn has_wrong_outputs(&mut self, pending: &Pending, span: Span) -> bool {
        let IrValue::Call(call) = &pending.value else { return false };
        let is_moved = |name: &Name| self.cx.trailing_scalars.contains_key(name);
        if CallTir::of_kernel(call).and_then(|parts| parts.kernel().cloned()).is_none_or(|name| is_moved(&name)) {
            return false;
        }
        let (module, function) = (&self.cx.module, &self.dialect.function);
        let found = verify::kernel_outputs(module, function, call, span, &Table);
        let is_wrong = !found.is_empty();
        for diagnostic in found {
            self.cx.report(diagnostic);
        }
        is_wrong
    }

    /// Rejects types that grow without bound, as in `b = (a, a)`, `c = (b, b)`, and so on.
    fn count_types(&mut self, ty: &Type, span: Span) -> Read<()> {
        if let Some(excess) = ty.excess() {
            return Err(self.cx.error(codes::BAD_TYPE, span, format!("the value is too large: {excess}"), ""));
        }
        let parts = self.dialect.type_parts + ty.size();
        if parts <= MAX_TYPE_PARTS {
            self.dialect.type_parts = parts;
            return Ok(());
        }
        let message = format!("the types of the function's variables have more than {MAX_TYPE_PARTS} parts");
        Err(self.cx.error(codes::BAD_TYPE, span, message, "tuples of tuples double in size with every step"))
    }

    /// Adds a binding to the open block, or to a new one.
    pub(super) fn push(&mut self, binding: Binding) {
        let dataflow = self.dialect.dataflow;
        match self.dialect.blocks.last_mut() {
            Some(block) if block.dataflow == dataflow => block.bindings.push(binding),
            _ => self.dialect.blocks.push(Block { dataflow, bindings: vec![binding] }),
        }
    }

    /// Binds a nested value to a fresh name.
    pub(super) fn bind_fresh(&mut self, pending: Pending) -> Read<Operand> {
        let name = self.fresh_name();
        let span = pending.span;
        let var = self.emit(&name, None, pending, span)?;
        self.define_var(name, var);
        Ok(Operand::Var(var))
    }

    fn fresh_name(&mut self) -> Name {
        let dataflow = self.dialect.dataflow;
        let prefix = if dataflow { "lv" } else { "gv" };
        loop {
            let counter = &mut self.dialect.fresh[usize::from(dataflow)];
            let name = if *counter == 0 { prefix.to_owned() } else { format!("{prefix}{counter}") };
            *counter += 1;
            if self.scope.get(&name).is_none() {
                return name.into();
            }
        }
    }

    /// The type of a value.
    fn infer(&mut self, pending: &Pending) -> Read<Type> {
        match &pending.value {
            IrValue::Operand(operand) => Ok(self.type_of(operand)),
            IrValue::MatchCast(_, ty) => Ok(ty.clone()),
            IrValue::Function(lambda) => Ok(Type::Callable(Arc::new(self.dialect.function.lambda_ty(lambda)))),
            IrValue::TupleGet(operand, index) => self.member_type(operand, *index, pending.span),
            IrValue::Call(call) => {
                let ty = Table.infer(&self.cx.module, &self.dialect.function, call);
                ty.map_err(|error| self.type_rule(error, pending))
            }
            IrValue::If { then, otherwise, .. } => {
                let (then, otherwise) = (self.type_of(&then.result), self.type_of(&otherwise.result));
                Ok(super::control::join(&then, &otherwise))
            }
        }
    }

    fn member_type(&mut self, operand: &Operand, index: usize, span: Span) -> Read<Type> {
        let members = match self.type_of(operand) {
            Type::Tuple(members) => members,
            Type::Error => return Ok(Type::Error),
            _ => return Ok(Type::Any),
        };
        members.get(index).cloned().ok_or_else(|| {
            let message = format!("a tuple of {} has no member {index}", count(members.len(), "member"));
            self.cx.error(codes::TYPE_RULE, span, message, "")
        })
    }

    /// Resolves values that a call leaves open, such as -1 in a shape, from the types of its operands.
    pub(super) fn resolved(&mut self, op: &Op, mut pending: Pending) -> Read<Pending> {
        if let (Some(resolve), IrValue::Call(call)) = (op.resolve, &pending.value)
            && !self.dialect.function.is_erroneous(call)
        {
            let (module, function) = (&self.cx.module, &self.dialect.function);
            match resolve(&CallContext { module, function, op, call }) {
                Ok(call) => pending.value = IrValue::Call(call),
                Err(error) => return Err(self.type_rule(error, &pending)),
            }
        }
        Ok(pending)
    }

    /// Reports a type error of a call, at the invalid operand or attribute.
    fn type_rule(&mut self, error: InferError, pending: &Pending) -> Reported {
        let operand = error.arg.and_then(|n| pending.args.get(n)).copied();
        let attr = || pending.attrs.iter().find(|(name, _)| error.attr.as_deref() == Some(name)).map(|(_, span)| *span);
        let at = operand.or_else(attr).unwrap_or(pending.span);
        let mut diagnostic = Diagnostic::error(codes::TYPE_RULE, error.message).label(at, "");
        if let Some(help) = error.help {
            diagnostic = diagnostic.help(help);
        }
        self.cx.report(diagnostic)
    }
}

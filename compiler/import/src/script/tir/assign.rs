//! Assignments: stores, declarations, immutable variables, local scalars.

use super::{TirEval, stmts::target_names};
use crate::script::{
    args::Arg,
    context::Read,
    dtypes,
    path::Space,
    value::{Index, Value},
};
use hammock_diagnostics::{Span, codes, count};
use hammock_ir::{
    Attrs, Name, PrimExpr,
    prim::{PrimType, Var},
    tir::{Buffer, StmtKind},
};
use hammock_syntax::ast::{self, Expr, ExprKind};

impl TirEval<'_, '_> {
    /// `target = value`
    pub(super) fn assign(&mut self, assign: &ast::Assign, span: Span) -> Read<()> {
        let [target] = assign.targets.as_slice() else {
            return Err(self.unsupported(span, "one assignment has one target"));
        };
        self.assign_one(target, &assign.value, span)
    }

    fn assign_one(&mut self, target: &Expr, value: &Expr, span: Span) -> Read<()> {
        match (&target.kind, &value.kind) {
            // `m, n = T.int64(), T.int64()`
            (ExprKind::Tuple(targets), ExprKind::Tuple(values))
                if targets.len() == values.len() && !targets.iter().any(|t| matches!(t.kind, ExprKind::Starred(_))) =>
            {
                for (target, value) in targets.iter().zip(values) {
                    self.assign_one(target, value, span)?;
                }
                Ok(())
            }
            (ExprKind::Subscript(s), _) => self.assign_element(s, target.span, value, span),
            (ExprKind::Name(name), _) => {
                if let Some(ty) = self.declared_type(value)? {
                    return self.declare_symbol(name, ty, value.span);
                }
                self.dialect.hints = vec![Name::from(name.clone())];
                let value = self.arg(value);
                self.assign_name(name, value, span)
            }
            (ExprKind::Tuple(targets) | ExprKind::List(targets), _) => {
                let mut names = Vec::new();
                target_names(target, &mut names);
                self.dialect.hints = names;
                let value = self.arg(value);
                let values = self.elements(&value)?;
                self.unpack(targets, values, target.span)
            }
            _ => Err(self.unsupported(target.span, "this cannot be assigned to")),
        }
    }

    /// The type in `T.int64()`, when an expression declares a variable that way.
    fn declared_type(&mut self, value: &Expr) -> Read<Option<PrimType>> {
        let Some((path, call)) = self.callee_of(value) else { return Ok(None) };
        let declares = match &*path.name {
            "handle" | "ptr" | "buffer_var" | "Ptr" | "var" => true,
            name => call.args.is_empty() && dtypes::of_name(name).is_some(),
        };
        if path.space != Space::Tir || !declares {
            return Ok(None);
        }
        let ty = self.arg(value);
        Ok(self.as_prim_type(&ty.value))
    }

    /// `n = T.int64()`: the variable of that name in the signature, or a new one.
    fn declare_symbol(&mut self, name: &str, ty: PrimType, span: Span) -> Read<()> {
        let known = match self.scope.get(name) {
            Some(Value::Scalar(e)) => e.as_var().cloned(),
            Some(_) => None,
            None => self.symbols.get(name).cloned(),
        };
        let var = match known {
            Some(var) if *var.ty() == ty => var,
            Some(var) => {
                let message = format!("`{name}` is declared as {} here, but has type {}", ty.dtype(), var.dtype());
                return Err(self.cx.error(codes::SCALAR_MISMATCH, span, message, ""));
            }
            None => Var::new(name, ty),
        };
        self.symbols.insert(name.into(), var.clone());
        self.scope.define(name, Value::Scalar(var.expr()));
        Ok(())
    }

    /// `A[i, j] = value`; `target` is the span of `A[i, j]`.
    fn assign_element(&mut self, s: &ast::Subscript, target: Span, value: &Expr, span: Span) -> Read<()> {
        let on = self.arg(&s.value);
        let value = self.arg(value);
        let buffer = self.to_buffer(&on).inspect_err(|_| self.check_indices(&s.indices))?;
        let indices = self.indices(&buffer, &s.indices, target)?;
        self.store(&buffer, &indices, &value, None, span)
    }

    fn unpack(&mut self, targets: &[Expr], mut values: Vec<Value>, span: Span) -> Read<()> {
        let star = targets.iter().position(|t| matches!(t.kind, ExprKind::Starred(_)));
        let fixed = targets.len() - usize::from(star.is_some());
        if values.len() < fixed || (star.is_none() && values.len() > fixed) {
            let message = format!("{} for {}", count(values.len(), "value"), count(targets.len(), "name"));
            return Err(self.cx.error(codes::BAD_BINDING, span, message, ""));
        }
        for (n, target) in targets.iter().enumerate() {
            match &target.kind {
                ExprKind::Starred(inner) => {
                    let rest = values.len() - (targets.len() - n - 1);
                    let value = Value::List(values.drain(..rest).collect());
                    if let ExprKind::Name(name) = &inner.kind {
                        self.scope.define(name.clone(), value);
                    }
                }
                ExprKind::Name(name) => {
                    let value = Arg { value: values.remove(0), span };
                    self.assign_name(name, value, span)?;
                }
                _ => return Err(self.unsupported(target.span, "this cannot be assigned to")),
            }
        }
        Ok(())
    }

    /// `name = value`
    fn assign_name(&mut self, name: &str, value: Arg, span: Span) -> Read<()> {
        let existing = match self.scope.get(name) {
            Some(Value::Buffer(buffer)) if is_single(buffer) => Some(buffer.clone()),
            _ => None,
        };
        if matches!(value.value, Value::Broken) {
            return Err(self.cx.reported_before());
        }
        let computed = matches!(value.value, Value::Scalar(_) | Value::Slice(..)) || value.value.number().is_some();
        match (&value.value, existing) {
            (_, Some(buffer)) if computed || matches!(&value.value, Value::Buffer(b) if b.is_local_scalar()) => {
                self.store(&buffer, &[Index::At(PrimExpr::int32(0))], &value, None, span)
            }
            (Value::Scalar(e), None) if e.dtype().is_handle() => {
                let e = e.clone();
                self.bind(name, e.ty().clone(), e, span);
                Ok(())
            }
            (Value::PrimType(ty), _) => self.declare_symbol(name, ty.clone(), span),
            (Value::Buffer(buffer), None) if buffer.is_local_scalar() && *buffer.name != *name => {
                let value = self.to_scalar(&value)?;
                self.new_scalar(name, &Arg { value: Value::Scalar(value), span }, span)
            }
            _ if computed => self.new_scalar(name, &value, span),
            _ => {
                self.scope.define(name, value.value);
                Ok(())
            }
        }
    }

    fn bind(&mut self, name: &str, ty: PrimType, value: PrimExpr, span: Span) {
        let var = Var::new(name, ty);
        self.scope.define(name, Value::Scalar(var.expr()));
        self.emit(StmtKind::Bind(var, value), span);
    }

    /// A new local scalar of the value's type.
    fn new_scalar(&mut self, name: &str, value: &Arg, span: Span) -> Read<()> {
        let initial = self.to_scalar(value)?;
        let buffer = Buffer::local_scalar(name, initial.dtype());
        self.emit(StmtKind::Alloc(buffer.clone(), Attrs::new()), span);
        self.emit(store_of(&buffer, initial), span);
        self.scope.define(name, Value::Buffer(buffer));
        Ok(())
    }

    /// `x: T.int32 = value`, `x: T.let[T.int32] = value`, `x: T.float32[4]`
    pub(super) fn annotated(&mut self, assign: &ast::AnnAssign, span: Span) -> Read<()> {
        let ExprKind::Name(name) = &assign.target.kind else {
            return Err(self.unsupported(assign.target.span, "only a name can have a type"));
        };
        let annotation = self.arg(&assign.annotation);
        let value = assign.value.as_ref();
        if let (Value::Broken, Some(value)) = (&annotation.value, value) {
            self.arg(value);
        }
        match &annotation.value {
            Value::Path(path) if path.is(Space::Tir, "let") => self.let_value(name, None, value, span),
            Value::Let(ty) => self.let_value(name, ty.clone(), value, span),
            Value::LocalArray(ty, shape) if value.is_none() => {
                let buffer = Buffer::scoped(&**name, shape.clone(), ty.dtype(), "local");
                self.emit(StmtKind::Alloc(buffer.clone(), Attrs::new()), span);
                self.scope.define(name.clone(), Value::Buffer(buffer));
                Ok(())
            }
            Value::Buffer(_) | Value::LocalArray(..) => match value {
                Some(value) => self.assign_one(&assign.target, value, span),
                None => Err(self.expected(&annotation, "a scalar type")),
            },
            _ => {
                let ty = self.to_prim_type(&annotation)?;
                match value {
                    // Immutable variables in texts before 0.24; pointers are always immutable.
                    Some(value) if self.dialect.old || ty.dtype().is_handle() => {
                        self.let_value(name, Some(ty), Some(value), span)
                    }
                    _ => self.typed_scalar(name, ty, value, span),
                }
            }
        }
    }

    fn let_value(&mut self, name: &str, ty: Option<PrimType>, value: Option<&Expr>, span: Span) -> Read<()> {
        let Some(value) = value else {
            return Err(self.cx.error(codes::BAD_BINDING, span, format!("`{name}` needs a value"), ""));
        };
        let value = self.arg(value);
        let e = match (&value.value, &ty) {
            (Value::Str(text), _) => PrimExpr::str(text.clone()),
            (_, Some(PrimType::Scalar(t))) if !t.is_handle() => self.value_of(&value, *t)?,
            _ => self.to_scalar(&value)?,
        };
        let ty = ty.unwrap_or_else(|| e.ty().clone());
        self.bind(name, ty, e, span);
        Ok(())
    }

    fn typed_scalar(&mut self, name: &str, ty: PrimType, value: Option<&Expr>, span: Span) -> Read<()> {
        let buffer = Buffer::local_scalar(name, ty.dtype());
        let initial = match value {
            Some(value) => {
                let value = self.arg(value);
                Some(self.value_of(&value, ty.dtype())?)
            }
            None => None,
        };
        self.emit(StmtKind::Alloc(buffer.clone(), Attrs::new()), span);
        if let Some(initial) = initial {
            self.emit(store_of(&buffer, initial), span);
        }
        self.scope.define(name, Value::Buffer(buffer));
        Ok(())
    }

    /// `target += value`
    pub(super) fn augmented(&mut self, assign: &ast::AugAssign, span: Span) -> Read<()> {
        let left = self.arg(&assign.target);
        let right = self.arg(&assign.value);
        let value = self.binary_values(assign.op, left, right, span)?;
        if matches!(value, Value::Broken) {
            return Err(self.cx.reported_before());
        }
        let value = Arg { value, span };
        match &assign.target.kind {
            ExprKind::Subscript(s) => {
                let on = self.arg(&s.value);
                let buffer = self.to_buffer(&on)?;
                let indices = self.indices(&buffer, &s.indices, span)?;
                self.store(&buffer, &indices, &value, None, span)
            }
            ExprKind::Name(name) => self.assign_name(name, value, span),
            _ => Err(self.unsupported(assign.target.span, "this cannot be assigned to")),
        }
    }
}

/// Returns true if a buffer has one element, so that its bare name can be assigned to.
fn is_single(buffer: &Buffer) -> bool {
    matches!(buffer.shape.as_slice(), [n] if n.as_int() == Some(1))
}

fn store_of(buffer: &Buffer, value: PrimExpr) -> StmtKind {
    StmtKind::Store { buffer: buffer.clone(), indices: vec![PrimExpr::int32(0)], value, predicate: None }
}

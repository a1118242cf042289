//! Run-time checks of parameters, casts and results against their types.

use super::{Lowering, code, symbolic_dims};
use crate::{analysis::symbolic, rewrite::Emitter};
use hammock_ir::{
    DType, Span, Type,
    relax::{Call, Operand, Value, Var},
};

impl Lowering<'_> {
    /// Checks every parameter: kinds first, then dimensions, then those that need computing. Weights (the parameters
    /// that `num_input` does not count) of constant size are not checked at every call: kernels check their
    /// arguments.
    pub fn check_params(&mut self, out: &mut Emitter) {
        let inputs = self.function.lambda.num_input().unwrap_or(usize::MAX);
        let params: Vec<(Operand, Type, String, Span)> = self
            .function
            .lambda
            .params
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let info = &self.function.vars[*p];
                let context = self.context(&format!("param[{i}], param={}", info.name), &info.ty);
                let ty = if i < inputs { info.ty.clone() } else { symbolic_part(&info.ty) };
                ((*p).into(), ty, context, info.span)
            })
            .collect();
        for (value, ty, context, span) in &params {
            self.check_kind(value, ty, context, out, *span);
        }
        for (value, ty, context, span) in &params {
            self.match_dims(value, ty, context, out, *span);
            if let Operand::Var(param) = value {
                self.match_scalar(*param, context, out, *span);
            }
        }
        let computed = |ty: &Type| symbolic_dims(ty).iter().any(|d| d.as_var().is_none());
        let span = params.iter().find(|(_, ty, ..)| computed(ty)).map_or(self.function.lambda.span, |(.., span)| *span);
        self.compute(out, span);
        for (value, ty, context, span) in &params {
            if computed(ty) {
                self.match_dims(value, ty, context, out, *span);
            }
        }
    }

    /// Stores new dimensions, computes those that depend on them, and compares the others.
    pub fn match_value(&mut self, value: &Operand, ty: &Type, context: &str, out: &mut Emitter, span: Span) {
        let open = symbolic_dims(ty).iter().any(|d| d.as_var().is_none() && !self.heap.is_known(d));
        self.match_dims(value, ty, context, out, span);
        self.compute(out, span);
        if open {
            self.match_dims(value, ty, context, out, span);
        }
    }

    /// Returns `ErrorContext(fn=main, loc=param[0], param=x, annotation=…)`, in TVM's wording.
    pub fn context(&self, location: &str, ty: &Type) -> String {
        if !self.reports_location {
            return String::new();
        }
        let annotation = hammock_ir::print::type_text(ty);
        format!("ErrorContext(fn={}, loc={location}, annotation={annotation}) ", self.name)
    }

    /// Checks a value's kind, rank and dtype against its type.
    pub fn check_kind(&mut self, value: &Operand, ty: &Type, context: &str, out: &mut Emitter, span: Span) {
        let rank = |n: Option<usize>| Operand::int(n.map_or(-1, |n| n as i64));
        let dtype = |t: Option<DType>| Operand::DType(t.unwrap_or(DType::VOID));
        let (name, extra) = match ty {
            Type::Tensor(t) => ("vm.builtin.check_tensor_info", vec![rank(t.ndim()), dtype(t.dtype)]),
            Type::Shape(s) => ("vm.builtin.check_shape_info", vec![rank(s.ndim())]),
            Type::Prim(t) => ("vm.builtin.check_prim_value_info", vec![Operand::DType(*t)]),
            Type::Tuple(fields) => ("vm.builtin.check_tuple_info", vec![Operand::int(fields.len() as i64)]),
            Type::Callable(_) => ("vm.builtin.check_func_info", vec![]),
            Type::String => ("vm.builtin.check_string_info", vec![]),
            Type::Any | Type::DTensor(_) | Type::Error => return,
        };
        let mut args = vec![value.clone()];
        args.extend(extra);
        self.check_call(name, args, context, out, span);
        let says_something = |ty: &Type| !matches!(ty, Type::Any);
        self.each_field(value, ty, out, span, says_something, &mut |this, field, ty, out| {
            this.check_kind(field, ty, context, out, span)
        });
    }

    /// Like [`check_kind`](Self::check_kind), for what is not known statically.
    pub fn check_kind_unless_known(
        &mut self,
        value: &Operand,
        ty: &Type,
        known: &Type,
        context: &str,
        out: &mut Emitter,
    ) {
        let same = match (ty, known) {
            (Type::Tensor(a), Type::Tensor(b)) => a.ndim() == b.ndim() && a.dtype == b.dtype,
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len(),
            (Type::Shape(a), Type::Shape(b)) => a.ndim() == b.ndim(),
            _ => std::mem::discriminant(ty) == std::mem::discriminant(known),
        };
        if !same {
            self.check_kind(value, ty, context, out, Span::default());
        }
    }

    /// Calls `f` on each member of a tuple whose type `needs` a check.
    fn each_field(
        &mut self,
        value: &Operand,
        ty: &Type,
        out: &mut Emitter,
        span: Span,
        needs: fn(&Type) -> bool,
        f: &mut dyn FnMut(&mut Self, &Operand, &Type, &mut Emitter),
    ) {
        let Type::Tuple(fields) = ty else { return };
        for (i, field) in fields.iter().enumerate() {
            if !needs(field) {
                continue;
            }
            let get = Value::TupleGet(value.clone(), i);
            let member = out.bind(self.function, "gv", field.clone(), get, span).into();
            f(self, &member, field, out);
        }
    }

    /// Emits `vm.builtin.match_shape(value, heap, n, (code, value)…, context)`; new variables are stored.
    fn match_dims(&mut self, value: &Operand, ty: &Type, context: &str, out: &mut Emitter, span: Span) {
        if has_dims(ty) && matches!(ty, Type::Tuple(_)) {
            self.each_field(value, ty, out, span, has_dims, &mut |this, field, ty, out| {
                this.match_dims(field, ty, context, out, span)
            });
            return;
        }
        let Some(dims) = symbolic::dims(ty) else { return };
        let mut args = vec![value.clone(), self.heap_var.into(), Operand::int(dims.len() as i64)];
        for dim in dims {
            let (code, value) = match dim.as_int() {
                Some(n) => (code::MATCH_IMM, n),
                None if self.heap.is_known(dim) => (code::MATCH_LOAD, self.heap.slot(dim)),
                None if dim.as_var().is_some() => {
                    self.heap.learn(dim);
                    (code::MATCH_STORE, self.heap.slot(dim))
                }
                None => (code::MATCH_NOTHING, 0),
            };
            args.extend([Operand::int(code), Operand::int(value)]);
        }
        self.check_call("vm.builtin.match_shape", args, context, out, span);
    }

    /// Emits `vm.builtin.match_prim_value` for a scalar variable whose value dimensions refer to.
    pub fn match_scalar(&mut self, var: Var, context: &str, out: &mut Emitter, span: Span) {
        let Some(expr) = self.function.scalar(var).map(|s| s.expr()).filter(|e| self.heap.contains(e)) else { return };
        let code = if self.heap.is_known(&expr) { code::MATCH_LOAD } else { code::MATCH_STORE };
        self.heap.learn(&expr);
        let slot = Operand::int(self.heap.slot(&expr));
        let args = vec![var.into(), self.heap_var.into(), Operand::int(code), slot];
        self.check_call("vm.builtin.match_prim_value", args, context, out, span);
    }

    fn check_call(&mut self, name: &str, mut args: Vec<Operand>, context: &str, out: &mut Emitter, span: Span) {
        args.push(Operand::Str(context.into()));
        out.effect(self.function, Value::Call(Call::packed(name, args, vec![Type::void()])), span);
    }
}

/// Returns true if a type, or a member's, has known dimensions.
fn has_dims(ty: &Type) -> bool {
    match ty {
        Type::Tuple(fields) => fields.iter().any(has_dims),
        _ => symbolic::dims(ty).is_some(),
    }
}

/// Returns a type without the shapes of tensors of constant size.
fn symbolic_part(ty: &Type) -> Type {
    match ty {
        Type::Tensor(t) if t.dims().is_some_and(|dims| dims.iter().all(|dim| dim.as_int().is_some())) => Type::Any,
        Type::Tuple(fields) => Type::Tuple(fields.iter().map(symbolic_part).collect()),
        _ => ty.clone(),
    }
}

//! The symbolic variables of functions.

use super::{Body, Function, Operand, Value, Var};
use crate::{AttrValue, PrimExpr, Type, arith::Analyzer, prim, prim::Substitution};
use rustc_hash::FxHashSet;

impl Function {
    /// The symbolic variables that the function uses and neither its parameters nor its bindings define.
    pub fn undefined_dims(&self) -> Vec<prim::Var> {
        let mut known: FxHashSet<prim::Var> = FxHashSet::default();
        let mut params: FxHashSet<Var> = self.lambda.params.iter().copied().collect();
        self.lambda.body.walk(&mut |binding| {
            known.extend(self.scalar(binding.var).cloned());
            match &binding.value {
                Value::MatchCast(_, ty) => ty.each_expr(&mut |e| known.extend(e.as_var().cloned())),
                Value::Function(lambda) => params.extend(&lambda.params),
                _ => {}
            }
        });
        for param in params {
            known.extend(self.scalar(param).cloned());
            self.ty(param).each_expr(&mut |e| known.extend(e.as_var().cloned()));
        }
        let mut undefined = Vec::new();
        let mut look = |e: &PrimExpr| {
            e.each_var(&mut |var| {
                if known.insert(var.clone()) {
                    undefined.push(var.clone());
                }
            });
        };
        for param in &self.lambda.params {
            self.ty(*param).each_expr(&mut look);
        }
        self.lambda.body.walk(&mut |binding| {
            binding.value.each_operand(&mut |o| o.each_expr(&mut look));
            if let Value::Call(call) = &binding.value {
                call.ty_args.iter().for_each(|ty| ty.each_expr(&mut look));
            }
            self.ty(binding.var).each_expr(&mut look);
        });
        self.lambda.body.result.each_expr(&mut look);
        undefined
    }

    /// Replaces the function's symbolic variables by fresh ones.
    pub fn renew_dims(&mut self) {
        let mut fresh = Substitution::default();
        let mut renew = |e: &PrimExpr| {
            e.each_var(&mut |var| {
                fresh.entry(var.clone()).or_insert_with(|| var.fresh().expr());
            });
        };
        self.vars.values().for_each(|info| info.ty.each_expr(&mut renew));
        self.vars.values().for_each(|info| {
            if let Some(scalar) = &info.scalar {
                renew(&scalar.expr());
            }
        });
        for info in self.vars.values_mut() {
            let new = info.scalar.as_ref().and_then(|scalar| fresh.get(scalar)).and_then(PrimExpr::as_var);
            info.scalar = new.cloned().or(info.scalar.take());
        }
        self.substitute_dims(&fresh);
    }

    /// Replaces symbolic variables everywhere: in types, operands and attributes. Changed expressions are simplified.
    pub fn substitute_dims(&mut self, values: &Substitution) {
        if values.is_empty() {
            return;
        }
        for info in self.vars.values_mut() {
            info.ty = substituted(&info.ty, values);
        }
        self.lambda.ret_ty = substituted(&self.lambda.ret_ty, values);
        body_dims(&mut self.lambda.body, values);
    }
}

/// A type with symbolic variables replaced.
fn substituted(ty: &Type, values: &Substitution) -> Type {
    ty.map_exprs(&mut |e| with_values(e, values))
}

fn with_values(e: &PrimExpr, values: &Substitution) -> PrimExpr {
    let new = e.substitute(values);
    if new.same_node(e) { new } else { Analyzer::for_shapes().simplify(&new) }
}

fn body_dims(body: &mut Body, values: &Substitution) {
    let mut replace = |o: &mut Operand| match o {
        Operand::Prim(e) => *e = with_values(e, values),
        Operand::Shape(dims) => dims.iter_mut().for_each(|d| *d = with_values(d, values)),
        _ => {}
    };
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        match &mut binding.value {
            Value::MatchCast(_, ty) => *ty = substituted(ty, values),
            Value::Call(call) => {
                call.ty_args.iter_mut().for_each(|ty| *ty = substituted(ty, values));
                call.attrs.iter_mut().for_each(|(_, value)| attr_dims(value, values));
            }
            Value::Function(lambda) => lambda.ret_ty = substituted(&lambda.ret_ty, values),
            _ => {}
        }
        binding.value.each_operand_mut(&mut |o| o.map(&mut replace));
        binding.value.each_body_mut(&mut |b| body_dims(b, values));
    }
    body.result.map(&mut replace);
}

fn attr_dims(value: &mut AttrValue, values: &Substitution) {
    match value {
        AttrValue::Expr(e) => *e = with_values(e, values),
        AttrValue::Type(ty) => *ty = substituted(ty, values),
        AttrValue::List(members) | AttrValue::Tuple(members) => members.iter_mut().for_each(|m| attr_dims(m, values)),
        _ => {}
    }
}

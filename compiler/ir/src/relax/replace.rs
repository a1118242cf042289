//! Replacing variables by operands.

use super::{Body, Call, Callee, Function, Operand, Value, Var};
use crate::{PrimExpr, TensorShape, Type, prim::Substitution};
use rustc_hash::FxHashMap;

/// Operands by the variables that they replace.
pub type Replacements = FxHashMap<Var, Operand>;

impl Function {
    /// Replaces variables by operands wherever they are used: as operands and callees, in types whose shape is a
    /// variable, and in expressions that use the value of a scalar. The new operands are not replaced again.
    pub fn replace(&mut self, values: &Replacements) {
        if values.is_empty() {
            return;
        }
        let replacer = Replacer { values, scalars: self.scalars(values) };
        for info in self.vars.values_mut() {
            replacer.ty(&mut info.ty);
        }
        replacer.ty(&mut self.lambda.ret_ty);
        replacer.body(&mut self.lambda.body);
    }

    /// The substitution of scalar variables that denote the values of replaced variables.
    fn scalars(&self, values: &Replacements) -> Substitution {
        let expr = |o: &Operand| match o {
            Operand::Prim(e) => Some(e.clone()),
            Operand::Var(v) => self.scalar(*v).map(|s| s.expr()),
            _ => None,
        };
        values.iter().filter_map(|(v, o)| Some((self.scalar(*v)?.clone(), expr(o)?))).collect()
    }
}

impl Body {
    /// The same in a body detached from its function: replaces uses of variables, but not those in the types of
    /// variables, nor the values of scalars in expressions.
    pub fn replace(&mut self, values: &Replacements) {
        if !values.is_empty() {
            Replacer { values, scalars: Substitution::default() }.body(self);
        }
    }
}

impl Value {
    /// Replaces variables in a value as [`Body::replace`] does in a body.
    pub fn replace(&mut self, values: &Replacements) {
        Replacer { values, scalars: Substitution::default() }.value(self);
    }
}

impl Type {
    /// Replaces the variables whose values are shapes of tensors.
    pub fn replace(&mut self, values: &Replacements) {
        Replacer { values, scalars: Substitution::default() }.ty(self);
    }
}

struct Replacer<'a> {
    values: &'a Replacements,
    scalars: Substitution,
}

impl Replacer<'_> {
    fn body(&self, body: &mut Body) {
        for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
            self.value(&mut binding.value);
        }
        self.operand(&mut body.result);
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Call(call) => self.call(call),
            Value::MatchCast(_, ty) => self.ty(ty),
            Value::Function(lambda) => self.ty(&mut lambda.ret_ty),
            _ => {}
        }
        value.each_operand_mut(&mut |o| self.operand(o));
        value.each_body_mut(&mut |b| self.body(b));
    }

    /// The callee and the types; operands are replaced with those of other values.
    fn call(&self, call: &mut Call) {
        call.ty_args.iter_mut().for_each(|ty| self.ty(ty));
        if let Callee::Var(v) = &call.callee {
            match self.values.get(v) {
                Some(Operand::Var(new)) => call.callee = Callee::Var(*new),
                Some(Operand::Global(name)) => call.callee = Callee::Global(name.clone()),
                _ => {}
            }
        }
    }

    fn operand(&self, operand: &mut Operand) {
        operand.map(&mut |o| match o {
            Operand::Var(v) => {
                if let Some(new) = self.values.get(v) {
                    *o = new.clone();
                }
            }
            Operand::Prim(e) => *e = self.expr(e),
            Operand::Shape(dims) => dims.iter_mut().for_each(|d| *d = self.expr(d)),
            _ => {}
        });
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        e.substitute(&self.scalars)
    }

    fn ty(&self, ty: &mut Type) {
        if !self.scalars.is_empty() {
            *ty = ty.substitute(&self.scalars);
        }
        ty.each_shape_mut(&mut |shape| {
            if let TensorShape::Var(v, _) = shape {
                match self.values.get(v) {
                    Some(Operand::Var(new)) => *v = *new,
                    Some(Operand::Shape(dims)) => *shape = TensorShape::Known(dims.iter().cloned().collect()),
                    _ => {}
                }
            }
        });
    }
}

//! Walking functions, bodies and operands.

use super::{Binding, Body, Call, Callee, Operand, Value, Var};
use crate::{Name, PrimExpr};

impl Operand {
    /// Calls `f` on this operand and those inside it.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Operand)) {
        f(self);
        if let Operand::Tuple(fields) = self {
            fields.iter().for_each(|o| o.walk(f));
        }
    }

    /// Calls `f` on each variable used.
    pub fn each_var(&self, f: &mut dyn FnMut(Var)) {
        self.walk(&mut |o| {
            if let Operand::Var(v) = o {
                f(*v)
            }
        });
    }

    /// Calls `f` on each scalar expression: scalars, and the sizes of shapes.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        self.walk(&mut |o| match o {
            Operand::Prim(e) => f(e),
            Operand::Shape(dims) => dims.iter().for_each(&mut *f),
            _ => {}
        });
    }

    /// Rewrites the operand from the leaves up.
    pub fn map(&mut self, f: &mut dyn FnMut(&mut Operand)) {
        if let Operand::Tuple(fields) = self {
            fields.iter_mut().for_each(|o| o.map(f));
        }
        f(self);
    }
}

impl Call {
    /// Calls `f` on the global function called, if any, and on those among the arguments.
    pub fn each_global<'a>(&'a self, f: &mut dyn FnMut(&'a Name)) {
        if let Callee::Global(name) = &self.callee {
            f(name);
        }
        for arg in &self.args {
            arg.walk(&mut |o| {
                if let Operand::Global(name) = o {
                    f(name)
                }
            });
        }
    }
}

impl Value {
    /// Calls `f` on each operand directly in it, not in nested bodies; tuples count as one.
    pub fn each_operand<'a>(&'a self, f: &mut dyn FnMut(&'a Operand)) {
        match self {
            Value::Operand(o) | Value::TupleGet(o, _) | Value::MatchCast(o, _) | Value::If { cond: o, .. } => f(o),
            Value::Call(c) => c.args.iter().for_each(f),
            Value::Function(_) => {}
        }
    }

    /// Calls `f` on each operand directly in it, to change.
    pub fn each_operand_mut(&mut self, f: &mut dyn FnMut(&mut Operand)) {
        match self {
            Value::Operand(o) | Value::TupleGet(o, _) | Value::MatchCast(o, _) | Value::If { cond: o, .. } => f(o),
            Value::Call(c) => c.args.iter_mut().for_each(f),
            Value::Function(_) => {}
        }
    }

    /// Calls `f` on each variable used directly in it, not in nested bodies: as operand, as callee, or in an explicit
    /// type.
    pub fn each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Value::Call(call) => {
                if let Callee::Var(v) = call.callee {
                    f(v);
                }
                call.ty_args.iter().for_each(|ty| ty.each_var(f));
            }
            Value::MatchCast(_, ty) => ty.each_var(f),
            Value::Function(lambda) => lambda.ret_ty.each_var(f),
            _ => {}
        }
        self.each_operand(&mut |o| o.each_var(f));
    }

    /// Calls `f` on each use of a variable in it, nested bodies included: what a nested function captures counts too.
    pub fn each_use(&self, f: &mut dyn FnMut(Var)) {
        self.each_var(f);
        self.each_body(&mut |body| body.each_use(f));
    }

    /// Calls `f` on each body nested in it.
    pub fn each_body<'a>(&'a self, f: &mut dyn FnMut(&'a Body)) {
        match self {
            Value::If { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            Value::Function(lambda) => f(&lambda.body),
            _ => {}
        }
    }

    /// Calls `f` on each body nested in it, to change.
    pub fn each_body_mut(&mut self, f: &mut dyn FnMut(&mut Body)) {
        match self {
            Value::If { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            Value::Function(lambda) => f(&mut lambda.body),
            _ => {}
        }
    }
}

impl Body {
    /// Calls `f` on every binding, those of nested bodies included, outer ones first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Binding)) {
        for binding in self.bindings() {
            f(binding);
            binding.value.each_body(&mut |b| b.walk(f));
        }
    }

    /// Calls `f` on every operand, results of bodies included, nested bodies included. (A callee variable is not an
    /// operand: see [`Body::each_use`].)
    pub fn each_operand<'a>(&'a self, f: &mut dyn FnMut(&'a Operand)) {
        for binding in self.bindings() {
            binding.value.each_operand(f);
            binding.value.each_body(&mut |b| b.each_operand(f));
        }
        f(&self.result);
    }

    /// Calls `f` on every use of a variable: operands, callees, written types, results; nested bodies included.
    pub fn each_use(&self, f: &mut dyn FnMut(Var)) {
        for binding in self.bindings() {
            binding.value.each_use(f);
        }
        self.result.each_var(f);
    }
}

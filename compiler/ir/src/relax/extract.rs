//! Extracts parts of functions into separate functions, with only the variables that a part uses.

use super::{Body, Call, Callee, Function, Lambda, Operand, Replacements, Value, Var};
use crate::{TensorShape, Type};
use rustc_hash::FxHashMap;

/// Maps between the variables of a function and those of a function extracted from it.
#[derive(Debug, Default)]
pub struct Renumbering {
    /// New variables by those of the original.
    new: FxHashMap<Var, Var>,
    /// Originals, indexed by the new variables that replace them.
    old: Vec<Var>,
}

impl Function {
    /// Extracts a nested function of `outer`, with copies of the variables that it uses: parameters, bindings and
    /// captured variables.
    pub fn around(outer: &Function, mut lambda: Lambda) -> (Function, Renumbering) {
        let (mut function, mut numbers) = (Function::empty(), Renumbering::default());
        numbers.lambda(&mut lambda, outer, &mut function);
        function.lambda = lambda;
        (function, numbers)
    }

    /// A function with copies of the variables that a call in `outer` uses, and the call in these variables.
    pub fn of_call(outer: &Function, call: &Call) -> (Function, Call, Renumbering) {
        let (mut function, mut numbers, mut call) = (Function::empty(), Renumbering::default(), call.clone());
        numbers.call(&mut call, outer, &mut function);
        (function, call, numbers)
    }

    /// Moves another function into this one's table and returns it in new variables of this function. Symbolic
    /// variables are unchanged.
    pub fn adopt(&mut self, other: Function) -> Lambda {
        let new: Replacements =
            other.vars.iter().map(|(var, info)| (var, self.vars.push(info.clone()).into())).collect();
        let var_of = |var: Var| new.get(&var).and_then(Operand::as_var).unwrap_or(var);
        for var in other.vars.keys() {
            self.vars[var_of(var)].ty.replace(&new);
        }
        let mut lambda = other.lambda;
        lambda.body.replace(&new);
        lambda.ret_ty.replace(&new);
        lambda.params.iter_mut().for_each(|param| *param = var_of(*param));
        define(&mut lambda.body, &var_of);
        lambda
    }

    /// A copy of the function without its body: parameters, result type and attributes.
    pub fn signature(&self) -> Function {
        let lambda = &self.lambda;
        let (params, body) = (lambda.params.clone(), Body::of(Operand::Tuple(Vec::new())));
        let (attrs, ret_ty) = (lambda.attrs.clone(), lambda.ret_ty.clone());
        Function::around(self, Lambda { params, ret_ty, pure: lambda.pure, attrs, body, span: lambda.span }).0
    }
}

impl Renumbering {
    /// The new variable for an original one; `None` if the part does not use it.
    pub fn new_var(&self, original: Var) -> Option<Var> {
        self.new.get(&original).copied()
    }

    /// The original of a new variable.
    pub fn original(&self, new: Var) -> Option<Var> {
        self.old.get(new.as_u32() as usize).copied()
    }

    /// The replacements of new variables by their originals.
    pub fn back(&self) -> Replacements {
        self.old.iter().enumerate().map(|(new, old)| (Var::from_u32(new as u32), Operand::Var(*old))).collect()
    }

    fn var(&mut self, var: &mut Var, outer: &Function, function: &mut Function) {
        if let Some(new) = self.new.get(var) {
            *var = *new;
            return;
        }
        let mut info = outer.vars[*var].clone();
        self.ty(&mut info.ty, outer, function);
        self.old.push(*var);
        let new = function.vars.push(info);
        self.new.insert(*var, new);
        *var = new;
    }

    fn ty(&mut self, ty: &mut Type, outer: &Function, function: &mut Function) {
        ty.each_shape_mut(&mut |shape| {
            if let TensorShape::Var(var, _) = shape {
                self.var(var, outer, function);
            }
        });
    }

    fn operand(&mut self, operand: &mut Operand, outer: &Function, function: &mut Function) {
        operand.map(&mut |o| {
            if let Operand::Var(var) = o {
                self.var(var, outer, function);
            }
        });
    }

    fn call(&mut self, call: &mut Call, outer: &Function, function: &mut Function) {
        if let Callee::Var(var) = &mut call.callee {
            self.var(var, outer, function);
        }
        call.args.iter_mut().for_each(|o| self.operand(o, outer, function));
        call.ty_args.iter_mut().for_each(|ty| self.ty(ty, outer, function));
    }

    fn lambda(&mut self, lambda: &mut Lambda, outer: &Function, function: &mut Function) {
        lambda.params.iter_mut().for_each(|p| self.var(p, outer, function));
        self.ty(&mut lambda.ret_ty, outer, function);
        self.body(&mut lambda.body, outer, function);
    }

    fn body(&mut self, body: &mut Body, outer: &Function, function: &mut Function) {
        for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
            self.var(&mut binding.var, outer, function);
            match &mut binding.value {
                Value::Call(call) => self.call(call, outer, function),
                Value::Function(lambda) => self.lambda(lambda, outer, function),
                value => {
                    if let Value::MatchCast(_, ty) = value {
                        self.ty(ty, outer, function);
                    }
                    value.each_operand_mut(&mut |o| self.operand(o, outer, function));
                    value.each_body_mut(&mut |b| self.body(b, outer, function));
                }
            }
        }
        self.operand(&mut body.result, outer, function);
    }
}

/// Renames the variables that a body defines.
fn define(body: &mut Body, new: &dyn Fn(Var) -> Var) {
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        binding.var = new(binding.var);
        if let Value::Function(lambda) = &mut binding.value {
            lambda.params.iter_mut().for_each(|param| *param = new(*param));
        }
        binding.value.each_body_mut(&mut |nested| define(nested, new));
    }
}

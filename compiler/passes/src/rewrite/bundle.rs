//! Bundling of parameters into one tuple.

use super::Emitter;
use crate::analysis::symbolic;
use hammock_ir::{
    Name, Span, TensorShape, Type,
    prim::Var as PrimVar,
    relax::{Binding, Body, Callee, Function, Lambda, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bundles the parameters after the inputs of a global function.
pub fn bundle(function: &mut Function, inputs: usize, tuple_name: &Name) {
    let mut lambda = std::mem::replace(&mut function.lambda, Function::empty().lambda);
    bundle_lambda(function, &mut lambda, inputs, tuple_name);
    function.lambda = lambda;
}

/// Bundles the parameters after the inputs of a lambda; `function` has its variables.
pub fn bundle_lambda(function: &mut Function, lambda: &mut Lambda, inputs: usize, tuple_name: &Name) {
    let weights = lambda.params.split_off(inputs);
    let known = symbolic::defined(function, &lambda.params);
    let scalars = weights.iter().filter_map(|v| function.scalar(*v));
    let unknown: Vec<PrimVar> = scalars.filter(|scalar| !known.contains(scalar)).cloned().collect();
    let types = weights.iter().map(|weight| without(function.ty(*weight), &unknown)).collect();
    let tuple = function.new_var(tuple_name.clone(), Type::Tuple(types), false, lambda.span);
    lambda.params.push(tuple);
    lambda.ret_ty = without(&lambda.ret_ty, &unknown);

    let mut named: FxHashSet<Var> = FxHashSet::default();
    function.vars.values().for_each(|info| info.ty.each_var(&mut |v| _ = named.insert(v)));
    let mut bundle = Bundle { tuple, fields: FxHashMap::default(), unknown };
    let mut prologue = Emitter::new(false);
    for (i, weight) in weights.into_iter().enumerate() {
        // Variables in expressions and types keep their names.
        if function.scalar(weight).is_some() || named.contains(&weight) {
            let (value, span) = (Value::TupleGet(tuple.into(), i), function.vars[weight].span);
            prologue.push(Binding { var: weight, value, span });
        } else {
            bundle.fields.insert(weight, i);
        }
    }
    bundle.body(function, &mut lambda.body);
    if !prologue.bindings.is_empty() {
        lambda.body.blocks.insert(0, prologue.block());
    }
}

/// Returns a type without sizes that use these variables.
fn without(ty: &Type, unknown: &[PrimVar]) -> Type {
    let mut ty = ty.clone();
    if !unknown.is_empty() {
        ty.each_shape_mut(&mut |shape| {
            let is_unknown = |dims: &[hammock_ir::PrimExpr]| dims.iter().any(|d| unknown.iter().any(|v| d.uses(v)));
            if let Some(dims) = shape.dims().filter(|dims| is_unknown(dims)) {
                *shape = TensorShape::Rank(dims.len());
            }
        });
    }
    ty
}

/// Replaces uses of weights by fields of their tuple.
struct Bundle {
    tuple: Var,
    fields: FxHashMap<Var, usize>,
    /// Symbolic variables that are weights themselves.
    unknown: Vec<PrimVar>,
}

impl Bundle {
    fn body(&self, function: &mut Function, body: &mut Body) {
        for block in &mut body.blocks {
            let mut out = Emitter::new(block.dataflow);
            for mut binding in std::mem::take(&mut block.bindings) {
                binding.value.each_body_mut(&mut |nested| self.body(function, nested));
                if let Value::Call(call) = &mut binding.value
                    && let Callee::Var(callee) = &mut call.callee
                    && let Some(field) = self.take(function, *callee, binding.span, &mut out)
                {
                    *callee = field;
                }
                binding.value.each_operand_mut(&mut |o| self.operand(function, o, binding.span, &mut out));
                out.push(binding);
            }
            *block = out.block();
        }
        let mut out = Emitter::new(false);
        self.operand(function, &mut body.result, Span::NONE, &mut out);
        if !out.bindings.is_empty() {
            body.blocks.push(out.block());
        }
    }

    fn operand(&self, function: &mut Function, operand: &mut Operand, span: Span, out: &mut Emitter) {
        match operand {
            Operand::Tuple(fields) => fields.iter_mut().for_each(|o| self.operand(function, o, span, out)),
            Operand::Var(var) => {
                if let Some(field) = self.take(function, *var, span, out) {
                    *var = field;
                }
            }
            _ => {}
        }
    }

    /// Binds a weight's field to a new variable; `None` for variables that are no weights.
    fn take(&self, function: &mut Function, var: Var, span: Span, out: &mut Emitter) -> Option<Var> {
        let field = *self.fields.get(&var)?;
        let (name, ty) = (function.vars[var].name.clone(), function.ty(var).clone());
        let erased = without(&ty, &self.unknown);
        let taken = out.bind(function, &name, erased, Value::TupleGet(self.tuple.into(), field), span);
        let mut depends = false;
        ty.each_expr(&mut |e| depends |= self.unknown.iter().any(|v| e.uses(v)));
        if !depends {
            return Some(taken);
        }
        Some(out.bind(function, &name, ty.clone(), Value::MatchCast(taken.into(), ty), span))
    }
}

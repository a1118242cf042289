//! Symbolic variables that a `match_cast` binds to sizes that have names already.

use crate::analysis::symbolic;
use hammock_ir::{
    Module, PrimExpr, TensorShape, Type,
    prim::{Substitution, Var as Dim},
    relax::{Body, Function, Operand, Value},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces such variables in a function; returns true if there are any. Variables whose value the program binds to a
/// Relax variable stay.
pub fn replace(module: &Module, function: &mut Function) -> bool {
    let mut search = CastSearch { module, function, bodies: 0, defined_in: FxHashMap::default(), known: Vec::new() };
    search.body(&function.lambda.body);
    let CastSearch { defined_in, known, .. } = search;
    if known.is_empty() {
        return false;
    }
    let fixed_symbols = fixed_symbols(function);
    let mut values = Substitution::default();
    for (dim, value) in known {
        if fixed_symbols.contains(&dim) || defined_in.get(&dim).is_none_or(Option::is_none) || values.contains_key(&dim)
        {
            continue;
        }
        let value = value.substitute(&values);
        if !value.uses(&dim) {
            values.insert(dim, value);
        }
    }
    function.substitute_dims(&values);
    !values.is_empty()
}

/// Returns variables that must stay: parameters define them, Relax variables hold their values, or the program reads
/// their value.
fn fixed_symbols(function: &Function) -> FxHashSet<Dim> {
    let mut fixed_symbols: FxHashSet<Dim> = function.vars.values().filter_map(|info| info.scalar.clone()).collect();
    let mut params = function.lambda.params.clone();
    function.lambda.body.walk(&mut |binding| {
        if let Value::Function(lambda) = &binding.value {
            params.extend(&lambda.params);
        }
    });
    for param in params {
        function.ty(param).each_expr(&mut |e| fixed_symbols.extend(e.as_var().cloned()));
    }
    function.lambda.body.each_operand(&mut |operand| {
        operand.walk(&mut |o| {
            if let Operand::Prim(e) = o {
                fixed_symbols.extend(symbolic::vars(e));
            }
        });
    });
    fixed_symbols
}

struct CastSearch<'a> {
    module: &'a Module,
    function: &'a Function,
    bodies: usize,
    /// Body in which casts define a variable; `None` if there are several.
    defined_in: FxHashMap<Dim, Option<usize>>,
    /// Equations from casts, in order.
    known: Vec<(Dim, PrimExpr)>,
}

impl CastSearch<'_> {
    fn body(&mut self, body: &Body) {
        let number = self.bodies;
        self.bodies += 1;
        for binding in body.bindings() {
            if let Value::MatchCast(operand, ty) = &binding.value {
                ty.each_expr(&mut |e| {
                    if let Some(dim) = e.as_var() {
                        let home = self.defined_in.entry(dim.clone()).or_insert(Some(number));
                        *home = home.filter(|home| *home == number);
                    }
                });
                let known = self.function.operand_ty(self.module, operand);
                self.compare(ty, &known);
            }
            binding.value.each_body(&mut |nested| self.body(nested));
        }
    }

    fn compare(&mut self, pattern: &Type, known: &Type) {
        let (Some(pattern), Some(known)) = (dims(pattern), dims(known)) else {
            if let (Type::Tuple(patterns), Type::Tuple(known)) = (pattern, known) {
                patterns.iter().zip(known).for_each(|(pattern, known)| self.compare(pattern, known));
            }
            return;
        };
        for (pattern, known) in pattern.iter().zip(known) {
            if let Some(dim) = pattern.as_var()
                && known.as_var() != Some(dim)
            {
                self.known.push((dim.clone(), known.clone()));
            }
        }
    }
}

fn dims(ty: &Type) -> Option<&[PrimExpr]> {
    match ty {
        Type::Tensor(t) => match &t.shape {
            TensorShape::Known(dims) => Some(dims),
            _ => None,
        },
        other => symbolic::dims(other),
    }
}

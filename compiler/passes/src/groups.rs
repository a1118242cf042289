//! Groups of bindings become functions, and calls of them.
//!
//! Shared by the passes that decide by themselves what belongs together. Each group of a dataflow block becomes a private
//! function, which is called where the first of its bindings stood, after what the group needs. Equal functions are
//! made once.

use crate::shared_functions::SharedFunctions;
use hammock_ir::{
    Attrs, Function as Global, Module, Span, Type,
    relax::{Argument, Binding, Block, Body, Call, Callee, Function, Operand, Outlining, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A group of bindings.
pub struct Group {
    /// The name that its function gets where that is free.
    pub name: String,
    /// The function's attributes.
    pub attrs: Attrs,
}

/// Groups of the bindings of a function.
#[derive(Default)]
pub struct Groups {
    /// The groups.
    pub all: Vec<Group>,
    /// The group of each binding that is in one.
    pub of: FxHashMap<Var, usize>,
}

/// Turns the groups in a function's dataflow blocks into calls.
pub fn outline_groups(
    module: &mut Module,
    function: &mut Function,
    mut body: Body,
    groups: &Groups,
    how: Outlining,
    shared: &mut SharedFunctions,
) -> Body {
    let outputs = outputs(function, &body, groups);
    for block in body.blocks.iter_mut().filter(|block| block.dataflow) {
        if block.bindings.iter().any(|binding| groups.of.contains_key(&binding.var)) {
            let bindings = std::mem::take(&mut block.bindings);
            let mut outliner = Outliner { module, function, groups, outputs: &outputs, how, shared, out: Vec::new() };
            outliner.block(bindings);
            *block = Block { dataflow: true, bindings: outliner.out };
        }
    }
    body
}

/// What of each group is used outside of it: what is visible outside the block, then the rest in order of its uses.
fn outputs(function: &Function, body: &Body, groups: &Groups) -> Vec<Vec<Var>> {
    let mut outputs: Vec<Vec<Var>> = groups.all.iter().map(|_| Vec::new()).collect();
    let mut known: FxHashSet<Var> = FxHashSet::default();
    for binding in body.bindings() {
        if let Some(group) = groups.of.get(&binding.var)
            && !function.vars[binding.var].dataflow
            && known.insert(binding.var)
        {
            outputs[*group].push(binding.var);
        }
    }
    for binding in body.bindings() {
        let own = groups.of.get(&binding.var);
        binding.value.each_operand(&mut |o| {
            o.each_var(&mut |used| {
                if let Some(group) = groups.of.get(&used)
                    && own != Some(group)
                    && known.insert(used)
                {
                    outputs[*group].push(used);
                }
            });
        });
    }
    outputs
}

struct Outliner<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    groups: &'a Groups,
    outputs: &'a [Vec<Var>],
    how: Outlining,
    shared: &'a mut SharedFunctions,
    out: Vec<Binding>,
}

/// A binding that is in no group, or all of a group's.
type Unit = Vec<Binding>;

impl Outliner<'_> {
    fn block(&mut self, bindings: Vec<Binding>) {
        let (mut units, needs) = self.units(bindings);
        for unit in in_order(&needs) {
            let bindings = std::mem::take(&mut units[unit]);
            match bindings.first().and_then(|binding| self.groups.of.get(&binding.var)) {
                Some(group) => self.call(*group, bindings),
                None => self.out.extend(bindings),
            }
        }
    }

    /// The units of a block by their first bindings, and which others each needs.
    fn units(&self, bindings: Vec<Binding>) -> (Vec<Unit>, Vec<Vec<usize>>) {
        let (mut units, mut needs): (Vec<Unit>, Vec<Vec<usize>>) = Default::default();
        let mut of_group: FxHashMap<usize, usize> = FxHashMap::default();
        let mut of_var: FxHashMap<Var, usize> = FxHashMap::default();
        let mut of_dim: FxHashMap<hammock_ir::prim::Var, usize> = FxHashMap::default();
        for binding in bindings {
            let new = units.len();
            let unit = match self.groups.of.get(&binding.var) {
                Some(group) => *of_group.entry(*group).or_insert(new),
                None => new,
            };
            if unit == new {
                units.push(Vec::new());
                needs.push(Vec::new());
            }
            let needed = &mut needs[unit];
            let mut need = |other: Option<&usize>| {
                if let Some(other) = other.filter(|other| **other != unit) {
                    needed.push(*other);
                }
            };
            binding.value.each_operand(&mut |o| o.each_var(&mut |used| need(of_var.get(&used))));
            self.function.ty(binding.var).each_expr(&mut |e| e.each_var(&mut |dim| need(of_dim.get(dim))));
            if let Value::MatchCast(_, ty) = &binding.value {
                ty.each_expr(&mut |e| {
                    if let Some(dim) = e.as_var() {
                        of_dim.entry(dim.clone()).or_insert(unit);
                    }
                });
            }
            if let Some(scalar) = self.function.scalar(binding.var) {
                of_dim.insert(scalar.clone(), unit);
            }
            of_var.insert(binding.var, unit);
            units[unit].push(binding);
        }
        (units, needs)
    }

    /// Calls the function that a group becomes. What nothing uses is dropped.
    fn call(&mut self, group: usize, bindings: Vec<Binding>) {
        let (outputs, span) = (&self.outputs[group], bindings.first().map_or(Span::NONE, |binding| binding.span));
        if outputs.is_empty() {
            return;
        }
        let mut outlined = self.function.outline(self.module, bindings, outputs, self.how);
        let Group { name, attrs } = &self.groups.all[group];
        outlined.function.lambda.attrs = attrs.clone();
        let name = self.shared.share(self.module, name, Global::Relax(outlined.function));
        let args = outlined.args.into_iter().map(|arg| self.argument(arg, span)).collect();
        let call = Value::Call(Call { callee: Callee::Global(name), args, attrs: Attrs::new(), ty_args: Vec::new() });
        match outputs.as_slice() {
            [output] => self.out.push(Binding { var: *output, value: call, span }),
            outputs => {
                let ty = Type::Tuple(outputs.iter().map(|v| self.function.ty(*v).clone()).collect());
                let tuple = self.function.new_var("lv", ty, true, span);
                self.out.push(Binding { var: tuple, value: call, span });
                let field =
                    |(at, var): (usize, &Var)| Binding { var: *var, value: Value::TupleGet(tuple.into(), at), span };
                self.out.extend(outputs.iter().enumerate().map(field));
            }
        }
    }

    fn argument(&mut self, arg: Argument, span: Span) -> Operand {
        match arg {
            Argument::Operand(operand) => operand,
            Argument::Field(tuple, at) => {
                let ty = self.function.ty(tuple).as_tuple().and_then(|fields| fields.get(at)).cloned();
                let var = self.function.new_var("lv", ty.unwrap_or(Type::Any), true, span);
                self.out.push(Binding { var, value: Value::TupleGet(tuple.into(), at), span });
                var.into()
            }
        }
    }
}

/// The units in their order, but each after those that it needs.
fn in_order(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(needs.len());
    let mut begun = vec![false; needs.len()];
    for unit in 0..needs.len() {
        // What is to be done: units with the next of their needs to look at.
        let mut stack = if std::mem::replace(&mut begun[unit], true) { Vec::new() } else { vec![(unit, 0)] };
        while let Some((unit, at)) = stack.pop() {
            match needs[unit].get(at) {
                None => order.push(unit),
                Some(need) => {
                    stack.push((unit, at + 1));
                    if !std::mem::replace(&mut begun[*need], true) {
                        stack.push((*need, 0));
                    }
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn units_come_after_what_they_need() {
        assert_eq!(in_order(&[vec![], vec![0], vec![1]]), [0, 1, 2]);
        assert_eq!(in_order(&[vec![2], vec![], vec![1], vec![0]]), [1, 2, 0, 3]);
        assert_eq!(
            in_order(&(0..100_000).map(|n| if n < 99_999 { vec![n + 1] } else { vec![] }).collect::<Vec<_>>()).len(),
            100_000
        );
    }
}

//! Outlining of groups of bindings into functions.
//!
//! Each group in a dataflow block becomes a private function, which is called at the position of the group's first
//! binding, after the bindings that the group needs. Equal functions are shared. A group that violates memory
//! dependences is dropped: something between its bindings writes to memory that they read, or reads what they write.
//! Constant shapes and scalars that are bound outside are inlined.

use crate::rewrite::shared_functions::SharedFunctions;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Attrs, Function as Global, Module, PrimExpr, Span, Type, prim,
    relax::{
        Argument, Binding, Body, Call, Callee, Function, Operand, Outlining, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// A group of bindings.
#[derive(Clone)]
pub struct Group {
    /// Preferred name of its function.
    pub name: String,
    /// The function's attributes.
    pub attrs: Attrs,
}

/// Groups of the bindings of a function.
#[derive(Clone, Default)]
pub struct Groups {
    /// The groups.
    pub all: Vec<Group>,
    /// Group of each grouped binding.
    pub of: FxHashMap<Var, usize>,
}

/// Replaces the groups in a function's dataflow blocks by calls.
///
/// # Errors
/// If a group depends on its own result.
pub fn outline_groups(
    module: &mut Module,
    function: &mut Function,
    mut body: Body,
    groups: &Groups,
    (writers, how): (&Writers, Outlining),
    shared: &mut SharedFunctions,
) -> Result<Body, Diagnostic> {
    let memory = dependences(function, &mut body, writers);
    let legal_groups = (!memory.is_empty()).then(|| legal_groups(function, &memory, &body, groups));
    let groups = legal_groups.as_ref().unwrap_or(groups);
    let statics = statics(&body);
    let mut sizes = FxHashSet::default();
    function.lambda.params.iter().for_each(|param| each_size(function.ty(*param), &mut |dim| _ = sizes.insert(dim)));
    let (outputs, out) = Default::default();
    let statics = &statics;
    let mut outliner =
        Outliner { module, function, memory: &memory, groups, statics, outputs, sizes, how, shared, out };
    outliner.body(&mut body)?;
    Ok(body)
}

/// Returns the memory dependences of a function whose body is taken out.
fn dependences(function: &mut Function, body: &mut Body, writers: &Writers) -> MemoryDependences {
    std::mem::swap(&mut function.lambda.body, body);
    let memory = MemoryDependences::of(function, writers, &Table);
    std::mem::swap(&mut function.lambda.body, body);
    memory
}

/// Returns the groups that memory dependences allow. A group is dropped if it would have to run both before and after
/// something, or if its results are unused while it writes to memory.
fn legal_groups(function: &Function, memory: &MemoryDependences, body: &Body, groups: &Groups) -> Groups {
    let mut legal_groups = groups.clone();
    let outputs = outputs(function, body, groups);
    legal_groups.of.retain(|var, group| !outputs[*group].is_empty() || !memory.writes(*var));
    drop_illegal(function, memory, body, &mut legal_groups);
    legal_groups
}

fn drop_illegal(function: &Function, memory: &MemoryDependences, body: &Body, groups: &mut Groups) {
    for block in &body.blocks {
        let is_grouped = |binding: &Binding, groups: &Groups| groups.of.contains_key(&binding.var);
        let edges = if block.dataflow { memory.order(&block.bindings) } else { Vec::new() };
        while !edges.is_empty() && block.bindings.iter().any(|binding| is_grouped(binding, groups)) {
            let (units, needs) = units(function, groups, &FxHashSet::default(), &edges, &block.bindings);
            let Err(cycle) = sort_units(&needs) else { break };
            let first = |unit: &usize| block.bindings[units[*unit][0]].var;
            let Some(given_up) = cycle.iter().find_map(|unit| groups.of.get(&first(unit)).copied()) else { break };
            groups.of.retain(|_, group| *group != given_up);
        }
        for binding in &block.bindings {
            binding.value.each_body(&mut |nested| drop_illegal(function, memory, nested, groups));
        }
    }
}

/// Calls `f` on the variables that a type's sizes define.
fn each_size(ty: &Type, f: &mut dyn FnMut(prim::Var)) {
    ty.each_expr(&mut |e| {
        if let Some(dim) = e.as_var() {
            f(dim.clone());
        }
    });
}

/// Returns the variables bound to constant shapes and scalars.
fn statics(body: &Body) -> FxHashMap<Var, Operand> {
    let mut statics: FxHashMap<Var, Operand> = FxHashMap::default();
    body.walk(&mut |binding| {
        if let Value::Operand(operand) = &binding.value {
            let known = match operand {
                Operand::Var(var) => statics.get(var).cloned(),
                operand => Some(operand.clone()).filter(is_static),
            };
            statics.extend(known.map(|operand| (binding.var, operand)));
        }
    });
    statics
}

fn is_static(operand: &Operand) -> bool {
    match operand {
        Operand::Prim(e) => e.as_int().is_some() || e.as_float().is_some(),
        Operand::Shape(dims) => dims.iter().all(|dim| dim.as_int().is_some()),
        Operand::Tuple(members) => !members.is_empty() && members.iter().all(is_static),
        _ => false,
    }
}

/// Returns each group's outputs: variables visible outside the block, then the others in order of their uses.
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
        binding.value.each_use(&mut |used| {
            if let Some(group) = groups.of.get(&used)
                && own != Some(group)
                && known.insert(used)
            {
                outputs[*group].push(used);
            }
        });
    }
    outputs
}

struct Outliner<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    memory: &'a MemoryDependences,
    groups: &'a Groups,
    statics: &'a FxHashMap<Var, Operand>,
    /// Outputs of each group.
    outputs: Vec<Vec<Var>>,
    /// Sizes defined before the block.
    sizes: FxHashSet<prim::Var>,
    how: Outlining,
    shared: &'a mut SharedFunctions,
    out: Vec<Binding>,
}

/// A binding outside groups, or all bindings of a group, as indices in the block.
type Unit = Vec<usize>;

/// Returns the units of a block, in order of their first bindings, and the dependences of each: variables, sizes that
/// are not defined before the block, and edges between bindings.
fn units(
    function: &Function,
    groups: &Groups,
    given: &FxHashSet<prim::Var>,
    edges: &[(Var, Var)],
    bindings: &[Binding],
) -> (Vec<Unit>, Vec<Vec<usize>>) {
    let (mut units, mut needs): (Vec<Unit>, Vec<Vec<usize>>) = Default::default();
    let mut of_group: FxHashMap<usize, usize> = FxHashMap::default();
    let mut of_var: FxHashMap<Var, usize> = FxHashMap::default();
    let mut of_dim: FxHashMap<prim::Var, usize> = FxHashMap::default();
    for (index, binding) in bindings.iter().enumerate() {
        let new = units.len();
        let unit = match groups.of.get(&binding.var) {
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
        binding.value.each_use(&mut |used| need(of_var.get(&used)));
        let mut sizes = |e: &PrimExpr| e.each_var(&mut |dim| need(of_dim.get(dim)));
        binding.value.each_operand(&mut |o| o.each_expr(&mut sizes));
        binding.value.each_body(&mut |body| body.each_operand(&mut |o| o.each_expr(&mut sizes)));
        function.ty(binding.var).each_expr(&mut sizes);
        if let Value::MatchCast(_, ty) = &binding.value {
            each_size(ty, &mut |dim| {
                if !given.contains(&dim) {
                    of_dim.entry(dim).or_insert(unit);
                }
            });
        }
        if let Some(scalar) = function.scalar(binding.var) {
            of_dim.insert(scalar.clone(), unit);
        }
        of_var.insert(binding.var, unit);
        units[unit].push(index);
    }
    for (earlier, later) in edges {
        if let (Some(earlier), Some(later)) = (of_var.get(earlier), of_var.get(later))
            && earlier != later
        {
            needs[*later].push(*earlier);
        }
    }
    (units, needs)
}

impl Outliner<'_> {
    fn body(&mut self, body: &mut Body) -> Result<(), Diagnostic> {
        self.outputs = outputs(self.function, body, self.groups);
        for block in &mut body.blocks {
            let mut sizes = Vec::new();
            for binding in &block.bindings {
                if let Value::MatchCast(_, ty) = &binding.value {
                    each_size(ty, &mut |dim| sizes.push(dim));
                }
            }
            if block.dataflow && block.bindings.iter().any(|binding| self.groups.of.contains_key(&binding.var)) {
                let bindings = std::mem::take(&mut block.bindings);
                block.bindings = self.block(bindings)?;
            }
            self.sizes.extend(sizes);
        }
        let mut done = Ok(());
        for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
            binding.value.each_body_mut(&mut |nested| {
                if done.is_ok() {
                    done = self.body(nested);
                }
            });
        }
        done
    }

    fn block(&mut self, bindings: Vec<Binding>) -> Result<Vec<Binding>, Diagnostic> {
        let edges = self.memory.order(&bindings);
        let (units, needs) = units(self.function, self.groups, &self.sizes, &edges, &bindings);
        let order = sort_units(&needs).map_err(|cycle| self.cycle(&bindings, &units, &cycle))?;
        let mut bindings: Vec<Option<Binding>> = bindings.into_iter().map(Some).collect();
        for unit in order {
            let bindings: Vec<Binding> = units[unit].iter().filter_map(|index| bindings[*index].take()).collect();
            match bindings.first().and_then(|binding| self.groups.of.get(&binding.var)) {
                Some(group) => self.call(*group, bindings),
                None => self.out.extend(bindings),
            }
        }
        Ok(std::mem::take(&mut self.out))
    }

    /// Returns the error for units that depend on each other in a cycle.
    fn cycle(&self, bindings: &[Binding], units: &[Unit], cycle: &[usize]) -> Diagnostic {
        let last = |is_group: bool| {
            let of = |binding: &&Binding| self.groups.of.contains_key(&binding.var) == is_group;
            cycle.iter().find_map(|unit| units[*unit].last().map(|index| &bindings[*index]).filter(of))
        };
        let name = |binding: &Binding| self.function.vars[binding.var].name.clone();
        let (group, other) = (last(true), last(false));
        let whole = group.map_or_else(String::new, |binding| format!(" that ends with `{}`", name(binding)));
        let message = match other {
            Some(other) => {
                format!("a group{whole} needs its own result: through `{}`, which is not in it", name(other))
            }
            None => format!("groups need each other's results: one{whole}, and another"),
        };
        let span = |binding: Option<&Binding>| binding.map_or(Span::NONE, |binding| binding.span);
        let error = Diagnostic::error(codes::CYCLIC_GROUP, message).label(span(group), "the group ends here");
        let error = error.secondary(span(other), "needs a part of the group, and is needed by another");
        error.help(match other.map(|binding| &binding.value) {
            Some(Value::Operand(_)) => "it is another name for a value: run `CanonicalizeBindings` first",
            _ => "let the pattern cover what is between, or fit less",
        })
    }

    /// Emits the call of a group's function. Groups without outputs are dropped.
    fn call(&mut self, group: usize, mut bindings: Vec<Binding>) {
        let outputs = std::mem::take(&mut self.outputs[group]);
        if outputs.is_empty() {
            return;
        }
        let span = bindings.first().map_or(Span::NONE, |binding| binding.span);
        let order: FxHashMap<Var, usize> = bindings.iter().enumerate().map(|(at, binding)| (binding.var, at)).collect();
        self.inline_constants(&mut bindings);
        let mut outlined = self.function.outline(self.module, bindings, &outputs, self.how);
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
                let mut fields: Vec<(usize, &Var)> = outputs.iter().enumerate().collect();
                fields.sort_by_key(|(_, var)| order.get(var));
                self.out.extend(fields.into_iter().map(field));
            }
        }
    }

    /// Inlines constant shapes and scalars.
    fn inline_constants(&self, bindings: &mut [Binding]) {
        if self.statics.is_empty() {
            return;
        }
        for binding in bindings {
            binding.value.each_operand_mut(&mut |operand| {
                operand.map(&mut |o| {
                    if let Some(known) = o.as_var().and_then(|var| self.statics.get(&var)) {
                        *o = known.clone();
                    }
                });
            });
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

/// Sorts the units topologically, otherwise stably; fails with the units of a cycle.
fn sort_units(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut order = Vec::with_capacity(needs.len());
    let mut states = vec![State::New; needs.len()];
    for first in 0..needs.len() {
        // Work stack: units with the index of their next dependence.
        let mut stack = Vec::new();
        if states[first] == State::New {
            states[first] = State::Open;
            stack.push((first, 0));
        }
        while let Some((unit, at)) = stack.pop() {
            let Some(need) = needs[unit].get(at) else {
                states[unit] = State::Done;
                order.push(unit);
                continue;
            };
            stack.push((unit, at + 1));
            match states[*need] {
                State::New => {
                    states[*need] = State::Open;
                    stack.push((*need, 0));
                }
                State::Open => {
                    let open = stack.iter().map(|(unit, _)| *unit);
                    return Err(open.skip_while(|unit| unit != need).collect());
                }
                State::Done => {}
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::sort_units;

    #[test]
    fn units_come_after_what_they_need() {
        assert_eq!(sort_units(&[vec![], vec![0], vec![1]]), Ok(vec![0, 1, 2]));
        assert_eq!(sort_units(&[vec![2], vec![], vec![1], vec![0]]), Ok(vec![1, 2, 0, 3]));
        assert_eq!(sort_units(&[vec![1], vec![2], vec![3], vec![1]]), Err(vec![1, 2, 3]));
        let chain: Vec<Vec<usize>> = (0..100_000).map(|n| if n < 99_999 { vec![n + 1] } else { vec![] }).collect();
        assert_eq!(sort_units(&chain).map(|order| order.len()), Ok(100_000));
    }
}

//! Canonicalization of bindings: one name per value.

mod retype;
mod symbols;

use crate::rewrite;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, equal,
    relax::{Body, Function, Operand, Replacements, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Removes aliases in a function, and completes its symbolic variables and types.
pub fn canonicalize_with_types(module: &Module, function: &mut Function) {
    let replaced = symbols::replace(module, function);
    let aliases = Aliases::of(module, function, true);
    let changed = retype::users(function, &aliases.values);
    let outputs = unused_outputs(function, &aliases.values);
    aliases.apply(function);
    outputs.into_iter().for_each(|var| function.vars[var].dataflow = true);
    retype::retype(module, function, changed, replaced);
    rewrite::merge_blocks(&mut function.lambda.body);
}

/// Removes aliases in a function; symbolic variables and types stay as they are.
pub fn canonicalize(function: &mut Function) -> Result<(), Diagnostic> {
    Aliases::of(&Module::new(), function, false).apply(function);
    rewrite::merge_blocks(&mut function.lambda.body);
    Ok(())
}

/// Aliases in a function.
struct Aliases {
    /// Replacements of variables.
    values: Replacements,
    /// Variables whose bindings are removed.
    removed: FxHashSet<Var>,
    /// Dataflow variables that become visible outside, with the variables whose names they take.
    exposed: Vec<(Var, Var)>,
}

impl Aliases {
    /// Finds the aliases. `keep_constants` keeps variables bound to constants even if unused.
    fn of(module: &Module, function: &Function, keep_constants: bool) -> Aliases {
        let mut search = AliasSearch::new(module, function);
        search.body(&function.lambda.body);
        let AliasSearch { names, constants, exposed, .. } = search;
        let mut removed: FxHashSet<Var> = names.keys().copied().collect();
        if !keep_constants {
            removed.extend(constants.keys());
        }
        let is_constant = |v: &Var| constants.get(v).filter(|_| !keep_constants || !exposed.contains_key(v));
        let mut values: Replacements = names.clone();
        for value in values.values_mut() {
            if let Operand::Var(source) = value
                && let Some(constant) = is_constant(source)
            {
                *value = constant.clone();
            }
        }
        values.extend(constants.keys().filter_map(|v| Some((*v, is_constant(v)?.clone()))));
        Aliases { values, removed, exposed: exposed.into_iter().collect() }
    }

    fn apply(self, function: &mut Function) {
        for (source, alias) in self.exposed {
            function.vars[source].dataflow = false;
            function.vars[source].name = function.vars[alias].name.clone();
        }
        remove(&mut function.lambda.body, &self.removed);
        function.replace(&self.values);
    }
}

fn remove(body: &mut Body, removed: &FxHashSet<Var>) {
    for block in &mut body.blocks {
        block.bindings.retain(|binding| !removed.contains(&binding.var));
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut |nested| remove(nested, removed));
        }
    }
}

/// Search for aliases, from the first binding to the last.
struct AliasSearch<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Values that variables are aliases of, fully resolved.
    names: Replacements,
    constants: Replacements,
    /// Dataflow variables that become visible outside, with their first visible alias.
    exposed: FxHashMap<Var, Var>,
    /// Fields of tuples.
    tuples: FxHashMap<Var, Vec<Operand>>,
    /// Variables that are fields of tuples: the tuple and the index.
    fields: FxHashMap<Var, (Var, usize)>,
}

impl<'a> AliasSearch<'a> {
    fn new(module: &'a Module, function: &'a Function) -> Self {
        let (names, constants, exposed) = Default::default();
        AliasSearch {
            module,
            function,
            names,
            constants,
            exposed,
            tuples: FxHashMap::default(),
            fields: FxHashMap::default(),
        }
    }

    fn body(&mut self, body: &Body) {
        for binding in body.bindings() {
            self.binding(binding.var, &binding.value);
            binding.value.each_body(&mut |nested| self.body(nested));
        }
    }

    fn binding(&mut self, var: Var, value: &Value) {
        match self.source(var, value) {
            Some(constant @ Operand::Const(_)) => _ = self.constants.insert(var, constant),
            Some(source) => {
                if let Operand::Var(v) = source
                    && self.function.vars[v].dataflow
                    && !self.function.vars[var].dataflow
                {
                    self.exposed.entry(v).or_insert(var);
                }
                self.names.insert(var, source);
            }
            None => {}
        }
    }

    /// Returns the operand that the value is an alias of. Records tuples and their fields.
    fn source(&mut self, var: Var, value: &Value) -> Option<Operand> {
        match value {
            Value::Operand(Operand::Tuple(fields)) if !fields.is_empty() => {
                let fields: Vec<Operand> = fields.iter().map(|field| self.resolve(field)).collect();
                let whole = self.whole(&fields);
                self.tuples.insert(var, fields);
                whole.map(Operand::Var)
            }
            Value::Operand(operand @ (Operand::Var(_) | Operand::Const(_) | Operand::Global(_))) => {
                Some(self.resolve(operand))
            }
            Value::TupleGet(tuple, index) => {
                let tuple = match self.resolve(tuple) {
                    Operand::Tuple(fields) => return fields.get(*index).cloned(),
                    tuple => tuple.as_var()?,
                };
                match self.tuples.get(&tuple) {
                    Some(fields) => fields.get(*index).cloned(),
                    None => {
                        self.fields.insert(var, (tuple, *index));
                        None
                    }
                }
            }
            Value::MatchCast(operand, _) => {
                let source = self.resolve(operand);
                let same = equal::types(&self.function.operand_ty(self.module, operand), self.function.ty(var));
                (same && source.as_var().is_some()).then_some(source)
            }
            _ => None,
        }
    }

    /// Returns the tuple that has exactly these fields, in order.
    fn whole(&self, fields: &[Operand]) -> Option<Var> {
        let field = |operand: &Operand| self.fields.get(&operand.as_var()?).copied();
        let (tuple, _) = field(fields.first()?)?;
        let complete = self.function.ty(tuple).as_tuple()?.len() == fields.len();
        let mut in_order = fields.iter().enumerate().map(|(i, operand)| field(operand) == Some((tuple, i)));
        (complete && in_order.all(|same| same)).then_some(tuple)
    }

    fn resolve(&self, operand: &Operand) -> Operand {
        match operand {
            Operand::Var(v) => self.names.get(v).unwrap_or(operand).clone(),
            Operand::Tuple(fields) => Operand::Tuple(fields.iter().map(|field| self.resolve(field)).collect()),
            other => other.clone(),
        }
    }
}

/// Returns variables of dataflow blocks that are unused outside, under their own names and their aliases.
fn unused_outputs(function: &Function, names: &Replacements) -> Vec<Var> {
    let mut uses = OutsideUses::default();
    uses.body(function, &function.lambda.body);
    let sources = names.iter().filter(|(name, _)| uses.outside.contains(name)).filter_map(|(_, o)| o.as_var());
    let used: FxHashSet<Var> = sources.chain(uses.outside.iter().copied()).collect();
    uses.home.into_keys().filter(|var| !used.contains(var)).collect()
}

#[derive(Default)]
struct OutsideUses {
    blocks: usize,
    /// Dataflow block that binds each variable.
    home: FxHashMap<Var, usize>,
    /// Variables used in other blocks.
    outside: FxHashSet<Var>,
}

impl OutsideUses {
    fn body(&mut self, function: &Function, body: &Body) {
        for block in &body.blocks {
            self.blocks += 1;
            let number = self.blocks;
            for binding in &block.bindings {
                let mut used = |v: Var| {
                    if self.home.get(&v).is_some_and(|home| *home != number) {
                        self.outside.insert(v);
                    }
                };
                binding.value.each_var(&mut used);
                function.ty(binding.var).each_var(&mut used);
                binding.value.each_body(&mut |nested| self.body(function, nested));
                if block.dataflow {
                    self.home.insert(binding.var, number);
                }
            }
        }
        body.result.each_var(&mut |v| _ = self.outside.insert(v));
    }
}

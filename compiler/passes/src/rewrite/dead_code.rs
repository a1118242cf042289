//! Removal of unused bindings and functions.

use crate::{
    analysis::{functions::used_by, purity::is_pure},
    rewrite,
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Name,
    relax::{
        Body, Function, Var,
        memory::{ANY, EXTERNAL, MemoryDependences, Region, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::FxHashSet;

/// Removes unused bindings, and functions that are unreachable from visible functions and `entries`.
pub fn eliminate(module: &mut Module, entries: Vec<String>) -> Result<(), Diagnostic> {
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        remove_unused(module, function, &writers);
        Ok(())
    })?;
    let reachable = reachable(module, entries);
    module.functions.retain(|name, _| reachable.contains(name));
    Ok(())
}

/// Removes a function's unused bindings without side effects, and empty blocks.
pub fn remove_unused(module: &Module, function: &mut Function, writers: &Writers) {
    let memory = MemoryDependences::of(function, writers, &Table);
    let mut body = rewrite::take_body(function);
    Sweep { module, function, memory, live: FxHashSet::default(), read: FxHashSet::default() }.body(&mut body);
    rewrite::merge_blocks(&mut body);
    function.lambda.body = body;
}

/// Backward sweep that removes dead bindings.
struct Sweep<'a> {
    module: &'a Module,
    function: &'a Function,
    memory: MemoryDependences,
    /// Live variables: used later.
    live: FxHashSet<Var>,
    /// Live memory: read later.
    read: FxHashSet<Region>,
}

impl Sweep<'_> {
    fn body(&mut self, body: &mut Body) {
        body.result.each_var(&mut |v| self.uses(v));
        for block in body.blocks.iter_mut().rev() {
            let mut remaining = Vec::with_capacity(block.bindings.len());
            for mut binding in block.bindings.drain(..).rev() {
                if !self.live.contains(&binding.var)
                    && is_pure(self.module, self.function, &binding.value)
                    && !self.writes_live(binding.var)
                {
                    continue;
                }
                binding.value.each_body_mut(&mut |b| self.body(b));
                binding.value.each_var(&mut |v| self.uses(v));
                self.function.ty(binding.var).each_var(&mut |v| _ = self.live.insert(v));
                remaining.push(binding);
            }
            remaining.reverse();
            block.bindings = remaining;
        }
    }

    fn uses(&mut self, var: Var) {
        self.live.insert(var);
        if !self.memory.is_empty() {
            self.read.extend(self.memory.regions(var));
        }
    }

    /// Returns true if a binding writes to live memory, or to memory of the caller.
    fn writes_live(&self, var: Var) -> bool {
        if self.memory.is_empty() {
            return false;
        }
        // Code that runs again, or later, may read what is written here.
        let read = |region: &Region| *region <= EXTERNAL || self.read.contains(region);
        let written = self.memory.written_by(var);
        !written.is_empty() && (written.iter().any(read) || self.read.contains(&ANY) || self.memory.has_closures())
    }
}

fn reachable(module: &Module, entries: Vec<String>) -> FxHashSet<Name> {
    let exported = module.functions.iter().filter(|(_, f)| f.global_symbol().is_some());
    let mut todo: Vec<Name> = exported.map(|(n, _)| n.clone()).collect();
    todo.extend(entries.into_iter().map(Name::from));
    used_by(module, todo)
}

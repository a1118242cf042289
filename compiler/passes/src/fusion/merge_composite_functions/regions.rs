//! Regions of calls that are merged into one function.

use crate::{
    analysis::{
        attributes::{CODEGEN, COMPOSITE},
        composite::{codegen_of, name_of},
        functions::callee,
    },
    rewrite::groups::{Group, Groups},
};
use hammock_ir::{
    Attrs, Module, Name, Type,
    relax::{Body, Function, Graph, Operand, Value, Var},
};
use rustc_hash::FxHashMap;

/// Returns the groups of a function's composite calls.
pub fn groups(module: &Module, function: &Function) -> Groups {
    let graph = Graph::of(function);
    let (regions, of) = Default::default();
    let mut builder = Builder { module, function, graph: &graph, regions, of, block: 0, blocks: 0, visit: 0 };
    builder.body(&function.lambda.body);
    builder.into_groups(&function.lambda.body)
}

/// Values computed together.
struct Region {
    /// Its code generator; a region without one has one value.
    codegen: Option<Name>,
    /// Index of its dataflow block.
    block: usize,
    /// Region that it was merged into.
    merged: Option<usize>,
    /// Regions that it depends on, before merging.
    needs: Vec<usize>,
    /// Last search that visited it.
    visited: usize,
}

struct Builder<'a> {
    module: &'a Module,
    function: &'a Function,
    graph: &'a Graph<'a>,
    regions: Vec<Region>,
    /// Region of each bound variable.
    of: FxHashMap<Var, usize>,
    /// Index of the current block, and number of blocks so far.
    block: usize,
    blocks: usize,
    /// Number of the last search.
    visit: usize,
}

impl Builder<'_> {
    fn body(&mut self, body: &Body) {
        for block in &body.blocks {
            self.blocks += 1;
            let number = self.blocks;
            for binding in &block.bindings {
                self.block = number;
                let region = self.value(binding.var, &binding.value, block.dataflow);
                self.of.insert(binding.var, region);
                binding.value.each_body(&mut |nested| self.body(nested));
            }
        }
    }

    /// Returns the region that computes a value.
    fn value(&mut self, var: Var, value: &Value, dataflow: bool) -> usize {
        match value {
            Value::Call(call) if dataflow && self.codegen(value).is_some() => self.composite(value, &call.args),
            Value::Operand(Operand::Var(other))
                if self.region(*other).is_some_and(|region| self.is_in_current_block(region)) =>
            {
                self.region(*other).unwrap_or(0)
            }
            Value::Operand(Operand::Tuple(members)) if dataflow => self.tuple(var, members),
            Value::TupleGet(Operand::Var(tuple), _) if dataflow && self.absorbs(*tuple) => {
                self.region(*tuple).unwrap_or(0)
            }
            value => {
                let mut needs = Vec::new();
                value.each_var(&mut |v| needs.extend(self.region(v)));
                value.each_body(&mut |body| body.each_use(&mut |v| needs.extend(self.region(v))));
                self.new_region(None, needs)
            }
        }
    }

    /// Merges a composite call with the regions of its arguments, unless another argument depends on them too.
    fn composite(&mut self, value: &Value, args: &[Operand]) -> usize {
        let codegen = self.codegen(value);
        let direct: Vec<usize> = args.iter().filter_map(|arg| self.region(arg.as_var()?)).collect();
        // Members of a tuple literal pass through that tuple, which joins nothing.
        let mut indirect = Vec::new();
        args.iter().filter(|arg| arg.as_var().is_none()).for_each(|arg| {
            arg.each_var(&mut |var| indirect.extend(self.region(var)));
        });
        let mut joined: Vec<usize> = direct
            .iter()
            .copied()
            .filter(|r| self.is_in_current_block(*r) && self.regions[*r].codegen == codegen)
            .collect();
        if direct.iter().any(|region| *region != direct[0]) || !indirect.is_empty() {
            self.mark(&direct, &indirect);
            joined.retain(|region| self.regions[*region].visited != self.visit);
        }
        let needs = direct.into_iter().chain(indirect);
        let Some((first, others)) = joined.split_first() else {
            let needs = needs.collect();
            return self.new_region(codegen, needs);
        };
        others.iter().filter(|other| *other != first).for_each(|other| self.merge(*other, *first));
        self.regions[*first].needs.extend(needs.filter(|region| !joined.contains(region)));
        *first
    }

    /// Marks the dependences of regions, and `others` with theirs.
    fn mark(&mut self, of: &[usize], others: &[usize]) {
        self.visit += 1;
        let mut pending: Vec<usize> = others.to_vec();
        of.iter().for_each(|region| pending.extend(&self.regions[*region].needs));
        while let Some(region) = pending.pop() {
            let region = self.root(region);
            if std::mem::replace(&mut self.regions[region].visited, self.visit) != self.visit {
                pending.extend(&self.regions[region].needs);
            }
        }
    }

    fn merge(&mut self, from: usize, to: usize) {
        self.regions[from].merged = Some(to);
        let needs = std::mem::take(&mut self.regions[from].needs);
        let needs: Vec<usize> = needs.into_iter().filter(|need| self.root(*need) != to).collect();
        self.regions[to].needs.extend(needs);
    }

    /// Merges a tuple of values of one region into it, if it is only taken apart.
    fn tuple(&mut self, var: Var, members: &[Operand]) -> usize {
        let regions: Vec<Option<usize>> =
            members.iter().map(|member| member.as_var().and_then(|v| self.region(v))).collect();
        let common = regions.first().copied().flatten().filter(|first| regions.iter().all(|r| *r == Some(*first)));
        let joins = |region: &usize| self.is_in_current_block(*region) && self.regions[*region].codegen.is_some();
        match common.filter(|region| joins(region) && self.is_taken_apart(var)) {
            Some(region) => region,
            None => {
                let mut needs = Vec::new();
                members.iter().for_each(|member| member.each_var(&mut |v| needs.extend(self.region(v))));
                self.new_region(None, needs)
            }
        }
    }

    fn absorbs(&self, tuple: Var) -> bool {
        let region = self.region(tuple);
        let joins = |region: usize| self.is_in_current_block(region) && self.regions[region].codegen.is_some();
        region.is_some_and(joins) && self.is_taken_apart(tuple)
    }

    /// Returns true if a region is in the current block: functions consist of parts of one block.
    fn is_in_current_block(&self, region: usize) -> bool {
        self.regions[region].block == self.block
    }

    /// Returns true if a tuple of tensors is used for its members alone, under all its names.
    fn is_taken_apart(&self, tuple: Var) -> bool {
        let Type::Tuple(members) = self.function.ty(tuple) else { return false };
        if members.is_empty() || !members.iter().all(|ty| matches!(ty, Type::Tensor(_))) {
            return false;
        }
        let mut first = tuple;
        while let Some(Value::Operand(Operand::Var(other))) = self.graph.def(first).map(|def| &def.binding.value) {
            first = *other;
        }
        let (mut pending, mut found) = (vec![first], false);
        while let Some(name) = pending.pop() {
            if self.graph.results(name) > 0 {
                return false;
            }
            for user in self.graph.users(name) {
                match self.graph.def(*user).map(|def| &def.binding.value) {
                    Some(Value::TupleGet(Operand::Var(of), _)) if *of == name => found = true,
                    Some(Value::Operand(Operand::Var(of))) if *of == name => pending.push(*user),
                    _ => return false,
                }
            }
        }
        found
    }

    /// Returns the code generator of the composite function that a value calls.
    fn codegen(&self, value: &Value) -> Option<Name> {
        let composite = self.module.relax(callee(value)?)?.lambda.attrs.get(COMPOSITE)?.as_str()?;
        Some(codegen_of(composite).into())
    }

    fn new_region(&mut self, codegen: Option<Name>, needs: Vec<usize>) -> usize {
        self.regions.push(Region { codegen, block: self.block, merged: None, needs, visited: 0 });
        self.regions.len() - 1
    }

    fn region(&self, var: Var) -> Option<usize> {
        self.of.get(&var).map(|region| self.root(*region))
    }

    fn root(&self, mut region: usize) -> usize {
        while let Some(into) = self.regions[region].merged {
            region = into;
        }
        region
    }

    fn into_groups(self, body: &Body) -> Groups {
        let mut groups = Groups::default();
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        body.walk(&mut |binding| {
            let Some(region) = self.region(binding.var) else { return };
            let Some(codegen) = &self.regions[region].codegen else { return };
            let number = *numbers.entry(region).or_insert_with(|| {
                let attrs = Attrs::new().with(CODEGEN, &**codegen).with("Primitive", true);
                groups.all.push(Group { name: "fused".to_owned(), attrs });
                groups.all.len() - 1
            });
            groups.all[number].name += &name_of(&binding.value);
            groups.of.insert(binding.var, number);
        });
        groups
    }
}

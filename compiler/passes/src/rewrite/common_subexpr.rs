//! Elimination of common subexpressions in a function.

use crate::{analysis::purity::is_pure, rewrite};
use hammock_ir::{
    Module, equal, hash,
    relax::{
        Block, Body, Call, Callee, Function, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::{Table, lookup};
use rustc_hash::FxHashMap;

/// Computes the same value only once in a function of a module with these writers.
pub fn eliminate(module: &Module, function: &mut Function, writers: &Writers, call_only: bool) {
    let memory = MemoryDependences::of(function, writers, &Table);
    let mut body = rewrite::take_body(function);
    let known = FxHashMap::default();
    let names = FxHashMap::default();
    Eliminator { module, function, call_only, writers, memory, known, log: Vec::new(), names }.body(&mut body);
    function.lambda.body = body;
}

struct Eliminator<'a> {
    module: &'a Module,
    function: &'a Function,
    call_only: bool,
    writers: &'a Writers,
    memory: MemoryDependences,
    /// Variables that can be used here and their values, by the values' hashes.
    known: FxHashMap<u64, Vec<(Var, Value)>>,
    /// What was added to `known`, in order.
    log: Vec<(u64, Var)>,
    /// Variables to use in place of others.
    names: FxHashMap<Var, Var>,
}

impl Eliminator<'_> {
    fn body(&mut self, body: &mut Body) {
        body.blocks.iter_mut().for_each(|block| self.block(block));
        self.rename(&mut body.result);
    }

    /// A body whose values are known only inside of it.
    fn branch(&mut self, body: &mut Body) {
        let begin = self.log.len();
        self.body(body);
        for (hash, var) in self.log.split_off(begin) {
            self.known.entry(hash).or_default().retain(|(v, _)| *v != var);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let begin = self.log.len();
        let mut renamed = Vec::new();
        for binding in &mut block.bindings {
            match &mut binding.value {
                Value::If { cond, then, otherwise } => {
                    self.rename(cond);
                    self.branch(then);
                    self.branch(otherwise);
                }
                Value::Function(lambda) => {
                    let outside = (std::mem::take(&mut self.known), std::mem::take(&mut self.log));
                    self.body(&mut lambda.body);
                    (self.known, self.log) = outside;
                }
                value => {
                    value.each_operand_mut(&mut |o| self.rename(o));
                    if let Some(source) = self.same(binding.var, value) {
                        *value = Value::Operand(source.into());
                        self.names.insert(binding.var, source);
                        renamed.push((source, binding.var));
                    }
                }
            }
        }
        if block.dataflow {
            self.leave_dataflow(begin, &renamed);
        }
    }

    /// Dataflow variables are gone; what they held is known by the block's outputs that were other names for them.
    fn leave_dataflow(&mut self, begin: usize, renamed: &[(Var, Var)]) {
        let is_dataflow = |v: Var| self.function.vars[v].dataflow;
        let mut outputs = FxHashMap::default();
        for (source, name) in renamed.iter().filter(|(_, name)| !is_dataflow(*name)) {
            outputs.entry(*source).or_insert(*name);
        }
        for at in begin..self.log.len() {
            let (hash, var) = self.log[at];
            if !is_dataflow(var) {
                continue;
            }
            let bucket = self.known.entry(hash).or_default();
            match outputs.get(&var).copied() {
                None => bucket.retain(|(v, _)| *v != var),
                Some(output) => {
                    bucket.iter_mut().filter(|(v, _)| *v == var).for_each(|(v, _)| *v = output);
                    self.log.push((hash, output));
                }
            }
        }
        for (source, name) in renamed.iter().filter(|(source, _)| is_dataflow(*source)) {
            match outputs.get(source).copied().filter(|output| output != name) {
                Some(output) => self.names.insert(*name, output),
                None => self.names.remove(name),
            };
        }
    }

    /// The variable that has the value already; if none has, the value is known from here on.
    fn same(&mut self, var: Var, value: &Value) -> Option<Var> {
        let computes = matches!(value, Value::Call(_));
        if !self.takes_part(value) || computes && self.memory.is_written(var) {
            return None;
        }
        let hash = hash::value(value);
        let bucket = self.known.entry(hash).or_default();
        let ty = |v: Var| self.function.ty(v);
        let memory = &self.memory;
        // Of several, an operand was overwritten between each two: only the last can still have the value.
        let alike = bucket.iter().rfind(|(v, known)| equal::values(known, value) && equal::types(ty(*v), ty(var)));
        if let Some((source, _)) = alike.filter(|(v, _)| !(computes && memory.changes_between(value, *v, var))) {
            return Some(*source);
        }
        bucket.push((var, value.clone()));
        self.log.push((hash, var));
        None
    }

    fn takes_part(&self, value: &Value) -> bool {
        match value {
            Value::Call(call) => {
                is_pure(self.module, self.function, value) && !is_unique(call) && !self.writers.writes(value, &Table)
            }
            Value::Operand(Operand::Tuple(fields)) => !self.call_only && !fields.is_empty(),
            Value::Operand(Operand::Shape(_)) | Value::TupleGet(..) | Value::MatchCast(..) => !self.call_only,
            _ => false,
        }
    }

    fn rename(&self, operand: &mut Operand) {
        operand.map(&mut |o| {
            if let Operand::Var(v) = o
                && let Some(name) = self.names.get(v)
            {
                *o = (*name).into();
            }
        });
    }
}

/// Returns true if every call of the operator counts, even after an equal one.
fn is_unique(call: &Call) -> bool {
    matches!(call.callee, Callee::Op(name) if lookup(name).is_none_or(|op| op.unique))
}

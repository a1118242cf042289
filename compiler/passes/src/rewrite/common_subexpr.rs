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

/// Eliminates common subexpressions in a function.
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
    /// Available variables and their values, by hash of the value.
    known: FxHashMap<u64, Vec<(Var, Value)>>,
    /// Entries of `known`, in order of insertion.
    log: Vec<(u64, Var)>,
    /// Replacements of variables.
    names: FxHashMap<Var, Var>,
}

impl Eliminator<'_> {
    fn body(&mut self, body: &mut Body) {
        body.blocks.iter_mut().for_each(|block| self.block(block));
        self.rename(&mut body.result);
    }

    /// Rewrites a body whose values are available only inside it.
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
                    if let Some(source) = self.find_equal(binding.var, value) {
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

    /// Removes dataflow variables; their values remain available through outputs of the block that are aliases.
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

    /// Returns the variable that has the value already; otherwise makes the value available.
    fn find_equal(&mut self, var: Var, value: &Value) -> Option<Var> {
        let computes = matches!(value, Value::Call(_));
        if !self.is_candidate(value) || computes && self.memory.is_written(var) {
            return None;
        }
        let hash = hash::value(value);
        let bucket = self.known.entry(hash).or_default();
        let ty = |v: Var| self.function.ty(v);
        let memory = &self.memory;
        // If there are several, an operand was overwritten between them: only the last may still have the value.
        let alike = bucket.iter().rfind(|(v, known)| equal::values(known, value) && equal::types(ty(*v), ty(var)));
        if let Some((source, _)) = alike.filter(|(v, _)| !(computes && memory.changes_between(value, *v, var))) {
            return Some(*source);
        }
        bucket.push((var, value.clone()));
        self.log.push((hash, var));
        None
    }

    fn is_candidate(&self, value: &Value) -> bool {
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

/// Returns true if equal calls of the operator have different results.
fn is_unique(call: &Call) -> bool {
    matches!(call.callee, Callee::Op(name) if lookup(name).is_none_or(|op| op.unique))
}

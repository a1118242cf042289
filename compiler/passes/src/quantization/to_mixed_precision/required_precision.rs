//! Precision in which values are used, by backward analysis.

use super::{Dtypes, precision};
use hammock_ir::{
    Module,
    relax::{Body, Function, Operand, Value, Var},
};
use hammock_ops::precision::Precision;
use rustc_hash::FxHashMap;

/// Required precision of a value, or of each member of a tuple.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Requirement {
    /// No use so far.
    #[default]
    Unknown,
    /// Used only by operators that compute in 16 bits.
    Short,
    /// Used in the program's dtype, possibly among others.
    Full,
    /// Requirements of a tuple's members.
    Tuple(Vec<Requirement>),
}

impl Requirement {
    fn member(&self, index: usize) -> Requirement {
        match self {
            Requirement::Tuple(members) => members.get(index).cloned().unwrap_or_default(),
            all => all.clone(),
        }
    }

    /// Returns the requirement at a position in nested tuples.
    pub fn at(&self, position: &[usize]) -> Requirement {
        position.iter().fold(self.clone(), |need, index| need.member(*index))
    }

    fn merge(self, other: Requirement) -> Requirement {
        match (self, other) {
            (Requirement::Unknown, need) | (need, Requirement::Unknown) => need,
            (Requirement::Tuple(a), Requirement::Tuple(b)) => {
                let count = a.len().max(b.len());
                let (a, b) = (Requirement::Tuple(a), Requirement::Tuple(b));
                Requirement::Tuple((0..count).map(|i| a.member(i).merge(b.member(i))).collect())
            }
            (Requirement::Tuple(members), leaf) | (leaf, Requirement::Tuple(members)) => {
                Requirement::Tuple(members.into_iter().map(|m| m.merge(leaf.clone())).collect())
            }
            (Requirement::Full, _) | (_, Requirement::Full) => Requirement::Full,
            (Requirement::Short, Requirement::Short) => Requirement::Short,
        }
    }
}

/// Requirements of a body's variables. Only uses in its dataflow blocks and its result count: nothing else changes.
#[derive(Default)]
pub struct Requirements(FxHashMap<Var, Requirement>);

impl Requirements {
    /// Analyzes a body.
    pub fn of(module: &Module, function: &Function, body: &Body, dtypes: Dtypes) -> Self {
        let mut requirements = Requirements::default();
        requirements.require(&body.result, &Requirement::Full);
        let blocks = body.blocks.iter().rev().filter(|block| block.dataflow);
        for binding in blocks.flat_map(|block| block.bindings.iter().rev()) {
            match &binding.value {
                Value::Call(call) => {
                    let need = match precision(module, function, call, dtypes) {
                        Precision::Always => Requirement::Short,
                        _ => Requirement::Full,
                    };
                    call.args.iter().for_each(|arg| requirements.require(arg, &need));
                }
                Value::Operand(tuple @ Operand::Tuple(_)) => {
                    let own = requirements.get(binding.var);
                    requirements.require(tuple, &own);
                }
                Value::TupleGet(tuple, index) => {
                    let mut members = vec![Requirement::Unknown; index + 1];
                    members[*index] = requirements.get(binding.var);
                    requirements.require(tuple, &Requirement::Tuple(members));
                }
                value => value.each_var(&mut |v| requirements.require(&v.into(), &Requirement::Full)),
            }
        }
        requirements
    }

    /// Returns the requirement of a variable.
    pub fn get(&self, var: Var) -> Requirement {
        self.0.get(&var).cloned().unwrap_or_default()
    }

    fn require(&mut self, operand: &Operand, need: &Requirement) {
        match operand {
            Operand::Var(v) => {
                let known = self.0.entry(*v).or_default();
                *known = std::mem::take(known).merge(need.clone());
            }
            Operand::Tuple(members) => members.iter().enumerate().for_each(|(i, m)| self.require(m, &need.member(i))),
            _ => {}
        }
    }
}

//! In which precision the values of a body are used: found backwards, from uses to definitions.

use super::{Dtypes, precision};
use hammock_ir::{
    Module,
    relax::{Body, Function, Operand, Value, Var},
};
use hammock_ops::precision::Precision;
use rustc_hash::FxHashMap;

/// The uses of a value, or of each member of a tuple.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Need {
    /// None so far.
    #[default]
    Unknown,
    /// Only as operand of operators that compute in 16 bits.
    Short,
    /// In the dtype that the program gives it, perhaps among others.
    Full,
    /// Those of a tuple's members.
    Tuple(Vec<Need>),
}

impl Need {
    fn member(&self, index: usize) -> Need {
        match self {
            Need::Tuple(members) => members.get(index).cloned().unwrap_or_default(),
            all => all.clone(),
        }
    }

    /// The need at a place in nested tuples.
    pub fn at(&self, place: &[usize]) -> Need {
        place.iter().fold(self.clone(), |need, index| need.member(*index))
    }

    fn merge(self, other: Need) -> Need {
        match (self, other) {
            (Need::Unknown, need) | (need, Need::Unknown) => need,
            (Need::Tuple(a), Need::Tuple(b)) => {
                let count = a.len().max(b.len());
                let (a, b) = (Need::Tuple(a), Need::Tuple(b));
                Need::Tuple((0..count).map(|i| a.member(i).merge(b.member(i))).collect())
            }
            (Need::Tuple(members), leaf) | (leaf, Need::Tuple(members)) => {
                Need::Tuple(members.into_iter().map(|m| m.merge(leaf.clone())).collect())
            }
            (Need::Full, _) | (_, Need::Full) => Need::Full,
            (Need::Short, Need::Short) => Need::Short,
        }
    }
}

/// The needs of a body's variables. Only uses in its dataflow blocks and its result count: elsewhere nothing changes.
#[derive(Default)]
pub struct Needs(FxHashMap<Var, Need>);

impl Needs {
    /// Those of a body.
    pub fn of(module: &Module, function: &Function, body: &Body, dtypes: Dtypes) -> Self {
        let mut needs = Needs::default();
        needs.require(&body.result, &Need::Full);
        let blocks = body.blocks.iter().rev().filter(|block| block.dataflow);
        for binding in blocks.flat_map(|block| block.bindings.iter().rev()) {
            match &binding.value {
                Value::Call(call) => {
                    let need = match precision(module, function, call, dtypes) {
                        Precision::Always => Need::Short,
                        _ => Need::Full,
                    };
                    call.args.iter().for_each(|arg| needs.require(arg, &need));
                }
                Value::Operand(tuple @ Operand::Tuple(_)) => {
                    let own = needs.get(binding.var);
                    needs.require(tuple, &own);
                }
                Value::TupleGet(tuple, index) => {
                    let mut members = vec![Need::Unknown; index + 1];
                    members[*index] = needs.get(binding.var);
                    needs.require(tuple, &Need::Tuple(members));
                }
                value => value.each_var(&mut |v| needs.require(&v.into(), &Need::Full)),
            }
        }
        needs
    }

    /// The need of a variable.
    pub fn get(&self, var: Var) -> Need {
        self.0.get(&var).cloned().unwrap_or_default()
    }

    fn require(&mut self, operand: &Operand, need: &Need) {
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

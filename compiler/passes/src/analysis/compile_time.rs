//! Values that can be computed at compile time: constants, optionally the parameters after the inputs (those that the
//! attribute `num_input` does not count, for LiftTransformParams), and all values computed from these alone.

use hammock_ir::relax::{Binding, Function, Operand, Value, Var};
use rustc_hash::FxHashSet;

/// Variables of a function whose values can be computed at compile time.
#[derive(Debug, Default)]
pub struct CompileTime(FxHashSet<Var>);

impl CompileTime {
    /// Analyzes a function; `with_weights` includes the parameters after the inputs.
    pub fn of(function: &Function, with_weights: bool) -> Self {
        let inputs = function.lambda.num_input().filter(|_| with_weights).unwrap_or(usize::MAX);
        let mut known = CompileTime(function.lambda.params.iter().skip(inputs).copied().collect());
        function.lambda.body.walk(&mut |binding| known.learn(binding));
        known
    }

    /// Returns true if an operand can be computed at compile time.
    pub fn knows(&self, operand: &Operand) -> bool {
        let mut all = true;
        operand.each_var(&mut |var| all &= self.0.contains(&var));
        all
    }

    /// Returns true if a value without nested bodies can be computed at compile time.
    pub fn knows_value(&self, value: &Value) -> bool {
        let mut all = !matches!(value, Value::If { .. } | Value::Function(_));
        value.each_var(&mut |var| all &= self.0.contains(&var));
        all
    }

    /// Records if a new variable can be computed at compile time.
    pub fn note(&mut self, operand: &Operand, known: bool) {
        if known {
            self.0.extend(operand.as_var());
        }
    }

    fn learn(&mut self, binding: &Binding) {
        if self.knows_value(&binding.value) {
            self.0.insert(binding.var);
        }
    }
}

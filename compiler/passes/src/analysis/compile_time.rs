//! Which values can be computed when a module is compiled: constants, for those who will lift what depends on them
//! out of the function (LiftTransformParams) its parameters after its inputs as well (those that the attribute `num_input`
//! does not count), and all that is computed from such values alone.

use hammock_ir::relax::{Binding, Function, Operand, Value, Var};
use rustc_hash::FxHashSet;

/// The variables of a function whose values can be computed when the module is compiled.
#[derive(Debug, Default)]
pub struct CompileTime(FxHashSet<Var>);

impl CompileTime {
    /// Those of a function; `with_weights`, when parameters after its inputs count.
    pub fn of(function: &Function, with_weights: bool) -> Self {
        let inputs = function.lambda.num_input().filter(|_| with_weights).unwrap_or(usize::MAX);
        let mut known = CompileTime(function.lambda.params.iter().skip(inputs).copied().collect());
        function.lambda.body.walk(&mut |binding| known.learn(binding));
        known
    }

    /// Returns true if the operand's value can be computed when the module is compiled.
    pub fn knows(&self, operand: &Operand) -> bool {
        let mut all = true;
        operand.each_var(&mut |var| all &= self.0.contains(&var));
        all
    }

    /// Returns true if a value can be, when it is a plain one.
    pub fn knows_value(&self, value: &Value) -> bool {
        let mut all = !matches!(value, Value::If { .. } | Value::Function(_));
        value.each_var(&mut |var| all &= self.0.contains(&var));
        all
    }

    /// Says whether a new variable's value can be computed when the module is compiled.
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

//! Which values can be computed when a module is compiled: constants, a function's parameters after its inputs (those
//! that the attribute `num_input` does not count), and all that is computed from such values alone.

use hammock_ir::{
    AttrValue,
    relax::{Binding, Function, Operand, Value, Var},
};
use rustc_hash::FxHashSet;

/// The variables of a function whose values can be computed when the module is compiled.
#[derive(Debug, Default)]
pub struct CompileTime(FxHashSet<Var>);

impl CompileTime {
    /// Those of a function.
    pub fn of(function: &Function) -> Self {
        let inputs = function.lambda.attrs.get("num_input").and_then(AttrValue::as_int);
        let inputs = inputs.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0));
        let mut known = CompileTime(function.lambda.params.iter().skip(inputs).copied().collect());
        function.lambda.body.walk(&mut |binding| known.learn(binding));
        known
    }

    /// Whether the operand's value can be computed when the module is compiled.
    pub fn knows(&self, operand: &Operand) -> bool {
        let mut all = true;
        operand.each_var(&mut |var| all &= self.0.contains(&var));
        all
    }

    /// Whether a value can be, when it is a plain one.
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

//! Purity of values: calls without side effects may be removed, repeated and moved.

use hammock_ir::{
    Module, Type,
    relax::{Callee, Function, OpTable, Value},
};
use hammock_ops::Table;

/// Returns true if evaluating the value has no side effect.
pub fn is_pure(module: &Module, function: &Function, value: &Value) -> bool {
    match value {
        Value::Operand(_) | Value::TupleGet(..) | Value::Function(_) => true,
        Value::MatchCast(..) => false,
        Value::If { then, otherwise, .. } => {
            [then, otherwise].iter().all(|b| b.bindings().all(|b| is_pure(module, function, &b.value)))
        }
        Value::Call(call) => match &call.callee {
            Callee::Op(name) => Table.is_pure(name).unwrap_or(false),
            Callee::Global(name) => module.relax(name).is_some_and(|f| f.lambda.pure),
            Callee::Var(v) => matches!(function.ty(*v), Type::Callable(c) if c.pure),
            Callee::Extern(_) => false,
        },
    }
}

//! The table of all operators.

use crate::{CallContext, callee::infer_call, families, op::Op};
use hammock_ir::{
    Module, Type,
    relax::{Call, Callee, Function, InferError, OpTable, OperandWrites, ResultMemory},
};
use std::{collections::BTreeMap, sync::LazyLock};

static TABLE: LazyLock<BTreeMap<&'static str, Op>> =
    LazyLock::new(|| families::all().into_iter().flatten().map(|op| (op.name, op)).collect());

/// The operator of that name, without the `R.` prefix.
pub fn lookup(name: &str) -> Option<&'static Op> {
    TABLE.get(name)
}

/// Every operator, by name.
pub fn ops() -> impl Iterator<Item = &'static Op> {
    TABLE.values()
}

/// The operator table as seen by the verifier and passes.
pub struct Table;

impl OpTable for Table {
    fn is_pure(&self, op: &str) -> Option<bool> {
        lookup(op).map(|op| op.pure)
    }

    fn result_memory(&self, op: &str) -> ResultMemory {
        lookup(op).map_or(ResultMemory::Unknown, |op| op.memory)
    }

    fn operand_writes(&self, op: &str) -> OperandWrites {
        lookup(op).map_or(OperandWrites::Any, |op| op.writes)
    }

    fn infer(&self, module: &Module, function: &Function, call: &Call) -> Result<Type, InferError> {
        if function.is_erroneous(call) {
            return Ok(call.ty_args.first().cloned().unwrap_or(Type::Error));
        }
        let Callee::Op(name) = &call.callee else { return infer_call(module, function, call) };
        match lookup(name) {
            Some(op) => CallContext { module, function, op, call }.result_ty(),
            None => Err(InferError::new(format!("there is no operator `R.{name}`"))),
        }
    }
}

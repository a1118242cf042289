//! Errors of device functions: the first failing thread of all writes a record, which the runtime reads later.
//!
//! Checks store the message's number and its values in variables, and jump to one block at the end of the function.

use super::{Emitter, Ty, Value, nvptx};
use crate::llvm::{
    device_code::MAX_VALUES,
    text::{Function, Label},
};
use hammock_ir::{
    prim::check,
    tir::{Stmt, StmtKind},
};
use hammock_runtime::device::launch::ErrorRecord;
use std::mem::offset_of;

/// The block of a function that records errors, and the variables that it reads.
pub struct Failure {
    label: Label,
    /// The message's number.
    message: Value,
    values: [Value; MAX_VALUES],
}

impl Failure {
    /// Creates it for a function.
    pub fn new(f: &mut Function) -> Failure {
        Failure { label: f.label(), message: f.slot(4, 4), values: [(); MAX_VALUES].map(|()| f.slot(8, 8)) }
    }

    /// The block.
    pub fn label(&self) -> Label {
        self.label
    }

    /// Sets the message and its values.
    pub fn set(&self, f: &mut Function, message: usize, values: &[&Value]) {
        f.store(&Value::int(message as i64, Ty::I32), &self.message, 4);
        let zero = Value::i64(0);
        for (number, slot) in self.values.iter().enumerate() {
            f.store(values.get(number).copied().unwrap_or(&zero), slot, 8);
        }
    }
}

impl Emitter<'_, '_> {
    /// Emits the block that records an error, unless another thread has recorded one.
    pub fn record_failure(&mut self, failure: &Failure, error: &Value, token: &Value) {
        let (first, end) = (self.f.label(), self.f.label());
        self.f.start(failure.label);
        let claimed = self.field_address(error, offset_of!(ErrorRecord, claimed));
        let old = nvptx::claim(&mut self.f, &claimed);
        let is_first = self.f.compare("icmp eq", &old, &Value::int(0, Ty::I32));
        self.f.branch(&is_first, first, end);
        self.f.start(first);
        let message = self.f.load(Ty::I32, &failure.message, 4);
        self.store_field(error, offset_of!(ErrorRecord, message), &message);
        self.store_field(error, offset_of!(ErrorRecord, kernel), token);
        for (number, slot) in failure.values.iter().enumerate() {
            let value = self.f.load(Ty::I64, slot, 8);
            self.store_field(error, offset_of!(ErrorRecord, values) + 8 * number, &value);
        }
        self.f.jump(end);
        self.f.start(end);
        self.f.ret_void();
    }

    /// Ends the thread if an error is recorded.
    pub fn end_if_failed(&mut self, error: &Value) {
        let (end, next) = (self.f.label(), self.f.label());
        let claimed = self.field_address(error, offset_of!(ErrorRecord, claimed));
        let claimed = nvptx::load_flag(&mut self.f, &claimed);
        let failed = self.f.compare("icmp ne", &claimed, &Value::int(0, Ty::I32));
        self.f.branch(&failed, end, next);
        self.f.start(end);
        self.f.ret_void();
        self.f.start(next);
    }
}

/// Returns true if a statement has checks.
pub fn may_fail(body: &Stmt) -> bool {
    let mut found = false;
    body.walk(&mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::Assert(..));
        stmt.each_expr(&mut |e| found |= check::count(e) > 0);
    });
    found
}

//! Calls of native functions from machine code.
use super::emit::Emitter;
use super::fields::RESULT;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{InstBuilder, Value};
use hammock_runtime::executable::compact::{Slot, Slots};
use hammock_runtime::value::index;
use hammock_runtime::vm::native::layout;

/// Number of kinds of values that are borrowed for the duration of a call.
const BORROWED: i64 = (index::OBJECT_RVALUE_REF - index::DL_TENSOR_PTR + 1) as i64;

impl Emitter<'_> {
    /// Emits a call whose result is unused.
    pub(super) fn call_void(&mut self, at: u32, callee: u32, args: Slots) {
        let Some((status, tag)) = self.call_to_result(at, callee, args) else { return };
        let first = i64::from(index::DL_TENSOR_PTR);
        let needs_care = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, tag, first);
        self.check_result(at, status, needs_care);
        self.kill(args);
    }

    /// Emits a call whose result goes to a register that is not an argument.
    pub(super) fn call(&mut self, at: u32, callee: u32, dst: Slot, args: Slots) {
        self.poll(at);
        if !self.check_arguments(at, callee, args) {
            return;
        }
        self.empty(dst);
        let (values, result) = (self.arguments(args), self.address(dst));
        let status = self.call_native(callee, values, args.count, result);
        let tag = self.tag(dst);
        let needs_care = self.is_among(tag, index::DL_TENSOR_PTR, BORROWED);
        self.check_result(at, status, needs_care);
        self.kill(args);
    }

    /// Emits a call whose result replaces one of its arguments.
    pub(super) fn call_over(&mut self, at: u32, callee: u32, dst: Slot, args: Slots) {
        let Some((status, tag)) = self.call_to_result(at, callee, args) else { return };
        let needs_care = self.is_among(tag, index::DL_TENSOR_PTR, BORROWED);
        self.check_result(at, status, needs_care);
        let words = self.words(self.context, RESULT);
        self.write(dst, words);
        self.put_none(self.context, RESULT);
        self.kill(args);
    }

    /// Calls a function with the result in the context; returns the status and the tag of the result, unless the call
    /// is left to the interpreter.
    fn call_to_result(&mut self, at: u32, callee: u32, args: Slots) -> Option<(Value, Value)> {
        self.poll(at);
        if !self.check_arguments(at, callee, args) {
            return None;
        }
        let (values, context) = (self.arguments(args), self.context);
        let result = self.ins().iadd_imm_s(context, RESULT as i64);
        let status = self.call_native(callee, values, args.count, result);
        Some((status, self.context_field(I32, RESULT + layout::TAG)))
    }

    /// Exits unless the call succeeded and its result needs no conversion.
    fn check_result(&mut self, at: u32, status: Value, needs_care: Value) {
        let step = self.number(at);
        self.leave_if(status, self.exits.after, &[step, status]);
        let good = self.number(0);
        self.leave_if(needs_care, self.exits.after, &[step, good]);
    }

    /// Returns the address of a call's arguments: in place if they are contiguous, otherwise copied without a
    /// reference.
    fn arguments(&mut self, args: Slots) -> Value {
        let slots = &self.steps.slots[args.range()];
        let Some((first, last)) = slots.first().zip(slots.last()) else { return self.registers };
        let first_of_pool = self.steps.registers as Slot;
        let is_row = slots.iter().zip(*first..).all(|(slot, expected)| *slot == expected);
        if is_row && (*first < first_of_pool) == (*last < first_of_pool) {
            return self.address(*first);
        }
        let scratch = (self.steps.registers + self.steps.pool.len()) as Slot;
        for (slot, to) in slots.iter().zip(scratch..) {
            let words = self.words_of(*slot);
            let (base, offset) = self.slot_addr(to);
            self.put_words(words, base, offset);
        }
        self.address(scratch)
    }

    fn kill(&mut self, args: Slots) {
        for register in args.kills(&self.steps.slots) {
            self.clear(*register);
        }
    }
}

//! Code generation primitives: loads and stores of values, jumps, calls of the virtual machine's helpers.
use super::emit::Emitter;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, SigRef, Type, Value};
use hammock_runtime::executable::compact::Slot;
use hammock_runtime::value::{Any, index};
use hammock_runtime::vm::native::{Helpers, NativeFunction, layout};
use std::mem::offset_of;

/// Flags of accesses to valid, aligned memory.
const PLAIN: MemFlagsData = MemFlagsData::trusted();

/// The two words of a value.
#[derive(Clone, Copy)]
pub(super) struct Words(pub(super) Value, pub(super) Value);

impl Emitter<'_> {
    pub(super) fn int(&mut self, value: i64) -> Value {
        self.ins().iconst(I64, value)
    }

    /// Returns the index of a step, slot or plan, as an argument of helpers.
    pub(super) fn number(&mut self, value: u32) -> Value {
        self.ins().iconst(I32, i64::from(value))
    }

    pub(super) fn load(&mut self, of: Type, base: Value, offset: usize) -> Value {
        self.ins().load(of, PLAIN, base, offset as i32)
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: usize) {
        self.ins().store(PLAIN, value, base, offset as i32);
    }

    /// Address of a slot: base and offset.
    pub(super) fn slot_addr(&self, slot: Slot) -> (Value, usize) {
        match (slot as usize).checked_sub(self.steps.registers) {
            None => (self.registers, slot as usize * size_of::<Any>()),
            Some(index) => (self.constants, index * size_of::<Any>()),
        }
    }

    pub(super) fn address(&mut self, slot: Slot) -> Value {
        let (base, offset) = self.slot_addr(slot);
        if offset == 0 { base } else { self.ins().iadd_imm_s(base, offset as i64) }
    }

    pub(super) fn tag(&mut self, slot: Slot) -> Value {
        let (base, offset) = self.slot_addr(slot);
        self.load(I32, base, offset + layout::TAG)
    }

    pub(super) fn payload(&mut self, of: Type, slot: Slot) -> Value {
        let (base, offset) = self.slot_addr(slot);
        self.load(of, base, offset + layout::PAYLOAD)
    }

    /// Loads a field of the object in a slot.
    pub(super) fn field(&mut self, of: Type, slot: Slot, offset: usize) -> Value {
        let object = self.payload(I64, slot);
        self.load(of, object, offset)
    }

    /// Loads the words separately: functions store results so, and a load that is wider than the stores stalls.
    pub(super) fn words(&mut self, base: Value, offset: usize) -> Words {
        Words(self.load(I64, base, offset), self.load(I64, base, offset + layout::PAYLOAD))
    }

    pub(super) fn words_of(&mut self, slot: Slot) -> Words {
        let (base, offset) = self.slot_addr(slot);
        self.words(base, offset)
    }

    pub(super) fn put_words(&mut self, words: Words, base: Value, offset: usize) {
        self.store(words.0, base, offset);
        self.store(words.1, base, offset + layout::PAYLOAD);
    }

    pub(super) fn put_none(&mut self, base: Value, offset: usize) {
        let zero = self.int(0);
        self.put_words(Words(zero, zero), base, offset);
    }

    /// Replaces the value of a register; ownership of the new one moves to it.
    pub(super) fn write(&mut self, dst: Slot, words: Words) {
        self.release(dst);
        let (base, offset) = self.slot_addr(dst);
        self.put_words(words, base, offset);
    }

    /// Tests if a tag is in `first .. first + count`.
    pub(super) fn is_among(&mut self, tag: Value, first: i32, count: i64) -> Value {
        let distance = self.ins().iadd_imm_s(tag, -i64::from(first));
        self.ins().icmp_imm_s(IntCC::UnsignedLessThan, distance, count)
    }

    pub(super) fn is_object(&mut self, tag: Value) -> Value {
        self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, tag, i64::from(index::OBJECT_BEGIN))
    }

    /// Adds a reference to an object.
    pub(super) fn retain(&mut self, object: Value) {
        self.helper(offset_of!(Helpers, retain), self.signatures.claim, &[object]);
    }

    /// Branches to `exit` with `args` if the condition holds, otherwise continues in a new block. Constants among the
    /// arguments are materialized in a cold block.
    pub(super) fn leave_if(&mut self, condition: Value, exit: Block, args: &[Value]) {
        let (out, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(out);
        self.ins().brif(condition, out, &[], next, &[]);
        self.start(out);
        self.jump(exit, args);
        self.start(next);
    }

    pub(super) fn jump(&mut self, block: Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|arg| BlockArg::Value(*arg)).collect();
        self.ins().jump(block, &args);
    }

    /// Switches to a block, some of whose predecessors may not be known yet.
    pub(super) fn start(&mut self, block: Block) {
        self.builder.switch_to_block(block);
    }

    /// Emits `body` in a conditional block.
    pub(super) fn when(&mut self, condition: Value, body: impl FnOnce(&mut Self)) {
        let (then, next) = (self.builder.create_block(), self.builder.create_block());
        self.ins().brif(condition, then, &[], next, &[]);
        self.start(then);
        body(self);
        self.jump(next, &[]);
        self.start(next);
    }

    pub(super) fn call_native(&mut self, callee: u32, args: Value, count: u32, result: Value) -> Value {
        let offset = callee as usize * size_of::<NativeFunction>();
        let code = self.load(I64, self.functions, offset + offset_of!(NativeFunction, call));
        let handle = self.load(I64, self.functions, offset + offset_of!(NativeFunction, handle));
        let count = self.number(count);
        let call = self.builder.ins().call_indirect(self.signatures.native, code, &[handle, args, count, result]);
        self.builder.inst_results(call)[0]
    }

    pub(super) fn discard(&mut self, slot: Slot) {
        let register = self.address(slot);
        self.helper(offset_of!(Helpers, discard), self.signatures.claim, &[register]);
    }

    pub(super) fn allocate(&mut self, dst: Slot, heap: Slot, plan: u32) -> Value {
        let args = [dst, heap, plan].map(|number| self.number(number));
        self.answer(offset_of!(Helpers, allocate), self.signatures.by_plan, &args)
    }

    pub(super) fn make_in_place(&mut self, dst: Slot, storage: Slot, plan: u32) -> Value {
        let args = [dst, storage, plan].map(|number| self.number(number));
        self.answer(offset_of!(Helpers, suballocate), self.signatures.by_plan, &args)
    }

    pub(super) fn holds(&mut self, value: Slot, heap: Slot, plan: u32) -> Value {
        let args = [value, heap, plan].map(|number| self.number(number));
        self.answer(offset_of!(Helpers, holds), self.signatures.by_plan, &args)
    }

    pub(super) fn test_out_of_line(&mut self, condition: Slot) -> Value {
        let condition = self.address(condition);
        self.answer(offset_of!(Helpers, test), self.signatures.test, &[condition])
    }

    pub(super) fn call_poll(&mut self, step: Value) -> Value {
        self.answer(offset_of!(Helpers, poll), self.signatures.step, &[step])
    }

    pub(super) fn call_step(&mut self, step: Value) -> Value {
        self.answer(offset_of!(Helpers, step), self.signatures.step, &[step])
    }

    pub(super) fn call_after(&mut self, step: Value, status: Value) -> Value {
        self.answer(offset_of!(Helpers, after), self.signatures.after, &[step, status])
    }

    fn answer(&mut self, helper: usize, signature: SigRef, args: &[Value]) -> Value {
        let call = self.helper(helper, signature, args);
        self.builder.inst_results(call)[0]
    }

    fn helper(&mut self, helper: usize, signature: SigRef, args: &[Value]) -> cranelift_codegen::ir::Inst {
        let code = self.load(I64, self.helpers, helper);
        let args: Vec<Value> = std::iter::once(self.context).chain(args.iter().copied()).collect();
        self.ins().call_indirect(signature, code, &args)
    }

    /// Exits if the call is interrupted, or the host's check is requested.
    pub(super) fn poll(&mut self, at: u32) {
        let flag = self.flag;
        let flag = self.ins().atomic_load(I8, PLAIN, flag);
        let step = self.number(at);
        self.leave_if(flag, self.exits.poll, &[step]);
    }

    pub(super) fn context_field(&mut self, of: Type, offset: usize) -> Value {
        self.load(of, self.context, offset)
    }
}

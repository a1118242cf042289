//! Code generation for a function's steps, block by block.
use super::facts::facts;
use super::fields::tensor_field;
use super::signatures::Signatures;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self, AbiParam, Block, InstBuilder, JumpTableData, Signature, Value, condcodes::IntCC};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder, FunctionBuilderContext};
use hammock_runtime::executable::FunctionKind;
use hammock_runtime::executable::compact::{Compact, Content, Facts, Op, Slot, TensorFacts};
use hammock_runtime::image::KernelSignature;
use hammock_runtime::value::{device_kind, index};
use hammock_runtime::vm::native::NativeContext;
use hammock_runtime::{DType, Device, Executable};
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem::offset_of;

/// Shared exit blocks for rare cases; each takes the step's index.
pub(super) struct Exits {
    /// Returns its argument as the status.
    pub(super) leave: Block,
    /// The call is interrupted, or the host's check is requested.
    pub(super) poll: Block,
    /// The interpreter runs the step.
    pub(super) step: Block,
    /// A call failed, or its result needs conversion; also takes the call's status.
    pub(super) after: Block,
}

/// Emits one function.
pub(super) struct Emitter<'a> {
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) executable: &'a Executable,
    pub(super) steps: &'a Compact,
    pub(super) signatures: Signatures,
    pub(super) exits: Exits,
    pub(super) facts: Facts<'a>,
    pub(super) context: Value,
    pub(super) registers: Value,
    pub(super) constants: Value,
    pub(super) functions: Value,
    pub(super) helpers: Value,
    pub(super) flag: Value,
    kernels: FxHashMap<&'a str, &'a KernelSignature>,
    /// Blocks by first step.
    blocks: FxHashMap<u32, Block>,
    /// Steps with several predecessors.
    joins: FxHashSet<u32>,
    /// True if control falls through to this point.
    is_open: bool,
    /// True if a preceding branch continues in the block that begins here.
    falls_through: bool,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        function: &'a mut ir::Function,
        context: &'a mut FunctionBuilderContext,
        executable: &'a Executable,
        kernels: &'a [KernelSignature],
        steps: &'a Compact,
    ) -> Emitter<'a> {
        function.signature = signature();
        let mut builder = FunctionBuilder::new(function, context);
        let signatures = Signatures::import(|signature| builder.import_signature(signature));
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let &[context, registers, constants, functions] = builder.block_params(entry) else {
            unreachable!("the signature has four parameters")
        };
        let mut exit = |params: usize| {
            let block = builder.create_block();
            (0..params).for_each(|_| {
                builder.append_block_param(block, I32);
            });
            builder.set_cold_block(block);
            block
        };
        let exits = Exits { leave: exit(1), poll: exit(1), step: exit(1), after: exit(2) };
        Emitter {
            builder,
            executable,
            steps,
            signatures,
            exits,
            facts: facts(executable, steps),
            context,
            registers,
            constants,
            functions,
            helpers: context,
            flag: context,
            kernels: kernels.iter().map(|signature| (signature.name.as_str(), signature)).collect(),
            blocks: FxHashMap::default(),
            joins: FxHashSet::default(),
            is_open: false,
            falls_through: false,
        }
    }

    pub(super) fn ins(&mut self) -> FuncInstBuilder<'_, 'a> {
        self.builder.ins()
    }

    /// Returns the signature of a function, if it is a kernel.
    pub(super) fn kernel(&self, function: u32) -> Option<&'a KernelSignature> {
        let info = &self.executable.functions[function as usize];
        self.kernels.get(info.name.as_str()).copied().filter(|_| info.kind == FunctionKind::Packed)
    }

    /// Emits the whole function.
    pub(super) fn function(mut self, config: TargetFrontendConfig) {
        let entries = self.steps.entries();
        self.helpers = self.context_field(I64, offset_of!(NativeContext, helpers));
        self.flag = self.context_field(I64, offset_of!(NativeContext, flag));
        self.find_blocks(&entries);
        self.enter(&entries);
        let left: FxHashSet<u32> = self.steps.interpreted().into_iter().map(|steps| steps.start).collect();
        for at in 0..self.steps.ops.len() as u32 {
            self.begin(at);
            if self.is_open && left.contains(&at) {
                self.leave(at);
            }
            if self.is_open {
                let op = self.steps.ops[at as usize];
                self.op(at, op);
                self.facts.step(&op);
            }
        }
        self.write_exits();
        self.builder.seal_all_blocks();
        self.builder.finalize(config);
    }

    fn find_blocks(&mut self, entries: &[u32]) {
        let mut heads = entries.to_vec();
        for (at, op) in self.steps.ops.iter().enumerate() {
            match op {
                Op::Goto { target } | Op::Loop { target } => heads.push(*target),
                Op::If { otherwise, .. } | Op::Test { otherwise, .. } => {
                    heads.push(*otherwise);
                    self.block(at as u32 + 1);
                }
                _ => (),
            }
        }
        self.joins = heads.iter().copied().collect();
        heads.into_iter().for_each(|head| {
            self.block(head);
        });
    }

    /// Returns the block that begins with a step.
    fn block(&mut self, at: u32) -> Block {
        *self.blocks.entry(at).or_insert_with(|| self.builder.create_block())
    }

    /// Dispatches to the entry given in the context.
    fn enter(&mut self, entries: &[u32]) {
        let Some(first) = entries.first() else {
            let failed = self.failed(0);
            return self.jump(self.exits.leave, &[failed]);
        };
        let blocks: Vec<Block> = entries.iter().map(|entry| self.block(*entry)).collect();
        if blocks.len() == 1 {
            let first = self.block(*first);
            return self.jump(first, &[]);
        }
        let number = self.context_field(I32, offset_of!(NativeContext, entry));
        let calls: Vec<_> = blocks.iter().map(|block| self.builder.func.dfg.block_call(*block, &[])).collect();
        let table = self.builder.create_jump_table(JumpTableData::new(calls[0], &calls));
        self.ins().br_table(number, table);
    }

    /// Starts the block of a step, if it has one.
    fn begin(&mut self, at: u32) {
        let Some(block) = self.blocks.get(&at).copied() else { return };
        if self.is_open {
            self.jump(block, &[]);
        }
        let is_join = self.joins.contains(&at);
        if is_join {
            self.facts.forget();
        }
        self.is_open |= is_join || self.falls_through;
        self.falls_through = false;
        self.start(block);
    }

    fn op(&mut self, at: u32, op: Op<u32>) {
        match op {
            Op::CallVoid { callee, args } => self.call_void(at, callee, args),
            Op::Call { callee, dst, args } => self.call(at, callee, dst, args),
            Op::CallOver { callee, dst, args } => self.call_over(at, callee, dst, args),
            Op::Alloc { dst, heap, plan } => {
                let status = self.allocate(dst, heap, plan);
                self.record_allocation(at, status);
            }
            Op::Suballoc { dst, storage, plan } => {
                let status = self.make_in_place(dst, storage, plan);
                self.record_allocation(at, status);
            }
            Op::Check { value, heap, plan } => self.check(at, value, heap, plan),
            Op::Copy { dst, from } => self.copy(dst, from),
            Op::Move { dst, from } => self.move_(dst, from),
            Op::Clear { dst } => self.clear(dst),
            Op::Goto { target } => {
                let target = self.block(target);
                self.jump(target, &[]);
                self.is_open = false;
            }
            Op::Loop { target } => {
                self.poll(at);
                let target = self.block(target);
                self.jump(target, &[]);
                self.is_open = false;
            }
            Op::If { condition, otherwise } => self.if_(at, condition, otherwise),
            Op::Test { condition, otherwise } => self.test(at, condition, otherwise),
            Op::Invoke { .. } | Op::TailInvoke { .. } | Op::InvokeValue { .. } => self.leave(at),
            Op::Arena { .. } | Op::Ret { .. } => self.leave(at),
            Op::CheckedCall { .. } | Op::Native { .. } => self.leave_to_interpreter(at),
        }
    }

    /// Records that a tensor was allocated; exits if the status is nonzero.
    fn record_allocation(&mut self, at: u32, status: Value) {
        let failed = self.failed(at);
        self.leave_if(status, self.exits.leave, &[failed]);
    }

    /// Returns the status of a failed step.
    pub(super) fn failed(&mut self, at: u32) -> Value {
        self.number(!at)
    }

    /// Ends the block: the virtual machine continues at the step.
    fn leave(&mut self, at: u32) {
        let step = self.number(at);
        self.jump(self.exits.leave, &[step]);
        self.is_open = false;
    }

    /// Ends the block: the interpreter runs the step.
    pub(super) fn leave_to_interpreter(&mut self, at: u32) {
        let step = self.number(at);
        self.jump(self.exits.step, &[step]);
        self.is_open = false;
    }

    /// Releases the value of a register, without overwriting its words.
    pub(super) fn release(&mut self, register: Slot) {
        match self.facts.get(register) {
            Content::Nothing | Content::Plain | Content::Int(_) | Content::Float => (),
            Content::Tensor(_) | Content::Storage(_) => self.discard(register),
            Content::Unknown => {
                let tag = self.tag(register);
                let is_object = self.is_object(tag);
                self.when(is_object, |emitter| emitter.discard(register));
            }
        }
    }

    /// Sets a register to none.
    pub(super) fn empty(&mut self, register: Slot) {
        self.release(register);
        if !matches!(self.facts.get(register), Content::Nothing | Content::Tensor(_) | Content::Storage(_)) {
            let (base, offset) = self.slot_addr(register);
            self.put_none(base, offset);
        }
    }

    /// Releases and clears a register that most likely holds an object.
    pub(super) fn clear(&mut self, register: Slot) {
        match self.facts.get(register) {
            Content::Unknown => self.discard(register),
            _ => self.empty(register),
        }
    }

    fn copy(&mut self, dst: Slot, from: Slot) {
        let words = self.words_of(from);
        match self.facts.get(from) {
            Content::Nothing | Content::Plain | Content::Int(_) | Content::Float => (),
            Content::Tensor(_) | Content::Storage(_) => self.retain(words.1),
            Content::Unknown => {
                let tag = self.ins().ireduce(I32, words.0);
                let is_object = self.is_object(tag);
                self.when(is_object, |emitter| emitter.retain(words.1));
            }
        }
        self.write(dst, words);
    }

    fn move_(&mut self, dst: Slot, from: Slot) {
        let words = self.words_of(from);
        self.write(dst, words);
        let (base, offset) = self.slot_addr(from);
        self.put_none(base, offset);
    }

    fn if_(&mut self, at: u32, condition: Slot, otherwise: u32) {
        if !matches!(self.facts.get(condition), Content::Int(_)) {
            let tag = self.tag(condition);
            let is_integer = self.is_among(tag, index::INT, 2);
            let is_other = self.ins().icmp_imm_s(IntCC::Equal, is_integer, 0);
            let step = self.number(at);
            self.leave_if(is_other, self.exits.step, &[step]);
        }
        let value = self.payload(I64, condition);
        self.branch(value, at + 1, otherwise);
    }

    fn branch(&mut self, condition: Value, then: u32, otherwise: u32) {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.ins().brif(condition, then, &[], otherwise, &[]);
        self.is_open = false;
        self.falls_through = true;
    }

    /// Tests a condition; a 0-d boolean tensor is read directly.
    fn test(&mut self, at: u32, condition: Slot, otherwise: u32) {
        let is_usual = self.facts.tensor(condition).is_some_and(is_condition);
        if !is_usual {
            self.test_kind(at, condition, otherwise);
        }
        let data = self.field(I64, condition, tensor_field!(data));
        let offset = self.field(I64, condition, tensor_field!(byte_offset));
        let address = self.ins().iadd(data, offset);
        let byte = self.load(I8, address, 0);
        self.branch(byte, at + 1, otherwise);
    }

    /// Tests a condition of unknown kind through the virtual machine.
    fn test_kind(&mut self, at: u32, condition: Slot, otherwise: u32) {
        let (unusual, decided) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(unusual);
        self.builder.set_cold_block(decided);
        if self.facts.tensor(condition).is_none() {
            let tag = self.tag(condition);
            let is_other = self.ins().icmp_imm_s(IntCC::NotEqual, tag, i64::from(index::TENSOR));
            self.leave_if(is_other, unusual, &[]);
        }
        let rank = self.field(I32, condition, tensor_field!(ndim));
        let dtype = self.field(I32, condition, tensor_field!(dtype));
        let device = self.field(I32, condition, tensor_field!(device));
        let dtype = self.ins().bxor_imm_s(dtype, dtype_word(DType::BOOL));
        let device = self.ins().bxor_imm_s(device, i64::from(device_kind::CPU));
        let other = self.ins().bor(rank, dtype);
        let other = self.ins().bor(other, device);
        self.leave_if(other, unusual, &[]);
        let usual = self.builder.current_block();
        self.start(unusual);
        let holds = self.test_out_of_line(condition);
        let is_none = self.ins().icmp_imm_s(IntCC::SignedLessThan, holds, 0);
        let failed = self.failed(at);
        let leave = self.exits.leave;
        self.ins().brif(is_none, leave, &[failed.into()], decided, &[]);
        self.start(decided);
        let (then, otherwise) = (self.block(at + 1), self.block(otherwise));
        self.ins().brif(holds, then, &[], otherwise, &[]);
        usual.into_iter().for_each(|block| self.start(block));
    }

    fn write_exits(&mut self) {
        let Exits { leave, poll, step, after } = self.exits;
        let param = |emitter: &Self, block: Block, i: usize| emitter.builder.block_params(block)[i];
        self.start(poll);
        let at = param(self, poll, 0);
        let status = self.call_poll(at);
        self.jump(leave, &[status]);
        self.start(step);
        let at = param(self, step, 0);
        let status = self.call_step(at);
        self.jump(leave, &[status]);
        self.start(after);
        let (at, status) = (param(self, after, 0), param(self, after, 1));
        let status = self.call_after(at, status);
        self.jump(leave, &[status]);
        self.start(leave);
        let status = param(self, leave, 0);
        self.ins().return_(&[status]);
    }
}

/// Returns true if a tensor is a 0-d boolean.
fn is_condition(tensor: &TensorFacts) -> bool {
    let is_scalar = tensor.dims.as_ref().is_some_and(Vec::is_empty);
    is_scalar && tensor.is_on(Device::CPU) && tensor.dtype == Some(DType::BOOL)
}

/// Returns an element type as the word in tensor descriptors.
pub(super) fn dtype_word(dtype: DType) -> i64 {
    i64::from(i32::from_le_bytes([dtype.code, dtype.bits, dtype.lanes as u8, (dtype.lanes >> 8) as u8]))
}

fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(I64); 4]);
    signature.returns.push(AbiParam::new(I32));
    signature
}

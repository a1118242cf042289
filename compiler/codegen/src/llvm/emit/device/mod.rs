//! Device functions: code for a thread of a CUDA device.
//!
//! Pointer parameters are in global memory. A buffer of scope `shared` is a variable of the block, one of scope `local`
//! is on the thread's stack, which LLVM promotes to registers where all indices are constants. Thread axes are special
//! registers. There are no calls: all code of a device function is in one LLVM function.
//!
//! A failing thread records its error ([`failure`]) and ends. A thread that has ended does not delay the barriers of
//! others.

mod cooperation;
mod failure;
mod params;
mod tensor_cores;

use super::{Emitter, Kernel, Platform, Result, Ty, Unsupported, Value, convert::register_type};
use crate::llvm::{
    DEVICE_ALIGNMENT, Host,
    arch::nvptx,
    device_code::{DeviceEntry, Message},
    text::{Function, Module},
};
use failure::Failure;
use hammock_ir::{
    DType, PrimExpr,
    prim::{IterVar, Var},
    tir::{Buffer, Loop, Stmt},
};
use hammock_kernels::{DeviceFunc, GpuKernel};
use hammock_target::{Gpu, Target};
use rustc_hash::FxHashSet;
use std::cell::{Cell, RefCell};

/// Maximum bytes of the buffers that a thread has for itself.
const MAX_LOCAL_BYTES: i64 = 512 << 10;

/// A CUDA device.
#[derive(Default)]
pub(super) struct Device {
    gpu: Gpu,
    /// Pointers of the current function to whole tensors and workspaces.
    aligned: RefCell<FxHashSet<Var>>,
    /// Messages of the kernel's device functions.
    messages: RefCell<Vec<Message>>,
    /// Code of the current function that records errors, if it can fail.
    failure: RefCell<Option<Failure>>,
    /// Number of shared variables of the current function so far, for their names.
    shared_count: Cell<usize>,
}

/// Adds the device functions of a kernel to a module, under symbols other than `taken`. Returns the functions in order,
/// and the messages of the errors that they report.
pub fn emit_device(
    module: &mut Module,
    kernel: &GpuKernel,
    gpu: &Gpu,
    taken: &mut FxHashSet<String>,
) -> Result<(Vec<DeviceEntry>, Vec<Message>)> {
    let may_fail = kernel.device.iter().any(|func| failure::may_fail(&func.func.body));
    let symbols: Vec<String> = kernel.device.iter().map(|func| symbol(&func.name, taken)).collect();
    let (mut functions, mut messages) = emit_functions(module, kernel, gpu, &symbols, may_fail)?;
    if may_fail && messages.is_empty() {
        // All checks hold. The runtime passes an error record only if there are messages.
        (functions, messages) = emit_functions(module, kernel, gpu, &symbols, false)?;
    }
    functions.into_iter().for_each(|function| module.add(function));
    let entries = kernel.device.iter().zip(symbols).map(|(func, symbol)| DeviceEntry {
        name: func.name.to_string(),
        symbol,
        max_threads: func.max_threads,
        shared_bytes: u32::try_from(func.shared_bytes).unwrap_or(u32::MAX),
    });
    Ok((entries.collect(), messages))
}

/// Returns the name of a device function in PTX, and adds it to `taken`.
fn symbol(name: &str, taken: &mut FxHashSet<String>) -> String {
    let mut symbol = nvptx::identifier(name);
    while !taken.insert(symbol.clone()) {
        symbol.push('_');
    }
    symbol
}

/// Emits the functions, which take an error record if they may fail, and collects their messages.
fn emit_functions(
    module: &mut Module,
    kernel: &GpuKernel,
    gpu: &Gpu,
    symbols: &[String],
    may_fail: bool,
) -> Result<(Vec<Function>, Vec<Message>)> {
    let device = Device { gpu: *gpu, ..Device::default() };
    let functions = kernel.device.iter().zip(symbols).map(|(func, symbol)| {
        device.shared_count.set(0);
        emit_function(module, kernel, func, &device, symbol, may_fail)
    });
    let functions = functions.collect::<Result<_>>()?;
    Ok((functions, device.messages.into_inner()))
}

fn emit_function(
    module: &mut Module,
    kernel: &GpuKernel,
    device: &DeviceFunc,
    platform: &Device,
    symbol: &str,
    may_fail: bool,
) -> Result<Function> {
    let func = &device.func;
    let (mut params, aligned) = params::declare(kernel, device)?;
    platform.aligned.replace(aligned);
    if may_fail {
        params.extend([(Ty::pointer_to(nvptx::GLOBAL), "noalias align 8".to_owned()), (Ty::I64, String::new())]);
    }
    let params: Vec<(Ty, &str)> = params.iter().map(|(ty, attributes)| (*ty, attributes.as_str())).collect();
    let (mut f, values) = Function::new(symbol, nvptx::ENTRY, Ty::VOID, &params);
    f.add_attribute(&nvptx::max_threads(device.max_threads));
    let mut shared = Kernel::new(module, platform, Host::Hammock, symbol, &kernel.host.said);
    let mut emitter = Emitter::new(&mut shared, f);
    for (param, value) in func.params.iter().zip(&values) {
        emitter.vars.insert(param.var.clone(), value.clone());
    }
    let record = &values[func.params.len()..];
    if let [error, _] = record
        && device.follows_checks
    {
        emitter.end_if_failed(error);
    }
    emitter.stmt(&func.body)?;
    emitter.leave_function();
    if let [error, token] = record {
        platform.failure.take().inspect(|failure| emitter.record_failure(failure, error, token));
    }
    Ok(emitter.f)
}

impl Platform for Device {
    fn cpu(&self) -> Option<&Target> {
        None
    }

    fn has_masks(&self) -> bool {
        false
    }

    fn has_float16(&self) -> bool {
        true
    }

    fn vector_bytes(&self) -> u32 {
        nvptx::MAX_ACCESS_BYTES
    }

    /// LLVM finds the alignment of short sums only.
    fn base_alignment(&self, data: &Var) -> u64 {
        if self.aligned.borrow().contains(data) { DEVICE_ALIGNMENT.into() } else { 1 }
    }

    fn report(&self, e: &mut Emitter<'_, '_>, kind: &str, texts: &[&str], values: &[&Value]) {
        let mut messages = self.messages.borrow_mut();
        let message = Message::new(kind, texts);
        let number = messages.iter().position(|known| *known == message).unwrap_or(messages.len());
        if number == messages.len() {
            messages.push(message);
        }
        let mut failure = self.failure.borrow_mut();
        let failure = failure.get_or_insert_with(|| Failure::new(&mut e.f));
        failure.set(&mut e.f, number, values);
    }

    fn leave(&self, e: &mut Emitter<'_, '_>) {
        e.f.ret_void();
    }

    fn leave_failed(&self, e: &mut Emitter<'_, '_>) {
        match &*self.failure.borrow() {
            Some(failure) => e.f.jump(failure.label()),
            None => e.f.ret_void(),
        }
    }

    fn allocate(&self, e: &mut Emitter<'_, '_>, buffer: &Buffer, bytes: &Value) -> Result<Value> {
        let size = bytes.as_int();
        match (&*buffer.scope, size) {
            ("shared.dyn", _) => {
                Ok(e.kernel.module.define_in_space(nvptx::DYNAMIC_SHARED, nvptx::SHARED, &nvptx::dynamic_shared()))
            }
            ("shared", Some(size)) => {
                let number = self.shared_count.replace(self.shared_count.get() + 1);
                let name = format!("{}_shared{number}", e.kernel.name);
                // Unwritten elements are undefined.
                e.stack_bytes += size;
                Ok(e.kernel.module.define_in_space(&name, nvptx::SHARED, &nvptx::static_shared(size)))
            }
            ("local", Some(size)) if e.stack_bytes + size <= MAX_LOCAL_BYTES => {
                Ok(e.stack_slot(size, nvptx::MAX_ACCESS_BYTES.into()))
            }
            ("local", Some(_)) => Err(Unsupported::Form("local buffers of a thread of more than 512 KiB")),
            ("shared" | "local", None) => Err(Unsupported::Form("a shared or local buffer of dynamic size")),
            _ => Err(Unsupported::Form("an allocation in device code that is neither shared nor local")),
        }
    }

    fn sequence(&self, e: &mut Emitter<'_, '_>, stmts: &[Stmt]) -> Result<()> {
        e.in_order(stmts)
    }

    fn parallel_loop(&self, _: &mut Emitter<'_, '_>, _: &Loop) -> Result<()> {
        Err(Unsupported::Form("a parallel loop over CPU threads in device code"))
    }

    /// The range of the index lets LLVM compute addresses in 32 bits and fold divisions.
    fn thread_axis(&self, e: &mut Emitter<'_, '_>, axis: &IterVar, extent: &PrimExpr, body: &Stmt) -> Result<()> {
        let (intrinsic, limit) =
            nvptx::thread_index(&axis.thread).ok_or(Unsupported::Form("a thread axis that devices lack"))?;
        let ty = register_type(axis.var.dtype())?;
        let extent = extent.as_int().unwrap_or(limit).clamp(1, limit);
        let index = match extent {
            1 => Value::int(0, ty),
            _ => {
                let callee = e.kernel.module.declare(intrinsic, Ty::I32, &[]);
                let index = e.f.assign(Ty::I32, format_args!("call range(i32 0, {extent}) i32 {callee}()"));
                e.f.convert(if ty.bits() < 32 { "trunc" } else { "zext nneg" }, &index, ty)
            }
        };
        e.vars.insert(axis.var.clone(), index);
        e.stmt(body)
    }

    fn call(&self, e: &mut Emitter<'_, '_>, name: &str, args: &[PrimExpr], to: DType) -> Result<Option<Value>> {
        // LLVM aborts the process if the architecture lacks an instruction.
        if nvptx::needs(name, args) > self.gpu.capability {
            return Err(Unsupported::Form("an instruction that the architecture lacks; tensor cores need sm_80"));
        }
        e.device_call(name, args, to)
    }

    fn math(&self, _: &mut Emitter<'_, '_>, _: &str, _: &[Value]) -> Option<Value> {
        None
    }

    fn remainder(&self, _: &mut Emitter<'_, '_>, _: &Value, _: &Value) -> Result<Value> {
        Err(Unsupported::Form("a remainder of floats that was not expanded"))
    }
}

//! Launches of device functions by a host function.

use super::{Emitter, Result, Ty, Unsupported, Value};
use crate::llvm::{
    device_code::{DeviceCode, DeviceEntry, MAX_VALUES, Message},
    text::Module,
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, intrinsics::LAUNCH_ARGS},
};
use hammock_runtime::{
    device::launch::{DeviceKernel, DeviceMessage, Launch},
    ffi::RuntimeTable,
};
use std::mem::offset_of;

impl Emitter<'_, '_> {
    /// `launch_kernel(name, grid x, y, z, block x, y, z, bytes of dynamic shared memory, arguments…)`.
    pub(super) fn launch(&mut self, args: &[PrimExpr]) -> Result<Value> {
        let Some((PrimKind::Str(name), code)) = args.first().map(PrimExpr::kind).zip(self.kernel.device) else {
            return Err(Unsupported::Form("a launch without device code"));
        };
        let entry = code.entries.iter().find(|entry| *entry.name == **name);
        let entry = entry.ok_or(Unsupported::Form("a launch of an unknown device function"))?;
        let extents = args[1..LAUNCH_ARGS].iter().map(|e| self.index(e)).collect::<Result<Vec<_>>>()?;
        let values = args[LAUNCH_ARGS..].iter().map(|e| self.eval(e)).collect::<Result<Vec<_>>>()?;
        let launch = self.f.slot(size_of::<Launch>() as u64, 8);
        let kernel = device_kernel(self.kernel.module, code, entry);
        let arguments = self.argument_array(&values);
        self.store_field(&launch, offset_of!(Launch, kernel), &kernel);
        self.store_field(&launch, offset_of!(Launch, args), &arguments);
        let count = Value::int(values.len() as i64, Ty::I32);
        self.store_field(&launch, offset_of!(Launch, arg_count), &count);
        for (number, extent) in extents.iter().enumerate() {
            self.store_field(&launch, extent_offset(number), extent);
        }
        let status = self.call_runtime(offset_of!(RuntimeTable, launch), Ty::I32, &[&launch]);
        self.check(&status);
        Ok(Value::poison(Ty::VOID))
    }

    /// Stores the values, and returns an array of their addresses.
    fn argument_array(&mut self, values: &[Value]) -> Value {
        let count = values.len().max(1) as u64;
        let (cells, addresses) = (self.f.slot(8 * count, 8), self.f.slot(8 * count, 8));
        for (number, value) in values.iter().enumerate() {
            let cell = self.field_address(&cells, 8 * number);
            let value = if value.ty == Ty::I1 { self.f.convert("zext", value, Ty::I8) } else { value.clone() };
            self.f.store(&value, &cell, value.ty.lane_bytes());
            self.store_field(&addresses, 8 * number, &cell);
        }
        addresses
    }
}

/// Returns the offset of the extent at a position of the intrinsic: three of the grid, three of a block, bytes.
fn extent_offset(number: usize) -> usize {
    match number {
        0..3 => offset_of!(Launch, grid) + 8 * number,
        3..6 => offset_of!(Launch, block) + 8 * (number - 3),
        _ => offset_of!(Launch, shared),
    }
}

/// Adds the constant that describes a device function; returns its address.
fn device_kernel(module: &mut Module, code: &DeviceCode, entry: &DeviceEntry) -> Value {
    let (ptx, name) = (module.bytes(&code.ptx), module.string(&entry.symbol));
    let messages = messages(module, &code.messages);
    let [low, high] = code.hash.map(|half| Value::i64(half as i64));
    let number = |value: usize| Value::int(value as i64, Ty::I32);
    module.record(
        size_of::<DeviceKernel>(),
        &[
            (offset_of!(DeviceKernel, hash), low),
            (offset_of!(DeviceKernel, hash) + 8, high),
            (offset_of!(DeviceKernel, ptx), ptx),
            (offset_of!(DeviceKernel, ptx_bytes), Value::i64(code.ptx.len() as i64)),
            (offset_of!(DeviceKernel, name), name),
            (offset_of!(DeviceKernel, max_threads), number(entry.max_threads as usize)),
            (offset_of!(DeviceKernel, static_shared), number(entry.shared_bytes as usize)),
            (offset_of!(DeviceKernel, messages), messages),
            (offset_of!(DeviceKernel, message_count), number(code.messages.len())),
        ],
    )
}

/// Adds the array of messages; null if there are none.
fn messages(module: &mut Module, messages: &[Message]) -> Value {
    if messages.is_empty() {
        return Value::zero(Ty::PTR);
    }
    let size = size_of::<DeviceMessage>();
    let mut fields = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let start = number * size;
        fields.push((start + offset_of!(DeviceMessage, kind), module.string(&message.kind)));
        for position in 0..=MAX_VALUES {
            let text = message.texts.get(position).map_or_else(|| Value::zero(Ty::PTR), |text| module.string(text));
            fields.push((start + offset_of!(DeviceMessage, texts) + 8 * position, text));
        }
        let values = Value::int(message.value_count() as i64, Ty::I32);
        fields.push((start + offset_of!(DeviceMessage, values), values));
    }
    module.record(messages.len() * size, &fields)
}

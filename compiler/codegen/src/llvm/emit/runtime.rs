//! Calls of the runtime: of Hammock's through the table that the loader hands to the library, of TVM's as
//! [`tvm`](super::tvm) makes them.

use super::{Emitter, Host, Ty, Value};
use hammock_runtime::{ffi::RuntimeTable, library::RUNTIME_SYMBOL};
use std::mem::offset_of;

impl Emitter<'_, '_> {
    /// Calls the function at byte `offset` of the table.
    pub(super) fn call_runtime(&mut self, offset: usize, ret: Ty, args: &[&Value]) -> Value {
        let function = self.runtime_function(offset);
        self.f.call(&function, ret, args)
    }

    fn runtime_function(&mut self, offset: usize) -> Value {
        let variable = self.kernel.module.declare_variable(RUNTIME_SYMBOL, Ty::PTR);
        let table = self.f.load(Ty::PTR, &variable, 8);
        let entry = self.f.address(&table, Ty::I8, &Value::i64(offset as i64));
        self.f.load(Ty::PTR, &entry, 8)
    }

    /// Allocates scratch memory, on the device in a host function; the function fails if there is none.
    pub(super) fn alloc_workspace(&mut self, bytes: &Value) -> Value {
        let memory = match self.kernel.host {
            Host::Hammock => {
                let alloc = self.runtime_function(match self.kernel.device {
                    Some(_) => offset_of!(RuntimeTable, device_workspace_alloc),
                    None => offset_of!(RuntimeTable, workspace_alloc),
                });
                self.f.call_allocator(&alloc, bytes)
            }
            Host::Tvm => self.tvm_workspace(bytes),
        };
        let ok = self.f.compare("icmp ne", &memory, &Value::zero(Ty::PTR));
        let (failed, next) = (self.f.label(), self.f.label());
        self.f.branch(&ok, next, failed);
        self.f.start(failed);
        // The runtime reports that a device has no memory.
        if self.kernel.device.is_none() {
            // Without the kernel's name, so that kernels that differ only in names have the same code.
            let texts = ["there is no memory for a workspace of ", " bytes, or the program may not take so much"];
            self.report("MemoryError", &texts, &[bytes]);
        }
        self.fail();
        self.f.start(next);
        memory
    }

    /// Frees scratch memory.
    pub(super) fn free_workspace(&mut self, memory: &Value) {
        match self.kernel.host {
            Host::Hammock => {
                let free = match self.kernel.device {
                    Some(_) => offset_of!(RuntimeTable, device_workspace_free),
                    None => offset_of!(RuntimeTable, workspace_free),
                };
                self.call_runtime(free, Ty::VOID, &[memory])
            }
            Host::Tvm => self.tvm_free_workspace(memory),
        };
    }

    /// Reports an error of the kernel to the runtime.
    pub(super) fn raise(&mut self, kind: &str, message: &str) {
        self.raise_values(kind, &[message], &[]);
    }

    /// Reports an error of the kernel whose message has 64-bit values between texts, which are one more than the
    /// values.
    pub(super) fn raise_values(&mut self, kind: &str, texts: &[&str], values: &[&Value]) {
        self.kernel.names = true;
        let first = format!("{}: {}", self.kernel.said, texts.first().unwrap_or(&""));
        let texts: Vec<&str> = std::iter::once(first.as_str()).chain(texts.iter().skip(1).copied()).collect();
        let platform = self.kernel.platform;
        platform.report(self, kind, &texts, values);
    }

    /// Reports an error to the runtime.
    pub(super) fn report(&mut self, kind: &str, texts: &[&str], values: &[&Value]) {
        if self.kernel.host == Host::Tvm {
            let (kind, message) = (self.kernel.module.string(kind), self.kernel.module.string(&texts.join("…")));
            return self.tvm_raise(&kind, &message);
        }
        let parts = self.f.slot(8 * texts.len() as u64, 8);
        for (i, text) in texts.iter().enumerate() {
            let text = self.kernel.module.string(text);
            self.store_field(&parts, 8 * i, &text);
        }
        let kind = self.kernel.module.string(kind);
        if values.is_empty() {
            let count = Value::int(texts.len() as i64, Ty::I32);
            self.call_runtime(offset_of!(RuntimeTable, raise), Ty::I32, &[&kind, &parts, &count]);
            return;
        }
        let numbers = self.f.slot(8 * values.len() as u64, 8);
        for (i, value) in values.iter().enumerate() {
            self.store_field(&numbers, 8 * i, value);
        }
        let count = Value::int(values.len() as i64, Ty::I32);
        self.call_runtime(offset_of!(RuntimeTable, raise_values), Ty::I32, &[&kind, &parts, &numbers, &count]);
    }

    /// Runs `body(context, begin, end)` over parts of `0..extent`, on several threads if there are more than `grain`.
    pub(super) fn parallel_for(&mut self, body: &Value, context: &Value, extent: &Value, grain: &Value) {
        let parallel_for = offset_of!(RuntimeTable, parallel_for);
        let status = match self.kernel.host {
            Host::Hammock => self.call_runtime(parallel_for, Ty::I32, &[body, context, extent, grain]),
            Host::Tvm => self.f.call(body, Ty::I32, &[context, &Value::i64(0), extent]),
        };
        self.check(&status);
    }

    /// Calls a global function by name (a C string) with `count` values.
    pub(super) fn call_global(&mut self, name: &Value, values: &Value, count: &Value, result: &Value) {
        let call_global = offset_of!(RuntimeTable, call_global);
        let status = match self.kernel.host {
            Host::Hammock => self.call_runtime(call_global, Ty::I32, &[name, values, count, result]),
            Host::Tvm => self.tvm_call_global(name, values, count, result),
        };
        self.check(&status);
    }
}

//! Calls of TVM's runtime functions.
//!
//! TVM's loader looks for exported pointers of known names in a library and fills them with the addresses of its
//! functions, and one with the address of the library as a module.

use super::{Emitter, Ty, Value};

/// The library as a module.
const LIBRARY: &str = "__tvm_ffi__library_ctx";

impl Emitter<'_, '_> {
    /// Calls a function through the named pointer, which the loader fills.
    fn call_tvm(&mut self, pointer: &str, ret: Ty, args: &[&Value]) -> Value {
        let slot = self.kernel.module.define_slot(pointer);
        let function = self.f.load(Ty::PTR, &slot, 8);
        self.f.call(&function, ret, args)
    }

    /// Allocates scratch memory on the host; null if there is none.
    pub(super) fn tvm_workspace(&mut self, bytes: &Value) -> Value {
        // The last two are the element type (uint8), which only other devices use.
        let [cpu, number, code, bits] = [1, 0, 1, 8].map(|v| Value::int(v, Ty::I32));
        self.call_tvm("__TVMBackendAllocWorkspace", Ty::PTR, &[&cpu, &number, bytes, &code, &bits])
    }

    /// Frees scratch memory.
    pub(super) fn tvm_free_workspace(&mut self, memory: &Value) -> Value {
        let [cpu, number] = [1, 0].map(|v| Value::int(v, Ty::I32));
        self.call_tvm("__TVMBackendFreeWorkspace", Ty::I32, &[&cpu, &number, memory])
    }

    /// Reports an error kind and message, both C strings.
    pub(super) fn tvm_raise(&mut self, kind: &Value, message: &Value) {
        self.call_tvm("__TVMFFIErrorSetRaisedFromCStr", Ty::VOID, &[kind, message]);
    }

    /// Calls an imported or registered function; returns the status.
    pub(super) fn tvm_call_global(&mut self, name: &Value, values: &Value, count: &Value, result: &Value) -> Value {
        let library = self.kernel.module.define_slot(LIBRARY);
        let library = self.f.load(Ty::PTR, &library, 8);
        let found = self.f.slot(8, 8);
        let status = self.call_tvm("__TVMFFIEnvModLookupFromImports", Ty::I32, &[&library, name, &found]);
        self.check(&status);
        let function = self.f.load(Ty::PTR, &found, 8);
        self.call_tvm("__TVMFFIFunctionCall", Ty::I32, &[&function, values, count, result])
    }
}

//! The functions of a library, loaded on the CPU.
use super::shared_library::SharedLibrary;
use crate::ffi::{Error, RUNTIME, RuntimeTable, SafeCall};
use crate::image::versions;
use crate::value::Function;
use crate::vm::native::{self, MachineCode, NativeEntry};
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// The symbol of the pointer that receives the address of the runtime's table.
pub const RUNTIME_SYMBOL: &str = "__hammock_runtime";

/// Loaded code; it stays mapped while any of its kernels lives.
pub(super) struct Code {
    module: SharedLibrary,
    /// The selected version of the kernels.
    version: usize,
}

impl Code {
    /// Loads a library from its verified bytes, without `data`.
    pub(super) fn load(bytes: &[u8], data: &Range<usize>, version: usize) -> Result<Code, Error> {
        // SAFETY: our linker writes no initializers, and the seal proves that the bytes are as it wrote them.
        let module = unsafe { SharedLibrary::load(bytes, data) }.map_err(Error::runtime)?;
        let code = Code { module, version };
        code.set_runtime_pointer();
        Ok(code)
    }

    fn set_runtime_pointer(&self) {
        // SAFETY: the symbol, if it exists, is a pointer that the loader fills, as the linker's contract says.
        unsafe {
            if let Some(slot) = self.module.symbol(RUNTIME_SYMBOL) {
                slot.cast::<*const RuntimeTable>().write(&raw const RUNTIME);
            }
        }
    }

    /// The machine code of function `name`, and the version of the runtime that it was compiled for.
    pub(super) fn machine_code(self: &Arc<Self>, name: &str) -> Option<Result<MachineCode, u64>> {
        // SAFETY: symbols with this prefix are functions' machine code, and their version has a symbol too, as the
        // linker's contract says.
        unsafe {
            let entry = self.module.symbol(&format!("{}{name}", native::PREFIX))?;
            let entry = std::mem::transmute::<NonNull<c_void>, NativeEntry>(entry);
            let version = self.module.symbol(native::VERSION_SYMBOL)?.cast::<u64>().read();
            let is_ours = version == native::VERSION;
            Some(if is_ours { Ok(MachineCode::new(entry, self.clone())) } else { Err(version) })
        }
    }

    /// The kernel `name`, in the selected version.
    pub(super) fn kernel(self: &Arc<Self>, name: &str) -> Option<Function> {
        // SAFETY: symbols of kernels follow the packed convention, as the linker's contract says; the function keeps
        // its code mapped.
        unsafe {
            let find = |version| self.module.symbol(&versions::symbol(name, version));
            let call = std::mem::transmute::<NonNull<c_void>, SafeCall>(find(self.version).or_else(|| find(0))?);
            Some(Function::from_c(call, self.clone()))
        }
    }
}

/// The version of kernels that the environment requests. The standard library's functions need far more code.
pub(super) fn requested_version() -> Option<&'static CStr> {
    // SAFETY: the name is a C string. As for every reader of the environment, nobody may change it at the same time;
    // the value is read at once.
    unsafe {
        let value = libc::getenv(versions::VARIABLE.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

//! Compiles kernels from flat TIR to machine code with LLVM.
//!
//! [`ir_text`] and [`device_ir_text`] write LLVM's textual IR and need no LLVM. With the feature `llvm` (or
//! `llvm-static`), [`compile`] has LLVM read, verify, optimize and emit it. A module holds any number of kernels; each
//! call uses its own context, so modules can be compiled on several threads at once.
//!
//! Each kernel has two entries: the raw one, `i32 name.raw(raw parameters…)` ([`raw_symbol`]), whose parameters are
//! those of the flat function, and the packed one, `i32 __tvm_ffi_name(handle, args, count, result)`, which reads them
//! from arguments. The [`Host`] determines who checks the arguments. The only symbols left undefined are the runtime's
//! table, which the linker provides, and functions of the C library and its mathematics.
//!
//! A kernel for a GPU is a host function with the same entries, whose object contains the PTX of its device functions
//! ([`gpu_object`]). [`DeviceKernel`](hammock_runtime::device::launch::DeviceKernel) is their interface.

mod arch;
#[cfg(feature = "native")]
mod backend;
mod device_code;
mod device_ir;
mod emit;
mod error;
#[cfg(feature = "native")]
mod gpu;
mod signature;
mod text;

#[cfg(feature = "native")]
pub use backend::{Emit, Object, OptLevel, compile, host, object, version};
pub use device_code::{DeviceCode, DeviceEntry, Message};
pub use device_ir::device_ir_text;
pub use error::{LlvmError, Unsupported};
#[cfg(feature = "native")]
pub use gpu::{compile_gpu, gpu_object, ptx};
pub use signature::{DEVICE_ALIGNMENT, signature};

use hammock_kernels::FlatKernel;
use hammock_target::Target;

/// The runtime that loads the kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// Hammock's, which passes its function table to the library, and checks arguments against a kernel's
    /// [`signature`].
    #[default]
    Hammock,
    /// TVM's, which fills exported function pointers. Kernels check their own arguments, and run on one thread.
    Tvm,
}

/// Returns the symbol of a kernel's raw entry. It is not a C identifier, so that a kernel `exp` does not clash with the
/// C function.
pub fn raw_symbol(kernel: &str) -> String {
    format!("{kernel}.raw")
}

/// Returns kernels as one module of LLVM's textual IR, before optimization.
///
/// # Errors
/// When a kernel uses an unsupported operation.
pub fn ir_text<'k>(
    kernels: impl IntoIterator<Item = &'k FlatKernel>,
    target: &Target,
    host: Host,
) -> Result<String, LlvmError> {
    let mut module = module(target);
    for kernel in kernels {
        add(&mut module, kernel, target, host)?;
    }
    Ok(module.finish())
}

/// Starts an empty module.
fn module(target: &Target) -> text::Module {
    text::Module::new(arch::of(target.family).data_layout(), target.family.triple(), attributes(target))
}

/// Adds a kernel to a module; returns true if its messages contain names.
fn add(module: &mut text::Module, kernel: &FlatKernel, target: &Target, host: Host) -> Result<bool, LlvmError> {
    add_with(module, kernel, target, host, None)
}

/// The same with the device code of a host function.
fn add_with(
    module: &mut text::Module,
    kernel: &FlatKernel,
    target: &Target,
    host: Host,
    device: Option<&DeviceCode>,
) -> Result<bool, LlvmError> {
    emit::emit_kernel(module, kernel, target, host, device).map_err(|what| unsupported(kernel, what))
}

/// Returns the error about an unsupported operation of a kernel.
fn unsupported(kernel: &FlatKernel, what: Unsupported) -> LlvmError {
    LlvmError::Kernel { kernel: kernel.said.to_string(), what }
}

/// Hash of the sources of Hammock that generate machine code or are called by it. Together with the kernel and the
/// options, it identifies the code.
pub const SOURCES: &str = env!("HAMMOCK_SOURCES");

/// Returns the attributes of every function.
fn attributes(target: &Target) -> String {
    let features = match target.attributes.as_str() {
        "" => String::new(),
        attributes => format!(" \"target-features\"=\"{attributes}\""),
    };
    let (cpu, own) = (&target.cpu, arch::of(target.family).attributes(target));
    // Spilled vectors must not cross cache lines, regardless of the caller's frame.
    format!("nounwind alignstack=64 \"target-cpu\"=\"{cpu}\"{features} {own}")
}

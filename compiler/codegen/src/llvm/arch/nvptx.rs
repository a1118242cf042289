//! NVPTX: LLVM's settings for CUDA devices, and the names of the operations that its IR lacks.
//!
//! LLVM aborts the process if it cannot select an operation, so the emitter writes only operations of this file and
//! arithmetic that a test compiles for every architecture.

use crate::llvm::text::{Function, Linkage, Ty, Value};
use hammock_target::Gpu;

/// Data layout of the triple [`Gpu::TRIPLE`].
pub const DATA_LAYOUT: &str = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

/// Linkage of functions that the host launches.
pub const ENTRY: Linkage = Linkage::Entry("ptx_kernel");

/// Address space of the device's memory.
pub const GLOBAL: u8 = 1;
/// Address space of the memory that the threads of a block share.
pub const SHARED: u8 = 3;

/// Bytes of the widest access.
pub const MAX_ACCESS_BYTES: u32 = 16;

/// Name of the shared memory whose size the launch gives.
pub const DYNAMIC_SHARED: &str = "dynamic_shared";

/// Barrier of a block's threads; takes the barrier's number.
pub const BLOCK_BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";
/// Barrier of a warp's threads; takes the mask of lanes.
pub const WARP_BARRIER: &str = "llvm.nvvm.bar.warp.sync";

/// Reads the mask of the active lanes of a warp.
pub const ACTIVE_MASK: &str = "llvm.nvvm.activemask";

/// Scope of atomic operations: all threads of the device.
const SCOPE: &str = "syncscope(\"device\") monotonic";

/// Returns attributes of all functions.
pub fn attributes(gpu: &Gpu) -> String {
    format!("nounwind \"target-cpu\"=\"{}\" \"target-features\"=\"{}\"", gpu.name, features(gpu))
}

/// Returns LLVM's features of an architecture: the version of PTX.
pub fn features(gpu: &Gpu) -> String {
    format!("+ptx{}", gpu.ptx_version)
}

/// Returns the attribute that bounds the number of threads of a block.
pub fn max_threads(threads: u32) -> String {
    format!("\"nvvm.maxntid\"=\"{threads}\"")
}

/// Returns the intrinsic that reads a thread axis, and the upper bound of its extent.
pub fn thread_index(axis: &str) -> Option<(&'static str, i64)> {
    Some(match axis {
        "threadIdx.x" => ("llvm.nvvm.read.ptx.sreg.tid.x", 1024),
        "threadIdx.y" => ("llvm.nvvm.read.ptx.sreg.tid.y", 1024),
        "threadIdx.z" => ("llvm.nvvm.read.ptx.sreg.tid.z", 64),
        "blockIdx.x" => ("llvm.nvvm.read.ptx.sreg.ctaid.x", (1 << 31) - 1),
        "blockIdx.y" => ("llvm.nvvm.read.ptx.sreg.ctaid.y", (1 << 16) - 1),
        "blockIdx.z" => ("llvm.nvvm.read.ptx.sreg.ctaid.z", (1 << 16) - 1),
        _ => return None,
    })
}

/// Returns the intrinsic that exchanges 32 bits between the lanes of a warp, for one of TIR's, and true if the lowest
/// lanes of a segment bound it (otherwise the highest).
pub fn shuffle(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "tvm_warp_shuffle" => ("llvm.nvvm.shfl.sync.idx.i32", false),
        "tvm_warp_shuffle_up" => ("llvm.nvvm.shfl.sync.up.i32", true),
        "tvm_warp_shuffle_down" => ("llvm.nvvm.shfl.sync.down.i32", false),
        "tvm_warp_shuffle_xor" => ("llvm.nvvm.shfl.sync.bfly.i32", false),
        _ => return None,
    })
}

/// Returns the definition of shared memory of a block.
pub fn static_shared(bytes: i64) -> String {
    format!("internal addrspace({SHARED}) global [{bytes} x i8] poison, align {MAX_ACCESS_BYTES}")
}

/// Returns the definition of [`DYNAMIC_SHARED`].
pub fn dynamic_shared() -> String {
    format!("external addrspace({SHARED}) global [0 x i8], align {MAX_ACCESS_BYTES}")
}

/// Sets a flag of 32 bits from 0 to 1; returns its value before.
pub fn claim(f: &mut Function, flag: &Value) -> Value {
    let pair = f.forward(Ty::I32);
    let flag = flag.typed();
    f.assign_to(&pair, format_args!("cmpxchg {flag}, i32 0, i32 1 {SCOPE} monotonic, align 4"));
    f.assign(Ty::I32, format_args!("extractvalue {{ i32, i1 }} {pair}, 0"))
}

/// Loads a flag of 32 bits that other threads set.
pub fn load_flag(f: &mut Function, flag: &Value) -> Value {
    f.assign(Ty::I32, format_args!("load atomic i32, {} {SCOPE}, align 4", flag.typed()))
}

/// Adds a number of 32 or 64 bits in memory; returns what was there before.
pub fn atomic_add(f: &mut Function, address: &Value, value: &Value) -> Value {
    let operation = if value.ty.is_float() { "fadd" } else { "add" };
    let (address, value_typed) = (address.typed(), value.typed());
    f.assign(value.ty, format_args!("atomicrmw {operation} {address}, {value_typed} {SCOPE}"))
}

/// Returns a name as an identifier of PTX: with `_` for other characters than letters and digits.
pub fn identifier(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("k{plain}") }
}

/// Registers the backend in LLVM.
#[cfg(feature = "native")]
pub fn initialize() {
    use inkwell::targets::{InitializationConfig, Target as Backend};
    Backend::initialize_nvptx(&InitializationConfig::default());
}

//! NVPTX: LLVM's settings for CUDA devices, and the names of the operations that its IR lacks.
//!
//! LLVM aborts the process if it cannot select an operation, so the emitter writes only operations of this file and
//! arithmetic that a test compiles for every architecture.

use crate::llvm::text::{Function, Linkage, Ty, Value};
use hammock_ir::PrimExpr;
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

/// Returns the intrinsic that loads `count` matrices of 8 x 8 elements of 16 bits from shared memory.
pub fn load_matrices(count: i64, transposes: bool) -> Option<String> {
    let transposed = if transposes { ".trans" } else { "" };
    let is_known = [1, 2, 4].contains(&count);
    is_known.then(|| format!("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{transposed}.b16.p{SHARED}"))
}

/// A matrix multiplication of a warp: the intrinsic, and the types and numbers of registers of A, B and the sums.
pub struct Mma {
    pub intrinsic: String,
    pub operand: Ty,
    pub sum: Ty,
    pub a_registers: usize,
    pub b_registers: usize,
}

/// Returns the multiplication of a shape, and dtypes of operands and sums, as TIR names them.
pub fn mma(shape: &str, operands: &str, sums: &str) -> Option<Mma> {
    let pair = Ty::HALF.with_lanes(2);
    let (suffix, operand, sum, a_registers) = match (shape, operands, sums) {
        ("m16n8k16", "fp16", "fp32") => ("f32.f32", pair, Ty::FLOAT, 4),
        ("m16n8k8", "fp16", "fp32") => ("f32.f32", pair, Ty::FLOAT, 2),
        ("m16n8k16", "bf16", "fp32") => ("bf16", Ty::I32, Ty::FLOAT, 4),
        ("m16n8k8", "bf16", "fp32") => ("bf16", Ty::I32, Ty::FLOAT, 2),
        ("m16n8k8", "tf32", "fp32") => ("tf32", Ty::I32, Ty::FLOAT, 4),
        ("m16n8k32", "int8", "int32") => ("s8", Ty::I32, Ty::I32, 4),
        ("m16n8k32", "uint8", "int32") => ("u8", Ty::I32, Ty::I32, 4),
        _ => return None,
    };
    let intrinsic = format!("llvm.nvvm.mma.{shape}.row.col.{suffix}");
    Some(Mma { intrinsic, operand, sum, a_registers, b_registers: a_registers / 2 })
}

/// Rounds a float to tf32, whose mantissa has ten bits: to the nearest one, ties away from zero.
pub const ROUND_TO_TF32: &str = "llvm.nvvm.f2tf32.rna";

/// Returns the intrinsic that copies bytes from global to shared memory asynchronously, and fills with zeros what is
/// beyond a size.
pub fn copy_async(bytes: i64) -> Option<String> {
    // Copies of 16 bytes bypass the L1 cache.
    let cache = match bytes {
        16 => "cg",
        4 | 8 => "ca",
        _ => return None,
    };
    Some(format!("llvm.nvvm.cp.async.{cache}.shared.global.{bytes}.s"))
}

/// Returns the lowest compute capability that has an intrinsic of TIR.
pub fn needs(name: &str, args: &[PrimExpr]) -> (u32, u32) {
    let word = |index: usize| args.get(index).and_then(PrimExpr::as_str);
    match name {
        "ptx_mma" if word(0) == Some("m16n8k8") && word(3) == Some("fp16") => (7, 5),
        "ptx_mma" | "ptx_cp_async" | "ptx_commit_group" | "ptx_wait_group" => (8, 0),
        _ => (0, 0),
    }
}

/// Ends a group of asynchronous copies.
pub const COMMIT_GROUP: &str = "llvm.nvvm.cp.async.commit.group";
/// Waits for all groups of asynchronous copies but the last ones; takes their number.
pub const WAIT_GROUP: &str = "llvm.nvvm.cp.async.wait.group";

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

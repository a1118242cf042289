//! Kernels for GPUs, built by hand.

use crate::build::{elementwise, func};
use hammock_codegen::llvm::{self, Emit, LlvmError, OptLevel};
use hammock_ir::{
    DType, PrimExpr,
    prim::{IterKind, IterVar, Var, intrinsics::LAUNCH_KERNEL},
    tir::{AttrNode, Buffer, Param, Stmt, StmtKind},
};
use hammock_kernels::{DeviceFunc, GpuKernel, lower};
use hammock_target::{Gpu, Target};

/// Threads of a block.
pub const THREADS: i64 = 128;

/// Returns a flat buffer of a device function, and its parameter.
pub fn global(name: &str, dtype: DType) -> (Buffer, Param) {
    let buffer = scoped(name, "global", 1 << 20, dtype);
    let param = Param::scalar(buffer.data.clone());
    (buffer, param)
}

/// Returns a buffer of a thread or a block.
pub fn scoped(name: &str, scope: &str, extent: i64, dtype: DType) -> Buffer {
    Buffer::scoped(name, vec![PrimExpr::int64(extent)], dtype, scope)
}

/// Wraps statements in a thread axis.
pub fn launch_thread(axis: &str, var: &Var, extent: PrimExpr, body: Stmt) -> Stmt {
    let iter = IterVar { var: var.clone(), dom: None, kind: IterKind::ThreadIndex, thread: axis.into() };
    let key = "thread_extent".into();
    Stmt::new(StmtKind::Attr { node: AttrNode::Thread(iter), key, value: extent, body: Box::new(body) })
}

/// Returns a device function over blocks of [`THREADS`] threads; `body` gets the index of the thread in the grid.
pub fn device_func(params: Vec<Param>, body: impl FnOnce(PrimExpr) -> Stmt) -> DeviceFunc {
    let (block, thread) = (Var::int64("block"), Var::int64("thread"));
    let index = block.expr() * PrimExpr::int64(THREADS) + thread.expr();
    let inner = launch_thread("threadIdx.x", &thread, PrimExpr::int64(THREADS), body(index));
    let body = launch_thread("blockIdx.x", &block, PrimExpr::int64(16), inner);
    let max_threads = THREADS as u32;
    DeviceFunc { name: "kernel".into(), func: func(params, body), max_threads, shared_bytes: 0, follows_checks: false }
}

/// Returns a kernel whose host function, of one input and one output of float32, launches a device function with them
/// and their size.
pub fn launching(device: DeviceFunc) -> GpuKernel {
    let mut host = lower(&elementwise(1, DType::FLOAT32, |x| x.to_vec()), &Target::avx2()).unwrap();
    let extents = [16, 1, 1, THREADS, 1, 1, 0].map(PrimExpr::int64);
    let args = host.func.params.iter().map(|param| param.var.expr()).take(device.func.params.len());
    let args = [PrimExpr::str(device.name.clone())].into_iter().chain(extents).chain(args).collect();
    host.func.body = Stmt::new(StmtKind::Evaluate(PrimExpr::intrin(LAUNCH_KERNEL, args, DType::VOID)));
    GpuKernel { output_args: Vec::new(), host, device: vec![device] }
}

/// Returns the PTX of a device function.
pub fn ptx(device: &DeviceFunc, gpu: &Gpu, level: OptLevel) -> Result<String, LlvmError> {
    let bytes = llvm::ptx(&[launching(device.clone())], gpu, level)?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// Returns LLVM's text of the host function of a device function.
pub fn host_text(device: &DeviceFunc, gpu: &Gpu) -> String {
    let kernel = launching(device.clone());
    let bytes = llvm::compile_gpu(&[kernel], gpu, &Target::avx2(), OptLevel::Lean, Emit::Ir).unwrap();
    String::from_utf8(bytes).unwrap()
}

//! A kernel for a GPU: a host function that launches device functions.

use crate::FlatKernel;
use hammock_ir::{Name, tir::PrimFunc};

/// A kernel for a GPU.
///
/// The host function has the entry points of a kernel for CPUs. Its body computes launch extents from sizes, and
/// launches the device functions in order by
/// [`LAUNCH_KERNEL`](hammock_ir::prim::intrinsics::LAUNCH_KERNEL); a grid of no blocks is no launch. Its tensor
/// parameters, and what it allocates in scope `global`, are in the device's memory, which it never reads or writes
/// itself.
#[derive(Clone, Debug)]
pub struct GpuKernel {
    /// Host function.
    pub host: FlatKernel,
    /// Device functions, in the order of their first launch. Names are unique within the kernel.
    pub device: Vec<DeviceFunc>,
    /// For each packed argument, true if it is a tensor that the kernel stores to.
    pub output_args: Vec<bool>,
}

/// A function that every thread of a grid runs.
#[derive(Clone, Debug)]
pub struct DeviceFunc {
    /// Its name in launches.
    pub name: Name,
    /// Flat TIR. Parameters are pointers to global memory, int64 sizes and scalars, as launches pass them. The body is
    /// a nest of `T.launch_thread` attributes with int64 variables around the statements of one thread. Allocations
    /// have scope `shared` (constant size, one for each block), `shared.dyn` (at most one, without a size: the launch
    /// gives the bytes) or `local` (constant size, one for each thread). `tvm_storage_sync("shared")` is a barrier of
    /// the block. A failed check or assertion records an error, unless one is recorded, and ends the thread.
    pub func: PrimFunc,
    /// Upper bound of the threads of a block, for the launch bounds: the product of the block's extents.
    pub max_threads: u32,
    /// Bytes of shared memory of constant size.
    pub shared_bytes: u64,
    /// True if a launch before it in the kernel may record an error whose check this function relies on: its threads
    /// end at once if an error is recorded.
    pub follows_checks: bool,
}

//! The assumed machine: what decisions rely on that are made without a [`Target`](crate::Target), or that LLVM's tables
//! do not describe.
//!
//! A pass decides once for all CPUs that a module is compiled for, so the costs that it estimates are those of a machine
//! that stands for all of them: a common x86-64 core and, where cores differ, the size that is safe on each.

/// Bytes of a cache line.
pub const CACHE_LINE_BYTES: i64 = 64;

/// Bytes of the L2 cache of a core: the minimum of the CPUs in use.
pub const L2_BYTES: i64 = 256 << 10;

/// Stride in bytes at which addresses map to the same L1 set: cache size / associativity (32 KiB, 8 ways).
pub const L1_SET_STRIDE: i64 = 4 << 10;

/// Stride in bytes at which addresses map to the same L2 set: cache size / associativity (1 MiB, 16 ways).
pub const L2_SET_STRIDE: i64 = 64 << 10;

/// Bytes of the widest vector register (AVX-512).
pub const MAX_VECTOR_BYTES: i64 = 64;

/// Bytes within which shuffles of a vector are cheap: a 128-bit lane.
pub const SHUFFLE_LANE_BYTES: i64 = 16;

/// Vector loads per cycle.
pub const LOADS_PER_CYCLE: f64 = 2.0;

/// Latency of a floating-point addition in cycles.
pub const ADD_LATENCY: f64 = 4.0;

/// Bandwidth of the L2 cache in bytes per cycle.
pub const L2_BANDWIDTH: f64 = 32.0;

/// Bandwidth of the L3 cache in bytes per cycle.
pub const L3_BANDWIDTH: f64 = 16.0;

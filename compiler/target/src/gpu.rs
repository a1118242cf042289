//! GPUs: the properties of a CUDA architecture that schedules and code generation depend on.
//!
//! The limits are those of the CUDA C++ Programming Guide, "Compute Capabilities". The number of multiprocessors and the
//! size of the L2 cache differ between devices of one architecture: those here are of the device that data centers have
//! most of, and only heuristics rely on them.

use hammock_runtime::DType;
use std::fmt;

/// A CUDA architecture. Two with the same name are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// Name in LLVM and ptxas: `sm_80`.
    pub name: &'static str,
    /// Compute capability: major, minor. Code runs on devices of this capability or a later one.
    pub capability: (u32, u32),
    /// Version of the PTX ISA of the emitted text, major * 10 + minor: the oldest that the generated instructions need,
    /// so that old drivers load it.
    pub ptx_version: u32,
    /// The device that stands for the architecture in heuristics.
    pub assumed_device: &'static str,
    /// Streaming multiprocessors (SMs) of the assumed device.
    pub sm_count: u32,
    /// Bytes of the L2 cache of the assumed device.
    pub l2_bytes: u64,
    /// Threads of a warp, which execute together.
    pub warp_size: u32,
    /// Maximum number of threads of a block.
    pub max_block_threads: u32,
    /// Maximum number of threads that an SM holds at once.
    pub max_sm_threads: u32,
    /// Maximum number of blocks that an SM holds at once.
    pub max_sm_blocks: u32,
    /// Maximum bytes of statically declared shared memory of a block.
    pub max_static_shared: u32,
    /// Maximum bytes of shared memory of a block, static and dynamic.
    pub max_block_shared: u32,
    /// Bytes of shared memory of an SM. Each block takes 1 KiB more than it declares from architecture 8.0 on.
    pub sm_shared: u32,
    /// 32-bit registers of an SM.
    pub sm_registers: u32,
    /// Maximum number of registers of a thread.
    pub max_thread_registers: u32,
    /// Dtypes of operands that tensor cores multiply, with float32 or int32 sums. `float32` stands for TF32.
    pub tensor_core_dtypes: &'static [DType],
    /// True if it copies from global to shared memory asynchronously (`cp.async`).
    pub has_async_copy: bool,
}

const TURING: &[DType] = &[DType::FLOAT16, DType::INT8, DType::UINT8];
const AMPERE: &[DType] = &[DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32, DType::INT8, DType::UINT8];
const ADA: &[DType] = &[
    DType::FLOAT16,
    DType::BFLOAT16,
    DType::FLOAT32,
    DType::INT8,
    DType::UINT8,
    DType::FLOAT8_E4M3FN,
    DType::FLOAT8_E5M2,
];

/// Compute capability 8.0. The others are given by what differs.
const SM_80: Gpu = Gpu {
    name: "sm_80",
    capability: (8, 0),
    ptx_version: 70,
    assumed_device: "A100",
    sm_count: 108,
    l2_bytes: 40 << 20,
    warp_size: 32,
    max_block_threads: 1024,
    max_sm_threads: 2048,
    max_sm_blocks: 32,
    max_static_shared: 48 << 10,
    max_block_shared: 163 << 10,
    sm_shared: 164 << 10,
    sm_registers: 64 << 10,
    max_thread_registers: 255,
    tensor_core_dtypes: AMPERE,
    has_async_copy: true,
};

const SM_75: Gpu = Gpu {
    name: "sm_75",
    capability: (7, 5),
    ptx_version: 65,
    assumed_device: "T4",
    sm_count: 40,
    l2_bytes: 4 << 20,
    max_sm_threads: 1024,
    max_sm_blocks: 16,
    max_block_shared: 64 << 10,
    sm_shared: 64 << 10,
    tensor_core_dtypes: TURING,
    has_async_copy: false,
    ..SM_80
};

const SM_86: Gpu = Gpu {
    name: "sm_86",
    capability: (8, 6),
    ptx_version: 71,
    assumed_device: "A10",
    sm_count: 72,
    l2_bytes: 6 << 20,
    max_sm_threads: 1536,
    max_sm_blocks: 16,
    max_block_shared: 99 << 10,
    sm_shared: 100 << 10,
    ..SM_80
};

const SM_89: Gpu = Gpu {
    name: "sm_89",
    capability: (8, 9),
    ptx_version: 78,
    assumed_device: "L4",
    sm_count: 58,
    l2_bytes: 48 << 20,
    max_sm_blocks: 24,
    tensor_core_dtypes: ADA,
    ..SM_86
};

const SM_90: Gpu = Gpu {
    name: "sm_90",
    capability: (9, 0),
    ptx_version: 78,
    assumed_device: "H100",
    sm_count: 132,
    l2_bytes: 50 << 20,
    max_block_shared: 227 << 10,
    sm_shared: 228 << 10,
    tensor_core_dtypes: ADA,
    ..SM_80
};

impl Gpu {
    /// All architectures, from the oldest to the newest.
    pub const ALL: &[Gpu] = &[SM_75, SM_80, SM_86, SM_89, SM_90];

    /// The architecture of `--target cuda`: data-center GPUs from the A100 on run its code.
    pub const DEFAULT: Gpu = SM_80;

    /// Target triple under which LLVM knows all of them.
    pub const TRIPLE: &str = "nvptx64-nvidia-cuda";

    /// Returns the architecture of a name, `sm_80`.
    pub fn named(name: &str) -> Option<Gpu> {
        Gpu::ALL.iter().find(|gpu| gpu.name == name).copied()
    }

    /// Returns the names of all architectures.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Gpu::ALL.iter().map(|gpu| gpu.name)
    }

    /// True if tensor cores multiply float32 rounded to tf32.
    pub fn has_tf32(&self) -> bool {
        self.capability >= (8, 0)
    }

    /// True if tensor cores multiply operands of a dtype.
    pub fn has_tensor_cores_for(&self, dtype: DType) -> bool {
        self.tensor_core_dtypes.contains(&dtype)
    }
}

impl Default for Gpu {
    fn default() -> Self {
        Gpu::DEFAULT
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_ordered_and_named_by_their_capability() {
        assert!(Gpu::ALL.is_sorted_by_key(|gpu| gpu.capability));
        assert!(Gpu::ALL.is_sorted_by_key(|gpu| gpu.ptx_version));
        for gpu in Gpu::ALL {
            let (major, minor) = gpu.capability;
            assert_eq!(gpu.name, format!("sm_{major}{minor}"));
            assert_eq!(Gpu::named(gpu.name), Some(*gpu));
            assert!(gpu.max_block_shared <= gpu.sm_shared && gpu.max_static_shared <= gpu.max_block_shared);
            assert!(gpu.max_block_threads <= gpu.max_sm_threads);
        }
        assert_eq!(Gpu::named("sm_52"), None);
        assert_eq!(Gpu::default().to_string(), "cuda:sm_80");
    }

    #[test]
    fn tensor_cores_depend_on_the_architecture() {
        let has = |name: &str, dtype| Gpu::named(name).unwrap().has_tensor_cores_for(dtype);
        assert!(!has("sm_75", DType::BFLOAT16) && has("sm_75", DType::FLOAT16));
        assert!(has("sm_80", DType::BFLOAT16) && !has("sm_80", DType::FLOAT8_E4M3FN));
        assert!(has("sm_90", DType::FLOAT8_E4M3FN));
        assert!(Gpu::DEFAULT.has_tf32() && !Gpu::named("sm_75").unwrap().has_tf32());
    }
}

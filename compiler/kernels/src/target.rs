//! The target of kernels: the facts about a machine that plans depend on.

/// A CPU as rules see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Bytes of the widest vector register that arithmetic should use.
    pub vector_bytes: u32,
    /// How many vector registers there are.
    pub vector_registers: u32,
    /// Whether loads and stores of vectors can be masked at no cost, for elements of any size.
    pub masks: bool,
    /// Whether there is a fused multiply-add.
    pub fma: bool,
    /// Whether floats round to integers in one instruction.
    pub rounds: bool,
    /// Whether float16 converts from and to float32 in hardware.
    pub float16: bool,
    /// Threads that work on one kernel.
    pub threads: u32,
}

impl Target {
    /// x86-64 with AVX-512 (the level `x86-64-v4`).
    pub fn avx512() -> Self {
        Target {
            vector_bytes: 64,
            vector_registers: 32,
            masks: true,
            fma: true,
            rounds: true,
            float16: true,
            threads: 1,
        }
    }

    /// x86-64 with AVX2 (the level `x86-64-v3`).
    pub fn avx2() -> Self {
        Target {
            vector_bytes: 32,
            vector_registers: 16,
            masks: false,
            fma: true,
            rounds: true,
            float16: true,
            threads: 1,
        }
    }

    /// Any 64-bit machine with 16-byte vectors and nothing else.
    pub fn baseline() -> Self {
        Target {
            vector_bytes: 16,
            vector_registers: 16,
            masks: false,
            fma: false,
            rounds: false,
            float16: false,
            threads: 1,
        }
    }

    /// The machine this runs on.
    pub fn host() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Target { threads, ..Target::host_vectors() }
    }

    #[cfg(target_arch = "x86_64")]
    fn host_vectors() -> Self {
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq");
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        match (avx512 && avx2, avx2) {
            (true, _) => Target::avx512(),
            (_, true) => Target::avx2(),
            _ => Target::baseline(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn host_vectors() -> Self {
        Target::baseline()
    }

    /// Lanes of a full vector of elements of that many bits.
    pub fn lanes(&self, bits: u8) -> u16 {
        (self.vector_bytes * 8 / u32::from(bits.max(8))) as u16
    }
}

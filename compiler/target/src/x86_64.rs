//! x86-64: its CPUs, and what their features mean for scheduling and code generation.

use super::{Caches, Family, Features, Target};

/// Name in messages.
pub(super) const NAME: &str = "x86-64";

/// LLVM's target triple.
pub(super) const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// LLVM's table of processors and their features.
static CPUS: &str = include_str!("cpus.txt");

/// Returns the rows of the table: names and features.
pub(super) fn cpus() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = CPUS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(':').map_or((line, ""), |(name, features)| (name, features.trim_start())))
}

/// Returns the microarchitecture level of a CPU with these features.
pub(super) fn level_of(features: Features) -> &'static str {
    match Target::new("", "", features).vector_bytes {
        64 => "x86-64-v4",
        32 if features.has("fma") && features.has("f16c") => "x86-64-v3",
        _ => "x86-64",
    }
}

impl Target {
    /// Creates a target from LLVM's name, attributes and all features.
    pub fn new(cpu: impl Into<String>, attributes: impl Into<String>, features: Features) -> Target {
        let has = |name: &str| features.has(name);
        let masks = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has);
        let vector_bytes = match () {
            () if masks => 64,
            () if has("avx2") => 32,
            () => 16,
        };
        Target {
            family: Family::X86_64,
            cpu: cpu.into(),
            attributes: attributes.into(),
            features,
            vector_bytes,
            vector_registers: if masks { 32 } else { 16 },
            masks,
            fma: has("fma"),
            fma_ports: if has("fma") { 2 } else { 1 },
            rounds: has("sse4.1"),
            float16: has("f16c"),
            int8_dot: if masks { has("avx512vnni") } else { has("avxvnni") },
            bfloat16_dot: masks && has("avx512bf16"),
            caches: Caches::assumed(vector_bytes),
            memory_bytes: 8,
            threads: 1,
        }
    }

    /// Returns x86-64 with AVX-512 (level `x86-64-v4`).
    pub fn avx512() -> Self {
        Target::level("x86-64-v4")
    }

    /// Returns x86-64 with AVX2 (level `x86-64-v3`).
    pub fn avx2() -> Self {
        Target::level("x86-64-v3")
    }

    /// Returns baseline x86-64 with 16-byte vectors.
    pub fn baseline() -> Self {
        Target::level("x86-64")
    }

    fn level(name: &str) -> Target {
        Target::named(name).unwrap_or_else(|| Target::new(name, "", Features::default()))
    }
}

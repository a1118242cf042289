//! x86-64: its CPUs, and what their features mean for scheduling and code generation.

use super::{Arch, Family};
use crate::{Caches, Features, Target};

/// The family.
pub(super) struct X86_64;

impl Arch for X86_64 {
    fn name(&self) -> &'static str {
        "x86-64"
    }

    fn architecture(&self) -> &'static str {
        "x86_64"
    }

    fn triple(&self) -> &'static str {
        "x86_64-unknown-linux-gnu"
    }

    fn other_triples(&self) -> &'static [&'static str] {
        &["x86_64-pc-linux-gnu", "x86_64-linux-gnu"]
    }

    fn cpus(&self) -> &'static str {
        include_str!("x86_64.txt")
    }

    fn levels(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("x86-64", "any 64-bit x86 CPU"),
            ("x86-64-v2", "with SSE4.2"),
            ("x86-64-v3", "with AVX2 and FMA"),
            ("x86-64-v4", "with AVX-512"),
        ]
    }

    fn level_of(&self, features: Features) -> &'static str {
        match self.target(String::new(), String::new(), features).vector_bytes {
            64 => "x86-64-v4",
            32 if features.has("fma") && features.has("f16c") => "x86-64-v3",
            _ => "x86-64",
        }
    }

    fn target(&self, cpu: String, attributes: String, features: Features) -> Target {
        let has = |name: &str| features.has(name);
        let masks = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has);
        let vector_bytes = match () {
            () if masks => 64,
            () if has("avx2") => 32,
            () => 16,
        };
        Target {
            family: Family::X86_64,
            cpu,
            attributes,
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
}

impl Target {
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
        Target::named(name).unwrap_or_else(|| Target::new(Family::X86_64, name, "", Features::default()))
    }
}

//! The target of kernels: the facts about a machine that plans and code generation depend on.
//!
//! What a processor can do comes from LLVM's own description of it (`cpus.txt`, which a test compares with LLVM), or is
//! detected. What LLVM does not describe is known of this machine only, and assumed of others by the width of their
//! vectors: see [`Caches::assumed`].

mod caches;

pub use caches::Caches;
pub use hammock_runtime::cpu_features::{FEATURES, Features};

use std::sync::OnceLock;

/// A CPU as rules and code generation see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// LLVM's name of it: `znver4`, `x86-64-v3`.
    pub cpu: String,
    /// Features beyond those of the name, as LLVM writes them: with `+` or `-` in front, joined by commas.
    pub attributes: String,
    /// What it can do.
    pub features: Features,
    /// Bytes of the widest vector register that arithmetic should use.
    pub vector_bytes: u32,
    /// How many vector registers there are.
    pub vector_registers: u32,
    /// True if loads and stores of vectors can be masked at no cost, for elements of any size, and floats be scaled by
    /// powers of two in one instruction (AVX-512).
    pub masks: bool,
    /// True if there is a fused multiply-add.
    pub fma: bool,
    /// How many vectors of products are added to others in a cycle: assumed to be two where there is a fused
    /// multiply-add, else one.
    pub fma_ports: u32,
    /// True if floats round to integers in one instruction.
    pub rounds: bool,
    /// True if float16 converts from and to float32 in hardware.
    pub float16: bool,
    /// True if four products of int8 are added to an int32 in one instruction (VNNI), in full vectors.
    pub int8_dot: bool,
    /// True if two products of bfloat16 are added to a float32 in one instruction (AVX512_BF16).
    pub bfloat16_dot: bool,
    /// The caches.
    pub caches: Caches,
    /// Bytes that a core takes from main memory in a cycle: assumed to be 8.
    pub memory_bytes: u32,
    /// Threads that work on one kernel.
    pub threads: u32,
}

/// The processors that LLVM knows, with their features.
static CPUS: &str = include_str!("cpus.txt");

impl Target {
    /// The processor with a name of LLVM's.
    pub fn named(name: &str) -> Option<Target> {
        let (_, features) = cpus().find(|(known, _)| *known == name)?;
        Some(Target::new(name, "", features.split(' ').collect()))
    }

    /// The names that processors have.
    pub fn names() -> impl Iterator<Item = &'static str> {
        cpus().map(|(name, _)| name)
    }

    /// A processor that has these features, which LLVM knows by a name and attributes.
    pub fn new(cpu: impl Into<String>, attributes: impl Into<String>, features: Features) -> Target {
        let has = |name: &str| features.has(name);
        let masks = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has);
        let vector_bytes = match () {
            () if masks => 64,
            () if has("avx2") => 32,
            () => 16,
        };
        Target {
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

    /// x86-64 with AVX-512 (the level `x86-64-v4`).
    pub fn avx512() -> Self {
        Target::level("x86-64-v4")
    }

    /// x86-64 with AVX2 (the level `x86-64-v3`).
    pub fn avx2() -> Self {
        Target::level("x86-64-v3")
    }

    /// Any 64-bit machine with 16-byte vectors and nothing else.
    pub fn baseline() -> Self {
        Target::level("x86-64")
    }

    fn level(name: &str) -> Target {
        Target::named(name).unwrap_or_else(|| Target::new(name, "", Features::default()))
    }

    /// The machine this runs on. Its name is that of its level; LLVM knows a closer one.
    pub fn host() -> Self {
        static HOST: OnceLock<Target> = OnceLock::new();
        let host = || {
            let features = Features::detected();
            let level = match Target::new("", "", features).vector_bytes {
                64 => "x86-64-v4",
                32 if features.has("fma") && features.has("f16c") => "x86-64-v3",
                _ => "x86-64",
            };
            let attributes: Vec<String> = features.names().map(|name| format!("+{name}")).collect();
            Target::new(level, attributes.join(","), features).here()
        };
        HOST.get_or_init(host).clone()
    }

    /// The same with what is known about this machine.
    pub fn here(self) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Target { threads, caches: Caches::here().unwrap_or(self.caches), ..self }
    }

    /// Lanes of a full vector of elements of that many bits.
    pub fn lanes(&self, bits: u8) -> u16 {
        (self.vector_bytes * 8 / u32::from(bits.max(8))) as u16
    }
}

/// The lines of the table: names and features.
fn cpus() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = CPUS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(':').map_or((line, ""), |(name, features)| (name, features.trim_start())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_make_targets() {
        let bits = |name: &str| Target::named(name).unwrap().vector_bytes * 8;
        assert_eq!([bits("x86-64-v4"), bits("x86-64-v3"), bits("x86-64")], [512, 256, 128]);
        assert_eq!(bits("diamondrapids"), 512);
        assert_eq!(bits("graniterapids-d"), 512);
        assert_eq!(bits("knl"), 256, "without masks for bytes");
        assert_eq!(bits("sandybridge"), 128, "integers have short vectors");
        let cpu = |name: &str| Target::named(name).unwrap();
        assert!(cpu("znver4").int8_dot && cpu("znver4").bfloat16_dot && !cpu("icelake-server").bfloat16_dot);
        assert!(cpu("alderlake").int8_dot && !cpu("haswell").int8_dot);
        assert!(cpu("nehalem").rounds && !cpu("nehalem").fma && !cpu("core2").rounds);
        assert_eq!(Target::named("pentium3"), None);
        assert_eq!(Target::named("native"), None);
    }

    #[test]
    fn this_machine_has_what_it_detects() {
        let host = Target::host();
        assert!(host.threads >= 1 && host.caches.l1 >= 8 << 10, "{host:?}");
        assert!(Target::names().any(|name| name == host.cpu), "{host:?}");
    }
}

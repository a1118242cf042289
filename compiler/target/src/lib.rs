//! Compilation target: the properties of a machine that scheduling and code generation depend on.
//!
//! Each processor family is a file in `arch/`: its CPUs, and what their features mean. CPU features come from LLVM's own
//! tables, or are detected. Cache sizes, which LLVM does not describe, are known for this machine only, and assumed for
//! others by their vector width: see [`Caches::assumed`]. Decisions that are made without a target rely on an
//! [`assumed_machine`], and those about sizes that are only known at run time on an assumed [`dynamic_extent`].
//!
//! A [`Gpu`] is described apart from the CPU of the same machine, which runs the host's part of the code.
#![forbid(unsafe_code)]

mod arch;
pub mod assumed_machine;
mod caches;
pub mod dynamic_extent;
mod gpu;

pub use arch::Family;
pub use caches::Caches;
pub use gpu::Gpu;
pub use hammock_runtime::cpu_features::{FEATURES, Features};

use std::sync::OnceLock;

/// A target CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Processor family.
    pub family: Family,
    /// LLVM's name of the CPU: `znver4`, `x86-64-v3`.
    pub cpu: String,
    /// Additional features in LLVM's syntax: prefixed by `+` or `-`, separated by commas.
    pub attributes: String,
    /// Features of the CPU.
    pub features: Features,
    /// Bytes of the preferred vector register.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_registers: u32,
    /// True if masked loads and stores are free for all element sizes, and floats can be scaled by powers of two in one
    /// instruction.
    pub masks: bool,
    /// True if it has fused multiply-add.
    pub fma: bool,
    /// Multiply-accumulate instructions issued per cycle: assumed to be two with fused multiply-add, otherwise one.
    pub fma_ports: u32,
    /// True if it rounds floats to integers in one instruction.
    pub rounds: bool,
    /// True if it converts float16 from and to float32.
    pub float16: bool,
    /// True if it has int8 dot4 instructions of full vector width.
    pub int8_dot: bool,
    /// True if it has bfloat16 dot2 instructions.
    pub bfloat16_dot: bool,
    /// Data caches.
    pub caches: Caches,
    /// Memory bandwidth of a core in bytes per cycle: assumed to be 8.
    pub memory_bytes: u32,
    /// Threads that run a kernel.
    pub threads: u32,
}

impl Target {
    /// Returns the processor of a name in LLVM.
    pub fn named(name: &str) -> Option<Target> {
        Family::ALL.iter().find_map(|family| {
            let (_, features) = family.cpus().find(|(known, _)| *known == name)?;
            Some(Target::new(*family, name, "", features.split(' ').collect()))
        })
    }

    /// Returns the names of all processors.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Family::ALL.iter().flat_map(|family| family.cpus()).map(|(name, _)| name)
    }

    /// Returns the machine this runs on. It is named by its level; LLVM knows a more exact name.
    pub fn host() -> Self {
        static HOST: OnceLock<Target> = OnceLock::new();
        let host = || {
            let (family, features) = (Family::host(), Features::detected());
            let level = family.level_of(features);
            let attributes: Vec<String> = features.names().map(|name| format!("+{name}")).collect();
            Target::new(family, level, attributes.join(","), features).here()
        };
        HOST.get_or_init(host).clone()
    }

    /// Returns the target with the threads and caches of this machine.
    pub fn here(self) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Target { threads, caches: Caches::here().unwrap_or(self.caches), ..self }
    }

    /// Returns the lanes of a full vector of elements of a width in bits.
    pub fn lanes(&self, bits: u8) -> u16 {
        (self.vector_bytes * 8 / u32::from(bits.max(8))) as u16
    }
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

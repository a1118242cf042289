//! The processor to generate code for.

/// An x86-64 processor: its name and features as LLVM spells them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    /// LLVM's name: `znver4`, `x86-64-v3`.
    pub name: String,
    /// Features beyond those of the name, with `+` or `-` in front, joined by commas.
    pub features: String,
}

/// What the levels of the x86-64 ABI have of that which kernels must know without LLVM.
const LEVEL_3: &[&str] = &["avx2", "f16c", "fma"];
const LEVEL_4: &[&str] = &["avx2", "f16c", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"];

// The 64-bit processors that LLVM 22 knows, by level.
#[rustfmt::skip]
const WITH_LEVEL_1: &[&str] = &[
    "x86-64", "x86-64-v2", "amdfam10", "athlon-fx", "athlon64", "athlon64-sse3", "atom", "barcelona", "bdver1",
    "bdver2", "bdver3", "bonnell", "btver1", "btver2", "core-avx-i", "core2", "corei7", "corei7-avx", "generic",
    "goldmont", "goldmont-plus", "ivybridge", "k8", "k8-sse3", "nehalem", "nocona", "opteron", "opteron-sse3",
    "penryn", "sandybridge", "silvermont", "slm", "tremont", "westmere",
];
#[rustfmt::skip]
const WITH_LEVEL_3: &[&str] = &[
    "x86-64-v3", "alderlake", "arrowlake", "arrowlake-s", "bdver4", "broadwell", "clearwaterforest", "core-avx2",
    "gracemont", "grandridge", "haswell", "knl", "knm", "lunarlake", "meteorlake", "pantherlake", "raptorlake",
    "sierraforest", "skylake", "wildcatlake", "znver1", "znver2", "znver3",
];
#[rustfmt::skip]
const WITH_LEVEL_4: &[&str] = &[
    "x86-64-v4", "cannonlake", "cascadelake", "cooperlake", "diamondrapids", "emeraldrapids", "graniterapids",
    "graniterapids-d", "icelake-client", "icelake-server", "novalake", "rocketlake", "sapphirerapids", "skx",
    "skylake-avx512", "tigerlake", "znver4", "znver5",
];
const LEVELS: [(&[&str], &[&str]); 3] = [(WITH_LEVEL_1, &[]), (WITH_LEVEL_3, LEVEL_3), (WITH_LEVEL_4, LEVEL_4)];

impl Cpu {
    /// A processor by LLVM's name and nothing else known of it.
    pub fn named(name: impl Into<String>) -> Cpu {
        Cpu { name: name.into(), features: String::new() }
    }

    /// The names of the processors that code can be generated for.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LEVELS.iter().flat_map(|(names, _)| names.iter().copied())
    }

    /// Whether a feature is there: named as one, or part of the processor's level.
    pub fn has(&self, feature: &str) -> bool {
        for entry in self.features.split(',') {
            match entry.split_at_checked(1) {
                Some(("+", name)) if name == feature => return true,
                Some(("-", name)) if name == feature => return false,
                _ => {}
            }
        }
        LEVELS.iter().any(|(names, features)| names.contains(&self.name.as_str()) && features.contains(&feature))
    }

    /// Bits of the widest vectors.
    pub fn vector_bits(&self) -> u32 {
        match () {
            () if self.has("avx512f") => 512,
            () if self.has("avx2") => 256,
            () => 128,
        }
    }

    /// The attributes that every function carries.
    pub(super) fn attributes(&self) -> String {
        let features = if self.features.is_empty() {
            String::new()
        } else {
            format!(" \"target-features\"=\"{}\"", self.features)
        };
        let (name, bits) = (&self.name, self.vector_bits());
        format!("nounwind \"target-cpu\"=\"{name}\"{features} \"prefer-vector-width\"=\"{bits}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_override_the_level() {
        assert!(Cpu::named("x86-64-v3").has("f16c"));
        let cpu = Cpu { name: "x86-64-v3".into(), features: "-f16c,+avx512f".into() };
        assert!(!cpu.has("f16c") && cpu.has("fma") && cpu.vector_bits() == 512);
        assert_eq!(Cpu::named("znver4").vector_bits(), 512);
        assert_eq!(Cpu::named("x86-64").vector_bits(), 128);
    }

    #[test]
    #[cfg(feature = "native")]
    fn llvm_knows_the_processors() {
        use crate::llvm::{Emit, Host, OptLevel, compile};
        // LLVM stops the process over names that it does not know.
        for name in Cpu::names() {
            let assembly = compile(&[], &Cpu::named(name), Host::Hammock, OptLevel::None, Emit::Assembly);
            assert!(assembly.is_ok(), "{name}");
        }
    }
}

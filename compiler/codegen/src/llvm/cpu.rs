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

/// Processors of each level by LLVM's names; those not listed count as having nothing beyond x86-64.
const LEVELS: &[(&[&str], &[&str])] = &[
    (
        &[
            "x86-64-v3",
            "haswell",
            "broadwell",
            "skylake",
            "alderlake",
            "raptorlake",
            "meteorlake",
            "arrowlake",
            "lunarlake",
            "sierraforest",
            "znver1",
            "znver2",
            "znver3",
        ],
        LEVEL_3,
    ),
    (
        &[
            "x86-64-v4",
            "skylake-avx512",
            "cascadelake",
            "cooperlake",
            "cannonlake",
            "icelake-client",
            "icelake-server",
            "tigerlake",
            "rocketlake",
            "sapphirerapids",
            "emeraldrapids",
            "graniterapids",
            "znver4",
            "znver5",
        ],
        LEVEL_4,
    ),
];

impl Cpu {
    /// A processor by LLVM's name and nothing else known of it.
    pub fn named(name: impl Into<String>) -> Cpu {
        Cpu { name: name.into(), features: String::new() }
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
}

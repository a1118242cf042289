//! Processor families: their CPUs, and what the features of these mean for scheduling and code generation.
//!
//! Each family is a file here that implements [`Arch`], and a variant of [`Family`]. Its table of CPUs is LLVM's; a test
//! compares it.

mod x86_64;

use crate::{Features, Target};

/// A processor family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// x86-64.
    X86_64,
}

/// What is known of a processor family.
trait Arch: Sync {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// Name of the architecture in triples.
    fn architecture(&self) -> &'static str;

    /// Target triple under which LLVM and Cranelift know it.
    fn triple(&self) -> &'static str;

    /// Other spellings of the triple.
    fn other_triples(&self) -> &'static [&'static str];

    /// LLVM's CPUs and their features: lines `NAME: FEATURES`, and comments.
    fn cpus(&self) -> &'static str;

    /// CPUs that stand for all with certain features, from the least to the most capable, each with a description.
    fn levels(&self) -> &'static [(&'static str, &'static str)];

    /// Returns the most capable level whose features a CPU has.
    fn level_of(&self, features: Features) -> &'static str;

    /// Creates a target from LLVM's name, attributes and all features of a CPU.
    fn target(&self, cpu: String, attributes: String, features: Features) -> Target;
}

impl Family {
    /// All families.
    pub const ALL: &[Family] = &[Family::X86_64];

    /// Returns the family of the machine that the compiler runs on: so far always x86-64.
    pub fn host() -> Family {
        Family::X86_64
    }

    fn arch(self) -> &'static dyn Arch {
        match self {
            Family::X86_64 => &x86_64::X86_64,
        }
    }

    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        self.arch().name()
    }

    /// Returns the name of its architecture in triples.
    pub fn architecture(self) -> &'static str {
        self.arch().architecture()
    }

    /// Returns the target triple under which LLVM and Cranelift know it.
    pub fn triple(self) -> &'static str {
        self.arch().triple()
    }

    /// Returns the spellings of its triple.
    pub fn triples(self) -> impl Iterator<Item = &'static str> {
        [self.triple()].into_iter().chain(self.arch().other_triples().iter().copied())
    }

    /// Returns the CPUs that stand for all with certain features, each with a description.
    pub fn levels(self) -> &'static [(&'static str, &'static str)] {
        self.arch().levels()
    }

    /// Returns the most capable level whose features a CPU has.
    pub(crate) fn level_of(self, features: Features) -> &'static str {
        self.arch().level_of(features)
    }

    /// Returns its CPUs: names and features.
    pub(crate) fn cpus(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.arch().cpus().lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split_once(':').map_or((line, ""), |(name, features)| (name, features.trim_start())))
    }
}

impl Target {
    /// Creates a target from LLVM's name, attributes and all features of a CPU.
    pub fn new(family: Family, cpu: impl Into<String>, attributes: impl Into<String>, features: Features) -> Target {
        family.arch().target(cpu.into(), attributes.into(), features)
    }
}

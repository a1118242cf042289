//! The features of processors that matter to kernels.

/// Names of features, as LLVM and Rust both write them, and which of them this machine has.
macro_rules! features {
    ($($name:tt),* $(,)?) => {
        /// Names of features, as LLVM writes them.
        pub const FEATURES: &[&str] = &[$($name),*];

        #[cfg(target_arch = "x86_64")]
        fn detected() -> impl Iterator<Item = &'static str> {
            [$(($name, is_x86_feature_detected!($name))),*].into_iter().filter(|(_, has)| *has).map(|(name, _)| name)
        }
    };
}

features!(
    "sse4.1",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
    "avxvnni",
    "avx512bf16",
);

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// A set of [`FEATURES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u32);

impl Features {
    /// What this machine has.
    pub fn detected() -> Features {
        detected().collect()
    }

    /// Those in LLVM's list of what a machine has and has not: `+avx2,-avx512f`.
    pub fn listed(attributes: &str) -> Features {
        attributes.split(',').filter_map(|entry| entry.strip_prefix('+')).collect()
    }

    /// Whether it is among them.
    pub fn has(self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        FEATURES.iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| *name)
    }
}

/// The features of these names; others do not matter.
impl<'a> FromIterator<&'a str> for Features {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Features {
        let bit = |name: &str| FEATURES.iter().position(|known| *known == name).map_or(0, |bit| 1 << bit);
        Features(names.into_iter().fold(0, |set, name| set | bit(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let set = Features::listed("+avx2,-avx512f,+nosuch,+fma");
        assert_eq!(set.names().collect::<Vec<_>>(), ["avx2", "fma"]);
        assert!(set.has("fma") && !set.has("avx512f") && !set.has("nosuch"));
    }
}

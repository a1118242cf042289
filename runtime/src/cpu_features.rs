//! CPU features beyond plain x86-64 that machine code may depend on.

/// Declares features by LLVM's names, with Rust's where they differ, and their detection.
macro_rules! features {
    ($($name:tt $(= $rust:tt)?),* $(,)?) => {
        /// Names of features, as LLVM writes them. Executables refer to them by index: new ones go to the end.
        pub const FEATURES: &[&str] = &[$($name),*];

        #[cfg(target_arch = "x86_64")]
        fn detected() -> u64 {
            let mut set = 0;
            let mut bit = 0;
            $(
                set |= u64::from(features!(@detect $name $($rust)?)) << bit;
                bit += 1;
            )*
            debug_assert!(bit <= 64);
            set
        }
    };
    (@detect $name:tt) => { is_x86_feature_detected!($name) };
    (@detect $name:tt $rust:tt) => { is_x86_feature_detected!($rust) };
}

// Features that code generators use on their own; those only reached through dedicated intrinsics (AES, SHA) are
// absent.
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
    "sse3",
    "ssse3",
    "sse4.2",
    "sse4a",
    "popcnt",
    "lzcnt",
    "bmi" = "bmi1",
    "bmi2",
    "tbm",
    "movbe",
    "gfni",
    "avx512cd",
    "avx512ifma",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512bitalg",
    "avx512vpopcntdq",
    "avx512fp16",
    "avxifma",
    "avxneconvert",
    "avxvnniint8",
    "avxvnniint16",
);

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> u64 {
    0
}

/// A set of [`FEATURES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u64);

impl Features {
    /// The features of this machine.
    pub fn detected() -> Features {
        Features(detected())
    }

    /// The enabled features in LLVM's list of target features: `+avx2,-avx512f`.
    pub fn listed(attributes: &str) -> Features {
        attributes.split(',').filter_map(|entry| entry.strip_prefix('+')).collect()
    }

    /// Returns true if the feature is in the set.
    pub fn has(self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        FEATURES.iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| *name)
    }

    /// The difference of two sets.
    pub fn without(self, others: Features) -> Features {
        Features(self.0 & !others.0)
    }

    /// Returns true if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of features.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The set as a bit mask.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The set of a bit mask. It may have features of later versions of this table, which no machine has.
    pub fn from_bits(bits: u64) -> Features {
        Features(bits)
    }
}

/// The set of the features with these names; unknown names are ignored.
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
        assert_eq!(set.without(Features::listed("+fma")).names().collect::<Vec<_>>(), ["avx2"]);
        assert_eq!(Features::from_bits(set.bits()), set);
    }

    #[test]
    fn later_features_are_lacking_everywhere() {
        let later = Features::from_bits(1 << 63);
        assert!(!later.without(Features::detected()).is_empty());
    }
}

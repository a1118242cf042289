//! CPU features that machine code may depend on, beyond the baseline of its processor family.

pub use crate::arch::FEATURES;

use crate::arch::{Arch, Host};

/// A set of [`FEATURES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u64);

impl Features {
    /// The features of this machine.
    pub fn detected() -> Features {
        Features(Host::detect_features())
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

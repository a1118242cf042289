//! Global memory that a kernel may not write: constants, and what `ld.global.nc` reads anywhere in the launch.
use super::Grid;
use crate::fault::FaultKind;
use rustc_hash::FxHashMap;

/// A set of bytes by their address: a bit for each of 64.
#[derive(Debug, Default)]
struct Bytes(FxHashMap<u64, u64>);

/// The words of 64 bytes that a range touches, and its bits of each.
fn words(address: u64, bytes: u32) -> impl Iterator<Item = (u64, u64)> {
    let bits = |from: u64, to: u64| (u64::MAX >> (63 - (to - from))) << from;
    let (first, last) = (address, address + u64::from(bytes) - 1);
    (first / 64..=last / 64).map(move |word| {
        let (from, to) = (first.max(64 * word) - 64 * word, last.min(64 * word + 63) - 64 * word);
        (word, bits(from, to))
    })
}

impl Bytes {
    fn insert(&mut self, address: u64, bytes: u32) {
        words(address, bytes).for_each(|(word, bits)| *self.0.entry(word).or_default() |= bits);
    }

    fn has_any(&self, address: u64, bytes: u32) -> bool {
        words(address, bytes).any(|(word, bits)| self.0.get(&word).is_some_and(|present| present & bits != 0))
    }
}

/// What a launch wrote, and what it read as read-only.
#[derive(Debug, Default)]
pub(super) struct ReadOnly {
    read: Bytes,
    written: Bytes,
}

impl Grid<'_> {
    /// A load with `.nc`: the launch must not have written these bytes, nor write them later.
    pub(super) fn read_as_constant(&mut self, address: u64, bytes: u32) -> Result<(), FaultKind> {
        if self.read_only.written.has_any(address, bytes) {
            return Err(FaultKind::ReadOnly("`.nc` reads what this launch has written".into()));
        }
        self.read_only.read.insert(address, bytes);
        Ok(())
    }

    /// A write of global memory.
    pub(super) fn check_writable(&mut self, address: u64, bytes: u32) -> Result<(), FaultKind> {
        if self.constant_at(address).is_some() {
            return Err(FaultKind::ReadOnly("a write of a variable in `.const`".into()));
        }
        if self.code.has_read_only_loads {
            if self.read_only.read.has_any(address, bytes) {
                return Err(FaultKind::ReadOnly("a write of what `.nc` has read in this launch".into()));
            }
            self.read_only.written.insert(address, bytes);
        }
        Ok(())
    }

    /// The bytes of the variable in `.const` from an address on, if it is in one.
    pub(super) fn constant_at(&self, address: u64) -> Option<u64> {
        let variables = self.launch.module.variables.iter().zip(self.launch.variables);
        let mut constants = variables.filter(|(variable, _)| variable.is_const);
        constants
            .find_map(|(variable, &at)| variable.bytes.checked_sub(address.wrapping_sub(at)).filter(|&bytes| bytes > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn ranges_across_words() {
        let mut bytes = Bytes::default();
        bytes.insert(60, 8);
        let found: Vec<u64> = (0..200).filter(|&at| bytes.has_any(at, 1)).collect();
        assert_eq!(found, (60..68).collect::<Vec<_>>());
        assert!(bytes.has_any(0, 61) && !bytes.has_any(0, 60) && bytes.has_any(67, 64) && !bytes.has_any(68, 64));
    }
}

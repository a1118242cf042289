//! Cache sizes.

use std::{fs, sync::OnceLock};

/// Data cache sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caches {
    /// L1 of a core.
    pub l1: u64,
    /// L2 of a core.
    pub l2: u64,
    /// L3, shared by cores; 0 if there is none.
    pub l3: u64,
}

impl Caches {
    /// Returns the minimum of processors with a vector width: servers with AVX-512, desktops with AVX2, others.
    pub fn assumed(vector_bytes: u32) -> Caches {
        let (l2, l3) = match vector_bytes {
            64 => (1 << 20, 16 << 20),
            32 => (256 << 10, 8 << 20),
            _ => (256 << 10, 4 << 20),
        };
        Caches { l1: 32 << 10, l2, l3 }
    }

    /// Returns those of this machine, if the system reports them.
    pub fn here() -> Option<Caches> {
        static HERE: OnceLock<Option<Caches>> = OnceLock::new();
        *HERE.get_or_init(|| Caches::of_folder("/sys/devices/system/cpu/cpu0/cache"))
    }

    fn of_folder(folder: &str) -> Option<Caches> {
        let mut caches = Caches { l1: 0, l2: 0, l3: 0 };
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let file = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
            let (Some(level), Some(kind), Some(bytes)) =
                (file("level"), file("type"), file("size").and_then(|size| bytes(size.trim())))
            else {
                continue;
            };
            match level.trim() {
                _ if kind.trim() == "Instruction" => {}
                "1" => caches.l1 = bytes,
                "2" => caches.l2 = bytes,
                "3" => caches.l3 = bytes,
                _ => {}
            }
        }
        (caches.l1 > 0 && caches.l2 > 0).then_some(caches)
    }
}

/// Parses a size such as `48K`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            [bytes("48K"), bytes("2M"), bytes("512"), bytes(""), bytes("K")],
            [Some(49152), Some(2 << 20), Some(512), None, None]
        );
        assert_eq!(Caches::of_folder("/nonexistent"), None);
    }
}

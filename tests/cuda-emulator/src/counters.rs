//! What a launch did: they stand in for time where there is no GPU.

use crate::lanes::{Lanes, lanes};

/// Bytes of a sector, the unit of transfers with global memory.
pub const SECTOR: u64 = 32;
/// Bytes of a word of a shared-memory bank.
const WORD: u64 = 4;

/// Counters of a launch, summed over its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Instructions that warps executed.
    pub instructions: u64,
    /// Transactions of 32 bytes with global memory.
    pub global_transactions: u64,
    /// Bytes of global memory that threads asked for.
    pub global_bytes: u64,
    /// Transactions of 32 bytes between L1 and L2: those of loads that [L1](crate::l1) does not serve, and of stores.
    pub l2_transactions: u64,
    /// Bytes of these that threads asked for.
    pub l2_bytes: u64,
    /// Accesses of shared memory by warps.
    pub shared_accesses: u64,
    /// Extra cycles of accesses of shared memory because lanes address different words of a bank.
    pub bank_conflicts: u64,
    /// `mma.sync` instructions that warps executed.
    pub mma: u64,
    /// Barriers that blocks passed.
    pub barriers: u64,
}

impl Counters {
    /// The share of the bytes that warps transfer with global memory or L1, each for itself, that threads asked for; 1
    /// if none were.
    pub fn coalescing(&self) -> f64 {
        share(self.global_bytes, self.global_transactions)
    }

    /// The share of the bytes transferred with L2 that threads asked for; 1 if none were.
    pub fn l2_share(&self) -> f64 {
        share(self.l2_bytes, self.l2_transactions)
    }
}

/// The share of the bytes of transactions that threads asked for.
fn share(bytes: u64, transactions: u64) -> f64 {
    if transactions == 0 { 1.0 } else { bytes as f64 / (SECTOR * transactions) as f64 }
}

/// What a warp's access of global memory transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Sectors of 32 bytes.
    pub transactions: u64,
    /// Bytes that lanes asked for, each counted once.
    pub bytes: u64,
}

/// Returns what an access of `bytes` bytes a lane at the addresses of the lanes in `mask` transfers.
pub fn global_traffic(mask: u32, addresses: &Lanes, bytes: u32) -> Traffic {
    let mut starts = active(mask, addresses);
    starts.sort_unstable();
    let mut traffic = Traffic::default();
    let (mut next_byte, mut next_sector) = (0, 0);
    for start in starts {
        let end = start.saturating_add(bytes.into());
        traffic.bytes += end.saturating_sub(start.max(next_byte));
        let last_sector = end.div_ceil(SECTOR);
        traffic.transactions += last_sector.saturating_sub((start / SECTOR).max(next_sector));
        next_byte = next_byte.max(end);
        next_sector = next_sector.max(last_sector);
    }
    traffic
}

/// Returns the extra cycles of an access of shared memory because lanes address different words of a bank: 32 banks of
/// 4 bytes; accesses of 8 bytes go by half warps, of 16 bytes by quarter warps.
///
/// The split into halves and quarters is what NVIDIA's GPUs are measured to do; the manuals do not print it.
pub fn bank_conflicts(mask: u32, addresses: &Lanes, bytes: u32) -> u64 {
    let lanes_at_once = 128 / bytes.max(4);
    (0..32 / lanes_at_once)
        .map(|phase| {
            let lanes = ((1u64 << lanes_at_once) - 1) << (phase * lanes_at_once);
            let cycles = cycles(&active(mask & lanes as u32, addresses), bytes);
            cycles.saturating_sub(1)
        })
        .sum()
}

/// Cycles of lanes that access at once: the most different words of a bank.
fn cycles(starts: &[u64], bytes: u32) -> u64 {
    let mut words: Vec<u64> =
        starts.iter().flat_map(|start| start / WORD..(start + u64::from(bytes)).div_ceil(WORD)).collect();
    words.sort_unstable();
    words.dedup();
    let mut banks = [0; 32];
    for word in words {
        banks[(word % 32) as usize] += 1;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// Addresses of the lanes in a mask.
fn active(mask: u32, addresses: &Lanes) -> Vec<u64> {
    lanes(mask).map(|lane| addresses[lane]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(start: u64, stride: u64) -> Lanes {
        std::array::from_fn(|lane| start + lane as u64 * stride)
    }

    #[test]
    fn sectors_of_known_patterns() {
        let traffic = |start, stride, bytes| {
            let Traffic { transactions, bytes } = global_traffic(u32::MAX, &strided(start, stride), bytes);
            (transactions, bytes)
        };
        assert_eq!(traffic(4096, 4, 4), (4, 128), "contiguous words");
        assert_eq!(traffic(4096, 16, 16), (16, 512), "contiguous vectors");
        assert_eq!(traffic(4096 + 4, 4, 4), (5, 128), "shifted by a word");
        assert_eq!(traffic(4096, 8, 4), (8, 128), "every second word");
        assert_eq!(traffic(4096, 4096, 4), (32, 128), "a column");
        assert_eq!(traffic(4096, 0, 4), (1, 4), "a broadcast");
        assert_eq!(traffic(4096, 1, 1), (1, 32), "bytes");
        assert_eq!(traffic(4096, 2, 4), (3, 66), "overlapping words");
        assert_eq!(global_traffic(0, &[0; 32], 4), Traffic::default());
        assert_eq!(global_traffic(0x8000_0001, &strided(0, 4), 4), Traffic { transactions: 2, bytes: 8 });
    }

    #[test]
    fn conflicts_of_known_patterns() {
        let conflicts = |stride, bytes| bank_conflicts(u32::MAX, &strided(256, stride), bytes);
        assert_eq!(conflicts(4, 4), 0, "a bank each");
        assert_eq!(conflicts(0, 4), 0, "a broadcast");
        assert_eq!(conflicts(8, 4), 1, "two lanes a bank");
        assert_eq!(conflicts(128, 4), 31, "a column of a tile of 32 words");
        assert_eq!(conflicts(132, 4), 0, "the same, padded by a word");
        assert_eq!(conflicts(2, 2), 0, "two halves a word");
        assert_eq!(conflicts(8, 8), 0, "half warps");
        assert_eq!(conflicts(16, 16), 0, "quarter warps");
        assert_eq!(conflicts(64, 16), 4 * 3, "rows of 64 bytes: four lanes a bank in each quarter");
        assert_eq!(conflicts(80, 16), 0, "rows of 64 bytes, padded by 16");
        assert_eq!(bank_conflicts(1, &strided(0, 128), 4), 0, "one lane");
    }
}

//! Requests of a block's first-level cache to the second level.
//!
//! A GPU caches loads of global memory in an SM's L1, in sectors of 32 bytes: where the rows of a matrix begin inside of a
//! sector, the warps on both sides of its middle read it, and the second one finds it there. L1 writes through: each
//! store of a warp is a transaction with L2 of its own, also if another warp stores the rest of the sector. Atomics,
//! strong loads and asynchronous copies of 16 bytes pass L1 by; of other asynchronous copies, the same is assumed.
//!
//! An SM has at least 128 KiB of L1 for kernels that use little shared memory, and up to 64 warps: 64 sectors for each.
//! Warps of a block run at about the same pace: a sector is taken to be there until a warp has made as many loads since it
//! was last read by one at this pace as fill these, where a load reads four sectors or more. Other blocks are taken to
//! share nothing.

use crate::{
    counters::SECTOR,
    lanes::{Lanes, lanes},
};
use rustc_hash::FxHashMap;

/// Sectors of L1 for each warp of an SM.
const WARP_SECTORS: u64 = 64;
/// Sectors of the loads that are taken to fill L1, if this one has fewer: a word for each lane.
const LOAD_SECTORS: u64 = 4;

/// The loads of a block through L1.
#[derive(Debug, Default)]
pub struct L1 {
    sectors: FxHashMap<u64, Sector>,
    /// Loads that each warp has made.
    loads: FxHashMap<u32, u64>,
    fetched: Fetched,
}

/// Transfers from L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fetched {
    /// Sectors of 32 bytes.
    pub transactions: u64,
    /// Bytes of these that threads asked for while they were there, each counted once.
    pub bytes: u64,
}

/// A sector in L1.
#[derive(Debug)]
struct Sector {
    /// Bytes that threads asked for: a bit for each.
    used: u32,
    /// Loads that the last warp to read it had made then.
    read_at: u64,
}

impl L1 {
    /// Loads `bytes` bytes for each lane in `mask`, by a warp.
    pub fn load(&mut self, warp: u32, mask: u32, addresses: &Lanes, bytes: u32) {
        let mut touched: Vec<(u64, u32)> = Vec::new();
        for lane in lanes(mask) {
            for at in addresses[lane]..addresses[lane].saturating_add(bytes.into()) {
                let (sector, bit) = (at / SECTOR, 1 << (at % SECTOR));
                match touched.last_mut().filter(|(last, _)| *last == sector) {
                    Some((_, used)) => *used |= bit,
                    None => touched.push((sector, bit)),
                }
            }
        }
        touched.sort_unstable();
        let sectors: Vec<(u64, u32)> = touched
            .chunk_by(|(a, _), (b, _)| a == b)
            .map(|same| (same[0].0, same.iter().fold(0, |all, (_, used)| all | used)))
            .collect();
        let loads = self.loads.entry(warp).or_default();
        *loads += 1;
        let (now, stay) = (*loads, WARP_SECTORS / LOAD_SECTORS.max(sectors.len() as u64));
        sectors.into_iter().for_each(|(sector, used)| self.touch((sector, used), now, stay));
    }

    /// Reads a sector, which stays for a number of loads.
    fn touch(&mut self, (number, used): (u64, u32), now: u64, stay: u64) {
        let fetched = &mut self.fetched;
        let sector = self.sectors.entry(number).or_insert_with(|| {
            fetched.transactions += 1;
            Sector { used: 0, read_at: now }
        });
        if sector.read_at.abs_diff(now) > stay {
            fetched.transactions += 1;
            fetched.bytes += u64::from(sector.used.count_ones());
            sector.used = 0;
        }
        *sector = Sector { used: sector.used | used, read_at: now };
    }

    /// Ends the block: returns what was fetched, and forgets it.
    pub fn end_block(&mut self) -> Fetched {
        let used: u64 = self.sectors.values().map(|sector| u64::from(sector.used.count_ones())).sum();
        let L1 { fetched, .. } = std::mem::take(self);
        Fetched { bytes: fetched.bytes + used, ..fetched }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(start: u64) -> Lanes {
        std::array::from_fn(|lane| start + lane as u64 * 4)
    }

    #[test]
    fn warps_share_sectors_at_the_same_pace() {
        let mut l1 = L1::default();
        l1.load(0, u32::MAX, &words(4096 + 4), 4);
        l1.load(1, u32::MAX, &words(4096 + 4 + 128), 4);
        assert_eq!(l1.end_block(), Fetched { transactions: 9, bytes: 256 }, "the sector between both");
        for k in 0..8 {
            l1.load(k as u32, u32::MAX, &[4096 + 4 * k; 32], 4);
        }
        assert_eq!(l1.end_block(), Fetched { transactions: 1, bytes: 32 }, "a word for each warp");
        l1.load(0, u32::MAX, &words(4096), 4);
        l1.load(0, u32::MAX, &words(4096), 4);
        assert_eq!(l1.end_block(), Fetched { transactions: 4, bytes: 128 }, "the same again");
    }

    #[test]
    fn sectors_are_fetched_again_after_others() {
        let mut l1 = L1::default();
        let column = |start: u64| -> Lanes { std::array::from_fn(|lane| start + lane as u64 * 4096) };
        for k in 0..8 {
            l1.load(0, u32::MAX, &column(4096 + 4 * k), 4);
        }
        assert_eq!(l1.end_block(), Fetched { transactions: 32, bytes: 1024 }, "a column of sectors stays");
        for k in 0..2 {
            l1.load(0, u32::MAX, &column(4096 + 4 * k), 4);
            (1..4).for_each(|other| l1.load(0, u32::MAX, &column(4096 + 1024 * other), 4));
        }
        assert_eq!(l1.end_block(), Fetched { transactions: 32 * 8, bytes: 32 * 8 * 4 }, "four columns do not");
    }

    #[test]
    fn a_warp_that_is_far_ahead_shares_nothing() {
        let mut l1 = L1::default();
        (0..100).for_each(|k| l1.load(0, u32::MAX, &words(4096 + 128 * k), 4));
        l1.load(1, u32::MAX, &words(4096 + 128 * 99), 4);
        assert_eq!(l1.end_block(), Fetched { transactions: 404, bytes: 101 * 128 });
    }
}

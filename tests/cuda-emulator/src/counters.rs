//! What a launch did: they stand in for time where there is no GPU.

/// Counters of a launch, summed over its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Instructions that warps executed.
    pub instructions: u64,
    /// Transactions of 32 bytes with global memory.
    pub global_transactions: u64,
    /// Bytes of global memory that threads asked for.
    pub global_bytes: u64,
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
    /// The share of bytes transferred with global memory that threads asked for; 1 if none were.
    pub fn coalescing(&self) -> f64 {
        if self.global_transactions == 0 {
            return 1.0;
        }
        self.global_bytes as f64 / (32 * self.global_transactions) as f64
    }
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
pub fn global_traffic(mask: u32, addresses: &[u64; 32], bytes: u32) -> Traffic {
    todo!("{mask} {addresses:?} {bytes}")
}

/// Returns the extra cycles of an access of shared memory because lanes address different words of a bank: 32 banks of
/// 4 bytes; accesses of 8 bytes go by half warps, of 16 bytes by quarter warps.
pub fn bank_conflicts(mask: u32, addresses: &[u64; 32], bytes: u32) -> u64 {
    todo!("{mask} {addresses:?} {bytes}")
}

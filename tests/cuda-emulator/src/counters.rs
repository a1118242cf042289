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

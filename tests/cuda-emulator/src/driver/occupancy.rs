//! Occupancy: blocks of a kernel that a multiprocessor can hold, by threads and shared memory. Registers do not count, as
//! the emulator assigns none.
use super::{Code, Driver, Handle, Result, modules::max_threads};

impl Driver {
    /// Returns the blocks of a kernel that a multiprocessor can hold at a time.
    ///
    /// # Errors
    /// If there is no such kernel, or the block is empty.
    pub fn active_blocks(&self, function: Handle, threads: i32, dynamic_shared: usize) -> Result<u32> {
        let kernel = self.functions.get(function)?.declaration()?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(Code::INVALID_VALUE)?;
        if threads > max_threads(kernel) {
            return Ok(0);
        }
        let limits = self.limits();
        let shared = dynamic_shared as u64 + u64::from(kernel.shared_bytes);
        if shared > u64::from(limits.shared_opt_in) {
            return Ok(0);
        }
        let by_threads = limits.threads_per_multiprocessor / threads.next_multiple_of(32);
        let by_shared =
            u64::from(limits.shared_per_multiprocessor) / (shared + u64::from(limits.shared_reserved)).max(1);
        Ok(by_threads.min(limits.blocks_per_multiprocessor).min(u32::try_from(by_shared).unwrap_or(u32::MAX)))
    }

    /// Returns the smallest grid that fills the device, and the block with which most threads are active.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn best_block(
        &self,
        function: Handle,
        dynamic_shared: impl Fn(i32) -> usize,
        limit: i32,
    ) -> Result<(i32, i32)> {
        let largest = max_threads(self.functions.get(function)?.declaration()?) as i32;
        let largest = if limit > 0 { largest.min(limit) } else { largest };
        let (mut best, mut most) = ((0, 0), 0);
        for threads in (1..=largest).rev().filter(|threads| threads % 32 == 0 || *threads == largest) {
            let blocks = self.active_blocks(function, threads, dynamic_shared(threads))?;
            if blocks * threads as u32 > most {
                most = blocks * threads as u32;
                best = ((blocks * self.limits().multiprocessors) as i32, threads);
            }
        }
        Ok(best)
    }

    /// Returns the bytes of dynamic shared memory that each of `blocks` blocks of a multiprocessor can have.
    ///
    /// # Errors
    /// If there is no such kernel, or the blocks do not fit.
    pub fn available_shared(&self, function: Handle, blocks: i32, threads: i32) -> Result<usize> {
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks > 0).ok_or(Code::INVALID_VALUE)?;
        if self.active_blocks(function, threads, 0)? < blocks {
            return Err(Code::INVALID_VALUE);
        }
        let limits = self.limits();
        let each = (limits.shared_per_multiprocessor / blocks).saturating_sub(limits.shared_reserved);
        let shared = self.functions.get(function)?.declaration()?.shared_bytes;
        Ok(each.min(limits.shared_opt_in).saturating_sub(shared) as usize)
    }
}

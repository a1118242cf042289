//! Device memory: allocated and freed at once, or in the order of a stream.
use super::{Code, Driver, Handle, Result, work::Work};
use crate::memory::{AccessError, State};

/// Who has an allocation.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) context: Handle,
    pub(super) device: u32,
    pub(super) bytes: u64,
    pub(super) pool: Option<Handle>,
    /// The module, if it is a module's variable.
    pub(super) module: Option<Handle>,
    /// True once a stream is to free it.
    pub(super) is_free_queued: bool,
}

impl Driver {
    /// Allocates memory at once.
    ///
    /// # Errors
    /// If the size is 0, memory is exhausted, or the allocation fails on request.
    pub fn allocate(&mut self, bytes: usize) -> Result<u64> {
        let context = self.current()?;
        self.refuse_unsafe()?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.count_allocation()?;
        let address = self.reserve(context, bytes as u64, None, None)?;
        self.activate(address);
        Ok(address)
    }

    /// Frees memory at once. Queued work does not hold this up: if it uses the memory, it fails.
    ///
    /// The driver's reference promises no implicit synchronisation, though today's drivers synchronise.
    ///
    /// # Errors
    /// If no allocation begins there, or it is not accessible yet.
    pub fn free(&mut self, address: u64) -> Result {
        self.current()?;
        self.refuse_unsafe()?;
        if address == 0 {
            return Ok(());
        }
        let owner = self.freeable(address)?;
        if self.memory.allocation(address).is_some_and(|allocation| allocation.state == State::Pending) {
            self.report(format!("cuMemFree of memory at {address:#x}, which its stream has not allocated yet"));
            return Err(Code::INVALID_VALUE);
        }
        self.release(address, &owner);
        Ok(())
    }

    /// Allocates memory in the order of a stream, from a pool or the current pool of the stream's device.
    ///
    /// An allocation of 0 bytes succeeds, which the driver's reference leaves open and cudarc's `null` needs.
    ///
    /// # Errors
    /// If the stream is captured, memory is exhausted, or the allocation fails on request.
    pub fn allocate_async(&mut self, bytes: usize, pool: Option<Handle>, stream: Handle) -> Result<u64> {
        self.current()?;
        let stream = self.resolve(stream)?;
        if self.is_capturing(stream) {
            return Err(self.refuse_in_capture(stream, "cuMemAllocAsync during capture"));
        }
        let context = self.streams.get(stream)?.context;
        let pool = match pool {
            Some(pool) => pool,
            None => self.pool_of(self.contexts.get(context)?.device)?,
        };
        self.pools.get(pool).map_err(|_| Code::INVALID_VALUE)?;
        self.count_allocation()?;
        let address = self.reserve(context, bytes as u64, Some(pool), None)?;
        self.enqueue(stream, Work::Allocate(address))?;
        Ok(address)
    }

    /// Frees memory in the order of a stream.
    ///
    /// # Errors
    /// If no allocation begins there, it is to be freed already, or the stream is captured.
    pub fn free_async(&mut self, address: u64, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let mut owner = self.freeable(address)?;
        if self.is_capturing(stream) {
            return Err(self.refuse_in_capture(stream, "cuMemFreeAsync during capture"));
        }
        self.enqueue(stream, Work::Free(address))?;
        // The pool can give the memory to later allocations, which it orders behind this.
        self.count_free(&owner);
        owner.is_free_queued = true;
        self.owners.insert(address, owner);
        Ok(())
    }

    /// Returns the free and total bytes of the current device.
    ///
    /// # Errors
    /// If there is no current context.
    pub fn memory_info(&mut self) -> Result<(usize, usize)> {
        let device = self.current_device()? as usize;
        let total = self.config.memory;
        Ok(((total - self.used[device]) as usize, total as usize))
    }

    /// Returns the total bytes of a device.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn total_memory(&self, device: i32) -> Result<usize> {
        self.device(device).map(|_| self.config.memory as usize)
    }

    /// Counts an allocation, which may be the one to fail on request.
    pub(super) fn count_allocation(&mut self) -> Result {
        self.counts.allocations += 1;
        if self.config.fail_alloc == Some(self.counts.allocations) { Err(Code::OUT_OF_MEMORY) } else { Ok(()) }
    }

    /// Reserves memory of a context's device.
    pub(super) fn reserve(
        &mut self,
        context: Handle,
        bytes: u64,
        pool: Option<Handle>,
        module: Option<Handle>,
    ) -> Result<u64> {
        let device = match pool {
            Some(pool) => self.pools.get(pool)?.device,
            None => self.contexts.get(context)?.device,
        };
        let used = self.used[device as usize].checked_add(bytes).ok_or(Code::OUT_OF_MEMORY)?;
        if used > self.config.memory {
            return Err(Code::OUT_OF_MEMORY);
        }
        let address = self.memory.reserve(device, bytes).ok_or(Code::OUT_OF_MEMORY)?;
        self.used[device as usize] = used;
        self.owners.insert(address, Owner { context, device, bytes, pool, module, is_free_queued: false });
        self.add_pool_use(pool, bytes);
        Ok(address)
    }

    /// Makes reserved memory accessible. Where launches do nothing, it counts as written.
    pub(super) fn activate(&mut self, address: u64) {
        let is_active = self.memory.activate(address).is_ok();
        if is_active && self.config.no_op {
            let bytes = self.memory.allocation(address).map_or(0, |allocation| allocation.bytes);
            let _ = self.memory.bytes_mut(address, bytes);
        }
    }

    /// Frees memory at once, also if a queued operation was to free it.
    pub(super) fn release(&mut self, address: u64, owner: &Owner) {
        self.owners.remove(&address);
        let is_freed = self.memory.free(address).is_ok();
        if is_freed && !owner.is_free_queued {
            self.count_free(owner);
        }
    }

    /// Frees memory in its turn in a stream.
    pub(super) fn run_free(&mut self, address: u64) -> std::result::Result<(), AccessError> {
        self.owners.remove(&address);
        self.memory.free(address)
    }

    fn count_free(&mut self, owner: &Owner) {
        self.used[owner.device as usize] -= owner.bytes;
        self.remove_pool_use(owner.pool, owner.bytes);
    }

    /// Checks that memory can be freed by the program.
    fn freeable(&mut self, address: u64) -> Result<Owner> {
        match self.owners.get(&address) {
            Some(owner) if !owner.is_free_queued && owner.module.is_none() => Ok(owner.clone()),
            Some(owner) if owner.is_free_queued => {
                self.report(format!("memory at {address:#x} is freed twice"));
                Err(Code::INVALID_VALUE)
            }
            _ => {
                let state = self.memory.allocation(address).map(|allocation| allocation.state);
                if state == Some(State::Freed) {
                    self.report(format!("memory at {address:#x} is freed twice"));
                }
                Err(Code::INVALID_VALUE)
            }
        }
    }
}

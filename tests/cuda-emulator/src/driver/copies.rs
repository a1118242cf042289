//! Copies and fills, and how far each is synchronous (API synchronization behavior in the driver's reference).
//!
//! | from | to | synchronous call | call with a stream |
//! |---|---|---|---|
//! | pageable | device | waits for earlier work, reads the source, leaves the transfer queued | reads the source, queues the transfer |
//! | pinned | device | complete | source read when it runs |
//! | device | pageable | complete | target written when it runs; complete with drivers before 12.0 |
//! | device | pinned | complete | target written when it runs |
//! | device | device | queued | queued |
//! | host | host | complete | complete |
//!
//! Since CUDA 12 the reference says of copies to pageable memory only that they *might* be synchronous. So the target is
//! overwritten at once, and what the program reads before it waits is wrong. cudarc's safe layer, which does not wait,
//! needs a driver before 12.0. A capture reads and writes memory of the program when its graph runs.
use super::{
    Code, Driver, Handle, Result, host,
    work::{Location, Work},
};
use crate::memory::{BASE, State};

/// The first driver that does not promise to complete copies to pageable memory.
const LATE_DOWNLOADS: u32 = 12000;
/// A byte that a program finds where an unfinished copy will write.
const POISON: u8 = 0xa5;

/// One side of a copy as a program passes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// An address in device memory.
    Device(u64),
    /// An address in the program's memory.
    Host(usize),
}

impl Side {
    /// Returns the side that an address of the unified address space means.
    pub fn of_address(address: u64) -> Self {
        if address >= BASE { Self::Device(address) } else { Self::Host(address as usize) }
    }
}

impl Driver {
    /// Copies by a synchronous call, in the legacy default stream.
    ///
    /// # Errors
    /// If an address is invalid, a capture forbids the call, or earlier work fails.
    pub fn copy_sync(&mut self, to: Side, from: Side, bytes: usize) -> Result {
        let stream = self.context()?.legacy;
        self.refuse_unsafe()?;
        let Some((to, from)) = self.check_copy(to, from, bytes)? else { return Ok(()) };
        let context = self.current()?;
        let from = match from {
            Location::Host(pointer, None) => {
                let ops = self.predecessors(stream)?;
                self.settle(context, &ops)?;
                Location::Staged(host::read(pointer, bytes).into())
            }
            from => from,
        };
        let reaches_host = matches!(to, Location::Host(..)) || matches!(from, Location::Host(..));
        let op = self.enqueue(stream, Work::Copy { to, from, bytes: bytes as u64 })?;
        if reaches_host { self.settle(context, op.as_slice()) } else { Ok(()) }
    }

    /// Copies in the order of a stream.
    ///
    /// # Errors
    /// If an address or the stream is invalid.
    pub fn copy_async(&mut self, to: Side, from: Side, bytes: usize, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let Some((to, mut from)) = self.check_copy(to, from, bytes)? else { return Ok(()) };
        let mut is_synchronous = matches!((&to, &from), (Location::Host(..), Location::Host(..)));
        if !self.is_capturing(stream) {
            match (&to, &from) {
                (Location::Device(_), Location::Host(pointer, None)) => {
                    from = Location::Staged(host::read(*pointer, bytes).into());
                }
                (Location::Host(_, None), Location::Device(_)) if self.config.driver_version < LATE_DOWNLOADS => {
                    is_synchronous = true;
                }
                (Location::Host(pointer, None), Location::Device(_)) => host::write(*pointer, &vec![POISON; bytes]),
                _ => {}
            }
        }
        let op = self.enqueue(stream, Work::Copy { to, from, bytes: bytes as u64 })?;
        let context = self.streams.get(stream)?.context;
        if is_synchronous { self.settle(context, op.as_slice()) } else { Ok(()) }
    }

    /// Copies between memory of two contexts, in the order of a stream or of the legacy default stream.
    ///
    /// # Errors
    /// If a context, an address or the stream is invalid.
    pub fn copy_peer(
        &mut self,
        to: (u64, Handle),
        from: (u64, Handle),
        bytes: usize,
        stream: Option<Handle>,
    ) -> Result {
        for (address, context) in [to, from] {
            let device = self.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?.device;
            if self.memory.allocation(address).is_some_and(|allocation| allocation.device != device) {
                return Err(Code::INVALID_VALUE);
            }
        }
        let (to, from) = (Side::Device(to.0), Side::Device(from.0));
        match stream {
            Some(stream) => self.copy_async(to, from, bytes, stream),
            None => self.copy_sync(to, from, bytes),
        }
    }

    /// Fills memory with a pattern, in the order of a stream or of the legacy default stream. Both only queue it.
    ///
    /// # Errors
    /// If the address is invalid or misaligned, or a capture forbids the call.
    pub fn fill(&mut self, to: u64, pattern: &[u8], count: usize, stream: Option<Handle>) -> Result {
        self.current()?;
        let stream = match stream {
            Some(stream) => self.resolve(stream)?,
            None => {
                self.refuse_unsafe()?;
                self.context()?.legacy
            }
        };
        if count == 0 {
            return Ok(());
        }
        let bytes = count.checked_mul(pattern.len()).ok_or(Code::INVALID_VALUE)?;
        if !to.is_multiple_of(pattern.len() as u64) {
            return Err(Code::INVALID_VALUE);
        }
        self.check_device(to, bytes)?;
        self.enqueue(stream, Work::Fill { to, pattern: pattern.to_vec(), count: count as u64 }).map(|_| ())
    }

    /// Checks both sides of a copy; `None` if it is empty.
    fn check_copy(&self, to: Side, from: Side, bytes: usize) -> Result<Option<(Location, Location)>> {
        if bytes == 0 {
            return Ok(None);
        }
        Ok(Some((self.location(to, bytes)?, self.location(from, bytes)?)))
    }

    fn location(&self, side: Side, bytes: usize) -> Result<Location> {
        match side {
            Side::Device(address) => self.check_device(address, bytes).map(|()| Location::Device(address)),
            Side::Host(0) => Err(Code::INVALID_VALUE),
            Side::Host(pointer) if pointer as u64 >= BASE => Err(Code::INVALID_VALUE),
            Side::Host(pointer) => Ok(self.host.locate(pointer, bytes)),
        }
    }

    /// Checks a range of device memory when work on it is submitted. Memory can be pending still.
    fn check_device(&self, address: u64, bytes: usize) -> Result {
        let allocation = self.memory.allocation(address).ok_or(Code::INVALID_VALUE)?;
        let is_inside = address - allocation.address + bytes as u64 <= allocation.bytes;
        if is_inside && allocation.state != State::Freed { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }
}

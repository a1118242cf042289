//! Global memory of all devices, in one address space.
//!
//! Addresses begin at [`BASE`], beyond all host addresses. They are never reused, and a gap of at least [`GAP`] bytes
//! separates allocations, so that a wrong address is in no other allocation. A bit for each byte says if it was written.
mod bitmap;
mod error;
#[cfg(test)]
mod tests;

use bitmap::Bitmap;
pub use error::AccessError;
use std::cell::Cell;

/// The lowest address, beyond those of the host (x86-64 gives programs 47 bits).
pub const BASE: u64 = 1 << 48;
/// Minimum number of bytes between allocations, which are aligned to it too.
pub const GAP: u64 = 512;

/// Where an allocation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its stream has yet to allocate it.
    Pending,
    /// It can be accessed.
    Live,
    /// It was freed.
    Freed,
}

/// An allocation.
#[derive(Debug)]
pub struct Allocation {
    /// The address of its first byte.
    pub address: u64,
    /// Its number of bytes.
    pub bytes: u64,
    /// The device that has it.
    pub device: u32,
    /// Where it is in its life.
    pub state: State,
    data: Vec<u8>,
    written: Bitmap,
}

impl Allocation {
    fn freed(&mut self) {
        self.state = State::Freed;
        self.data = Vec::new();
        self.written = Bitmap::default();
    }
}

/// Global memory.
#[derive(Debug)]
pub struct Memory {
    /// Sorted by address; freed ones remain, so that their use is reported as such.
    allocations: Vec<Allocation>,
    /// Index of the allocation that was accessed last.
    recent: Cell<usize>,
    /// Bits of the devices whose memory can be accessed.
    accessible: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { allocations: Vec::new(), recent: Cell::new(0), accessible: u64::MAX }
    }
}

impl Memory {
    /// Allocates memory of device 0. Returns `None` if the host lacks it.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let address = self.reserve(0, bytes)?;
        self.activate(address).ok()?;
        Some(address)
    }

    /// Reserves addresses of a device's memory, which can be accessed once they are active.
    pub fn reserve(&mut self, device: u32, bytes: u64) -> Option<u64> {
        let size = usize::try_from(bytes).ok()?;
        let mut data = Vec::<u8>::new();
        data.try_reserve_exact(size).ok()?;
        drop(data);
        let end = self.allocations.last().map_or(BASE, |last| last.address + last.bytes);
        let address = end.checked_next_multiple_of(GAP)?.checked_add(GAP)?;
        address.checked_add(bytes)?.checked_add(2 * GAP)?;
        let (data, written) = (Vec::new(), Bitmap::default());
        self.allocations.push(Allocation { address, bytes, device, state: State::Pending, data, written });
        Some(address)
    }

    /// Makes reserved memory accessible.
    ///
    /// # Errors
    /// If no reserved memory begins there.
    pub fn activate(&mut self, address: u64) -> Result<(), AccessError> {
        let allocation = self.first_byte(address)?;
        match allocation.state {
            State::Freed => Err(AccessError::Freed { address, bytes: 0 }),
            _ => {
                allocation.state = State::Live;
                allocation.data = vec![0; allocation.bytes as usize];
                allocation.written = Bitmap::new(allocation.bytes as usize);
                Ok(())
            }
        }
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// If no allocation begins there, or it was freed already.
    pub fn free(&mut self, address: u64) -> Result<(), AccessError> {
        let allocation = self.first_byte(address)?;
        if allocation.state == State::Freed {
            return Err(AccessError::Freed { address, bytes: 0 });
        }
        allocation.freed();
        Ok(())
    }

    /// Restricts accesses to memory of the devices whose bits are set.
    pub fn restrict(&mut self, devices: u64) {
        self.accessible = devices;
    }

    /// Reads bytes, which must have been written.
    ///
    /// # Errors
    /// If not all of them are in one live allocation, or some are unwritten.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), AccessError> {
        into.copy_from_slice(self.bytes(address, into.len() as u64)?);
        Ok(())
    }

    /// Returns bytes, which must have been written.
    ///
    /// # Errors
    /// If not all of them are in one live allocation, or some are unwritten.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<&[u8], AccessError> {
        let (index, begin) = self.locate(address, bytes)?;
        let (allocation, end) = (&self.allocations[index], begin + bytes as usize);
        match allocation.written.first_absent(begin, end) {
            Some(offset) => Err(AccessError::Unwritten { offset: offset as u64, size: allocation.bytes }),
            None => Ok(&allocation.data[begin..end]),
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// If not all of them are in one live allocation.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.bytes_mut(address, from.len() as u64)?.copy_from_slice(from);
        Ok(())
    }

    /// Returns bytes to be overwritten; they count as written.
    ///
    /// # Errors
    /// If not all of them are in one live allocation.
    pub fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], AccessError> {
        let (index, begin) = self.locate(address, bytes)?;
        let (allocation, end) = (&mut self.allocations[index], begin + bytes as usize);
        allocation.written.insert(begin, end);
        Ok(&mut allocation.data[begin..end])
    }

    /// Copies bytes; unwritten ones stay unwritten.
    ///
    /// # Errors
    /// If not all of them are in one live allocation each.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), AccessError> {
        let size = bytes as usize;
        let (target, t) = self.locate(to, bytes)?;
        let (source, s) = self.locate(from, bytes)?;
        let data = self.allocations[source].data[s..s + size].to_vec();
        let present = self.allocations[source].written.present(s, s + size);
        let target = &mut self.allocations[target];
        target.data[t..t + size].copy_from_slice(&data);
        target.written.remove(t, t + size);
        for (begin, end) in present {
            target.written.insert(begin - s + t, end - s + t);
        }
        Ok(())
    }

    /// Checks an access: in one live allocation, and aligned. Written bytes are not required.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, address: u64, bytes: u64, align: u64) -> Result<(), AccessError> {
        if align > 1 && !address.is_multiple_of(align) {
            return Err(AccessError::Misaligned { address, bytes });
        }
        self.locate(address, bytes).map(|_| ())
    }

    /// Returns the index of the allocation that has all of these bytes, and the offset of the first. Indices remain valid.
    ///
    /// # Errors
    /// If there is no such allocation, or it cannot be accessed.
    pub fn locate(&self, address: u64, bytes: u64) -> Result<(usize, usize), AccessError> {
        let index = self.find(address).ok_or_else(|| self.nearby(address, bytes))?;
        let Allocation { bytes: size, device, state, .. } = self.allocations[index];
        let offset = address - self.allocations[index].address;
        match state {
            State::Freed => Err(AccessError::Freed { address, bytes }),
            State::Pending => Err(AccessError::Pending { address, bytes }),
            State::Live if self.accessible >> device & 1 == 0 => {
                Err(AccessError::OtherDevice { address, bytes, device })
            }
            State::Live if bytes > size - offset => Err(AccessError::OutOfBounds { offset, bytes, size }),
            State::Live => Ok((index, offset as usize)),
        }
    }

    /// Returns the allocation that has an address, freed or not.
    pub fn allocation(&self, address: u64) -> Option<&Allocation> {
        self.find(address).map(|index| &self.allocations[index])
    }

    /// Returns all allocations, freed or not, by address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    fn first_byte(&mut self, address: u64) -> Result<&mut Allocation, AccessError> {
        let index = self.find(address).filter(|&index| self.allocations[index].address == address);
        index.map(|index| &mut self.allocations[index]).ok_or(AccessError::NotAllocated { address, bytes: 0 })
    }

    /// Returns what is wrong with an address in no allocation: it may be in the gap behind one.
    fn nearby(&self, address: u64, bytes: u64) -> AccessError {
        let index = self.allocations.partition_point(|allocation| allocation.address <= address).checked_sub(1);
        match index.map(|index| &self.allocations[index]) {
            Some(before) if address - before.address - before.bytes < GAP => match before.state {
                State::Freed => AccessError::Freed { address, bytes },
                _ => AccessError::OutOfBounds { offset: address - before.address, bytes, size: before.bytes },
            },
            _ => AccessError::NotAllocated { address, bytes },
        }
    }

    fn find(&self, address: u64) -> Option<usize> {
        let has = |allocation: &Allocation| address.wrapping_sub(allocation.address) < allocation.bytes.max(1);
        let recent = self.recent.get();
        if self.allocations.get(recent).is_some_and(has) {
            return Some(recent);
        }
        let index = self.allocations.partition_point(|allocation| allocation.address <= address).checked_sub(1)?;
        if !has(&self.allocations[index]) {
            return None;
        }
        self.recent.set(index);
        Some(index)
    }
}

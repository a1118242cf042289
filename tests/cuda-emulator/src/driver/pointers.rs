//! Attributes of pointers.
use super::{Code, Driver, Handle, Result};
use crate::memory::State;

/// The value of a pointer's attribute, by the width that the API writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerValue {
    /// One byte: a `bool`.
    Bool(bool),
    /// Four bytes.
    Word(u32),
    /// Eight bytes.
    Long(u64),
}

/// Memory that a pointer refers to.
struct Target {
    context: Handle,
    device: u32,
    /// First address and bytes.
    range: (u64, u64),
    is_device: bool,
    buffer: u64,
    pool: Handle,
}

impl Driver {
    /// Returns an attribute (`CUpointer_attribute`) of a pointer.
    ///
    /// # Errors
    /// If the pointer is in no device memory or pinned memory, or has no such attribute.
    pub fn pointer_attribute(&mut self, pointer: u64, attribute: u32) -> Result<PointerValue> {
        self.current()?;
        let target = self.target(pointer).ok_or(Code::INVALID_VALUE)?;
        Ok(match attribute {
            1 => PointerValue::Long(target.context as u64),
            2 => PointerValue::Word(if target.is_device { 2 } else { 1 }),
            // Kernels cannot access pinned memory here, so it has no address for them.
            3 if target.is_device => PointerValue::Long(pointer),
            4 if !target.is_device => PointerValue::Long(pointer),
            7 => PointerValue::Long(target.buffer),
            8 => PointerValue::Bool(false),
            9 => PointerValue::Word(target.device),
            11 => PointerValue::Long(target.range.0),
            12 => PointerValue::Long(target.range.1),
            13 => PointerValue::Bool(true),
            17 => PointerValue::Long(target.pool as u64),
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Returns first address and bytes of the allocation that has an address.
    ///
    /// # Errors
    /// If no live allocation has it.
    pub fn address_range(&mut self, address: u64) -> Result<(u64, usize)> {
        self.current()?;
        let target = self.target(address).filter(|target| target.is_device).ok_or(Code::NOT_FOUND)?;
        Ok((target.range.0, target.range.1 as usize))
    }

    fn target(&self, pointer: u64) -> Option<Target> {
        if let Some(allocation) = self.memory.allocation(pointer) {
            let owner = self.owners.get(&allocation.address).filter(|_| allocation.state != State::Freed)?;
            return Some(Target {
                context: owner.context,
                device: owner.device,
                range: (allocation.address, allocation.bytes),
                is_device: true,
                buffer: allocation.address,
                pool: owner.pool.unwrap_or_default(),
            });
        }
        let (begin, range) = self.host.find(pointer as usize)?;
        Some(Target {
            context: range.context,
            device: self.contexts.get(range.context).ok()?.device,
            range: (begin as u64, range.bytes as u64),
            is_device: false,
            buffer: range.number(),
            pool: 0,
        })
    }
}

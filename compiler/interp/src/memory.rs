//! Memory: a stack of byte arrays, each element access checked.

use crate::{Fault, Pointer, Value, number, races::Races};
use hammock_ir::{DType, Name};
use hammock_runtime::memory::{self, Reservation};
use std::cell::RefCell;

/// All memory of a run. Allocations are freed in reverse order.
#[derive(Default)]
pub(crate) struct Heap {
    memory: Vec<Memory>,
    /// Looks for races while threads of a GPU run.
    pub races: Option<RefCell<Races>>,
}

struct Memory {
    bytes: Vec<u8>,
    written: bool,
    /// True if it belongs to one thread of a GPU.
    private: bool,
    /// Its share of the memory limit of the program.
    _reservation: Option<Reservation>,
}

/// Maximum size of an allocation in bytes; larger ones are errors.
const MAX_BYTES: usize = 1 << 36;

impl Heap {
    /// Adds memory with these contents.
    pub fn add(&mut self, contents: &[u8]) -> Result<Pointer, Fault> {
        self.push(contents.len(), |bytes| bytes.extend_from_slice(contents))
    }

    fn push(&mut self, len: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Result<Pointer, Fault> {
        let _reservation = memory::reserve(len)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Fault::AllocationSize(len as i64))?;
        fill(&mut bytes);
        // What threads allocate is theirs, unless they share it.
        let private = self.races.is_some();
        self.memory.push(Memory { bytes, written: false, private, _reservation });
        Ok(Pointer { memory: self.memory.len() - 1, bits: 0 })
    }

    /// Allocates memory for `elements` of a dtype, filled with ones.
    pub fn allocate(&mut self, elements: i64, dtype: DType) -> Result<Pointer, Fault> {
        let count = usize::try_from(elements).ok();
        let bytes = count.and_then(|n| dtype.storage_bytes(n)).filter(|n| *n <= MAX_BYTES);
        let len = bytes.ok_or(Fault::AllocationSize(elements))?;
        self.push(len, |bytes| bytes.resize(len, 0xff))
    }

    /// Shares memory that is allocated while threads of a GPU run.
    pub fn share(&mut self, pointer: Pointer) {
        if let Some(memory) = self.memory.get_mut(pointer.memory) {
            memory.private = false;
        }
    }

    /// Returns a mark to return to with [`Heap::release`].
    pub fn mark(&self) -> usize {
        self.memory.len()
    }

    /// Frees all memory allocated since the mark.
    pub fn release(&mut self, mark: usize) {
        self.memory.truncate(mark);
        if let Some(races) = &self.races {
            races.borrow_mut().forget(mark);
        }
    }

    /// Number of bits of memory from a pointer on; `None` if it has been freed.
    pub fn bits_behind(&self, pointer: Pointer) -> Option<i64> {
        let memory = self.memory.get(pointer.memory)?;
        Some((memory.bytes.len() as i64).saturating_mul(8).saturating_sub(pointer.bits))
    }

    /// Returns the bytes of a memory, given a pointer to its start, if it was written.
    pub fn written_bytes(&self, pointer: Pointer) -> Option<&[u8]> {
        self.memory.get(pointer.memory).filter(|m| m.written).map(|m| m.bytes.as_slice())
    }

    /// Loads the scalar or vector at index `element` from `base`.
    pub fn load(&self, base: Pointer, element: i64, dtype: DType, name: &Name) -> Result<Value, Fault> {
        let scalar = |lane: i64| {
            let at = base.offset(element, dtype).offset(lane, dtype.element());
            let memory = self.memory.get(at.memory).ok_or_else(|| Fault::Dangling(name.clone()))?;
            if let Some(races) = self.races.as_ref().filter(|_| !memory.private) {
                races.borrow_mut().access(at, dtype, false, element, name)?;
            }
            let bits = memory.read(at.bits, dtype.bits).ok_or_else(|| memory.outside(element, name))?;
            number::from_bits(bits, dtype)
        };
        match dtype.lanes {
            1 => scalar(0),
            lanes => Ok(Value::Vector((0..i64::from(lanes)).map(scalar).collect::<Result<_, _>>()?)),
        }
    }

    /// Stores a scalar or vector at index `element` from `base`.
    pub fn store(
        &mut self,
        base: Pointer,
        element: i64,
        dtype: DType,
        value: &Value,
        name: &Name,
    ) -> Result<(), Fault> {
        for lane in 0..dtype.lanes {
            let at = base.offset(element, dtype).offset(i64::from(lane), dtype.element());
            let bits = number::to_bits(value.lane(usize::from(lane)), dtype)?;
            let memory = self.memory.get_mut(at.memory).ok_or_else(|| Fault::Dangling(name.clone()))?;
            if let Some(races) = self.races.as_ref().filter(|_| !memory.private) {
                races.borrow_mut().access(at, dtype, true, element, name)?;
            }
            memory.write(at.bits, dtype.bits, bits).ok_or_else(|| memory.outside(element, name))?;
        }
        Ok(())
    }
}

impl Memory {
    fn read(&self, at: i64, width: u8) -> Option<u64> {
        let (start, shift) = (usize::try_from(at.div_euclid(8)).ok()?, at.rem_euclid(8));
        if width < 8 {
            return Some(u64::from(*self.bytes.get(start)?) >> shift & ((1 << width) - 1));
        }
        let bytes = self.bytes.get(start..start.checked_add(usize::from(width / 8))?)?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    fn write(&mut self, at: i64, width: u8, bits: u64) -> Option<()> {
        let (start, shift) = (usize::try_from(at.div_euclid(8)).ok()?, at.rem_euclid(8));
        if width < 8 {
            let mask = ((1u8 << width) - 1) << shift;
            let byte = self.bytes.get_mut(start)?;
            *byte = *byte & !mask | ((bits as u8) << shift) & mask;
        } else {
            let bytes = self.bytes.get_mut(start..start.checked_add(usize::from(width / 8))?)?;
            bytes.copy_from_slice(bits.to_le_bytes().get(..usize::from(width / 8))?);
        }
        self.written = true;
        Some(())
    }

    fn outside(&self, element: i64, name: &Name) -> Fault {
        Fault::OutsideMemory { buffer: name.clone(), element, bytes: self.bytes.len() }
    }
}

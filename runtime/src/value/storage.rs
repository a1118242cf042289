//! Storage: memory in which tensors are allocated at planned offsets.
use super::index;
use super::object::{Cell, Ref};
use crate::memory::Block;
use std::fmt;

/// The cell of a storage object.
pub struct StorageCell(Block);

// SAFETY: the type index belongs to Hammock, and only `Storage::new` creates such objects.
unsafe impl Cell for StorageCell {
    const TYPE_INDEX: i32 = index::STORAGE;
}

/// A block of an allocator, shared by the tensors in it.
#[derive(Clone)]
#[repr(transparent)]
pub struct Storage(pub(super) Ref<StorageCell>);

impl Storage {
    /// Wraps a block.
    pub fn new(block: Block) -> Storage {
        Storage(Ref::allocate::<(), u8>(0, |_| (StorageCell(block), ())))
    }

    /// Number of references.
    pub(crate) fn ref_count(&self) -> u32 {
        self.0.ref_count()
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.0.0
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes, {})", self.block().size(), self.block().device())
    }
}

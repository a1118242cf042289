//! Storage: memory in which tensors are allocated at planned offsets.
use super::object::{Cell, Ref};
use super::tensor::{Owner, byte_size};
use super::tensor_view::check_bounds;
use super::{DType, Tensor, TensorError, index};
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

    /// A contiguous tensor at `byte_offset` in the storage.
    pub fn tensor(&self, dtype: DType, shape: &[i64], byte_offset: usize) -> Result<Tensor, TensorError> {
        self.tensor_of(dtype, shape, byte_offset, byte_size(dtype, shape)?)
    }

    /// Like [`tensor`](Storage::tensor), for a known size in bytes.
    #[inline]
    pub(crate) fn tensor_of(
        &self,
        dtype: DType,
        shape: &[i64],
        offset: usize,
        bytes: usize,
    ) -> Result<Tensor, TensorError> {
        self.place(dtype, shape, offset, bytes, || Owner::Storage(self.clone()))
    }

    /// Like [`tensor`](Storage::tensor), for the only tensor of the storage, whose memory can be reused for the same
    /// `plan`.
    pub(crate) fn planned(self, dtype: DType, shape: &[i64], offset: usize, plan: u64) -> Result<Tensor, TensorError> {
        let storage = self.clone();
        storage.place(dtype, shape, offset, byte_size(dtype, shape)?, || Owner::Planned(self, plan))
    }

    #[inline(always)]
    fn place(
        &self,
        dtype: DType,
        shape: &[i64],
        offset: usize,
        bytes: usize,
        owner: impl FnOnce() -> Owner,
    ) -> Result<Tensor, TensorError> {
        let block = self.block();
        check_bounds(offset, bytes, block.size())?;
        let data = block.as_ptr().wrapping_add(offset);
        Ok(Tensor::assemble(data, block.device(), dtype, shape, None, owner))
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes, {})", self.block().size(), self.block().device())
    }
}

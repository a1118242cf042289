//! Tensors in a storage, at planned offsets.
use super::view::check_bounds;
use super::{Owner, Tensor, TensorError, byte_size};
use crate::value::{DType, Storage};

impl Storage {
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

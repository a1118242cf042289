//! The data of constants before it is written: a list of tensors, without copies of their bytes.
use crate::memory::ALIGNMENT;
use crate::value::{DType, Tensor};
use crc32fast::Hasher;

/// The data of constants in the order in which it is written, each aligned to 64 bytes.
#[derive(Clone, Default)]
pub struct ConstantData {
    tensors: Vec<(usize, Tensor)>,
    len: usize,
}

impl ConstantData {
    /// Adds a contiguous host tensor; returns its offset.
    pub(super) fn add(&mut self, tensor: Tensor) -> usize {
        let at = self.len.next_multiple_of(ALIGNMENT);
        self.len = at + tensor.nbytes();
        self.tensors.push((at, tensor));
        at
    }

    /// The tensors with their offsets.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.tensors.iter().map(|(at, tensor)| (*at, tensor))
    }

    /// The tensor of a dtype and shape at an offset.
    pub(super) fn find(&self, at: usize, dtype: DType, shape: &[i64]) -> Option<&Tensor> {
        let first = self.tensors.partition_point(|(offset, _)| *offset < at);
        // Tensors without elements share their offset with others.
        let candidates = self.tensors[first..].iter().take_while(|(offset, _)| *offset == at).map(|(_, tensor)| tensor);
        candidates.into_iter().find(|tensor| tensor.dtype() == dtype && tensor.shape() == shape)
    }

    /// Total number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Calls `f` on the bytes, in pieces.
    pub fn try_each<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut end = 0;
        for (at, tensor) in &self.tensors {
            f(&[0; ALIGNMENT][..at - end])?;
            f(tensor.as_bytes().unwrap_or_default())?;
            end = at + tensor.nbytes();
        }
        Ok(())
    }

    /// Checksum of the data, which can be combined with that of other bytes.
    pub fn checksum(&self) -> Hasher {
        let mut hasher = Hasher::new();
        let Ok(()) = self.try_each(|bytes| {
            hasher.update(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
        hasher
    }

    /// Appends the data to other bytes.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve_exact(self.len);
        let Ok(()) = self.try_each(|bytes| {
            out.extend_from_slice(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
    }
}

//! The data of constants that is still to be written: tensors one after the other, which share their bytes.
use crate::memory::ALIGNMENT;
use crate::value::{DType, Tensor};
use crc32fast::Hasher;

/// The data of constants in the order in which it is written, each at a multiple of 64.
#[derive(Clone, Default)]
pub struct ConstantData {
    tensors: Vec<(usize, Tensor)>,
    len: usize,
}

impl ConstantData {
    /// Adds a dense tensor of the host; gives its place.
    pub(super) fn add(&mut self, tensor: Tensor) -> usize {
        let at = self.len.next_multiple_of(ALIGNMENT);
        self.len = at + tensor.nbytes();
        self.tensors.push((at, tensor));
        at
    }

    /// The tensors and their places.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.tensors.iter().map(|(at, tensor)| (*at, tensor))
    }

    /// The tensor of a dtype and shape at a place.
    pub(super) fn find(&self, at: usize, dtype: DType, shape: &[i64]) -> Option<&Tensor> {
        let first = self.tensors.partition_point(|(place, _)| *place < at);
        // Tensors without elements share their place with others.
        let there = self.tensors[first..].iter().take_while(|(place, _)| *place == at).map(|(_, tensor)| tensor);
        there.into_iter().find(|tensor| tensor.dtype() == dtype && tensor.shape() == shape)
    }

    /// How many bytes they are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Calls `f` on the bytes, piece by piece.
    pub fn try_each<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut end = 0;
        for (at, tensor) in &self.tensors {
            f(&[0; ALIGNMENT][..at - end])?;
            f(tensor.as_bytes().unwrap_or_default())?;
            end = at + tensor.nbytes();
        }
        Ok(())
    }

    /// Their checksum, to be combined with those of other bytes.
    pub fn checksum(&self) -> Hasher {
        let mut hasher = Hasher::new();
        let Ok(()) = self.try_each(|bytes| {
            hasher.update(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
        hasher
    }

    /// Puts them behind other bytes.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve_exact(self.len);
        let Ok(()) = self.try_each(|bytes| {
            out.extend_from_slice(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
    }
}

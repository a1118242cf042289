//! The register stack: frames of values in chunks that never move.
//!
//! A frame is contiguous in one chunk. It has, in this order:
//!
//! | slots | contents | references to objects |
//! |---|---|---|
//! | registers | parameters, then the rest, none at first | owned |
//! | pool | constants and immediates of the function, so that every argument is a slot | borrowed |
//! | scratch | the arguments of the current call | borrowed |
use crate::ffi::{Error, kind};
use crate::memory::{Reservation, meter};
use crate::value::Any;
use std::mem::MaybeUninit;

/// Number of slots of the first chunk; each further one is twice as large as the one before.
const FIRST_CHUNK: usize = 4096;

/// A point to which the stack can be popped.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    top: *mut Any,
    chunk: usize,
}

/// Slots, with their memory reservation.
struct Chunk {
    slots: Box<[MaybeUninit<Any>]>,
    _counted: Option<Reservation>,
}

/// A stack of slots.
pub(super) struct Stack {
    chunks: Vec<Chunk>,
    /// Start of the next frame, and end of its chunk.
    top: *mut Any,
    end: *mut Any,
    chunk: usize,
    slots: usize,
}

impl Default for Stack {
    fn default() -> Stack {
        let (top, end) = (std::ptr::null_mut(), std::ptr::null_mut());
        Stack { chunks: Vec::new(), top, end, chunk: 0, slots: 0 }
    }
}

impl Stack {
    /// The current top of the stack.
    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark { top: self.top, chunk: self.chunk }
    }

    /// Allocates a frame of `size` slots, uninitialized. Its address is valid until it is popped.
    #[inline]
    pub(super) fn push(&mut self, size: usize, max_bytes: usize) -> Result<*mut Any, Error> {
        let room = (self.end.addr() - self.top.addr()) / size_of::<Any>();
        if size > room {
            self.next_chunk(size, max_bytes)?;
        }
        let frame = self.top;
        self.top = frame.wrapping_add(size);
        Ok(frame)
    }

    /// Pops the frames pushed since `mark`. Their owned values must have been dropped.
    #[inline]
    pub(super) fn pop(&mut self, mark: Mark) {
        if mark.chunk == self.chunk && !mark.top.is_null() {
            self.top = mark.top;
        } else {
            self.enter_chunk(mark.chunk);
            self.top = if mark.top.is_null() { self.top } else { mark.top };
        }
    }

    /// Continues in the next chunk with enough space.
    #[cold]
    fn next_chunk(&mut self, size: usize, max_bytes: usize) -> Result<(), Error> {
        let first = if self.top.is_null() { 0 } else { self.chunk + 1 };
        let fitting = (first..self.chunks.len()).find(|chunk| self.chunks[*chunk].slots.len() >= size);
        match fitting {
            Some(chunk) => self.enter_chunk(chunk),
            None => {
                self.grow(size, max_bytes)?;
                self.enter_chunk(self.chunks.len() - 1);
            }
        }
        Ok(())
    }

    fn enter_chunk(&mut self, chunk: usize) {
        let slots = self.chunks[chunk].slots.as_mut_ptr_range();
        (self.top, self.end, self.chunk) = (slots.start.cast(), slots.end.cast(), chunk);
    }

    fn grow(&mut self, size: usize, max_bytes: usize) -> Result<(), Error> {
        let len = (FIRST_CHUNK << self.chunks.len().min(16)).max(size);
        let bytes = (self.slots + len).saturating_mul(size_of::<Any>());
        if bytes > max_bytes {
            let message = format!("the frames of the calls under way take more than {max_bytes} bytes");
            return Err(Error::new(kind::RECURSION, message));
        }
        let counted = meter::reserve(len * size_of::<Any>())?;
        let mut chunk = Vec::new();
        if chunk.try_reserve_exact(len).is_err() {
            return Err(Error::new(kind::MEMORY, format!("out of memory: cannot allocate {bytes} bytes of stack")));
        }
        chunk.resize_with(len, MaybeUninit::uninit);
        self.chunks.push(Chunk { slots: chunk.into_boxed_slice(), _counted: counted });
        self.slots += len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_where_they_are() {
        let mut stack = Stack::default();
        let start = stack.mark();
        let first = stack.push(4000, usize::MAX).unwrap();
        let mark = stack.mark();
        let second = stack.push(4000, usize::MAX).unwrap();
        let third = stack.push(100_000, usize::MAX).unwrap();
        assert!(first != second && second != third);
        stack.pop(mark);
        assert_eq!(stack.push(4000, usize::MAX).unwrap(), second);
        stack.pop(start);
        assert_eq!(stack.push(4000, usize::MAX).unwrap(), first);
    }

    #[test]
    fn growth_is_limited() {
        let mut stack = Stack::default();
        let error = stack.push(100_000, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), kind::RECURSION);
        assert!(stack.push(100, 1 << 20).is_ok());
    }
}

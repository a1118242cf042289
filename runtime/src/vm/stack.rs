//! The stack of registers: frames of values in chunks that never move.
//!
//! A frame lies within one chunk. It holds, in this order:
//!
//! | slots | contents | claims on objects |
//! |---|---|---|
//! | registers | parameters, then the rest, none at first | owned |
//! | pool | constants and immediates the function uses, so that every argument is a slot | borrowed |
//! | scratch | the arguments of the call under way | borrowed |
use crate::ffi::{Error, kind};
use crate::value::Any;
use std::mem::MaybeUninit;

/// Slots of the first chunk; each further one is twice as big as the one before.
const FIRST_CHUNK: usize = 4096;

/// A point of the stack to go back to.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    chunk: usize,
    top: usize,
}

/// A stack of slots.
#[derive(Default)]
pub(super) struct Stack {
    chunks: Vec<Box<[MaybeUninit<Any>]>>,
    mark: Mark,
    slots: usize,
}

impl Stack {
    /// Where the next frame begins.
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Room for a frame of `size` slots, uninitialized. It stays where it is until the stack goes back before it.
    pub(super) fn push(&mut self, size: usize, max_bytes: usize) -> Result<*mut Any, Error> {
        loop {
            if let Some(chunk) = self.chunks.get_mut(self.mark.chunk) {
                if let Some(frame) = chunk.get_mut(self.mark.top..self.mark.top + size) {
                    self.mark.top += size;
                    return Ok(frame.as_mut_ptr().cast());
                }
                self.mark = Mark { chunk: self.mark.chunk + 1, top: 0 };
            } else {
                self.grow(size, max_bytes)?;
            }
        }
    }

    /// Forgets the frames pushed since `mark`. Their owned values must have been dropped.
    pub(super) fn pop(&mut self, mark: Mark) {
        self.mark = mark;
    }

    fn grow(&mut self, size: usize, max_bytes: usize) -> Result<(), Error> {
        let len = (FIRST_CHUNK << self.chunks.len().min(16)).max(size);
        let bytes = (self.slots + len).saturating_mul(size_of::<Any>());
        if bytes > max_bytes {
            let message = format!("the frames of the calls under way take more than {max_bytes} bytes");
            return Err(Error::new(kind::RECURSION, message));
        }
        let mut chunk = Vec::new();
        if chunk.try_reserve_exact(len).is_err() {
            return Err(Error::new(kind::MEMORY, format!("out of memory: cannot allocate {bytes} bytes of stack")));
        }
        chunk.resize_with(len, MaybeUninit::uninit);
        self.chunks.push(chunk.into_boxed_slice());
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

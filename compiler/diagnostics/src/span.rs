//! Byte ranges of a source file.

/// A half-open range of byte offsets into one [`SourceFile`](crate::SourceFile).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Default for Span {
    fn default() -> Self {
        Span::NONE
    }
}

impl Span {
    /// The span of things without source text.
    pub const NONE: Span = Span { start: u32::MAX, end: u32::MAX };

    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// Returns true if this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// The smallest span that covers both; [`Span::NONE`] adds nothing.
    pub fn join(self, other: Span) -> Span {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span { start: self.start.min(other.start), end: self.end.max(other.end) },
        }
    }

    /// Length in bytes.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if the span covers no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The span as a range for slicing source text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn join_ignores_none() {
        let a = Span::new(3, 5);
        assert_eq!(a.join(Span::NONE), a);
        assert_eq!(Span::NONE.join(a), a);
        assert_eq!(a.join(Span::new(9, 11)), Span::new(3, 11));
    }
}

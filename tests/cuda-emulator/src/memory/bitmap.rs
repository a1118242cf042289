//! One bit a byte of an allocation: is it written?

/// A set of byte offsets. Its words are zero-initialised lazily by the system, so that large allocations cost nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    /// Offsets in the set.
    count: usize,
    /// Offsets that can be in the set.
    size: usize,
}

impl Bitmap {
    /// Returns the empty set of offsets below `size`.
    pub(super) fn new(size: usize) -> Self {
        Self { words: vec![0; size.div_ceil(64)], count: 0, size }
    }

    /// Adds the offsets from `begin` to `end`.
    pub(super) fn insert(&mut self, begin: usize, end: usize) {
        if self.count == self.size {
            return;
        }
        for (word, mask) in spans(begin, end) {
            self.count += (mask & !self.words[word]).count_ones() as usize;
            self.words[word] |= mask;
        }
    }

    /// Removes the offsets from `begin` to `end`.
    pub(super) fn remove(&mut self, begin: usize, end: usize) {
        for (word, mask) in spans(begin, end) {
            self.count -= (mask & self.words[word]).count_ones() as usize;
            self.words[word] &= !mask;
        }
    }

    /// Returns the first offset from `begin` to `end` that is not in the set.
    pub(super) fn first_absent(&self, begin: usize, end: usize) -> Option<usize> {
        if self.count == self.size {
            return None;
        }
        spans(begin, end).find_map(|(word, mask)| {
            let absent = mask & !self.words[word];
            (absent != 0).then(|| word * 64 + absent.trailing_zeros() as usize)
        })
    }

    /// Returns the maximal ranges of the offsets from `begin` to `end` that are in the set.
    pub(super) fn present(&self, begin: usize, end: usize) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        if begin < end && self.count == self.size {
            return vec![(begin, end)];
        }
        for (word, mask) in spans(begin, end) {
            let mut bits = mask & self.words[word];
            while bits != 0 {
                let low = bits.trailing_zeros() as usize;
                let run = (!(bits >> low)).trailing_zeros() as usize;
                let first = word * 64 + low;
                match ranges.last_mut() {
                    Some(last) if last.1 == first => last.1 = first + run,
                    _ => ranges.push((first, first + run)),
                }
                bits &= !(ones(run) << low);
            }
        }
        ranges
    }
}

/// Returns a word of `count` low ones, up to 64.
fn ones(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Returns the words that hold offsets from `begin` to `end`, each with a mask of them.
fn spans(begin: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    (begin / 64..end.div_ceil(64)).map(move |word| {
        let low = begin.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word, ones(high) & !ones(low))
    })
}

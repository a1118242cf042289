//! Little-endian reading and writing of file formats. A reader never reads past the end, and never allocates more than
//! the remaining bytes could fill.

/// The input ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truncated;

/// A cursor over bytes.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0 }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Truncated> {
        let end = self.position.checked_add(len).ok_or(Truncated)?;
        let slice = self.bytes.get(self.position..end).ok_or(Truncated)?;
        self.position = end;
        Ok(slice)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        self.take(N)?.try_into().map_err(|_| Truncated)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Truncated> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Truncated> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Truncated> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads a count of items of `min_size` bytes or more, and checks that the input is long enough for them.
    pub(crate) fn count(&mut self, min_size: usize) -> Result<usize, Truncated> {
        let count = usize::try_from(self.u64()?).map_err(|_| Truncated)?;
        if count <= self.remaining() / min_size.max(1) { Ok(count) } else { Err(Truncated) }
    }

    /// Reads a count and the items.
    pub(crate) fn list<T, E: From<Truncated>>(
        &mut self,
        min_size: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let count = self.count(min_size)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Reads a length and the bytes.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8], Truncated> {
        let len = self.count(1)?;
        self.take(len)
    }

    /// Reads a length and UTF-8 text.
    pub(crate) fn text(&mut self) -> Result<String, Truncated> {
        String::from_utf8(self.blob()?.to_vec()).map_err(|_| Truncated)
    }

    pub(crate) fn i64s(&mut self) -> Result<Vec<i64>, Truncated> {
        self.list(8, Reader::i64)
    }
}

/// The counterpart of [`Reader`]: appends to a vector.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]);

    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    fn put_i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }

    fn put_i32(&mut self, value: i32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a length and the bytes.
    fn put_blob(&mut self, bytes: &[u8]) {
        self.put_u64(bytes.len() as u64);
        self.put(bytes);
    }

    fn put_i64s(&mut self, values: &[i64]) {
        self.put_u64(values.len() as u64);
        values.iter().for_each(|value| self.put_i64(*value));
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Pads with zeroes to a multiple of `alignment`.
pub(crate) fn pad_to(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}

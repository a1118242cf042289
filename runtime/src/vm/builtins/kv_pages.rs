//! Page tables of paged KV caches: which rows of the cache belong to which sequence.
//!
//! A paged cache is a tensor of pages, each with space for a fixed number of rows (keys or values of one position).
//! `Pages` assigns free pages to sequences as they grow, and reclaims them; it does not refer to the tensors, so one
//! serves all layers of a model. The slot of a row is `page * rows per page + row in the page`. Programs read a
//! sequence's rows through its row of the block table.
use super::memory::{check_in_place, on_first_device};
use super::order::scratch;
use crate::ffi::{Error, kind};
use crate::memory::meter::GrowingReservation;
use crate::sort::sort;
use crate::sorted_map::SortedMap;
use crate::value::{DType, Device, Opaque, Shape, Tensor, copy_bits_between};
use crate::vm::{Builtin, builtin::builtin};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("hammock.kv_pages.create", create(pages: i64, rows: i64) -> "Pages",
        "Creates a pool of `pages` free pages of `rows` rows each."),
    builtin!("hammock.kv_pages.extend", extend(pages: &Opaque, sequences: &Shape, rows: &Shape) -> "Tensor",
        "Extends each sequence (given by number; a new number begins one) by `rows` rows; returns the slots of these \
         rows, int64, sequence by sequence."),
    builtin!("hammock.kv_pages.truncate", truncate(pages: &Opaque, sequence: i64, rows: i64) -> "None",
        "Truncates a sequence to its first rows; empty pages are freed, and an empty sequence is removed."),
    builtin!("hammock.kv_pages.table", table(pages: &Opaque, sequences: &Shape) -> "Tensor",
        "Returns the block table, int32: the pages of each sequence in order, padded with zeros."),
    builtin!("hammock.kv_pages.lengths", lengths(pages: &Opaque, sequences: &Shape) -> "Tensor",
        "Returns the number of rows of each sequence, int32."),
    builtin!("hammock.kv_pages.write", write(data: &Tensor, slots: &Tensor, rows: &Tensor) -> "Tensor",
        "Writes rows to their slots in a tensor of pages (pages, rows per page, …), in place, and returns the tensor."),
];

struct Pages(Mutex<State>);

struct State {
    /// Rows per page.
    rows: usize,
    /// Pages from this one on were never assigned; there are `pages` in all.
    fresh: usize,
    pages: usize,
    /// A stack of released pages.
    free: Vec<i32>,
    sequences: SortedMap<i64, Sequence>,
    /// Charges for the memory of these lists.
    counted: GrowingReservation,
}

#[derive(Default)]
struct Sequence {
    pages: Vec<i32>,
    rows: usize,
}

/// Memory for a page that was ever assigned: an entry in its sequence's list and one in the list of free pages, both of
/// which may have twice the capacity.
const PAGE_ENTRY: usize = 2 * 2 * size_of::<i32>();
/// Additional memory per sequence.
const SEQUENCE_ENTRY: usize = 96;

impl State {
    fn sequence(&self, number: i64) -> Result<&Sequence, Error> {
        self.sequences.get(&number).ok_or_else(|| Error::new(kind::INDEX, format!("there is no sequence {number}")))
    }

    /// The number of pages that a sequence needs for `more` rows.
    fn wanted(&self, number: i64, more: usize) -> usize {
        let (pages, rows) = self.sequences.get(&number).map_or((0, 0), |s| (s.pages.len(), s.rows));
        rows.saturating_add(more).div_ceil(self.rows) - pages
    }

    fn free(&self) -> usize {
        self.free.len() + (self.pages - self.fresh)
    }

    fn take(&mut self) -> i32 {
        self.free.pop().unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh as i32 - 1
        })
    }

    /// Reserves capacity in the lists for more pages and sequences.
    fn reserve(&mut self, pages: usize, sequences: usize) -> Result<(), Error> {
        let given = self.fresh.saturating_add(pages).min(self.pages);
        self.counted.cover(given * PAGE_ENTRY + (self.sequences.len() + sequences) * SEQUENCE_ENTRY)?;
        // All assigned pages may be released.
        let all = given - self.free.len().min(given);
        self.free.try_reserve(all).map_err(|_| no_memory(given))
    }

    /// Extends a sequence, for which there are enough pages, and writes the slots of its new rows.
    fn extend(&mut self, number: i64, more: usize, slots: &mut [i64]) {
        let wanted = self.wanted(number, more);
        let mut sequence = self.sequences.remove(&number).unwrap_or_default();
        sequence.pages.extend((0..wanted).map(|_| self.take()));
        for (row, slot) in (sequence.rows..).zip(slots) {
            *slot = (sequence.pages[row / self.rows] as usize * self.rows + row % self.rows) as i64;
        }
        sequence.rows += more;
        self.sequences.insert(number, sequence);
    }
}

fn no_memory(pages: usize) -> Error {
    Error::new(kind::MEMORY, format!("there is no memory for the lists of {pages} pages"))
}

fn state(pages: &Opaque) -> Result<MutexGuard<'_, State>, Error> {
    match pages.downcast::<Pages>() {
        Some(Pages(state)) => Ok(state.lock().unwrap_or_else(PoisonError::into_inner)),
        None => Err(Error::type_error("the value is not the pages of a cache")),
    }
}

fn count(value: i64, of: &str) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::value(format!("{value} is not a number of {of}")))
}

fn create(pages: i64, rows: i64) -> Result<Opaque, Error> {
    let (pages, rows) = (count(pages, "pages")?, count(rows, "rows")?);
    // Block tables and lengths are 32-bit.
    if rows == 0 || pages.checked_mul(rows).is_none_or(|all| i32::try_from(all).is_err()) {
        return Err(Error::value(format!("there cannot be {pages} pages of {rows} rows")));
    }
    let state = State {
        rows,
        fresh: 0,
        pages,
        free: Vec::new(),
        sequences: SortedMap::new(),
        counted: GrowingReservation::default(),
    };
    Ok(Opaque::new(Pages(Mutex::new(state))))
}

fn extend(pages: &Opaque, sequences: &Shape, rows: &Shape) -> Result<Tensor, Error> {
    let _scratch = scratch(sequences.len(), 3 * size_of::<i64>())?;
    let mut state = state(pages)?;
    let mut distinct = sequences.as_slice().to_vec();
    sort(&mut distinct);
    if sequences.len() != rows.len() || distinct.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::value(format!("{sequences} and {rows} are not sequences with a number of rows for each")));
    }
    let mut more = Vec::new();
    let mut wanted = 0usize;
    for (sequence, rows) in sequences.iter().zip(rows.iter()) {
        more.push(count(*rows, "rows")?);
        wanted = wanted.saturating_add(state.wanted(*sequence, more[more.len() - 1]));
    }
    if wanted > state.free() {
        return Err(Error::new(kind::MEMORY, format!("{wanted} pages are needed, and {} are free", state.free())));
    }
    let all: usize = more.iter().sum();
    let mut places = Tensor::empty(DType::INT64, &[all as i64], Device::CPU)?;
    state.reserve(wanted, sequences.len())?;
    for (sequence, more) in sequences.iter().zip(&more) {
        let wanted = state.wanted(*sequence, *more);
        let list = &mut state.sequences.get_or_default(*sequence).pages;
        list.try_reserve(wanted).map_err(|_| no_memory(wanted))?;
    }
    let mut rest = places.as_mut_slice::<i64>()?;
    for (sequence, more) in sequences.iter().zip(more) {
        let (places, behind) = rest.split_at_mut(more);
        state.extend(*sequence, more, places);
        rest = behind;
    }
    on_first_device(places)
}

fn truncate(pages: &Opaque, sequence: i64, rows: i64) -> Result<(), Error> {
    let mut state = state(pages)?;
    let (rows, has) = (count(rows, "rows")?, state.sequence(sequence)?.rows);
    if rows > has {
        return Err(Error::value(format!("sequence {sequence} has {has} rows, not {rows}")));
    }
    let State { rows: page, free, sequences, .. } = &mut *state;
    if let Some(found) = sequences.get_mut(&sequence) {
        free.extend(found.pages.drain(rows.div_ceil(*page)..).rev());
        found.rows = rows;
    }
    if rows == 0 {
        sequences.remove(&sequence);
    }
    Ok(())
}

fn table(pages: &Opaque, sequences: &Shape) -> Result<Tensor, Error> {
    let _scratch = scratch(sequences.len(), size_of::<&Sequence>())?;
    let state = state(pages)?;
    let lines: Vec<_> = sequences.iter().map(|number| state.sequence(*number)).collect::<Result<_, _>>()?;
    let longest = lines.iter().map(|line| line.pages.len()).max().unwrap_or(0);
    let mut table = Tensor::empty(DType::INT32, &[lines.len() as i64, longest as i64], Device::CPU)?;
    for (line, padded) in lines.iter().zip(table.as_mut_slice::<i32>()?.chunks_exact_mut(longest.max(1))) {
        padded[..line.pages.len()].copy_from_slice(&line.pages);
    }
    on_first_device(table)
}

fn lengths(pages: &Opaque, sequences: &Shape) -> Result<Tensor, Error> {
    let state = state(pages)?;
    let mut lengths = Tensor::empty(DType::INT32, &[sequences.len() as i64], Device::CPU)?;
    for (number, length) in sequences.iter().zip(lengths.as_mut_slice::<i32>()?) {
        *length = state.sequence(*number)?.rows as i32;
    }
    on_first_device(lengths)
}

fn write(data: &Tensor, slots: &Tensor, rows: &Tensor) -> Result<Tensor, Error> {
    let (slots, rows) = (slots.to_device(Device::CPU)?.to_contiguous()?, rows.to_dense()?);
    let (capacity, slots) = (data.shape().iter().take(2).product::<i64>(), slots.as_slice::<i64>()?);
    let fits =
        data.shape().len() >= 2 && rows.shape().split_first() == Some((&(slots.len() as i64), &data.shape()[2..]));
    if !fits || rows.dtype() != data.dtype() {
        return Err(Error::value(format!("{rows:?} does not hold {} rows for pages in {data:?}", slots.len())));
    }
    check_in_place(data)?;
    if let Some(slot) = slots.iter().find(|slot| !(0..capacity).contains(*slot)) {
        return Err(Error::new(kind::INDEX, format!("slot {slot} is out of bounds for {capacity} rows")));
    }
    // Rows of types below a byte are packed.
    let bits = data.shape()[2..].iter().map(|size| *size as usize).product::<usize>() * data.dtype().width();
    if !data.device().is_host() {
        write_on_device(data, slots, &rows, bits)?;
        return Ok(data.clone());
    }
    let rows = rows.to_device(Device::CPU)?;
    let (from, to) = (rows.as_bytes()?.as_ptr(), data.data_ptr());
    for (row, slot) in slots.iter().enumerate().filter(|_| bits > 0) {
        // SAFETY: both are contiguous on the host and have more rows of `bits` bits than `row` and `slot`. Callers of
        // functions that work in place ensure that nobody else uses them during the call. The rows may be part of the
        // data.
        unsafe { copy_bits_between(to, *slot as usize * bits, from, row * bits, bits) };
    }
    Ok(data.clone())
}

/// Writes rows of `bits` bits to their slots in another device's memory. Adjacent slots are written at once.
fn write_on_device(data: &Tensor, slots: &[i64], rows: &Tensor, bits: usize) -> Result<(), Error> {
    if !bits.is_multiple_of(8) {
        let wrong = format!("rows of {bits} bits cannot be written on {}: they end within a byte", data.device());
        return Err(Error::type_error(wrong));
    }
    let mut row = 0;
    for adjacent in slots.chunk_by(|a, b| a + 1 == *b) {
        let bytes = adjacent.len() * bits / 8;
        data.overwrite_bytes(adjacent[0] as usize * bits / 8, rows, row * bits / 8, bytes)?;
        row += adjacent.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(tensor: &Tensor) -> Vec<i64> {
        match tensor.as_slice::<i32>() {
            Ok(values) => values.iter().map(|value| i64::from(*value)).collect(),
            Err(_) => tensor.as_slice::<i64>().unwrap().to_vec(),
        }
    }

    fn more(pages: &Opaque, sequences: &[i64], rows: &[i64]) -> Result<Vec<i64>, Error> {
        Ok(ints(&extend(pages, &Shape::new(sequences), &Shape::new(rows))?))
    }

    #[test]
    fn sequences_grow_by_pages_and_release_them() {
        let pages = create(4, 2).unwrap();
        assert_eq!(more(&pages, &[7, 8], &[3, 1]).unwrap(), [0, 1, 2, 4]);
        assert_eq!(more(&pages, &[8, 7], &[2, 1]).unwrap(), [5, 6, 3]);
        let both = Shape::new(&[7, 8]);
        let shown = table(&pages, &both).unwrap();
        assert_eq!((shown.shape(), ints(&shown)), (&[2, 2][..], vec![0, 1, 2, 3]));
        assert_eq!(ints(&lengths(&pages, &both).unwrap()), [4, 3]);
        // A failed allocation takes no pages.
        let full = more(&pages, &[8, 7], &[1, 1]).unwrap_err();
        assert_eq!(full.to_string(), "MemoryError: 1 pages are needed, and 0 are free");
        truncate(&pages, 8, 2).unwrap();
        assert_eq!(more(&pages, &[9], &[2]).unwrap(), [6, 7]);
        assert_eq!(ints(&table(&pages, &both).unwrap()), [0, 1, 2, 0]);
        truncate(&pages, 7, 0).unwrap();
        assert_eq!(lengths(&pages, &both).unwrap_err().to_string(), "IndexError: there is no sequence 7");
        assert_eq!(more(&pages, &[8], &[3]).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn rows_are_written_to_their_slots() {
        let data = Tensor::from_slice(&[2, 2, 2], &[0f32; 8]).unwrap();
        let rows = Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
        let slots = |at: &[i64]| Tensor::from_slice(&[at.len() as i64], at).unwrap();
        write(&data, &slots(&[3, 0]), &rows).unwrap();
        assert_eq!(data.as_slice::<f32>().unwrap(), [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
        assert_eq!(write(&data, &slots(&[0, 4]), &rows).unwrap_err().kind(), "IndexError");
        assert_eq!(write(&data, &slots(&[0]), &rows).unwrap_err().kind(), "ValueError");
        assert!(write(&rows, &slots(&[]), &Tensor::from_slice::<f32>(&[0], &[]).unwrap()).is_ok());
    }

    /// Elements with pseudo-random bytes.
    fn noise(dtype: DType, shape: &[i64], number: usize) -> Tensor {
        let bytes = crate::value::byte_size(dtype, shape).unwrap();
        let bytes: Vec<u8> = (0..bytes).map(|i| (((i + 1) * (number * 2 + 37) * 0x9E37) >> 5) as u8).collect();
        Tensor::from_bytes(dtype, shape, &bytes).unwrap()
    }

    #[test]
    fn rows_of_any_type_keep_their_bits() {
        for dtype in [DType::INT4, DType::UINT1, DType::FLOAT6_E3M2FN, DType::INT4.with_lanes(3), DType::INT16] {
            for row in [&[][..], &[1], &[3], &[2, 3], &[8], &[0]] {
                let shape = |first: &[i64]| [first, row].concat();
                let data = noise(dtype, &shape(&[2, 3]), 1);
                let before = noise(dtype, &shape(&[6]), 1);
                let rows = noise(dtype, &shape(&[3]), 2);
                let slots = [5i64, 0, 3];
                write(&data, &Tensor::from_slice(&[3], &slots).unwrap(), &rows).unwrap();
                let after = data.reshape(&shape(&[6])).unwrap();
                for slot in 0..6 {
                    let written = slots.iter().position(|to| *to == slot);
                    let (from, at) = written.map_or((&before, slot), |row| (&rows, row as i64));
                    let count = row.iter().product::<i64>();
                    for element in 0..count {
                        let index = |first: i64| match row {
                            [_, inner] => vec![first, element / inner, element % inner],
                            row => [&[first][..], &[element][..row.len()]].concat(),
                        };
                        assert_eq!(after.element(&index(slot)), from.element(&index(at)), "{dtype} {row:?} {slot}");
                    }
                }
            }
        }
    }

    #[test]
    fn page_lists_count_towards_the_limit() {
        use crate::memory::{Allocator, AllocatorKind, meter::Account};
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1 << 20).unwrap();
        let flag = std::sync::atomic::AtomicU8::new(0);
        let pages = create(1 << 20, 1).unwrap();
        more(&pages, &[1], &[10_000]).unwrap();
        // SAFETY: allocator and flag outlive the account.
        let _call = unsafe { Account::new(&allocator, &flag).enter() };
        let over = |error: Error| assert!(error.message().contains("exceed the limit of 1048576"), "{error}");
        over(more(&pages, &[2], &[200_000]).unwrap_err());
        over(table(&pages, &Shape::new(&[1; 1000])).unwrap_err());
        assert_eq!(lengths(&pages, &Shape::new(&[2])).unwrap_err().kind(), "IndexError");
        // In the end, the lists alone exceed the limit.
        let grown = (2..200).find_map(|number| more(&pages, &[number], &[10_000]).err());
        over(grown.unwrap());
        assert!(table(&pages, &Shape::new(&[1])).is_ok());
    }

    #[test]
    fn bad_requests_are_refused() {
        assert!(create(-1, 2).is_err() && create(1, 0).is_err() && create(i64::MAX, 1).is_err());
        assert!(create(1 << 16, 1 << 16).is_err() && create(1, 1 << 40).is_err() && create(0, 1 << 40).is_ok());
        let pages = create(2, 2).unwrap();
        assert!(more(&pages, &[1, 1], &[1, 1]).is_err() && more(&pages, &[1], &[1, 2]).is_err());
        assert!(more(&pages, &[1], &[i64::MAX]).is_err() && more(&pages, &[1], &[-1]).is_err());
        assert!(truncate(&pages, 1, 0).is_err());
        assert_eq!(more(&pages, &[1], &[1]).unwrap(), [0]);
        assert!(truncate(&pages, 1, 2).is_err());
    }
}

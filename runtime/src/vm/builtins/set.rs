//! Operators whose result sizes depend on the data: unique elements, indices of nonzero elements.
use super::memory::on_device_of;
use super::order::{keys, scratch, sorted, zero_key};
use crate::ffi::Error;
use crate::value::{Any, Device, Tensor, Tuple};
use crate::vm::{Builtin, builtin::builtin};
use std::hash::{BuildHasher, RandomState};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("relax.run.unique",
        unique(
            value: &Tensor, sorted: bool, return_index: bool, return_inverse: bool, return_counts: bool,
            axis: Option<i64>
        ) -> "Tensor or Tuple",
        "Finds the unique elements, or slices along an axis; on request where each is first, which each element is, \
         and how often each occurs."),
    builtin!("relax.run.nonzero", nonzero(value: &Tensor) -> "Tensor",
        "Returns the indices of the nonzero elements, one column per element."),
];

fn nonzero(operand: &Tensor) -> Result<Tensor, Error> {
    let value = operand.to_device(Device::CPU)?.to_contiguous()?;
    // A scalar counts as a vector of one element.
    let shape = if value.shape().is_empty() { &[1] } else { value.shape() };
    // Keys, order, and an index for each dimension.
    let _scratch = scratch(value.element_count(), 16 + 8 * shape.len())?;
    let mut left = positions(&value)?;
    let count = left.len();
    let mut indices = vec![0; shape.len() * count];
    for (axis, size) in shape.iter().enumerate().skip(1).rev() {
        // Indices ascend, so rows are advanced incrementally: a division would dominate the time.
        let (mut row, mut start) = (0, 0);
        for (index, at) in indices[axis * count..].iter_mut().zip(&mut left) {
            while *at - start >= *size {
                start += size;
                row += 1;
            }
            *index = *at - start;
            *at = row;
        }
    }
    indices[..count].copy_from_slice(&left);
    on_device_of(operand, Tensor::from_slice(&[shape.len() as i64, count as i64], &indices)?)
}

/// Linear indices of the nonzero elements, in order.
fn positions(value: &Tensor) -> Result<Vec<i64>, Error> {
    let dtype = value.dtype();
    zero_key(dtype)?;
    // The sign of a zero is ignored.
    let ignored = u32::from(dtype.is_floating());
    fn of<const N: usize>(bytes: &[u8], ignored: u32) -> Vec<i64> {
        let mut found = vec![0; bytes.len() / N];
        let mut count = 0;
        for (at, element) in (0..).zip(bytes.as_chunks::<N>().0) {
            let mut wide = [0; 8];
            wide[8 - N..].copy_from_slice(element);
            found[count] = at;
            count += usize::from(u64::from_le_bytes(wide) << ignored != 0);
        }
        found.truncate(count);
        found
    }
    let bytes = value.as_bytes()?;
    Ok(match dtype.bytes() {
        1 => of::<1>(bytes, ignored),
        2 => of::<2>(bytes, ignored),
        4 => of::<4>(bytes, ignored),
        _ => of::<8>(bytes, ignored),
    })
}

fn unique(
    value: &Tensor,
    sorted: bool,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: Option<i64>,
) -> Result<Any, Error> {
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    // Slices along an axis may be empty.
    let (_, slices, _) = split(&host, axis)?;
    let _scratch = scratch(host.element_count().max(slices), UNIQUE)?;
    let rows = find_unique(&host, axis, sorted)?;
    if !(return_index || return_inverse || return_counts) {
        return Ok(on_device_of(value, rows.values)?.into());
    }
    let vector = |values: &[i64]| {
        Ok::<_, Error>(Any::from(on_device_of(value, Tensor::from_slice(&[values.len() as i64], values)?)?))
    };
    let mut fields = vec![Any::from(on_device_of(value, rows.values)?)];
    for (wanted, values) in [(return_index, rows.first), (return_inverse, rows.inverse), (return_counts, rows.counts)] {
        if wanted {
            fields.push(vector(&values)?);
        }
    }
    Ok(Tuple::new(fields.into_iter()).into())
}

/// Maximum memory per element for finding unique elements: its keys, its value, its group, slots
/// of the hash table, orders and results.
const UNIQUE: usize = 160;

struct Unique {
    values: Tensor,
    /// Index of the first occurrence of each unique slice.
    first: Vec<i64>,
    /// Index of the unique slice of each slice.
    inverse: Vec<i64>,
    /// Number of occurrences of each unique slice.
    counts: Vec<i64>,
}

/// Unique slices along an axis (all elements without one), by value or by first occurrence.
fn find_unique(value: &Tensor, axis: Option<i64>, by_value: bool) -> Result<Unique, Error> {
    let (outer, count, inner) = split(value, axis)?;
    let length = outer * inner;
    let keys = slice_keys(keys(value)?, (outer, count, inner));
    let slice = |slice: usize| &keys[slice * length..][..length];
    let hash = SliceHash::new();
    let mut groups = match length {
        1 => Groups::of(count, |at| hash.of_key(keys[at]), |_, _| true),
        _ => Groups::of(count, |at| hash.of(slice(at)), |a, b| slice(a) == slice(b)),
    };
    if by_value {
        let first = |group: &usize| groups.first[*group] as usize;
        let order = match length {
            1 => sorted((0..groups.first.len()).map(|group| keys[first(&group)])),
            _ => {
                let mut order: Vec<usize> = (0..groups.first.len()).collect();
                order.sort_unstable_by_key(|group| slice(first(group)));
                order
            }
        };
        groups.reorder(&order);
    }
    let bytes = value.as_bytes()?;
    let width = inner * value.dtype().bytes();
    let size = outer * groups.first.len() * width;
    let mut values = Vec::with_capacity(size);
    // Without elements, the shape may still have any number of rows.
    for row in 0..if size > 0 { outer } else { 0 } {
        for first in &groups.first {
            values.extend_from_slice(&bytes[(row * count + *first as usize) * width..][..width]);
        }
    }
    let mut shape = if axis.is_some() { value.shape().to_vec() } else { vec![0] };
    let place = axis.map_or(0, |axis| axis.rem_euclid(shape.len() as i64) as usize);
    shape[place] = groups.first.len() as i64;
    let Groups { first, inverse, counts } = groups;
    Ok(Unique { values: Tensor::from_bytes(value.dtype(), &shape, &values)?, first, inverse, counts })
}

/// The keys of a tensor of shape `(outer, count, inner)`, those of each slice contiguous.
fn slice_keys(keys: Vec<u64>, (outer, count, inner): (usize, usize, usize)) -> Vec<u64> {
    if outer == 1 || keys.is_empty() {
        return keys;
    }
    let rows = |slice: usize| (0..outer).map(move |row| (row * count + slice) * inner);
    (0..count).flat_map(rows).flat_map(|start| &keys[start..start + inner]).copied().collect()
}

/// Hash function of slices, drawn at random: no data can make many collisions likely.
struct SliceHash {
    multiplier: u64,
}

impl SliceHash {
    fn new() -> Self {
        SliceHash { multiplier: RandomState::new().hash_one(0) | 1 }
    }

    /// The hash of a key: different for different keys, since the multiplier is odd. Its high bits are uniform
    /// (Dietzfelbinger et al., 1997).
    fn of_key(&self, key: u64) -> u64 {
        key.wrapping_mul(self.multiplier)
    }

    /// The hash of a slice, as several polynomials of the multiplier, which do not wait for each other.
    fn of(&self, slice: &[u64]) -> u64 {
        const LANES: usize = 8;
        let step = |hash: u64, key: u64| self.of_key((hash ^ (hash >> 32)).wrapping_add(key));
        let (whole, rest) = slice.as_chunks::<LANES>();
        let mut lanes = [0; LANES];
        for chunk in whole {
            lanes.iter_mut().zip(chunk).for_each(|(hash, key)| *hash = step(*hash, *key));
        }
        lanes.iter().chain(rest).fold(0, |hash, key| step(hash, *key))
    }
}

/// Groups of equal slices, numbered by first occurrence.
struct Groups {
    /// The first slice of each group.
    first: Vec<i64>,
    /// The group of each slice.
    inverse: Vec<i64>,
    /// Number of slices of each group.
    counts: Vec<i64>,
}

/// A slot of a hash table: the hash of a group, and its number plus one; zero if the slot is empty.
type Slot = (u64, usize);

impl Groups {
    /// Groups slices by a hash table with open addressing; `same` compares slices of one hash.
    fn of(count: usize, hash: impl Fn(usize) -> u64, same: impl Fn(usize, usize) -> bool) -> Self {
        let mut groups = Groups { first: Vec::new(), inverse: vec![0; count], counts: Vec::new() };
        let mut bits = 8;
        let mut slots: Vec<Slot> = vec![(0, 0); 1 << bits];
        for slice in 0..count {
            let hash = hash(slice);
            let mut at = (hash >> (64 - bits)) as usize;
            let group = loop {
                match slots[at] {
                    (_, 0) => {
                        groups.first.push(slice as i64);
                        groups.counts.push(0);
                        slots[at] = (hash, groups.first.len());
                        break groups.first.len() - 1;
                    }
                    (own, group) if own == hash && same(groups.first[group - 1] as usize, slice) => break group - 1,
                    _ => at = (at + 1) & (slots.len() - 1),
                }
            };
            groups.inverse[slice] = group as i64;
            groups.counts[group] += 1;
            if 2 * groups.first.len() > slots.len() {
                bits += 1;
                slots = resized(&slots, bits);
            }
        }
        groups
    }

    /// Renumbers the groups in an order.
    fn reorder(&mut self, order: &[usize]) {
        let mut ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(group, rank)| ranks[*group] = rank);
        self.first = order.iter().map(|group| self.first[*group]).collect();
        self.counts = order.iter().map(|group| self.counts[*group]).collect();
        self.inverse.iter_mut().for_each(|group| *group = ranks[*group as usize]);
    }
}

/// A table of `2^bits` slots with the groups of another.
fn resized(slots: &[Slot], bits: u32) -> Vec<Slot> {
    let mut resized: Vec<Slot> = vec![(0, 0); 1 << bits];
    for slot in slots.iter().filter(|(_, group)| *group > 0) {
        let mut at = (slot.0 >> (64 - bits)) as usize;
        while resized[at].1 > 0 {
            at = (at + 1) & (resized.len() - 1);
        }
        resized[at] = *slot;
    }
    resized
}

/// Sizes before, at and after the axis; without an axis, of the flattened tensor.
fn split(value: &Tensor, axis: Option<i64>) -> Result<(usize, usize, usize), Error> {
    let shape: Vec<_> = value.shape().iter().map(|size| *size as usize).collect();
    let Some(axis) = axis else { return Ok((1, value.element_count(), 1)) };
    let ndim = shape.len() as i64;
    if !(-ndim..ndim).contains(&axis) {
        return Err(Error::value(format!("a tensor of {ndim} dimensions has no axis {axis}")));
    }
    let axis = axis.rem_euclid(ndim) as usize;
    Ok((shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()))
}

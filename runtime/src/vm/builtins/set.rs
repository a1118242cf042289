//! Operators whose result sizes depend on the data: unique elements, indices of nonzero elements.
use super::memory::on_device_of;
use super::order::{keys, scratch, sorted, zero_key};
use crate::ffi::Error;
use crate::value::{Any, Device, Tensor, Tuple};
use crate::vm::{Builtin, builtin::builtin};

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

/// Maximum memory per element for finding unique elements: its key, its value, its group, orders and results.
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
    let keys = keys(value)?;
    let element = |slice: usize, at: usize| (at / inner * count + slice) * inner + at % inner;
    let slice = |slice: usize| (0..outer * inner).map(move |at| element(slice, at));
    let compare = |a: &usize, b: &usize| slice(*a).map(|at| keys[at]).cmp(slice(*b).map(|at| keys[at]));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|a, b| compare(a, b).then(a.cmp(b)));
    // Equal slices are adjacent now, with the first occurrence in front.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for slice in order {
        match groups.last_mut() {
            Some(group) if compare(&group[0], &slice).is_eq() => group.push(slice),
            _ => groups.push(vec![slice]),
        }
    }
    if !by_value {
        let order = sorted(groups.iter().map(|group| group[0] as u64));
        groups = order.into_iter().map(|at| std::mem::take(&mut groups[at])).collect();
    }
    let mut inverse = vec![0; count];
    groups.iter().enumerate().for_each(|(i, group)| group.iter().for_each(|slice| inverse[*slice] = i as i64));
    let first: Vec<_> = groups.iter().map(|group| group[0] as i64).collect();
    let (width, bytes) = (value.dtype().bytes(), value.as_bytes()?);
    let chosen = |at: usize| {
        let from = element(groups[at / inner % groups.len()][0], at / inner / groups.len() * inner + at % inner);
        &bytes[from * width..][..width]
    };
    let values: Vec<u8> = (0..outer * groups.len() * inner).flat_map(chosen).copied().collect();
    let mut shape = if axis.is_some() { value.shape().to_vec() } else { vec![0] };
    let place = axis.map_or(0, |axis| axis.rem_euclid(shape.len() as i64) as usize);
    shape[place] = groups.len() as i64;
    let counts = groups.iter().map(|group| group.len() as i64).collect();
    Ok(Unique { values: Tensor::from_bytes(value.dtype(), &shape, &values)?, first, inverse, counts })
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

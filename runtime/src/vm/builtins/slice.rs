//! Slices whose bounds are tensors.
use super::memory::on_device_of;
use super::order::scratch;
use super::shape::tensor_to_shape;
use crate::ffi::Error;
use crate::value::{Device, Tensor, byte_size};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[builtin!("relax.run.dynamic_strided_slice",
    dynamic_strided_slice(value: &Tensor, begin: &Tensor, end: &Tensor, strides: &Tensor) -> "Tensor",
    "Slices each axis from begin to end by stride, with Python's rules.")];

fn dynamic_strided_slice(value: &Tensor, begin: &Tensor, end: &Tensor, strides: &Tensor) -> Result<Tensor, Error> {
    let [begin, end, strides] = [begin, end, strides].map(tensor_to_shape);
    let (begin, end, strides) = (begin?, end?, strides?);
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    let ndim = host.shape().len();
    if [&begin, &end, &strides].iter().any(|bounds| bounds.len() != ndim) {
        return Err(Error::value(format!("a slice of {value:?} needs {ndim} bounds of each kind")));
    }
    if !host.dtype().is_byte_sized() {
        return Err(Error::type_error(format!("elements of {} cannot be sliced one by one", host.dtype())));
    }
    let axes: Vec<Axis> =
        (0..ndim).map(|i| Axis::new(host.shape()[i], begin[i], end[i], strides[i])).collect::<Result<_, _>>()?;
    let shape: Vec<i64> = axes.iter().map(|axis| axis.length).collect();
    let size = byte_size(host.dtype(), &shape)?;
    let _scratch = scratch(size, 1)?;
    let mut bytes = Vec::with_capacity(size);
    if size > 0 {
        copy(host.as_bytes()?, host.dtype().bytes(), host.shape(), &axes, 0, &mut bytes);
    }
    on_device_of(value, Tensor::from_bytes(host.dtype(), &shape, &bytes)?)
}

/// A slice of an axis.
struct Axis {
    begin: i64,
    stride: i64,
    length: i64,
}

impl Axis {
    /// Negative bounds count from the end; then bounds are clamped to the axis.
    fn new(size: i64, begin: i64, end: i64, stride: i64) -> Result<Axis, Error> {
        if stride == 0 {
            return Err(Error::value("a slice cannot step by zero".to_owned()));
        }
        let (low, high) = if stride < 0 { (-1, size - 1) } else { (0, size) };
        let place = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound }.clamp(low, high);
        let (begin, end) = (place(begin), place(end));
        let (way, step) =
            if stride < 0 { (begin - end, stride.unsigned_abs()) } else { (end - begin, stride.unsigned_abs()) };
        let length = u64::try_from(way).map_or(0, |way| way.div_ceil(step)) as i64;
        Ok(Axis { begin, stride, length })
    }
}

/// Appends the selected elements of the part of a contiguous tensor that begins at element `at`.
fn copy(from: &[u8], size: usize, shape: &[i64], axes: &[Axis], at: usize, to: &mut Vec<u8>) {
    let (Some((axis, rest)), Some((_, inner))) = (axes.split_first(), shape.split_first()) else {
        return to.extend_from_slice(&from[at * size..(at + 1) * size]);
    };
    let width: usize = inner.iter().map(|size| *size as usize).product();
    if rest.is_empty() && axis.stride == 1 {
        let begin = (at + axis.begin as usize) * size;
        return to.extend_from_slice(&from[begin..begin + axis.length as usize * size]);
    }
    for step in 0..axis.length {
        let index = (axis.begin + step * axis.stride) as usize;
        copy(from, size, inner, rest, at + index * width, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(value: &Tensor, begin: &[i64], end: &[i64], strides: &[i64]) -> Result<(Vec<i64>, Vec<i16>), Error> {
        let vector = |values: &[i64]| Tensor::from_slice(&[values.len() as i64], values).unwrap();
        let result = dynamic_strided_slice(value, &vector(begin), &vector(end), &vector(strides))?;
        Ok((result.shape().to_vec(), result.as_slice::<i16>()?.to_vec()))
    }

    #[test]
    fn slices_follow_python() {
        let row = Tensor::from_slice(&[6], &[0i16, 1, 2, 3, 4, 5]).unwrap();
        let cut = |b, e, s| slice(&row, &[b], &[e], &[s]).unwrap().1;
        assert_eq!(cut(1, 4, 1), [1, 2, 3]);
        assert_eq!(cut(-2, i64::MAX, 1), [4, 5]);
        assert_eq!(cut(0, 6, 4), [0, 4]);
        assert_eq!(cut(-1, i64::MIN, -2), [5, 3, 1]);
        assert!(cut(4, 2, 1).is_empty() && cut(9, 12, 1).is_empty());
        let table = Tensor::from_slice(&[3, 2], &[0i16, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(slice(&table, &[2, 0], &[-9, 2], &[-2, 1]).unwrap(), (vec![2, 2], vec![4, 5, 0, 1]));
        assert_eq!(slice(&table, &[0, 1], &[3, 2], &[1, 1]).unwrap(), (vec![3, 1], vec![1, 3, 5]));
        let scalar = Tensor::scalar(7i16).unwrap();
        assert_eq!(slice(&scalar, &[], &[], &[]).unwrap(), (vec![], vec![7]));
    }

    #[test]
    fn refuses_bad_bounds() {
        let row = Tensor::from_slice(&[2], &[0i16, 1]).unwrap();
        assert!(slice(&row, &[0], &[2], &[0]).unwrap_err().to_string().contains("step by zero"));
        assert!(slice(&row, &[0, 0], &[2], &[1]).unwrap_err().to_string().contains("needs 1 bounds"));
    }
}

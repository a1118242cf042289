//! Sequences: tuples whose length is only known at run time, and optional values. A sequence never changes; inserting at the end of one
//! takes amortized constant time.
use crate::ffi::{Args, Error, kind};
use crate::value::{Any, DType, Device, Shape, Tensor, Tuple};
use crate::vm::builtins::memory::{on_device_of, on_first_device};
use crate::vm::builtins::order::scratch;
use crate::vm::{Builtin, builtin::builtin};

pub(in crate::vm::builtins) const TABLE: &[Builtin] = &[
    builtin!("hammock.sequence.construct", construct(; "values…") -> "Tuple", "Creates a sequence of these values."),
    builtin!("hammock.sequence.insert", insert(sequence: &Tuple, value: &Any, position: Option<&Any>) -> "Tuple",
        "Returns the sequence with a value inserted before a position, by default at the end."),
    builtin!("hammock.sequence.erase", erase(sequence: &Tuple, position: Option<&Any>) -> "Tuple",
        "Returns the sequence without the value at a position, by default the last."),
    builtin!("hammock.sequence.at", at(sequence: &Tuple, position: &Any) -> "Any",
        "Returns the value at a position of a sequence."),
    builtin!("hammock.sequence.length", length(sequence: &Tuple) -> "Tensor",
        "Returns the number of values of a sequence, as an int64 scalar."),
    builtin!("hammock.sequence.concat",
        concat(sequence: &Tuple, axis: i64, new_axis: bool, dtype: Option<DType>, shape: Option<&Shape>) -> "Tensor",
        "Concatenates the tensors of a sequence along an axis, or stacks them along a new one; an empty sequence needs \
         dtype and shape of its tensors."),
    builtin!("hammock.sequence.split", split(value: &Tensor, axis: i64, keepdims: bool, parts: Option<&Tensor>) -> "Tuple",
        "Splits a tensor along an axis into a sequence: into parts of one size, of these sizes, or of size one."),
    builtin!("hammock.has_value", has_value(value: &Any) -> "Tensor",
        "Returns false for null and true for other values, as a bool scalar."),
];

fn has_value(value: &Any) -> Result<Tensor, Error> {
    on_first_device(Tensor::scalar(!value.is_none())?)
}

fn construct(args: Args<'_>) -> Result<Tuple, Error> {
    Ok(Tuple::new(args.values().iter().cloned()))
}

fn insert(sequence: &Tuple, value: &Any, position: Option<&Any>) -> Result<Tuple, Error> {
    let len = sequence.len();
    let position = match position {
        // `len` is a position, too: that after the last value.
        Some(position) => index(integer(position)?, len, len + 1)?,
        None => len,
    };
    if position == len {
        return Ok(sequence.appended(value.clone()));
    }
    let mut values = sequence.to_vec();
    values.insert(position, value.clone());
    Ok(Tuple::new(values.into_iter()))
}

fn erase(sequence: &Tuple, position: Option<&Any>) -> Result<Tuple, Error> {
    let len = sequence.len();
    let position = index(position.map_or(Ok(-1), integer)?, len, len)?;
    let mut values = sequence.to_vec();
    values.remove(position);
    Ok(Tuple::new(values.into_iter()))
}

fn at(sequence: &Tuple, position: &Any) -> Result<Any, Error> {
    let len = sequence.len();
    Ok(sequence[index(integer(position)?, len, len)?].clone())
}

fn length(sequence: &Tuple) -> Result<Tensor, Error> {
    on_first_device(Tensor::scalar(sequence.len() as i64)?)
}

/// Resolves a position below `end` of a sequence of `len` values; negative ones count from the end.
fn index(position: i64, len: usize, end: usize) -> Result<usize, Error> {
    let from_front = if position < 0 { position.saturating_add(len as i64) } else { position };
    let outside = || Error::new(kind::INDEX, format!("index {position} is out of range for a sequence of {len}"));
    usize::try_from(from_front).ok().filter(|at| *at < end).ok_or_else(outside)
}

/// An integer, given as such or as a tensor of one.
fn integer(value: &Any) -> Result<i64, Error> {
    if let Some(tensor) = value.get::<&Tensor>() {
        let values = integers(tensor)?;
        if let [value] = values.as_slice() {
            return Ok(*value);
        }
    }
    value.get().ok_or_else(|| Error::type_error(format!("a position in a sequence must be an integer, got {value}")))
}

pub(super) fn integers(tensor: &Tensor) -> Result<Vec<i64>, Error> {
    let _scratch = scratch(tensor.element_count(), size_of::<i64>())?;
    let host = tensor.to_device(Device::CPU)?.to_contiguous()?;
    match host.dtype() {
        DType::INT64 => Ok(host.as_slice::<i64>()?.to_vec()),
        DType::INT32 => Ok(host.as_slice::<i32>()?.iter().map(|value| i64::from(*value)).collect()),
        other => Err(Error::type_error(format!("positions and sizes must be int32 or int64, got {other}"))),
    }
}

pub(super) fn axis_of(axis: i64, ndim: usize) -> Result<usize, Error> {
    let rank = ndim as i64;
    let no_axis = || Error::value(format!("there is no axis {axis} among {ndim}"));
    (-rank..rank).contains(&axis).then(|| axis.rem_euclid(rank) as usize).ok_or_else(no_axis)
}

pub(super) fn elements(sizes: &[i64]) -> usize {
    // Saturates only for tensors without elements.
    sizes.iter().fold(1, |count: usize, size| count.saturating_mul(*size as usize))
}

fn concat(
    sequence: &Tuple,
    axis: i64,
    new_axis: bool,
    dtype: Option<DType>,
    shape: Option<&Shape>,
) -> Result<Tensor, Error> {
    let Some(first) = sequence.first() else { return concat_nothing(axis, new_axis, dtype, shape) };
    let first = tensor_at(first, 0)?;
    let (dtype, shape) = (first.dtype(), first.shape());
    let axis = axis_of(axis, shape.len() + usize::from(new_axis))?;
    if !dtype.is_byte_sized() {
        return Err(Error::type_error(format!("tensors of {dtype} cannot be concatenated")));
    }
    let (mut parts, mut size) = (Vec::with_capacity(sequence.len()), 0i64);
    for (position, value) in sequence.iter().enumerate() {
        let part = tensor_at(value, position)?;
        let same_size = |other: usize| part.shape()[other] == shape[other] || !new_axis && other == axis;
        let fits = part.dtype() == dtype && part.shape().len() == shape.len() && (0..shape.len()).all(same_size);
        if !fits {
            return Err(Error::value(format!(
                "tensors of a sequence cannot be concatenated along axis {axis}: element 0 is {first:?}, element \
                 {position} is {part:?}"
            )));
        }
        size = size.saturating_add(if new_axis { 1 } else { part.shape()[axis] });
        parts.push(part.to_device(Device::CPU)?.to_contiguous()?);
    }
    let result = [&shape[..axis], &[size], &shape[axis + usize::from(!new_axis)..]].concat();
    let mut made = Tensor::empty(dtype, &result, Device::CPU)?;
    interleave(&parts, elements(&shape[..axis]), made.as_bytes_mut()?)?;
    on_device_of(first, made)
}

/// Copies one block of each part in turn, `outer` times.
fn interleave(parts: &[Tensor], outer: usize, mut to: &mut [u8]) -> Result<(), Error> {
    let parts = parts.iter().map(Tensor::as_bytes).collect::<Result<Vec<_>, _>>()?;
    if to.is_empty() {
        return Ok(());
    }
    for block in 0..outer {
        for part in &parts {
            let len = part.len() / outer;
            let (filled, rest) = to.split_at_mut(len);
            filled.copy_from_slice(&part[block * len..][..len]);
            to = rest;
        }
    }
    Ok(())
}

/// The result for an empty sequence: its size along the axis is zero.
fn concat_nothing(axis: i64, new_axis: bool, dtype: Option<DType>, shape: Option<&Shape>) -> Result<Tensor, Error> {
    let (Some(dtype), Some(shape)) = (dtype, shape) else {
        let message = "an empty sequence cannot be concatenated: dtype and shape of its tensors are unknown";
        return Err(Error::value(message.to_owned()));
    };
    let axis = axis_of(axis, shape.len() + usize::from(new_axis))?;
    let result = [&shape[..axis], &[0], &shape[axis + usize::from(!new_axis)..]].concat();
    on_first_device(Tensor::empty(dtype, &result, Device::CPU)?)
}

fn tensor_at(value: &Any, position: usize) -> Result<&Tensor, Error> {
    let message = || Error::type_error(format!("element {position} of the sequence must be a tensor, got {value}"));
    value.get().ok_or_else(message)
}

fn split(value: &Tensor, axis: i64, keepdims: bool, parts: Option<&Tensor>) -> Result<Tuple, Error> {
    let axis = axis_of(axis, value.shape().len())?;
    let size = value.shape()[axis];
    if !value.dtype().is_byte_sized() {
        return Err(Error::type_error(format!("a tensor of {} cannot be split", value.dtype())));
    }
    let sizes = match parts {
        Some(parts) if !parts.shape().is_empty() => all_sizes(size, parts)?,
        Some(part) => equal_sizes(size, integers(part)?[0])?,
        None => equal_sizes(size, 1)?,
    };
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    let (outer, inner) = (elements(&host.shape()[..axis]), elements(&host.shape()[axis + 1..]));
    let width = inner.saturating_mul(host.dtype().bytes());
    let row = width.saturating_mul(size as usize);
    let (bytes, mut start, mut fields) = (host.as_bytes()?, 0, Vec::with_capacity(sizes.len()));
    for size in sizes {
        let mut shape = host.shape().to_vec();
        shape[axis] = size;
        if parts.is_none() && !keepdims {
            shape.remove(axis);
        }
        let mut part = Tensor::empty(host.dtype(), &shape, Device::CPU)?;
        let len = width.saturating_mul(size as usize);
        if len > 0 {
            let blocks = part.as_bytes_mut()?.chunks_exact_mut(len);
            blocks.zip(0..outer).for_each(|(to, at)| to.copy_from_slice(&bytes[at * row + start..][..len]));
        }
        start = start.saturating_add(len);
        fields.push(Any::from(on_device_of(value, part)?));
    }
    Ok(Tuple::new(fields.into_iter()))
}

/// Memory for each part: a field, and a tensor without its data.
const PART: usize = 256;

/// Parts of one size; the last may be smaller.
fn equal_sizes(size: i64, part: i64) -> Result<Vec<i64>, Error> {
    if part <= 0 {
        return Err(Error::value(format!("an axis cannot be split into parts of {part}")));
    }
    let _scratch = scratch((size / part) as usize + 1, PART)?;
    Ok((0..size).step_by(part as usize).map(|start| part.min(size - start)).collect())
}

/// All sizes are given.
fn all_sizes(size: i64, parts: &Tensor) -> Result<Vec<i64>, Error> {
    let sizes = integers(parts)?;
    let sum = sizes.iter().try_fold(0i64, |sum, part| sum.checked_add(*part).filter(|_| *part >= 0));
    if sum != Some(size) {
        let listed = if sizes.len() <= 16 { format!("{sizes:?}") } else { format!("{} sizes", sizes.len()) };
        return Err(Error::value(format!("parts of {listed} do not add up to an axis of {size}")));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::builtins::find;

    fn call(name: &str, args: &[Any]) -> Result<Any, String> {
        find(&format!("hammock.sequence.{name}")).unwrap().call(args).map_err(|error| error.to_string())
    }

    fn of(values: &[&[i64]]) -> Tuple {
        values.iter().map(|row| Tensor::from_slice(&[row.len() as i64], row).unwrap().into()).collect()
    }

    fn rows(sequence: &Any) -> Vec<Vec<i64>> {
        let tuple = sequence.get::<&Tuple>().unwrap();
        tuple.iter().map(|row| row.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap().to_vec()).collect()
    }

    fn scalar(value: i64) -> Any {
        Tensor::scalar(value).unwrap().into()
    }

    #[test]
    fn values_are_inserted_and_erased() {
        let two: Any = of(&[&[1], &[2]]).into();
        let row: Any = of(&[&[7]])[0].clone();
        let insert = |at: &[Any]| call("insert", &[&[two.clone(), row.clone()], at].concat()).map(|made| rows(&made));
        assert_eq!(insert(&[]).unwrap(), [[1], [2], [7]]);
        assert_eq!(insert(&[2i64.into()]).unwrap(), [[1], [2], [7]]);
        assert_eq!(insert(&[scalar(0)]).unwrap(), [[7], [1], [2]]);
        assert_eq!(insert(&[scalar(-1)]).unwrap(), [[1], [7], [2]]);
        assert_eq!(insert(&[scalar(3)]).unwrap_err(), "IndexError: index 3 is out of range for a sequence of 2");
        assert!(insert(&[scalar(i64::MIN)]).is_err() && insert(std::slice::from_ref(&row)).is_err());
        let erase = |at: &[Any]| call("erase", &[std::slice::from_ref(&two), at].concat()).map(|made| rows(&made));
        assert_eq!((erase(&[]).unwrap(), erase(&[scalar(-2)]).unwrap()), (vec![vec![1]], vec![vec![2]]));
        assert_eq!(erase(&[2i64.into()]).unwrap_err(), "IndexError: index 2 is out of range for a sequence of 2");
        assert_eq!(rows(&two), [[1], [2]]);
        let empty = call("construct", &[]).unwrap();
        assert!(
            call("erase", std::slice::from_ref(&empty))
                .unwrap_err()
                .contains("index -1 is out of range for a sequence of 0")
        );
        let length = call("length", std::slice::from_ref(&two)).unwrap();
        assert_eq!(length.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap(), [2]);
        assert!(call("at", &[two, 1.5f64.into()]).unwrap_err().contains("must be an integer, got 1.5"));
    }

    #[test]
    fn tensors_are_concatenated_and_stacked() {
        let blocks: Any = [(2, [1i32, 2, 3, 4].as_slice()), (1, &[5, 6]), (0, &[])]
            .map(|(columns, values)| Tensor::from_slice(&[2, columns], values).unwrap().into())
            .into_iter()
            .collect::<Tuple>()
            .into();
        let concat = |sequence: &Any, more: &[Any]| {
            let made = call("concat", &[std::slice::from_ref(sequence), more].concat())?;
            let tensor = made.get::<Tensor>().unwrap();
            Ok::<_, String>((tensor.shape().to_vec(), tensor.as_bytes().unwrap().to_vec()))
        };
        let bytes = |values: &[i32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        let joined = concat(&blocks, &[1i64.into(), false.into()]).unwrap();
        assert_eq!(joined, (vec![2, 3], bytes(&[1, 2, 5, 3, 4, 6])));
        let error = concat(&blocks, &[0i64.into(), false.into()]).unwrap_err();
        assert!(error.contains("along axis 0: element 0 is") && error.contains("element 1 is"), "{error}");
        let pairs: Any = [[1i32, 2], [3, 4], [5, 6]]
            .map(|pair| Tensor::from_slice(&[2], &pair).unwrap().into())
            .into_iter()
            .collect::<Tuple>()
            .into();
        let stacked = concat(&pairs, &[(-1i64).into(), true.into()]).unwrap();
        assert_eq!(stacked, (vec![2, 3], bytes(&[1, 3, 5, 2, 4, 6])));
        assert!(concat(&pairs, &[2i64.into(), true.into()]).unwrap_err().contains("no axis 2 among 2"));
        let empty = call("construct", &[]).unwrap();
        assert!(concat(&empty, &[0i64.into(), true.into()]).unwrap_err().contains("empty sequence"));
        let element = [DType::INT32.into(), Any::from(Shape::new(&[4, 2]))];
        let stacked = concat(&empty, &[&[1i64.into(), true.into()][..], &element].concat()).unwrap();
        let joined = concat(&empty, &[&[1i64.into(), false.into()][..], &element].concat()).unwrap();
        assert_eq!((stacked.0, joined.0), (vec![4, 0, 2], vec![4, 0]));
        let mixed: Any =
            [scalar(1), Tensor::scalar(1i32).unwrap().into(), 3i64.into()].into_iter().collect::<Tuple>().into();
        assert!(concat(&mixed, &[0i64.into(), true.into()]).unwrap_err().contains("element 1 is"));
    }

    #[test]
    fn tensors_are_split() {
        let value: Any = Tensor::from_slice(&[2, 3], &[1i64, 2, 3, 4, 5, 6]).unwrap().into();
        let split = |axis: i64, keepdims: bool, parts: Any| {
            call("split", &[value.clone(), axis.into(), keepdims.into(), parts])
        };
        let sizes = |parts: &[i64]| Any::from(Tensor::from_slice(&[parts.len() as i64], parts).unwrap());
        assert_eq!(rows(&split(1, true, scalar(2)).unwrap()), [vec![1, 2, 4, 5], vec![3, 6]]);
        assert_eq!(rows(&split(-1, true, sizes(&[1, 0, 2])).unwrap()), [vec![1, 4], vec![], vec![2, 3, 5, 6]]);
        let squeezed = split(0, false, Any::NONE).unwrap();
        assert_eq!(rows(&squeezed), [[1, 2, 3], [4, 5, 6]]);
        let shape = |made: &Any| made.get::<&Tuple>().unwrap()[0].get::<&Tensor>().unwrap().shape().to_vec();
        assert_eq!((shape(&squeezed), shape(&split(0, true, Any::NONE).unwrap())), (vec![3], vec![1, 3]));
        assert!(split(1, true, scalar(0)).unwrap_err().contains("parts of 0"));
        assert!(split(1, true, sizes(&[2, 2])).unwrap_err().contains("parts of [2, 2] do not add up to an axis of 3"));
        assert!(split(1, true, sizes(&[4, -1])).is_err() && split(2, true, Any::NONE).is_err());
    }
}

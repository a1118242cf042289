//! Sorting functions that kernels call by name: results are written to tensors that the caller passes.
//!
//! Sorting is stable. NaN is above every number, so it comes first in descending order.
use super::order::{keys, scratch, sorted};
use crate::device;
use crate::ffi::{Args, Error, kind};
use crate::memory::Buffer;
use crate::value::{DType, Device, Tensor, byte_size};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("tvm.contrib.sort.sort", sort(; "data, out: Tensor, axis: int, ascending: bool") -> "None",
        "Sorts along an axis."),
    builtin!("tvm.contrib.sort.argsort", argsort(; "data, out: Tensor, axis: int, ascending: bool") -> "None",
        "Writes the indices that sort the elements along an axis."),
    builtin!("tvm.contrib.sort.argsort_nms",
        argsort_nms(; "data, counts, out: Tensor, axis: int, ascending: bool") -> "None",
        "Writes the indices that sort the first elements of each line, as many as `counts` says; the others stay."),
    builtin!("tvm.contrib.sort.topk",
        topk(; "data, outs…: Tensor, k: int, axis: int, returns: str, ascending: bool") -> "None",
        "Writes the top k elements along an axis, their indices, or both."),
];

fn sort(args: Args<'_>) -> Result<(), Error> {
    let lines = Lines::of(&args, args.get(2)?)?;
    let out = Target::of(&args, 1)?;
    lines.write(args.get(3)?, Some(&out), None)
}

fn argsort(args: Args<'_>) -> Result<(), Error> {
    let lines = Lines::of(&args, args.get(2)?)?;
    let out = Target::of(&args, 1)?;
    lines.write(args.get(3)?, None, Some(&out))
}

fn argsort_nms(args: Args<'_>) -> Result<(), Error> {
    let mut lines = Lines::of(&args, args.get(3)?)?;
    let out = Target::of(&args, 2)?;
    lines.counts = counts(&args, 1, lines.outer * lines.inner)?;
    lines.write(args.get(4)?, None, Some(&out))
}

/// One int32 per line: the number of elements to sort.
fn counts(args: &Args<'_>, position: usize, lines: usize) -> Result<Vec<usize>, Error> {
    let tensor: Option<Tensor> = args.values().get(position).and_then(|value| value.clone().get());
    let fits = |tensor: &Tensor| tensor.dtype() == DType::INT32 && tensor.element_count() == lines;
    let wrong = || args.error(format!("argument #{position} must be {lines} int32, one for each line"));
    let host = tensor.filter(fits).ok_or_else(wrong)?.to_device(Device::CPU)?.to_contiguous()?;
    Ok(host.as_slice::<i32>()?.iter().map(|count| usize::try_from(*count).unwrap_or(0)).collect())
}

fn topk(args: Args<'_>) -> Result<(), Error> {
    let outs = args.len().saturating_sub(5);
    let lines = Lines::of(&args, args.get(outs + 2)?)?;
    let first = Target::of(&args, 1)?;
    let ascending = args.get(outs + 4)?;
    match args.get::<&str>(outs + 3)? {
        "values" => lines.write(ascending, Some(&first), None),
        "indices" => lines.write(ascending, None, Some(&first)),
        _ => lines.write(ascending, Some(&first), Some(&Target::of(&args, 2)?)),
    }
}

/// A tensor as lines along an axis: adjacent elements of a line are `inner` elements apart.
struct Lines {
    data: Tensor,
    outer: usize,
    length: usize,
    inner: usize,
    /// Number of elements of each line that are sorted; all if empty.
    counts: Vec<usize>,
}

impl Lines {
    fn of(args: &Args<'_>, axis: i64) -> Result<Self, Error> {
        let data: Option<Tensor> = args.values().first().and_then(|value| value.clone().get());
        let data = data.ok_or_else(|| args.error("argument #0 must be a tensor"))?;
        // A copy, because results may be written over the data.
        let host = data.to_device(Device::CPU)?.to_contiguous()?;
        let data = Tensor::from_bytes(host.dtype(), host.shape(), host.as_bytes()?)?;
        let ndim = data.shape().len() as i64;
        let at = usize::try_from(if axis < 0 { axis.saturating_add(ndim) } else { axis }).unwrap_or(usize::MAX);
        if at >= data.shape().len() {
            return Err(args.error(format!("a tensor of {ndim} dimensions has no axis {axis}")));
        }
        let count = |sizes: &[i64]| sizes.iter().map(|size| *size as usize).product();
        let (outer, inner) = (count(&data.shape()[..at]), count(&data.shape()[at + 1..]));
        Ok(Lines { length: data.shape()[at] as usize, data, outer, inner, counts: Vec::new() })
    }

    /// Index of the element at a position of a line.
    fn element(&self, line: usize, position: usize) -> usize {
        (line / self.inner * self.length + position) * self.inner + line % self.inner
    }

    /// Argsort of a line: positions sorted by key, stably.
    fn order(&self, keys: &[u64], line: usize) -> Vec<usize> {
        let count = self.counts.get(line).map_or(self.length, |count| self.length.min(*count));
        let mut order = sorted((0..count).map(|at| keys[self.element(line, at)]));
        order.extend(count..self.length);
        order
    }

    /// Writes the first elements of each sorted line, as many as the targets hold.
    fn write(&self, ascending: bool, values: Option<&Target>, places: Option<&Target>) -> Result<(), Error> {
        let (width, bytes) = (self.data.dtype().bytes(), self.data.as_bytes()?);
        if bytes.is_empty() {
            return Ok(());
        }
        // Keys, and the order of a line.
        let _scratch = scratch(self.data.element_count(), 8)?;
        let _order = scratch(self.length, 24)?;
        let mut keys = keys(&self.data)?;
        if !ascending {
            keys.iter_mut().for_each(|key| *key = !*key);
        }
        for line in 0..self.outer * self.inner {
            for (rank, position) in self.order(&keys, line).into_iter().enumerate() {
                if let Some((values, to)) = self.place(values, line, rank) {
                    values.put(to, &bytes[self.element(line, position) * width..][..width])?;
                }
                if let Some((places, to)) = self.place(places, line, rank) {
                    places.put_position(to, position)?;
                }
            }
        }
        values.into_iter().chain(places).try_for_each(Target::finish)
    }

    /// Index of the element with that rank of a line in the target, if it has one.
    fn place<'t>(&self, target: Option<&'t Target>, line: usize, rank: usize) -> Option<(&'t Target, usize)> {
        let target = target?;
        let kept = target.count / (self.outer * self.inner);
        let to = (line / self.inner * kept + rank) * self.inner + line % self.inner;
        (rank < kept).then_some((target, to))
    }
}

/// Destination of results: memory that the caller lends for the call.
struct Target {
    start: *mut u8,
    dtype: DType,
    count: usize,
    /// The host's copy of another device's memory, where results are written first, with the device and its memory.
    staging: Option<(Buffer, Device, *mut u8)>,
}

impl Target {
    fn of(args: &Args<'_>, position: usize) -> Result<Self, Error> {
        let wrong = || args.error(format!("argument #{position} must be a dense tensor"));
        let value = args.values().get(position).ok_or_else(wrong)?;
        let tensor = value.as_dl_tensor().ok_or_else(wrong)?;
        value.check()?;
        if value.get::<&Tensor>().is_some_and(Tensor::is_read_only) {
            return Err(args.error(format!("argument #{position} must not be written: it is a constant")));
        }
        let dense = value.get::<&Tensor>().map_or(tensor.strides.is_null(), Tensor::is_contiguous);
        if !dense {
            return Err(wrong());
        }
        let bytes = byte_size(tensor.dtype, tensor.sizes())?;
        // Elements of less than a byte cannot be written individually.
        let count = if tensor.dtype.is_byte_sized() { bytes.checked_div(tensor.dtype.bytes()) } else { None };
        let count = count.ok_or_else(|| args.error(format!("results cannot be {}", tensor.dtype)))?;
        let (data, device) = (tensor.data.wrapping_add(tensor.byte_offset as usize), tensor.device);
        if device.is_host() {
            return Ok(Target { start: data, dtype: tensor.dtype, count, staging: None });
        }
        // With its contents: not every element may be written.
        let no_memory = || Error::new(kind::MEMORY, format!("there is no memory for {bytes} bytes of results"));
        let staging = Buffer::new(bytes).ok_or_else(no_memory)?;
        let (source, host) = (device::find(device)?, device::find(Device::CPU)?);
        // SAFETY: both have as many bytes, as the caller's `DLTensor` says, and the buffer is new.
        unsafe { device::copy((source, data), (host, staging.as_ptr()), bytes)? };
        let start = staging.as_ptr();
        Ok(Target { start, dtype: tensor.dtype, count, staging: Some((staging, device, data)) })
    }

    /// Copies the results to another device's memory.
    fn finish(&self) -> Result<(), Error> {
        let Some((staging, device, data)) = &self.staging else { return Ok(()) };
        let (host, target) = (device::find(Device::CPU)?, device::find(*device)?);
        // SAFETY: as in `of`; the caller lends the memory for results.
        unsafe { device::copy((host, staging.as_ptr()), (target, *data), staging.len()) }
    }

    fn put(&self, at: usize, bytes: &[u8]) -> Result<(), Error> {
        if at >= self.count || bytes.len() != self.dtype.bytes() {
            return Err(Error::value(format!("{} elements of {} cannot hold the results", self.count, self.dtype)));
        }
        // SAFETY: element `at` is one of the `count` elements that the memory holds, as the caller's `DLTensor` says.
        unsafe { self.start.add(at * bytes.len()).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn put_position(&self, at: usize, position: usize) -> Result<(), Error> {
        match self.dtype {
            DType::INT32 => self.put(at, &(position as i32).to_ne_bytes()),
            DType::INT64 => self.put(at, &(position as i64).to_ne_bytes()),
            DType::FLOAT32 => self.put(at, &(position as f32).to_ne_bytes()),
            other => Err(Error::type_error(format!("positions cannot be {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Any;

    fn call(function: fn(Args<'_>) -> Result<(), Error>, values: &[Any]) -> Result<(), Error> {
        function(Args::new("sort", values))
    }

    #[test]
    fn lines_of_any_axis_are_sorted() {
        let data = Tensor::from_slice(&[3, 2], &[2f32, 9., f32::NAN, 7., 1., 8.]).unwrap();
        let out = Tensor::from_slice(&[3, 2], &[0f32; 6]).unwrap();
        call(sort, &[data.clone().into(), out.clone().into(), 0i64.into(), true.into()]).unwrap();
        let values = out.as_slice::<f32>().unwrap();
        assert_eq!((&values[..4], values[4].is_nan(), values[5]), (&[1., 7., 2., 8.][..], true, 9.));
        let places = Tensor::from_slice(&[3, 2], &[0i32; 6]).unwrap();
        call(argsort, &[data.into(), places.clone().into(), 0i64.into(), true.into()]).unwrap();
        assert_eq!(places.as_slice::<i32>().unwrap(), [2, 1, 0, 2, 1, 0]);
    }

    #[test]
    fn lines_may_be_sorted_in_part() {
        let data = Tensor::from_slice(&[2, 2, 2], &[1f32, 5., 3., 4., 7., 6., 8., 9.]).unwrap();
        let counts = |values: &[i32]| Any::from(Tensor::from_slice(&[2, values.len() as i64 / 2], values).unwrap());
        let out = Tensor::from_slice(&[2, 2, 2], &[9i32; 8]).unwrap();
        let how = |counts| [data.clone().into(), counts, out.clone().into(), 1i64.into(), false.into()];
        call(argsort_nms, &how(counts(&[2, 1, -1, 7]))).unwrap();
        assert_eq!(out.as_slice::<i32>().unwrap(), [1, 0, 0, 1, 0, 1, 1, 0]);
        let wrong = call(argsort_nms, &how(counts(&[2, 1]))).unwrap_err();
        assert!(wrong.to_string().contains("4 int32"), "{wrong}");
    }

    #[test]
    fn top_k_selects_the_first_elements() {
        let data = Tensor::from_slice(&[2, 3], &[5i64, 7, 6, 1, 1, 3]).unwrap();
        let values = Tensor::from_slice(&[2, 2], &[0i64; 4]).unwrap();
        let places = Tensor::from_slice(&[2, 2], &[0i64; 4]).unwrap();
        let outs = [data.clone().into(), values.clone().into(), places.clone().into()];
        let how = [2i64.into(), (-1i64).into(), "both".into(), false.into()];
        call(topk, &[&outs[..], &how].concat()).unwrap();
        assert_eq!(values.as_slice::<i64>().unwrap(), [7, 6, 3, 1]);
        assert_eq!(places.as_slice::<i64>().unwrap(), [1, 2, 2, 0]);
        let wrong = call(sort, &[data.clone().into(), places.into(), 2i64.into(), true.into()]);
        assert!(wrong.unwrap_err().to_string().contains("no axis 2"));
        let small = Tensor::from_slice(&[2, 3], &[0i8; 6]).unwrap();
        assert!(call(sort, &[data.clone().into(), small.into(), 1i64.into(), true.into()]).is_err());
        let constant = data.constant().into();
        let error = call(sort, &[data.into(), constant, 1i64.into(), true.into()]).unwrap_err();
        assert!(error.message().contains("must not be written"), "{error}");
    }
}

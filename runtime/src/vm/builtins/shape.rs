//! Symbolic sizes: the shape heap of a function call, matching against it, and making shapes from it.
//!
//! The shape heap is a vector of 64-bit integers, one per symbolic expression of a function. Codes select an operation
//! on a size; the number after a code is an immediate or an index into the heap.
use super::check::Context;
use super::memory::on_first_device;
use super::order::scratch;
use crate::ffi::{Args, Error, kind};
use crate::value::{Any, DType, Device, Number, Shape, Tensor};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.alloc_shape_heap", alloc_shape_heap(machine: &Any, size: i64) -> "Tensor",
        "Allocates a heap for this many symbolic sizes."),
    builtin!("vm.builtin.match_shape",
        match_shape(value: &Any, heap: Option<&Tensor>, size: i64; "(code: int, number: int)…, context: str") -> "None",
        "Checks each size of a tensor or shape against an immediate (code 0) or a heap slot (3), or stores it in a \
         heap slot (1)."),
    builtin!("vm.builtin.match_prim_value",
        match_prim_value(value: &Any, heap: Option<&Tensor>, code: i64, number: i64, context: Option<&str>) -> "None",
        "Checks an integer against an immediate (code 0) or a heap slot (3), or stores it in a heap slot (1)."),
    builtin!("vm.builtin.make_shape",
        make_shape(heap: Option<&Tensor>, size: i64; "(code: int, number: int)…") -> "Shape",
        "Builds a shape from immediates (code 0) and heap slots (1)."),
    builtin!("vm.builtin.make_prim_value",
        make_prim_value(heap: Option<&Tensor>, code: i64, number: i64) -> "int",
        "Returns an immediate (code 0) or the integer in a heap slot (1)."),
    builtin!("vm.builtin.shape_of", shape_of(value: &Tensor) -> "Shape", "Returns a tensor's shape."),
    builtin!("vm.builtin.tensor_to_shape", tensor_to_shape(value: &Tensor) -> "Shape",
        "Converts an integer vector to a shape."),
    builtin!("relax.run.shape_to_tensor", shape_to_tensor(shape: &Shape) -> "Tensor",
        "Converts a shape to an int64 vector."),
];

const MATCH_IMMEDIATE: i64 = 0;
const MATCH_STORE: i64 = 1;
const MATCH_NOTHING: i64 = 2;
const MATCH_LOAD: i64 = 3;
const MAKE_IMMEDIATE: i64 = 0;
const MAKE_LOAD: i64 = 1;

/// Maximum size of a heap, more than any function needs.
const MAX_HEAP: i64 = 1 << 24;

fn alloc_shape_heap(_machine: &Any, size: i64) -> Result<Tensor, Error> {
    if !(0..=MAX_HEAP).contains(&size) {
        return Err(Error::value(format!("a heap cannot hold {size} sizes")));
    }
    Ok(Tensor::empty(DType::INT64, &[size], Device::CPU)?)
}

/// The integers of a function's shape heap.
struct Heap<'a>(Option<&'a Tensor>);

impl Heap<'_> {
    fn slot(&self, index: i64) -> Result<*mut i64, Error> {
        let missing = || Error::value(format!("the shape heap has no index {index}"));
        let heap = self.0.ok_or_else(missing)?;
        let len = heap.as_slice::<i64>()?.len();
        let index = usize::try_from(index).ok().filter(|index| *index < len).ok_or_else(missing)?;
        Ok(heap.data_ptr().cast::<i64>().wrapping_add(index))
    }

    fn load(&self, index: i64) -> Result<i64, Error> {
        // SAFETY: within the heap; see `store`.
        Ok(unsafe { self.slot(index)?.read() })
    }

    fn store(&self, index: i64, value: i64) -> Result<(), Error> {
        if self.0.is_some_and(Tensor::is_read_only) {
            return Err(Error::value("the shape heap is a constant"));
        }
        // SAFETY: within the heap, which belongs to one call of one function and is only used by its thread.
        unsafe { self.slot(index)?.write(value) };
        Ok(())
    }

    /// The expected value, if `value` does not match.
    fn mismatch(&self, value: i64, code: i64, number: i64) -> Result<Option<Expected>, Error> {
        let (expected, earlier) = match code {
            MATCH_IMMEDIATE => (number, false),
            MATCH_LOAD => (self.load(number)?, true),
            MATCH_STORE => return self.store(number, value).map(|()| None),
            MATCH_NOTHING => return Ok(None),
            _ => return Err(Error::value(format!("{code} is not a code of a match"))),
        };
        Ok((value != expected).then_some(Expected { value: expected, earlier }))
    }
}

struct Expected {
    value: i64,
    /// True if it is given by an earlier value, not by the annotation itself.
    earlier: bool,
}

impl Expected {
    fn reason(&self, what: &str, actual: i64) -> String {
        let why = if self.earlier { ", as the values before it say" } else { "" };
        format!("{what} is {actual}, not {}{why}", self.value)
    }
}

fn match_shape(args: Args<'_>) -> Result<(), Error> {
    let (value, heap, size) = (args.get::<&Any>(0)?, Heap(args.get(1)?), args.get::<i64>(2)?);
    let pairs = usize::try_from(size).ok().and_then(|size| size.checked_mul(2)?.checked_add(3));
    let codes = args.slice(3..pairs.unwrap_or(usize::MAX))?;
    let context = Context::new(args.get(3 + codes.len())?);
    let sizes = match (value.get::<&Tensor>(), value.get::<&Shape>()) {
        (Some(tensor), _) => tensor.shape(),
        (_, Some(shape)) => shape.as_slice(),
        _ => return Err(context.error(kind::TYPE, value, "it has no shape")),
    };
    if sizes.len() != codes.len() / 2 {
        let reason = format!("it has {} dimensions, not {size}", sizes.len());
        return Err(context.error(kind::RUNTIME, value, reason));
    }
    for (axis, (actual, pair)) in sizes.iter().zip(codes.chunks_exact(2)).enumerate() {
        if *actual < 0 {
            return Err(context.error(kind::VALUE, value, format!("shape[{axis}] is {actual}, which is negative")));
        }
        let (code, number) = (pair[0].get(), pair[1].get());
        let (Some(code), Some(number)) = (code, number) else { return Err(args.error("codes must be integers")) };
        if let Some(expected) = heap.mismatch(*actual, code, number)? {
            let reason = expected.reason(&format!("shape[{axis}]"), *actual);
            return Err(context.error(kind::RUNTIME, value, reason));
        }
    }
    Ok(())
}

fn match_prim_value(
    value: &Any,
    heap: Option<&Tensor>,
    code: i64,
    number: i64,
    context: Option<&str>,
) -> Result<(), Error> {
    let context = Context::new(context);
    let actual = value.get::<i64>().ok_or_else(|| context.error(kind::TYPE, value, "it is not an integer"))?;
    match Heap(heap).mismatch(actual, code, number)? {
        Some(expected) => Err(context.error(kind::RUNTIME, value, expected.reason("it", actual))),
        None => Ok(()),
    }
}

fn make(heap: &Heap<'_>, code: i64, number: i64) -> Result<i64, Error> {
    match code {
        MAKE_IMMEDIATE => Ok(number),
        MAKE_LOAD => heap.load(number),
        _ => Err(Error::value(format!("{code} is not a code of a size"))),
    }
}

fn make_prim_value(heap: Option<&Tensor>, code: i64, number: i64) -> Result<i64, Error> {
    make(&Heap(heap), code, number)
}

fn make_shape(args: Args<'_>) -> Result<Shape, Error> {
    let (heap, size) = (Heap(args.get(0)?), args.get::<i64>(1)?);
    let pairs = usize::try_from(size).ok().and_then(|size| size.checked_mul(2)?.checked_add(2));
    let codes = args.slice(2..pairs.unwrap_or(usize::MAX))?;
    let mut failure = None;
    let shape = Shape::with_len(codes.len() / 2, |i| {
        let pair = (codes[2 * i].get(), codes[2 * i + 1].get());
        let (Some(code), Some(number)) = pair else {
            failure = Some(args.error("codes must be integers"));
            return 0;
        };
        make(&heap, code, number).unwrap_or_else(|error| {
            failure = Some(error);
            0
        })
    });
    failure.map_or(Ok(shape), Err)
}

fn shape_of(value: &Tensor) -> Result<Shape, Error> {
    Ok(Shape::new(value.shape()))
}

pub(super) fn tensor_to_shape(value: &Tensor) -> Result<Shape, Error> {
    let value = value.to_device(Device::CPU)?.to_contiguous()?;
    if value.shape().len() != 1 {
        return Err(Error::value(format!("a shape is made of a vector, not of {value:?}")));
    }
    let (dtype, width) = (value.dtype(), value.dtype().bytes());
    if !matches!(dtype, DType::INT64 | DType::INT32 | DType::INT16 | DType::INT8) {
        return Err(Error::type_error(format!("a shape is made of signed integers, not of {dtype}")));
    }
    let (bytes, count) = (value.as_bytes()?, value.element_count());
    // Objects are only counted after they are allocated; this one may be large.
    let _room = scratch(count, size_of::<i64>())?;
    Ok(Shape::with_len(count, |i| match Number::read(dtype, &bytes[i * width..][..width]) {
        Some(Number::Signed(size)) => size,
        _ => 0,
    }))
}

fn shape_to_tensor(shape: &Shape) -> Result<Tensor, Error> {
    on_first_device(Tensor::from_slice(&[shape.len() as i64], shape)?)
}

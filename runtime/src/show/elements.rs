//! Elements of tensors as text.
//!
//! Only the elements that are shown are read, one by one: a tensor may be larger than memory (its strides may be zero),
//! start at any address, and have elements of any dtype.
use crate::value::{DType, MAX_NDIM, Number, Tensor};
use std::fmt::Write;

/// Maximum number of elements of a tensor that is shown completely.
const WHOLE: usize = 200;
/// Number of elements shown at each end of a longer dimension.
const EDGE: usize = 3;
/// Maximum number of elements that are shown of a tensor.
const MAX_ELEMENTS: usize = 4096;

/// Formats the elements in nested brackets; long dimensions are abbreviated.
pub(super) fn elements(tensor: &Tensor) -> String {
    let shape = tensor.shape();
    let host = if tensor.dtype().is_storable() { tensor.on_host().ok() } else { None };
    let Some(tensor) = &host else { return format!("<{} tensor>", tensor.dtype()) };
    if shape.contains(&0) {
        return "[]".to_owned();
    }
    if shape.len() > MAX_NDIM {
        return format!("<{} dimensions>", shape.len());
    }
    let axes = axes(shape);
    let (mut index, mut texts) = (vec![0; shape.len()], Vec::new());
    collect(tensor, &axes, &mut index, 0, &mut texts);
    let width = if shape.is_empty() { 0 } else { texts.iter().map(String::len).max().unwrap_or(0) };
    let mut out = String::new();
    write_rows(&mut out, &axes, &mut texts.iter(), width, 0);
    out
}

/// The indices of a dimension that are shown: the first ones, and possibly some at the end.
struct Axis {
    first: usize,
    last: usize,
    size: usize,
}

impl Axis {
    fn is_whole(&self) -> bool {
        self.first == self.size
    }

    fn positions(&self) -> impl Iterator<Item = usize> {
        (0..self.first).chain(self.size - self.last..self.size)
    }
}

/// The indices shown of each dimension. Inner dimensions have priority.
fn axes(shape: &[i64]) -> Vec<Axis> {
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size as usize));
    let is_short = count.is_some_and(|count| count <= WHOLE);
    let mut room = MAX_ELEMENTS;
    let axis = |size: &i64| {
        let size = *size as usize;
        let shown = |edge: usize| if is_short || size <= 2 * edge { size } else { 2 * edge };
        let edge = (1..=EDGE).rev().find(|edge| shown(*edge) <= room).unwrap_or(0);
        let axis = match shown(edge) {
            0 => Axis { first: 1, last: 0, size },
            all if all == size => Axis { first: size, last: 0, size },
            _ => Axis { first: edge, last: edge, size },
        };
        room /= axis.first + axis.last;
        axis
    };
    let mut axes: Vec<Axis> = shape.iter().rev().map(axis).collect();
    axes.reverse();
    axes
}

/// The texts of the elements shown, in row-major order.
fn collect(tensor: &Tensor, axes: &[Axis], index: &mut [i64], depth: usize, texts: &mut Vec<String>) {
    let Some(axis) = axes.get(depth) else {
        return texts.push(tensor.element(index).map_or_else(|| "?".to_owned(), |bytes| text(tensor.dtype(), &bytes)));
    };
    for position in axis.positions() {
        index[depth] = position as i64;
        collect(tensor, axes, index, depth + 1, texts);
    }
}

fn write_rows<'a>(
    out: &mut String,
    axes: &[Axis],
    texts: &mut impl Iterator<Item = &'a String>,
    width: usize,
    depth: usize,
) {
    let Some((axis, inner)) = axes.split_first() else {
        let _ = write!(out, "{:>width$}", texts.next().map_or("", String::as_str));
        return;
    };
    let between = if inner.is_empty() { " ".to_owned() } else { format!("\n{}", " ".repeat(depth + 1)) };
    out.push('[');
    for i in 0..axis.first + axis.last {
        if i > 0 {
            out.push_str(&between);
        }
        if i == axis.first {
            out.push('…');
            out.push_str(&between);
        }
        write_rows(out, inner, texts, width, depth + 1);
    }
    if axis.last == 0 && !axis.is_whole() {
        out.push_str(&between);
        out.push('…');
    }
    out.push(']');
}

/// Formats an element given as bytes; vectors in angle brackets.
fn text(dtype: DType, bytes: &[u8]) -> String {
    if dtype.is_scalar() {
        return lane(dtype, bytes, 0);
    }
    let lanes: Vec<_> = (0..usize::from(dtype.lanes)).map(|number| lane(dtype, bytes, number)).collect();
    format!("<{}>", lanes.join(" "))
}

fn lane(dtype: DType, bytes: &[u8], number: usize) -> String {
    let width = usize::from(dtype.bits);
    let bit = |at: usize| u128::from(bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1));
    let bits = (0..width.min(128)).fold(0, |bits, i| bits | bit(number * width + i) << i);
    match Number::of_bits(dtype, bits as u64) {
        Some(Number::Bool(value)) => value.to_string(),
        Some(Number::Signed(value)) => value.to_string(),
        Some(Number::Unsigned(value)) => value.to_string(),
        Some(Number::Single(value)) => float(value.is_finite(), format!("{value:?}")),
        Some(Number::Double(value)) => float(value.is_finite(), format!("{value:?}")),
        None => format!("{bits:#x}"),
    }
}

/// A float's shortest text; infinity and NaN in lower case.
fn float(is_finite: bool, text: String) -> String {
    if is_finite { text } else { text.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Device, dtype_code};

    fn ints(count: i32) -> Vec<i32> {
        (0..count).collect()
    }

    #[test]
    fn long_dimensions_are_shortened() {
        let text =
            |shape: &[i64]| elements(&Tensor::from_slice(shape, &ints(shape.iter().product::<i64>() as i32)).unwrap());
        assert_eq!(text(&[1000]), "[  0   1   2 … 997 998 999]");
        assert_eq!(text(&[2, 2]), "[[0 1]\n [2 3]]");
        assert_eq!(text(&[70, 3]).lines().count(), 7);
        assert_eq!(text(&[0, 7]), "[]");
        assert_eq!(text(&[]), "0");
    }

    #[test]
    fn output_is_bounded() {
        let one = Tensor::from_slice(&[1], &[7i8]).unwrap();
        let wide = one.strided(&[3; 36], &[0; 36], 0).unwrap();
        let shown = elements(&wide);
        assert!(shown.len() < 100_000 && shown.contains('7'), "{}", shown.len());
        assert_eq!(elements(&Tensor::empty(DType::INT8, &[1_000_000_000, 0], Device::CPU).unwrap()), "[]");
        let deep = Tensor::empty(DType::INT8, &[1; 100_000], Device::CPU).unwrap();
        assert_eq!(elements(&deep), "<100000 dimensions>");
    }

    #[test]
    fn elements_of_every_type_are_shown_in_place() {
        let bytes = Tensor::from_slice(&[9], &[0u8, 0x21, 0xF3, 0, 0, 0x80, 0x3F, 2, 0]).unwrap();
        let shown = |dtype: DType, shape: &[i64], offset| elements(&bytes.view(dtype, shape, offset).unwrap());
        assert_eq!(shown(DType::FLOAT32, &[1], 3), "[1.0]");
        assert_eq!(shown(DType::INT4, &[4], 1), "[ 1  2  3 -1]");
        assert_eq!(shown(DType::UINT4, &[4], 1), "[ 1  2  3 15]");
        assert_eq!(shown(DType::BOOL, &[2], 7), "[ true false]");
        assert_eq!(shown(DType::FLOAT8_E4M3FN, &[2], 5), "[0x80 0x3f]");
        assert_eq!(shown(DType::UINT8.with_lanes(2), &[], 1), "<33 243>");
        assert_eq!(shown(DType::new(dtype_code::INT, 0, 1), &[1 << 40], 0), "<int0 tensor>");
        assert_eq!(shown(DType::new(99, 8, 1), &[1], 1), "[0x21]");
        assert_eq!(elements(&Tensor::scalar(f16(f32::NEG_INFINITY)).unwrap()), "-inf");
    }

    fn f16(value: f32) -> half::f16 {
        half::f16::from_f32(value)
    }
}

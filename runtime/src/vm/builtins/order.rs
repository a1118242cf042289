//! Comparison of elements of any dtype: each is mapped to an integer, its *sort key*.
//!
//! Keys have the order of the elements. NaN is above every number, all NaNs are equal, and so are both zeros. With
//! keys, code that sorts and compares is not compiled for every dtype.
use crate::ffi::{Error, kind};
use crate::memory::{Reservation, reserve};
use crate::value::{DType, Device, Tensor};
use half::{bf16, f16};

/// The key of a signed zero.
const MIDDLE: u64 = 1 << 63;

/// Minimum size of scratch memory that is probed before it is needed: a vector that cannot be allocated would end the
/// process.
const LARGE_SCRATCH: usize = 1 << 20;

/// Reserves memory for temporaries, `bytes` for each of `elements`, until the result is dropped; fails if that exceeds
/// the program's limit or the system's memory.
pub(super) fn scratch(elements: usize, bytes: usize) -> Result<Option<Reservation>, Error> {
    let bytes = elements.saturating_mul(bytes);
    let counted = reserve(bytes)?;
    if bytes >= LARGE_SCRATCH && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(Error::new(
            kind::MEMORY,
            format!("out of memory: cannot allocate {bytes} bytes on {}", Device::CPU),
        ));
    }
    Ok(counted)
}

/// The keys of the elements of a contiguous host tensor.
pub(super) fn keys(tensor: &Tensor) -> Result<Vec<u64>, Error> {
    macro_rules! each {
        ($element:ty, $key:expr) => {
            tensor.as_slice::<$element>()?.iter().map(|element| $key((*element).into())).collect()
        };
    }
    Ok(match tensor.dtype() {
        DType::BOOL => each!(bool, unsigned),
        DType::INT8 => each!(i8, signed),
        DType::INT16 => each!(i16, signed),
        DType::INT32 => each!(i32, signed),
        DType::INT64 => each!(i64, signed),
        DType::UINT8 => each!(u8, unsigned),
        DType::UINT16 => each!(u16, unsigned),
        DType::UINT32 => each!(u32, unsigned),
        DType::UINT64 => each!(u64, unsigned),
        DType::FLOAT16 => each!(f16, float),
        DType::BFLOAT16 => each!(bf16, float),
        DType::FLOAT32 => each!(f32, float),
        DType::FLOAT64 => each!(f64, float),
        other => return Err(Error::type_error(format!("elements of {other} cannot be compared"))),
    })
}

/// The key of zero.
pub(super) fn zero_key(dtype: DType) -> Result<u64, Error> {
    let zero = keys(&Tensor::empty(dtype, &[], Device::CPU)?)?;
    Ok(zero.first().copied().unwrap_or_default())
}

/// Indices sorted by their keys; the sort is stable.
pub(super) fn sorted(keys: impl Iterator<Item = u64>) -> Vec<usize> {
    let mut order: Vec<_> = keys.zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, position)| position).collect()
}

fn unsigned(value: u64) -> u64 {
    value
}

fn signed(value: i64) -> u64 {
    value as u64 ^ MIDDLE
}

/// The key of a float.
pub(super) fn float(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // Adding zero turns a negative zero into a positive one.
    let bits = (value + 0.0).to_bits();
    if bits & MIDDLE == 0 { bits | MIDDLE } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Element;

    fn check<T: Element>(ordered: &[T], zero: usize) {
        let keys = keys(&Tensor::from_slice(&[ordered.len() as i64], ordered).unwrap()).unwrap();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(keys[zero], zero_key(T::DTYPE).unwrap());
    }

    #[test]
    fn keys_compare_as_elements_do() {
        check(&[f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 2.0, f64::INFINITY, f64::NAN], 3);
        check(&[f16::MIN, f16::from_f32(-1.0), f16::ZERO, f16::MAX, f16::INFINITY, f16::NAN], 2);
        check(&[i8::MIN, -1, 0, 1, i8::MAX], 2);
        check(&[i64::MIN, -1, 0, 1, i64::MAX], 2);
        check(&[0, 1, u64::MAX], 0);
        check(&[false, true], 0);
        assert_eq!((float(-0.0), float(-f64::NAN)), (float(0.0), float(f64::NAN)));
    }
}

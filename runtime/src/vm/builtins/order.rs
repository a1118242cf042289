//! The order of elements, whatever their dtype.
use crate::value::Element;
use half::{bf16, f16};
use std::cmp::Ordering;

/// Elements that can be told apart and ordered; no number comes last, and all no numbers are one.
pub(super) trait Ordered: Element {
    /// How it compares; NaN comes after every number.
    fn order(&self, other: &Self) -> Ordering;
    /// Whether it is zero.
    fn is_zero(&self) -> bool;
}

macro_rules! ordered {
    (total: $($int:ty),*; partial: $($float:ty),*) => {
        $(impl Ordered for $int {
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
            fn is_zero(&self) -> bool {
                *self == <$int>::default()
            }
        })*
        $(impl Ordered for $float {
            fn order(&self, other: &Self) -> Ordering {
                self.partial_cmp(other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
            fn is_zero(&self) -> bool {
                *self == <$float>::default()
            }
        })*
    };
}

ordered!(total: bool, i8, i16, i32, i64, u8, u16, u32, u64; partial: f16, bf16, f32, f64);

/// Calls a function that is generic over the elements of a tensor.
macro_rules! by_element {
    ($tensor:expr, $function:ident($($arg:expr),*)) => {
        match $tensor.dtype() {
            $crate::value::DType::BOOL => $function::<bool>($($arg),*),
            $crate::value::DType::INT8 => $function::<i8>($($arg),*),
            $crate::value::DType::INT16 => $function::<i16>($($arg),*),
            $crate::value::DType::INT32 => $function::<i32>($($arg),*),
            $crate::value::DType::INT64 => $function::<i64>($($arg),*),
            $crate::value::DType::UINT8 => $function::<u8>($($arg),*),
            $crate::value::DType::UINT16 => $function::<u16>($($arg),*),
            $crate::value::DType::UINT32 => $function::<u32>($($arg),*),
            $crate::value::DType::UINT64 => $function::<u64>($($arg),*),
            $crate::value::DType::FLOAT16 => $function::<half::f16>($($arg),*),
            $crate::value::DType::BFLOAT16 => $function::<half::bf16>($($arg),*),
            $crate::value::DType::FLOAT32 => $function::<f32>($($arg),*),
            $crate::value::DType::FLOAT64 => $function::<f64>($($arg),*),
            other => Err($crate::ffi::Error::type_error(format!("elements of {other} cannot be compared"))),
        }
    };
}

pub(super) use by_element;

//! Rust types of tensor elements.
use super::dtype::DType;

/// A Rust type that represents elements of a tensor.
///
/// # Safety
/// The type has no padding, its size and alignment are those of `DTYPE`, and bytes that pass `is_valid` are valid
/// values.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The corresponding dtype.
    const DTYPE: DType;

    /// Returns true if the bytes are valid values of this type. Only `bool` has invalid ones.
    fn is_valid(_bytes: &[u8]) -> bool {
        true
    }
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        // SAFETY: primitive numbers without padding, of the size their type says; every bit pattern is a value.
        $(unsafe impl Element for $rust { const DTYPE: DType = DType::$dtype; })*
    };
}

elements! {
    i8 => INT8, i16 => INT16, i32 => INT32, i64 => INT64, u8 => UINT8, u16 => UINT16, u32 => UINT32, u64 => UINT64,
    f32 => FLOAT32, f64 => FLOAT64, half::f16 => FLOAT16, half::bf16 => BFLOAT16,
}

// SAFETY: one byte without padding; bytes other than 0 and 1 are rejected.
unsafe impl Element for bool {
    const DTYPE: DType = DType::BOOL;

    fn is_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| *byte <= 1)
    }
}

/// The bytes of a slice of elements.
pub fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding, so all their bytes are initialized.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

//! Elements of any dtype as numbers, for code whose speed does not matter: it is compiled once, not for each dtype.
use super::{DType, dtype_code};
use half::{bf16, f16};

/// An element of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// A float of at most 32 bits.
    Single(f32),
    Double(f64),
}

impl Number {
    /// The number that a lane of a dtype has as its `bits`; `None` for dtypes of more than 64 bits, of less than 16 for
    /// floats, and of other things than numbers.
    pub(crate) fn of_bits(dtype: DType, bits: u64) -> Option<Number> {
        let unused = 64u32.checked_sub(dtype.bits.into()).filter(|unused| *unused < 64)?;
        Some(match (dtype.code, dtype.bits) {
            (dtype_code::BOOL, _) | (dtype_code::UINT, 1) => Number::Bool(bits << unused != 0),
            (dtype_code::INT, _) => Number::Signed((bits << unused) as i64 >> unused),
            (dtype_code::UINT, _) => Number::Unsigned(bits << unused >> unused),
            (dtype_code::FLOAT, 16) => Number::Single(f16::from_bits(bits as u16).to_f32()),
            (dtype_code::FLOAT, 32) => Number::Single(f32::from_bits(bits as u32)),
            (dtype_code::FLOAT, 64) => Number::Double(f64::from_bits(bits)),
            (dtype_code::BFLOAT, 16) => Number::Single(bf16::from_bits(bits as u16).to_f32()),
            _ => return None,
        })
    }

    /// The number that an element of a dtype has as its `bytes`; `None` for vectors and parts of bytes, too.
    pub(crate) fn read(dtype: DType, bytes: &[u8]) -> Option<Number> {
        let mut bits = [0; 8];
        bits.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let is_whole = dtype.is_scalar() && dtype.is_byte_sized();
        Number::of_bits(dtype, u64::from_le_bytes(bits)).filter(|_| is_whole)
    }

    /// The number as a float.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Bool(value) => f64::from(u8::from(value)),
            Number::Signed(value) => value as f64,
            Number::Unsigned(value) => value as f64,
            Number::Single(value) => value.into(),
            Number::Double(value) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_by_their_dtype() {
        let read = |dtype: DType, bytes: &[u8]| Number::read(dtype, bytes);
        assert_eq!(read(DType::INT8, &[0xFE]), Some(Number::Signed(-2)));
        assert_eq!(read(DType::INT32, &(-70000i32).to_le_bytes()), Some(Number::Signed(-70000)));
        assert_eq!(read(DType::INT64, &i64::MIN.to_le_bytes()), Some(Number::Signed(i64::MIN)));
        assert_eq!(read(DType::UINT8, &[0xFE]), Some(Number::Unsigned(254)));
        assert_eq!(read(DType::UINT64, &[0xFF; 8]), Some(Number::Unsigned(u64::MAX)));
        assert_eq!(read(DType::BOOL, &[1]), Some(Number::Bool(true)));
        assert_eq!(read(DType::FLOAT16, &[0, 0x3E]), Some(Number::Single(1.5)));
        assert_eq!(read(DType::BFLOAT16, &[0xC0, 0xBF]), Some(Number::Single(-1.5)));
        assert_eq!(read(DType::FLOAT32, &0.1f32.to_le_bytes()), Some(Number::Single(0.1)));
        assert_eq!(read(DType::FLOAT64, &0.1f64.to_le_bytes()), Some(Number::Double(0.1)));
        assert_eq!(read(DType::FLOAT8_E4M3FN, &[1]), None);
        assert_eq!(read(DType::INT4, &[1]), None);
        assert_eq!(read(DType::INT8.with_lanes(2), &[1, 2]), None);
        assert_eq!(Number::of_bits(DType::INT4, 0xF), Some(Number::Signed(-1)));
        assert_eq!(Number::of_bits(DType::new(dtype_code::INT, 0, 1), 0), None);
        assert_eq!(Number::Unsigned(7).to_f64(), 7.0);
    }
}

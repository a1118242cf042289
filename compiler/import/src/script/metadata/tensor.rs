//! Tensors in base64: a header, then the elements.
//!
//! Little-endian: u64 magic, u64 zero, i32 device kind, i32 device number, i32 ndim, u8 code, u8 bits, u16 lanes,
//! ndim × i64 sizes, i64 bytes, then the bytes.

use super::MetadataError;
use hammock_ir::{DType, Tensor};
use hammock_runtime::base64;

const MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// Decodes a tensor.
///
/// # Errors
/// When the text is not a valid tensor.
pub(super) fn decode(text: &str) -> Result<Tensor, MetadataError> {
    let bytes = base64::decode(text).ok_or("it is a tensor whose base64 is damaged")?;
    read(&bytes).ok_or_else(|| "it is a tensor whose data is damaged".into())
}

/// Reads a tensor, whose data is everything after the header.
fn read(bytes: &[u8]) -> Option<Tensor> {
    let mut rest = bytes;
    if u64::from_le_bytes(take(&mut rest)?) != MAGIC {
        return None;
    }
    let _reserved: [u8; 8] = take(&mut rest)?;
    let _device: [u8; 8] = take(&mut rest)?;
    let ndim = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
    let [code, bits] = take(&mut rest)?;
    let lanes = u16::from_le_bytes(take(&mut rest)?);
    let mut shape = Vec::new();
    for _ in 0..ndim {
        shape.push(i64::from_le_bytes(take(&mut rest)?));
    }
    let len = usize::try_from(i64::from_le_bytes(take(&mut rest)?)).ok()?;
    let dtype = dtype(code, bits, lanes)?;
    let tensor = Tensor::from_bytes(dtype, &shape, rest).ok()?;
    let valid = dtype != DType::BOOL || tensor.as_slice::<bool>().is_ok();
    (valid && rest.len() == len).then_some(tensor)
}

/// A dtype with a name and a size. Before `bool` had a type code, it was a one-bit unsigned integer.
fn dtype(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    let dtype = DType::new(code, bits, lanes);
    let named = dtype.to_string().parse() == Ok(dtype);
    let sized = bits > 0 && !dtype.is_void() && !dtype.is_handle() && !dtype.is_scalable();
    let sized = sized && (bits == 8 || code != DType::BOOL.code);
    (named && sized).then_some(if dtype == DType::UINT1 { DType::BOOL } else { dtype })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// 0.25, a float32 of shape (1,).
    pub const QUARTER: &str = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAACAPg==";

    #[test]
    fn reads_what_the_text_holds() {
        let tensor = decode(QUARTER).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape()), (DType::FLOAT32, &[1][..]));
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.25]);
    }

    #[test]
    fn damage_is_refused() {
        for end in 0..QUARTER.len() - 4 {
            assert!(decode(&QUARTER[..end]).is_err(), "{end}");
        }
        for wrong in ["P6G0*", "P6G0==P6G0"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
        let bytes = base64::decode(QUARTER).unwrap();
        assert!(read(&bytes).is_some());
        assert!(read(&[&*bytes, &[0]].concat()).is_none(), "more than the header says");
        // Code, bits and lanes of the dtype.
        for (at, value) in [(28, 99), (29, 0), (30, 0), (28, 3), (28, 6)] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            assert!(read(&damaged).is_none(), "byte {at} is {value}");
        }
    }
}

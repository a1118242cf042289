//! Tensors in ONNX's format: its element types, and files of one tensor, such as the `test_data_set_0/input_0.pb` that
//! come with models. Field numbers are those of `TensorProto` in `onnx.proto3`.
//!
//! Elements of 4 and 2 bits, and exponent-only floats, are held in wider dtypes that represent all their values.

use super::map_file;
use crate::error::{InputError, brief};
use hammock_runtime::{
    DType, Tensor,
    value::{MAX_NDIM, small_float},
};
use std::path::Path;

/// An element type of ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// Its number in `TensorProto.DataType`.
    pub number: i32,
    /// Dtype in a file: elements of less than a byte are packed, the first in the lowest bits.
    pub stored: DType,
    /// Dtype in tensors.
    pub held: DType,
}

const fn same(number: i32, dtype: DType) -> ElementType {
    ElementType { number, stored: dtype, held: dtype }
}

const fn narrow(number: i32, stored: DType, held: DType) -> ElementType {
    ElementType { number, stored, held }
}

const ELEMENT_TYPES: [ElementType; 23] = [
    same(1, DType::FLOAT32),
    same(2, DType::UINT8),
    same(3, DType::INT8),
    same(4, DType::UINT16),
    same(5, DType::INT16),
    same(6, DType::INT32),
    same(7, DType::INT64),
    same(9, DType::BOOL),
    same(10, DType::FLOAT16),
    same(11, DType::FLOAT64),
    same(12, DType::UINT32),
    same(13, DType::UINT64),
    same(16, DType::BFLOAT16),
    same(17, DType::FLOAT8_E4M3FN),
    same(18, DType::FLOAT8_E4M3FNUZ),
    same(19, DType::FLOAT8_E5M2),
    same(20, DType::FLOAT8_E5M2FNUZ),
    narrow(21, DType::UINT4, DType::UINT8),
    narrow(22, DType::INT4, DType::INT8),
    narrow(23, DType::FLOAT4_E2M1FN, DType::FLOAT8_E4M3FN),
    narrow(24, DType::FLOAT8_E8M0FNU, DType::BFLOAT16),
    narrow(25, DType::uint(2), DType::UINT8),
    narrow(26, DType::int(2), DType::INT8),
];

impl ElementType {
    /// The element type with this number; `None` for strings, complex numbers and unknown types.
    pub fn of(number: i64) -> Option<ElementType> {
        ELEMENT_TYPES.iter().find(|known| i64::from(known.number) == number).copied()
    }

    /// Returns true if tensors hold its elements in a wider dtype.
    pub fn is_narrow(self) -> bool {
        self.stored != self.held
    }

    /// Converts `count` elements from the bytes of a file to the dtype in tensors.
    pub fn unpacked(self, stored: &[u8], count: usize) -> Vec<u8> {
        let bits = usize::from(self.stored.bits);
        let code = |at: usize| (stored[at * bits / 8] >> (at * bits % 8)) & ((1u16 << bits) - 1) as u8;
        (0..count).flat_map(|at| self.widened(code(at))).collect()
    }

    fn widened(self, code: u8) -> Vec<u8> {
        let spare = 8 - self.stored.bits;
        match (small_float::format(self.stored), small_float::format(self.held)) {
            (Some(from), Some(to)) => vec![to.encode(from.decode(code))],
            (Some(from), None) => half::bf16::from_f64(from.decode(code)).to_le_bytes().to_vec(),
            _ if self.stored.is_int() => vec![(((code << spare) as i8) >> spare) as u8],
            _ => vec![code],
        }
    }
}

/// Reads a file with one tensor.
///
/// # Errors
/// If it cannot be read or is damaged, or a tensor cannot hold its elements.
pub fn load_onnx_tensor(path: &Path) -> Result<Tensor, InputError> {
    let map = map_file(path)?;
    let failed = |why: String| InputError::new(format!("cannot read {}: {}", path.display(), brief(&why)));
    let proto = Proto::read(&map).ok_or_else(|| failed("it is not a tensor of ONNX, or damaged".to_owned()))?;
    proto.tensor().map_err(failed)
}

/// The fields of a `TensorProto` message.
#[derive(Default)]
struct Proto<'a> {
    dims: Vec<i64>,
    number: i64,
    raw: Option<&'a [u8]>,
    /// The elements of the typed lists, as bytes.
    listed: Vec<u8>,
    is_external: bool,
}

impl<'a> Proto<'a> {
    fn read(bytes: &'a [u8]) -> Option<Proto<'a>> {
        let mut proto = Proto::default();
        let mut lists = Vec::new();
        let mut rest = Wire(bytes);
        while !rest.0.is_empty() {
            let (number, field) = rest.field()?;
            match (number, field) {
                (1, field) => proto.dims.extend(field.integers()?.into_iter().map(|dim| dim as i64)),
                (2, Field::Int(number)) => proto.number = number as i64,
                (4 | 5 | 7 | 10 | 11, field) => lists.push((number, field)),
                (9, Field::Bytes(raw)) => proto.raw = Some(raw),
                (14, Field::Int(location)) => proto.is_external = location != 0,
                (6, _) => return None,
                _ => {}
            }
        }
        let width = ElementType::of(proto.number).map_or(1, |element| element.stored.bytes());
        for (number, field) in lists {
            match (number, field) {
                (4 | 10, Field::Bytes(bytes)) => proto.listed.extend(bytes),
                (4, Field::Fixed(value)) => proto.listed.extend(&value.to_le_bytes()[..4]),
                (10, Field::Fixed(value)) => proto.listed.extend(value.to_le_bytes()),
                (_, field) => {
                    proto.listed.extend(field.integers()?.iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()))
                }
            }
        }
        Some(proto)
    }

    fn tensor(self) -> Result<Tensor, String> {
        let element = ElementType::of(self.number);
        let element = element.ok_or_else(|| format!("elements of number {} are not supported", self.number))?;
        if self.is_external {
            return Err("its data are in another file, which is not supported".to_owned());
        }
        let dims = &self.dims;
        let sizes = dims.iter().map(|dim| usize::try_from(*dim).ok());
        let count = sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?));
        let bytes = count.filter(|_| dims.len() <= MAX_NDIM).and_then(|count| element.stored.storage_bytes(count));
        let (Some(count), Some(bytes)) = (count, bytes) else { return Err(format!("its shape {dims:?} cannot be")) };
        let data = self.raw.unwrap_or(&self.listed);
        if data.len() != bytes {
            return Err(format!("{dims:?} of {} are {bytes} bytes, but its data are {}", element.stored, data.len()));
        }
        let tensor = match element.is_narrow() {
            true => Tensor::from_bytes(element.held, dims, &element.unpacked(data, count)),
            false => Tensor::from_bytes(element.held, dims, data),
        };
        let tensor = tensor.map_err(|e| e.to_string())?;
        if element.held == DType::BOOL {
            tensor.as_slice::<bool>().map_err(|e| e.to_string())?;
        }
        Ok(tensor)
    }
}

/// The value of a field: an integer of variable or fixed size, or length-delimited bytes.
enum Field<'a> {
    Int(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl Field<'_> {
    /// One integer, or the integers of a packed list.
    fn integers(&self) -> Option<Vec<u64>> {
        match self {
            Field::Int(value) => Some(vec![*value]),
            Field::Fixed(_) => None,
            Field::Bytes(bytes) => {
                let (mut rest, mut all) = (Wire(bytes), Vec::new());
                while !rest.0.is_empty() {
                    all.push(rest.varint()?);
                }
                Some(all)
            }
        }
    }
}

/// The rest of a message.
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Int(self.varint()?),
            1 => Field::Fixed(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.take(len)?)
            }
            5 => Field::Fixed(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            _ => return None,
        };
        Some((tag >> 3, field))
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Tensor, String> {
        Proto::read(bytes).ok_or_else(|| "damaged".to_owned())?.tensor()
    }

    #[test]
    fn raw_and_listed_elements() {
        // dims 3, data_type float32, float_data packed
        let listed = [&[0x08, 3, 0x10, 1, 0x22, 12][..], &[1f32, 2.0, 3.0].map(f32::to_le_bytes).concat()].concat();
        assert_eq!(read(&listed).unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
        // unpacked dims 1, 2, int64, int64_data -1 and 300
        let ones = [0xff; 9];
        let ints = [&[0x0a, 2, 1, 2, 0x10, 7, 0x38][..], &ones, &[1, 0x38, 0xac, 2]].concat();
        assert_eq!(read(&ints).unwrap().as_slice::<i64>().unwrap(), [-1, 300]);
        // bfloat16 as raw data
        let raw = [0x08, 1, 0x10, 16, 0x4a, 2, 0x80, 0x3f];
        assert_eq!(read(&raw).unwrap().as_slice::<half::bf16>().unwrap(), [half::bf16::ONE]);
    }

    #[test]
    fn narrow_elements_are_held_by_wider_ones() {
        let int4 = [0x08, 3, 0x10, 22, 0x4a, 2, 0xf1, 0x08];
        assert_eq!(read(&int4).unwrap().as_slice::<i8>().unwrap(), [1, -1, -8]);
        let uint2 = [0x08, 3, 0x10, 25, 0x2a, 1, 0x39];
        assert_eq!(read(&uint2).unwrap().as_slice::<u8>().unwrap(), [1, 2, 3]);
        let float4 = read(&[0x08, 2, 0x10, 23, 0x4a, 1, 0xf1]).unwrap();
        let format = small_float::format(float4.dtype()).unwrap();
        assert_eq!(float4.as_bytes().unwrap().iter().map(|b| format.decode(*b)).collect::<Vec<_>>(), [0.5, -6.0]);
        let scale = read(&[0x08, 2, 0x10, 24, 0x4a, 2, 126, 0]).unwrap();
        let scale: Vec<f64> = scale.as_slice::<half::bf16>().unwrap().iter().map(|v| v.to_f64()).collect();
        assert_eq!(scale, [0.5, 2f64.powi(-127)]);
    }

    #[test]
    fn damage_is_refused() {
        let good = [0x08, 2, 0x10, 3, 0x4a, 2, 5, 6];
        assert!(read(&good).is_ok());
        for end in 0..good.len() - 1 {
            assert!(read(&good[..=end]).is_err(), "cut behind {end}");
        }
        for bad in
            [&[0x08, 2, 0x10, 8][..], &[0x08, 2, 0x10, 3, 0x4a, 1, 5], &[0x33], &[0x0a, 1, 0x80], &[0x70, 1, 0x10, 3]]
        {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        for (at, bit) in (0..good.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut changed = good;
            changed[at] ^= 1 << bit;
            let _ = read(&changed);
        }
        let huge = [&[0x08][..], &[0xff; 8], &[0x7f, 0x08, 0x7f, 0x10, 1]].concat();
        assert!(read(&huge).unwrap_err().contains("cannot be"));
    }
}

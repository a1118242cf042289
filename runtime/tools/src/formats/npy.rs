//! The `.npy` format: a header that is a Python dictionary, followed by the elements.
//!
//! The header is compared with the number of bytes that follow before memory is allocated for them.

use super::string_array::StringArray;
use crate::error::brief;
use hammock_runtime::{DType, Device, Tensor, value::small_float};
use std::io::{Error, ErrorKind, Read, Write};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Maximum size of a header: that of version 1.0. Typical headers have 118 bytes.
const MAX_HEADER: usize = 1 << 16;
/// Maximum rank of an array, as in numpy.
const MAX_DIMS: usize = 64;

/// Element types: name in headers, in native byte order, and dtype.
const DTYPES: [(&str, DType); 12] = [
    ("<f4", DType::FLOAT32),
    ("<f8", DType::FLOAT64),
    ("<f2", DType::FLOAT16),
    ("|i1", DType::INT8),
    ("<i2", DType::INT16),
    ("<i4", DType::INT32),
    ("<i8", DType::INT64),
    ("|u1", DType::UINT8),
    ("<u2", DType::UINT16),
    ("<u4", DType::UINT32),
    ("<u8", DType::UINT64),
    ("|b1", DType::BOOL),
];

/// Reads one array, which must be all that the source has; `size` is the number of bytes of the source, if it is known.
///
/// # Errors
/// If the bytes are not a valid array, or one that a tensor cannot hold.
pub(super) fn read(mut source: impl Read, size: Option<u64>) -> Result<Tensor, String> {
    let (header, begin) = Header::read(&mut source)?;
    let bytes = hammock_runtime::value::byte_size(header.dtype, &header.shape).map_err(|e| e.to_string())?;
    if let Some(rest) = size.map(|size| size.saturating_sub(begin))
        && rest != bytes as u64
    {
        let (dtype, shape) = (header.dtype, hammock_runtime::Shape::new(&header.shape));
        return Err(format!("shape {shape} of {dtype} takes {bytes} bytes, but {rest} follow its header"));
    }
    if bytes > hammock_runtime::memory::default_limit() {
        return Err(format!("its {bytes} bytes do not fit in the machine's memory"));
    }
    let mut tensor = Tensor::empty(header.dtype, &header.shape, Device::CPU).map_err(|e| e.to_string())?;
    let elements = tensor.as_bytes_mut().map_err(|e| e.to_string())?;
    source.read_exact(elements).map_err(|e| ended(&e))?;
    // A checksum is only verified when the reader reaches the end.
    if source.read(&mut [0]).map_err(|e| ended(&e))? > 0 {
        return Err("it has more data than the array".to_owned());
    }
    if header.swapped {
        elements.chunks_exact_mut(header.dtype.bytes()).for_each(<[u8]>::reverse);
    }
    if header.dtype == DType::BOOL {
        tensor.as_slice::<bool>().map_err(|e| e.to_string())?;
    }
    if header.fortran { column_major(&tensor).map_err(|e| e.to_string()) } else { Ok(tensor) }
}

/// Transposes a tensor that was read from column-major elements to row-major order.
fn column_major(tensor: &Tensor) -> Result<Tensor, hammock_runtime::TensorError> {
    if tensor.element_count() == 0 {
        return Ok(tensor.clone());
    }
    let mut strides = vec![1i64];
    tensor.shape().iter().for_each(|dim| strides.push(strides[strides.len() - 1] * dim));
    tensor.strided(tensor.shape(), &strides[..tensor.shape().len()], 0)?.to_contiguous()
}

fn ended(error: &Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "it ends before its array does".to_owned(),
        _ => error.to_string(),
    }
}

/// True if numpy has the dtype.
pub(crate) fn has_dtype(dtype: DType) -> bool {
    DTYPES.iter().any(|(_, own)| *own == dtype)
}

/// Writes an array.
///
/// # Errors
/// If its dtype has no counterpart, or it cannot be written.
pub(super) fn write(mut out: impl Write, tensor: &Tensor) -> Result<(), Box<dyn std::error::Error>> {
    let mut tensor = tensor.to_contiguous()?;
    if let Some(values) = as_float32(&tensor)? {
        tensor = Tensor::from_slice(tensor.shape(), &values)?;
    }
    let name = DTYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype());
    let (name, _) = name.ok_or_else(|| format!("numpy has no element type for {}", tensor.dtype()))?;
    write_header(&mut out, name, tensor.shape())?;
    out.write_all(tensor.as_bytes()?)?;
    Ok(())
}

/// Writes an array of strings, each padded to the longest.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write_strings(mut out: impl Write, array: &StringArray) -> Result<(), Box<dyn std::error::Error>> {
    let width = array.texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    write_header(&mut out, &format!("<U{width}"), &array.shape)?;
    for text in &array.texts {
        let padded = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        out.write_all(&padded.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())?;
    }
    Ok(())
}

fn write_header(out: &mut impl Write, name: &str, sizes: &[i64]) -> Result<(), Box<dyn std::error::Error>> {
    let mut shape: String = sizes.iter().map(|d| format!("{d}, ")).collect();
    shape.truncate(shape.len() - usize::from(sizes.len() > 1) * 2 - usize::from(sizes.len() == 1));
    let text = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements are aligned to 64 bytes.
    let len = (text.len() + 1 + 10).next_multiple_of(64) - 10;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&u16::try_from(len)?.to_le_bytes())?;
    out.write_all(format!("{text:<width$}\n", width = len - 1).as_bytes())?;
    Ok(())
}

/// The elements of floats that numpy lacks, converted to float32, which is exact.
fn as_float32(tensor: &Tensor) -> Result<Option<Vec<f32>>, hammock_runtime::TensorError> {
    if tensor.dtype() == DType::BFLOAT16 {
        return Ok(Some(tensor.as_slice::<half::bf16>()?.iter().map(|v| v.to_f32()).collect()));
    }
    let Some(format) = small_float::format(tensor.dtype()).filter(|_| tensor.dtype().bits == 8) else {
        return Ok(None);
    };
    Ok(Some(tensor.as_bytes()?.iter().map(|code| format.decode(*code) as f32).collect()))
}

/// The contents of an array's header.
#[derive(Debug, PartialEq)]
struct Header {
    dtype: DType,
    /// True if elements have the other byte order.
    swapped: bool,
    /// True if the array is column-major.
    fortran: bool,
    shape: Vec<i64>,
}

impl Header {
    /// Reads the header; also returns its size in bytes.
    fn read(source: &mut impl Read) -> Result<(Header, u64), String> {
        let mut head = [0; 8];
        source.read_exact(&mut head).map_err(|e| ended(&e))?;
        if !head.starts_with(MAGIC) {
            return Err("it does not start like a `.npy` file".to_owned());
        }
        let mut len = [0; 4];
        let len_bytes = match head[6] {
            1 => 2,
            2 | 3 => 4,
            other => return Err(format!("its format version {other} is not supported")),
        };
        source.read_exact(&mut len[..len_bytes]).map_err(|e| ended(&e))?;
        let len = u32::from_le_bytes(len) as usize;
        if len > MAX_HEADER {
            return Err(format!("its header claims to have {len} bytes"));
        }
        let mut text = vec![0; len];
        source.read_exact(&mut text).map_err(|e| ended(&e))?;
        let text = std::str::from_utf8(&text).map_err(|_| "its header is not text")?;
        let header = Header::parse(text)?;
        Ok((header, (8 + len_bytes + len) as u64))
    }

    /// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, with keys in any order.
    fn parse(text: &str) -> Result<Header, String> {
        let raw = Header::entries(text).map_err(|why| format!("its header is damaged: {why}"))?;
        let (dtype, swapped) = element_type(raw.descr)?;
        Ok(Header { dtype, swapped, fortran: raw.fortran, shape: raw.shape })
    }

    fn entries(text: &str) -> Result<Entries<'_>, String> {
        let mut text = Cursor(text);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        text.expect("{")?;
        while !text.eat("}") {
            let key = text.quoted()?;
            text.expect(":")?;
            let again = match key {
                "descr" => descr.replace(text.element_type()?).is_some(),
                "fortran_order" => fortran.replace(text.truth()?).is_some(),
                "shape" => shape.replace(text.shape()?).is_some(),
                other => return Err(format!("it has a key `{}`", brief(other))),
            };
            if again {
                return Err(format!("it has `{key}` twice"));
            }
            if !text.eat(",") {
                text.expect("}")?;
                break;
            }
        }
        if !text.0.trim().is_empty() {
            return Err("something follows its `}`".to_owned());
        }
        let missing = |key: &str| format!("it has no `{key}`");
        let descr = descr.ok_or_else(|| missing("descr"))?;
        let (fortran, shape) =
            (fortran.ok_or_else(|| missing("fortran_order"))?, shape.ok_or_else(|| missing("shape"))?);
        Ok(Entries { descr, fortran, shape })
    }
}

/// The entries of a header.
struct Entries<'a> {
    descr: &'a str,
    fortran: bool,
    shape: Vec<i64>,
}

/// The dtype, and whether the byte order is swapped.
fn element_type(descr: &str) -> Result<(DType, bool), String> {
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    let found = DTYPES.iter().find(|(known, _)| known[1..] == *name && descr.len() - name.len() <= 1);
    let (_, dtype) = found.ok_or_else(|| {
        let kind = match name.chars().next() {
            _ if descr.starts_with(['[', '(', '{']) => "records",
            Some('c') => "complex numbers",
            Some('U' | 'S' | 'a') => "strings",
            Some('M') => "dates",
            Some('m') => "durations",
            Some('O') => "Python objects",
            Some('V') => "raw bytes or records",
            _ => "elements of a type that no tensor has",
        };
        format!("it holds {kind} (numpy's `{}`), which tensors do not have", brief(descr))
    })?;
    Ok((*dtype, descr.starts_with('>')))
}

/// The rest of a header's text.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn eat(&mut self, mark: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.eat(mark) { Ok(()) } else { Err(format!("expected `{mark}`, not `{}`", brief(self.0.trim()))) }
    }

    /// A string, or the list of a record's fields.
    fn element_type(&mut self) -> Result<&'a str, String> {
        let text = self.0.trim_start();
        if !text.starts_with('[') {
            return self.quoted();
        }
        let end = text.find("]").ok_or("a list is not closed")? + 1;
        self.0 = &text[end..];
        Ok(&text[..end])
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat("'") { '\'' } else { self.expect("\"").map(|()| '"')? };
        let (text, rest) = self.0.split_once(quote).ok_or("a quote is not closed")?;
        self.0 = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        if self.eat("True") { Ok(true) } else { self.expect("False").map(|()| false) }
    }

    fn shape(&mut self) -> Result<Vec<i64>, String> {
        self.expect("(")?;
        let mut shape = Vec::new();
        while !self.eat(")") {
            let text = self.0.trim_start();
            let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
            let dim = digits.parse().map_err(|_| format!("`{}` is not a size", brief(text.trim())))?;
            // Python 2 wrote long integers with an L.
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            shape.push(dim);
            if shape.len() > MAX_DIMS {
                return Err(format!("it has more than {MAX_DIMS} dimensions"));
            }
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file with the given header and elements.
    pub fn file(header: &str, elements: &[u8]) -> Vec<u8> {
        let text = format!("{header:<117}\n");
        [MAGIC, &[1, 0][..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), elements].concat()
    }

    fn of(bytes: &[u8]) -> Result<Tensor, String> {
        let known = read(bytes, Some(bytes.len() as u64));
        let unknown = read(bytes, None);
        assert_eq!(known.is_ok(), unknown.is_ok(), "{known:?} {unknown:?}");
        known
    }

    #[test]
    fn writing_and_reading_round_trips() {
        for shape in [&[][..], &[3], &[2, 3], &[0, 4]] {
            let values: Vec<i16> = (0..shape.iter().product::<i64>() as i16).collect();
            let tensor = Tensor::from_slice(shape, &values).unwrap();
            let mut bytes = Vec::new();
            write(&mut bytes, &tensor).unwrap();
            let back = of(&bytes).unwrap();
            assert_eq!((back.shape(), back.as_slice::<i16>().unwrap()), (shape, &*values));
            assert!(bytes.starts_with(MAGIC) && (bytes.len() - tensor.nbytes()).is_multiple_of(64));
        }
    }

    #[test]
    fn other_orders_are_read_as_they_are_meant() {
        let numbers = [1i32, 4, 2, 5, 3, 6];
        let little: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        let big: Vec<u8> = numbers.iter().flat_map(|v| v.to_be_bytes()).collect();
        let fortran = of(&file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", &little)).unwrap();
        assert_eq!(fortran.as_slice::<i32>().unwrap(), &[1, 2, 3, 4, 5, 6]);
        let swapped = of(&file("{\"shape\":(6L,),\"descr\":\">i4\",\"fortran_order\":False}", &big)).unwrap();
        assert_eq!(swapped.as_slice::<i32>().unwrap(), &numbers);
    }

    #[test]
    fn headers_that_are_none() {
        let good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
        assert!(of(&file(good, &[1, 2])).is_ok());
        for (header, word) in [
            ("", "expected"),
            ("{'descr': '|u1', 'fortran_order': False}", "no `shape`"),
            ("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "twice"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "`|O`"),
            ("{'descr': '<<u1', 'fortran_order': False, 'shape': (2,)}", "`<<u1`"),
            ("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (2,)}", "records"),
            ("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "bool"),
            ("{'descr': '|u1', 'fortran_order': 0, 'shape': (2,)}", "False"),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}", "is not a size"),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}", "is not a size"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "shape"),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "3 bytes"),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "1 bytes"),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x", "follows"),
            (
                "{'descr': '|u1', 'fortran_order': False, 'shape': (((((((((((((((((((((((((((((((((((2,)}",
                "is not a size",
            ),
            ("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "complex numbers (numpy's `<c8`)"),
            ("{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", "strings"),
            ("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,)}", "dates"),
            ("{'descr': '|u1, 'fortran_order': False, 'shape': (2,)}", "expected `}`"),
            ("{'x': 1}", "`x`"),
        ] {
            let error = of(&file(header, &[1, 2])).unwrap_err();
            assert!(error.contains(word), "{header}: {error}");
        }
        let dims = "1,".repeat(65);
        let many = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({dims})}}");
        assert!(of(&file(&many, &[1])).unwrap_err().contains("dimensions"));
    }

    #[test]
    fn header_size_is_limited() {
        let claim = [MAGIC, &[2, 0][..], &u32::MAX.to_le_bytes(), b"{"].concat();
        assert!(of(&claim).unwrap_err().contains("4294967295"));
        let long = format!("{{'{}': 1}}", "x".repeat(60_000));
        let error = of(&file(&long, &[])).unwrap_err();
        assert!(error.len() < 400, "{}", error.len());
    }

    #[test]
    fn every_cut_is_refused() {
        let whole = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", &[0; 16]);
        assert!(of(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(of(&whole[..end]).is_err(), "{end}");
        }
        assert!(of(&[&*whole, &[0]].concat()).is_err());
    }
}

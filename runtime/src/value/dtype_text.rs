//! Parses a [`DType`], including aliases (`fp8_e4m3fn`, `f32`, `bf16`, `int`).
use super::dtype::{DType, NAMED_FLOATS, code};
use std::str::FromStr;

/// The text is not a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown data type `{text}`")]
pub struct ParseDTypeError {
    /// The text.
    pub text: String,
}

/// Prefix, code, default number of bits.
const KINDS: [(&str, u8, u8); 10] = [
    ("uint", code::UINT, 32),
    ("u", code::UINT, 0),
    ("int", code::INT, 32),
    ("i", code::INT, 0),
    ("bool", code::BOOL, 8),
    ("bfloat", code::BFLOAT, 16),
    ("bf", code::BFLOAT, 0),
    ("float", code::FLOAT, 32),
    ("f", code::FLOAT, 0),
    ("handle", code::HANDLE, 64),
];

impl FromStr for DType {
    type Err = ParseDTypeError;

    fn from_str(text: &str) -> Result<DType, ParseDTypeError> {
        if text.is_empty() || text == "void" {
            return Ok(DType::VOID);
        }
        named_float(text).or_else(|| plain(text)).ok_or_else(|| ParseDTypeError { text: text.to_owned() })
    }
}

/// `float8_e4m3fn`, `fp8_e4m3fn`, `f8_e4m3fn`; the longest name wins (`e4m3` is a prefix of `e4m3fn`).
fn named_float(text: &str) -> Option<DType> {
    let tail = ["float", "fp", "f"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let known = |(_, name, _): &&(u8, &str, u8)| tail.starts_with(&name["float".len()..]);
    let (code, name, bits) = NAMED_FLOATS.iter().filter(known).max_by_key(|(_, name, _)| name.len())?;
    Some(DType::new(*code, *bits, lanes(&tail[name.len() - "float".len()..])?))
}

fn plain(text: &str) -> Option<DType> {
    let (prefix, code, default_bits) = KINDS.iter().find(|(prefix, ..)| text.starts_with(prefix))?;
    let tail = &text[prefix.len()..];
    let digits = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bits = if digits == 0 { *default_bits } else { tail[..digits].parse().ok()? };
    // The one- and two-letter aliases need their width; a type of zero bits does not exist.
    (bits > 0).then_some(DType::new(*code, bits, lanes(&tail[digits..])?))
}

/// Parses an empty suffix, `x4` or `xvscalex4`.
fn lanes(text: &str) -> Option<u16> {
    if text.is_empty() {
        return Some(1);
    }
    if let Some(factor) = text.strip_prefix("xvscalex") {
        let factor = factor.parse::<u16>().ok().filter(|n| (2..=i16::MAX as u16).contains(n))?;
        return Some(DType::INT8.with_scalable_lanes(factor).lanes);
    }
    text.strip_prefix('x')?.parse().ok().filter(|n| (1..=i16::MAX as u16).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_it_reads() {
        for text in [
            "bool",
            "boolx4",
            "int4",
            "int8",
            "int32",
            "int64",
            "uint1",
            "uint8",
            "uint4x8",
            "float16",
            "float32",
            "float64",
            "bfloat16",
            "float32x4",
            "int32xvscalex4",
            "handle",
            "void",
            "float8_e3m4",
            "float8_e4m3",
            "float8_e4m3b11fnuz",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "float6_e2m3fn",
            "float6_e3m2fn",
            "float4_e2m1fn",
            "float4_e2m1fnx2",
        ] {
            assert_eq!(text.parse::<DType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn reads_aliases() {
        for (alias, name) in [
            ("float", "float32"),
            ("int", "int32"),
            ("uint", "uint32"),
            ("bfloat", "bfloat16"),
            ("", "void"),
            ("f16", "float16"),
            ("i64", "int64"),
            ("u8", "uint8"),
            ("bf16", "bfloat16"),
            ("bool8", "bool"),
            ("fp8_e4m3fn", "float8_e4m3fn"),
            ("f4_e2m1fn", "float4_e2m1fn"),
            ("handle64", "handle"),
            ("float32x1", "float32"),
        ] {
            assert_eq!(alias.parse::<DType>().unwrap().to_string(), name, "{alias}");
        }
    }

    #[test]
    fn refuses_unknown_types() {
        for text in
            ["foo", "f", "i", "float32x", "float32x0", "int300", "float8_e9m9", "float32 ", "x4", "boolx0", "int0"]
        {
            assert!(text.parse::<DType>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_pack_below_a_byte() {
        assert_eq!(DType::INT4.storage_bytes(3), Some(2));
        assert_eq!(DType::FLOAT6_E2M3FN.storage_bytes(4), Some(3));
        assert_eq!(DType::BOOL.storage_bytes(3), Some(3));
        assert_eq!(DType::FLOAT32.with_lanes(4).bytes(), 16);
        assert_eq!(DType::VOID.bytes(), 0);
        assert_eq!(DType::FLOAT64.storage_bytes(usize::MAX), None);
    }
}

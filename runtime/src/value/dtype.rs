//! Data types: DLPack's three-field description, in TVM's spelling.
//!
//! The `DType` of tensor elements, TIR values, and `Any` values of kind "data type". The layout is DLPack's
//! `DLDataType`, with the codes of DLPack 1.2. `bool` has its own code, with 8 bits. Scalable vectors store a negative
//! lane count, as in tvm-ffi.
use std::fmt;

/// DLPack type codes.
pub mod code {
    #![allow(missing_docs, reason = "each name is DLPack's, in lower case after `kDL`")]
    pub const INT: u8 = 0;
    pub const UINT: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const HANDLE: u8 = 3;
    pub const BFLOAT: u8 = 4;
    pub const COMPLEX: u8 = 5;
    pub const BOOL: u8 = 6;
    pub const FLOAT8_E3M4: u8 = 7;
    pub const FLOAT8_E4M3: u8 = 8;
    pub const FLOAT8_E4M3B11FNUZ: u8 = 9;
    pub const FLOAT8_E4M3FN: u8 = 10;
    pub const FLOAT8_E4M3FNUZ: u8 = 11;
    pub const FLOAT8_E5M2: u8 = 12;
    pub const FLOAT8_E5M2FNUZ: u8 = 13;
    pub const FLOAT8_E8M0FNU: u8 = 14;
    pub const FLOAT6_E2M3FN: u8 = 15;
    pub const FLOAT6_E3M2FN: u8 = 16;
    pub const FLOAT4_E2M1FN: u8 = 17;
}

/// Small floats whose name includes their width: code, name, bits.
pub(super) const NAMED_FLOATS: [(u8, &str, u8); 11] = [
    (code::FLOAT8_E3M4, "float8_e3m4", 8),
    (code::FLOAT8_E4M3, "float8_e4m3", 8),
    (code::FLOAT8_E4M3B11FNUZ, "float8_e4m3b11fnuz", 8),
    (code::FLOAT8_E4M3FN, "float8_e4m3fn", 8),
    (code::FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", 8),
    (code::FLOAT8_E5M2, "float8_e5m2", 8),
    (code::FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", 8),
    (code::FLOAT8_E8M0FNU, "float8_e8m0fnu", 8),
    (code::FLOAT6_E2M3FN, "float6_e2m3fn", 6),
    (code::FLOAT6_E3M2FN, "float6_e3m2fn", 6),
    (code::FLOAT4_E2M1FN, "float4_e2m1fn", 4),
];

/// A data type: kind, bits per lane, lanes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType {
    /// Kind of number, one of [`code`].
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Vector lanes: 1 for scalars, 0 for void, a negative `i16` for scalable vectors.
    pub lanes: u16,
}

macro_rules! dtypes {
    ($($name:ident = $code:ident $bits:literal),* $(,)?) => {
        $(#[allow(missing_docs, reason = "named after what it prints")]
        pub const $name: DType = DType::new(code::$code, $bits, 1);)*
    };
}

impl DType {
    dtypes! {
        BOOL = BOOL 8, INT4 = INT 4, INT8 = INT 8, INT16 = INT 16, INT32 = INT 32, INT64 = INT 64,
        UINT1 = UINT 1, UINT4 = UINT 4, UINT8 = UINT 8, UINT16 = UINT 16, UINT32 = UINT 32, UINT64 = UINT 64,
        FLOAT16 = FLOAT 16, FLOAT32 = FLOAT 32, FLOAT64 = FLOAT 64, BFLOAT16 = BFLOAT 16, HANDLE = HANDLE 64,
        FLOAT8_E3M4 = FLOAT8_E3M4 8, FLOAT8_E4M3 = FLOAT8_E4M3 8, FLOAT8_E4M3B11FNUZ = FLOAT8_E4M3B11FNUZ 8,
        FLOAT8_E4M3FN = FLOAT8_E4M3FN 8, FLOAT8_E4M3FNUZ = FLOAT8_E4M3FNUZ 8, FLOAT8_E5M2 = FLOAT8_E5M2 8,
        FLOAT8_E5M2FNUZ = FLOAT8_E5M2FNUZ 8, FLOAT8_E8M0FNU = FLOAT8_E8M0FNU 8,
        FLOAT6_E2M3FN = FLOAT6_E2M3FN 6, FLOAT6_E3M2FN = FLOAT6_E3M2FN 6, FLOAT4_E2M1FN = FLOAT4_E2M1FN 4,
    }

    /// The void type: a handle of zero bits and zero lanes.
    pub const VOID: DType = DType::new(code::HANDLE, 0, 0);

    /// A type from its DLPack fields.
    pub const fn new(code: u8, bits: u8, lanes: u16) -> DType {
        DType { code, bits, lanes }
    }

    /// IEEE float of `bits`.
    pub const fn float(bits: u8) -> DType {
        DType::new(code::FLOAT, bits, 1)
    }

    /// Signed integer of `bits`.
    pub const fn int(bits: u8) -> DType {
        DType::new(code::INT, bits, 1)
    }

    /// Unsigned integer of `bits`.
    pub const fn uint(bits: u8) -> DType {
        DType::new(code::UINT, bits, 1)
    }

    /// Returns true for signed integers.
    pub const fn is_int(self) -> bool {
        self.code == code::INT
    }

    /// Returns true for unsigned integers.
    pub const fn is_uint(self) -> bool {
        self.code == code::UINT
    }

    /// Returns true for signed and unsigned integers (not `bool`).
    pub const fn is_integer(self) -> bool {
        self.is_int() || self.is_uint()
    }

    /// Returns true for IEEE floats of any width (not bfloat16, not the 8-, 6- and 4-bit kinds).
    pub const fn is_float(self) -> bool {
        self.code == code::FLOAT
    }

    /// Returns true for bfloat16.
    pub const fn is_bfloat16(self) -> bool {
        self.code == code::BFLOAT && self.bits == 16
    }

    /// Returns true for float16.
    pub const fn is_float16(self) -> bool {
        self.code == code::FLOAT && self.bits == 16
    }

    /// Returns true for the 8-bit floats.
    pub const fn is_float8(self) -> bool {
        self.code >= code::FLOAT8_E3M4 && self.code <= code::FLOAT8_E8M0FNU
    }

    /// Returns true for the 6-bit floats.
    pub const fn is_float6(self) -> bool {
        self.code == code::FLOAT6_E2M3FN || self.code == code::FLOAT6_E3M2FN
    }

    /// Returns true for the 4-bit float.
    pub const fn is_float4(self) -> bool {
        self.code == code::FLOAT4_E2M1FN
    }

    /// Returns true for floating-point numbers of any kind.
    pub const fn is_floating(self) -> bool {
        self.is_float() || self.code == code::BFLOAT || self.is_float8() || self.is_float6() || self.is_float4()
    }

    /// Returns true for `bool` and vectors of it. `uint1` counts, because older files spell it so.
    pub const fn is_bool(self) -> bool {
        self.code == code::BOOL || (self.code == code::UINT && self.bits == 1)
    }

    /// Returns true for opaque pointers.
    pub const fn is_handle(self) -> bool {
        self.code == code::HANDLE && !self.is_void()
    }

    /// Returns true for [`DType::VOID`].
    pub const fn is_void(self) -> bool {
        self.code == code::HANDLE && self.bits == 0 && self.lanes == 0
    }

    /// Returns true if it has exactly one lane.
    pub const fn is_scalar(self) -> bool {
        self.lanes == 1
    }

    /// Returns true if it has more than one lane, fixed or scalable.
    pub const fn is_vector(self) -> bool {
        self.lanes > 1
    }

    /// Returns true if its lane count is a multiple of the machine's vector length.
    pub const fn is_scalable(self) -> bool {
        (self.lanes as i16) < -1
    }

    /// Returns true if values can be stored in memory: not for void and scalable vectors.
    pub const fn is_storable(self) -> bool {
        self.bits > 0 && self.lanes > 0 && self.lanes <= i16::MAX as u16
    }

    /// The multiple of the machine's vector length, for scalable vectors.
    pub const fn vscale_factor(self) -> Option<u16> {
        if self.is_scalable() { Some((self.lanes as i16).unsigned_abs()) } else { None }
    }

    /// The same kind with `lanes` lanes.
    pub const fn with_lanes(self, lanes: u16) -> DType {
        DType { lanes, ..self }
    }

    /// The same kind with `factor` lanes per unit of the machine's vector length.
    pub const fn with_scalable_lanes(self, factor: u16) -> DType {
        DType { lanes: (factor as i16).wrapping_neg() as u16, ..self }
    }

    /// The type of one lane.
    pub const fn element(self) -> DType {
        if self.is_void() { self } else { self.with_lanes(1) }
    }

    /// Size of a single value in bytes: bits of all lanes, rounded up. Scalable vectors count one unit.
    ///
    /// Several values take [`storage_bytes`](DType::storage_bytes), which may be less than a multiple of this.
    pub const fn bytes(self) -> usize {
        self.width().div_ceil(8)
    }

    /// Size of one value in bits, over all lanes. Scalable vectors count one unit.
    pub const fn width(self) -> usize {
        self.bits as usize * self.lane_count()
    }

    /// Returns true if a value takes whole bytes, so that every element has an address.
    pub const fn is_byte_sized(self) -> bool {
        self.width().is_multiple_of(8)
    }

    /// Size of `count` contiguous values in bytes: their bits are packed without gaps, and the total is rounded up.
    /// `None` if that overflows.
    pub fn storage_bytes(self, count: usize) -> Option<usize> {
        Some(count.checked_mul(self.width())?.div_ceil(8))
    }

    const fn lane_count(self) -> usize {
        match self.vscale_factor() {
            Some(factor) => factor as usize,
            None => self.lanes as usize,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_void() {
            return f.write_str("void");
        }
        match self.code {
            code::HANDLE => return f.write_str("handle"),
            code::BOOL if self.bits == 8 => f.write_str("bool")?,
            _ => self.write_number(f)?,
        }
        match self.lanes as i16 {
            lanes if lanes < -1 => write!(f, "xvscalex{}", lanes.unsigned_abs()),
            1 => Ok(()),
            _ => write!(f, "x{}", self.lanes),
        }
    }
}

impl DType {
    fn write_number(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name, _)) = NAMED_FLOATS.iter().find(|(code, ..)| *code == self.code) {
            return f.write_str(name);
        }
        let kind = match self.code {
            code::INT => "int",
            code::UINT => "uint",
            code::FLOAT => "float",
            code::BFLOAT => "bfloat",
            code::COMPLEX => "complex",
            code::BOOL => "bool",
            other => return write!(f, "custom[{other}]{}", self.bits),
        };
        write!(f, "{kind}{}", self.bits)
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

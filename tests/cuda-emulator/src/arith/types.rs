//! The fundamental types of PTX.

macro_rules! types {
    ($($(#[$doc:meta])* $variant:ident $name:literal $bits:literal $kind:ident,)*) => {
        /// A type of PTX, as an instruction's suffix names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Type { $($(#[$doc])* $variant,)* }

        impl Type {
            /// Returns the type of a suffix without its dot, e.g. `f32`.
            pub fn parse(name: &str) -> Option<Type> {
                match name { $($name => Some(Type::$variant),)* _ => None }
            }

            /// The suffix without its dot.
            pub fn name(self) -> &'static str {
                match self { $(Type::$variant => $name,)* }
            }

            /// Width in bits; 1 for a predicate.
            pub fn bits(self) -> u32 {
                match self { $(Type::$variant => $bits,)* }
            }

            fn kind(self) -> Kind {
                match self { $(Type::$variant => Kind::$kind,)* }
            }
        }
    };
}

#[derive(PartialEq)]
enum Kind {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
    Packed,
}

types! {
    /// Predicate.
    Pred "pred" 1 Predicate,
    /// 8 bits without a type.
    B8 "b8" 8 Bits,
    /// 16 bits without a type.
    B16 "b16" 16 Bits,
    /// 32 bits without a type.
    B32 "b32" 32 Bits,
    /// 64 bits without a type.
    B64 "b64" 64 Bits,
    /// 128 bits without a type; no arithmetic.
    B128 "b128" 128 Bits,
    /// Unsigned integer of 8 bits.
    U8 "u8" 8 Unsigned,
    /// Unsigned integer of 16 bits.
    U16 "u16" 16 Unsigned,
    /// Unsigned integer of 32 bits.
    U32 "u32" 32 Unsigned,
    /// Unsigned integer of 64 bits.
    U64 "u64" 64 Unsigned,
    /// Signed integer of 8 bits.
    S8 "s8" 8 Signed,
    /// Signed integer of 16 bits.
    S16 "s16" 16 Signed,
    /// Signed integer of 32 bits.
    S32 "s32" 32 Signed,
    /// Signed integer of 64 bits.
    S64 "s64" 64 Signed,
    /// Two unsigned integers of 16 bits.
    U16x2 "u16x2" 32 Packed,
    /// Two signed integers of 16 bits.
    S16x2 "s16x2" 32 Packed,
    /// IEEE half precision.
    F16 "f16" 16 Float,
    /// Two halves; the first is the low one.
    F16x2 "f16x2" 32 Packed,
    /// Brain float: the upper half of `f32`.
    BF16 "bf16" 16 Float,
    /// Two brain floats.
    BF16x2 "bf16x2" 32 Packed,
    /// `f32` with 10 bits of fraction, in 32 bits.
    TF32 "tf32" 32 Float,
    /// IEEE single precision.
    F32 "f32" 32 Float,
    /// IEEE double precision.
    F64 "f64" 64 Float,
    /// A float of 8 bits: 4 of exponent, 3 of fraction, no infinities; only in `mma`.
    E4M3 "e4m3" 8 Float,
    /// A float of 8 bits: 5 of exponent, 2 of fraction; only in `mma`.
    E5M2 "e5m2" 8 Float,
    /// Two floats of 8 bits: 4 of exponent, 3 of fraction, no infinities.
    E4M3x2 "e4m3x2" 16 Packed,
    /// Two floats of 8 bits: 5 of exponent, 2 of fraction.
    E5M2x2 "e5m2x2" 16 Packed,
}

impl Type {
    /// Width in bytes in memory; 1 for a predicate.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True if the type is a float or packed floats.
    pub fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Packed) && !matches!(self, Type::U16x2 | Type::S16x2)
    }

    /// True if the type holds two values.
    pub fn is_packed(self) -> bool {
        self.kind() == Kind::Packed
    }

    /// True if the type is `u8` to `u64` or `s8` to `s64`.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    /// True if the type is `s8` to `s64`.
    pub fn is_signed(self) -> bool {
        self.kind() == Kind::Signed
    }

    /// True if the type is `b8` to `b128`.
    pub fn is_untyped(self) -> bool {
        self.kind() == Kind::Bits
    }

    /// The type of a half of a packed type; other types themselves.
    pub fn half(self) -> Type {
        match self {
            Type::F16x2 => Type::F16,
            Type::BF16x2 => Type::BF16,
            Type::E4M3x2 => Type::E4M3,
            Type::E5M2x2 => Type::E5M2,
            Type::U16x2 => Type::U16,
            Type::S16x2 => Type::S16,
            other => other,
        }
    }

    /// The low bits that a value of the type has in a register.
    pub fn mask(self) -> u64 {
        if self.bits() >= 64 { u64::MAX } else { (1 << self.bits()) - 1 }
    }
}

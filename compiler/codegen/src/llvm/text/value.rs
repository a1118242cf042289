//! Types and values.

use std::{fmt, rc::Rc};

/// A scalar or vector type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    scalar: Scalar,
    /// 1 for scalars.
    pub lanes: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Scalar {
    Int(u16),
    Half,
    Bfloat,
    Float,
    Double,
    /// In an address space; 0 is the generic one.
    Pointer(u8),
    Void,
}

impl Ty {
    /// A boolean.
    pub const I1: Ty = Ty::int(1);
    /// A byte.
    pub const I8: Ty = Ty::int(8);
    /// A 32-bit integer: the status of every call.
    pub const I32: Ty = Ty::int(32);
    /// A 64-bit integer: indices and sizes.
    pub const I64: Ty = Ty::int(64);
    /// IEEE half precision.
    pub const HALF: Ty = Ty { scalar: Scalar::Half, lanes: 1 };
    /// The upper half of single precision, for instructions that take it.
    pub const BFLOAT: Ty = Ty { scalar: Scalar::Bfloat, lanes: 1 };
    /// IEEE single precision.
    pub const FLOAT: Ty = Ty { scalar: Scalar::Float, lanes: 1 };
    /// IEEE double precision.
    pub const DOUBLE: Ty = Ty { scalar: Scalar::Double, lanes: 1 };
    /// An address.
    pub const PTR: Ty = Ty::pointer_to(0);
    /// No value.
    pub const VOID: Ty = Ty { scalar: Scalar::Void, lanes: 1 };

    /// An integer of `bits`.
    pub const fn int(bits: u16) -> Ty {
        Ty { scalar: Scalar::Int(bits), lanes: 1 }
    }

    /// An address in an address space.
    pub const fn pointer_to(space: u8) -> Ty {
        Ty { scalar: Scalar::Pointer(space), lanes: 1 }
    }

    /// Returns the type with another number of lanes.
    pub const fn with_lanes(self, lanes: u16) -> Ty {
        Ty { lanes, ..self }
    }

    /// The type of one lane.
    pub const fn element(self) -> Ty {
        self.with_lanes(1)
    }

    /// Returns true if lanes are integers or booleans.
    pub fn is_int(self) -> bool {
        matches!(self.scalar, Scalar::Int(_))
    }

    /// Returns true if lanes are floats.
    pub fn is_float(self) -> bool {
        matches!(self.scalar, Scalar::Half | Scalar::Bfloat | Scalar::Float | Scalar::Double)
    }

    /// Returns true if lanes are addresses.
    pub fn is_pointer(self) -> bool {
        matches!(self.scalar, Scalar::Pointer(_))
    }

    /// Bits of one lane.
    pub fn bits(self) -> u16 {
        match self.scalar {
            Scalar::Int(bits) => bits,
            Scalar::Half | Scalar::Bfloat => 16,
            Scalar::Float => 32,
            Scalar::Double | Scalar::Pointer(_) => 64,
            Scalar::Void => 0,
        }
    }

    /// Bytes of one lane in memory.
    pub fn lane_bytes(self) -> u64 {
        u64::from(self.bits().div_ceil(8))
    }

    /// The suffix that names an overload of an intrinsic: `v16f32`.
    pub fn suffix(self) -> String {
        let scalar = match self.scalar {
            Scalar::Int(bits) => format!("i{bits}"),
            Scalar::Pointer(space) => format!("p{space}"),
            Scalar::Bfloat => "bf16".into(),
            _ => format!("f{}", self.bits()),
        };
        if self.lanes == 1 { scalar } else { format!("v{}{scalar}", self.lanes) }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes > 1 {
            return write!(f, "<{} x {}>", self.lanes, self.element());
        }
        match self.scalar {
            Scalar::Int(bits) => write!(f, "i{bits}"),
            Scalar::Half => f.write_str("half"),
            Scalar::Bfloat => f.write_str("bfloat"),
            Scalar::Float => f.write_str("float"),
            Scalar::Double => f.write_str("double"),
            Scalar::Pointer(0) => f.write_str("ptr"),
            Scalar::Pointer(space) => write!(f, "ptr addrspace({space})"),
            Scalar::Void => f.write_str("void"),
        }
    }
}

/// A typed operand: the result of an instruction or a constant. A constant of a vector type is a splat.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// Its type.
    pub ty: Ty,
    repr: Repr,
}

#[derive(Clone, PartialEq, Debug)]
enum Repr {
    Register(u32),
    Int(i64),
    Float(f64),
    Name(Rc<str>),
}

impl Value {
    /// The result of an instruction.
    pub(super) fn register(number: u32, ty: Ty) -> Value {
        Value { ty, repr: Repr::Register(number) }
    }

    /// An integer constant, normalized to the signed value of its bits, so that equal constants compare equal. Booleans
    /// are 0 and 1.
    pub fn int(value: i64, ty: Ty) -> Value {
        let unused = 64 - u32::from(ty.bits().clamp(2, 64));
        let value = if ty.bits() == 1 { value } else { value << unused >> unused };
        Value { ty, repr: Repr::Int(value) }
    }

    /// A 64-bit integer constant.
    pub fn i64(value: i64) -> Value {
        Value::int(value, Ty::I64)
    }

    /// A boolean constant.
    pub fn bool(value: bool) -> Value {
        Value::int(value.into(), Ty::I1)
    }

    /// A float constant, rounded to the type.
    pub fn float(value: f64, ty: Ty) -> Value {
        Value { ty, repr: Repr::Float(value) }
    }

    /// A constant spelled as LLVM spells it: `zeroinitializer`, `poison`, `<i32 0, i32 1>`, `@name`, `%parameter`.
    pub fn named(text: impl Into<Rc<str>>, ty: Ty) -> Value {
        Value { ty, repr: Repr::Name(text.into()) }
    }

    /// A global's address.
    pub fn global(name: &str) -> Value {
        Value::named(super::name::global_name(name), Ty::PTR)
    }

    /// All bits zero.
    pub fn zero(ty: Ty) -> Value {
        Value::named(if ty.is_pointer() && ty.lanes == 1 { "null" } else { "zeroinitializer" }, ty)
    }

    /// Any value at all.
    pub fn poison(ty: Ty) -> Value {
        Value::named("poison", ty)
    }

    /// A constant vector of integers.
    pub fn vector(lanes: impl Iterator<Item = i64>, element: Ty) -> Value {
        let texts: Vec<String> = lanes.map(|v| format!("{element} {v}")).collect();
        if let [one] = &texts[..] {
            return Value::named(one.trim_start_matches(&format!("{element} ")), element);
        }
        Value::named(format!("<{}>", texts.join(", ")), element.with_lanes(texts.len() as u16))
    }

    /// Returns the value of an integer constant (in every lane).
    pub fn as_int(&self) -> Option<i64> {
        match self.repr {
            Repr::Int(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the value of a float constant (in every lane).
    pub fn as_float(&self) -> Option<f64> {
        match self.repr {
            Repr::Float(v) => Some(v),
            _ => None,
        }
    }

    /// Returns true if it is a numeric constant.
    pub fn is_constant(&self) -> bool {
        self.as_int().is_some() || self.as_float().is_some()
    }

    /// Displays type and value, as in most operands.
    pub fn typed(&self) -> impl fmt::Display + '_ {
        Typed(self)
    }
}

struct Typed<'a>(&'a Value);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.ty, self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_number = matches!(self.repr, Repr::Int(_) | Repr::Float(_));
        if is_number && self.ty.lanes > 1 {
            let lane = Value { ty: self.ty.element(), repr: self.repr.clone() };
            return write!(f, "splat ({})", lane.typed());
        }
        match &self.repr {
            Repr::Register(number) => write!(f, "%v{number}"),
            Repr::Name(name) => f.write_str(name),
            Repr::Int(v) if self.ty == Ty::I1 => f.write_str(if *v != 0 { "true" } else { "false" }),
            Repr::Int(v) => write!(f, "{v}"),
            Repr::Float(v) => f.write_str(&float_text(*v, self.ty)),
        }
    }
}

/// Returns the bits of a float in LLVM syntax: those of a half directly, others as those of the equal double.
fn float_text(value: f64, ty: Ty) -> String {
    match ty.bits() {
        16 => format!("0xH{:04X}", hammock_runtime::value::small_float::to_float16(value).to_bits()),
        32 => format!("0x{:016X}", f64::from(value as f32).to_bits()),
        _ => format!("0x{:016X}", value.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_use_llvm_syntax() {
        let v16 = Ty::FLOAT.with_lanes(16);
        assert_eq!(Value::float(0.1, v16).typed().to_string(), "<16 x float> splat (float 0x3FB99999A0000000)");
        assert_eq!(Value::float(1.0, Ty::HALF).typed().to_string(), "half 0xH3C00");
        assert_eq!(Value::bool(true).typed().to_string(), "i1 true");
        assert_eq!(Value::int(255, Ty::I8), Value::int(-1, Ty::I8));
        assert_eq!(Value::vector(0..3, Ty::I32).typed().to_string(), "<3 x i32> <i32 0, i32 1, i32 2>");
        assert_eq!(v16.suffix(), "v16f32");
        assert_eq!(Value::zero(Ty::pointer_to(1)).typed().to_string(), "ptr addrspace(1) null");
        assert_eq!(Ty::pointer_to(3).with_lanes(4).suffix(), "v4p3");
    }
}

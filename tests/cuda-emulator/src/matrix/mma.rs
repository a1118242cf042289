//! `mma.sync.aligned`.
//!
//! Products are exact. Floats are summed in single precision to nearest, C first, then products by ascending k (the
//! manual leaves order and rounding open; tensor cores sum groups of products and truncate). Accumulators of `f16`
//! are rounded once, at the end. `f64` is a chain of fused multiply-adds, integers are exact and wrap or saturate at
//! the end.
use super::fragments::{Slot, elements_per_register, position_in_a, position_in_b, position_in_c, slots};
use crate::arith::bits::element;
use crate::arith::{Modifiers, Rounding, Type, convert};
use crate::lanes::Lanes;

/// The forms of `mma.sync.row.col`: shapes (m, n, k), types of A and B, types of C and D. Left out are the form of
/// sm_70 (`m8n8k4` of `f16`), 4-bit and 1-bit operands and block scaling.
const FORMS: &[(&[(usize, usize, usize)], &[Type], &[Type])] = &[
    (&[(16, 8, 8), (16, 8, 16)], &[Type::F16], &[Type::F16, Type::F32]),
    (&[(16, 8, 8), (16, 8, 16)], &[Type::BF16], &[Type::F32]),
    (&[(16, 8, 4), (16, 8, 8)], &[Type::TF32], &[Type::F32]),
    (&[(8, 8, 16), (16, 8, 16), (16, 8, 32)], &[Type::S8, Type::U8], &[Type::S32]),
    (&[(16, 8, 16), (16, 8, 32)], &[Type::E4M3, Type::E5M2], &[Type::F16, Type::F32]),
    (&[(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)], &[Type::F64], &[Type::F64]),
];

const MAX_ROWS: usize = 16;
const COLUMNS: usize = 8;
const MAX_DEPTH: usize = 32;

/// An `mma.sync.aligned.SHAPE.row.col.D.A.B.C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {
    rows: usize,
    depth: usize,
    a: Type,
    b: Type,
    accumulator: Type,
    satfinite: bool,
}

/// Operands as matrices of a type that holds every element exactly.
struct Operands<T> {
    a: [[T; MAX_DEPTH]; MAX_ROWS],
    b: [[T; COLUMNS]; MAX_DEPTH],
    c: [[T; COLUMNS]; MAX_ROWS],
}

impl Mma {
    /// Returns the instruction of a shape (`m16n8k16`) and types.
    ///
    /// # Errors
    /// Names the combination if the emulator lacks it.
    pub fn new(shape: &str, d: Type, a: Type, b: Type, c: Type, satfinite: bool) -> Result<Mma, String> {
        let form = FORMS.iter().find(|(_, operands, accumulators)| {
            operands.contains(&a) && operands.contains(&b) && accumulators.contains(&c)
        });
        let named = |(m, n, k): &&(usize, usize, usize)| format!("m{m}n{n}k{k}") == shape;
        let found = form.and_then(|(shapes, ..)| shapes.iter().find(named));
        match found {
            Some(&(rows, _, depth)) if c == d && (!satfinite || c == Type::S32) => {
                Ok(Mma { rows, depth, a, b, accumulator: c, satfinite })
            }
            _ => {
                let satfinite = if satfinite { ".satfinite" } else { "" };
                let [d, a, b, c] = [d, a, b, c].map(Type::name);
                Err(format!("mma.sync.aligned.{shape}.row.col{satfinite}.{d}.{a}.{b}.{c}"))
            }
        }
    }

    /// The least target that has the instruction: 80 for `sm_80`.
    pub fn target(&self) -> u32 {
        match (self.a, self.rows, self.depth) {
            (Type::F16, _, 8) | (Type::S8 | Type::U8, 8, _) => 75,
            (Type::E4M3 | Type::E5M2, ..) => 89,
            (Type::F64, 16, _) => 90,
            _ => 80,
        }
    }

    /// Numbers of registers of D, A, B and C.
    pub fn registers(&self) -> [usize; 4] {
        let count = |ty, elements: usize| elements / 32 / elements_per_register(ty);
        let c = count(self.accumulator, self.rows * COLUMNS);
        [c, count(self.a, self.rows * self.depth), count(self.b, self.depth * COLUMNS), c]
    }

    /// Computes D = A × B + C. The registers of D are the first ones of the result.
    pub fn multiply(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
        match self.accumulator {
            Type::S32 => self.multiply_integers(a, b, c),
            Type::F64 => self.multiply_doubles(a, b, c),
            _ => self.multiply_singles(a, b, c),
        }
    }

    fn multiply_singles(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
        let mut operands = self.gather(a, b, c, single);
        self.accumulate(&mut operands, |sum, a, b| sum + a * b);
        let nearest = Modifiers { rounding: Some(Rounding::Nearest), ..Modifiers::default() };
        self.scatter(&operands.c, |value| match self.accumulator {
            Type::F16 => convert(Type::F16, Type::F32, nearest, value.to_bits().into()),
            _ if value.is_nan() => 0x7fff_ffff,
            _ => value.to_bits().into(),
        })
    }

    fn multiply_doubles(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
        let mut operands = self.gather(a, b, c, |_, bits| f64::from_bits(bits));
        self.accumulate(&mut operands, |sum, a, b| a.mul_add(b, sum));
        self.scatter(&operands.c, f64::to_bits)
    }

    fn multiply_integers(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
        let mut operands = self.gather(a, b, c, |ty, bits| element(bits, 0, ty.bits(), ty.is_signed()));
        self.accumulate(&mut operands, |sum, a, b| sum + a * b);
        let (least, greatest) = if self.satfinite { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
        self.scatter(&operands.c, |value| value.clamp(least, greatest) as u32 as u64)
    }

    /// Collects the fragments; `decode` makes a value of an element's bits.
    fn gather<T: Copy + Default>(
        &self,
        a: &[Lanes],
        b: &[Lanes],
        c: &[Lanes],
        decode: impl Fn(Type, u64) -> T,
    ) -> Operands<T> {
        let zero = T::default();
        let mut operands = Operands {
            a: [[zero; MAX_DEPTH]; MAX_ROWS],
            b: [[zero; COLUMNS]; MAX_DEPTH],
            c: [[zero; COLUMNS]; MAX_ROWS],
        };
        let [_, a_registers, b_registers, c_registers] = self.registers();
        for slot in slots(self.a, a_registers) {
            let (row, column) = position_in_a(self.a, self.rows, slot);
            operands.a[row][column] = decode(self.a, read(self.a, a, slot));
        }
        for slot in slots(self.b, b_registers) {
            let (row, column) = position_in_b(self.b, slot);
            operands.b[row][column] = decode(self.b, read(self.b, b, slot));
        }
        for slot in slots(self.accumulator, c_registers) {
            let (row, column) = position_in_c(self.accumulator, slot);
            operands.c[row][column] = decode(self.accumulator, read(self.accumulator, c, slot));
        }
        operands
    }

    fn accumulate<T: Copy>(&self, operands: &mut Operands<T>, add_product: impl Fn(T, T, T) -> T) {
        for row in 0..self.rows {
            for k in 0..self.depth {
                let a = operands.a[row][k];
                for (sum, b) in operands.c[row].iter_mut().zip(operands.b[k]) {
                    *sum = add_product(*sum, a, b);
                }
            }
        }
    }

    fn scatter<T: Copy>(&self, result: &[[T; COLUMNS]; MAX_ROWS], encode: impl Fn(T) -> u64) -> [Lanes; 4] {
        let mut registers = [[0; 32]; 4];
        let ty = self.accumulator;
        for slot in slots(ty, self.registers()[0]) {
            let (row, column) = position_in_c(ty, slot);
            registers[slot.register][slot.lane] |= encode(result[row][column]) << (slot.element as u32 * ty.bits());
        }
        registers
    }
}

/// The bits of an element.
fn read(ty: Type, registers: &[Lanes], slot: Slot) -> u64 {
    registers[slot.register][slot.lane] >> (slot.element as u32 * ty.bits()) & ty.mask()
}

/// An element as `f32`, exact. The low 13 bits of `tf32` are ignored.
fn single(ty: Type, bits: u64) -> f32 {
    match ty {
        Type::F32 => f32::from_bits(bits as u32),
        Type::TF32 => f32::from_bits(bits as u32 & !0x1fff),
        Type::BF16 => f32::from_bits((bits as u32) << 16),
        Type::F16 => half::f16::from_bits(bits as u16).to_f32(),
        narrow => f32::from_bits(convert(Type::F32, narrow, Modifiers::default(), bits) as u32),
    }
}

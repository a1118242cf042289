use super::fragments::{Slot, elements_per_register, slots};
use super::*;
use crate::arith::{Modifiers, Rounding, Type, convert};
use crate::lanes::Lanes;

/// Every supported form: shape, type of A and B, type of C and D.
const FORMS: [(&str, Type, Type); 20] = [
    ("m16n8k8", Type::F16, Type::F16),
    ("m16n8k8", Type::F16, Type::F32),
    ("m16n8k16", Type::F16, Type::F16),
    ("m16n8k16", Type::F16, Type::F32),
    ("m16n8k8", Type::BF16, Type::F32),
    ("m16n8k16", Type::BF16, Type::F32),
    ("m16n8k4", Type::TF32, Type::F32),
    ("m16n8k8", Type::TF32, Type::F32),
    ("m8n8k16", Type::S8, Type::S32),
    ("m16n8k16", Type::S8, Type::S32),
    ("m16n8k32", Type::U8, Type::S32),
    ("m16n8k16", Type::E4M3, Type::F32),
    ("m16n8k32", Type::E4M3, Type::F32),
    ("m16n8k32", Type::E5M2, Type::F16),
    ("m8n8k4", Type::F64, Type::F64),
    ("m16n8k4", Type::F64, Type::F64),
    ("m16n8k8", Type::F64, Type::F64),
    ("m16n8k16", Type::F64, Type::F64),
    ("m16n8k32", Type::S8, Type::S32),
    ("m8n8k16", Type::U8, Type::S32),
];

fn dimensions(shape: &str) -> [usize; 3] {
    let numbers: Vec<usize> = shape.split(['m', 'n', 'k']).filter_map(|part| part.parse().ok()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn fragments_cover_each_element_once() {
    for (shape, operand, accumulator) in FORMS {
        let [m, n, k] = dimensions(shape);
        let mma = Mma::new(shape, accumulator, operand, operand, accumulator, false).unwrap();
        let [d, a, b, c] = mma.registers();
        assert_eq!(c, d);
        let check = |ty, registers, rows: usize, columns: usize, position: &dyn Fn(Slot) -> (usize, usize)| {
            let mut seen = vec![0; rows * columns];
            for slot in slots(ty, registers) {
                let (row, column) = position(slot);
                seen[row * columns + column] += 1;
            }
            assert!(seen.iter().all(|&count| count == 1), "{shape} {ty:?}");
        };
        check(operand, a, m, k, &|slot| position_in_a(operand, m, slot));
        check(operand, b, k, n, &|slot| position_in_b(operand, slot));
        check(accumulator, c, m, n, &|slot| position_in_c(accumulator, slot));
    }
}

/// Positions from the formulas that the PTX manual prints for each shape, `i` the element of the whole fragment.
#[test]
fn positions_follow_the_manuals_formulas() {
    type Formula = fn(usize, usize, usize) -> (usize, usize);
    let cases: [(Type, usize, Formula); 5] = [
        // m16n8k16 of f16.
        (Type::F16, 4, |group, thread, i| {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            (row, thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        }),
        // m16n8k8 of tf32.
        (Type::TF32, 4, |group, thread, i| {
            (if i == 0 || i == 2 { group } else { group + 8 }, if i < 2 { thread } else { thread + 4 })
        }),
        // m16n8k16 of s8.
        (Type::S8, 2, |group, thread, i| (if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3))),
        // m16n8k32 of s8.
        (Type::S8, 4, |group, thread, i| {
            let row = if i < 4 || (8..12).contains(&i) { group } else { group + 8 };
            (row, thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        }),
        // m16n8k16 of f64.
        (Type::F64, 8, |group, thread, i| match i % 2 {
            0 => (group, i * 2 + thread),
            _ => (group + 8, i * 2 - 2 + thread),
        }),
    ];
    for (ty, registers, formula) in cases {
        for slot in slots(ty, registers) {
            let i = slot.register * elements_per_register(ty) + slot.element;
            let expected = formula(slot.lane / 4, slot.lane % 4, i);
            assert_eq!(position_in_a(ty, 16, slot), expected, "A of {ty:?}: {slot:?}");
        }
    }
    // B of m16n8k16 of f16, of m16n8k32 of s8; C of f32 and f16.
    let slot = |lane, register, element| Slot { lane, register, element };
    assert_eq!(position_in_b(Type::F16, slot(6, 1, 1)), (2 * 2 + 1 + 8, 1));
    assert_eq!(position_in_b(Type::S8, slot(31, 1, 2)), (3 * 4 + 2 + 16, 7));
    assert_eq!(position_in_b(Type::TF32, slot(31, 1, 0)), (3 + 4, 7));
    assert_eq!(position_in_c(Type::F32, slot(13, 3, 0)), (3 + 8, 2 + 1));
    assert_eq!(position_in_c(Type::F16, slot(13, 1, 1)), (3 + 8, 2 + 1));
}

/// Bits of a small number that every type represents.
fn encode(ty: Type, value: i64) -> u64 {
    let nearest = Modifiers { rounding: Some(Rounding::Nearest), ..Modifiers::default() };
    match ty {
        Type::S8 | Type::U8 | Type::S32 => value as u64 & ty.mask(),
        Type::E4M3 | Type::E5M2 => {
            let pair = if ty == Type::E4M3 { Type::E4M3x2 } else { Type::E5M2x2 };
            let finite = Modifiers { satfinite: true, ..nearest };
            let half = convert(Type::F16, Type::S32, nearest, value as u64);
            convert(pair, Type::F16x2, finite, half) & 0xff
        }
        Type::TF32 => convert(Type::F32, Type::S64, nearest, value as u64),
        _ => convert(ty, Type::S64, nearest, value as u64),
    }
}

/// A fragment of a matrix, filled through the map under test's inverse.
fn fragment(ty: Type, registers: usize, value: impl Fn(Slot) -> i64) -> Vec<Lanes> {
    let mut fragment = vec![[0; 32]; registers];
    for slot in slots(ty, registers) {
        fragment[slot.register][slot.lane] |= encode(ty, value(slot)) << (slot.element as u32 * ty.bits());
    }
    fragment
}

#[test]
fn products_of_small_integers_are_exact_in_every_form() {
    for (shape, operand, accumulator) in FORMS {
        let [m, n, k] = dimensions(shape);
        let mma = Mma::new(shape, accumulator, operand, operand, accumulator, false).unwrap();
        let [_, a_registers, b_registers, c_registers] = mma.registers();
        let negative = if operand == Type::U8 { 0 } else { 2 };
        let a = |row: usize, column: usize| ((row * 3 + column * 5) % 5) as i64 - negative;
        let b = |row: usize, column: usize| ((row * 7 + column * 2) % 4) as i64 - negative;
        let c = |row: usize, column: usize| (row * 8 + column) as i64 - 50;
        let at = |f: &dyn Fn(usize, usize) -> i64, (row, column)| f(row, column);
        let result = mma.multiply(
            &fragment(operand, a_registers, |slot| at(&a, position_in_a(operand, m, slot))),
            &fragment(operand, b_registers, |slot| at(&b, position_in_b(operand, slot))),
            &fragment(accumulator, c_registers, |slot| at(&c, position_in_c(accumulator, slot))),
        );
        let expected = fragment(accumulator, c_registers, |slot| {
            let (row, column) = position_in_c(accumulator, slot);
            assert!(row < m && column < n);
            c(row, column) + (0..k).map(|i| a(row, i) * b(i, column)).sum::<i64>()
        });
        assert_eq!(result[..c_registers], expected, "{shape} {operand:?} {accumulator:?}");
    }
}

/// An f16 accumulator that were rounded after each product would lose these products.
#[test]
fn half_accumulators_round_once() {
    let mma = Mma::new("m16n8k16", Type::F16, Type::F16, Type::F16, Type::F16, false).unwrap();
    let ones = |registers| vec![[0x3c00_3c00; 32]; registers];
    let accumulator = vec![[0x6800_6800; 32]; 2]; // 2048, where the next f16 is 2050
    let result = mma.multiply(&ones(4), &ones(2), &accumulator);
    assert_eq!(result[0][0] & 0xffff, 0x6808, "2048 + 16 × 1 = 2064");
}

#[test]
fn integers_wrap_or_saturate() {
    for (satfinite, expected) in [(false, 0x7fff_ffff_u32.wrapping_add(32 * 127 * 127)), (true, 0x7fff_ffff)] {
        let mma = Mma::new("m16n8k32", Type::S32, Type::S8, Type::S8, Type::S32, satfinite).unwrap();
        let largest = |registers| vec![[0x7f7f_7f7f; 32]; registers];
        let result = mma.multiply(&largest(4), &largest(2), &vec![[0x7fff_ffff; 32]; 4]);
        assert_eq!(result[3][31], expected.into());
    }
    let mixed = Mma::new("m16n8k16", Type::S32, Type::U8, Type::S8, Type::S32, false).unwrap();
    let result = mixed.multiply(&[[0xffff_ffff; 32]; 2], &[[0xffff_ffff; 32]; 1], &[[0; 32]; 4]);
    assert_eq!(result[0][0] as i32, -16 * 255);
}

#[test]
fn low_bits_of_tf32_are_ignored() {
    let mma = Mma::new("m16n8k4", Type::F32, Type::TF32, Type::TF32, Type::F32, false).unwrap();
    let result = mma.multiply(&[[0x3f80_1fff; 32]; 2], &[[0x3f80_0000; 32]; 1], &[[0; 32]; 4]);
    assert_eq!(result[0][0], f32::to_bits(4.0).into());
}

#[test]
fn forms_require_targets() {
    let target = |shape, a, c| Mma::new(shape, c, a, a, c, false).unwrap().target();
    assert_eq!(target("m16n8k8", Type::F16, Type::F32), 75);
    assert_eq!(target("m16n8k16", Type::F16, Type::F32), 80);
    assert_eq!(target("m8n8k4", Type::F64, Type::F64), 80);
    assert_eq!(target("m16n8k8", Type::F64, Type::F64), 90);
    assert_eq!(target("m16n8k32", Type::E4M3, Type::F32), 89);
}

#[test]
fn other_forms_are_named() {
    let refused = Mma::new("m8n8k4", Type::F32, Type::F16, Type::F16, Type::F32, false);
    assert_eq!(refused, Err("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32".to_owned()));
    assert!(Mma::new("m16n8k16", Type::F32, Type::F16, Type::BF16, Type::F32, false).is_err());
    assert!(Mma::new("m16n8k16", Type::F32, Type::F16, Type::F16, Type::F16, false).is_err());
    assert!(Mma::new("m16n8k16", Type::F32, Type::F16, Type::F16, Type::F32, true).is_err());
    assert!(Mma::new("m16n8k8", Type::S32, Type::S8, Type::S8, Type::S32, false).is_err());
}

/// Rows with the element `100 * row + column` of matrix `i` in rows `8 * i ..`.
fn rows(count: usize) -> Vec<[u8; 16]> {
    let element = |row: usize, column: usize| (100 * row + column) as u16;
    let row = |row| {
        let mut bytes = [0; 16];
        for column in 0..8 {
            bytes[2 * column..2 * column + 2].copy_from_slice(&element(row, column).to_le_bytes());
        }
        bytes
    };
    (0..8 * count).map(row).collect()
}

#[test]
fn matrices_load_row_by_row_or_transposed() {
    let plain = load_matrices(&rows(4), false);
    let transposed = load_matrices(&rows(4), true);
    for matrix in 0..4 {
        for lane in 0..32 {
            let (major, minor) = (lane / 4, 2 * (lane % 4));
            let element = |row: usize, column: usize| (100 * (8 * matrix + row) + column) as u64;
            assert_eq!(plain[matrix][lane], element(major, minor) | element(major, minor + 1) << 16);
            assert_eq!(transposed[matrix][lane], element(minor, major) | element(minor + 1, major) << 16);
        }
    }
    assert_eq!(load_matrices(&rows(1), false)[1], [0; 32], "the other registers stay zero");
}

#[test]
fn stores_undo_loads() {
    for transpose in [false, true] {
        let registers = load_matrices(&rows(2), transpose);
        assert_eq!(store_matrices(&registers[..2], transpose)[..16], rows(2)[..]);
    }
    let register = load_matrices(&rows(1), false)[0];
    assert_eq!(transpose_matrix(&register), load_matrices(&rows(1), true)[0]);
}

/// `ldmatrix.x4` of a row-major 16 × 16 tile and `.x2.trans` of a row-major B give the fragments of `m16n8k16`.
#[test]
fn loads_give_the_fragments_of_mma() {
    let tile = |row: usize, column: usize| (row * 16 + column) as u16;
    // Lanes 0 to 15 address the left halves of rows 0 to 15, lanes 16 to 31 the right halves.
    let address = |lane: usize| (lane % 16, 8 * (lane / 16));
    let row = |lane| {
        let (row, column) = address(lane);
        let mut bytes = [0; 16];
        for i in 0..8 {
            bytes[2 * i..2 * i + 2].copy_from_slice(&tile(row, column + i).to_le_bytes());
        }
        bytes
    };
    let a = load_matrices(&(0..32).map(row).collect::<Vec<_>>(), false);
    let b = load_matrices(&(0..16).map(row).collect::<Vec<_>>(), true);
    for slot in slots(Type::F16, 4) {
        let found = (a[slot.register][slot.lane] >> (16 * slot.element)) as u16;
        let (row, column) = position_in_a(Type::F16, 16, slot);
        assert_eq!(found, tile(row, column), "A: {slot:?}");
    }
    for slot in slots(Type::F16, 2) {
        let found = (b[slot.register][slot.lane] >> (16 * slot.element)) as u16;
        let (row, column) = position_in_b(Type::F16, slot);
        assert_eq!(found, tile(row, column), "B: {slot:?}");
    }
}

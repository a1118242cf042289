use crate::arith::*;

const PLAIN: Modifiers = Modifiers {
    rounding: None,
    to_integer: false,
    ftz: false,
    sat: false,
    satfinite: false,
    approx: false,
    full: false,
    relu: false,
    nan: false,
    xorsign_abs: false,
};
const SAT: Modifiers = Modifiers { sat: true, ..PLAIN };

const WORDS: [u32; 12] =
    [0, 1, 2, 7, 31, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff, 0x1234_5678, 0xdead_beef];

#[test]
fn words_match_the_hosts_arithmetic() {
    for a in WORDS {
        for b in WORDS {
            let (x, y) = (a as i32, b as i32);
            let cases = [
                (Binary::Add, Type::U32, a.wrapping_add(b)),
                (Binary::Sub, Type::S32, x.wrapping_sub(y) as u32),
                (Binary::MulLo, Type::S32, x.wrapping_mul(y) as u32),
                (Binary::MulHi, Type::U32, ((u64::from(a) * u64::from(b)) >> 32) as u32),
                (Binary::MulHi, Type::S32, ((i64::from(x) * i64::from(y)) >> 32) as u32),
                (Binary::Div, Type::U32, a.checked_div(b).unwrap_or(u32::MAX)),
                (Binary::Rem, Type::U32, a.checked_rem(b).unwrap_or(a)),
                (Binary::Div, Type::S32, if y == 0 { u32::MAX } else { x.wrapping_div(y) as u32 }),
                (Binary::Rem, Type::S32, if y == 0 { a } else { x.wrapping_rem(y) as u32 }),
                (Binary::Min, Type::S32, x.min(y) as u32),
                (Binary::Max, Type::U32, a.max(b)),
                (Binary::Xor, Type::B32, a ^ b),
                (Binary::Shl, Type::B32, a.checked_shl(b).unwrap_or(0)),
                (Binary::Shr, Type::U32, a.checked_shr(b).unwrap_or(0)),
                (Binary::Shr, Type::S32, (x >> b.min(31)) as u32),
            ];
            for (op, ty, expected) in cases {
                // Bits above the width must not matter.
                let found = binary(op, ty, PLAIN, u64::from(a) | 0xabcd << 32, b.into());
                assert_eq!(found, expected.into(), "{op:?} {ty:?} {a:x} {b:x}");
            }
            let sum = binary(Binary::Add, Type::S32, SAT, a.into(), b.into());
            assert_eq!(sum, u64::from(x.saturating_add(y) as u32));
            let wide = binary(Binary::MulWide, Type::S32, PLAIN, a.into(), b.into());
            assert_eq!(wide, (i64::from(x) * i64::from(y)) as u64);
            let mad = ternary(Ternary::MadHi, Type::S32, SAT, a.into(), b.into(), 0x7fff_ffff);
            let high = ((i64::from(x) * i64::from(y)) >> 32) as i32;
            assert_eq!(mad, u64::from(high.saturating_add(i32::MAX) as u32));
            let sad = ternary(Ternary::Sad, Type::S32, PLAIN, a.into(), b.into(), 5);
            assert_eq!(sad, u64::from(x.abs_diff(y).wrapping_add(5)));
        }
    }
}

#[test]
fn doublewords_match_the_hosts_arithmetic() {
    let values = [0u64, 1, 3, u64::MAX, 1 << 63, (1 << 63) - 1, 0x1234_5678_9abc_def0];
    for a in values {
        for b in values {
            let (x, y) = (a as i64, b as i64);
            let cases = [
                (Binary::MulHi, Type::U64, ((u128::from(a) * u128::from(b)) >> 64) as u64),
                (Binary::MulHi, Type::S64, ((i128::from(x) * i128::from(y)) >> 64) as u64),
                (Binary::MulLo, Type::U64, a.wrapping_mul(b)),
                (Binary::Div, Type::S64, if y == 0 { u64::MAX } else { x.wrapping_div(y) as u64 }),
                (Binary::Rem, Type::S64, if y == 0 { a } else { x.wrapping_rem(y) as u64 }),
                (Binary::Shr, Type::S64, (x >> (b as u32).min(63)) as u64),
                (Binary::Shl, Type::B64, a.checked_shl(b as u32).unwrap_or(0)),
            ];
            for (op, ty, expected) in cases {
                assert_eq!(binary(op, ty, PLAIN, a, b), expected, "{op:?} {ty:?} {a:x} {b:x}");
            }
            let wide = ternary(Ternary::MadWide, Type::U32, PLAIN, a, b, a);
            assert_eq!(wide, ((a & 0xffff_ffff) * (b & 0xffff_ffff)).wrapping_add(a));
            let (sum, carry) = add_with_carry(Type::U64, a, b, true);
            assert_eq!(u128::from(sum) + (u128::from(carry) << 64), u128::from(a) + u128::from(b) + 1);
            let (difference, borrow) = sub_with_borrow(Type::U64, a, b, false);
            assert_eq!((difference, borrow), a.overflowing_sub(b));
        }
    }
}

#[test]
fn narrow_types_wrap_at_their_width() {
    assert_eq!(binary(Binary::Add, Type::U16, PLAIN, 0xffff, 1), 0);
    assert_eq!(binary(Binary::MulWide, Type::S16, PLAIN, 0xffff, 2), 0xffff_fffe);
    assert_eq!(binary(Binary::MulHi, Type::U16, PLAIN, 0x8000, 4), 2);
    assert_eq!(binary(Binary::Shl, Type::B16, PLAIN, 1, 16), 0);
    assert_eq!(binary(Binary::Add, Type::S16x2, PLAIN, 0x0001_ffff, 0x0001_0001), 0x0002_0000);
    assert_eq!(binary(Binary::Max, Type::S16x2, PLAIN, 0xffff_0001, 0x0000_8000), 0x0000_0001);
    assert_eq!(binary(Binary::Mul24Lo, Type::S32, PLAIN, 0x00ff_ffff, 3), 0xffff_fffd);
    assert_eq!(unary(Unary::Not, Type::Pred, PLAIN, 1), 0);
    assert_eq!(unary(Unary::Abs, Type::S32, PLAIN, 0x8000_0000), 0x8000_0000);
}

#[test]
fn bits_are_counted_and_found() {
    assert_eq!(unary(Unary::Popc, Type::B64, PLAIN, u64::MAX), 64);
    assert_eq!(unary(Unary::Clz, Type::B32, PLAIN, 1), 31);
    assert_eq!(unary(Unary::Clz, Type::B32, PLAIN, 0), 32);
    assert_eq!(unary(Unary::Clz, Type::B64, PLAIN, 1), 63);
    assert_eq!(unary(Unary::Brev, Type::B32, PLAIN, 1), 0x8000_0000);
    assert_eq!(unary(Unary::Bfind, Type::U32, PLAIN, 0x0001_0000), 16);
    assert_eq!(unary(Unary::Bfind, Type::S32, PLAIN, 0xffff_fffe), 0);
    assert_eq!(unary(Unary::Bfind, Type::S32, PLAIN, 0xffff_ffff), 0xffff_ffff);
    assert_eq!(unary(Unary::BfindShiftamt, Type::U64, PLAIN, 1), 63);
    assert_eq!(unary(Unary::Cnot, Type::B32, PLAIN, 0), 1);
}

/// The manual's pseudocode, bit by bit.
fn bfe_by_bits(ty: Type, a: u64, position: u64, length: u64) -> u64 {
    let top = u64::from(ty.bits()) - 1;
    let bit = |i: u64| a >> i & 1;
    let sign = if !ty.is_signed() || length == 0 { 0 } else { bit((position + length - 1).min(top)) };
    let field = |i| if i < length && position + i <= top { bit(position + i) } else { sign };
    (0..=top).map(|i| field(i) << i).sum()
}

#[test]
fn bit_fields_follow_the_manual() {
    let mut random = fastrand::Rng::with_seed(1);
    for ty in [Type::U32, Type::S32, Type::U64, Type::S64] {
        for position in (0..70).chain([255]) {
            for length in (0..70).chain([255]) {
                let (a, b) = (random.u64(..) & ty.mask(), random.u64(..) & ty.mask());
                let extracted = ternary(Ternary::Bfe, ty, PLAIN, a, position, length);
                assert_eq!(extracted, bfe_by_bits(ty, a, position, length), "{ty:?} {a:x} {position} {length}");
                let mut inserted = b;
                for i in (0..length).filter(|i| position + i < ty.bits().into()) {
                    let bit = position + i;
                    inserted = (inserted & !(1 << bit)) | (if i < 64 { a >> i & 1 } else { 0 }) << bit;
                }
                assert_eq!(bfi(ty, a, b, position, length), inserted, "{ty:?} {position} {length}");
            }
        }
    }
}

#[test]
fn bytes_are_permuted() {
    let (a, b) = (0x3322_1100, 0x7766_5544);
    assert_eq!(prmt(PrmtMode::Index, a, b, 0x7531), 0x7755_3311);
    assert_eq!(prmt(PrmtMode::Index, 0x8000, 0, 0x0091), 0x0000_ff80);
    assert_eq!(prmt(PrmtMode::F4e, a, b, 1), 0x4433_2211);
    assert_eq!(prmt(PrmtMode::B4e, a, b, 1), 0x6677_0011);
    assert_eq!(prmt(PrmtMode::Rc8, a, b, 2), 0x2222_2222);
    assert_eq!(prmt(PrmtMode::Ecl, a, b, 2), 0x3322_2222);
    assert_eq!(prmt(PrmtMode::Ecr, a, b, 2), 0x2222_1100);
    assert_eq!(prmt(PrmtMode::Rc16, a, b, 3), 0x3322_3322);
}

#[test]
fn logic_tables_and_funnel_shifts() {
    let (a, b, c) = (0x0f0f_1234, 0x3333_5678, 0x5555_9abc);
    assert_eq!(lop3(a, b, c, 0x80), a & b & c);
    assert_eq!(lop3(a, b, c, 0xfe), a | b | c);
    assert_eq!(lop3(a, b, c, 0x96), a ^ b ^ c);
    assert_eq!(lop3(a, b, c, 0x40), a & b & !c);
    assert_eq!(lop3(a, b, c, 0xca), (a & b) | (!a & c & 0xffff_ffff));
    for n in 0..32 {
        assert_eq!(shf(true, true, a, a, n), u64::from((a as u32).rotate_left(n as u32)));
        assert_eq!(shf(false, false, a, b, n), ((b << 32 | a) >> n) & 0xffff_ffff);
    }
    assert_eq!(shf(true, false, a, b, 40), a);
    assert_eq!(shf(false, false, a, b, 32), b);
    assert_eq!(shf(false, true, a, b, 32), a);
}

#[test]
fn packed_dot_products() {
    // Bytes −1, 2, −3, 4 and 5, 6, 7, 8, lowest first.
    let (a, b) = (0x04fd_02ff, 0x0807_0605);
    assert_eq!(dp4a([true, true], a, b, 100), (100 - 5 + 12 - 21 + 32) as u64);
    assert_eq!(dp4a([false, true], a, b, 0), (255 * 5 + 12 + 253 * 7 + 32) as u64);
    assert_eq!(dp4a([true, true], 0xff, 1, 0), 0xffff_ffff);
    // Halves −1 and 2.
    assert_eq!(dp2a(false, [true, true], 0x0002_ffff, b, 0), 12 - 5);
    assert_eq!(dp2a(true, [true, true], 0x0002_ffff, b, 0), 16 - 7);
}

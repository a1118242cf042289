//! Operations of lanes on their own registers.
use super::{
    Grid, Outcome,
    block::Block,
    execute::{Turn, find_lane},
    spaces::resolve,
    warp::Warp,
};
use crate::{
    arith::{
        Binary, Type, add_with_carry, bfi, binary, compare, convert, convert_pair, dp2a, dp4a, is_division_by_zero,
        lop3, prmt, shf, sub_with_borrow, ternary, testp, unary,
    },
    lanes::{self, Lanes, lanes},
    ptx::op::{Carry, CarryKind, Compare, Function, Op, Source, Space},
};

/// Computes a value for each lane of a mask.
fn map(mask: u32, f: impl Fn(usize) -> u64) -> Lanes {
    let mut values = [0; 32];
    if mask == u32::MAX {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = f(lane);
        }
    } else {
        for lane in lanes(mask) {
            values[lane] = f(lane);
        }
    }
    values
}

impl Grid<'_> {
    pub(super) fn compute(&mut self, block: &Block, warp: &mut Warp, turn: Turn<'_>, op: &Op) -> Outcome<()> {
        let mask = turn.mask;
        let read = |warp: &Warp, source: Source| self.read(block, warp, source);
        match op {
            Op::Compute { function, dst, args } => {
                let args = args.map(|source| read(warp, source));
                if let Function::Binary(op @ (Binary::Div | Binary::Rem), ty, _) = *function
                    && let Some(lane) = find_lane(mask, |lane| is_division_by_zero(op, ty, args[1][lane]))
                {
                    return self.trap(lane, "division of an integer by zero");
                }
                warp.write(*dst, mask, &apply(*function, mask, &args));
            }
            Op::Carry { carry, dst, args } => {
                let args = args.map(|source| read(warp, source));
                let (values, carried) = apply_carry(*carry, mask, &args, warp.carry);
                warp.write(*dst, mask, &values);
                if carry.writes {
                    warp.carry = warp.carry & !mask | carried;
                }
            }
            Op::SetPredicate { compare, dst, complement } => {
                let (truth, falsehood) = self.compare(block, warp, mask, compare);
                if let Some(dst) = dst {
                    warp.write_predicate(*dst, mask, truth);
                }
                if let Some(complement) = complement {
                    warp.write_predicate(*complement, mask, falsehood);
                }
            }
            Op::Set { compare, dst, truth } => {
                let (low, high) = self.compare(block, warp, mask, compare);
                // Of packed values the second predicate is that of the upper half.
                let halves = |lane: usize| {
                    truth & ((0xffff * u64::from(low >> lane & 1)) | (0xffff_0000 * u64::from(high >> lane & 1)))
                };
                let whole = |lane: usize| truth * u64::from(low >> lane & 1);
                let values = if compare.ty.is_packed() { map(mask, halves) } else { map(mask, whole) };
                warp.write(*dst, mask, &values);
            }
            Op::TestProperty { property, ty, dst, a } => {
                let a = read(warp, *a);
                warp.write_predicate(*dst, mask, lanes::filter(mask, |lane| testp(*property, *ty, a[lane])));
            }
            Op::PredicateMove { dst, a } => warp.write_predicate(*dst, mask, a.mask(warp)),
            Op::PredicateLogic { logic, dst, a, b } => {
                warp.write_predicate(*dst, mask, logic.apply(a.mask(warp), b.mask(warp)));
            }
            Op::Select { dst, a, b, predicate } => {
                let (a, b, choice) = (read(warp, *a), read(warp, *b), predicate.mask(warp));
                warp.write(*dst, mask, &map(mask, |lane| if choice >> lane & 1 != 0 { a[lane] } else { b[lane] }));
            }
            Op::Pack { dst, parts, bits } => {
                let mut values = [0; 32];
                for (index, &part) in parts.iter().enumerate() {
                    let part = read(warp, part);
                    for lane in lanes(mask) {
                        values[lane] |= (part[lane] & ((1 << bits) - 1)) << (index as u32 * bits);
                    }
                }
                warp.write(*dst, mask, &values);
            }
            Op::Unpack { dst, a, bits } => {
                let a = read(warp, *a);
                for (index, dst) in dst.iter().enumerate() {
                    if let Some(dst) = dst {
                        warp.write(*dst, mask, &map(mask, |lane| a[lane] >> (index as u32 * bits) & ((1 << bits) - 1)));
                    }
                }
            }
            Op::IsSpace { dst, space, a } => {
                let a = read(warp, *a);
                let is_space = |lane: usize| match (resolve(Space::Generic, a[lane]).0, space) {
                    (Space::Global, Space::Const) => self.constant_at(a[lane]).is_some(),
                    (Space::Global, Space::Global) => self.constant_at(a[lane]).is_none(),
                    (found, space) => found == *space,
                };
                warp.write_predicate(*dst, mask, lanes::filter(mask, is_space));
            }
            Op::ActiveMask { dst } => warp.write(*dst, mask, &[mask.into(); 32]),
            other => return self.trap(turn.first_lane(), format!("no operation of a lane: {other:?}")),
        }
        Ok(())
    }

    /// Lanes for which a comparison is true, and those for which it is false; of packed values the upper halves.
    fn compare(&self, block: &Block, warp: &Warp, mask: u32, compared: &Compare) -> (u32, u32) {
        let Compare { comparison, ty, ftz, .. } = *compared;
        let (a, b) = (self.read(block, warp, compared.a), self.read(block, warp, compared.b));
        let half = ty.half();
        let low = lanes::filter(mask, |lane| compare(comparison, half, ftz, a[lane], b[lane]));
        let high = if ty.is_packed() {
            lanes::filter(mask, |lane| compare(comparison, half, ftz, a[lane] >> 16, b[lane] >> 16))
        } else {
            !low
        };
        match compared.combine {
            None => (low, high),
            Some((logic, predicate)) => {
                let other = predicate.mask(warp);
                (logic.apply(low, other), logic.apply(high, other))
            }
        }
    }
}

fn apply(function: Function, mask: u32, [a, b, c, d]: &[Lanes; 4]) -> Lanes {
    match function {
        Function::Move => *a,
        Function::Unary(op, ty, m) => map(mask, |i| unary(op, ty, m, a[i])),
        Function::Binary(op, ty, m) => map(mask, |i| binary(op, ty, m, a[i], b[i])),
        Function::Ternary(op, ty, m) => map(mask, |i| ternary(op, ty, m, a[i], b[i], c[i])),
        Function::Convert(to, from, m) => map(mask, |i| convert(to, from, m, a[i])),
        Function::ConvertPair(to, from, m) => map(mask, |i| convert_pair(to, from, m, a[i], b[i])),
        Function::SelectBySign(Type::S32) => map(mask, |i| if c[i] as i32 >= 0 { a[i] } else { b[i] }),
        // Minus zero counts as zero; a NaN chooses the second.
        Function::SelectBySign(_) => map(mask, |i| if f32::from_bits(c[i] as u32) >= 0.0 { a[i] } else { b[i] }),
        Function::Lop3(table) => map(mask, |i| lop3(a[i], b[i], c[i], table)),
        Function::Prmt(mode) => map(mask, |i| prmt(mode, a[i], b[i], c[i])),
        Function::Shf { left, wrap } => map(mask, |i| shf(left, wrap, a[i], b[i], c[i])),
        Function::Bfi(ty) => map(mask, |i| bfi(ty, a[i], b[i], c[i], d[i])),
        Function::Dp4a(signed) => map(mask, |i| dp4a(signed, a[i], b[i], c[i])),
        Function::Dp2a { high, signed } => map(mask, |i| dp2a(high, signed, a[i], b[i], c[i])),
    }
}

/// Computes with the carry flag: values, and the lanes that carry.
fn apply_carry(carry: Carry, mask: u32, [a, b, c]: &[Lanes; 3], flags: u32) -> (Lanes, u32) {
    let Carry { kind, ty, reads, .. } = carry;
    let (mut values, mut carried) = ([0; 32], 0);
    for lane in lanes(mask) {
        let flag = reads && flags >> lane & 1 != 0;
        let (value, carry) = match kind {
            CarryKind::Add => add_with_carry(ty, a[lane], b[lane], flag),
            CarryKind::Sub => sub_with_borrow(ty, a[lane], b[lane], flag),
            CarryKind::Mad(op) => {
                add_with_carry(ty, binary(op, ty, Default::default(), a[lane], b[lane]), c[lane], flag)
            }
        };
        values[lane] = value;
        carried |= u32::from(carry) << lane;
    }
    (values, carried)
}

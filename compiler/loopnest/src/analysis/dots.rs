//! Dot-product instructions: several multiply-adds of narrow operands at once (dot4, dot2).
//!
//! A *dot instruction* multiplies 32 bits of each operand, a *packed group*: four 8-bit elements (VNNI) or two of 16
//! bits (DPBF16). If the elements of a group are contiguous in memory, the group is loaded directly. Otherwise a copy
//! packs the groups, and pads the last one with zeros. Constants are packed at compile time: `x[k // 4, j, k % 4]` is a
//! [packed](packed) layout.
//!
//! An operand of less than 8 bits may be extracted from words by a shift and a mask. If the words hold four consecutive
//! elements in the same bits of their four bytes, the same shift and a mask for all bytes extract a packed group.
//!
//! An 8-bit operand may have its sign bit flipped, `T.bitwise_xor(T.reinterpret("uint8", x[i, k]), 128)`: it is shifted
//! by +128 for `vpdpbusd`, which needs one unsigned operand, and the accumulator starts at the compensation term. See
//! [`NarrowOperand::sign_flipped`].

use crate::{
    Axis, Stage,
    access::{contraction_operands, elements_per_value, is_unit},
    index::Simplifier,
    replaced, steps, substitution,
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, PrimKind, Substitution, Var, binary,
        flat::{Dot, GROUP_BYTES, LOAD_PACKED, PACKED_DTYPE},
    },
    tir::Buffer,
};
use hammock_target::Target;

/// Returns true if a target supports a dot instruction, natively or by sequences that are as fast, and it rounds as
/// required.
pub fn is_supported(dot: Dot, target: &Target, strict_order: bool) -> bool {
    match dot {
        Dot::Bytes(_) => true,
        // The sum is rounded once for both elements, and denormals are flushed to zero.
        Dot::Bfloat16 => target.bfloat16_dot && !strict_order,
    }
}

/// Narrow operand of a contraction.
pub struct NarrowOperand<'a> {
    /// Its load.
    pub load: &'a PrimExpr,
    /// True if its sign bit is flipped after the load.
    pub sign_flipped: bool,
    /// The bits that are extracted from the load, if it loads words.
    pub bits: Option<&'a PrimExpr>,
    /// Its dtype.
    dtype: DType,
}

impl NarrowOperand<'_> {
    /// Returns the operand that an upcast converts.
    fn of(narrow: &PrimExpr) -> Option<NarrowOperand<'_>> {
        let is_load = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(_, _, None)) && e.dtype().is_scalar();
        let dtype = narrow.dtype();
        if is_load(narrow) {
            return Some(NarrowOperand { load: narrow, sign_flipped: false, bits: None, dtype });
        }
        if let PrimKind::Cast(bits) = narrow.kind() {
            let load = word_of(bits).filter(|load| dtype == DType::UINT8 && is_load(load))?;
            return Some(NarrowOperand { load, sign_flipped: false, bits: Some(bits), dtype });
        }
        let [raw, sign] = &narrow.as_intrin("bitwise_xor")?.args[..] else { return None };
        let [load] = &raw.as_intrin("reinterpret")?.args[..] else { return None };
        let byte = |dtype: DType| dtype.is_integer() && dtype.bits == 8 && dtype.is_scalar();
        let turned = sign.as_int().is_some_and(|sign| sign & 0xff == SIGN) && byte(dtype);
        let of_bytes = byte(load.dtype()) || load.dtype() == PACKED_DTYPE;
        (turned && of_bytes && is_load(load)).then_some(NarrowOperand { load, sign_flipped: true, bits: None, dtype })
    }
}

/// Returns the word from which a shift and a mask extract up to 8 bits.
fn word_of(bits: &PrimExpr) -> Option<&PrimExpr> {
    let [shifted, mask] = &bits.as_intrin("bitwise_and")?.args[..] else { return None };
    let [word, _] = &shifted.as_intrin("shift_right")?.args[..] else { return None };
    let is_mask = mask.as_int().is_some_and(|mask| (1..=0xff).contains(&mask));
    (is_mask && bits.dtype() == PACKED_DTYPE && word.dtype() == PACKED_DTYPE).then_some(word)
}

/// Returns true if words hold groups of four consecutive elements along an axis in the same bits of their bytes.
pub fn has_packed_bits(bits: &PrimExpr, axis: &Axis) -> bool {
    let (Some(load), Some(and)) = (word_of(bits), bits.as_intrin("bitwise_and")) else { return false };
    let (Some(shift), PrimKind::Load(buffer, indices, None)) =
        (and.args[0].as_intrin("shift_right").map(|shift| &shift.args[1]), load.kind())
    else {
        return false;
    };
    let position = if let PrimKind::Cast(position) = shift.kind() { position } else { shift };
    let per_word = elements_per_value(load, &axis.var);
    let group = GROUP_BYTES;
    if per_word % group != 0 || per_word > i64::from(PACKED_DTYPE.bits) || indices.is_empty() || !is_compact(buffer) {
        return false;
    }
    // The shift depends on the position in the word alone, so a comparison for each position is a proof.
    let shift_at = |at: i64| {
        let values = Substitution::from_iter([(axis.var.clone(), PrimExpr::int(at, axis.var.dtype()))]);
        Simplifier::default().index(&position.substitute(&values)).as_int()
    };
    let in_order = |at: i64| {
        shift_at(at).is_some_and(|shift| {
            Some(shift - at % group * 8) == shift_at(at - at % group) && (at % group != 0 || (0..8).contains(&shift))
        })
    };
    depends_on_remainder(position, &axis.var, per_word) && (0..per_word).all(in_order)
}

/// Returns true if an expression uses a variable only as the remainder of a division by divisors of `size`.
fn depends_on_remainder(e: &PrimExpr, var: &Var, size: i64) -> bool {
    match e.kind() {
        PrimKind::Binary(BinaryOp::FloorMod, position, divisor) if position.as_var() == Some(var) => {
            divisor.as_int().is_some_and(|divisor| divisor > 0 && size % divisor == 0)
        }
        PrimKind::Var(own) => own != var,
        _ => {
            let mut all = true;
            e.each_child(&mut |child| all &= depends_on_remainder(child, var, size));
            all
        }
    }
}

/// Extracts a packed group from a word, where the first of its elements is extracted.
pub fn group_of_bits(first: &PrimExpr) -> PrimExpr {
    let Some((shifted, mask)) =
        first.as_intrin("bitwise_and").and_then(|and| Some((&and.args[0], and.args[1].as_int()?)))
    else {
        unreachable!("the bits of a narrow operand are masked")
    };
    let mask = PrimExpr::int(mask * BYTES, PACKED_DTYPE);
    PrimExpr::intrin("bitwise_and", vec![shifted.clone(), mask], PACKED_DTYPE)
}

/// One in each byte.
const BYTES: i64 = 0x0101_0101;
/// The sign bit of a byte.
const SIGN: i64 = 0x80;

/// Returns the dot instruction of a stage, if it is a contraction of two narrow operands from memory in the
/// wide dtype.
pub fn dot(stage: &Stage) -> Option<Dot> {
    let [a, b] = narrow_operands(stage)?.map(|factor| factor.dtype);
    let integer = |dtype: DType| dtype.is_integer() && dtype.bits == 8;
    match stage.buffer.dtype {
        DType::INT32 | DType::UINT32 if integer(a) && integer(b) => Some(Dot::Bytes([a.is_int(), b.is_int()])),
        DType::FLOAT32 if a.is_bfloat16() && b.is_bfloat16() => Some(Dot::Bfloat16),
        _ => None,
    }
}

/// Returns the operands of a contraction, before their upcasts.
pub fn narrow_operands(stage: &Stage) -> Option<[NarrowOperand<'_>; 2]> {
    let (a, b) = contraction_operands(stage)?;
    let factor = |factor| match PrimExpr::kind(factor) {
        PrimKind::Cast(narrow) => NarrowOperand::of(narrow),
        _ => None,
    };
    Some([factor(a)?, factor(b)?])
}

/// Returns the loads of the operands of a contraction, before their upcasts.
pub fn narrow_loads(stage: &Stage) -> Option<[&PrimExpr; 2]> {
    Some(narrow_operands(stage)?.map(|factor| factor.load))
}

/// Returns the load of the packed group along an axis, if memory has the packed layout: for `x[k // 4, j, k % 4]` it is
/// the load at `[k // 4, j]`. The padding of the last group is unspecified.
pub fn packed(load: &PrimExpr, axis: &Axis, dot: Dot) -> Option<PrimExpr> {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let (last, rest) = indices.split_last()?;
    let of = |index: &PrimExpr, wanted: BinaryOp| match index.kind() {
        PrimKind::Binary(op, a, b) => {
            *op == wanted && a.as_var() == Some(&axis.var) && b.as_int() == Some(dot.group_size())
        }
        _ => false,
    };
    let (used, groups) = rest
        .iter()
        .filter(|index| index.uses(&axis.var))
        .fold((0, 0), |(used, groups), index| (used + 1, groups + usize::from(of(index, BinaryOp::FloorDiv))));
    let whole = buffer.shape.last().and_then(PrimExpr::as_int) == Some(dot.group_size()) && is_compact(buffer);
    if !whole || axis.extent.as_int().is_none() || !of(last, BinaryOp::FloorMod) || used != 1 || groups != 1 {
        return None;
    }
    let groups = buffer.change(|b| {
        b.dtype = PACKED_DTYPE;
        b.shape.pop();
        b.align = GROUP_BYTES / dot.group_size();
    });
    Some(PrimExpr::load(&groups, rest.to_vec()))
}

/// Returns true if a buffer is compact and starts at its memory's first element.
fn is_compact(buffer: &Buffer) -> bool {
    buffer.strides.is_empty() && buffer.elem_offset.is_none() && buffer.dtype.is_scalar()
}

/// Returns true if a load is contiguous along an axis, so that packed groups can be loaded directly.
pub fn has_contiguous_groups(load: &PrimExpr, axis: &Axis) -> bool {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return false };
    let Some((last, rest)) = indices.split_last() else { return false };
    buffer.strides.is_empty() && is_unit(last, &axis.var) && rest.iter().all(|index| !index.uses(&axis.var))
}

/// Loads the packed group that starts at a load.
pub fn load_packed(load: &PrimExpr) -> PrimExpr {
    PrimExpr::intrin(LOAD_PACKED, vec![load.clone()], PACKED_DTYPE)
}

/// Packs elements into a group, the first in the lowest bits.
pub fn pack_group(terms: impl IntoIterator<Item = PrimExpr>) -> PrimExpr {
    let mut at = 0;
    let mut shifted = |term: PrimExpr| {
        let bits = i64::from(term.dtype().bits);
        let plain = DType::uint(term.dtype().bits);
        let raw = if term.dtype() == plain { term } else { PrimExpr::intrin("reinterpret", vec![term], plain) };
        let wide = raw.cast(PACKED_DTYPE);
        let shift = PrimExpr::int(at, PACKED_DTYPE);
        at += bits;
        if at == bits { wide } else { PrimExpr::intrin("shift_left", vec![wide, shift], PACKED_DTYPE) }
    };
    let groups = terms.into_iter().map(&mut shifted);
    let both = |a, b| PrimExpr::intrin("bitwise_or", vec![a, b], PACKED_DTYPE);
    groups.reduce(both).unwrap_or_else(|| PrimExpr::int(0, PACKED_DTYPE))
}

/// Returns the sizes of a copy, in which one axis may be packed.
pub fn sizes(axes: &[usize], terms: Vec<PrimExpr>, packed_axis: Option<(usize, Dot)>) -> Vec<PrimExpr> {
    let size = |(axis, terms): (&usize, PrimExpr)| match packed_axis {
        Some((own, dot)) if own == *axis => steps(&terms, dot.group_size()),
        _ => terms,
    };
    axes.iter().zip(terms).map(size).collect()
}

/// Packs the group that starts at `first`, with zeros for positions from `count` on. `term` returns the element at a
/// position.
pub fn pack_tail_group(term: &dyn Fn(PrimExpr) -> PrimExpr, first: &PrimExpr, count: &PrimExpr, dot: Dot) -> PrimExpr {
    let at = |n: i64| {
        let position = offset_by(first, n);
        let term = term(position.clone());
        let none = PrimExpr::constant(0.0, term.dtype());
        binary(BinaryOp::Lt, position, count.clone()).if_then_else(term, none)
    };
    pack_group((0..dot.group_size()).map(at))
}

/// Masks the padding of the last packed group to zero. With an unknown `count` it is zero already.
pub fn mask_tail_group(word: PrimExpr, count: &PrimExpr, dot: Dot) -> PrimExpr {
    match count.as_int().map(|count| count % dot.group_size()) {
        None | Some(0) => word,
        Some(left) => {
            let bits = left * (i64::from(PACKED_DTYPE.bits) / dot.group_size());
            PrimExpr::intrin("bitwise_and", vec![word, PrimExpr::int((1 << bits) - 1, PACKED_DTYPE)], PACKED_DTYPE)
        }
    }
}

/// Returns the position `n` elements further.
pub fn offset_by(position: &PrimExpr, n: i64) -> PrimExpr {
    if n == 0 { position.clone() } else { position + PrimExpr::int64(n) }
}

/// Returns a view of a buffer as packed groups, if its last dimension is a multiple of the group size.
fn packed_view(buffer: &Buffer, dot: Dot) -> Option<Buffer> {
    let last = buffer.shape.last()?.as_int().filter(|size| size % dot.group_size() == 0)?;
    let shape = || {
        let rest = buffer.shape[..buffer.shape.len() - 1].iter().cloned();
        rest.chain([PrimExpr::int64(last / dot.group_size())]).collect()
    };
    is_compact(buffer).then(|| {
        buffer.change(|b| {
            b.dtype = PACKED_DTYPE;
            b.shape = shape();
            b.align = GROUP_BYTES / dot.group_size();
        })
    })
}

impl Stage {
    /// Returns the load of the packed group of an operand that is [`packed`] along an axis, unless it may be aliased.
    pub fn packed_load(&self, load: &PrimExpr, axis: usize, dot: Dot) -> Option<PrimExpr> {
        packed(load, &self.axes[axis], dot).filter(|_| !self.regions)
    }

    /// Replaces operands that are packed along an axis by their packed groups, except copied ones.
    pub fn with_packed_loads(&self, axis: usize, dot: Dot, copied: &dyn Fn(&PrimExpr) -> bool) -> Stage {
        let mut stage = self.clone();
        for load in narrow_loads(self).into_iter().flatten() {
            if let Some(groups) = self.packed_load(load, axis, dot).filter(|_| !copied(load)) {
                stage.value = replaced(&stage.value, load, &groups);
            }
        }
        stage
    }

    /// Returns the packed group that a load reads at a position, which counts groups along one axis.
    pub fn group_at(&self, load: &PrimExpr, axis: usize, dot: Dot, mut position: Vec<PrimExpr>) -> PrimExpr {
        let along = &self.axes[axis];
        let at = |position: &[PrimExpr]| load.substitute(&substitution(&self.axes, position));
        if let Some((groups, indices)) = self.packed_view_of(load, axis, dot) {
            let position = substitution(&self.axes, &position);
            return PrimExpr::load(&groups, indices.iter().map(|index| index.substitute(&position)).collect());
        }
        position[axis] = &position[axis] * PrimExpr::int64(dot.group_size());
        let first = position[axis].clone();
        let term = |at_axis: PrimExpr| {
            let mut position = position.clone();
            position[axis] = at_axis;
            at(&position)
        };
        let side_by_side = has_contiguous_groups(load, along);
        let whole = || match side_by_side {
            true => load_packed(&term(first.clone())),
            false => pack_group((0..dot.group_size()).map(|n| term(offset_by(&first, n)))),
        };
        match along.extent.as_int() {
            Some(count) if count % dot.group_size() == 0 => whole(),
            _ if side_by_side => {
                let ends = offset_by(&first, dot.group_size());
                let fits = binary(BinaryOp::Le, ends, along.extent.clone());
                fits.if_then_else(whole(), pack_tail_group(&term, &first, &along.extent, dot))
            }
            _ => pack_tail_group(&term, &first, &along.extent, dot),
        }
    }

    /// Views the buffer of a load as packed groups, and returns its indices, if the axis alone is the last index.
    fn packed_view_of<'a>(&self, load: &'a PrimExpr, axis: usize, dot: Dot) -> Option<(Buffer, &'a [PrimExpr])> {
        let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
        if self.regions {
            return None;
        }
        let along = &self.axes[axis];
        let (last, rest) = indices.split_last()?;
        let whole = along.extent.as_int()? % dot.group_size() == 0 && last.as_var() == Some(&along.var);
        let groups = packed_view(buffer, dot).filter(|_| whole && rest.iter().all(|index| !index.uses(&along.var)))?;
        Some((groups, indices))
    }
}

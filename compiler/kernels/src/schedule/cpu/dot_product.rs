//! Contractions of narrow operands by dot instructions.

use super::{
    Loops, Rule,
    contraction::whole_dimension,
    inner_plan,
    lanes::{lanes_within_block, register_lanes},
    reduced,
    register_tile::{Reuse, register_tile},
};
use crate::schedule::{Loop, ScheduleContext, StagePlan, Staged};
use hammock_ir::{
    PrimExpr,
    prim::flat::{Dot, PACKED_DTYPE},
    tir::Buffer,
};
use hammock_loopnest::{
    PackedGroups, PackedLayout, ScaleGroups, Stage,
    access::{self, can_be_copied, is_contiguous, is_vectorizable, parts, size, spatial, store_axis},
    contraction::row_axis,
    dots,
    index::same_expr,
};

/// Minimum uses of each packed group: of data that are contiguous along the results,
const MIN_USES: i64 = 4;
/// and of other data.
const MIN_USES_STRIDED: i64 = 8;

/// Maximum elements of a part of a group that shares a scale.
const MAX_PART: i64 = 64;

/// Packs operands for dot instructions.
pub static RULE: Rule = Rule {
    name: "dot-product",
    class: "contraction",
    why: "the target accumulates several multiplications per instruction",
    doc: "A contraction of 8-bit integers in int32, or of bfloat16 in float32 if the target supports it (not with \
          --strict-order): one instruction does four or two multiply-adds. The operand that varies along the vector \
          axis is packed in groups of four or two, padded with zeros, unless it is packed already; the other one is \
          packed if its groups are not contiguous. Several rows share each vector, as in outer-product. If groups of \
          elements share a scale, their sums in int32 are multiplied by it; elements of less than 8 bits in words are \
          extracted in packed groups.",
    plan,
};

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let scale_groups = ScaleGroups::of_dots(stage).filter(|_| !ctx.strict_order);
    // Loops are the same for the sums of groups, whose axes those of the stage are.
    let whole = stage;
    let stage = scale_groups.as_ref().map_or(stage, |groups| &groups.sum);
    let PackedOperands { dot, axis, along, other, rows, terms, packed } = PackedOperands::of(stage, ctx)?;
    let (side, lanes) = tile_size(stage, axis, rows, ctx, scale_groups.is_some())?;
    // Vectors must not cross block boundaries.
    let in_blocks = packed.as_ref().and_then(|groups| access::block_size(groups, &stage.axes[axis].var));
    let lanes = in_blocks.map_or(lanes, |block| lanes_within_block(lanes, block));
    let others = || spatial(stage).filter(|at| !along.uses(&stage.axes[*at].var));
    let often: i64 = others().map(|at| size(&stage.axes[at].extent)).product();
    let worth = if is_contiguous(along, &stage.axes[axis].var) { MIN_USES } else { MIN_USES_STRIDED };
    if lanes < 2 || packed.is_none() && often < worth {
        return None;
    }
    let part = match &scale_groups {
        Some(groups) => Some(part_of_group(whole, groups, dot).filter(|_| groups.axis == terms)?),
        None => None,
    };
    let used = |at: &usize| along.uses(&stage.axes[*at].var);
    let mut loops: Vec<Loop> = spatial(stage).filter(|at| used(at) && *at != axis).map(Loop::serial).collect();
    loops.push(Loop::with_step(axis, lanes));
    let inside = loops.len();
    loops.extend(others().map(|at| if Some(at) == rows { Loop::with_step(at, side) } else { Loop::serial(at) }));
    loops.extend(reduced(stage).flat_map(|l| match l.axis == terms {
        true => part.into_iter().chain([dot.group_size()]).map(|step| Loop::with_step(terms, step)).collect(),
        false => vec![l],
    }));
    loops.extend(rows.map(Loop::unrolled));
    loops.extend([Loop::vector(axis), Loop::dot(terms)]);
    let mut plan = StagePlan::new(RULE.name, loops);
    // Groups are packed contiguously along the results, or as the rows use them.
    let mut copied = Vec::new();
    if packed.is_none() {
        copied.push((along, inside));
    }
    if !dots::has_contiguous_groups(other, &stage.axes[terms]) && stage.packed_load(other, terms, dot).is_none() {
        copied.push((other, inside));
    }
    if scale_groups.is_some() && !copied.is_empty() {
        return None;
    }
    for (load, inside) in copied {
        plan.staged.push(packed_copy(stage, &plan, load, inside, ctx)?);
    }
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// Returns the register tile, rows and lanes. Sums of groups have accumulators of their own beside the results.
fn tile_size(
    stage: &Stage,
    axis: usize,
    rows: Option<usize>,
    ctx: &ScheduleContext,
    has_groups: bool,
) -> Option<(i64, i64)> {
    let (side, lanes) = register_tile(stage, axis, rows, ctx, Reuse::Rows)?;
    let one = register_lanes(stage, ctx.target);
    Some((side, if has_groups { (lanes / 2 / one * one).max(lanes.min(one)) } else { lanes }))
}

/// Returns the elements of a part of a reduction that is within a group that shares a scale.
fn part_of_group(stage: &Stage, groups: &ScaleGroups, dot: Dot) -> Option<i64> {
    let extent = stage.axes[groups.axis].extent.as_int()?;
    let fits = |part: &i64| part % dot.group_size() == 0 && groups.size % part == 0 && extent % part == 0;
    (1..=MAX_PART).rev().find(fits)
}

/// A contraction of packed groups.
struct PackedOperands<'a> {
    dot: Dot,
    /// The vectorized axis of the results.
    axis: usize,
    /// The operand that varies along it, and the other one.
    along: &'a PrimExpr,
    other: &'a PrimExpr,
    /// The axis of the rows that share the former.
    rows: Option<usize>,
    /// The packed reduction axis.
    terms: usize,
    /// Load of the packed groups of the operand along the vector axis, if it is packed already.
    packed: Option<PrimExpr>,
}

impl PackedOperands<'_> {
    fn of<'a>(stage: &'a Stage, ctx: &ScheduleContext) -> Option<PackedOperands<'a>> {
        let dot = dots::dot(stage).filter(|dot| dots::is_supported(*dot, ctx.target, ctx.strict_order))?;
        let axis = store_axis(stage).filter(|_| stage.values().all(is_vectorizable))?;
        let var = &stage.axes[axis].var;
        let [a, b] = dots::narrow_loads(stage)?;
        let (along, other) = match (a.uses(var), b.uses(var)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let bits = dots::narrow_operands(stage)?.into_iter().find_map(|operand| operand.bits);
        let packed_load = |at: usize| match bits {
            Some(bits) => dots::has_packed_bits(bits, &stage.axes[at]).then(|| along.clone()),
            None => stage.packed_load(along, at, dot),
        };
        let packed_load = |at: usize| packed_load(at).filter(|groups| is_contiguous(groups, var));
        let found = reduced(stage).find_map(|l| Some((l.axis, packed_load(l.axis)?)));
        let (terms, packed) = match found.filter(|(terms, _)| other.uses(&stage.axes[*terms].var)) {
            Some((terms, groups)) => (terms, Some(groups)),
            None if bits.is_some() => return None,
            None => (packed_axis(stage, along, other, dot)?, None),
        };
        Some(PackedOperands { dot, axis, along, other, rows: row_axis(stage, axis, along), terms, packed })
    }
}

/// Returns the packing of the vector operand that is worth doing before a kernel runs, if possible. It always pays off,
/// for it makes the copy unnecessary; words are read in order then.
pub fn packing(stage: &Stage, ctx: &ScheduleContext) -> Option<(Buffer, PackedLayout)> {
    let scale_groups = ScaleGroups::of_dots(stage).filter(|_| !ctx.strict_order);
    let has_groups = scale_groups.is_some();
    let stage = scale_groups.as_ref().map_or(stage, |groups| &groups.sum);
    let PackedOperands { dot, axis, along, rows, terms, packed, .. } = PackedOperands::of(stage, ctx)?;
    let (_, block) = tile_size(stage, axis, rows, ctx, has_groups)?;
    let (buffer, dim) = whole_dimension(stage, along, axis)?;
    if packed.is_some() {
        let has_words = has_groups && buffer.dtype == PACKED_DTYPE;
        return has_words.then_some((buffer, PackedLayout { dim, block, groups: None }));
    }
    let (_, of_terms) = whole_dimension(stage, along, terms)?;
    // `vpdpbusd` multiplies unsigned bytes with signed ones.
    let flip_sign = matches!(dot, Dot::Bytes([a, b]) if a == b) && ctx.target.int8_dot && !has_groups;
    let groups = Some(PackedGroups { dim: of_terms, size: dot.group_size(), flip_sign });
    Some((buffer, PackedLayout { dim, block, groups }))
}

/// Returns the reduction axis to pack: both operands vary along it; preferably the operand that is not vectorized is
/// contiguous along it.
fn packed_axis(stage: &Stage, along: &PrimExpr, other: &PrimExpr, dot: Dot) -> Option<usize> {
    let several = |extent: &PrimExpr| extent.as_int().is_none_or(|extent| extent >= dot.group_size());
    let both = |at: &usize| {
        let axis = &stage.axes[*at];
        along.uses(&axis.var) && other.uses(&axis.var) && several(&axis.extent)
    };
    let axes: Vec<usize> = reduced(stage).map(|l| l.axis).filter(both).collect();
    let side_by_side = axes.iter().rev().find(|at| dots::has_contiguous_groups(other, &stage.axes[**at]));
    side_by_side.or(axes.last()).copied()
}

/// Plans the packed copy of an operand.
fn packed_copy(
    stage: &Stage,
    plan: &StagePlan,
    load: &PrimExpr,
    inside: usize,
    ctx: &ScheduleContext,
) -> Option<Staged> {
    let number = parts(stage).iter().position(|e| same_expr(e, load)).filter(|_| can_be_copied(stage, load))?;
    let axes = plan.in_tile_order(stage, load, inside);
    let mut staged = Staged::new(number, inside, axes);
    staged.copy = inner_plan(&plan.copy_of(stage, &staged), *ctx);
    Some(staged)
}

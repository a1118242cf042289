//! Contractions: matmuls of all shapes, and convolutions.

use super::{
    Loops, Rule, even_block, inner_plan,
    lanes::{lanes_within_block, register_lanes},
    reduced,
    reductions::{horizontal_lanes, reduction_loops},
    register_tile::{Reuse, is_convolution, register_tile},
    window::{self, Window},
};
use crate::schedule::{Loop, LoopKind, ScheduleContext, StagePlan, Staged};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_loopnest::{
    Axis, PackedLayout, ScaleGroups, Stage,
    access::{
        self, can_be_copied, can_store_partials, contraction_operands, is_contiguous, is_vectorizable,
        reduction_vector_axis, size, spatial, store_axis, vector_axis,
    },
    contraction::{row_axis, vector_operand},
    index::{Simplifier, same_expr},
    row_tiling::{Rows, SharedCopy},
};

/// Unroll factor of the rows and columns of an inner-product tile.
const TILE_ROWS: i64 = 4;
/// Vectors of a tile whose operand is unpacked from bits.
const NARROW_VECTORS: i64 = 2;
/// Vectors of independent accumulators.
const VECTORS: i64 = 4;
/// Minimum uses of each element to pack an operand: with a long stride in loop order,
const MIN_USES_STRIDED: i64 = 32;
/// in another order,
const MIN_USES: i64 = 16;
/// and if nothing can be vectorized otherwise.
const MIN_USES_FOR_VECTORS: i64 = 4;
/// Minimum uses to copy an operand of contiguous vectors that half of L2 holds. Matmuls by 512 x 128 and 512 x 512 take
/// 0.89 of the time without a copy for 32 rows, 0.94 to 0.98 for 64, and 1.02 for 96.
const MIN_USES_IN_L2: i64 = 64;
/// Minimum reduction extent of a partial result that is stored.
const MIN_REDUCTION: i64 = 32;
/// Maximum vectors of results, and reduction elements, of a strip of a GEMV whose matrix streams from memory: the
/// elements are as many streams, of up to a page each. 4096 x 4096 takes 0.85 of the time of full reductions over 16
/// vectors.
const MAX_STRIP_VECTORS: i64 = 64;
const STRIP_REDUCTION: i64 = 16;
/// Minimum number of strips, for parallelism.
const MIN_STRIPS: i64 = 8;
/// Maximum rows of tiles that prefetch. Of x[m, 4096] by 64 MiB of weights, 16 rows take 0.84 of the time without
/// prefetches, 64 rows 0.92; from 256 rows on, the instructions themselves cost 2 %.
const MAX_PREFETCH_ROWS: i64 = 128;
/// Elements of an unrolled part of a group that shares a scale.
const MIN_UNROLLED_PART: i64 = 8;
const MAX_UNROLLED_PART: i64 = 32;
/// Maximum vectors of such parts.
const MAX_UNROLLED_VECTORS: i64 = 256;
/// Results of one operand for each pass over the other one.
const INNER_BLOCK: i64 = 64;

/// Broadcasts one operand, and vectorizes along the other.
pub static OUTER: Rule = Rule {
    name: "outer-product",
    class: "contraction",
    why: "rows share loaded vectors, vectors share broadcast elements",
    doc: "A contraction of an operand that is contiguous along the result's vector axis and one that is invariant \
          along it: a register tile in which rows share each loaded vector, and vectors share each broadcast element. \
          If a window slides over the vectors, adjacent rows share most of them, and the taps are unrolled. A long \
          reduction is split into parts that stay in cache for all rows. Tiles of rows prefetch the next part of a \
          large operand in packed layout. If groups of elements share a scale, unrolled parts of groups are summed \
          first, and multiplied by it.",
    plan: outer,
};

/// The same with a packed operand.
pub static PACKED: Rule = Rule {
    name: "packed-outer-product",
    class: "contraction",
    why: "rows and vectors share loads, and packing one operand pays off",
    doc: "As outer-product, for an operand that is not contiguous in loop order: it has a long stride, or is \
          contiguous along another axis. A block of it is packed first, if its elements are reused often enough.",
    plan: packed,
};

/// Vectorizes along the reduction.
pub static INNER: Rule = Rule {
    name: "inner-product",
    class: "contraction",
    why: "both operands are contiguous along the reduction, which is vectorized",
    doc: "A contraction of two operands that are contiguous along the reduction axis: it is vectorized along it, and \
          tiles of 4 x 4 results share the loaded vectors. Not with --strict-order.",
    plan: inner,
};

fn outer(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let axis = vector_axis(stage)?;
    let shared = vector_operand(stage, &stage.axes[axis].var)?;
    let window = Window::of(stage, axis, shared, ctx.strict_order).filter(|_| row_axis(stage, axis, shared).is_none());
    let rows = row_axis(stage, axis, shared).or(window.as_ref().map(|window| window.rows));
    let reuse = if window.is_some() { Reuse::SlidingWindow } else { reuse(stage, shared, ctx) };
    let (side, lanes) = register_tile(stage, axis, rows, ctx, reuse)?;
    // Vectors must not cross the boundaries of a blocked operand.
    let in_blocks = access::loads(stage).into_iter().find_map(|load| access::block_size(load, &stage.axes[axis].var));
    let lanes = in_blocks.map_or(lanes, |block| lanes_within_block(lanes, block));
    // All rows use the vector operand: the loops over it are outermost, so that a part of it stays in cache.
    let used = |at: usize| shared.uses(&stage.axes[at].var);
    let mut order: Vec<usize> = spatial(stage).collect();
    let far = bytes(stage, shared) > ctx.l2_budget();
    if far {
        order.sort_by_key(|at| !used(*at));
    }
    let mut outer = Vec::new();
    let mut parts = split_loop(stage, shared, lanes, ctx.l2_budget(), ctx).filter(|_| far && window.is_none());
    for at in order {
        if at == axis {
            let once = far && rows.is_none();
            let strip = match in_blocks {
                // Parts of a block's reduction are inside: the block is read in order.
                Some(_) if once => parts.take().map(|part| [Loop::with_step(axis, lanes), part]),
                None if once => strip(stage, axis, lanes, ctx),
                _ => None,
            };
            outer.extend(strip.into_iter().flatten());
            outer.push(Loop::with_step(axis, lanes));
        } else {
            outer.extend(parts.take_if(|_| !used(at)));
            let is_tiled = Some(at) == rows;
            let prefetches = is_tiled && far && in_blocks.is_some() && few_rows(stage, shared, side);
            let kind = if prefetches { LoopKind::Prefetch } else { LoopKind::Serial };
            outer.push(Loop { axis: at, step: if is_tiled { side } else { 1 }, kind });
        }
    }
    let groups = ScaleGroups::of(stage).filter(|_| !ctx.strict_order && window.is_none());
    let terms: Vec<Loop> = match groups.and_then(|groups| {
        part_in_group(stage, &groups, side * lanes / register_lanes(stage, ctx.target)).map(|part| (groups.axis, part))
    }) {
        Some((axis, part)) => reduced(stage)
            .flat_map(|l| match l.axis == axis {
                true => vec![Loop::with_step(axis, part), Loop::unrolled(axis)],
                false => vec![l],
            })
            .collect(),
        None => {
            let in_order = reuse == Reuse::Convolution && !ctx.strict_order;
            let in_order = in_order.then(|| window::in_memory_order(stage, shared, side, &outer, ctx)).flatten();
            in_order.unwrap_or_else(|| window::reduction_loops(stage, window.as_ref()).collect())
        }
    };
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    let inside = outer.len();
    let mut plan = StagePlan::new(OUTER.name, outer.into_iter().chain(terms).chain(tile).collect());
    let wide = rows.filter(|_| side > 1).and_then(|rows| upcast_copy(stage, &plan, shared, rows, inside, ctx));
    plan.staged.extend(wide);
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// Returns what tiles share that read a vector operand in each row. Vectors in L1 are loaded at no cost.
fn reuse(stage: &Stage, shared: &PrimExpr, ctx: &ScheduleContext) -> Reuse {
    let is_near = bytes(stage, shared) <= ctx.target.caches.l1 as i64;
    if is_near || !is_convolution(stage) { Reuse::Rows } else { Reuse::Convolution }
}

/// Returns the elements of a part of a reduction that is within a group that shares a scale, for a tile of `vectors`.
/// Parts are unrolled, so that elements that are packed in a word are unpacked by constant shifts of a vector that is
/// loaded once.
fn part_in_group(stage: &Stage, groups: &ScaleGroups, vectors: i64) -> Option<i64> {
    let extent = stage.axes[groups.axis].extent.as_int()?;
    let max = (MAX_UNROLLED_VECTORS / vectors.max(1)).clamp(MIN_UNROLLED_PART, MAX_UNROLLED_PART);
    (MIN_UNROLLED_PART..=max).rev().find(|part| groups.size % part == 0 && extent % part == 0)
}

/// Returns true if several tiles of `side` rows share an operand, but so few that reading it from memory takes much of
/// the time.
fn few_rows(stage: &Stage, shared: &PrimExpr, side: i64) -> bool {
    let mut others = spatial(stage).filter(|at| !shared.uses(&stage.axes[*at].var));
    let (Some(rows), None) = (others.next(), others.next()) else { return false };
    stage.axes[rows].extent.as_int().is_none_or(|rows| (side + 1..=MAX_PREFETCH_ROWS).contains(&rows))
}

/// Plans a copy of the broadcast operand for the rows of a tile, if it is upcast: several elements are converted at a
/// time, instead of each for every vector.
fn upcast_copy(
    stage: &Stage,
    plan: &StagePlan,
    shared: &PrimExpr,
    rows: usize,
    inside: usize,
    ctx: &ScheduleContext,
) -> Option<Staged> {
    let (a, b) = contraction_operands(stage)?;
    let other = if same_expr(a, shared) { b } else { a };
    let PrimKind::Cast(from) = other.kind() else { return None };
    let (load, _) = candidate_of(stage, other)?;
    let sums = || reduced(stage).map(|l| l.axis).filter(|at| other.uses(&stage.axes[*at].var));
    let terms: i64 = sums().map(|at| size(&stage.axes[at].extent)).product();
    let worth = from.dtype().bits < other.dtype().bits && terms >= MIN_REDUCTION && other.uses(&stage.axes[rows].var);
    if !worth || !can_be_copied(stage, other) {
        return None;
    }
    let along = |at: &usize| from.uses(&stage.axes[*at].var) && access::all_contiguous(from, &stage.axes[*at].var);
    // The copy retains the order of memory, unless loops would then jump to another cache line for each element.
    let axes = if sums().last().is_some_and(|last| along(&last)) {
        let mut axes: Vec<usize> = [rows].into_iter().chain(sums()).collect();
        axes.sort_by_key(along);
        axes
    } else {
        sums().chain([rows]).collect()
    };
    let mut staged = Staged::new(load, inside, axes);
    staged.copy = inner_plan(&plan.copy_of(stage, &staged), *ctx);
    Some(staged)
}

/// Returns loops over a strip of results and a few reduction elements, for an operand that streams from memory and is
/// used once: it is read in long runs.
fn strip(stage: &Stage, axis: usize, lanes: i64, ctx: &ScheduleContext) -> Option<[Loop; 2]> {
    let mut terms = reduced(stage);
    let (term, None) = (terms.next()?, terms.next()) else { return None };
    let widest = MAX_STRIP_VECTORS * register_lanes(stage, ctx.target);
    let width =
        stage.axes[axis].extent.as_int().map_or(widest, |extent| widest.min(extent / MIN_STRIPS / lanes * lanes));
    let long = stage.axes[term.axis].extent.as_int().is_none_or(|extent| extent > STRIP_REDUCTION);
    let worth = width > lanes && long && can_store_partials(stage);
    worth.then(|| [Loop::with_step(axis, width), Loop::with_step(term.axis, STRIP_REDUCTION)])
}

/// Returns a loop over parts of the reduction, if the operand's data for `results` results exceed `budget` bytes of cache
/// while all rows use them.
fn split_loop(stage: &Stage, factor: &PrimExpr, results: i64, budget: i64, ctx: &ScheduleContext) -> Option<Loop> {
    let axes = || reduced(stage).map(|l| l.axis).filter(|at| factor.uses(&stage.axes[*at].var));
    let terms: i64 = axes().map(|at| size(&stage.axes[at].extent)).product();
    let bytes = terms.saturating_mul(results).saturating_mul(factor.dtype().bytes() as i64);
    let parts = bytes / budget + 1;
    let longest = axes().max_by_key(|at| size(&stage.axes[*at].extent))?;
    let extent = stage.axes[longest].extent.as_int()?;
    let in_order = !ctx.strict_order || stage.axes.iter().filter(|axis| axis.reduce).count() == 1;
    let evenly = |parts: i64| (extent % parts == 0).then_some(extent / parts);
    let step = (parts..parts * 2).find_map(evenly).unwrap_or(extent / parts + 1);
    let enough = terms / extent.max(1) * step >= MIN_REDUCTION;
    (parts > 1 && enough && in_order && can_store_partials(stage)).then(|| Loop::with_step(longest, step))
}

/// Estimates the bytes of an operand.
fn bytes(stage: &Stage, factor: &PrimExpr) -> i64 {
    let used = stage.axes.iter().filter(|axis| factor.uses(&axis.var)).map(|axis| size(&axis.extent));
    used.fold(factor.dtype().bytes() as i64, i64::saturating_mul)
}

/// Estimates the bytes of the vector operand, which several rows can share.
pub fn shared_bytes(stage: &Stage) -> i64 {
    let shared = vector_axis(stage).and_then(|axis| vector_operand(stage, &stage.axes[axis].var));
    shared.map_or(0, |factor| bytes(stage, factor))
}

/// Returns true if the vector operand of a contraction is invariant along an axis, or there is none.
pub fn shares(stage: &Stage, axis: usize) -> bool {
    let along = vector_axis(stage).and_then(|along| vector_operand(stage, &stage.axes[along].var));
    contraction_operands(stage).is_some() && along.is_none_or(|factor| !factor.uses(&stage.axes[axis].var))
}

/// An operand that is worth packing, and the register tile for it.
struct PackableOperand<'a> {
    /// The vectorized axis of the results, and the lanes of a tile.
    axis: usize,
    lanes: i64,
    /// The axis of the rows that share it, and the rows of a tile.
    rows: usize,
    side: i64,
    /// The operand, with its index among the stage's parts.
    load: &'a PrimExpr,
    number: usize,
}

impl PackableOperand<'_> {
    fn of<'a>(
        stage: &'a Stage,
        ctx: &ScheduleContext,
        reuse: impl Fn(&PrimExpr) -> Reuse,
    ) -> Option<PackableOperand<'a>> {
        let axis = store_axis(stage).filter(|_| stage.values().all(is_vectorizable))?;
        let shared = vector_operand(stage, &stage.axes[axis].var)?;
        let rows = row_axis(stage, axis, shared)?;
        let tile = register_tile(stage, axis, Some(rows), ctx, reuse(shared))?;
        let (number, load) = candidate_of(stage, shared)?;
        let (side, lanes) = if unpacks_bits(load) { narrow_tile(stage, rows, tile, ctx) } else { tile };
        let var = &stage.axes[axis].var;
        // Uses of each packed element, and whether it would otherwise be loaded with a long stride.
        let others = spatial(stage).filter(|at| !shared.uses(&stage.axes[*at].var));
        let times: i64 = others.map(|at| size(&stage.axes[at].extent)).product();
        let far = stage.axes[axis].extent.as_int().is_none_or(|extent| extent > lanes);
        let terms = || reduction_vector_axis(stage).and_then(|axis| horizontal_lanes(stage, axis, 1, ctx));
        let in_lanes = || vector_axis(stage).is_some() || terms().is_some();
        // A computed operand is packed instead of recomputed for each block of rows.
        let computed = is_computed(load);
        let worth = match access::all_contiguous(load, var) {
            true if computed => times > side && !streams_bytes(stage, shared, side, ctx),
            true => far && times >= MIN_USES_STRIDED && bytes(stage, shared) > ctx.l1_exclusive_budget(),
            false => times >= if in_lanes() { MIN_USES } else { MIN_USES_FOR_VECTORS },
        };
        // A packed operand is not packed again, but computed once for all rows.
        let mut in_blocks = None;
        load.walk(&mut |e| in_blocks = in_blocks.or(access::block_size(e, var)));
        let fits = in_blocks.is_none_or(|block| computed && block % lanes == 0);
        (worth && fits).then_some(PackableOperand { axis, lanes, rows, side, load, number })
    }

    /// Returns true if a kernel gains by packing the operand itself. It may read it in place if L2 holds it, and other
    /// loops do not jump between lines.
    fn is_worth_copying(&self, stage: &Stage, ctx: &ScheduleContext) -> bool {
        let others = spatial(stage).filter(|at| !self.load.uses(&stage.axes[*at].var));
        let uses: i64 = others.map(|at| size(&stage.axes[at].extent)).product();
        let is_in_l2 = bytes(stage, self.load) <= ctx.target.caches.l2 as i64 / 2;
        let in_place = is_in_l2 && !is_computed(self.load) && is_contiguous(self.load, &stage.axes[self.axis].var);
        !in_place || uses >= MIN_USES_IN_L2
    }
}

fn packed(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    // The vectors of a packed block are contiguous, and near.
    let packed = PackableOperand::of(stage, ctx, |_| Reuse::Rows)?;
    let is_worth_copying = packed.is_worth_copying(stage, ctx);
    let PackableOperand { axis, lanes, rows, side, load, number } = packed;
    if !can_be_copied(stage, load) || !is_worth_copying {
        return None;
    }
    let used = |at: &usize| load.uses(&stage.axes[*at].var);
    let mut loops: Vec<Loop> = spatial(stage).filter(|at| used(at) && *at != axis).map(Loop::serial).collect();
    loops.push(Loop::with_step(axis, lanes));
    let budget = match is_computed(load) {
        // The rows of a tile stay in L1 as well.
        true if unpacks_bits(load) => ctx.l1_exclusive_budget() / 2,
        true => ctx.l1_exclusive_budget(),
        false => ctx.l2_budget(),
    };
    let parts = split_loop(stage, load, lanes, budget, ctx);
    loops.extend(parts.clone());
    let inside = loops.len();
    let axes: Vec<usize> = reduced(stage).map(|l| l.axis).filter(used).chain([axis]).collect();
    let at_block_starts = load.any(&mut |e| access::block_size(e, &stage.axes[axis].var).is_some()).then_some(axis);
    let left = axes.iter().map(|at| match loops.iter().find(|l| l.axis == *at && l.step > 1) {
        Some(l) => PrimExpr::int64(l.step),
        None => stage.axes[*at].extent.clone(),
    });
    // Copies begin at block boundaries of a blocked operand.
    let start =
        |(at, axis): (usize, &Axis)| if at_block_starts == Some(at) { PrimExpr::int64(0) } else { axis.var.expr() };
    let position: Vec<PrimExpr> = stage.axes.iter().enumerate().map(start).collect();
    let left: Vec<PrimExpr> = left.collect();
    let to = Buffer::new("copy", left.clone(), load.dtype());
    let copy = inner_plan(&stage.copy_of(load, &axes, left, &position, to, None), *ctx);
    let others = spatial(stage).filter(|at| !used(at));
    loops.extend(others.map(|at| if at == rows { Loop::with_step(at, side) } else { Loop::serial(at) }));
    let inside_rows = loops.len();
    loops.extend(reduced(stage));
    loops.extend([Loop::unrolled(rows), Loop::vector(axis)]);
    let mut plan = StagePlan::new(PACKED.name, loops);
    plan.staged.push(Staged { copy, ..Staged::new(number, inside, axes) });
    let wide = if side > 1 { upcast_copy(stage, &plan, load, rows, inside_rows, ctx) } else { None };
    plan.staged.extend(wide);
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// Returns the packing of an operand that is worth doing before a kernel runs, if possible.
pub fn packing(stage: &Stage, ctx: &ScheduleContext) -> Option<(Buffer, PackedLayout)> {
    let (axis, block, load) = match PackableOperand::of(stage, ctx, |shared| reuse(stage, shared, ctx)) {
        Some(PackableOperand { axis, lanes, load, .. }) if can_be_copied(stage, load) && !is_computed(load) => {
            (axis, lanes, load)
        }
        // The source of a computed operand: a copy reads it once, other loops for each block of rows.
        Some(PackableOperand { axis, lanes, load, .. }) => (axis, lanes, largest_load(load)?),
        None => {
            streamed_operand(stage, ctx).and_then(|(axis, lanes, factor)| Some((axis, lanes, largest_load(factor)?)))?
        }
    };
    let (buffer, dim) = whole_dimension(stage, load, axis).or_else(|| dimension_of_groups(stage, load, axis, block))?;
    Some((buffer, PackedLayout { dim, block, groups: None }))
}

/// Returns true if an operand is computed from what it loads, as dequantized weights are.
fn is_computed(operand: &PrimExpr) -> bool {
    !matches!(operand.kind(), PrimKind::Load(..))
}

/// Returns true if an operand is extracted from the bits of integers, as weights of 4 bits are.
fn unpacks_bits(operand: &PrimExpr) -> bool {
    operand.any(&mut |e| e.as_intrin("shift_right").or(e.as_intrin("shift_left")).is_some())
}

/// Returns a register tile with more rows and up to two vectors: panels of unpacked elements are then small enough to
/// stay in L1 beside the rows. x[16, 4096] by 8 MiB of int4 takes 0.8 of the time of four rows by four vectors.
fn narrow_tile(stage: &Stage, rows: usize, (side, lanes): (i64, i64), ctx: &ScheduleContext) -> (i64, i64) {
    let narrow = NARROW_VECTORS * register_lanes(stage, ctx.target);
    if lanes <= narrow {
        return (side, lanes);
    }
    let max = i64::from(ctx.target.vector_registers / 2) / NARROW_VECTORS;
    (stage.axes[rows].extent.as_int().map_or(max, |count| even_block(count, max)), narrow)
}

/// Returns true if few rows share an operand that streams from memory, and is upcast from bytes. Tiles that prefetch
/// memory and upcast in registers take 0.55 of the time of panels that wait for it: x[16, 4096] by 16 MiB of int8.
fn streams_bytes(stage: &Stage, shared: &PrimExpr, side: i64, ctx: &ScheduleContext) -> bool {
    let is_byte = largest_load(shared).is_some_and(|load| load.dtype().bits == 8);
    let rows = spatial(stage).find(|at| !shared.uses(&stage.axes[*at].var));
    let is_static = rows.is_some_and(|rows| stage.axes[rows].extent.as_int().is_some());
    let streams = largest_load(shared).is_some_and(|load| bytes(stage, load) > ctx.l2_budget());
    is_byte && !unpacks_bits(shared) && is_static && streams && few_rows(stage, shared, side)
}

/// Returns the largest buffer load in an operand, for instance of quantized weights.
fn largest_load(factor: &PrimExpr) -> Option<&PrimExpr> {
    let mut loads = Vec::new();
    factor.walk(&mut |e| {
        if let PrimKind::Load(buffer, ..) = e.kind() {
            let bytes = buffer.dtype.bytes() as i64;
            loads.push((buffer.shape.iter().fold(bytes, |bytes, dim| bytes.saturating_mul(size(dim))), e));
        }
    });
    loads.into_iter().max_by_key(|(bytes, _)| *bytes).map(|(_, load)| load)
}

/// Returns the buffer of a load, and the dimension that an axis alone traverses completely.
pub fn whole_dimension(stage: &Stage, load: &PrimExpr, axis: usize) -> Option<(Buffer, usize)> {
    let axis = &stage.axes[axis];
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let mut along = (0..indices.len()).filter(|at| indices[*at].uses(&axis.var));
    let (dim, None) = (along.next()?, along.next()) else { return None };
    let whole = indices[dim].as_var() == Some(&axis.var) && same_expr(&axis.extent, &buffer.shape[dim]);
    whole.then(|| (buffer.clone(), dim))
}

/// Returns the buffer of a load, and the dimension that an axis and one of groups traverse completely, if blocks do not
/// cross the boundaries of groups.
fn dimension_of_groups(stage: &Stage, load: &PrimExpr, axis: usize, block: i64) -> Option<(Buffer, usize)> {
    let (group, axis) = (&stage.axes[axis.checked_sub(1)?], &stage.axes[axis]);
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let mut along = (0..indices.len()).filter(|at| indices[*at].uses(&axis.var) || indices[*at].uses(&group.var));
    let (dim, None) = (along.next()?, along.next()) else { return None };
    let (groups, size) = (group.extent.as_int()?, axis.extent.as_int().filter(|size| size % block == 0)?);
    let position = group.var.expr() * PrimExpr::int64(size) + axis.var.expr();
    let simplifier = Simplifier::default();
    let is_position = simplifier.poly(&position) == simplifier.poly(&indices[dim]);
    let is_whole = buffer.shape[dim].as_int() == groups.checked_mul(size);
    (is_position && is_whole).then(|| (buffer.clone(), dim))
}

/// Returns an operand that streams from memory for few rows, with its vectorized axis and the number of results that
/// are worth a block: memory is fastest when read sequentially.
fn streamed_operand<'a>(stage: &'a Stage, ctx: &ScheduleContext) -> Option<(usize, i64, &'a PrimExpr)> {
    let axis = vector_axis(stage)?;
    let load = vector_operand(stage, &stage.axes[axis].var)?;
    let lanes = match row_axis(stage, axis, load) {
        Some(rows) => register_tile(stage, axis, Some(rows), ctx, reuse(stage, load, ctx))?.1,
        None => 2 * VECTORS * register_lanes(stage, ctx.target),
    };
    let far = stage.axes[axis].extent.as_int().is_some_and(|extent| extent > lanes);
    (far && bytes(stage, load) > ctx.l2_budget()).then_some((axis, lanes, load))
}

/// Returns an operand with its index among the stage's parts.
fn candidate_of<'a>(stage: &'a Stage, factor: &PrimExpr) -> Option<(usize, &'a PrimExpr)> {
    access::parts(stage).into_iter().enumerate().find(|(_, part)| same_expr(part, factor))
}

/// Returns an operand that is a load with its index among the stage's loads.
fn load_of<'a>(stage: &'a Stage, factor: &PrimExpr) -> Option<(usize, &'a PrimExpr)> {
    access::loads(stage).into_iter().enumerate().find(|(_, load)| same_expr(load, factor))
}

fn inner(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let axis = reduction_vector_axis(stage).filter(|_| !ctx.strict_order)?;
    let (a, b) = contraction_operands(stage)?;
    let var = &stage.axes[axis].var;
    if !a.uses(var) || !b.uses(var) {
        return None;
    }
    // Rows are an axis of one operand only, columns of the other; axes of both stay outside.
    let only = |own: &PrimExpr, other: &PrimExpr| {
        spatial(stage).rev().find(|at| own.uses(&stage.axes[*at].var) && !other.uses(&stage.axes[*at].var))
    };
    let mut tiled: Vec<usize> = only(a, b).into_iter().chain(only(b, a)).collect();
    tiled.sort_by_key(|at| size(&stage.axes[*at].extent));
    let registers = i64::from(ctx.target.vector_registers / 2);
    let (lanes, sides) = match tiled.as_slice() {
        [] => (horizontal_lanes(stage, axis, VECTORS, ctx)?, vec![]),
        [_] => (horizontal_lanes(stage, axis, registers / TILE_ROWS / 2, ctx)?, vec![TILE_ROWS]),
        _ => (horizontal_lanes(stage, axis, 1, ctx)?, vec![TILE_ROWS, registers / TILE_ROWS]),
    };
    let outside = spatial(stage).filter(|at| !tiled.contains(at)).map(Loop::serial);
    // The longer side is blocked to stay in cache while the other one streams past.
    let block = tiled.get(1).filter(|at| stage.axes[**at].extent.as_int().is_none_or(|n| n > INNER_BLOCK));
    let block = block.map(|at| Loop::with_step(*at, INNER_BLOCK));
    let around = tiled.iter().zip(&sides).map(|(at, side)| Loop::with_step(*at, *side));
    let tile = tiled.iter().map(|at| Loop::unrolled(*at)).chain([Loop::vector(axis)]);
    Some(
        outside
            .chain(block)
            .chain(around)
            .chain(reduction_loops(stage, axis, lanes))
            .chain(tile)
            .collect::<Vec<_>>()
            .into(),
    )
}

/// Returns the copy of a row-tiled stage's operand that is worth making before the rows: it is not contiguous along the
/// results, and enough rows share it.
pub fn shared_copy(rows: &Rows, number: usize, ctx: &ScheduleContext) -> Option<SharedCopy> {
    let stage = &rows.stages[number];
    let axis = store_axis(stage)?;
    let shared = vector_operand(stage, &stage.axes[axis].var)?;
    let (load, e) = load_of(stage, shared)?;
    let often = rows.extents().last().and_then(PrimExpr::as_int).is_some_and(|rows| rows >= MIN_USES);
    let across = !is_contiguous(e, &stage.axes[axis].var);
    if !often || !across || !rows.is_row_invariant(number, e) || !can_be_copied(stage, e) {
        return None;
    }
    let row_axes: Vec<usize> = rows.row_axes(number).collect();
    let used = |at: &usize| e.uses(&stage.axes[*at].var) && !row_axes.contains(at) && *at != axis;
    let axes: Vec<usize> = (0..stage.axes.len()).filter(used).chain([axis]).collect();
    let bytes =
        axes.iter().try_fold(e.dtype().bytes() as i64, |bytes, at| bytes.checked_mul(stage.axes[*at].extent.as_int()?));
    bytes.is_some_and(|bytes| bytes <= ctx.l2_budget()).then_some(SharedCopy { stage: number, load, axes })
}

//! Sums of products: every kind of product of matrices, and convolutions.

use super::{
    Choice, Loops, Packing, Rule, evenly, inner_plan, reduced,
    reductions::{term_lanes, terms},
    register_lanes, size, spatial,
    window::{self, Window},
    within_block,
};
use crate::{
    index::same_expr,
    plan::{Loop, StagePlan, Staged},
    stage::{
        Stage,
        access::{
            self, can_be_copied, combines_in_parts, computes_in_lanes, factors, is_contiguous, reduced_vector_axis,
            store_axis, vector_axis,
        },
        row_tiling::{Copied, Rows},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::Buffer,
};

/// Rows and columns of results that one factor along memory is combined with, at a time.
const ROWS: i64 = 4;
/// Vectors of sums side by side.
const VECTORS: i64 = 4;
/// How often numbers are used when it is worth to copy them, from where they lie far apart in the order of the loops,
const USED_OFTEN: i64 = 32;
/// from where they lie in another order,
const USED: i64 = 16;
/// and where there are no vectors without the copy.
const USED_FOR_LANES: i64 = 4;
/// Fewer terms are not worth storing what they make.
const LEAST_TERMS: i64 = 32;
/// Vectors of results, at most, and terms, of a product whose factor is read once, from memory: as many streams, of up to a
/// page each. With 4096 x 4096 elements it takes 0.85 of the time of all terms of 16 vectors.
const STRIP: i64 = 64;
const STRIP_TERMS: i64 = 16;
/// Such strips are work for so many threads.
const STRIPS: i64 = 8;
/// Results of a factor along memory that one pass of the other factor is for.
const BLOCK: i64 = 64;

/// A factor along memory times one that does not change along it.
pub static OUTER: Rule = Rule {
    name: "outer-product",
    class: "product",
    why: "several rows share each vector that is loaded, several vectors each number",
    doc: "A sum of products of a factor that is contiguous along the result and one that does not change along it: several \
          rows share each vector that is loaded, and several vectors each number: as many as registers hold. Where a \
          window slides over the vectors, neighbouring rows share most of them: its taps are written out. Of a long \
          sum, a part of the terms that stays in the cache is added up for all rows before the next part.",
    plan: outer,
};

/// The same through a copy.
pub static PACKED: Rule = Rule {
    name: "packed-product",
    class: "product",
    why: "several rows and vectors share what is loaded, and one factor is worth a copy",
    doc: "As outer-product, where the factor along the result does not lie as the loops use it: far apart, or along \
          another axis. A block of it is copied first, if its numbers are used often enough.",
    plan: packed,
};

/// Both factors along memory.
pub static INNER: Rule = Rule {
    name: "inner-product",
    class: "product",
    why: "both factors lie along the sum, so terms are lanes",
    doc: "A sum of products of two factors that are both contiguous along the sum: neighbouring terms are lanes, and \
          tiles of 4 x 4 results share the vectors that are loaded. Not with --strict-order.",
    plan: inner,
};

fn outer(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let axis = vector_axis(stage)?;
    let shared = vector_factor(stage, &stage.axes[axis].var)?;
    let window =
        Window::of(stage, axis, shared, choice.strict_order).filter(|_| row_axis(stage, axis, shared).is_none());
    let rows = row_axis(stage, axis, shared).or(window.as_ref().map(|window| window.rows));
    let (side, lanes) = block(stage, axis, rows, choice, window.is_some())?;
    // Where a factor lies in blocks, vectors must not cross their ends.
    let in_blocks = access::loads(stage).into_iter().find_map(|load| access::blocks(load, &stage.axes[axis].var));
    let lanes = in_blocks.map_or(lanes, |block| within_block(lanes, block));
    // What is loaded in vectors is used by all rows: as much of it at a time as stays in the cache.
    let used = |at: usize| shared.uses(&stage.axes[at].var);
    let mut order: Vec<usize> = spatial(stage).collect();
    let far = bytes(stage, shared) > choice.cache();
    if far {
        order.sort_by_key(|at| !used(*at));
    }
    let mut outer = Vec::new();
    let mut parts = parts_of_terms(stage, shared, lanes, choice).filter(|_| far && window.is_none());
    for at in order {
        if at == axis {
            let once = far && rows.is_none();
            let strip = match in_blocks {
                // Parts of a block's terms are added up there: they are read in order.
                Some(_) if once => parts.take().map(|part| [Loop::by(axis, lanes), part]),
                None if once => strip(stage, axis, lanes, choice),
                _ => None,
            };
            outer.extend(strip.into_iter().flatten());
            outer.push(Loop::by(axis, lanes));
        } else {
            outer.extend(parts.take_if(|_| !used(at)));
            outer.push(Loop { step: if Some(at) == rows { side } else { 1 }, ..Loop::serial(at) });
        }
    }
    let terms = window::terms(stage, window.as_ref());
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    let inside = outer.len();
    let mut plan = StagePlan::new(OUTER.name, outer.into_iter().chain(terms).chain(tile).collect());
    let wide = rows.filter(|_| side > 1).and_then(|rows| widened(stage, &plan, shared, rows, inside, choice));
    plan.staged.extend(wide);
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// A copy of the factor that does not change along the vectors, for the rows that are computed together, where its numbers
/// are widened before they are multiplied: so are several at a time, instead of each for every vector.
fn widened(
    stage: &Stage,
    plan: &StagePlan,
    shared: &PrimExpr,
    rows: usize,
    inside: usize,
    choice: &Choice,
) -> Option<Staged> {
    let (a, b) = factors(stage)?;
    let other = if same_expr(a, shared) { b } else { a };
    let PrimKind::Cast(from) = other.kind() else { return None };
    let (load, _) = part_of(stage, other)?;
    let sums = || reduced(stage).map(|l| l.axis).filter(|at| other.uses(&stage.axes[*at].var));
    let terms: i64 = sums().map(|at| size(&stage.axes[at].extent)).product();
    let worth = from.dtype().bits < other.dtype().bits && terms >= LEAST_TERMS && other.uses(&stage.axes[rows].var);
    if !worth || !can_be_copied(stage, other) {
        return None;
    }
    let along = |at: &usize| from.uses(&stage.axes[*at].var) && access::all_contiguous(from, &stage.axes[*at].var);
    // Neighbours in memory stay neighbours, unless the loops would jump from line to line for each of the terms then.
    let axes = if sums().last().is_some_and(|last| along(&last)) {
        let mut axes: Vec<usize> = [rows].into_iter().chain(sums()).collect();
        axes.sort_by_key(along);
        axes
    } else {
        sums().chain([rows]).collect()
    };
    let mut staged = Staged::new(load, inside, axes);
    staged.copy = inner_plan(&plan.copy_of(stage, &staged), *choice);
    Some(staged)
}

/// Loops over a strip of results and over a few of the terms at a time, for a factor that comes from memory and is used
/// once: it is read in long pieces.
fn strip(stage: &Stage, axis: usize, lanes: i64, choice: &Choice) -> Option<[Loop; 2]> {
    let mut terms = reduced(stage);
    let (term, None) = (terms.next()?, terms.next()) else { return None };
    let widest = STRIP * register_lanes(stage, choice.target);
    let width = stage.axes[axis].extent.as_int().map_or(widest, |extent| widest.min(extent / STRIPS / lanes * lanes));
    let long = stage.axes[term.axis].extent.as_int().is_none_or(|extent| extent > STRIP_TERMS);
    let worth = width > lanes && long && combines_in_parts(stage);
    worth.then(|| [Loop::by(axis, width), Loop::by(term.axis, STRIP_TERMS)])
}

/// A loop over parts of the terms, where those of so many results of a factor are more than stays in the cache while all
/// rows use them.
fn parts_of_terms(stage: &Stage, factor: &PrimExpr, results: i64, choice: &Choice) -> Option<Loop> {
    let axes = || reduced(stage).map(|l| l.axis).filter(|at| factor.uses(&stage.axes[*at].var));
    let terms: i64 = axes().map(|at| size(&stage.axes[at].extent)).product();
    let bytes = terms.saturating_mul(results).saturating_mul(factor.dtype().bytes() as i64);
    let parts = bytes / choice.cache() + 1;
    let longest = axes().max_by_key(|at| size(&stage.axes[*at].extent))?;
    let extent = stage.axes[longest].extent.as_int()?;
    let in_order = !choice.strict_order || stage.axes.iter().filter(|axis| axis.reduce).count() == 1;
    let evenly = |parts: i64| (extent % parts == 0).then_some(extent / parts);
    let step = (parts..parts * 2).find_map(evenly).unwrap_or(extent / parts + 1);
    let enough = terms / extent.max(1) * step >= LEAST_TERMS;
    (parts > 1 && enough && in_order && combines_in_parts(stage)).then(|| Loop::by(longest, step))
}

/// About how many bytes there are of a factor.
fn bytes(stage: &Stage, factor: &PrimExpr) -> i64 {
    let used = stage.axes.iter().filter(|axis| factor.uses(&axis.var)).map(|axis| size(&axis.extent));
    used.fold(factor.dtype().bytes() as i64, i64::saturating_mul)
}

/// About how many bytes a product loads in vectors that it can use for several rows.
pub fn shared_bytes(stage: &Stage) -> i64 {
    let shared = vector_axis(stage).and_then(|axis| vector_factor(stage, &stage.axes[axis].var));
    shared.map_or(0, |factor| bytes(stage, factor))
}

/// Returns true if a product loads the same for all values of an axis in what it loads in vectors. Where it has none,
/// it may.
pub fn shares(stage: &Stage, axis: usize) -> bool {
    let along = vector_axis(stage).and_then(|along| vector_factor(stage, &stage.axes[along].var));
    factors(stage).is_some() && along.is_none_or(|factor| !factor.uses(&stage.axes[axis].var))
}

/// How many rows of results are computed side by side, and how many results of each row: as many as registers hold, so
/// that additions do not wait for each other, in blocks of about the same size. Beside those for a window there must be
/// room for its taps. None where there is one result in a row.
pub fn block(stage: &Stage, axis: usize, rows: Option<usize>, choice: &Choice, window: bool) -> Option<(i64, i64)> {
    let (registers, most_rows, wide) = match (choice.target.vector_registers >= 32, window) {
        (true, false) => (16, 8, 4),
        (true, true) => (8, 4, 2),
        (false, false) => (12, 6, 2),
        (false, true) => (4, 4, 1),
    };
    let one = register_lanes(stage, choice.target);
    let count = rows.map_or(Some(1), |at| stage.axes[at].extent.as_int());
    let few = count.filter(|count| *count <= most_rows).map(|count| count.max(1));
    let width = few.map_or(wide, |count| registers / count);
    let columns = stage.axes[axis].extent.as_int();
    let width = columns.map_or(width, |columns| evenly((columns + one - 1) / one, width));
    let side = (registers / width).min(most_rows);
    let lanes = columns.unwrap_or(i64::MAX).min(width * one).max(1);
    let side = few.unwrap_or_else(|| count.map_or(side, |count| evenly(count, side)));
    (lanes > 1).then_some((side, lanes))
}

/// A factor that is worth copying before it is used, and the tile for which.
struct Worthwhile<'a> {
    /// The axis of the results that it lies along, and how many of them are computed together.
    axis: usize,
    lanes: i64,
    /// The axis of the rows that use the same numbers, and how many are computed together.
    rows: usize,
    side: i64,
    /// The load, with its number.
    load: &'a PrimExpr,
    number: usize,
}

impl Worthwhile<'_> {
    fn of<'a>(stage: &'a Stage, choice: &Choice) -> Option<Worthwhile<'a>> {
        let axis = store_axis(stage).filter(|_| stage.values().all(computes_in_lanes))?;
        let shared = vector_factor(stage, &stage.axes[axis].var)?;
        let rows = row_axis(stage, axis, shared)?;
        let (side, lanes) = block(stage, axis, Some(rows), choice, false)?;
        let (number, load) = part_of(stage, shared)?;
        let var = &stage.axes[axis].var;
        // How often each number that is copied is used, and how often it would be loaded from far apart.
        let others = spatial(stage).filter(|at| !shared.uses(&stage.axes[*at].var));
        let times: i64 = others.map(|at| size(&stage.axes[at].extent)).product();
        let far = stage.axes[axis].extent.as_int().is_none_or(|extent| extent > lanes);
        let terms = || reduced_vector_axis(stage).and_then(|axis| term_lanes(stage, axis, 1, choice));
        let in_lanes = || vector_axis(stage).is_some() || terms().is_some();
        // What is computed is copied instead of computing it for each block of rows.
        let computed = !matches!(load.kind(), PrimKind::Load(..));
        let worth = match access::all_contiguous(load, var) {
            true if computed => times > side,
            true => far && times >= USED_OFTEN && bytes(stage, shared) > choice.all_of_nearest(),
            false => times >= if in_lanes() { USED } else { USED_FOR_LANES },
        };
        let in_blocks = load.any(&mut |e| access::blocks(e, var).is_some());
        (worth && !in_blocks).then_some(Worthwhile { axis, lanes, rows, side, load, number })
    }
}

fn packed(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let Worthwhile { axis, lanes, rows, side, load, number } = Worthwhile::of(stage, choice)?;
    if !can_be_copied(stage, load) {
        return None;
    }
    let used = |at: &usize| load.uses(&stage.axes[*at].var);
    let mut loops: Vec<Loop> = spatial(stage).filter(|at| used(at) && *at != axis).map(Loop::serial).collect();
    loops.push(Loop::by(axis, lanes));
    let parts = parts_of_terms(stage, load, lanes, choice);
    loops.extend(parts.clone());
    let inside = loops.len();
    let axes: Vec<usize> = reduced(stage).map(|l| l.axis).filter(used).chain([axis]).collect();
    let left = axes.iter().map(|at| match loops.iter().find(|l| l.axis == *at && l.step > 1) {
        Some(l) => PrimExpr::int64(l.step),
        None => stage.axes[*at].extent.clone(),
    });
    let position: Vec<PrimExpr> = stage.axes.iter().map(|axis| axis.var.expr()).collect();
    let left: Vec<PrimExpr> = left.collect();
    let to = Buffer::new("copy", left.clone(), load.dtype());
    let copy = inner_plan(&stage.copy_of(load, &axes, left, &position, to, None), *choice);
    let others = spatial(stage).filter(|at| !used(at));
    loops.extend(others.map(|at| if at == rows { Loop::by(at, side) } else { Loop::serial(at) }));
    let inside_rows = loops.len();
    loops.extend(reduced(stage));
    loops.extend([Loop::unrolled(rows), Loop::vector(axis)]);
    let mut plan = StagePlan::new(PACKED.name, loops);
    plan.staged.push(Staged { copy, ..Staged::new(number, inside, axes) });
    let wide = if side > 1 { widened(stage, &plan, load, rows, inside_rows, choice) } else { None };
    plan.staged.extend(wide);
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// How a factor of a product is worth packing before a kernel runs, if it may be.
pub fn packing(stage: &Stage, choice: &Choice) -> Option<Packing> {
    let (axis, block, load) = match Worthwhile::of(stage, choice) {
        Some(Worthwhile { axis, lanes, load, .. }) if can_be_copied(stage, load) => (axis, lanes, load),
        // Without a copy, what a factor is made of is read for each block of rows.
        Some(Worthwhile { axis, lanes, load, .. }) => (axis, lanes, kept(load)?),
        None => streamed(stage, choice).and_then(|(axis, lanes, factor)| Some((axis, lanes, kept(factor)?)))?,
    };
    let (buffer, dim) = whole_dimension(stage, load, axis)?;
    Some(Packing { buffer, dim, block, words: None })
}

/// The load that a factor is, or that it is made of, such as the numbers that weights are kept in: that of most bytes.
fn kept(factor: &PrimExpr) -> Option<&PrimExpr> {
    let mut loads = Vec::new();
    factor.walk(&mut |e| {
        if let PrimKind::Load(buffer, ..) = e.kind() {
            let bytes = buffer.dtype.bytes() as i64;
            loads.push((buffer.shape.iter().fold(bytes, |bytes, dim| bytes.saturating_mul(size(dim))), e));
        }
    });
    loads.into_iter().max_by_key(|(bytes, _)| *bytes).map(|(_, load)| load)
}

/// The buffer of a load, and its dimension through all of which an axis goes, alone.
pub fn whole_dimension(stage: &Stage, load: &PrimExpr, axis: usize) -> Option<(Buffer, usize)> {
    let axis = &stage.axes[axis];
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let mut along = (0..indices.len()).filter(|at| indices[*at].uses(&axis.var));
    let (dim, None) = (along.next()?, along.next()) else { return None };
    let whole = indices[dim].as_var() == Some(&axis.var) && same_expr(&axis.extent, &buffer.shape[dim]);
    whole.then(|| (buffer.clone(), dim))
}

/// A factor of a product that few rows use and that comes from memory, with the axis that it lies along and so many results
/// as are worth computing together: memory is fastest where all is read in order.
fn streamed<'a>(stage: &'a Stage, choice: &Choice) -> Option<(usize, i64, &'a PrimExpr)> {
    let axis = vector_axis(stage)?;
    let load = vector_factor(stage, &stage.axes[axis].var)?;
    let lanes = match row_axis(stage, axis, load) {
        Some(rows) => block(stage, axis, Some(rows), choice, false)?.1,
        None => 2 * VECTORS * register_lanes(stage, choice.target),
    };
    let far = stage.axes[axis].extent.as_int().is_some_and(|extent| extent > lanes);
    (far && bytes(stage, load) > choice.cache()).then_some((axis, lanes, load))
}

/// The axis of a product of which several values are computed side by side.
pub fn product_rows(stage: &Stage) -> Option<usize> {
    let axis = vector_axis(stage)?;
    row_axis(stage, axis, vector_factor(stage, &stage.axes[axis].var)?)
}

/// The axis along which results of a product are neighbours, if only one factor changes along it and rows share that one:
/// it can be copied in their order.
pub fn product_columns(stage: &Stage) -> Option<usize> {
    let axis = store_axis(stage)?;
    let rows = row_axis(stage, axis, vector_factor(stage, &stage.axes[axis].var)?)?;
    (stage.axes[rows].extent.as_int() != Some(1)).then_some(axis)
}

/// The factor of a product that changes along an axis, when the other does not.
fn vector_factor<'a>(stage: &'a Stage, var: &Var) -> Option<&'a PrimExpr> {
    let (a, b) = factors(stage)?;
    (a.uses(var) != b.uses(var)).then(|| if a.uses(var) { a } else { b })
}

/// A factor, with its number among the stage's parts.
fn part_of<'a>(stage: &'a Stage, factor: &PrimExpr) -> Option<(usize, &'a PrimExpr)> {
    access::parts(stage).into_iter().enumerate().find(|(_, part)| same_expr(part, factor))
}

/// A factor that is a load, with its number among the stage's.
fn load_of<'a>(stage: &'a Stage, factor: &PrimExpr) -> Option<(usize, &'a PrimExpr)> {
    access::loads(stage).into_iter().enumerate().find(|(_, load)| same_expr(load, factor))
}

/// The last spatial axis besides one that a factor does not change along.
pub fn row_axis(stage: &Stage, axis: usize, factor: &PrimExpr) -> Option<usize> {
    spatial(stage).rev().find(|at| *at != axis && !factor.uses(&stage.axes[*at].var))
}

fn inner(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let axis = reduced_vector_axis(stage).filter(|_| !choice.strict_order)?;
    let (a, b) = factors(stage)?;
    let var = &stage.axes[axis].var;
    if !a.uses(var) || !b.uses(var) {
        return None;
    }
    // Rows are an axis of one factor only, columns one of the other; what both change along stays outside.
    let only = |own: &PrimExpr, other: &PrimExpr| {
        spatial(stage).rev().find(|at| own.uses(&stage.axes[*at].var) && !other.uses(&stage.axes[*at].var))
    };
    let mut tiled: Vec<usize> = only(a, b).into_iter().chain(only(b, a)).collect();
    tiled.sort_by_key(|at| size(&stage.axes[*at].extent));
    let registers = i64::from(choice.target.vector_registers / 2);
    let (lanes, sides) = match tiled.as_slice() {
        [] => (term_lanes(stage, axis, VECTORS, choice)?, vec![]),
        [_] => (term_lanes(stage, axis, registers / ROWS / 2, choice)?, vec![ROWS]),
        _ => (term_lanes(stage, axis, 1, choice)?, vec![ROWS, registers / ROWS]),
    };
    let outside = spatial(stage).filter(|at| !tiled.contains(at)).map(Loop::serial);
    // The longer side in blocks that stay in the cache while the other side runs past them.
    let block = tiled.get(1).filter(|at| stage.axes[**at].extent.as_int().is_none_or(|n| n > BLOCK));
    let block = block.map(|at| Loop::by(*at, BLOCK));
    let around = tiled.iter().zip(&sides).map(|(at, side)| Loop::by(*at, *side));
    let tile = tiled.iter().map(|at| Loop::unrolled(*at)).chain([Loop::vector(axis)]);
    Some(outside.chain(block).chain(around).chain(terms(stage, axis, lanes)).chain(tile).collect::<Vec<_>>().into())
}

/// The factor of a stage with others that share rows, if it is worth to copy it before the rows: it lies along another axis
/// than the results, and enough rows use it.
pub fn copied(rows: &Rows, number: usize, choice: &Choice) -> Option<Copied> {
    let stage = &rows.stages[number];
    let axis = store_axis(stage)?;
    let shared = vector_factor(stage, &stage.axes[axis].var)?;
    let (load, e) = load_of(stage, shared)?;
    let often = rows.extents().last().and_then(PrimExpr::as_int).is_some_and(|rows| rows >= USED);
    let across = !is_contiguous(e, &stage.axes[axis].var);
    if !often || !across || !rows.is_same_for_rows(number, e) || !can_be_copied(stage, e) {
        return None;
    }
    let row_axes: Vec<usize> = rows.row_axes(number).collect();
    let used = |at: &usize| e.uses(&stage.axes[*at].var) && !row_axes.contains(at) && *at != axis;
    let axes: Vec<usize> = (0..stage.axes.len()).filter(used).chain([axis]).collect();
    let bytes =
        axes.iter().try_fold(e.dtype().bytes() as i64, |bytes, at| bytes.checked_mul(stage.axes[*at].extent.as_int()?));
    bytes.is_some_and(|bytes| bytes <= choice.cache()).then_some(Copied { stage: number, load, axes })
}

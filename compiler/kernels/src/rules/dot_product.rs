//! Sums of products of narrow numbers, several of which a processor adds in one instruction.

use super::{
    Choice, Loops, PackedWords, Packing, Rule,
    contraction::{block, row_axis, whole_dimension},
    inner_plan, reduced, size, spatial, within_block,
};
use crate::index::same_expr;
use crate::{
    plan::{Loop, StagePlan, Staged},
    stage::{
        Stage,
        access::{self, can_be_copied, computes_in_lanes, is_contiguous, parts, store_axis},
        dots::{self, Dot},
    },
};
use hammock_ir::PrimExpr;

/// How often words are used when it is worth to make them: of terms that lie side by side along the results,
const USED: i64 = 4;
/// and of others.
const USED_ACROSS: i64 = 8;

/// Words of both factors.
pub static RULE: Rule = Rule {
    name: "dot-product",
    class: "product",
    why: "several narrow products are added to each sum at once, and factors are copied in words of so many",
    doc: "A sum of products of 8-bit integers in int32, or of bfloat16 in float32 where the processor multiplies these \
          (not with --strict-order): four or two products are added to a sum in one instruction. The factor along the \
          result is copied in words of so many terms, padded with zeros, unless it is packed so already; the other one \
          is copied where its terms are not side by side. Several rows share each vector of words, as in outer-product.",
    plan,
};

fn plan(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let Words { dot, axis, along, other, rows, terms, packed } = Words::of(stage, choice)?;
    let (side, lanes) = block(stage, axis, rows, choice, false)?;
    // Vectors must not cross the ends of blocks.
    let in_blocks = packed.as_ref().and_then(|words| access::blocks(words, &stage.axes[axis].var));
    let lanes = in_blocks.map_or(lanes, |block| within_block(lanes, block));
    let others = || spatial(stage).filter(|at| !along.uses(&stage.axes[*at].var));
    let often: i64 = others().map(|at| size(&stage.axes[at].extent)).product();
    let worth = if is_contiguous(along, &stage.axes[axis].var) { USED } else { USED_ACROSS };
    if lanes < 2 || packed.is_none() && often < worth {
        return None;
    }
    let used = |at: &usize| along.uses(&stage.axes[*at].var);
    let mut loops: Vec<Loop> = spatial(stage).filter(|at| used(at) && *at != axis).map(Loop::serial).collect();
    loops.push(Loop::by(axis, lanes));
    let inside = loops.len();
    loops.extend(others().map(|at| if Some(at) == rows { Loop::by(at, side) } else { Loop::serial(at) }));
    loops.extend(reduced(stage).map(|l| if l.axis == terms { Loop::by(terms, dot.terms()) } else { l }));
    loops.extend(rows.map(Loop::unrolled));
    loops.extend([Loop::vector(axis), Loop::dot(terms)]);
    let mut plan = StagePlan::new(RULE.name, loops);
    // The terms of a word are side by side, and words along the results, or as rows use them.
    let mut copied = Vec::new();
    if packed.is_none() {
        copied.push((along, inside));
    }
    if !dots::lies_in_words(other, &stage.axes[terms]) && stage.packed_words(other, terms, dot).is_none() {
        copied.push((other, inside));
    }
    for (load, inside) in copied {
        plan.staged.push(staged(stage, &plan, load, inside, choice)?);
    }
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// A sum of products of words.
struct Words<'a> {
    dot: Dot,
    /// The axis of the results that are lanes.
    axis: usize,
    /// The factor that changes along it, and the other one.
    along: &'a PrimExpr,
    other: &'a PrimExpr,
    /// The axis of the rows that share the former.
    rows: Option<usize>,
    /// The axis whose terms make words.
    terms: usize,
    /// The words of the factor along the results where it is packed in words.
    packed: Option<PrimExpr>,
}

impl Words<'_> {
    fn of<'a>(stage: &'a Stage, choice: &Choice) -> Option<Words<'a>> {
        let dot = dots::dot(stage).filter(|dot| dot.is_for(choice.target, choice.strict_order))?;
        let axis = store_axis(stage).filter(|_| stage.values().all(computes_in_lanes))?;
        let var = &stage.axes[axis].var;
        let [a, b] = dots::narrow_factors(stage)?;
        let (along, other) = match (a.uses(var), b.uses(var)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let of_words = |at: usize| stage.packed_words(along, at, dot).filter(|words| is_contiguous(words, var));
        let found = reduced(stage).find_map(|l| Some((l.axis, of_words(l.axis)?)));
        let (terms, packed) = match found.filter(|(terms, _)| other.uses(&stage.axes[*terms].var)) {
            Some((terms, words)) => (terms, Some(words)),
            None => (self::terms(stage, along, other, dot)?, None),
        };
        Some(Words { dot, axis, along, other, rows: row_axis(stage, axis, along), terms, packed })
    }
}

/// How a factor of dot products along the results is worth packing before a kernel runs, if it may be: always, for then
/// nothing is copied.
pub fn packing(stage: &Stage, choice: &Choice) -> Option<Packing> {
    let Words { dot, axis, along, rows, terms, packed: None, .. } = Words::of(stage, choice)? else { return None };
    let (_, block) = block(stage, axis, rows, choice, false)?;
    let (buffer, dim) = whole_dimension(stage, along, axis)?;
    let (_, of_terms) = whole_dimension(stage, along, terms)?;
    // The instruction multiplies unsigned bytes with signed ones.
    let moved = matches!(dot, Dot::Bytes([a, b]) if a == b) && choice.target.int8_dot;
    Some(Packing { buffer, dim, block, words: Some(PackedWords { dim: of_terms, terms: dot.terms(), moved }) })
}

/// The axis whose terms make words: both factors change along it, and the one that is not copied for its lanes has its
/// terms side by side, if there is such an axis.
fn terms(stage: &Stage, along: &PrimExpr, other: &PrimExpr, dot: Dot) -> Option<usize> {
    let several = |extent: &PrimExpr| extent.as_int().is_none_or(|extent| extent >= dot.terms());
    let both = |at: &usize| {
        let axis = &stage.axes[*at];
        along.uses(&axis.var) && other.uses(&axis.var) && several(&axis.extent)
    };
    let axes: Vec<usize> = reduced(stage).map(|l| l.axis).filter(both).collect();
    let side_by_side = axes.iter().rev().find(|at| dots::lies_in_words(other, &stage.axes[**at]));
    side_by_side.or(axes.last()).copied()
}

/// The copy of a factor in words.
fn staged(stage: &Stage, plan: &StagePlan, load: &PrimExpr, inside: usize, choice: &Choice) -> Option<Staged> {
    let number = parts(stage).iter().position(|e| same_expr(e, load)).filter(|_| can_be_copied(stage, load))?;
    let axes = plan.in_tile_order(stage, load, inside);
    let mut staged = Staged::new(number, inside, axes);
    staged.copy = inner_plan(&plan.copy_of(stage, &staged), *choice);
    Some(staged)
}

//! Sums of products of narrow numbers, several of which a processor adds in one instruction.

use super::{
    Choice, Loops, Rule, inner_plan,
    products::{block, row_axis},
    reduced, size, spatial,
};
use crate::index::same_expr;
use crate::{
    plan::{Loop, StagePlan, Staged},
    stage::{
        Stage,
        access::{can_be_copied, computes_in_lanes, is_contiguous, parts, store_axis},
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
          result is copied in words of so many terms, padded with zeros; the other one is copied where its terms are not \
          side by side. Several rows share each vector of words, as in outer-product.",
    plan,
};

fn plan(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let dot = dots::dot(stage).filter(|dot| dot.is_for(choice.target, choice.strict_order))?;
    let axis = store_axis(stage).filter(|_| stage.values().all(computes_in_lanes))?;
    let var = &stage.axes[axis].var;
    let [a, b] = dots::narrow_factors(stage)?;
    let (along, other) = match (a.uses(var), b.uses(var)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return None,
    };
    let rows = row_axis(stage, axis, along)?;
    let (side, lanes) = block(stage, axis, Some(rows), choice, false)?;
    let terms = terms(stage, along, other, dot)?;
    let often: i64 =
        spatial(stage).filter(|at| !along.uses(&stage.axes[*at].var)).map(|at| size(&stage.axes[at].extent)).product();
    if often < if is_contiguous(along, var) { USED } else { USED_ACROSS } {
        return None;
    }
    let used = |at: &usize| along.uses(&stage.axes[*at].var);
    let mut loops: Vec<Loop> = spatial(stage).filter(|at| used(at) && *at != axis).map(Loop::serial).collect();
    loops.push(Loop::by(axis, lanes));
    let inside = loops.len();
    let others = spatial(stage).filter(|at| !used(at));
    loops.extend(others.map(|at| if at == rows { Loop::by(at, side) } else { Loop::serial(at) }));
    loops.extend(reduced(stage).map(|l| if l.axis == terms { Loop::by(terms, dot.terms()) } else { l }));
    loops.extend([Loop::unrolled(rows), Loop::vector(axis), Loop::dot(terms)]);
    let mut plan = StagePlan::new(RULE.name, loops);
    // The terms of a word are side by side, and words along the results, or as rows use them.
    let mut copied = vec![(along, inside)];
    if !dots::lies_in_words(other, &stage.axes[terms]) {
        copied.push((other, inside));
    }
    for (load, inside) in copied {
        plan.staged.push(staged(stage, &plan, load, inside, terms, choice)?);
    }
    Some(Loops { loops: plan.loops, staged: plan.staged })
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
fn staged(
    stage: &Stage,
    plan: &StagePlan,
    load: &PrimExpr,
    inside: usize,
    terms: usize,
    choice: &Choice,
) -> Option<Staged> {
    let number = parts(stage).iter().position(|e| same_expr(e, load)).filter(|_| can_be_copied(stage, load))?;
    let used = |at: &usize| load.uses(&stage.axes[*at].var);
    // Those whose values the loops around leave; the one along which results lie last.
    let left = |at: &usize| plan.range(*at, inside) != Some(1);
    let (sums, results): (Vec<usize>, Vec<usize>) =
        (0..stage.axes.len()).filter(used).filter(left).partition(|at| stage.axes[*at].reduce);
    let axes: Vec<usize> = sums.into_iter().filter(|at| *at != terms).chain([terms]).chain(results).collect();
    let mut staged = Staged { load: number, inside, axes, copy: StagePlan::new(RULE.name, Vec::new()) };
    staged.copy = inner_plan(&plan.copy_of(stage, &staged), *choice);
    Some(staged)
}

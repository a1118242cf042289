//! Polyphase decomposition of contractions over zero-inserted data.
//!
//! In `Σ spread[y + d·k + c] · weight[k]`, where `spread` is zero except at `f`, `f + s`, `f + 2s`…, the *phase* of a
//! result, `p = y % s`, determines which `k` contribute: with `y = s·y' + p`, these are `k = t·k' + q(p)`, where `t = s
//! / gcd(s, d)`, and `q(p)` is the first. They read the dense data at `y' + k'·d·t/s` plus a constant. Each phase
//! becomes a contraction of its own; phases with equally many elements share one.
//!
//! Adjacent results have different phases. If results are contiguous along such an axis, they are first stored phase by
//! phase, and a second stage interleaves them. If every result has one summand per channel (kernels as long as the
//! step), the results of a phase are stored like the data along all axes, so that these can be collapsed.
//!
//! The index in a zero-inserted dimension must be the sum of one axis of the results, with coefficient 1, a constant,
//! and at most one reduction axis of known extent; the results' extent may be dynamic. Steps beyond [`MAX_STEP`], more
//! than [`MAX_CONTRACTIONS`] contractions, and two dimensions that share an axis are not handled: the contraction then
//! runs over the zero-inserted data.

use crate::{
    Axis, Epilogue, Stage,
    access::store_axis,
    index::{Poly, Simplifier, same_expr},
    raise::Indices,
    replace_loads, substitution,
    zero_insertion::ZeroInsertion,
};
use hammock_ir::{
    PrimExpr,
    arith::gcd,
    prim::{PrimKind, Var},
    tir::Buffer,
};

/// Maximum number of contractions that replace one.
const MAX_CONTRACTIONS: usize = 16;
/// Maximum upsampling factor; each step has its own phase, which the compiler enumerates.
const MAX_STEP: i64 = 1 << 16;

/// Decomposition of a contraction.
pub struct Decomposition {
    /// The contractions, and the stage that interleaves their results.
    pub stages: Vec<Stage>,
    /// Buffer of the results phase by phase.
    pub buffer: Option<Buffer>,
}

/// Sliding of the window along a zero-inserted dimension: elements are read at `y + pace * k + offset` after the first
/// nonzero one.
struct Slide<'a> {
    gap: &'a ZeroInsertion,
    /// The axis of the results.
    result: usize,
    /// The reduction axis, and its extent.
    term: Option<(usize, i64)>,
    pace: i64,
    offset: i64,
}

/// Consecutive phases with the same reduction extent.
struct PhaseClass {
    first: i64,
    count: i64,
    /// Number of results of each phase.
    results: PrimExpr,
    terms: i64,
}

/// Returns true if a contraction's window slides along a zero-inserted dimension, so that it can be decomposed.
pub fn can_split(sum: &Stage, load: &PrimExpr, gap: &ZeroInsertion) -> bool {
    Slide::of(sum, load, gap).is_some()
}

/// Returns the contractions over dense data that replace one over zero-inserted data.
pub fn split(sum: &Stage, load: &PrimExpr, gaps: &[ZeroInsertion], dense: &Buffer) -> Option<Decomposition> {
    let slides: Vec<Slide> = gaps.iter().map(|gap| Slide::of(sum, load, gap)).collect::<Option<_>>()?;
    let classes: Vec<Vec<PhaseClass>> = slides.iter().map(|slide| slide.classes(sum)).collect();
    let count = classes.iter().fold(1usize, |count, classes| count.saturating_mul(classes.len()));
    let several = |n: usize| slides[..n].iter().any(|other| other.shares_axis(&slides[n]));
    if count > MAX_CONTRACTIONS || (0..slides.len()).any(several) {
        return None;
    }
    let mut all: Vec<Vec<&PhaseClass>> = vec![Vec::new()];
    for classes in &classes {
        all = all.iter().flat_map(|chosen| classes.iter().map(|class| [&chosen[..], &[class]].concat())).collect();
    }
    let along = store_axis(sum).and_then(|axis| slides.iter().position(|slide| slide.result == axis));
    let is_pointwise = classes.iter().all(|classes| matches!(classes.as_slice(), [only] if only.terms == 1));
    let staging = along.map(|along| {
        let is_split = |number: &usize| is_pointwise || *number == along;
        let split = (0..slides.len()).filter(is_split).map(|number| SplitAxis::of(number, &slides[number])).collect();
        PhaseBuffer::new(sum, split)
    });
    let of_class = |chosen: Vec<&PhaseClass>| {
        Phase { sum, load, slides: &slides, classes: chosen, dense, staging: staging.as_ref() }.stage()
    };
    let mut stages: Vec<Stage> = all.into_iter().filter_map(of_class).collect();
    stages.extend(staging.as_ref().map(|staging| staging.interleaved(sum)));
    Some(Decomposition { stages, buffer: staging.map(|staging| staging.buffer) })
}

impl<'a> Slide<'a> {
    fn of(sum: &Stage, load: &PrimExpr, gap: &'a ZeroInsertion) -> Option<Slide<'a>> {
        let PrimKind::Load(_, indices, _) = load.kind() else { return None };
        let position = Simplifier::default().poly(&indices[gap.dim]);
        let mut used = (0..sum.axes.len()).filter(|axis| position.uses(&sum.axes[*axis].var));
        let factor = |axis: usize| position.coefficient(&sum.axes[axis].var).and_then(|factor| factor.as_constant());
        let own: Vec<(usize, i64)> = used.by_ref().map(|axis| Some((axis, factor(axis)?))).collect::<Option<_>>()?;
        let (terms, results): (Vec<_>, Vec<_>) = own.into_iter().partition(|(axis, _)| sum.axes[*axis].reduce);
        let ([(result, 1)], [] | [_]) = (results.as_slice(), terms.as_slice()) else { return None };
        let term = match terms.first() {
            Some((axis, _)) => Some((*axis, sum.axes[*axis].extent.as_int()?)),
            None => None,
        };
        let pace = terms.first().map_or(0, |(_, pace)| *pace);
        let moving =
            terms.iter().chain(&results).map(|(axis, factor)| Poly::atom(sum.axes[*axis].var.expr()).scale(*factor));
        let offset = moving.fold(position.clone(), |rest, term| &rest - &term).as_constant()? - gap.first;
        let small = |number: i64| number.abs() < 1 << 30;
        let fits = gap.step <= MAX_STEP && small(pace) && small(offset);
        fits.then_some(Slide { gap, result: *result, term, pace, offset })
    }

    fn shares_axis(&self, other: &Slide) -> bool {
        self.result == other.result || self.term.is_some_and(|(axis, _)| other.term.is_some_and(|(of, _)| of == axis))
    }

    /// Distance of consecutive contributing elements of a phase along the reduction axis.
    fn stride(&self) -> i64 {
        self.gap.step / gcd(self.gap.step, self.pace)
    }

    /// Returns the first contributing element of a phase; `None` if there is none.
    fn first(&self, phase: i64) -> Option<i64> {
        let (_, count) = self.term.unwrap_or((0, 1));
        // Solves phase + pace * element + offset = 0 modulo the step.
        let divisor = gcd(self.gap.step, self.pace);
        let (wanted, stride) = (-(phase + self.offset), self.stride());
        if wanted % divisor != 0 {
            return None;
        }
        let first = (wanted / divisor).rem_euclid(stride) * modular_inverse(self.pace / divisor, stride);
        Some(first % stride).filter(|first| *first < count)
    }

    /// Groups consecutive phases that have the same extents.
    fn classes(&self, sum: &Stage) -> Vec<PhaseClass> {
        let (step, stride) = (self.gap.step, self.stride());
        let terms = |phase: i64| {
            let (_, count) = self.term.unwrap_or((0, 1));
            self.first(phase).map_or(0, |first| (count - first + stride - 1) / stride)
        };
        let mut classes: Vec<PhaseClass> = Vec::new();
        for phase in 0..step {
            let (results, terms) = (strided_count(&sum.axes[self.result].extent, phase, step), terms(phase));
            let together = self.pace.rem_euclid(step) == 1 || terms == 0;
            match classes.last_mut() {
                Some(last) if together && last.terms == terms && same_expr(&last.results, &results) => last.count += 1,
                _ => classes.push(PhaseClass { first: phase, count: 1, results, terms }),
            }
        }
        classes
    }

    /// Returns the first contributing element of a phase of a class, as an expression of the phase.
    fn first_of(&self, class: &PhaseClass, phase: &PrimExpr) -> PrimExpr {
        let first = |phase: i64| self.first(phase).unwrap_or(0);
        let start = first(class.first);
        match (0..class.count).all(|n| first(class.first + n) == start - n) {
            true => int(start + class.first) - phase,
            false => (int(-self.offset) - phase).floormod(int(self.gap.step)),
        }
    }
}

/// One combination of phase classes, one class for each zero-inserted dimension.
struct Phase<'a> {
    sum: &'a Stage,
    load: &'a PrimExpr,
    slides: &'a [Slide<'a>],
    classes: Vec<&'a PhaseClass>,
    dense: &'a Buffer,
    staging: Option<&'a PhaseBuffer>,
}

/// Iteration space of a phase.
struct IterationSpace {
    axes: Vec<Axis>,
    /// Position along each axis of the original contraction.
    at: Vec<PrimExpr>,
    /// Index of the dense data, for each zero-inserted dimension.
    read: Vec<PrimExpr>,
    /// Indices in the buffer of phases.
    staging: Option<Vec<PrimExpr>>,
}

impl Phase<'_> {
    /// Returns the stage that computes them; `None` if there is nothing to do.
    fn stage(&self) -> Option<Stage> {
        let sum = self.sum;
        let is_empty = self.classes.iter().any(|class| class.terms == 0);
        if is_empty && sum.init.is_none() {
            return None;
        }
        let IterationSpace { mut axes, at, read, staging } = self.iteration_space();
        axes.retain(|axis| !(is_empty && axis.reduce));
        let (values, simple) = (substitution(&sum.axes, &at), Indices::new(&mut axes));
        let put = |e: &PrimExpr| simple.value(&self.load_dense(&e.substitute(&values), &read));
        let moved = |of: &[PrimExpr]| simple.simple(&of.iter().map(|e| e.substitute(&values)).collect::<Vec<_>>());
        let (mut value, init) = (put(&sum.value), sum.init.as_ref().map(&put));
        let (mut buffer, mut indices) = (sum.buffer.clone(), moved(&sum.indices));
        if let Some((own, at)) = self.staging.zip(staging) {
            (buffer, indices) = (own.buffer.clone(), simple.simple(&at));
            value = replace_loads(&value, &sum.buffer, &PrimExpr::load(&buffer, indices.clone()));
        }
        let epilogue = sum.epilogue.as_ref().filter(|_| self.staging.is_none());
        let epilogue = epilogue.map(|Epilogue { buffer, indices, value }| Epilogue {
            buffer: buffer.clone(),
            indices: moved(indices),
            value: put(value),
        });
        let stage = Stage { axes, buffer, indices, value, init, epilogue, ..sum.clone() };
        Some(if is_empty { empty_reduction(stage) } else { stage })
    }

    fn iteration_space(&self) -> IterationSpace {
        let sum = self.sum;
        let mut axes: Vec<Axis> = sum.axes.iter().map(Axis::fresh).collect();
        let fresh: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
        let (mut at, mut read, mut phases, mut own) = (fresh.clone(), Vec::new(), Vec::new(), Vec::new());
        for (slide, class) in self.slides.iter().zip(&self.classes) {
            let (result, step, stride) = (slide.result, int(slide.gap.step), slide.stride());
            let phase = class.phase(&mut own);
            let first = slide.first_of(class, &phase);
            let mut position =
                &fresh[result] + (&phase + &first * int(slide.pace) + int(slide.offset)).floordiv(step.clone());
            axes[result].extent = class.results.clone();
            at[result] = &fresh[result] * step + &phase;
            if let Some((term, _)) = slide.term {
                axes[term].extent = int(class.terms);
                position = position + &fresh[term] * int(slide.pace * stride / slide.gap.step);
                at[term] = &fresh[term] * int(stride) + first;
            }
            read.push(position);
            phases.push(phase);
        }
        let staging = self.staging.map(|staging| {
            let part = |split: &SplitAxis| (phases[split.slide].clone(), fresh[split.axis].clone());
            staging.indices(&at, staging.split.iter().map(part))
        });
        own.extend(axes);
        IterationSpace { axes: own, at, read, staging }
    }

    /// Redirects loads to the dense data.
    fn load_dense(&self, e: &PrimExpr, read: &[PrimExpr]) -> PrimExpr {
        match (e.kind(), self.load.kind()) {
            (PrimKind::Load(buffer, indices, _), PrimKind::Load(spread, ..)) if buffer == spread => {
                let mut indices = indices.clone();
                self.slides.iter().zip(read).for_each(|(slide, position)| indices[slide.gap.dim] = position.clone());
                PrimExpr::load(self.dense, indices)
            }
            _ => e.map_children(&mut |child| self.load_dense(child, read)),
        }
    }
}

impl PhaseClass {
    /// Returns the phase; of several, adds an axis that enumerates them.
    fn phase(&self, axes: &mut Vec<Axis>) -> PrimExpr {
        if self.count == 1 {
            return int(self.first);
        }
        let var = Var::int64("phase");
        let phase = var.expr() + int(self.first);
        axes.push(Axis::spatial(var, int(self.count)));
        phase
    }
}

/// Returns the stage of an empty reduction.
fn empty_reduction(stage: Stage) -> Stage {
    let Some(start) = stage.init.clone() else { return stage };
    let (buffer, indices, value) = match stage.epilogue {
        Some(epilogue) => (epilogue.buffer, epilogue.indices, replace_loads(&epilogue.value, &stage.buffer, &start)),
        None => (stage.buffer, stage.indices, start),
    };
    Stage { buffer, indices, value, init: None, epilogue: None, ..stage }
}

/// An axis of the results that is stored phase by phase.
struct SplitAxis {
    slide: usize,
    axis: usize,
    step: i64,
}

impl SplitAxis {
    fn of(number: usize, slide: &Slide) -> SplitAxis {
        SplitAxis { slide: number, axis: slide.result, step: slide.gap.step }
    }
}

/// Buffer for the results phase by phase: along the contiguous axis, or all with phases.
struct PhaseBuffer {
    buffer: Buffer,
    split: Vec<SplitAxis>,
    /// The other axes of the results.
    others: Vec<usize>,
}

impl PhaseBuffer {
    fn new(sum: &Stage, mut split: Vec<SplitAxis>) -> PhaseBuffer {
        split.sort_by_key(|split| split.axis);
        let is_other = |at: &usize| !sum.axes[*at].reduce && split.iter().all(|split| split.axis != *at);
        let others: Vec<usize> = (0..sum.axes.len()).filter(is_other).collect();
        let steps = split.iter().map(|split| int(split.step));
        let counts = split.iter().map(|split| strided_count(&sum.axes[split.axis].extent, 0, split.step));
        let shape = others.iter().map(|at| sum.axes[*at].extent.clone()).chain(steps).chain(counts).collect();
        PhaseBuffer { buffer: Buffer::new("phases", shape, sum.buffer.dtype), split, others }
    }

    /// Returns the indices of a result, by the phase and the position in it along each split axis.
    fn indices(&self, at: &[PrimExpr], parts: impl Iterator<Item = (PrimExpr, PrimExpr)>) -> Vec<PrimExpr> {
        let (phases, positions): (Vec<PrimExpr>, Vec<PrimExpr>) = parts.unzip();
        self.others.iter().map(|axis| at[*axis].clone()).chain(phases).chain(positions).collect()
    }

    /// Returns the stage that interleaves the results.
    fn interleaved(&self, sum: &Stage) -> Stage {
        let mut axes: Vec<Axis> = sum.axes.iter().map(Axis::fresh).collect();
        let at: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
        axes.retain(|axis| !axis.reduce);
        let values = substitution(&sum.axes, &at);
        let part = |split: &SplitAxis| {
            let (position, step) = (&at[split.axis], int(split.step));
            (position.clone().floormod(step.clone()), position.clone().floordiv(step))
        };
        let result = PrimExpr::load(&self.buffer, self.indices(&at, self.split.iter().map(part)));
        let value = sum.epilogue.as_ref().map(|epilogue| epilogue.value.substitute(&values));
        let value = value.map_or(result.clone(), |value| replace_loads(&value, &sum.buffer, &result));
        let indices = sum.target_indices().iter().map(|index| index.substitute(&values)).collect();
        let name = format!("{}_interleaved", sum.name);
        Stage::new(name, axes, sum.target().clone(), indices, value).with_regions(sum.regions)
    }
}

/// Returns the number of elements with stride `step`, starting at `first`.
pub fn strided_count(extent: &PrimExpr, first: i64, step: i64) -> PrimExpr {
    Simplifier::default().index(&(extent + int(step - 1 - first)).floordiv(int(step)))
}

/// Returns the number whose product with `value`, which has no common factor with the modulus, is 1 modulo it.
fn modular_inverse(value: i64, modulus: i64) -> i64 {
    // Extended Euclidean algorithm; each pair is a remainder with its multiple of `value`.
    let (mut last, mut next) = ((modulus, 0), (value.rem_euclid(modulus), 1));
    while next.0 != 0 {
        let quotient = last.0 / next.0;
        (last, next) = (next, (last.0 - quotient * next.0, last.1 - quotient * next.1));
    }
    last.1.rem_euclid(modulus)
}

fn int(value: i64) -> PrimExpr {
    PrimExpr::int64(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_modular_inverses_are_one() {
        for (value, modulus) in [(1, 128), (3, 128), (-5, 67), (66, 67), (12_345, 65_536), (0, 1), (7, 1)] {
            let inverse = modular_inverse(value, modulus);
            assert_eq!((value * inverse).rem_euclid(modulus), 1 % modulus, "{value} modulo {modulus}");
        }
    }
}

//! Lowering of Einstein summations to contractions of pairs of operands.
//!
//! Axes that only one operand has are summed first. More than two operands are contracted in pairs, in the order that
//! [`super::path`] finds, with intermediates in the accumulator dtype. Without summation, the result is one product.

use super::{
    path::Network,
    subscripts::{Label, Subscripts},
};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
};
use hammock_ir::{DType, PrimExpr, relax::InferError, tir::Buffer};

/// Assumed extent of a dynamic axis in the costs of contractions.
const ASSUMED_EXTENT: i64 = 64;

/// An operand or intermediate, with the labels of its axes.
#[derive(Clone)]
struct Term {
    input: Input,
    labels: Vec<Label>,
}

impl Term {
    /// Labels of axes that do not broadcast, each once.
    fn own(&self) -> Vec<Label> {
        let axes = self.labels.iter().zip(self.input.shape()).filter(|(_, size)| !dims::is(size, 1));
        distinct(axes.map(|(label, _)| *label))
    }

    /// The element at an index for each label.
    fn at(&self, index: impl Fn(Label) -> PrimExpr, dtype: DType) -> PrimExpr {
        let axes = self.labels.iter().zip(self.input.shape());
        let at: Vec<_> =
            axes.map(|(label, size)| if dims::is(size, 1) { 0i64.into() } else { index(*label) }).collect();
        self.input.at(&at).cast(dtype)
    }
}

fn distinct(labels: impl IntoIterator<Item = Label>) -> Vec<Label> {
    let mut all = Vec::new();
    for label in labels {
        if !all.contains(&label) {
            all.push(label);
        }
    }
    all
}

/// Lowers a call of `einsum`.
pub fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "einsum")?;
    let inputs = b.inputs("operands")?;
    let subscripts = Subscripts::parse(cx, &inputs.iter().map(Input::ndim).collect::<Vec<_>>())?;
    let shapes: Vec<&[PrimExpr]> = inputs.iter().map(Input::shape).collect();
    let out = b.output("T_einsum")?;
    for (labels, shape) in subscripts.operands.iter().zip(&shapes) {
        for (label, size) in labels.iter().zip(*shape).filter(|(_, size)| !dims::is(size, 1)) {
            b.require_equal(size, &subscripts.extent(*label, &shapes), "axes of one letter differ in length");
        }
    }
    let labels = distinct(subscripts.operands.iter().flatten().copied());
    let extents = labels.iter().map(|label| subscripts.extent(*label, &shapes)).collect();
    let inputs_with_labels = inputs.iter().cloned().zip(subscripts.operands.iter().cloned());
    let terms = inputs_with_labels.map(|(input, labels)| Term { input, labels }).collect();
    let dtype = accumulator(out.dtype);
    Einsum { b: &mut b, output: subscripts.output, labels, extents, dtype }.lower(terms, &out);
    Ok(b.finish())
}

/// Lowering of a call.
struct Einsum<'b, 'c> {
    b: &'b mut Builder<'c>,
    output: Vec<Label>,
    labels: Vec<Label>,
    /// Extent of each label.
    extents: Vec<PrimExpr>,
    /// Accumulator dtype.
    dtype: DType,
}

impl Einsum<'_, '_> {
    fn lower(mut self, mut terms: Vec<Term>, out: &Buffer) {
        let output = self.output.clone();
        let is_summed = |term: &Term| term.own().iter().any(|label| !output.contains(label));
        if terms.len() == 1 || !terms.iter().any(is_summed) {
            return self.contract(&terms, &output, out);
        }
        for at in 0..terms.len() {
            let others = terms.iter().enumerate().filter(|(other, _)| *other != at);
            let used = distinct(others.flat_map(|(_, term)| term.own()).chain(output.iter().copied()));
            let own = terms[at].own();
            if own.iter().any(|label| !used.contains(label)) {
                let kept = own.into_iter().filter(|label| used.contains(label)).collect();
                terms[at] = self.intermediate(&terms[at..=at], kept);
            }
        }
        let path = self.path(&terms);
        let mut terms: Vec<Option<Term>> = terms.into_iter().map(Some).collect();
        for (a, b) in path.iter().take(path.len().saturating_sub(1)) {
            let pair: Vec<Term> = [a, b].into_iter().filter_map(|at| terms[*at].take()).collect();
            let used = distinct(terms.iter().flatten().flat_map(Term::own).chain(output.iter().copied()));
            let labels = result_labels(&pair, &used);
            let result = self.intermediate(&pair, labels);
            terms.push(Some(result));
        }
        let last: Vec<Term> = terms.into_iter().flatten().collect();
        self.contract(&last, &output, out);
    }

    /// Returns the pairs to contract.
    fn path(&self, terms: &[Term]) -> Vec<(usize, usize)> {
        let numbers = |labels: Vec<Label>| {
            labels.into_iter().filter_map(|label| self.labels.iter().position(|known| *known == label)).collect()
        };
        let extents = self.extents.iter().map(|extent| extent.as_int().unwrap_or(ASSUMED_EXTENT).max(1) as f64);
        let operands = terms.iter().map(|term| numbers(term.own())).collect();
        let extents: Vec<f64> = extents.collect();
        Network { operands, output: numbers(self.output.clone()), extents: &extents }.path()
    }

    /// Stores the contraction of operands in a buffer with these labels.
    fn intermediate(&mut self, terms: &[Term], labels: Vec<Label>) -> Term {
        let shape = labels.iter().map(|label| self.extent(*label)).collect();
        let buffer = self.b.temp("contraction", shape, self.dtype);
        self.contract(terms, &labels, &buffer);
        Term { input: Input::Buffer(buffer), labels }
    }

    /// Fills a buffer, whose axes have these labels, with the product of operands, summed over all other labels.
    fn contract(&mut self, terms: &[Term], labels: &[Label], to: &Buffer) {
        let own = distinct(terms.iter().flat_map(Term::own));
        let summed: Vec<Label> = own.into_iter().filter(|label| !labels.contains(label)).collect();
        let over: Vec<_> = summed.iter().enumerate().map(|(n, label)| (format!("k{n}"), self.extent(*label))).collect();
        let dtype = self.dtype;
        let product = |i: &[PrimExpr], k: &[PrimExpr]| {
            let of = |labels: &[Label], label: Label| labels.iter().position(|l| *l == label);
            let index = |label: Label| {
                let value = of(labels, label).map(|at| &i[at]).or(of(&summed, label).map(|at| &k[at]));
                value.cloned().unwrap_or(0i64.into())
            };
            let mut elements = terms.iter().map(|term| term.at(index, dtype));
            let first = elements.next().unwrap_or(PrimExpr::constant(1.0, dtype));
            elements.fold(first, |product, element| product * element)
        };
        match over.is_empty() {
            true => self.b.compute(to, |i| product(i, &[]).cast(to.dtype)),
            false => self.b.reduce(to, &over, Combine::Sum, product),
        }
    }

    fn extent(&self, label: Label) -> PrimExpr {
        self.labels.iter().position(|l| *l == label).map_or(1i64.into(), |at| self.extents[at].clone())
    }
}

/// Labels of the contraction of a pair: those of both operands first, and last, if possible, one that is contiguous in
/// an operand.
fn result_labels(pair: &[Term], used: &[Label]) -> Vec<Label> {
    let own: Vec<Vec<Label>> = pair.iter().map(Term::own).collect();
    let is_used = |label: &Label| used.contains(label);
    let is_shared = |label: &Label| own.iter().all(|labels| labels.contains(label));
    let is_contiguous = |labels: &&Vec<Label>| labels.last().is_some_and(is_used);
    let last = own.iter().rev().find(is_contiguous).and_then(|labels| labels.last().copied());
    let all = distinct(own.iter().flatten().copied().filter(is_used));
    let (shared, others): (Vec<Label>, Vec<Label>) = all.into_iter().filter(|l| Some(*l) != last).partition(is_shared);
    // The axes of the operand with the last label are next to it.
    let has_last = |label: &Label| own.iter().any(|labels| labels.last() == last.as_ref() && labels.contains(label));
    let (inner, outer): (Vec<Label>, Vec<Label>) = others.into_iter().partition(has_last);
    shared.into_iter().chain(outer).chain(inner).chain(last).collect()
}

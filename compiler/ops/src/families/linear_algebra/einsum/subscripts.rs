//! Subscripts of Einstein summations.

use crate::{CallContext, dims};
use hammock_ir::{PrimExpr, count, relax::InferError};

/// An axis: a letter, or one of the axes that `...` denotes, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// A letter.
    Letter(char),
    /// An axis that `...` denotes.
    Dots(usize),
}

/// Each operand's axes, and the output's.
pub struct Subscripts {
    /// Labels of the axes of each operand.
    pub operands: Vec<Vec<Label>>,
    /// Labels of the axes of the output.
    pub output: Vec<Label>,
}

impl Subscripts {
    /// Parses the text for operands of these ranks.
    pub fn parse(cx: &CallContext, ranks: &[usize]) -> Result<Self, InferError> {
        let text: String = cx.str("subscripts")?.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (&*text, None),
        };
        let terms: Vec<&str> = inputs.split(',').collect();
        if terms.len() != ranks.len() {
            let (terms, operands) = (terms.len(), ranks.len());
            return Err(cx.error_at(
                "subscripts",
                format_args!("`subscripts` names {}, but gets {operands}", count(terms, "operand")),
            ));
        }
        let labels = |(term, rank): (&&str, &usize)| labels(cx, term, Some(*rank));
        let operands: Vec<Vec<Label>> = terms.iter().zip(ranks).map(labels).collect::<Result<_, _>>()?;
        let output = match output {
            Some(term) => explicit_output(cx, term, &operands)?,
            None => implicit_output(&operands),
        };
        Ok(Subscripts { operands, output })
    }

    /// The sizes of the axes of one label.
    pub fn sizes<'s>(&'s self, label: Label, shapes: &'s [&[PrimExpr]]) -> impl Iterator<Item = &'s PrimExpr> {
        let pairs = self.operands.iter().zip(shapes).flat_map(|(labels, shape)| labels.iter().zip(shape.iter()));
        pairs.filter(move |(l, _)| **l == label).map(|(_, size)| size)
    }

    /// The extent of a label: the first size that is not 1.
    pub fn extent(&self, label: Label, shapes: &[&[PrimExpr]]) -> PrimExpr {
        let sizes = || self.sizes(label, shapes);
        sizes().find(|s| !dims::is(s, 1)).or(sizes().next()).cloned().unwrap_or(1i64.into())
    }
}

/// The labels of one operand's subscript. If the rank is known, `...` denotes the axes without letters.
fn labels(cx: &CallContext, term: &str, rank: Option<usize>) -> Result<Vec<Label>, InferError> {
    let (before, after) = term.split_once("...").unwrap_or((term, ""));
    let letters = before.chars().count() + after.chars().count();
    if let Some(bad) = before.chars().chain(after.chars()).find(|c| !c.is_ascii_alphabetic()) {
        return Err(cx.error_at("subscripts", format_args!("`subscripts` holds `{bad}`; axes are named by letters")));
    }
    let dots = match (rank, term.contains("...")) {
        (Some(rank), true) if rank >= letters => rank - letters,
        (Some(rank), false) if rank == letters => 0,
        (None, _) => 0,
        (Some(rank), _) => {
            return Err(cx.error_at(
                "subscripts",
                format_args!("the length of `{term}` is {letters}, but its operand has {}", count(rank, "dimension")),
            ));
        }
    };
    let dots = (0..dots).rev().map(Label::Dots);
    Ok(before.chars().map(Label::Letter).chain(dots).chain(after.chars().map(Label::Letter)).collect())
}

/// The axes that `...` denotes in all operands together.
fn dots(operands: &[Vec<Label>]) -> Vec<Label> {
    let count = operands.iter().map(|o| o.iter().filter(|l| matches!(l, Label::Dots(_))).count()).max();
    (0..count.unwrap_or(0)).rev().map(Label::Dots).collect()
}

fn explicit_output(cx: &CallContext, term: &str, operands: &[Vec<Label>]) -> Result<Vec<Label>, InferError> {
    let mut output = Vec::new();
    let letters = labels(cx, &term.replacen("...", "", 1), None)?;
    let at = term.find("...").map(|bytes| term[..bytes].chars().count());
    for (i, label) in letters.iter().enumerate() {
        if at == Some(i) {
            output.extend(dots(operands));
        }
        if output.contains(label) || !operands.iter().flatten().any(|l| l == label) {
            return Err(cx.error_at(
                "subscripts",
                format_args!("the output `{term}` must name axes of the operands, each once"),
            ));
        }
        output.push(*label);
    }
    if at.is_some_and(|at| at >= letters.len()) {
        output.extend(dots(operands));
    }
    Ok(output)
}

fn implicit_output(operands: &[Vec<Label>]) -> Vec<Label> {
    let count = |c: char| operands.iter().flatten().filter(|l| **l == Label::Letter(c)).count();
    let letters = ('A'..='Z').chain('a'..='z').filter(|c| count(*c) == 1).map(Label::Letter);
    dots(operands).into_iter().chain(letters).collect()
}

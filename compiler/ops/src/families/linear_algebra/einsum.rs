//! Einstein summation.
//!
//! `subscripts` names each operand's axes by letters. Axes with the same letter share an index; letters that the output
//! lacks are summed over. `...` denotes broadcast axes. Without `->`, the output has the letters that occur once, in
//! alphabetical order, after the broadcast axes.

use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, common_vdevice},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, count, relax::InferError};

/// `einsum`
pub fn einsum() -> Op {
    Op::new("einsum")
        .doc("Contraction in Einstein notation: `ij,jk->ik` is a matmul.")
        .example("x: float32[2, 3]; y: float32[3, 4]", r#"(x, y), subscripts="ij,jk->ik""#)
        .operand("operands", OperandKind::Tensors)
        .required("subscripts", AttrKind::Str)
        .infer(einsum_type)
        .legalize(einsum_tir)
}

/// An axis: a letter, or one of the axes that `...` denotes, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Label {
    Letter(char),
    Dots(usize),
}

/// Each operand's axes, and the output's.
struct Subscripts {
    operands: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Subscripts {
    fn parse(cx: &CallContext, ranks: &[usize]) -> Result<Self, InferError> {
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

    /// Labels that the output lacks, in order of first use.
    fn summed(&self) -> Vec<Label> {
        let mut summed = Vec::new();
        for label in self.operands.iter().flatten() {
            if !self.output.contains(label) && !summed.contains(label) {
                summed.push(*label);
            }
        }
        summed
    }

    /// The sizes of the axes of one label.
    fn sizes<'s>(&'s self, label: Label, shapes: &'s [&[PrimExpr]]) -> impl Iterator<Item = &'s PrimExpr> {
        let pairs = self.operands.iter().zip(shapes).flat_map(|(labels, shape)| labels.iter().zip(shape.iter()));
        pairs.filter(move |(l, _)| **l == label).map(|(_, size)| size)
    }

    /// The extent of a label: the first size that is not 1.
    fn extent(&self, label: Label, shapes: &[&[PrimExpr]]) -> PrimExpr {
        let sizes = || self.sizes(label, shapes);
        sizes().find(|s| !dims::is(s, 1)).or(sizes().next()).cloned().unwrap_or(1i64.into())
    }
}

/// Returns true if an axis of this size is certainly compatible with the extent.
fn fits(size: &PrimExpr, extent: &PrimExpr) -> bool {
    dims::is(size, 1) || dims::equal(size, extent) == Some(true)
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

fn einsum_type(cx: &CallContext) -> Inferred {
    let operands = cx.tensors("operands")?;
    if operands.is_empty() {
        return Err(cx.error_at("operands", "`operands` must not be empty"));
    }
    let dtype = operands[0].dtype.filter(|_| operands.iter().all(|t| t.dtype.is_some()));
    if operands.iter().any(|t| t.dtype.is_some() && dtype.is_some() && t.dtype != dtype) {
        return Err(cx.error_at("operands", "operands must have one dtype"));
    }
    let vdevice = common_vdevice(cx, &operands)?;
    let Some(ranks) = operands.iter().map(TensorType::ndim).collect::<Option<Vec<_>>>() else {
        return Ok(TensorType { shape: TensorShape::Unknown, dtype, vdevice }.into());
    };
    let subscripts = Subscripts::parse(cx, &ranks)?;
    let rank = subscripts.output.len();
    let shape = match operands.iter().map(TensorType::dims).collect::<Option<Vec<_>>>() {
        Some(shapes) => {
            check_extents(cx, &subscripts, &shapes)?;
            let sizes = subscripts.output.iter().map(|l| (l, subscripts.extent(*l, &shapes)));
            // axes under `...` may have size 1: which one is larger must be known
            let open = |(l, size): &(&Label, PrimExpr)| {
                matches!(l, Label::Dots(_)) && subscripts.sizes(**l, &shapes).any(|s| !fits(s, size))
            };
            match sizes.clone().any(|s| open(&s)) {
                true => TensorShape::Rank(rank),
                false => TensorShape::Known(sizes.map(|(_, size)| size).collect()),
            }
        }
        None => TensorShape::Rank(rank),
    };
    Ok(TensorType { shape, dtype, vdevice }.into())
}

fn check_extents(cx: &CallContext, subscripts: &Subscripts, shapes: &[&[PrimExpr]]) -> Result<(), InferError> {
    for (labels, shape) in subscripts.operands.iter().zip(shapes) {
        for (label, size) in labels.iter().zip(*shape) {
            let extent = subscripts.extent(*label, shapes);
            if !dims::is(size, 1) && dims::equal(size, &extent) == Some(false) {
                let (a, b) = (crate::text::dim_text(size), crate::text::dim_text(&extent));
                let name = if let Label::Letter(c) = label { c.to_string() } else { "...".to_owned() };
                return Err(cx.error_at("operands", format_args!("axes named `{name}` are {b} and {a} long")));
            }
        }
    }
    Ok(())
}

fn einsum_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "einsum")?;
    let inputs = b.inputs("operands")?;
    let subscripts = Subscripts::parse(cx, &inputs.iter().map(Input::ndim).collect::<Vec<_>>())?;
    let shapes: Vec<&[PrimExpr]> = inputs.iter().map(Input::shape).collect();
    let out = b.output("T_einsum")?;
    let summed = subscripts.summed();
    let over: Vec<_> =
        summed.iter().enumerate().map(|(n, l)| (format!("k{n}"), subscripts.extent(*l, &shapes))).collect();
    for (labels, shape) in subscripts.operands.iter().zip(&shapes) {
        for (label, size) in labels.iter().zip(*shape).filter(|(_, size)| !dims::is(size, 1)) {
            b.require_equal(size, &subscripts.extent(*label, &shapes), "axes of one letter differ in length");
        }
    }
    let wide = accumulator(out.dtype);
    let product = |i: &[PrimExpr], k: &[PrimExpr]| {
        let index = |label: &Label, size: &PrimExpr| {
            let output = subscripts.output.iter().position(|l| l == label).map(|p| &i[p]);
            let value = output.or(summed.iter().position(|l| l == label).map(|p| &k[p]));
            value.filter(|_| !dims::is(size, 1)).cloned().unwrap_or(0i64.into())
        };
        let element = |(input, labels): (&Input, &Vec<Label>)| {
            let at: Vec<_> = labels.iter().zip(input.shape()).map(|(l, s)| index(l, s)).collect();
            input.at(&at).cast(wide)
        };
        let mut factors = inputs.iter().zip(&subscripts.operands).map(element);
        let first = factors.next().unwrap_or(PrimExpr::constant(1.0, wide));
        factors.fold(first, |product, factor| product * factor)
    };
    match over.is_empty() {
        true => b.compute(&out, |i| product(i, &[]).cast(out.dtype)),
        false => b.reduce(&out, &over, Combine::Sum, product),
    }
    Ok(b.finish())
}

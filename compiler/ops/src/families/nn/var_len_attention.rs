//! Attention over sequences of different lengths, concatenated along one axis.
//!
//! `seqstart` has the start of each sequence, and the total at the end: `[0, 2, 7, 10]` for lengths 2, 5, 3. A query
//! attends to the unmasked keys of its own sequence. The kernel uses only the starts; the maximum lengths are for
//! kernels that partition the work by them.

use super::attention::{Heads, Mask, complete_scale, infer_heads, masked};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized},
    op::{NONE, Op, OperandKind},
    precision::Precision,
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr,
    relax::{Call, InferError, Operand},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![attention_var_len()]
}

fn attention_var_len() -> Op {
    let op = Op::new("nn.attention_var_len")
        .doc("Attention over sequences of different lengths, concatenated end to end.")
        .example("q: float32[1, 5, 2, 4]; s: int32[3]", r#"q, q, q, s, R.const(5, "int32")"#)
        .tensor("queries")
        .tensor("keys")
        .tensor("values")
        .tensor("seqstart_q")
        .tensor("max_seqlen_q")
        .operand_or("seqstart_k", OperandKind::OptionalTensor, NONE)
        .operand_or("max_seqlen_k", OperandKind::OptionalTensor, NONE);
    masked(op).precision(Precision::Always).complete(complete).infer(infer).legalize(legalize)
}

/// The keys' starts default to those of the queries.
fn complete(call: &mut Call) {
    complete_scale(call);
    for (missing, source) in [(5, 3), (6, 4)] {
        let absent = |o: &Operand| match o {
            Operand::Tuple(members) => members.is_empty(),
            Operand::Opaque(value) => value.is_none(),
            _ => false,
        };
        match call.args.get(missing) {
            None if call.args.len() == missing => call.args.push(call.args[source].clone()),
            Some(o) if absent(o) => call.args[missing] = call.args[source].clone(),
            _ => {}
        }
    }
}

fn infer(cx: &CallContext) -> Inferred {
    Mask::of(cx)?;
    cx.optional_float("scale")?;
    for param in ["seqstart_q", "seqstart_k"] {
        let starts = cx.tensor(param)?;
        expect_ndim(cx, param, &starts, 1)?;
        if starts.dtype.is_some_and(|t| !t.is_integer()) {
            return Err(cx.error_at(param, format_args!("`{param}` must hold integers")));
        }
        if starts.dims().is_some_and(|d| dims::is(&d[0], 0)) {
            return Err(cx.error_at(param, format_args!("`{param}` must have at least one element, the total")));
        }
    }
    Ok(infer_heads(cx, ["queries", "keys", "values"])?.into())
}

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mask = Mask::of(cx)?;
    let mut b = Builder::new(cx, "attention_var_len")?;
    let heads = Heads {
        query: b.input("queries")?,
        key: b.input("keys")?,
        value: b.input("values")?,
        scale: cx.optional_float("scale")?,
    };
    heads.require_fit(&mut b);
    let (starts_q, starts_k) = (b.input("seqstart_q")?, b.input("seqstart_k")?);
    let out = b.output("attention")?;
    let queries = SequencePositions::of(&mut b, "q", &starts_q, &heads.query.shape()[1]);
    let keys = SequencePositions::of(&mut b, "k", &starts_k, &heads.key.shape()[1]);
    let allows = |s: &PrimExpr, t: &PrimExpr| {
        let at = |p: &Input, i: &PrimExpr| p.at(std::slice::from_ref(i));
        let (own, of_key) = (at(&queries.sequence, s), at(&keys.sequence, t));
        let lengths = (queries.length(&own), keys.length(&of_key));
        let seen = mask.allows(&at(&queries.place, s), &at(&keys.place, t), (&lengths.0, &lengths.1));
        let together = own.eq(of_key);
        Some(seen.map_or(together.clone(), |seen| together.and(seen)))
    };
    heads.attend(&mut b, &out, |_| None, allows, true);
    Ok(b.finish())
}

/// The sequence of each element, and its position in it.
struct SequencePositions {
    starts: Input,
    sequence: Input,
    place: Input,
}

impl SequencePositions {
    fn of(b: &mut Builder, name: &str, starts: &Input, total: &PrimExpr) -> SequencePositions {
        let count = b.temp(&format!("started_{name}"), vec![total.clone()], DType::INT64);
        let over = [("i".to_owned(), starts.shape()[0].clone())];
        // Number of starts at or before the element: one for the first sequence.
        b.reduce(&count, &over, Combine::Sum, |e, i| {
            starts.index_at(i).le(&e[0]).select(PrimExpr::int64(1), PrimExpr::int64(0))
        });
        let sequence = b.stage(&format!("sequence_{name}"), vec![total.clone()], DType::INT64, |e| {
            PrimExpr::load(&count, e.to_vec()) - 1i64
        });
        let place = b.stage(&format!("place_{name}"), vec![total.clone()], DType::INT64, |e| {
            &e[0] - starts.index_at(&[clamp_to_starts(&sequence.at(e), starts)])
        });
        SequencePositions { starts: starts.clone(), sequence, place }
    }

    /// The length of a sequence.
    fn length(&self, sequence: &PrimExpr) -> PrimExpr {
        let start = |i: &PrimExpr| self.starts.index_at(&[clamp_to_starts(i, &self.starts)]);
        start(&dims::offset(sequence, 1)) - start(sequence)
    }
}

/// Clamps an index to the starts.
fn clamp_to_starts(i: &PrimExpr, starts: &Input) -> PrimExpr {
    i.clone().min(dims::offset(&starts.shape()[0], -1)).max(0i64)
}

//! Attention: `softmax(scale · Q Kᵀ + bias, masked) V` for each head.
//!
//! Operands are `(batch, sequence, heads, head size)`. Key and value may have fewer heads than the query (grouped-query
//! attention): each then serves a group of consecutive query heads. Scores and sums are in float32 for shorter floats.
//! The division by the sum of exponentials comes last, once per element of the result.

use super::{
    activation::float_tensor,
    rows::{Rows, number},
    softmax::Exponentials,
};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    rules::{Inferred, common_vdevice, expect_ndim},
    text::{dim_text, shape_text},
};
use hammock_ir::{
    AttrValue, DType, PrimExpr, TensorShape, TensorType,
    relax::{Call, Callee, InferError, Operand},
    tir::Buffer,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        attention("nn.attention", "Scaled dot-product attention, with an optional causal mask or window."),
        attention("nn.attention_bias", "Attention with a bias added to the scores."),
    ]
}

fn attention(name: &'static str, doc: &'static str) -> Op {
    let (params, args) = match name {
        "nn.attention" => ("q: float32[1, 5, 2, 4]", "q, q, q, causal_mask=\"TopLeft\""),
        _ => ("q: float32[1, 5, 2, 4]; b: float32[1, 2, 5, 5]", "q, q, q, b"),
    };
    let op = Op::new(name).doc(doc).example(params, args).tensor("query").tensor("key").tensor("value").operand_or(
        "bias",
        OperandKind::OptionalTensor,
        NONE,
    );
    masked(op).precision(Precision::Always).complete(complete).infer(infer).legalize(legalize)
}

/// Adds the attributes that attentions share.
pub fn masked(op: Op) -> Op {
    op.attr("scale", AttrKind::OptionalFloat, NONE).attr("causal_mask", AttrKind::OptionalStr, NONE).attr(
        "window_size",
        AttrKind::OptionalInt,
        NONE,
    )
}

/// Selects between the two operators by the presence of a bias.
fn complete(call: &mut Call) {
    let absent = |o: &Operand| match o {
        Operand::Tuple(members) => members.is_empty(),
        Operand::Opaque(value) => value.is_none(),
        _ => false,
    };
    if call.args.len() == 4 && absent(&call.args[3]) {
        call.args.truncate(3);
    }
    call.callee = Callee::Op(if call.args.len() > 3 { "nn.attention_bias" } else { "nn.attention" });
    complete_scale(call);
}

/// Rounds the scale to float32.
pub fn complete_scale(call: &mut Call) {
    if let Some(scale) = call.attrs.get("scale").and_then(AttrValue::as_float) {
        call.attrs.set("scale", PrimExpr::float(scale, DType::FLOAT32));
    }
}

/// Causal mask: the keys that a query may attend to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causal {
    /// All.
    No,
    /// Those up to its own position, aligned at the start (top left).
    TopLeft,
    /// The same, aligned at the end (bottom right).
    BottomRight,
}

/// The attributes of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    /// Value of `causal_mask`.
    pub causal: Causal,
    /// Window size: number of preceding keys that a query attends to, including its own position.
    pub window: Option<i64>,
}

impl Mask {
    /// Reads the attributes of a call.
    ///
    /// # Errors
    /// When one is invalid.
    pub fn of(cx: &CallContext) -> Result<Mask, InferError> {
        let causal = match cx.optional_str("causal_mask")? {
            None => Causal::No,
            Some(_) => match cx.one_of("causal_mask", &["TopLeft", "BottomRight"])? {
                "TopLeft" => Causal::TopLeft,
                _ => Causal::BottomRight,
            },
        };
        let window = cx.optional_int("window_size")?.filter(|w| *w > 0);
        Ok(Mask { causal, window })
    }

    /// The condition that the query at position `s` attends to the key at position `t`, in sequences of these lengths;
    /// `None` for always.
    pub fn allows(&self, s: &PrimExpr, t: &PrimExpr, lengths: (&PrimExpr, &PrimExpr)) -> Option<PrimExpr> {
        let place = match self.causal {
            Causal::BottomRight => dims::add(s, &distance(lengths.0, lengths.1)),
            _ => s.clone(),
        };
        let causal = (self.causal != Causal::No).then(|| t.clone().le(&place));
        let near = self.window.map(|w| dims::sub(&place, t).lt(w));
        match (causal, near) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        }
    }
}

fn distance(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    dims::max(&dims::sub(a, b), &dims::sub(b, a))
}

fn infer(cx: &CallContext) -> Inferred {
    Mask::of(cx)?;
    cx.optional_float("scale")?;
    let ty = infer_heads(cx, ["query", "key", "value"])?;
    let Some(bias) = cx.optional_tensor("bias")? else { return Ok(ty.into()) };
    expect_ndim(cx, "bias", &bias, 4)?;
    let (Some(q), Some(k), Some(b)) =
        (cx.tensor("query")?.dims().map(<[_]>::to_vec), cx.tensor("key")?.dims().map(<[_]>::to_vec), bias.dims())
    else {
        return Ok(ty.into());
    };
    let scores = [&q[0], &q[2], &q[1], &k[1]];
    let fits = |(i, (want, got)): (usize, (&&PrimExpr, &PrimExpr))| {
        (i < 3 && dims::is(got, 1)) || dims::equal(want, got) != Some(false)
    };
    if !scores.iter().zip(b).enumerate().all(fits) {
        let (shape, scores) = (shape_text(&bias), scores.map(dim_text).join(", "));
        return Err(
            cx.error_at("bias", format_args!("`bias` of shape {shape} does not broadcast to the scores' ({scores})"))
        );
    }
    Ok(ty.into())
}

/// The type of an attention of these query, key and value operands.
///
/// # Errors
/// When they do not fit each other.
pub fn infer_heads(cx: &CallContext, params: [&str; 3]) -> Result<TensorType, InferError> {
    let [query, key, value] = [float_tensor(cx, params[0])?, cx.tensor(params[1])?, cx.tensor(params[2])?];
    for (param, ty) in params.into_iter().zip([&query, &key, &value]) {
        expect_ndim(cx, param, ty, 4)?;
        if ty.dtype.is_some() && query.dtype.is_some() && ty.dtype != query.dtype {
            return Err(cx.error_at(param, format_args!("`{}` and `{param}` must have one dtype", params[0])));
        }
    }
    let vdevice = common_vdevice(cx, [&query, &key, &value])?;
    let (Some(q), Some(k), Some(v)) = (query.dims(), key.dims(), value.dims()) else {
        return Ok(TensorType { shape: TensorShape::Rank(4), dtype: query.dtype, vdevice });
    };
    let same = |what: &str, a: (usize, &PrimExpr), b: (usize, &PrimExpr)| {
        let (a_name, b_name) = (params[a.0], params[b.0]);
        let text = format_args!(
            "the {what} of `{a_name}` and `{b_name}` must be the same, not {} and {}",
            dim_text(a.1),
            dim_text(b.1)
        )
        .to_string();
        if dims::equal(a.1, b.1) == Some(false) { Err(cx.error_at(b_name, text)) } else { Ok(()) }
    };
    same("batch size", (0, &q[0]), (1, &k[0]))?;
    same("batch size", (0, &q[0]), (2, &v[0]))?;
    same("sequence length", (1, &k[1]), (2, &v[1]))?;
    same("number of heads", (1, &k[2]), (2, &v[2]))?;
    same("head size", (0, &q[3]), (1, &k[3]))?;
    if let (Some(n), Some(kv)) = (q[2].as_int(), k[2].as_int())
        && (kv == 0 || n % kv != 0)
    {
        return Err(cx.error_at(
            params[1],
            format_args!("{n} heads of `{}` cannot share {kv} heads of `{}`", params[0], params[1]),
        ));
    }
    let shape = [&q[0], &q[1], &q[2], &v[3]].map(Clone::clone);
    Ok(TensorType { shape: TensorShape::Known(shape.into()), dtype: query.dtype, vdevice })
}

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mask = Mask::of(cx)?;
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
    let heads = Heads {
        query: b.input("query")?,
        key: b.input("key")?,
        value: b.input("value")?,
        scale: cx.optional_float("scale")?,
    };
    heads.require_fit(&mut b);
    let bias = b.optional_input("bias")?;
    let out = b.output("attention")?;
    let lengths = (heads.query.shape()[1].clone(), heads.key.shape()[1].clone());
    let scores = [0, 2, 1].map(|d| heads.query.shape()[d].clone()).into_iter().chain([lengths.1.clone()]);
    let scores: Vec<PrimExpr> = scores.collect();
    bias.iter().for_each(|bias| b.require_broadcast(bias.shape(), &scores, "`bias` does not broadcast to the scores"));
    let bias = |i: &[PrimExpr]| bias.map(|bias| bias.broadcast_to(i, &scores));
    heads.attend(&mut b, &out, bias, |s, t| mask.allows(s, t, (&lengths.0, &lengths.1)), mask.window.is_some());
    Ok(b.finish())
}

/// The operands of an attention.
pub struct Heads {
    /// `(batch, sequence, heads, size)`
    pub query: Input,
    /// `(batch, keys, shared heads, size)`
    pub key: Input,
    /// `(batch, keys, shared heads, result size)`
    pub value: Input,
    /// Scale of the scores; `None` for one over the square root of the head size.
    pub scale: Option<f64>,
}

impl Heads {
    /// Adds the stages that compute attention. `bias` is added to the score at `[batch, head, query, key]`; `allows` is
    /// the mask. With `may_be_blind`, queries may have all keys masked: their result is zero.
    pub fn attend(
        &self,
        b: &mut Builder,
        out: &Buffer,
        bias: impl FnOnce(&[PrimExpr]) -> Option<PrimExpr>,
        allows: impl FnOnce(&PrimExpr, &PrimExpr) -> Option<PrimExpr>,
        may_be_blind: bool,
    ) {
        let wide = accumulator(out.dtype);
        let (q, k) = (self.query.shape(), self.key.shape());
        let shape = vec![q[0].clone(), q[2].clone(), q[1].clone(), k[1].clone()];
        let dots = b.temp("dots", shape.clone(), wide);
        b.reduce(&dots, &[("d".to_owned(), q[3].clone())], Combine::Sum, |i, d| {
            let query = self.query.at(&[i[0].clone(), i[2].clone(), i[1].clone(), d[0].clone()]);
            query.cast(wide)
                * self.key.at(&[i[0].clone(), i[3].clone(), self.shared_head(&i[1]), d[0].clone()]).cast(wide)
        });
        let scores = b.stage("scores", shape.clone(), wide, |i| {
            let scaled = PrimExpr::load(&dots, i.to_vec()) * self.scale(wide);
            let score = bias(i).map_or(scaled.clone(), |bias| scaled + bias.cast(wide));
            let hidden = PrimExpr::float(f64::NEG_INFINITY, wide);
            allows(&i[2], &i[3]).map_or(score.clone(), |seen| seen.select(score, hidden))
        });
        let rows = Rows::new(4, vec![3]);
        let parts = match may_be_blind {
            true => Exponentials::of_masked(b, &scores, &rows),
            false => Exponentials::of(b, &scores, &rows),
        };
        let total = b.temp("weighted", out.shape.clone(), wide);
        b.reduce(&total, &[("t".to_owned(), k[1].clone())], Combine::Sum, |i, t| {
            let weight = parts.exp.at(&[i[0].clone(), i[2].clone(), i[1].clone(), t[0].clone()]);
            weight * self.value.at(&[i[0].clone(), t[0].clone(), self.shared_head(&i[2]), i[3].clone()]).cast(wide)
        });
        b.compute(out, |i| {
            let sum = parts.sum.at(&[i[0].clone(), i[2].clone(), i[1].clone()]);
            // The largest exponential is 1, so only the sum of a fully masked query is less.
            let sum = if may_be_blind { sum.max(PrimExpr::float(1.0, wide)) } else { sum };
            (PrimExpr::load(&total, i.to_vec()) / sum).cast(out.dtype)
        });
    }

    /// Adds run-time checks that the operands' sizes match.
    pub fn require_fit(&self, b: &mut Builder) {
        let [q, k, v] = [&self.query, &self.key, &self.value].map(|t| t.shape().to_vec());
        b.require_equal(&q[0], &k[0], "the batch size of `query` and `key` must be the same");
        b.require_equal(&q[0], &v[0], "the batch size of `query` and `value` must be the same");
        b.require_equal(&k[1], &v[1], "the sequence length of `key` and `value` must be the same");
        b.require_equal(&k[2], &v[2], "the number of heads of `key` and `value` must be the same");
        b.require_equal(&q[3], &k[3], "the head size of `query` and `key` must be the same");
        if dims::equal(&q[2], &k[2]) != Some(true) {
            let shared = dims::max(&k[2], &1i64.into());
            let fits = k[2].clone().ge(1i64).and(dims::floormod(&q[2], &shared).eq(0i64));
            b.require(fits, "the heads of `query` cannot share those of `key`");
        }
    }

    /// The head of key and value that serves a head of the query.
    fn shared_head(&self, head: &PrimExpr) -> PrimExpr {
        let (all, shared) = (&self.query.shape()[2], &self.key.shape()[2]);
        if dims::equal(all, shared) == Some(true) {
            return head.clone();
        }
        dims::floordiv(head, &dims::floordiv(all, shared))
    }

    fn scale(&self, dtype: DType) -> PrimExpr {
        let size = &self.query.shape()[3];
        match (self.scale, size.as_int()) {
            (Some(scale), _) => PrimExpr::float(scale, dtype),
            (None, Some(size)) => PrimExpr::float(1.0 / (size as f64).sqrt(), dtype),
            (None, None) => PrimExpr::float(1.0, dtype) / number(size, dtype).unary("sqrt"),
        }
    }
}

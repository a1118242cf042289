//! Attention.

use crate::{
    run::{Arg, Attrs, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

/// Attention of query `s` of head `n` over the keys that `seen` selects; zero if there are none.
fn attend(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    i: &[usize],
    score: impl Fn(f64, usize) -> f64,
    seen: impl Fn(usize) -> bool,
) -> f64 {
    let (b, s, n, d) = (i[0], i[1], i[2], i[3]);
    let shared = n / (q.shape()[2] / k.shape()[2]) as usize;
    let keys: Vec<usize> = (0..k.shape()[1] as usize).filter(|t| seen(*t)).collect();
    let dot =
        |t: usize| (0..q.shape()[3] as usize).map(|h| view(q).at(&[b, s, n, h]) * view(k).at(&[b, t, shared, h])).sum();
    let weights: Vec<f64> = keys.iter().map(|t| score(dot(*t), *t).exp()).collect();
    let total: f64 = weights.iter().sum();
    let sum: f64 = keys.iter().zip(&weights).map(|(t, w)| w * view(v).at(&[b, *t, shared, d])).sum();
    if keys.is_empty() { 0.0 } else { sum / total }
}

fn operands(queries: i64, keys: i64, heads: i64, shared: i64) -> (Tensor, Tensor, Tensor) {
    let small = |shape: &[i64], seed| {
        let t = noise(shape, seed);
        tensor(shape, &elements(&t).iter().map(|v| *v as f32 / 4.0).collect::<Vec<_>>())
    };
    (small(&[2, queries, heads, 3], 1), small(&[2, keys, shared, 3], 2), small(&[2, keys, shared, 4], 3))
}

#[test]
fn attention_with_masks_and_windows() {
    for (queries, keys) in [(4, 6), (5, 3)] {
        let (q, k, v) = operands(queries, keys, 2, 2);
        let distance = (queries - keys).unsigned_abs() as i64;
        let masks: [(AttrValue, i64); 3] =
            [(AttrValue::None, i64::MAX), ("TopLeft".into(), 0), ("BottomRight".into(), distance)];
        for (mask, shift) in masks {
            for window in [None, Some(2i64)] {
                let place = |s: usize| s as i64 + if shift == i64::MAX { 0 } else { shift };
                let seen = |s: usize, t: usize| {
                    (shift == i64::MAX || t as i64 <= place(s)) && window.is_none_or(|w| place(s) - (t as i64) < w)
                };
                let attrs: Attrs =
                    &[("causal_mask", mask.clone()), ("window_size", window.map_or(AttrValue::None, AttrValue::Int))];
                let result = run1("nn.attention", &[(&q).into(), (&k).into(), (&v).into()], attrs);
                assert_close(&result, &[2, queries, 2, 4], 1e-5, |i| {
                    attend(&q, &k, &v, i, |dot, _| dot / 3f64.sqrt(), |t| seen(i[1], t))
                });
            }
        }
    }
}

#[test]
fn attention_with_shared_heads_scale_and_bias() {
    let (q, k, v) = operands(4, 5, 6, 2);
    let attrs: Attrs = &[("scale", AttrValue::Float(0.25))];
    let args = [Arg::from(&q), (&k).into(), (&v).into()];
    let result = run1("nn.attention", &args, attrs);
    assert_close(&result, &[2, 4, 6, 4], 1e-5, |i| attend(&q, &k, &v, i, |dot, _| dot * 0.25, |_| true));
    let bias = noise(&[1, 6, 1, 5], 4);
    let args = [&args[..], &[Arg::from(&bias)]].concat();
    let result = run1("nn.attention_bias", &args, attrs);
    assert_close(&result, &[2, 4, 6, 4], 1e-5, |i| {
        attend(&q, &k, &v, i, |dot, t| dot * 0.25 + view(&bias).at(&[0, i[2], 0, t]), |_| true)
    });
}

#[test]
fn attention_of_short_floats() {
    let (q, k, v) = operands(3, 4, 2, 2);
    let [q, k, v] = [q, k, v].map(|t| convert(&t, DType::FLOAT16));
    let result = run1("nn.attention", &[(&q).into(), (&k).into(), (&v).into()], &[]);
    assert_eq!(result.dtype(), DType::FLOAT16);
    assert_close(&result, &[2, 3, 2, 4], 2e-3, |i| attend(&q, &k, &v, i, |dot, _| dot / 3f64.sqrt(), |_| true));
}

#[test]
fn attention_over_sequences_end_to_end() {
    let starts = [0usize, 2, 7, 10];
    let (q, k, v) = (noise(&[1, 10, 2, 3], 5), noise(&[1, 10, 2, 3], 6), noise(&[1, 10, 2, 4], 7));
    let bounds = tensor(&[4], &starts.map(|s| s as i32));
    let longest = tensor(&[], &[5i32]);
    let args: Vec<Arg> = [&q, &k, &v, &bounds, &longest].map(Arg::from).into();
    let sequence = |s: usize| starts.iter().filter(|b| **b <= s).count();
    for (mask, causal) in [(AttrValue::None, false), ("TopLeft".into(), true)] {
        let result = run1("nn.attention_var_len", &args, &[("causal_mask", mask)]);
        assert_close(&result, &[1, 10, 2, 4], 1e-4, |i| {
            let seen = |t: usize| sequence(t) == sequence(i[1]) && (!causal || t <= i[1]);
            attend(&q, &k, &v, i, |dot, _| dot / 3f64.sqrt(), seen)
        });
    }
    let wild = tensor(&[4], &[-5i32, 3, 99, -7]);
    let args: Vec<Arg> = [&q, &k, &v, &wild, &longest].map(Arg::from).into();
    run1("nn.attention_var_len", &args, &[("causal_mask", "BottomRight".into())]);
}

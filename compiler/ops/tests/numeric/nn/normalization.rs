//! Activations, softmax, normalizations and losses.

use crate::{
    run::{Arg, Attrs, run, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

#[test]
fn activations() {
    let x = vector(&[-30.0, -3.5, -1.0, -0.25, -1e-4, 0.0, 1e-4, 0.5, 1.0, 2.5, 19.0, 30.0]);
    let check = |op: &str, attrs: Attrs, f: &dyn Fn(f64) -> f64| {
        for dtype in [DType::FLOAT32, DType::FLOAT64, DType::FLOAT16] {
            let x = convert(&x, dtype);
            let tolerance = if dtype == DType::FLOAT16 { 2e-3 } else { 2e-6 };
            let result = run1(op, &[(&x).into()], attrs);
            assert_eq!(result.dtype(), dtype);
            assert_close(&result, &[12], tolerance, |i| f(view(&x).at(i)));
        }
    };
    check("nn.gelu", &[], &|x| 0.5 * x * (1.0 + libm_erf(x / 2f64.sqrt())));
    let tanh = |x: f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    check("nn.gelu_tanh", &[], &tanh);
    check("nn.selu", &[], &|x| 1.0507009873554805 * if x > 0.0 { x } else { 1.6732632423543772 * x.exp_m1() });
    check("nn.silu", &[], &|x| x / (1.0 + (-x).exp()));
    check("nn.leakyrelu", &[("alpha", AttrValue::Float(0.125))], &|x| if x > 0.0 { x } else { x * 0.125 });
    check("nn.softplus", &[], &|x| if x > 20.0 { x } else { x.exp().ln_1p() });
    let attrs: Attrs = &[("beta", AttrValue::Float(2.0)), ("threshold", AttrValue::Float(1.0))];
    check("nn.softplus", attrs, &|x| if 2.0 * x > 1.0 { x } else { (2.0 * x).exp().ln_1p() / 2.0 });
}

/// The error function by its series: exact enough for small arguments, 1 beyond.
fn libm_erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut sum, mut term) = (x, x);
    for n in 1..200 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn parametric_relu() {
    let (x, slopes) = (noise(&[2, 3, 4], 1), vector(&[0.5, -1.0, 2.0]));
    let leaky = |x: f64, a: f64| if x > 0.0 { x } else { a * x };
    let result = run1("nn.prelu", &[(&x).into(), (&slopes).into()], &[]);
    assert_close(&result, &[2, 3, 4], 1e-6, |i| leaky(view(&x).at(i), view(&slopes).at(&i[1..2])));
    let one = run1("nn.prelu", &[(&x).into(), vector(&[0.25]).into()], &[("axis", (-1i64).into())]);
    assert_close(&one, &[2, 3, 4], 1e-6, |i| leaky(view(&x).at(i), 0.25));
}

#[test]
fn dropout_keeps_everything() {
    let x = noise(&[2, 3], 2);
    let result = run("nn.dropout", &[(&x).into()], &[]);
    assert_exact(&result[0], &[2, 3], |i| view(&x).at(i));
    assert_exact(&result[1], &[2, 3], |_| 1.0);
}

#[test]
fn softmax_along_any_axis() {
    let x = noise(&[3, 4, 5], 3);
    for axis in [0i64, 1, -1] {
        let (along, size) = (axis.rem_euclid(3) as usize, x.shape()[axis.rem_euclid(3) as usize]);
        let at = |i: &[usize], k: usize| {
            let mut i = i.to_vec();
            i[along] = k;
            view(&x).at(&i)
        };
        let total = |i: &[usize]| (0..size as usize).map(|k| at(i, k).exp()).sum::<f64>();
        let attrs: Attrs = &[("axis", axis.into())];
        assert_close(&run1("nn.softmax", &[(&x).into()], attrs), &[3, 4, 5], 1e-6, |i| view(&x).at(i).exp() / total(i));
        let log = run1("nn.log_softmax", &[(&x).into()], attrs);
        assert_close(&log, &[3, 4, 5], 1e-5, |i| view(&x).at(i) - total(i).ln());
    }
    // Stages that are vectorized along collapsed axes, with a tail.
    let x = noise(&[3, 9, 7, 3], 4);
    let total = |i: &[usize]| (0..9).map(|k| view(&x).at(&[i[0], k, i[2], i[3]]).exp()).sum::<f64>();
    let attrs: Attrs = &[("axis", 1i64.into())];
    let y = run1("nn.softmax", &[(&x).into()], attrs);
    assert_close(&y, &[3, 9, 7, 3], 1e-6, |i| view(&x).at(i).exp() / total(i));
    let large = vector(&[1e30, 1e30, -1e30]);
    assert_eq!(elements(&run1("nn.softmax", &[large.into()], &[])), [0.5, 0.5, 0.0]);
}

/// Mean and variance of the elements of `x` that agree with `i` outside of `axes`.
fn moments(x: &Tensor, axes: &[usize], i: &[usize]) -> (f64, f64) {
    let same = |j: &&Vec<usize>| (0..i.len()).all(|a| axes.contains(&a) || i[a] == j[a]);
    let all = indices(x.shape());
    let values: Vec<f64> = all.iter().filter(same).map(|j| view(x).at(j)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64)
}

#[test]
fn layer_norm() {
    let (x, gamma, beta) = (noise(&[2, 3, 4], 4), noise(&[3, 4], 5), noise(&[3, 4], 6));
    let args: [Arg; 3] = [(&x).into(), (&gamma).into(), (&beta).into()];
    let normal = |i: &[usize]| {
        let (mean, var) = moments(&x, &[1, 2], i);
        (view(&x).at(i) - mean) / (var + 1e-5).sqrt()
    };
    let result = run1("nn.layer_norm", &args, &[("axes", ints(&[-2, -1]))]);
    assert_close(&result, &[2, 3, 4], 1e-5, |i| normal(i) * view(&gamma).at(&i[1..]) + view(&beta).at(&i[1..]));
    let attrs: Attrs = &[("axes", ints(&[1, 2])), ("center", false.into()), ("scale", false.into())];
    assert_close(&run1("nn.layer_norm", &args, attrs), &[2, 3, 4], 1e-5, normal);
    let far = tensor(&[1, 4], &[10001f32, 10002.0, 10003.0, 10004.0]);
    let one = vector(&[1.0; 4]);
    let attrs: Attrs = &[("axes", ints(&[1])), ("center", false.into())];
    let result = run1("nn.layer_norm", &[(&far).into(), (&one).into(), (&one).into()], attrs);
    assert_close(&result, &[1, 4], 1e-4, |i| (i[1] as f64 - 1.5) / 1.25f64.sqrt());
}

#[test]
fn rms_norm() {
    let (x, weight) = (noise(&[2, 3, 4], 7), noise(&[4], 8));
    let square = |i: &[usize]| (0..4).map(|k| view(&x).at(&[i[0], i[1], k]).powi(2)).sum::<f64>() / 4.0;
    let reference = |i: &[usize]| view(&x).at(i) / (square(i) + 1e-5).sqrt() * view(&weight).at(&i[2..]);
    let result = run1("nn.rms_norm", &[(&x).into(), (&weight).into()], &[]);
    assert_close(&result, &[2, 3, 4], 1e-5, reference);
    let [x16, w16] = [&x, &weight].map(|t| convert(t, DType::FLOAT16));
    let result = run1("nn.rms_norm", &[x16.into(), w16.into()], &[]);
    assert_close(&result, &[2, 3, 4], 4e-3, reference);
}

#[test]
fn group_and_instance_norm() {
    let (x, gamma, beta) = (noise(&[2, 6, 3, 2], 9), noise(&[6], 10), noise(&[6], 11));
    let args: [Arg; 3] = [(&x).into(), (&gamma).into(), (&beta).into()];
    let affine = |v: f64, i: &[usize]| v * view(&gamma).at(&i[1..2]) + view(&beta).at(&i[1..2]);
    let split = tensor(&[2, 3, 2, 3, 2], &elements(&x).iter().map(|v| *v as f32).collect::<Vec<_>>());
    let attrs: Attrs = &[("num_groups", 3i64.into()), ("channel_axis", 1i64.into()), ("axes", ints(&[2, 3]))];
    assert_close(&run1("nn.group_norm", &args, attrs), &[2, 6, 3, 2], 1e-5, |i| {
        let (mean, var) = moments(&split, &[2, 3, 4], &[i[0], i[1] / 2, i[1] % 2, i[2], i[3]]);
        affine((view(&x).at(i) - mean) / (var + 1e-5).sqrt(), i)
    });
    for axes in [vec![2usize, 3], vec![0, 2, 3]] {
        let given: Vec<i64> = axes.iter().map(|a| *a as i64).collect();
        let attrs: Attrs = &[("channel_axis", 1i64.into()), ("axes", ints(&given))];
        assert_close(&run1("nn.instance_norm", &args, attrs), &[2, 6, 3, 2], 1e-5, |i| {
            let (mean, var) = moments(&x, &axes, i);
            affine((view(&x).at(i) - mean) / (var + 1e-5).sqrt(), i)
        });
    }
}

#[test]
fn batch_norm() {
    let x = noise(&[2, 3, 4], 12);
    let [gamma, beta, mean] = [13, 14, 15].map(|seed| noise(&[3], seed));
    let var = vector(&[0.5, 1.5, 2.5]);
    let args: Vec<Arg> = [&x, &gamma, &beta, &mean, &var].map(Arg::from).into();
    let affine = |v: f64, c: usize| v * view(&gamma).at(&[c]) + view(&beta).at(&[c]);
    let fixed = run("nn.batch_norm", &args, &[("axis", 1i64.into()), ("training", false.into())]);
    assert_close(&fixed[0], &[2, 3, 4], 1e-5, |i| {
        let c = i[1];
        affine((view(&x).at(i) - view(&mean).at(&[c])) / (view(&var).at(&[c]) + 1e-5).sqrt(), c)
    });
    assert_exact(&fixed[1], &[3], |i| view(&mean).at(i));
    assert_exact(&fixed[2], &[3], |i| view(&var).at(i));
    let trained = run("nn.batch_norm", &args, &[("axis", (-2i64).into())]);
    let of = |c: usize| moments(&x, &[0, 2], &[0, c, 0]);
    assert_close(&trained[0], &[2, 3, 4], 1e-5, |i| {
        affine((view(&x).at(i) - of(i[1]).0) / (of(i[1]).1 + 1e-5).sqrt(), i[1])
    });
    assert_close(&trained[1], &[3], 1e-5, |i| 0.9 * view(&mean).at(i) + 0.1 * of(i[0]).0);
    assert_close(&trained[2], &[3], 1e-5, |i| 0.9 * view(&var).at(i) + 0.1 * of(i[0]).1);
}

#[test]
fn cross_entropy() {
    let (x, y) = (noise(&[3, 4], 16), noise(&[3, 4], 17));
    let sum = indices(&[3, 4]).iter().map(|i| view(&x).at(i) * view(&y).at(i)).sum::<f64>();
    let result = run1("nn.cross_entropy_with_logits", &[(&x).into(), (&y).into()], &[]);
    assert_close(&result, &[], 1e-5, |_| -sum / 3.0);
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[3.0, 5.0]));
    assert_eq!(elements(&run1("nn.cross_entropy_with_logits", &[x.into(), y.into()], &[])), [-13.0]);
}

/// Losses of single targets, their weights, and the gradient of predictions, for references.
fn likelihood(t: i64, weights: Option<&Tensor>, ignore: i64) -> f64 {
    match weights {
        _ if t == ignore => 0.0,
        Some(w) => view(w).at(&[t as usize]),
        None => 1.0,
    }
}

#[test]
fn negative_log_likelihood_and_its_gradient() {
    let (x, weights) = (noise(&[2, 3, 2], 18), vector(&[0.5, 2.0, 1.5]));
    let targets = tensor(&[2, 2], &[2i64, 1, 0, 2]);
    for (weighted, ignore) in [(false, -100i64), (true, -100), (true, 2), (false, 1)] {
        let weights = weighted.then_some(&weights);
        let weight = |i: &[usize]| likelihood(view(&targets).at(i) as i64, weights, ignore);
        let loss = |i: &[usize]| -view(&x).at(&[i[0], view(&targets).at(i) as usize, i[1]]) * weight(i);
        let all = indices(&[2, 2]);
        let (sum, total) = (all.iter().map(|i| loss(i)).sum::<f64>(), all.iter().map(|i| weight(i)).sum::<f64>());
        let mut args: Vec<Arg> = vec![(&x).into(), (&targets).into()];
        args.extend(weights.map(Arg::from));
        for (reduction, shape) in [("none", &[2i64, 2][..]), ("sum", &[]), ("mean", &[])] {
            let attrs: Attrs = &[("reduction", reduction.into()), ("ignore_index", ignore.into())];
            assert_close(&run1("nn.nll_loss", &args, attrs), shape, 1e-5, |i| match reduction {
                "none" => loss(i),
                "sum" => sum,
                _ => sum / total,
            });
            let grad = noise(shape, 19);
            let args = [&[Arg::from(&grad)], &args[..]].concat();
            assert_close(&run1("grad.nll_loss_backward", &args, attrs), &[2, 3, 2], 1e-5, |i| {
                let target = [i[0], i[2]];
                let hit = view(&targets).at(&target) == i[1] as f64;
                let share = if reduction == "mean" { 1.0 / total } else { 1.0 };
                if hit { -weight(&target) * view(&grad).at(&target[2 - shape.len()..]) * share } else { 0.0 }
            });
        }
    }
}

#[test]
fn the_loss_of_one_row_of_classes() {
    let one = run1("nn.nll_loss", &[vector(&[1.0, 2.0]).into(), tensor(&[], &[1i64]).into()], &[]);
    assert_eq!(elements(&one), [-2.0]);
}

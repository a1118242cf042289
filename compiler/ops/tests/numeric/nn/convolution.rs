//! Convolutions, plain and transposed.

use crate::{
    run::{Attrs, error, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

/// A sliding window, for references.
struct Geometry {
    strides: Vec<i64>,
    before: Vec<i64>,
    dilation: Vec<i64>,
    groups: usize,
}

/// The element of `x` (`N, C, …`) at an index; zero if out of bounds.
fn padded(x: &Tensor, n: usize, c: usize, place: &[i64]) -> f64 {
    let inside = place.iter().zip(&x.shape()[2..]).all(|(p, d)| *p >= 0 && p < d);
    let index: Vec<usize> = [n, c].into_iter().chain(place.iter().map(|p| *p as usize)).collect();
    if inside { view(x).at(&index) } else { 0.0 }
}

/// A convolution of `x` (`N, C, …`) with `w` (`O, I, …`) at an index of the result.
fn conv(x: &Tensor, w: &Tensor, g: &Geometry, i: &[usize]) -> f64 {
    let (inputs, per_group) = (w.shape()[1] as usize, w.shape()[0] as usize / g.groups);
    let mut sum = 0.0;
    for c in 0..inputs {
        for k in indices(&w.shape()[2..]) {
            let place: Vec<i64> = (0..k.len())
                .map(|a| i[a + 2] as i64 * g.strides[a] + k[a] as i64 * g.dilation[a] - g.before[a])
                .collect();
            let tap: Vec<usize> = [i[1], c].into_iter().chain(k).collect();
            sum += padded(x, i[0], i[1] / per_group * inputs + c, &place) * view(w).at(&tap);
        }
    }
    sum
}

/// A transposed convolution of `x` with `w` (`I, O, …`): every element of `x` is scattered.
fn transposed(x: &Tensor, w: &Tensor, g: &Geometry, i: &[usize]) -> f64 {
    let (outputs, per_group) = (w.shape()[1] as usize, w.shape()[0] as usize / g.groups);
    let group = i[1] / outputs;
    let mut sum = 0.0;
    for c in group * per_group..(group + 1) * per_group {
        for k in indices(&w.shape()[2..]) {
            let at: Vec<i64> =
                (0..k.len()).map(|a| i[a + 2] as i64 + g.before[a] - k[a] as i64 * g.dilation[a]).collect();
            if at.iter().zip(&g.strides).all(|(p, s)| p.rem_euclid(*s) == 0) {
                let place: Vec<i64> = at.iter().zip(&g.strides).map(|(p, s)| p.div_euclid(*s)).collect();
                let tap: Vec<usize> = [c, i[1] % outputs].into_iter().chain(k).collect();
                sum += padded(x, i[0], c, &place) * view(w).at(&tap);
            }
        }
    }
    sum
}

/// A tensor with its axes in another order.
fn permuted(x: &Tensor, order: &[usize]) -> Tensor {
    let shape: Vec<i64> = order.iter().map(|a| x.shape()[*a]).collect();
    let element = |i: &Vec<usize>| {
        let mut from = vec![0; order.len()];
        order.iter().zip(i).for_each(|(a, v)| from[*a] = *v);
        view(x).at(&from) as f32
    };
    tensor(&shape, &indices(&shape).iter().map(element).collect::<Vec<_>>())
}

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

fn geometry(strides: &[i64], before: &[i64], dilation: &[i64], groups: usize) -> Geometry {
    Geometry { strides: strides.into(), before: before.into(), dilation: dilation.into(), groups }
}

#[test]
fn conv2d_strides_pads_and_dilates() {
    let (x, w) = (noise(&[2, 3, 7, 6], 1), noise(&[4, 3, 3, 2], 2));
    let plain = run1("nn.conv2d", &[(&x).into(), (&w).into()], &[]);
    assert_close(&plain, &[2, 4, 5, 5], 1e-5, |i| conv(&x, &w, &geometry(&[1, 1], &[0, 0], &[1, 1], 1), i));
    let attrs: Attrs = &[("strides", ints(&[2, 1])), ("padding", ints(&[1, 2, 0, 3])), ("dilation", ints(&[2]))];
    let moved = run1("nn.conv2d", &[(&x).into(), (&w).into()], attrs);
    assert_close(&moved, &[2, 4, 2, 9], 1e-5, |i| conv(&x, &w, &geometry(&[2, 1], &[1, 2], &[2, 2], 1), i));
}

#[test]
fn conv2d_in_groups() {
    for (channels, outputs, groups) in [(4, 6, 2), (3, 3, 3), (3, 6, 3)] {
        let (x, w) = (noise(&[1, channels, 5, 5], 3), noise(&[outputs, channels / groups, 3, 3], 4));
        let result =
            run1("nn.conv2d", &[(&x).into(), (&w).into()], &[("groups", groups.into()), ("padding", ints(&[1]))]);
        let g = geometry(&[1, 1], &[1, 1], &[1, 1], groups as usize);
        assert_close(&result, &[1, outputs, 5, 5], 1e-5, |i| conv(&x, &w, &g, i));
    }
}

#[test]
fn conv2d_in_any_layout() {
    let (x, w) = (noise(&[1, 8, 5, 6], 5), noise(&[4, 8, 3, 3], 6));
    let g = geometry(&[1, 1], &[1, 1], &[1, 1], 1);
    let reference = |i: &[usize]| conv(&x, &w, &g, i);
    let (nhwc, hwio) = (permuted(&x, &[0, 2, 3, 1]), permuted(&w, &[2, 3, 1, 0]));
    let attrs: Attrs = &[("padding", ints(&[1])), ("data_layout", "NHWC".into()), ("kernel_layout", "HWIO".into())];
    let result = run1("nn.conv2d", &[nhwc.into(), hwio.into()], attrs);
    assert_close(&result, &[1, 5, 6, 4], 1e-5, |i| reference(&[i[0], i[3], i[1], i[2]]));

    let blocked = tensor(&[1, 2, 5, 6, 4], &elements(&permuted(&tensor5(&x), &[0, 1, 3, 4, 2])).map32());
    let attrs: Attrs = &[
        ("padding", ints(&[1])),
        ("data_layout", "NCHW4c".into()),
        ("kernel_layout", "OIHW".into()),
        ("out_layout", "NHWC2c".into()),
    ];
    let result = run1("nn.conv2d", &[blocked.into(), (&w).into()], attrs);
    assert_close(&result, &[1, 5, 6, 2, 2], 1e-5, |i| reference(&[i[0], i[3] * 2 + i[4], i[1], i[2]]));
}

/// `NCHW` with the channels in groups of four: `(N, C / 4, 4, H, W)`.
fn tensor5(x: &Tensor) -> Tensor {
    let s = x.shape();
    tensor(&[s[0], s[1] / 4, 4, s[2], s[3]], &elements(x).map32())
}

trait ToF32 {
    fn map32(&self) -> Vec<f32>;
}

impl ToF32 for Vec<f64> {
    fn map32(&self) -> Vec<f32> {
        self.iter().map(|v| *v as f32).collect()
    }
}

#[test]
fn conv1d_and_conv3d() {
    let (x, w) = (noise(&[2, 4, 9], 7), noise(&[6, 2, 3], 8));
    let attrs: Attrs = &[("strides", 2i64.into()), ("padding", 1i64.into()), ("groups", 2i64.into())];
    let result = run1("nn.conv1d", &[(&x).into(), (&w).into()], attrs);
    assert_close(&result, &[2, 6, 5], 1e-5, |i| conv(&x, &w, &geometry(&[2], &[1], &[1], 2), i));
    let (x, w) = (noise(&[1, 2, 4, 5, 3], 9), noise(&[2, 2, 2, 3, 2], 10));
    let attrs: Attrs = &[("padding", ints(&[1, 0, 1])), ("strides", ints(&[1, 2, 1]))];
    let result = run1("nn.conv3d", &[(&x).into(), (&w).into()], attrs);
    let g = geometry(&[1, 2, 1], &[1, 0, 1], &[1, 1, 1], 1);
    assert_close(&result, &[1, 2, 5, 2, 4], 1e-5, |i| conv(&x, &w, &g, i));
}

#[test]
fn convolutions_of_other_dtypes() {
    let (x, w) = (tensor(&[1, 2, 4], &[100i8; 8]), tensor(&[1, 2, 3], &[90i8; 6]));
    let result = run1("nn.conv1d", &[x.into(), w.into()], &[("out_dtype", DType::INT32.into())]);
    assert_eq!(elements(&result), [54000.0, 54000.0]);
    let (x, w) = (noise(&[1, 64, 3, 3], 1), noise(&[2, 64, 3, 3], 2));
    let [x, w] = [x, w].map(|t| convert(&t, DType::FLOAT16));
    let result = run1("nn.conv2d", &[(&x).into(), (&w).into()], &[]);
    assert_eq!(result.dtype(), DType::FLOAT16);
    assert_close(&result, &[1, 2, 1, 1], 1e-3, |i| conv(&x, &w, &geometry(&[1, 1], &[0, 0], &[1, 1], 1), i));
}

#[test]
fn transposed_convolutions() {
    let (x, w) = (noise(&[2, 4, 5], 11), noise(&[4, 3, 3], 12));
    let attrs: Attrs = &[("strides", 2i64.into()), ("padding", 1i64.into()), ("output_padding", 1i64.into())];
    let result = run1("nn.conv1d_transpose", &[(&x).into(), (&w).into()], attrs);
    assert_close(&result, &[2, 3, 10], 1e-5, |i| transposed(&x, &w, &geometry(&[2], &[1], &[1], 1), i));

    let (x, w) = (noise(&[1, 4, 3, 4], 13), noise(&[4, 2, 3, 2], 14));
    let attrs: Attrs = &[
        ("strides", ints(&[2, 3])),
        ("padding", ints(&[1, 0, 0, 1])),
        ("dilation", ints(&[2, 1])),
        ("groups", 2i64.into()),
        ("output_padding", ints(&[1, 2])),
    ];
    let result = run1("nn.conv2d_transpose", &[(&x).into(), (&w).into()], attrs);
    let g = geometry(&[2, 3], &[1, 0], &[2, 1], 2);
    assert_close(&result, &[1, 4, 9, 12], 1e-5, |i| transposed(&x, &w, &g, i));

    let (x, w) = (noise(&[1, 2, 3, 2, 2], 15), noise(&[2, 3, 2, 2, 3], 16));
    let result = run1("nn.conv3d_transpose", &[(&x).into(), (&w).into()], &[("padding", ints(&[0, 1, 2]))]);
    let g = geometry(&[1, 1, 1], &[0, 1, 2], &[1, 1, 1], 1);
    assert_close(&result, &[1, 3, 4, 1, 0], 1e-5, |i| transposed(&x, &w, &g, i));
}

#[test]
fn what_does_not_fit_is_told() {
    let (x, w) = (noise(&[1, 4, 5, 5], 1), noise(&[2, 3, 3, 3], 2));
    let args = || [(&x).into(), (&w).into()];
    assert_eq!(
        error("nn.conv2d", &args(), &[]),
        "`R.nn.conv2d`: `data` has 4 channels, but `weight` takes 3 in each of 1 groups"
    );
    assert_eq!(
        error("nn.conv2d", &args(), &[("padding", ints(&[1, 2, 3]))]),
        "`R.nn.conv2d`: `padding` must be 1, 2 or 4 numbers that are not negative, not [1, 2, 3]"
    );
    assert_eq!(
        error("nn.conv2d", &args(), &[("strides", ints(&[0]))]),
        "`R.nn.conv2d`: `strides` must be 1 or 2 numbers greater than 0, not [0, 0]"
    );
    assert_eq!(
        error("nn.conv2d", &args(), &[("data_layout", "OIHW".into())]),
        "`R.nn.conv2d`: `data_layout` must be NCHW in some order, not \"OIHW\""
    );
    assert_eq!(
        error("nn.conv2d_transpose", &args(), &[("output_padding", ints(&[1]))]),
        "`R.nn.conv2d_transpose`: `output_padding` must be less than the strides [1, 1] on each axis, not [1, 1]"
    );
}

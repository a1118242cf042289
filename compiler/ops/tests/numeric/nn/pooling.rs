//! Poolings and padding.

use crate::{
    run::{Attrs, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

/// A window over spatial axes, for references.
struct Window {
    size: Vec<i64>,
    strides: Vec<i64>,
    before: Vec<i64>,
    after: Vec<i64>,
    dilation: Vec<i64>,
}

impl Window {
    /// The indices of the window at `i`: `None` in the padding; positions beyond the padding are omitted.
    fn places(&self, x: &Tensor, i: &[usize]) -> Vec<Option<Vec<usize>>> {
        let spatial = &x.shape()[2..];
        let mut all = Vec::new();
        for k in indices(&self.size) {
            let at = |a: usize| i[a + 2] as i64 * self.strides[a] + k[a] as i64 * self.dilation[a] - self.before[a];
            let place: Vec<i64> = (0..k.len()).map(at).collect();
            let within = |low: &dyn Fn(usize) -> i64, high: &dyn Fn(usize) -> i64| {
                (0..k.len()).all(|a| place[a] >= low(a) && place[a] < high(a))
            };
            if within(&|_| 0, &|a| spatial[a]) {
                all.push(Some(i[..2].iter().copied().chain(place.iter().map(|p| *p as usize)).collect()));
            } else if within(&|a| -self.before[a], &|a| spatial[a] + self.after[a]) {
                all.push(None);
            }
        }
        all
    }

    fn max(&self, x: &Tensor, i: &[usize]) -> f64 {
        self.places(x, i).iter().flatten().map(|p| view(x).at(p)).fold(f64::NEG_INFINITY, f64::max)
    }

    fn mean(&self, x: &Tensor, i: &[usize], with_padding: bool) -> f64 {
        let places = self.places(x, i);
        let sum: f64 = places.iter().flatten().map(|p| view(x).at(p)).sum();
        let count = if with_padding { places.len() } else { places.iter().flatten().count() };
        sum / count.max(1) as f64
    }
}

#[test]
fn poolings_of_images() {
    let x = noise(&[2, 3, 9, 8], 1);
    let window =
        Window { size: vec![3, 2], strides: vec![2, 3], before: vec![1, 0], after: vec![1, 1], dilation: vec![1, 2] };
    for (ceil, shape) in [(false, [2, 3, 5, 3]), (true, [2, 3, 5, 3])] {
        let attrs: Attrs = &[
            ("pool_size", ints(&[3, 2])),
            ("strides", ints(&[2, 3])),
            ("padding", ints(&[1, 0, 1, 1])),
            ("dilation", ints(&[1, 2])),
            ("ceil_mode", ceil.into()),
        ];
        assert_close(&run1("nn.max_pool2d", &[(&x).into()], attrs), &shape, 0.0, |i| window.max(&x, i));
        for with_padding in [false, true] {
            let attrs = [attrs, &[("count_include_pad", with_padding.into())]].concat();
            let result = run1("nn.avg_pool2d", &[(&x).into()], &attrs);
            assert_close(&result, &shape, 1e-5, |i| window.mean(&x, i, with_padding));
        }
    }
}

/// Windows that are folded one axis after another: by doubling, of extents with one bit and with several, or by a
/// reduction along an axis with a stride.
#[test]
fn poolings_of_large_windows() {
    // Sums of small integers are exact in any order, which depends on whether sizes are known.
    let values: Vec<f32> = (0..1920).map(|at| (at * 7919 % 199) as f32 - 99.0).collect();
    let x = tensor(&[1, 2, 24, 40], &values);
    let cases = [([16, 21], [1, 3], false), ([13, 32], [1, 3], true), ([8, 8], [3, 3], false), ([9, 5], [2, 4], true)];
    for (size, strides, ceil) in cases {
        let window = Window {
            size: size.to_vec(),
            strides: strides.to_vec(),
            before: vec![7, 2],
            after: vec![3, 9],
            dilation: vec![2, 1],
        };
        let attrs: Attrs = &[
            ("pool_size", ints(&size)),
            ("strides", ints(&strides)),
            ("padding", ints(&[7, 2, 3, 9])),
            ("dilation", ints(&[2, 1])),
            ("ceil_mode", ceil.into()),
        ];
        let result = run1("nn.max_pool2d", &[(&x).into()], attrs);
        let shape = result.shape().to_vec();
        assert_close(&result, &shape, 0.0, |i| window.max(&x, i));
        for with_padding in [false, true] {
            let attrs = [attrs, &[("count_include_pad", with_padding.into())]].concat();
            let result = run1("nn.avg_pool2d", &[(&x).into()], &attrs);
            assert_close(&result, &shape, 1e-5, |i| window.mean(&x, i, with_padding));
        }
    }
}

/// NaN and infinities affect only the windows that contain them.
#[test]
fn large_windows_of_special_values() {
    let mut values = vec![1f32; 300];
    (values[50], values[200]) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[1, 1, 300], &values);
    let attrs: Attrs = &[("pool_size", 70i64.into())];
    for op in ["nn.max_pool1d", "nn.avg_pool1d"] {
        for (start, found) in elements(&run1(op, &[(&x).into()], attrs)).into_iter().enumerate() {
            let contains = |at: usize| (start..start + 70).contains(&at);
            match (contains(50), contains(200)) {
                (_, true) => assert!(found.is_nan(), "{op} at {start}: {found}"),
                (true, false) => assert_eq!(found, f64::INFINITY, "{op} at {start}"),
                (false, false) => assert_eq!(found, 1.0, "{op} at {start}"),
            }
        }
    }
}

#[test]
fn largest_of_windows_propagate_nan() {
    for at in 0..9 {
        let mut values: Vec<f32> = (0..9).map(|v| v as f32).collect();
        values[at] = f32::NAN;
        let x = tensor(&[1, 1, 3, 3], &values);
        let windows =
            |row: usize, column: usize| [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(r, c)| 3 * (row + r) + column + c);
        let y = elements(&run1("nn.max_pool2d", &[(&x).into()], &[("pool_size", ints(&[2]))]));
        for (place, found) in y.iter().enumerate() {
            let window = windows(place / 2, place % 2);
            assert!(if window.contains(&at) { found.is_nan() } else { *found == window[3] as f64 }, "{at}: {y:?}");
        }
    }
}

#[test]
fn last_windows_cut_short() {
    let x = noise(&[1, 1, 6, 6], 2);
    let window =
        Window { size: vec![3, 3], strides: vec![2, 2], before: vec![0, 0], after: vec![0, 0], dilation: vec![1, 1] };
    let attrs: Attrs = &[("pool_size", ints(&[3])), ("strides", ints(&[2])), ("ceil_mode", true.into())];
    assert_close(&run1("nn.max_pool2d", &[(&x).into()], attrs), &[1, 1, 3, 3], 0.0, |i| window.max(&x, i));
    for with_padding in [false, true] {
        let attrs = [attrs, &[("count_include_pad", with_padding.into())]].concat();
        let result = run1("nn.avg_pool2d", &[(&x).into()], &attrs);
        assert_close(&result, &[1, 1, 3, 3], 1e-5, |i| window.mean(&x, i, with_padding));
    }
}

#[test]
fn poolings_of_sequences_volumes_and_other_layouts() {
    let x = noise(&[1, 2, 7], 3);
    let one = |size, stride, pad| Window {
        size: vec![size],
        strides: vec![stride],
        before: vec![pad],
        after: vec![pad],
        dilation: vec![1],
    };
    let attrs: Attrs = &[("pool_size", 3i64.into()), ("strides", 2i64.into()), ("padding", 1i64.into())];
    assert_close(&run1("nn.max_pool1d", &[(&x).into()], attrs), &[1, 2, 4], 0.0, |i| one(3, 2, 1).max(&x, i));
    assert_close(&run1("nn.avg_pool1d", &[(&x).into()], attrs), &[1, 2, 4], 1e-5, |i| one(3, 2, 1).mean(&x, i, true));
    let x = noise(&[1, 2, 4, 3, 4], 4);
    let window =
        Window { size: vec![2; 3], strides: vec![1; 3], before: vec![0; 3], after: vec![0; 3], dilation: vec![1; 3] };
    let attrs: Attrs = &[("pool_size", ints(&[2]))];
    assert_close(&run1("nn.max_pool3d", &[(&x).into()], attrs), &[1, 2, 3, 2, 3], 0.0, |i| window.max(&x, i));
    let result = run1("nn.avg_pool3d", &[(&x).into()], attrs);
    assert_close(&result, &[1, 2, 3, 2, 3], 1e-5, |i| window.mean(&x, i, true));
    let blocked = noise(&[1, 2, 4, 4, 3], 5);
    let attrs: Attrs = &[("pool_size", ints(&[2])), ("layout", "NCHW3c".into()), ("out_layout", "NHWC".into())];
    assert_close(&run1("nn.max_pool2d", &[(&blocked).into()], attrs), &[1, 3, 3, 6], 0.0, |i| {
        let at = |y, x| view(&blocked).at(&[0, i[3] / 3, i[1] + y, i[2] + x, i[3] % 3]);
        at(0, 0).max(at(0, 1)).max(at(1, 0)).max(at(1, 1))
    });
}

#[test]
fn poolings_of_integers_and_short_floats() {
    let x = tensor(&[1, 1, 4], &[100i8, 120, -128, -3]);
    let attrs: Attrs = &[("pool_size", 2i64.into())];
    assert_eq!(elements(&run1("nn.max_pool1d", &[(&x).into()], attrs)), [120., 120., -3.]);
    assert_eq!(elements(&run1("nn.avg_pool1d", &[(&x).into()], attrs)), [110., -4., -65.]);
    let large = convert(&tensor(&[1, 1, 4096], &[100f32; 4096]), DType::FLOAT16);
    assert_eq!(elements(&run1("nn.avg_pool1d", &[large.into()], &[("pool_size", 4096i64.into())])), [100.]);
}

#[test]
fn adaptive_poolings() {
    let x = noise(&[1, 2, 9, 8], 6);
    let start = |i: usize, size: usize, n: usize| i * size / n;
    let end = |i: usize, size: usize, n: usize| ((i + 1) * size).div_ceil(n);
    for (h, w) in [(4, 3), (3, 4), (9, 8), (1, 1), (12, 5)] {
        let result = run1("nn.adaptive_avg_pool2d", &[(&x).into()], &[("output_size", ints(&[h, w]))]);
        assert_close(&result, &[1, 2, h, w], 1e-5, |i| {
            let (rows, columns) = (
                start(i[2], 9, h as usize)..end(i[2], 9, h as usize),
                start(i[3], 8, w as usize)..end(i[3], 8, w as usize),
            );
            let count = (rows.len() * columns.len()) as f64;
            rows.flat_map(|y| columns.clone().map(move |x| (y, x)))
                .map(|(y, c)| view(&x).at(&[0, i[1], y, c]))
                .sum::<f64>()
                / count
        });
    }
    let same = run1("nn.adaptive_avg_pool2d", &[(&x).into()], &[]);
    assert_exact(&same, &[1, 2, 9, 8], |i| view(&x).at(i));
    let line = noise(&[1, 6, 4], 7);
    let attrs: Attrs = &[("output_size", 2i64.into()), ("layout", "NWC".into())];
    let result = run1("nn.adaptive_avg_pool1d", &[(&line).into()], attrs);
    assert_close(&result, &[1, 2, 4], 1e-5, |i| {
        (0..3).map(|k| view(&line).at(&[0, i[1] * 3 + k, i[2]])).sum::<f64>() / 3.0
    });
    let volume = noise(&[1, 1, 4, 4, 4], 8);
    let result = run1("nn.adaptive_avg_pool3d", &[(&volume).into()], &[("output_size", 2i64.into())]);
    assert_close(&result, &[1, 1, 2, 2, 2], 1e-5, |i| {
        let at = |k: &Vec<usize>| view(&volume).at(&[0, 0, i[2] * 2 + k[0], i[3] * 2 + k[1], i[4] * 2 + k[2]]);
        indices(&[2, 2, 2]).iter().map(at).sum::<f64>() / 8.0
    });
}

#[test]
fn padding_of_every_kind() {
    let x = noise(&[2, 3], 9);
    // Widths less than the axes, and more: such padding reflects and wraps several times. Negative ones crop.
    for width in [
        [1, 2, 2, 4],
        [1, 1, 2, 2],
        [0, 1, 0, 2],
        [1, 0, 1, 0],
        [0, 0, 3, 3],
        [0, 0, 0, 1],
        [5, 7, 11, 8],
        [1, -1, -2, 2],
    ] {
        let shape = [2 + width[0] + width[1], 3 + width[2] + width[3]];
        let padded = |mode: &str, source: fn(i64, i64) -> Option<i64>| {
            let attrs: Attrs =
                &[("pad_width", ints(&width)), ("pad_mode", mode.into()), ("pad_value", AttrValue::Float(7.0))];
            assert_exact(&run1("nn.pad", &[(&x).into()], attrs), &shape, |i| {
                match (source(i[0] as i64 - width[0], 2), source(i[1] as i64 - width[2], 3)) {
                    (Some(r), Some(c)) => view(&x).at(&[r as usize, c as usize]),
                    _ => 7.0,
                }
            });
        };
        padded("constant", |i, n| (0..n).contains(&i).then_some(i));
        padded("replicate", |i, n| Some(i.clamp(0, n - 1)));
        padded("circular", |i, n| Some(i.rem_euclid(n)));
        padded("reflect", |i, n| {
            let step = i.rem_euclid(2 * (n - 1));
            Some(step.min(2 * (n - 1) - step))
        });
    }
    let cut = run1("nn.pad", &[(&x).into()], &[("pad_width", ints(&[0, 0, -1, 1]))]);
    assert_exact(&cut, &[2, 3], |i| if i[1] < 2 { view(&x).at(&[i[0], i[1] + 1]) } else { 0.0 });
}

#[test]
fn channels_become_pixels() {
    let x = noise(&[2, 8, 3, 2], 10);
    let result = run1("nn.pixel_shuffle", &[(&x).into()], &[("upscale_factor", 2i64.into())]);
    assert_exact(&result, &[2, 2, 6, 4], |i| {
        view(&x).at(&[i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2])
    });
}

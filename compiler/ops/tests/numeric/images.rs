//! Resizing, sampling along grids.

use crate::{
    run::{Attrs, run_static, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

/// The position of result index `i` of `n` in `size` elements.
fn source(mode: &str, i: usize, size: i64, n: i64, region: (f64, f64)) -> f64 {
    let (x, size, n) = (i as f64, size as f64, n as f64);
    let scale = size / n;
    match mode {
        "half_pixel" => (x + 0.5) * scale - 0.5,
        "align_corners" => x * (size - 1.0) / (n - 1.0),
        "asymmetric" => x * scale,
        "pytorch_half_pixel" => {
            if n > 1.0 {
                (x + 0.5) * scale - 0.5
            } else {
                0.0
            }
        }
        "tf_half_pixel_for_nn" => (x + 0.5) * scale,
        _ => region.0 * (size - 1.0) + x * (region.1 - region.0) * (size - 1.0) / (n - 1.0),
    }
}

const MODES: [&str; 5] = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"];

/// The element at row and column, clamped.
fn clamped(x: &Tensor, n: usize, c: usize, y: i64, z: i64) -> f64 {
    let s = x.shape();
    view(x).at(&[n, c, y.clamp(0, s[2] - 1) as usize, z.clamp(0, s[3] - 1) as usize])
}

fn resize(x: &Tensor, size: [i64; 2], attrs: Attrs) -> Tensor {
    run_static("image.resize2d", &[x.into(), crate::run::Arg::Shape(size.into())], attrs).remove(0)
}

#[test]
fn linear_resizing() {
    let x = noise(&[1, 2, 5, 4], 1);
    for mode in MODES {
        for size in [[8, 3], [10, 8], [5, 4]] {
            let result = resize(&x, size, &[("coordinate_transformation_mode", mode.into())]);
            assert_close(&result, &[1, 2, size[0], size[1]], 1e-4, |i| {
                let at = |k: usize| source(mode, i[k + 2], x.shape()[k + 2], size[k], (0.0, 1.0));
                let (y, z) = (at(0), at(1));
                let (a, b) = (y - y.floor(), z - z.floor());
                let of = |dy: i64, dz: i64| clamped(&x, 0, i[1], y.floor() as i64 + dy, z.floor() as i64 + dz);
                (1.0 - a) * ((1.0 - b) * of(0, 0) + b * of(0, 1)) + a * ((1.0 - b) * of(1, 0) + b * of(1, 1))
            });
        }
    }
}

#[test]
fn nearest_resizing() {
    let x = noise(&[1, 1, 5, 4], 2);
    let roundings: [(&str, fn(f64) -> f64); 5] = [
        ("round", f64::round_ties_even),
        ("floor", |v| (v + 1e-5).floor()),
        ("ceil", |v| (v - 1e-5).ceil()),
        ("round_prefer_floor", |v| (v - 0.5).ceil()),
        ("round_prefer_ceil", |v| (v + 0.5).floor()),
    ];
    for mode in MODES {
        for (name, round) in roundings {
            for size in [[7, 3], [10, 8]] {
                let attrs: Attrs = &[
                    ("method", "nearest_neighbor".into()),
                    ("coordinate_transformation_mode", mode.into()),
                    ("rounding_method", name.into()),
                ];
                assert_exact(&resize(&x, size, attrs), &[1, 1, size[0], size[1]], |i| {
                    let at = |k: usize| {
                        let single = source(mode, i[k + 2], x.shape()[k + 2], size[k], (0.0, 1.0)) as f32;
                        round(f64::from(single)) as i64
                    };
                    clamped(&x, 0, 0, at(0), at(1))
                });
            }
        }
    }
    let bytes = tensor(&[1, 1, 2, 2], &[1u8, 2, 3, 4]);
    let attrs: Attrs =
        &[("method", "nearest_neighbor".into()), ("coordinate_transformation_mode", "asymmetric".into())];
    assert_eq!(elements(&resize(&bytes, [2, 4], attrs)), [1., 1., 2., 2., 3., 3., 4., 4.]);
}

#[test]
fn cubic_resizing_and_regions() {
    let x = noise(&[1, 1, 6, 5], 3);
    let weight = |d: f64, a: f64| {
        let d = d.abs();
        if d <= 1.0 {
            ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
        } else if d < 2.0 {
            ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
        } else {
            0.0
        }
    };
    for exclude in [0i64, 1] {
        let attrs: Attrs =
            &[("method", "cubic".into()), ("cubic_alpha", AttrValue::Float(-0.5)), ("cubic_exclude", exclude.into())];
        assert_close(&resize(&x, [9, 4], attrs), &[1, 1, 9, 4], 1e-4, |i| {
            let taps = |k: usize, n: i64| -> Vec<(i64, f64)> {
                let (p, size) = (source("half_pixel", i[k + 2], x.shape()[k + 2], n, (0.0, 1.0)), x.shape()[k + 2]);
                let first = p.floor() as i64 - 1;
                let mut taps: Vec<(i64, f64)> = (first..first + 4).map(|t| (t, weight(p - t as f64, -0.5))).collect();
                if exclude == 1 {
                    taps.iter_mut().for_each(|(t, w)| {
                        if *t < 0 || *t >= size {
                            *w = 0.0
                        }
                    });
                    let sum: f64 = taps.iter().map(|(_, w)| w).sum();
                    taps.iter_mut().for_each(|(_, w)| *w /= sum);
                }
                taps
            };
            let columns = taps(1, 4);
            taps(0, 9)
                .iter()
                .map(|(y, v)| columns.iter().map(|(z, w)| v * w * clamped(&x, 0, 0, *y, *z)).sum::<f64>())
                .sum()
        });
    }
    let attrs: Attrs = &[
        ("coordinate_transformation_mode", "tf_crop_and_resize".into()),
        ("roi", AttrValue::List([0.0, 0.5, 1.0, 1.25].map(AttrValue::Float).into())),
        ("method", "nearest_neighbor".into()),
        ("extrapolation_value", AttrValue::Float(9.0)),
    ];
    assert_exact(&resize(&x, [6, 4], attrs), &[1, 1, 6, 4], |i| {
        let column = source("tf_crop_and_resize", i[3], 5, 4, (0.5, 1.25));
        if column > 4.0 { 9.0 } else { clamped(&x, 0, 0, i[2] as i64, column.round_ties_even() as i64) }
    });
}

/// Row 54 is at the last element or just behind it: values derived from the float32 bounds are float32 as well.
#[test]
fn regions_are_computed_in_float32() {
    let x = noise(&[1, 1, 5, 2], 5);
    let attrs: Attrs = &[
        ("coordinate_transformation_mode", "tf_crop_and_resize".into()),
        ("roi", AttrValue::List([-0.2, 0.0, 1.2, 1.0].map(AttrValue::Float).into())),
        ("method", "nearest_neighbor".into()),
        ("rounding_method", "ceil".into()),
        ("extrapolation_value", AttrValue::Float(9.0)),
    ];
    assert_exact(&resize(&x, [64, 2], attrs), &[1, 1, 64, 2], |i| {
        let row = -0.2f32 * 4.0 + i[2] as f32 * (1.2f32 - -0.2f32) * 4.0 / 63.0;
        let is_outside = !(0.0..=4.0).contains(&row);
        if is_outside { 9.0 } else { clamped(&x, 0, 0, (row - 1e-5).ceil() as i64, i[3] as i64) }
    });
}

#[test]
fn resizing_in_other_layouts_dtypes_and_of_volumes() {
    let x = noise(&[1, 3, 4, 2], 4);
    let attrs: Attrs = &[("layout", "NHWC".into()), ("out_dtype", DType::FLOAT16.into())];
    let result = resize(&x, [6, 8], attrs);
    assert_eq!((result.shape(), result.dtype()), (&[1, 6, 8, 2][..], DType::FLOAT16));
    let volume = counting(&[1, 1, 2, 2, 2]);
    let size = crate::run::Arg::Shape(vec![4, 2, 2]);
    let attrs: Attrs = &[("coordinate_transformation_mode", "align_corners".into())];
    let result = run_static("image.resize3d", &[(&volume).into(), size], attrs).remove(0);
    assert_close(&result, &[1, 1, 4, 2, 2], 1e-5, |i| i[2] as f64 * 4.0 / 3.0 + i[3] as f64 * 2.0 + i[4] as f64);
}

/// The element at row and column, zero outside.
fn zeroed(x: &Tensor, c: usize, y: i64, z: i64) -> f64 {
    let s = x.shape();
    if (0..s[2]).contains(&y) && (0..s[3]).contains(&z) { view(x).at(&[0, c, y as usize, z as usize]) } else { 0.0 }
}

/// A position mapped into the data, according to the padding mode.
fn inside(mode: &str, p: f64, size: i64, align: bool) -> f64 {
    let last = (size - 1) as f64;
    match mode {
        "border" => p.clamp(0.0, last),
        "reflection" => {
            let (low, length) = if align { (0.0, last) } else { (-0.5, size as f64) };
            let folded = (p - low).rem_euclid(2.0 * length);
            (folded.min(2.0 * length - folded) + low).clamp(0.0, last)
        }
        _ => p,
    }
}

#[test]
fn sampling_along_a_grid() {
    let (x, grid) = (noise(&[1, 2, 5, 4], 5), noise(&[1, 2, 3, 6], 6));
    let grid = tensor(grid.shape(), &elements(&grid).iter().map(|v| *v as f32 * 0.4).collect::<Vec<_>>());
    let place = |i: &[usize], axis: usize, align: bool| {
        let (g, size) = (view(&grid).at(&[0, 1 - axis, i[2], i[3]]), x.shape()[axis + 2] as f64);
        if align { (g + 1.0) * (size - 1.0) / 2.0 } else { (g + 1.0) * size / 2.0 - 0.5 }
    };
    for align in [false, true] {
        for padding in ["zeros", "border", "reflection"] {
            let attrs = |method: &'static str| {
                [("method", method.into()), ("padding_mode", padding.into()), ("align_corners", align.into())]
            };
            let at = |i: &[usize], axis| inside(padding, place(i, axis, align), x.shape()[axis + 2], align);
            let result = run1("image.grid_sample", &[(&x).into(), (&grid).into()], &attrs("bilinear"));
            assert_close(&result, &[1, 2, 3, 6], 1e-3, |i| {
                let (y, z) = (at(i, 0), at(i, 1));
                let (a, b) = (y - y.floor(), z - z.floor());
                let of = |dy: i64, dz: i64| zeroed(&x, i[1], y.floor() as i64 + dy, z.floor() as i64 + dz);
                (1.0 - a) * ((1.0 - b) * of(0, 0) + b * of(0, 1)) + a * ((1.0 - b) * of(1, 0) + b * of(1, 1))
            });
            let result = run1("image.grid_sample", &[(&x).into(), (&grid).into()], &attrs("nearest"));
            assert_exact(&result, &[1, 2, 3, 6], |i| {
                zeroed(&x, i[1], at(i, 0).round_ties_even() as i64, at(i, 1).round_ties_even() as i64)
            });
            let result = run1("image.grid_sample", &[(&x).into(), (&grid).into()], &attrs("bicubic"));
            assert_eq!(result.shape(), [1, 2, 3, 6]);
        }
    }
    let wild = tensor(&[1, 2, 1, 2], &[f32::NAN, 1e30, f32::NEG_INFINITY, -1e30]);
    for padding in ["zeros", "border", "reflection"] {
        run1("image.grid_sample", &[(&x).into(), (&wild).into()], &[("padding_mode", padding.into())]);
    }
}

/// Many channels are sampled in vectors along channels, few in vectors along positions: the results are the same, also
/// next to elements that are not finite.
#[test]
fn sampling_of_many_channels() {
    let mut values: Vec<f32> = elements(&noise(&[2, 5, 4, 19], 11)).iter().map(|v| *v as f32).collect();
    (values[40], values[401]) = (f32::INFINITY, f32::NAN);
    let last = tensor(&[2, 5, 4, 19], &values);
    let channels = |range: std::ops::Range<usize>| {
        let at = |n: usize, c: usize, yx: usize| values[(n * 20 + yx) * 19 + c];
        let all: Vec<f32> =
            (0..2).flat_map(|n| range.clone().flat_map(move |c| (0..20).map(move |yx| at(n, c, yx)))).collect();
        tensor(&[2, range.len() as i64, 5, 4], &all)
    };
    let (first, some) = (channels(0..19), channels(7..9));
    let grid = noise(&[2, 2, 3, 7], 12);
    let grid = tensor(grid.shape(), &elements(&grid).iter().map(|v| *v as f32 * 0.4).collect::<Vec<_>>());
    let same = |a: f64, b: f64| a.is_nan() && b.is_nan() || a == b || (a - b).abs() < 1e-5;
    for method in ["bilinear", "nearest", "bicubic"] {
        for padding in ["zeros", "border", "reflection"] {
            let attrs = |layout: &'static str| {
                [("method", method.into()), ("padding_mode", padding.into()), ("layout", layout.into())]
            };
            let sample = |x: &Tensor, layout| run1("image.grid_sample", &[x.into(), (&grid).into()], &attrs(layout));
            let (few, many) = (sample(&some, "NCHW"), sample(&first, "NCHW"));
            let many_last = sample(&last, "NHWC");
            assert_eq!((many.shape(), many_last.shape()), (&[2, 19, 3, 7][..], &[2, 3, 7, 19][..]));
            for at in 0..2 * 2 * 21 {
                let (n, c, y, x) = (at / 42, at / 21 % 2, at / 7 % 3, at % 7);
                let expected = view(&few).at(&[n, c, y, x]);
                let found = [view(&many).at(&[n, c + 7, y, x]), view(&many_last).at(&[n, y, x, c + 7])];
                assert!(found.iter().all(|v| same(*v, expected)), "{method} {padding}: {found:?}, not {expected}");
            }
        }
    }
}

#[test]
fn cubic_sampling_at_elements_is_exact() {
    let x = noise(&[1, 1, 4, 4], 7);
    let map = tensor(&[1, 2, 3], &[1f32, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let grid = run_static("image.affine_grid", &[(&map).into(), crate::run::Arg::Shape(vec![4, 4])], &[]).remove(0);
    let attrs: Attrs = &[("method", "bicubic".into()), ("align_corners", true.into())];
    let result = run1("image.grid_sample", &[(&x).into(), (&grid).into()], attrs);
    assert_close(&result, &[1, 1, 4, 4], 1e-4, |i| view(&x).at(i));
}

#[test]
fn grids_of_affine_maps() {
    let map = noise(&[2, 2, 3], 8);
    for align in [true, false] {
        let size = crate::run::Arg::Shape(vec![3, 5]);
        let grid =
            run_static("image.affine_grid", &[(&map).into(), size], &[("align_corners", align.into())]).remove(0);
        assert_close(&grid, &[2, 2, 3, 5], 1e-5, |i| {
            let coordinate = |p: usize, n: f64| match align {
                true => p as f64 * 2.0 / (n - 1.0) - 1.0,
                false => (2.0 * p as f64 + 1.0) / n - 1.0,
            };
            let (x, y) = (coordinate(i[3], 5.0), coordinate(i[2], 3.0));
            let m = |k| view(&map).at(&[i[0], i[1], k]);
            m(0) * x + m(1) * y + m(2)
        });
    }
    let volume = noise(&[1, 3, 4], 9);
    let size = crate::run::Arg::Shape(vec![2, 3, 4]);
    let grid = run_static("image.affine_grid", &[(&volume).into(), size], &[]).remove(0);
    assert_eq!(grid.shape(), [1, 3, 2, 3, 4]);
    let x = noise(&[1, 1, 2, 3, 4], 10);
    let identity = tensor(&[1, 3, 4], &[1f32, 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0.]);
    let size = crate::run::Arg::Shape(vec![2, 3, 4]);
    let grid = run_static("image.affine_grid", &[(&identity).into(), size], &[]).remove(0);
    let attrs: Attrs = &[("layout", "NCDHW".into()), ("align_corners", true.into())];
    let result = run1("image.grid_sample", &[(&x).into(), (&grid).into()], attrs);
    assert_close(&result, &[1, 1, 2, 3, 4], 1e-4, |i| view(&x).at(i));
}

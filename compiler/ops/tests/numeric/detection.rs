//! Regions of interest, boxes, quantization and gradients of poolings.

use crate::{
    run::{Arg, Attrs, run, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

fn rois() -> Tensor {
    tensor(
        &[4, 5],
        &[0f32, 1.0, 2.0, 9.0, 7.5, 1.0, -3.0, -2.0, 4.0, 5.0, 1.0, 6.0, 6.0, 30.0, 20.0, 0.0, 3.0, 3.0, 3.0, 3.0],
    )
}

/// Bilinear interpolation at a point.
fn bilinear(x: &Tensor, n: usize, c: usize, y: f64, z: f64) -> f64 {
    let (h, w) = (x.shape()[2] as f64, x.shape()[3] as f64);
    if y < -1.0 || z < -1.0 || y > h || z > w {
        return 0.0;
    }
    let (y, z) = (y.clamp(0.0, h - 1.0), z.clamp(0.0, w - 1.0));
    let at = |y: f64, z: f64| view(x).at(&[n, c, y.min(h - 1.0) as usize, z.min(w - 1.0) as usize]);
    let (a, b) = (y - y.floor(), z - z.floor());
    let (y, z) = (y.floor(), z.floor());
    (1.0 - a) * ((1.0 - b) * at(y, z) + b * at(y, z + 1.0))
        + a * ((1.0 - b) * at(y + 1.0, z) + b * at(y + 1.0, z + 1.0))
}

#[test]
fn regions_are_sampled() {
    check_regions(3);
}

/// The data are transposed, so that a sample of all channels is computed in vectors.
#[test]
fn regions_of_many_channels_are_sampled() {
    check_regions(19);
}

fn check_regions(channels: i64) {
    let (x, rois) = (noise(&[2, channels, 8, 9], 1), rois());
    for (ratio, aligned, mode) in [(2i64, false, "avg"), (-1, false, "avg"), (-1, true, "avg"), (2, true, "max")] {
        let attrs: Attrs = &[
            ("pooled_size", ints(&[2, 3])),
            ("spatial_scale", AttrValue::Float(0.5)),
            ("sample_ratio", ratio.into()),
            ("aligned", aligned.into()),
            ("mode", mode.into()),
        ];
        let result = run1("vision.roi_align", &[(&x).into(), (&rois).into()], attrs);
        assert_close(&result, &[4, channels, 2, 3], 1e-4, |i| {
            let roi = |k: usize| view(&rois).at(&[i[0], k]);
            let axis = |near: usize, far: usize, bins: f64, bin: usize| -> Vec<f64> {
                let (start, end) = (roi(near) * 0.5, roi(far) * 0.5);
                let length = if aligned { end - start } else { (end - start).max(1.0) };
                let size = length / bins;
                let count = if ratio > 0 { ratio as usize } else { size.ceil() as usize };
                (0..count).map(|k| start + bin as f64 * size + (k as f64 + 0.5) * size / count as f64).collect()
            };
            let (rows, columns) = (axis(2, 4, 2.0, i[2]), axis(1, 3, 3.0, i[3]));
            let values: Vec<f64> = rows
                .iter()
                .flat_map(|y| columns.iter().map(move |z| (*y, *z)))
                .map(|(y, z)| bilinear(&x, roi(0) as usize, i[1], y, z))
                .collect();
            match mode {
                _ if values.is_empty() => 0.0,
                "avg" => values.iter().sum::<f64>() / values.len() as f64,
                _ => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            }
        });
    }
}

#[test]
fn regions_have_their_largest_elements() {
    let (x, rois) = (noise(&[2, 3, 8, 9], 2), rois());
    let attrs: Attrs = &[("pooled_size", 2i64.into()), ("spatial_scale", AttrValue::Float(0.5))];
    let result = run1("vision.roi_pool", &[(&x).into(), (&rois).into()], attrs);
    assert_close(&result, &[4, 3, 2, 2], 0.0, |i| {
        let roi = |k: usize| (view(&rois).at(&[i[0], k]) * 0.5 + 0.5).floor();
        let bin = |near: usize, far: usize, bin: usize, size: f64| {
            let (start, length) = (roi(near), (roi(far) - roi(near) + 1.0).max(1.0) / 2.0);
            let low = (bin as f64 * length).floor() + start;
            let high = ((bin + 1) as f64 * length).ceil() + start;
            low.clamp(0.0, size) as usize..high.clamp(0.0, size) as usize
        };
        let (rows, columns) = (bin(2, 4, i[2], 8.0), bin(1, 3, i[3], 9.0));
        let image = view(&rois).at(&[i[0], 0]) as usize;
        let all = rows.flat_map(|y| columns.clone().map(move |z| (y, z)));
        let best = all.map(|(y, z)| view(&x).at(&[image, i[1], y, z])).fold(f64::NEG_INFINITY, f64::max);
        if best.is_finite() { best } else { 0.0 }
    });
}

#[test]
fn wild_regions_touch_no_memory() {
    let x = noise(&[1, 1, 4, 4], 3);
    let rois = tensor(&[2, 5], &[0f32, -1e9, -1e9, -1e8, -1e8, 0.0, f32::NAN, f32::NAN, f32::INFINITY, 2.0]);
    let attrs: Attrs = &[("pooled_size", 1i64.into()), ("spatial_scale", AttrValue::Float(1e-6))];
    run1("vision.roi_align", &[(&x).into(), (&rois).into()], attrs);
    run1("vision.roi_pool", &[(&x).into(), (&rois).into()], attrs);
}

/// Boxes `[class, score, x1, y1, x2, y2]`.
fn boxes() -> Tensor {
    tensor(
        &[1, 6, 6],
        &[
            0f32, 0.8, 1.0, 1.0, 11.0, 11.0, //
            1.0, 0.7, 2.0, 2.0, 12.0, 12.0, //
            0.0, 0.9, 1.0, 2.0, 11.0, 12.0, //
            0.0, 0.4, 100.0, 60.0, 70.0, 110.0, //
            -1.0, 0.95, 0.0, 0.0, 1.0, 1.0, //
            2.0, 0.01, 5.0, 5.0, 6.0, 6.0,
        ],
    )
}

#[test]
fn boxes_above_a_threshold_move_to_the_front() {
    let x = boxes();
    let result = run("vision.get_valid_counts", &[(&x).into()], &[("score_threshold", AttrValue::Float(0.05))]);
    assert_eq!(elements(&result[0]), [4.0]);
    assert_eq!(elements(&result[2]), [0., 1., 2., 3., -1., -1.]);
    assert_exact(&result[1], &[1, 6, 6], |i| if i[1] < 4 { view(&x).at(i) } else { -1.0 });
}

fn suppress(attrs: Attrs) -> Vec<Tensor> {
    let x = boxes();
    let valid = run("vision.get_valid_counts", &[(&x).into()], &[("score_threshold", AttrValue::Float(0.05))]);
    run("vision.non_max_suppression", &[(&valid[1]).into(), (&valid[0]).into(), (&valid[2]).into()], attrs)
}

#[test]
fn overlapping_boxes_are_suppressed() {
    let threshold = ("iou_threshold", AttrValue::Float(0.5));
    let by_class = suppress(std::slice::from_ref(&threshold));
    assert_eq!(elements(&by_class[0]), [2., 1., 3., -1., -1., -1.]);
    assert_eq!((elements(&by_class[1]), by_class[1].shape()), (vec![3.], &[1, 1][..]));
    let all = suppress(&[threshold.clone(), ("force_suppress", true.into())]);
    assert_eq!(elements(&all[0]), [2., 3., -1., -1., -1., -1.]);
    let few = suppress(&[threshold.clone(), ("max_output_size", 1i64.into())]);
    assert_eq!(elements(&few[0]), [2., -1., -1., -1., -1., -1.]);
    let top = suppress(&[threshold.clone(), ("top_k", 2i64.into())]);
    assert_eq!(elements(&top[0]), [2., -1., -1., -1., -1., -1.]);
    let rows = suppress(&[threshold.clone(), ("return_indices", false.into())]);
    let scores = |t: &Tensor| (0..6).map(|j| view(t).at(&[0, j, 1]) as f32).collect::<Vec<_>>();
    assert_eq!(scores(&rows[0]), [0.9, -1.0, 0.7, 0.4, -1.0, -1.0]);
    let front = suppress(&[threshold, ("return_indices", false.into()), ("invalid_to_bottom", true.into())]);
    assert_eq!(scores(&front[0]), [0.9, 0.7, 0.4, -1.0, -1.0, -1.0]);
}

#[test]
fn soft_suppression_lowers_scores() {
    let attrs: Attrs = &[
        ("iou_threshold", AttrValue::Float(0.95)),
        ("soft_nms_sigma", AttrValue::Float(0.5)),
        ("score_threshold", AttrValue::Float(0.3)),
    ];
    let result = suppress(attrs);
    // Boxes 2 and 0 overlap by 90 / 110: 0.8 · exp(-0.669) = 0.41.
    assert_eq!(elements(&result[1]), [2., 1., 0., 3., -1., -1.]);
    assert_eq!(elements(&result[2]), [4.]);
    let overlap: f64 = 90.0 / 110.0;
    let lowered = 0.8f32 as f64 * (-overlap * overlap).exp();
    assert!((view(&result[0]).at(&[0, 2, 1]) - lowered).abs() < 1e-6);
}

#[test]
fn wild_counts_and_indices_touch_no_memory() {
    let x = boxes();
    let nan = tensor(&[1, 6, 6], &[f32::NAN; 36]);
    for (data, count) in [(&x, 99i32), (&x, -3), (&nan, 6)] {
        for sigma in [0.0, 0.5] {
            let args: [Arg; 3] = [data.into(), tensor(&[1], &[count]).into(), tensor(&[1, 6], &[-9i32; 6]).into()];
            run("vision.non_max_suppression", &args, &[("soft_nms_sigma", AttrValue::Float(sigma))]);
        }
    }
}

#[test]
fn boxes_from_anchors() {
    let scores = noise(&[1, 2, 3], 4);
    let places = noise(&[1, 12], 5);
    let anchors = tensor(&[1, 3, 4], &[0f32, 0.0, 1.0, 1.0, 0.25, 0.5, 0.75, 1.0, 0.1, 0.2, 0.3, 0.6]);
    let variances = [0.1, 0.1, 0.2, 0.2];
    let attrs: Attrs = &[
        ("variances", AttrValue::List(variances.map(AttrValue::Float).into())),
        ("keep_background", false.into()),
        ("threshold", AttrValue::Float(0.3)),
    ];
    let result = run("vision.multibox_transform_loc", &[(&scores).into(), (&places).into(), (&anchors).into()], attrs);
    assert_close(&result[0], &[1, 3, 4], 1e-5, |i| {
        let axis = 1 - i[2] % 2;
        let (near, far) = (view(&anchors).at(&[0, i[1], axis]), view(&anchors).at(&[0, i[1], axis + 2]));
        let offset = |k: usize| view(&places).at(&[0, i[1] * 4 + k]) * variances[k];
        let centre = offset(axis) * (far - near) + (near + far) / 2.0;
        let half = offset(axis + 2).exp() * (far - near) / 2.0;
        if i[2] < 2 { centre - half } else { centre + half }
    });
    assert_close(&result[1], &[1, 2, 3], 1e-5, |i| {
        let exp = |c: usize| view(&scores).at(&[0, c, i[2]]).exp();
        let score = exp(i[1]) / (exp(0) + exp(1));
        if i[1] == 0 || score < 0.3 { 0.0 } else { score }
    });
}

#[test]
fn quantization() {
    let x = tensor(&[2, 3], &[0.5f32, 1.5, 2.5, -3.5, 300.0, -300.0]);
    let result =
        run1("quantize", &[(&x).into(), Arg::Const(tensor(&[], &[1f32])), Arg::Const(tensor(&[], &[3i8]))], &[]);
    assert_eq!(result.dtype(), DType::INT8);
    assert_eq!(elements(&result), [3., 5., 5., -1., 127., -128.]);
    let (scale, zero) = (vector(&[0.5, 2.0, 4.0]), tensor(&[3], &[1i32, 2, 3]));
    let attrs: Attrs = &[("axis", 1i64.into()), ("out_dtype", DType::UINT8.into())];
    let result = run1("quantize", &[(&x).into(), (&scale).into(), (&zero).into()], attrs);
    assert_eq!(elements(&result), [2., 3., 4., 0., 152., 0.]);
    let back = run1("dequantize", &[(&result).into(), (&scale).into(), (&zero).into()], &[("axis", (-1i64).into())]);
    assert_eq!(back.dtype(), DType::FLOAT32);
    assert_eq!(elements(&back), [0.5, 2., 4., -0.5, 300., -12.]);
    let wide = tensor(&[1], &[i8::MAX]);
    let args: [Arg; 3] = [(&wide).into(), vector(&[1e6]).into(), tensor(&[1], &[0i8]).into()];
    let half = run1("dequantize", &args, &[("out_dtype", DType::FLOAT16.into())]);
    assert_eq!(elements(&half), [65504.0]);
}

#[test]
fn gradients_of_poolings() {
    let x = noise(&[1, 2, 7, 6], 6);
    let attrs: Attrs = &[
        ("pool_size", ints(&[3, 2])),
        ("strides", ints(&[2, 3])),
        ("padding", ints(&[1, 0, 1, 1])),
        ("dilation", ints(&[1, 2])),
    ];
    let forward = run1("nn.max_pool2d", &[(&x).into()], attrs);
    let grad = noise(forward.shape(), 7);
    // Each window's taps that are in the data, in order.
    let taps = |o: &[usize]| -> Vec<[usize; 4]> {
        let all = indices(&[3, 2]);
        let place = |k: &Vec<usize>| [(o[2] * 2 + k[0]) as i64 - 1, (o[3] * 3 + k[1] * 2) as i64];
        let fits = |p: &[i64; 2]| (0..7).contains(&p[0]) && (0..6).contains(&p[1]);
        all.iter().map(place).filter(fits).map(|p| [o[0], o[1], p[0] as usize, p[1] as usize]).collect()
    };
    let windows = indices(forward.shape());
    let result = run1("grad.max_pool2d_backward", &[(&grad).into(), (&x).into()], attrs);
    assert_close(&result, x.shape(), 1e-5, |i| {
        let chosen = |o: &Vec<usize>| {
            let best = view(&forward).at(o);
            taps(o).iter().find(|t| view(&x).at(&t[..]) == best).is_some_and(|t| t[..] == *i)
        };
        windows.iter().filter(|o| chosen(o)).map(|o| view(&grad).at(o)).sum()
    });
    for with_padding in [false, true] {
        let attrs = [attrs, &[("count_include_pad", with_padding.into())]].concat();
        let result = run1("grad.avg_pool2d_backward", &[(&grad).into(), (&x).into()], &attrs);
        assert_close(&result, x.shape(), 1e-5, |i| {
            let share = |o: &Vec<usize>| {
                let held = taps(o).iter().any(|t| t[..] == *i);
                let count = if with_padding { 6 } else { taps(o).len() };
                if held { view(&grad).at(o) / count as f64 } else { 0.0 }
            };
            windows.iter().map(share).sum()
        });
    }
}

#[test]
fn gradient_of_take() {
    let (x, grad) = (noise(&[3, 4, 2], 8), noise(&[3, 5, 2], 9));
    let taken = tensor(&[5], &[1i32, 3, 1, 0, 9]);
    let result = run1("grad.take_backward", &[(&grad).into(), (&x).into(), (&taken).into()], &[("axis", 1i64.into())]);
    assert_close(&result, &[3, 4, 2], 1e-5, |i| {
        let rows = [1usize, 3, 1, 0, 3];
        (0..5).filter(|l| rows[*l] == i[1]).map(|l| view(&grad).at(&[i[0], l, i[2]])).sum()
    });
}

//! Mismatches of symbolic sizes stop the kernel before it reads anything.

use crate::{
    run::{Arg, run, stops, stops_static},
    values::*,
};
use hammock_ir::AttrValue;

#[test]
fn operands_that_do_not_fit() {
    let (x, y) = (noise(&[2, 3], 1), noise(&[2, 4], 2));
    for op in ["add", "equal", "maximum"] {
        let message = stops(op, &[(&x).into(), (&y).into()], &[]);
        assert!(message.contains("`x2` does not broadcast with the other operands"), "{message}");
    }
    assert!(stops("matmul", &[(&x).into(), (&y).into()], &[]).contains("as long as the second last of `x2`"));
    let list = || Arg::List(vec![(&x).into(), (&y).into()]);
    assert!(stops("concat", &[list()], &[("axis", 0i64.into())]).contains("differ in axis 1"));
    assert!(stops("stack", &[list()], &[]).contains("differ in shape"));
    assert!(stops("einsum", &[list()], &[("subscripts", "ij,ij->i".into())]).contains("one letter"));
    assert!(stops("broadcast_to", &[(&x).into(), Arg::Shape(vec![2, 4])], &[]).contains("does not broadcast"));
}

#[test]
fn updates_that_do_not_fit() {
    let x = noise(&[3, 3], 1);
    let places = tensor(&[2, 2], &[0i64, 1, 1, 0]);
    let args = [(&x).into(), (&places).into(), noise(&[1, 2], 2).into()];
    assert!(stops("scatter_elements", &args, &[]).contains("must have one shape"));
    let args = [(&x).into(), Arg::List(vec![ints(&[0, 1]).into()]), noise(&[2, 2], 3).into()];
    assert!(stops("index_put", &args, &[]).contains("does not broadcast"));
}

#[test]
fn parameters_that_do_not_fit() {
    let (x, short, long) = (noise(&[2, 3], 1), noise(&[2], 2), noise(&[4], 3));
    let axes = || ("axes", AttrValue::from(vec![-1i64]));
    let message = stops("nn.layer_norm", &[(&x).into(), (&long).into(), (&long).into()], &[axes()]);
    assert!(message.contains("axis 0 of `gamma` does not fit"), "{message}");
    assert!(stops("nn.rms_norm", &[(&x).into(), (&long).into()], &[axes()]).contains("`weight` does not fit"));
    let by_channel = [("axis", 1i64.into())];
    let args = [&x, &short, &short, &short, &short].map(Arg::from);
    assert!(stops("nn.batch_norm", &args, &by_channel).contains("`gamma` does not fit"));
    assert!(stops("nn.prelu", &[(&x).into(), (&long).into()], &by_channel).contains("`alpha` does not fit"));
    let (image, kernel) = (noise(&[1, 2, 3, 3], 4), noise(&[2, 3, 2, 2], 5));
    assert!(stops("nn.conv2d", &[(&image).into(), (&kernel).into()], &[]).contains("does not have the channels"));
    let (image, kernel) = (noise(&[1, 2, 3, 3], 4), noise(&[3, 2, 2, 2], 5));
    assert!(
        stops("nn.conv2d_transpose", &[(&image).into(), (&kernel).into()], &[]).contains("does not have the channels")
    );
}

#[test]
fn operands_of_products_that_do_not_fit() {
    let [q, k, v] = [[1, 2, 4, 3], [1, 5, 3, 3], [1, 5, 3, 2]].map(|shape| noise(&shape, 6));
    assert!(stops("nn.attention", &[(&q).into(), (&k).into(), (&v).into()], &[]).contains("cannot share"));
    let v = noise(&[1, 6, 3, 2], 7);
    assert!(stops("nn.attention", &[(&q).into(), (&k).into(), (&v).into()], &[]).contains("the sequence length of"));
    let (x, y) = (noise(&[3, 4], 8), noise(&[3, 5], 9));
    assert!(stops("nn.cross_entropy_with_logits", &[(&x).into(), (&y).into()], &[]).contains("`labels` does not fit"));
    let targets = tensor(&[2], &[0i64, 1]);
    assert!(stops("nn.nll_loss", &[(&x).into(), (&targets).into()], &[]).contains("`targets` does not fit"));
}

#[test]
fn targets_are_classes() {
    let x = noise(&[2, 3], 8);
    for reduction in ["none", "sum", "mean"] {
        for target in [3i64, 7, -1, -2] {
            let targets = tensor(&[2], &[1, target]);
            let args = [(&x).into(), (&targets).into()];
            for message in [
                stops("nn.nll_loss", &args, &[("reduction", reduction.into())]),
                stops_static("nn.nll_loss", &args, &[("reduction", reduction.into())]),
            ] {
                assert!(message.contains(&format!("index {target} is outside of dimension 1")), "{message}");
                assert!(message.contains("whose size is 3"), "{message}");
            }
            // Ignored, it may be any.
            run("nn.nll_loss", &args, &[("reduction", reduction.into()), ("ignore_index", target.into())]);
        }
    }
}

#[test]
fn what_reaches_outside_of_a_tensor() {
    let x = noise(&[2, 3], 1);
    assert!(stops("topk", &[(&x).into()], &[("k", 4i64.into())]).contains("fewer than `k`"));
    let trusted = [("assume_inbound", true.into())];
    let args = [(&x).into(), Arg::Ints(vec![1]), Arg::Ints(vec![2]), Arg::Ints(vec![5])];
    assert!(stops("strided_slice", &args, &trusted).contains("not inside of axis 1"));
    for (sizes, said) in [([4, 2], "6 is not 8"), ([2, 2], "6 is not 4"), ([0, 2], "6 is not 0")] {
        let message = stops("reshape", &[(&x).into(), Arg::Shape(sizes.to_vec())], &[]);
        assert!(message.contains("the numbers of elements of `x` and `shape` differ") && message.contains(said));
    }
    assert!(stops("topk", &[(&x).into()], &[("k", 4i64.into())]).contains("3 is less than 4"));
    let (image, kernel) = (noise(&[1, 2, 2, 4], 2), noise(&[3, 2, 3, 3], 3));
    let small = stops("nn.conv2d", &[(&image).into(), (&kernel).into()], &[]);
    assert!(small.contains("smaller than the window on spatial axis 0: 2 is less than 3"), "{small}");
}

/// Indices of every operator that reads them from a tensor, of several dtypes, before the first and behind the last.
#[test]
fn indices_outside_of_their_axis() {
    let x = noise(&[3, 4], 1);
    for (index, shown) in [(4i64, 4), (-5, -1), (i64::MAX, i64::MAX), (i64::MIN, i64::MIN + 4)] {
        let said = format!("index {shown} is outside of dimension 1 of buffer");
        let (axis, of) = ([("axis", AttrValue::from(1i64))], ", whose size is 4");
        let one = tensor(&[2], &[1i64, index]);
        let column = tensor(&[3, 1], &[0i64, index, 1]);
        let pairs = tensor(&[2, 2], &[0i64, 1, -1, index]);
        let list = || Arg::List(vec![ints(&[0, 1]).into(), (&one).into()]);
        let (rows, pair) = (noise(&[3, 1], 2), noise(&[2], 3));
        let mut found = vec![
            stops("take", &[(&x).into(), (&one).into()], &axis),
            stops("gather_elements", &[(&x).into(), (&column).into()], &axis),
            stops_static("gather_nd", &[(&x).into(), (&pairs).into()], &[]),
            stops_static("index_tensor", &[(&x).into(), list()], &[]),
            stops_static("index_put", &[(&x).into(), list(), (&pair).into()], &[]),
        ];
        for how in ["update", "add", "mul", "max", "min"] {
            let how = ("reduction", AttrValue::from(how));
            let args = [(&x).into(), (&column).into(), (&rows).into()];
            found.push(stops("scatter_elements", &args, &[axis[0].clone(), how.clone()]));
            found.push(stops_static("scatter_nd", &[(&x).into(), (&pairs).into(), (&pair).into()], &[how]));
        }
        for message in found {
            assert!(message.contains(&said) && message.contains(of), "{message}");
        }
    }
    let narrow = [tensor(&[1], &[4i8]), tensor(&[1], &[4u8]), tensor(&[1], &[4i32])];
    for index in narrow {
        let message = stops("take", &[(&x).into(), (&index).into()], &[("axis", 1i64.into())]);
        assert!(message.contains("index 4 is outside"), "{message}");
    }
    let empty = noise(&[0, 2], 1);
    let message = stops("take", &[(&empty).into(), ints(&[0]).into()], &[("axis", 0i64.into())]);
    assert!(message.contains("index 0 is outside") && message.contains("whose size is 0"), "{message}");
}

#[test]
fn lengths_and_images_outside_of_the_data() {
    let (x, lengths) = (noise(&[2, 3], 1), ints(&[1, 4]));
    let axes = [("seq_axis", 1i64.into()), ("batch_axis", 0i64.into())];
    assert!(stops("reverse_sequence", &[(&x).into(), (&lengths).into()], &axes).contains("index 3 is outside"));
    let images = noise(&[2, 1, 4, 4], 2);
    for image in [2f32, -1.0, f32::INFINITY] {
        let rois = tensor(&[1, 5], &[image, 0.0, 0.0, 3.0, 3.0]);
        for op in ["vision.roi_align", "vision.roi_pool"] {
            let attrs = [("pooled_size", vec![2i64, 2].into()), ("spatial_scale", 1.0.into())];
            let message = stops(op, &[(&images).into(), (&rois).into()], &attrs);
            assert!(message.contains("is outside of dimension 0 of buffer `data`, whose size is 2"), "{message}");
        }
    }
}

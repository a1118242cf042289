//! Symbolic sizes that turn out not to fit stop the kernel before it reads anything.

use crate::{
    run::{Arg, stops},
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
    assert!(stops("nn.conv2d", &[(&image).into(), (&kernel).into()], &[]).contains("has not the channels"));
    let (image, kernel) = (noise(&[1, 2, 3, 3], 4), noise(&[3, 2, 2, 2], 5));
    assert!(stops("nn.conv2d_transpose", &[(&image).into(), (&kernel).into()], &[]).contains("has not the channels"));
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
fn what_reaches_outside_of_a_tensor() {
    let x = noise(&[2, 3], 1);
    assert!(stops("topk", &[(&x).into()], &[("k", 4i64.into())]).contains("fewer than `k`"));
    let trusted = [("assume_inbound", true.into())];
    let args = [(&x).into(), Arg::Ints(vec![1]), Arg::Ints(vec![2]), Arg::Ints(vec![5])];
    assert!(stops("strided_slice", &args, &trusted).contains("not inside of axis 1"));
    assert!(stops("reshape", &[(&x).into(), Arg::Shape(vec![4, 2])], &[]).contains("fewer elements than"));
}

//! Symbolic sizes that turn out not to fit stop the kernel before it reads anything.

use crate::{
    run::{Arg, stops},
    values::*,
};

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

//! Slices, gathering, scattering.

use crate::{
    run::{Arg, run_static, run1},
    values::*,
};
use hammock_ir::{DType, PrimExpr, Tensor};

#[test]
fn take_keeps_in_bounds() {
    let x = noise(&[2, 3, 2], 1);
    let places = tensor(&[2, 2], &[0i64, 2, 1, 0]);
    let taken = run1("take", &[(&x).into(), (&places).into()], &[("axis", 1i64.into())]);
    assert_exact(&taken, &[2, 2, 2, 2], |i| view(&x).at(&[i[0], view(&places).at(&i[1..3]) as usize, i[3]]));
    let v = vector(&[10., 11., 12.]);
    let outside = tensor(&[4], &[-1i32, 3, 100, 1]);
    let with = |mode: &str| elements(&run1("take", &[(&v).into(), (&outside).into()], &[("mode", mode.into())]));
    assert_eq!(with("clip"), [10., 12., 12., 11.]);
    let within = tensor(&[3], &[-1i32, -3, 1]);
    assert_eq!(elements(&run1("take", &[(&v).into(), (&within).into()], &[])), [12., 10., 11.]);
    assert_eq!(with("wrap"), [12., 10., 11., 11.]);
    let nan = with("nan");
    assert!(nan[..3].iter().all(|v| v.is_nan()) && nan[3] == 11.);
    assert_eq!(elements(&run1("take", &[(&v).into(), 2i64.into()], &[])), [12.]);
    let empty = noise(&[0, 2], 1);
    for mode in ["clip", "wrap"] {
        let attrs = [("axis", 0i64.into()), ("mode", mode.into())];
        assert_exact(&run_static("take", &[(&empty).into(), ints(&[0, 5]).into()], &attrs)[0], &[2, 2], |_| 0.0);
    }
}

fn slice(x: &Tensor, axes: &[i64], begin: &[i64], end: &[i64], strides: Option<&[i64]>) -> Tensor {
    let mut args = vec![x.into(), Arg::Ints(axes.to_vec()), Arg::Ints(begin.to_vec()), Arg::Ints(end.to_vec())];
    args.extend(strides.map(|s| Arg::Ints(s.to_vec())));
    run1("strided_slice", &args, &[])
}

#[test]
fn slices_follow_python() {
    let x = counting(&[2, 10]);
    let row = |t: Tensor| elements(&t)[..t.shape()[1] as usize].to_vec();
    let cut = |b, e, s| row(slice(&x, &[1], &[b], &[e], Some(&[s])));
    assert_eq!(cut(2, 5, 1), [2., 3., 4.]);
    assert_eq!(cut(-3, i64::MAX, 1), [7., 8., 9.]);
    assert_eq!(cut(0, 10, 4), [0., 4., 8.]);
    assert_eq!(cut(1, -1, 3), [1., 4., 7.]);
    assert_eq!(cut(-100, 100, 5), [0., 5.]);
    assert_eq!(cut(-1, -100, -3), [9., 6., 3., 0.]);
    assert_eq!(cut(8, 2, -2), [8., 6., 4.]);
    assert!(cut(5, 2, 1).is_empty());
    assert!(cut(50, 60, 1).is_empty());
    for (begin, end, stride) in [(0, 5, -1), (0, 10, -3), (1, -1, -1), (0, i64::MAX, -1), (-20, 0, -2)] {
        assert!(cut(begin, end, stride).is_empty(), "{begin}:{end}:{stride}");
    }
    assert_eq!(cut(1, i64::MAX, i64::MAX), [1.]);
    assert_eq!(cut(i64::MAX, i64::MIN, i64::MIN), [9.]);
    assert_eq!(cut(-2, i64::MIN, i64::MIN + 1), [8.]);
    assert_eq!(slice(&x, &[0, 1], &[0, 0], &[2, 5], Some(&[-1, -1])).shape(), &[0, 0]);
    let both = slice(&x, &[0, -1], &[1, 8], &[2, 10], None);
    assert_exact(&both, &[1, 2], |i| 18.0 + i[1] as f64);
}

#[test]
fn gathering() {
    let x = noise(&[3, 4], 2);
    let places = tensor(&[3, 2], &[0i64, -1, 3, 2, 1, -4]);
    let result = run_static("gather_elements", &[(&x).into(), (&places).into()], &[("axis", 1i64.into())]).remove(0);
    let column = |p: f64| if p < 0.0 { p + 4.0 } else { p } as usize;
    assert_exact(&result, &[3, 2], |i| view(&x).at(&[i[0], column(view(&places).at(i))]));
    let data = noise(&[2, 3, 4], 3);
    let nd = tensor(&[2, 2], &[0i64, 2, 1, -3]);
    let result = run_static("gather_nd", &[(&data).into(), (&nd).into()], &[]).remove(0);
    assert_exact(&result, &[2, 4], |i| view(&data).at(&[i[0], if i[0] == 0 { 2 } else { 0 }, i[1]]));
    let batched =
        run_static("gather_nd", &[(&data).into(), tensor(&[2, 1], &[2i64, 1]).into()], &[("batch_dims", 1i64.into())]);
    assert_exact(&batched[0], &[2, 4], |i| view(&data).at(&[i[0], 2 - i[0], i[1]]));
    let (rows, columns) = (tensor(&[2, 1], &[0i64, -1]), tensor(&[3], &[1i32, 0, 2]));
    let indexed = run1("index_tensor", &[(&data).into(), Arg::List(vec![(&rows).into(), (&columns).into()])], &[]);
    assert_exact(&indexed, &[2, 3, 4], |i| view(&data).at(&[i[0], [1, 0, 2][i[1]], i[2]]));
}

#[test]
fn scattering_elements() {
    let x = counting(&[3, 3]);
    let places = tensor(&[2, 3], &[0i64, 1, -1, 0, 0, 2]);
    let updates = tensor(&[2, 3], &[10f32, 20., 30., 40., 1., 60.]);
    let with = |how: &str| {
        let args = [(&x).into(), (&places).into(), (&updates).into()];
        elements(&run_static("scatter_elements", &args, &[("reduction", how.into())])[0])
    };
    assert_eq!(with("update"), [40., 1., 2., 3., 20., 5., 6., 7., 60.]);
    assert_eq!(with("add"), [50., 2., 2., 3., 24., 5., 6., 7., 98.]);
    assert_eq!(with("mul"), [0., 1., 2., 3., 80., 5., 6., 7., 14400.]);
    assert_eq!(with("max"), [40., 1., 2., 3., 20., 5., 6., 7., 60.]);
    assert_eq!(with("min"), [0., 1., 2., 3., 4., 5., 6., 7., 8.]);
    // Each update and the element before it, as in TVM: ((0 + 10) / 2 + 40) / 2.
    assert_eq!(with("mean"), [22.5, 1., 2., 3., 12., 5., 6., 7., 39.5]);
    // Along each other axis, fewer updates than data.
    let args = [(&x).into(), tensor(&[3, 1], &[2i64, 0, 1]).into(), tensor(&[3, 1], &[-1f32, -2., -3.]).into()];
    let columns = run_static("scatter_elements", &args, &[("axis", 1i64.into())]);
    assert_eq!(elements(&columns[0]), [0., 1., -1., -2., 4., 5., 6., -3., 8.]);
}

#[test]
fn scattered_extremes_propagate_nan() {
    let x = vector(&[1.0, f32::NAN, 3.0, 4.0]);
    let updates = vector(&[f32::NAN, 9.0, 9.0, f32::NAN, 0.0]);
    for how in ["max", "min"] {
        let scatter = |op, places: Tensor| {
            elements(&run_static(op, &[(&x).into(), places.into(), (&updates).into()], &[("reduction", how.into())])[0])
        };
        let elementwise = scatter("scatter_elements", tensor(&[5], &[0i64, 0, 1, 2, 2]));
        let slices = scatter("scatter_nd", tensor(&[5, 1], &[0i64, 0, 1, 2, 2]));
        for y in [elementwise, slices] {
            assert!(y[..3].iter().all(|v| v.is_nan()) && y[3] == 4.0, "{how}: {y:?}");
        }
    }
}

#[test]
fn scattering_slices() {
    let x = counting(&[3, 2]);
    let places = tensor(&[3, 1], &[2i64, 0, 2]);
    let updates = tensor(&[3, 2], &[10f32, 20., 30., 40., 50., 60.]);
    let with = |how: &str| {
        let args = [(&x).into(), (&places).into(), (&updates).into()];
        elements(&run_static("scatter_nd", &args, &[("reduction", how.into())])[0])
    };
    assert_eq!(with("update"), [30., 40., 2., 3., 50., 60.]);
    assert_eq!(with("add"), [30., 41., 2., 3., 64., 85.]);
    let points = tensor(&[2, 2], &[1i64, 1, -1, -2]);
    let args = [(&x).into(), (&points).into(), vector(&[9., 8.]).into()];
    assert_eq!(elements(&run_static("scatter_nd", &args, &[])[0]), [0., 1., 2., 9., 8., 5.]);
    // Rows of whole vectors, and their tails.
    for width in [16, 35] {
        let (x, updates) = (counting(&[4, 2, width]), noise(&[3, 2, width], 5));
        let args = [(&x).into(), tensor(&[3, 1], &[3i64, 1, -1]).into(), (&updates).into()];
        let row = |at: usize| [None, Some(1), None, Some(2)][at];
        for result in [run_static("scatter_nd", &args, &[]).remove(0), run1("scatter_nd", &args, &[])] {
            assert_exact(&result, &[4, 2, width], |i| match row(i[0]) {
                Some(update) => view(&updates).at(&[update, i[1], i[2]]),
                None => view(&x).at(i),
            });
        }
    }
}

#[test]
fn putting_by_index() {
    let x = counting(&[3, 2]);
    let (rows, columns) = (ints(&[0, -1, 0]), ints(&[1, 0, 1]));
    let list = || Arg::List(vec![(&rows).into(), (&columns).into()]);
    let values = vector(&[10., 20., 30.]);
    let put = run1("index_put", &[(&x).into(), list(), (&values).into()], &[]);
    assert_eq!(elements(&put), [0., 30., 2., 3., 20., 5.]);
    let added = run1("index_put", &[(&x).into(), list(), (&values).into()], &[("accumulate", true.into())]);
    assert_eq!(elements(&added), [0., 41., 2., 3., 24., 5.]);
    let whole = run1("index_put", &[(&x).into(), Arg::List(vec![ints(&[1, 2]).into()]), vector(&[7., 8.]).into()], &[]);
    assert_eq!(elements(&whole), [0., 1., 7., 8., 7., 8.]);
}

#[test]
fn slices_put_back() {
    let (x, src) = (counting(&[6, 2]), tensor(&[2, 2], &[-1f32, -2., -3., -4.]));
    let put = |start: i64, end: i64, step: i64| {
        let args = [(&x).into(), (&src).into(), start.into(), end.into(), step.into()];
        elements(&run1("slice_scatter", &args, &[]))
    };
    assert_eq!(put(1, 5, 2), [0., 1., -1., -2., 4., 5., -3., -4., 8., 9., 10., 11.]);
    assert_eq!(put(-2, i64::MAX, 1), [0., 1., 2., 3., 4., 5., 6., 7., -1., -2., -3., -4.]);
}

#[test]
fn symbolic_bounds() {
    let x = counting(&[5]);
    // the only dimension is a variable here, so bounds in terms of it are expressions
    let axes = Arg::Ints(vec![0]);
    let args = [(&x).into(), axes, Arg::Ints(vec![-2]), Arg::List(vec![Arg::Prim(PrimExpr::int(5, DType::INT64))])];
    assert_eq!(elements(&run1("strided_slice", &args, &[])), [3., 4.]);
}

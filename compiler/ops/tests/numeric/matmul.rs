//! Matmul and einsum.

use crate::{
    run::{Arg, run_static, run1},
    values::*,
};
use hammock_ir::DType;

#[test]
fn matmul_of_matrices_batches_and_vectors() {
    let shapes: [(&[i64], &[i64], &[i64]); 8] = [
        (&[2, 3], &[3, 4], &[2, 4]),
        (&[5, 2, 3], &[5, 3, 4], &[5, 2, 4]),
        (&[5, 2, 3], &[3, 4], &[5, 2, 4]),
        (&[2, 1, 3, 4], &[5, 4, 2], &[2, 5, 3, 2]),
        (&[3], &[3, 4], &[4]),
        (&[2, 3], &[3], &[2]),
        (&[6, 2, 3], &[3], &[6, 2]),
        (&[3], &[3], &[]),
    ];
    for (a, b, out) in shapes {
        let (x, y) = (noise(a, 1), noise(b, 2));
        let result = run1("matmul", &[(&x).into(), (&y).into()], &[]);
        let depth = a[a.len() - 1] as usize;
        let (rows, columns) = (usize::from(a.len() > 1), usize::from(b.len() > 1));
        assert_close(&result, out, 1e-5, |i| {
            let batch = &i[..i.len() - rows - columns];
            let row = &i[batch.len()..batch.len() + rows];
            let column = &i[i.len() - columns..];
            let own = |n: usize| batch[batch.len() - n..].to_vec();
            let (left, right) = (own(a.len().saturating_sub(2)), own(b.len().saturating_sub(2)));
            (0..depth)
                .map(|k| {
                    view(&x).at(&[&left[..], row, &[k]].concat()) * view(&y).at(&[&right[..], &[k], column].concat())
                })
                .sum()
        });
    }
}

#[test]
fn matmul_keeps_short_floats_precise() {
    let ones = convert(&tensor(&[1, 4096], &[1f32; 4096]), DType::FLOAT16);
    let tenth = convert(&tensor(&[4096, 1], &[0.1f32; 4096]), DType::FLOAT16);
    let result = run1("matmul", &[(&ones).into(), (&tenth).into()], &[]);
    assert_eq!(result.dtype(), DType::FLOAT16);
    assert!((elements(&result)[0] - 409.4).abs() < 0.5);
    let wide = run1("matmul", &[(&ones).into(), (&tenth).into()], &[("out_dtype", DType::FLOAT32.into())]);
    assert_eq!(wide.dtype(), DType::FLOAT32);
}

#[test]
fn matmul_of_nothing_is_zero() {
    let result = run_static("matmul", &[noise(&[2, 0], 1).into(), noise(&[0, 3], 1).into()], &[]);
    assert_exact(&result[0], &[2, 3], |_| 0.0);
}

#[test]
fn outer_product() {
    let (x, y) = (noise(&[2], 3), noise(&[3], 4));
    let result = run1("outer", &[(&x).into(), (&y).into()], &[]);
    assert_close(&result, &[2, 3], 1e-6, |i| view(&x).at(&i[..1]) * view(&y).at(&i[1..]));
}

fn einsum(subscripts: &str, operands: &[&hammock_ir::Tensor]) -> hammock_ir::Tensor {
    let list = operands.iter().map(|t| (*t).into()).collect();
    run1("einsum", &[Arg::List(list)], &[("subscripts", subscripts.into())])
}

#[test]
fn einsum_contracts_transposes_and_takes_diagonals() {
    let (x, y) = (noise(&[2, 3], 5), noise(&[3, 4], 6));
    let expected = |i: &[usize]| (0..3).map(|k| view(&x).at(&[i[0], k]) * view(&y).at(&[k, i[1]])).sum::<f64>();
    assert_close(&einsum("ij,jk->ik", &[&x, &y]), &[2, 4], 1e-5, expected);
    assert_close(&einsum(" ij, jk ", &[&x, &y]), &[2, 4], 1e-5, expected);
    assert_exact(&einsum("ba", &[&x]), &[3, 2], |i| view(&x).at(&[i[1], i[0]]));
    assert_close(&einsum("ij->", &[&x]), &[], 1e-6, |_| elements(&x).iter().sum());
    let z = noise(&[3, 3], 7);
    assert_close(&einsum("ii", &[&z]), &[], 1e-6, |_| (0..3).map(|i| view(&z).at(&[i, i])).sum());
    assert_exact(&einsum("ii->i", &[&z]), &[3], |i| view(&z).at(&[i[0], i[0]]));
    let (a, b) = (noise(&[5, 2, 3], 8), noise(&[1, 3, 4], 9));
    assert_close(&einsum("...ij,...jk->...ik", &[&a, &b]), &[5, 2, 4], 1e-5, |i| {
        (0..3).map(|k| view(&a).at(&[i[0], i[1], k]) * view(&b).at(&[i[0], k, i[2]])).sum()
    });
    let v = noise(&[2], 10);
    assert_close(&einsum("i,ij,jk->k", &[&v, &x, &y]), &[4], 1e-5, |i| {
        indices(&[2, 3]).iter().map(|p| view(&v).at(&p[..1]) * view(&x).at(p) * view(&y).at(&[p[1], i[0]])).sum()
    });
}

#[test]
fn batches_of_symbolic_sizes_broadcast() {
    let (x, y) = (noise(&[1, 4, 2, 3], 1), noise(&[5, 1, 3, 2], 2));
    let expected = run1("matmul", &[(&x).into(), (&y).into()], &[]);
    assert_close(&expected, &[5, 4, 2, 2], 1e-6, |i| {
        (0..3).map(|k| view(&x).at(&[0, i[1], i[2], k]) * view(&y).at(&[i[0], 0, k, i[3]])).sum()
    });
    let z = noise(&[2, 1, 3, 2], 3);
    let message = crate::run::stops("matmul", &[noise(&[3, 1, 2, 3], 4).into(), z.into()], &[]);
    assert!(message.contains("does not broadcast"), "{message}");
}

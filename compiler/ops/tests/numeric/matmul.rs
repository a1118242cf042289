//! Matmul and einsum.

use crate::{
    run::{Arg, run_static, run_symbolic, run1},
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

/// The sum over all labels of the products of elements, in the order of the operands.
fn einsum_by_definition(subscripts: &str, operands: &[&hammock_ir::Tensor]) -> (Vec<i64>, Vec<f64>) {
    let (terms, output) = subscripts.split_once("->").unwrap();
    let mut sizes = std::collections::BTreeMap::new();
    for (term, operand) in terms.split(',').zip(operands) {
        for (label, size) in term.chars().zip(operand.shape()) {
            let extent = sizes.entry(label).or_insert(1usize);
            *extent = (*extent).max(*size as usize);
        }
    }
    let labels: Vec<char> = sizes.keys().copied().collect();
    let shape: Vec<usize> = output.chars().map(|label| sizes[&label]).collect();
    let mut sums = vec![0.0; shape.iter().product()];
    for point in indices(&labels.iter().map(|label| sizes[label] as i64).collect::<Vec<_>>()) {
        let index = |label: char| point[labels.iter().position(|l| *l == label).unwrap()];
        let element = |(term, operand): (&str, &&hammock_ir::Tensor)| {
            let at = term.chars().zip(operand.shape()).map(|(label, size)| if *size == 1 { 0 } else { index(label) });
            view(operand).at(&at.collect::<Vec<_>>())
        };
        let product: f64 = terms.split(',').zip(operands).map(element).product();
        let to = output.chars().zip(&shape).fold(0, |to, (label, size)| to * size + index(label));
        sums[to] += product;
    }
    (shape.iter().map(|size| *size as i64).collect(), sums)
}

#[test]
fn einsum_contracts_many_operands_in_pairs() {
    let cases: [(&str, &[&[i64]]); 11] = [
        ("ab,bc,cd->ad", &[&[2, 5], &[5, 6], &[6, 3]]),
        ("ab,bc,cd,de->ea", &[&[4, 2], &[2, 6], &[6, 3], &[3, 5]]),
        ("bi,bj,ijk->bk", &[&[3, 4], &[3, 2], &[4, 2, 5]]),
        ("bn,anm,bm->ba", &[&[3, 4], &[2, 4, 5], &[3, 5]]),
        ("iij,jkk,k->ik", &[&[3, 3, 4], &[4, 2, 2], &[2]]),
        ("ab,cd,de->ae", &[&[2, 3], &[4, 5], &[5, 2]]),
        ("ab,cb,a->a", &[&[2, 3], &[1, 3], &[2]]),
        ("ab,bc,cd->ad", &[&[2, 1], &[4, 3], &[3, 2]]),
        ("ab,,bc->ca", &[&[2, 3], &[], &[3, 4]]),
        ("ab,bc,ca->", &[&[2, 3], &[3, 4], &[4, 2]]),
        ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", &[&[2i64, 2] as &[i64]; 9]),
    ];
    for (subscripts, shapes) in cases {
        let operands: Vec<_> = shapes.iter().enumerate().map(|(seed, shape)| noise(shape, seed as u64)).collect();
        let operands: Vec<&hammock_ir::Tensor> = operands.iter().collect();
        let (shape, sums) = einsum_by_definition(subscripts, &operands);
        // Orders of contractions depend on known sizes, so results with symbolic ones may differ in the last bits.
        for run in [run_static, run_symbolic] {
            let list = operands.iter().map(|operand| (*operand).into()).collect();
            let result = run("einsum", &[Arg::List(list)], &[("subscripts", subscripts.into())]);
            assert_close(&result[0], &shape, 1e-5, |i| {
                sums[i.iter().zip(&shape).fold(0, |at, (i, size)| at * *size as usize + i)]
            });
        }
    }
}

#[test]
fn einsum_sums_axes_of_one_operand_first() {
    let (x, y) = (noise(&[4, 3], 1), noise(&[5, 3], 2));
    let (shape, sums) = einsum_by_definition("ij,kj->i", &[&x, &y]);
    assert_close(&einsum("ij,kj->i", &[&x, &y]), &shape, 1e-5, |i| sums[i[0]]);
    let (shape, sums) = einsum_by_definition("ij,kl->k", &[&x, &y]);
    assert_close(&einsum("ij,kl->k", &[&x, &y]), &shape, 1e-5, |i| sums[i[0]]);
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

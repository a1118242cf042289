use super::*;
use hammock_ir::DType;

fn axes(kinds: &str, sizes: &[i64]) -> Vec<Axis> {
    let axis = |(at, (kind, size)): (usize, (char, &i64))| Axis {
        var: Var::int64(format!("v{at}")),
        extent: PrimExpr::int64(*size),
        reduce: kind == 'R',
    };
    kinds.chars().zip(sizes).enumerate().map(axis).collect()
}

fn buffer(sizes: &[i64]) -> Buffer {
    Buffer::new("b", sizes.iter().map(|size| PrimExpr::int64(*size)).collect(), DType::FLOAT32)
}

/// A stage whose store and loads have these buffers and axes for indices.
fn nest(axes: Vec<Axis>, store: (&Buffer, &[usize]), loads: &[(&Buffer, &[usize])]) -> StageAccesses<Buffer> {
    let at = |dims: &[usize]| dims.iter().map(|n| axes[*n].var.expr()).collect::<Vec<_>>();
    let loads = loads.iter().map(|(buffer, dims)| PrimExpr::load(buffer, at(dims)));
    let value = loads.reduce(|a, b| a + b).expect("it loads something");
    let indices = at(store.1);
    StageAccesses::of(&Stage::new("stage", axes, store.0.clone(), indices, value)).expect("it has no side effects")
}

fn found(nests: &[&StageAccesses<Buffer>]) -> Vec<Vec<usize>> {
    shared_axes(nests).into_iter().map(|axis| axis.axes).collect()
}

#[test]
fn a_maximum_and_what_is_left_of_it_share_rows() {
    let [x, max, out] = [&[4, 6][..], &[4], &[4, 6]].map(buffer);
    let first = nest(axes("SR", &[4, 6]), (&max, &[0]), &[(&max, &[0]), (&x, &[0, 1])]);
    let second = nest(axes("SS", &[4, 6]), (&out, &[0, 1]), &[(&x, &[0, 1]), (&max, &[0])]);
    assert_eq!(found(&[&first, &second]), [[0, 0]]);
}

#[test]
fn axes_are_followed_through_other_orders() {
    let [x, turned, out] = [&[4, 6, 5][..], &[6, 4, 5], &[4, 6]].map(buffer);
    let first = nest(axes("SSS", &[4, 6, 5]), (&turned, &[1, 0, 2]), &[(&x, &[0, 1, 2])]);
    let second = nest(axes("SSR", &[4, 6, 5]), (&out, &[0, 1]), &[(&turned, &[1, 0, 2])]);
    assert_eq!(found(&[&first, &second]), [[0, 0], [1, 1]]);
}

#[test]
fn what_needs_other_rows_shares_none() {
    let [x, mid, out] = [&[4, 4][..], &[4, 4], &[4, 4]].map(buffer);
    let first = nest(axes("SS", &[4, 4]), (&mid, &[0, 1]), &[(&x, &[0, 1])]);
    let across = nest(axes("SS", &[4, 4]), (&out, &[0, 1]), &[(&mid, &[1, 0]), (&mid, &[0, 1])]);
    assert!(found(&[&first, &across]).is_empty(), "one load is transposed");
    let sum = nest(axes("SSR", &[4, 4, 4]), (&out, &[0, 1]), &[(&mid, &[2, 1])]);
    assert_eq!(found(&[&first, &sum]), [[1, 1]], "sums go over all rows, but one column");
}

#[test]
fn an_axis_over_a_part_of_a_buffer_is_not_shared() {
    let [x, mid, out] = [&[4, 6][..], &[4, 6], &[3, 6]].map(buffer);
    let first = nest(axes("SS", &[4, 6]), (&mid, &[0, 1]), &[(&x, &[0, 1])]);
    let second = nest(axes("SS", &[3, 6]), (&out, &[0, 1]), &[(&mid, &[0, 1])]);
    assert_eq!(found(&[&first, &second]), [[1, 1]]);
}

#[test]
fn stages_that_store_to_one_buffer_or_share_nothing_have_no_rows() {
    let [x, mid, out] = [&[4][..], &[4], &[4]].map(buffer);
    let first = nest(axes("S", &[4]), (&mid, &[0]), &[(&x, &[0])]);
    let second = nest(axes("S", &[4]), (&out, &[0]), &[(&x, &[0])]);
    assert!(found(&[&first, &second]).is_empty());
    assert!(found(&[&first, &first]).is_empty());
}

#[test]
fn axes_of_one_value_are_no_axes() {
    let (x, out) = (buffer(&[4, 6]), buffer(&[1, 4, 6]));
    let axes = axes("SSS", &[1, 4, 6]);
    let [b, i, j] = [0, 1, 2].map(|n| axes[n].var.expr());
    let flat = (b * PrimExpr::int64(24) + i * PrimExpr::int64(6) + &j).floordiv(PrimExpr::int64(6));
    let store: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    let stage = Stage::new("stage", axes, out, store, PrimExpr::load(&x, vec![flat, j]));
    let nest = StageAccesses::of(&stage).expect("it has no side effects");
    assert_eq!(nest.loads[0].dims, [Some(1), Some(2)]);
    assert_eq!(nest.contiguous(), Some(2));
}

#[test]
fn the_columns_of_a_matmul_are_its_lanes_in_any_layout() {
    let [x, w, v, out, sums] = [&[4, 5][..], &[6, 5], &[5], &[4, 6], &[4]].map(buffer);
    let product = nest(axes("SSR", &[4, 6, 5]), (&out, &[0, 1]), &[(&out, &[0, 1]), (&x, &[0, 2]), (&w, &[1, 2])]);
    assert_eq!(product.contiguous(), Some(1));
    let by_vector = nest(axes("SR", &[4, 5]), (&sums, &[0]), &[(&sums, &[0]), (&x, &[0, 1]), (&v, &[1])]);
    assert_eq!(by_vector.contiguous(), None, "its rows are strided, and it has no other axes");
}

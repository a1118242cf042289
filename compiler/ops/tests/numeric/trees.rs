//! Ensembles of decision trees against a walk of each tree, and probabilities of classes.

use crate::{
    run::{Arg, Attrs, run, run1},
    values::*,
};
use hammock_ir::{AttrValue, Tensor};

/// Trees with random features, thresholds and depths.
struct Forest {
    /// Feature, threshold, children; a leaf is its own child and has a row of weights.
    nodes: Vec<(i64, f32, [usize; 2])>,
    roots: Vec<i64>,
    leaves: usize,
}

const FEATURES: i64 = 5;

impl Forest {
    fn new(trees: usize, depth: usize, missing: bool, seed: u64) -> Forest {
        let mut random = elements(&noise(&[4096], seed)).into_iter().cycle();
        let mut below = move |n: usize| ((random.next().unwrap().abs() * 1e6) as usize) % n;
        let mut forest = Forest { nodes: Vec::new(), roots: Vec::new(), leaves: 0 };
        for _ in 0..trees {
            forest.roots.push(forest.nodes.len() as i64);
            forest.grow(depth, missing, &mut below);
        }
        forest
    }

    fn grow(&mut self, depth: usize, missing: bool, below: &mut impl FnMut(usize) -> usize) -> usize {
        let at = self.nodes.len();
        self.nodes.push((0, 0.0, [at, at]));
        if depth == 0 || below(5) == 0 {
            self.nodes[at].1 = f32::from_bits(self.leaves as u32);
            self.leaves += 1;
            return at;
        }
        let feature = below(FEATURES as usize) as i64;
        let threshold = below(9) as f32 / 4.0 - 1.0;
        let children = [0; 2].map(|_| self.grow(depth - 1, missing, below));
        let encoded = if missing && below(2) == 0 { -1 - feature } else { feature };
        self.nodes[at] = (encoded, threshold, children);
        at
    }

    fn nodes(&self) -> Tensor {
        let row = |(feature, threshold, [yes, no]): &(i64, f32, [usize; 2])| {
            [*feature as i32, threshold.to_bits() as i32, *yes as i32, *no as i32]
        };
        let rows: Vec<i32> = self.nodes.iter().flat_map(row).collect();
        tensor(&[self.nodes.len() as i64, 4], &rows)
    }

    /// Returns the leaf that a row reaches from a root.
    fn leaf(&self, root: i64, row: impl Fn(usize) -> f64) -> usize {
        let mut at = root as usize;
        loop {
            let (feature, threshold, [yes, no]) = self.nodes[at];
            if yes == at {
                return threshold.to_bits() as usize;
            }
            let x = row(if feature < 0 { -1 - feature } else { feature } as usize);
            at = if x <= f64::from(threshold) || x.is_nan() && feature < 0 { yes } else { no };
        }
    }
}

/// Rows on and around the thresholds, with NaN.
fn rows(count: i64) -> Tensor {
    let element = |(i, v): (usize, f64)| match i % 11 {
        7 => f32::NAN,
        _ => ((v * 16.0).floor() / 4.0) as f32,
    };
    let values: Vec<f32> = elements(&noise(&[count * FEATURES], 3)).into_iter().enumerate().map(element).collect();
    tensor(&[count, FEATURES], &values)
}

#[test]
fn trees_are_descended() {
    for (trees, depth, missing, aggregate) in
        [(1, 0, false, "sum"), (3, 4, false, "sum"), (8, 3, true, "sum"), (21, 5, true, "min"), (16, 5, false, "max")]
    {
        let forest = Forest::new(trees, depth, missing, 7 + trees as u64);
        let (x, weights) = (rows(6), noise(&[forest.leaves as i64, 2], 5));
        let roots = tensor(&[trees as i64], &forest.roots.iter().map(|r| *r as i32).collect::<Vec<_>>());
        let attrs: Attrs =
            &[("depth", (depth as i64).into()), ("missing", missing.into()), ("aggregate", aggregate.into())];
        let args = [(&x).into(), forest.nodes().into(), roots.into(), (&weights).into()];
        let result = run1("ml.tree_ensemble", &args, attrs);
        assert_close(&result, &[6, 2], 1e-5, |i| {
            let leaf = |root: &i64| forest.leaf(*root, |feature| view(&x).at(&[i[0], feature]));
            let weights = forest.roots.iter().map(|root| view(&weights).at(&[leaf(root), i[1]]));
            match aggregate {
                "sum" => weights.sum(),
                "min" => weights.fold(f64::INFINITY, f64::min),
                _ => weights.fold(f64::NEG_INFINITY, f64::max),
            }
        });
    }
}

#[test]
fn weights_belong_to_targets() {
    let forest = Forest::new(11, 3, false, 2);
    let (x, weights) = (rows(5), noise(&[forest.leaves as i64, 2], 6));
    let targets: Vec<i64> = (0..2 * forest.leaves as i64).map(|k| k * k % 7).collect();
    let roots = ints(&forest.roots);
    let args = [
        (&x).into(),
        forest.nodes().into(),
        roots.into(),
        (&weights).into(),
        tensor(&[forest.leaves as i64, 2], &targets).into(),
    ];
    let attrs: Attrs = &[("depth", 3i64.into()), ("num_targets", AttrValue::Int(7))];
    let result = run1("ml.tree_ensemble", &args, attrs);
    assert_close(&result, &[5, 7], 1e-5, |i| {
        let mut sum = 0.0;
        for root in &forest.roots {
            let leaf = forest.leaf(*root, |feature| view(&x).at(&[i[0], feature]));
            let own = (0..2).filter(|k| targets[2 * leaf + k] == i[1] as i64);
            sum += own.map(|k| view(&weights).at(&[leaf, k])).sum::<f64>();
        }
        sum
    });
}

/// A cycle ends after `depth` nodes, so nodes from a file cannot make a kernel loop forever.
#[test]
fn descents_are_bounded() {
    let nodes = tensor(&[2, 4], &[0i32, 0, 1, 1, 0, 1, 0, 0]);
    let args: [Arg; 4] = [rows(1).into(), nodes.into(), ints(&[0]).into(), tensor(&[2, 1], &[10f32, 20.0]).into()];
    for (depth, expected) in [(0i64, 10.0f64), (1, 20.0), (4, 10.0), (7, 20.0)] {
        let result = run("ml.tree_ensemble", &args, &[("depth", depth.into())]);
        assert_eq!(elements(&result[0]), [expected]);
    }
}

/// Pairs that follow from probabilities lead back to them.
#[test]
fn pairs_are_coupled() {
    for p in [vec![0.3f64, 0.7], vec![0.1, 0.2, 0.7], vec![0.4, 0.05, 0.25, 0.2, 0.1]] {
        let classes = p.len();
        let pairs: Vec<(usize, usize)> = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
        let row: Vec<f32> = pairs.iter().map(|(i, j)| (p[*i] / (p[*i] + p[*j])) as f32).collect();
        let equal = vec![0.5; row.len()];
        let x = tensor(&[2, row.len() as i64], &[row, equal].concat());
        let result = run1("ml.pairwise_coupling", &[(&x).into()], &[("classes", (classes as i64).into())]);
        assert_close(&result, &[2, classes as i64], 2e-3, |i| match i[0] {
            0 => p[i[1]],
            _ => 1.0 / classes as f64,
        });
    }
}

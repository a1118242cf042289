//! Trees of version 5: lists of branches and of leaves, whose children and roots are positions in them.

use super::forest::{Branch, Forest, Test, TreeNode};
use crate::node::{self, Node};
use hammock_ir::relax::InferError;

/// Reads the trees of version 5. Branches come first in the nodes, then leaves.
pub fn forest(n: &mut Node, targets: usize) -> node::Result<Forest> {
    let (features, splits, modes) =
        (n.attrs.ints_or_empty("nodes_featureids")?, numbers(n, "nodes_splits")?, numbers(n, "nodes_modes")?);
    let branches = features.len();
    let (leaf_targets, leaf_weights) = (n.attrs.ints_or_empty("leaf_targetids")?, numbers(n, "leaf_weights")?);
    let leaves = leaf_targets.len();
    let names = ["nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"];
    let mut lists = Vec::new();
    for name in names {
        lists.push(n.attrs.ints_or_empty(name)?);
    }
    let missing = Some(n.attrs.ints_or_empty("nodes_missing_value_tracks_true")?).filter(|list| !list.is_empty());
    let lengths = names.iter().zip(&lists).map(|(name, list)| (*name, list.len()));
    let lengths = lengths.chain([("nodes_splits", splits.len()), ("nodes_modes", modes.len())]);
    let lengths = lengths.chain(missing.iter().map(|list| ("nodes_missing_value_tracks_true", list.len())));
    for (name, len) in lengths {
        if len != branches {
            return n.error(format!("its `nodes_featureids` are {branches}, but its `{name}` are {len}"));
        }
    }
    if leaf_weights.len() != leaves {
        let weights = leaf_weights.len();
        return n.error(format!("its `leaf_targetids` are {leaves}, but its `leaf_weights` are {weights}"));
    }
    let mut sets = member_sets(&numbers(n, "membership_values")?).into_iter();
    let mut nodes = Vec::with_capacity(branches + leaves);
    for at in 0..branches {
        let t = splits[at];
        let test = match modes[at] {
            0.0 => Test::AtMost(t),
            1.0 => Test::Less(t),
            2.0 => Test::AtLeast(t),
            3.0 => Test::Greater(t),
            4.0 => Test::Equal(t),
            5.0 => Test::NotEqual(t),
            6.0 => match sets.next() {
                Some(set) => Test::Member(set),
                None => return n.error("its `membership_values` have fewer sets than it has nodes that use one"),
            },
            other => return n.error(format!("a mode in `nodes_modes` is {other}")),
        };
        let child = |node: usize, leaf: usize| {
            let (id, is_leaf) = (lists[node][at], lists[leaf][at] != 0);
            let (offset, count, what) = if is_leaf { (branches, leaves, "leaf") } else { (0, branches, "node") };
            match usize::try_from(id).ok().filter(|id| *id < count) {
                Some(id) => Ok(offset + id),
                None => Err(InferError::new(format!("a child is {what} {id}, but there are {count}"))),
            }
        };
        let missing_passes = missing.as_ref().is_some_and(|missing| missing[at] != 0);
        let children = [child(0, 2)?, child(1, 3)?];
        nodes.push(TreeNode::Branch(Branch { feature: features[at], test, missing_passes, children }));
    }
    for (target, weight) in leaf_targets.into_iter().zip(leaf_weights) {
        let Some(target) = usize::try_from(target).ok().filter(|target| *target < targets) else {
            return n.error(format!("a leaf is for target {target}, but there are {targets}"));
        };
        nodes.push(TreeNode::Leaf(vec![(target, weight)]));
    }
    let mut roots = Vec::new();
    for root in n.attrs.ints_or_empty("tree_roots")? {
        match usize::try_from(root).ok().filter(|root| *root < branches) {
            Some(root) => roots.push(root),
            None => return n.error(format!("a tree begins at node {root}, but there are {branches}")),
        }
    }
    if roots.is_empty() {
        return n.error("it has no trees");
    }
    Ok(Forest { nodes, roots, targets })
}

/// Splits sets of members, each of which ends with NaN.
fn member_sets(values: &[f64]) -> Vec<Vec<f64>> {
    let mut sets: Vec<Vec<f64>> = values.split(|value| value.is_nan()).map(<[f64]>::to_vec).collect();
    if sets.last().is_some_and(Vec::is_empty) {
        sets.pop();
    }
    sets
}

/// Reads a tensor attribute as numbers; empty if it is missing.
fn numbers(n: &mut Node, name: &str) -> node::Result<Vec<f64>> {
    match n.attrs.tensor(name) {
        Some(proto) => n.tensor_numbers(proto),
        None => Ok(Vec::new()),
    }
}

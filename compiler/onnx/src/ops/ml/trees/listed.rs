//! Trees of versions 1 and 3: parallel lists of nodes, and of the weights of leaves, which name nodes by ids.

use super::{
    super::reals,
    forest::{Branch, Forest, Test, TreeNode},
};
use crate::node::{self, Node};
use hammock_ir::relax::InferError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Reads the trees; `weights` is the prefix of the attributes for weights.
pub fn forest(n: &mut Node, weights: &str, targets: usize) -> node::Result<Forest> {
    let trees = n.attrs.ints_or_empty("nodes_treeids")?;
    let count = trees.len();
    let same_length = |name: &str, len: usize| match len == count {
        true => Ok(()),
        false => Err(InferError::new(format!("its `nodes_treeids` are {count}, but its `{name}` are {len}"))),
    };
    let mut lists = Vec::new();
    for name in ["nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"] {
        let list = n.attrs.ints_or_empty(name)?;
        same_length(name, list.len())?;
        lists.push(list);
    }
    let (modes, values) = (n.attrs.strings("nodes_modes")?.unwrap_or_default(), reals(n, "nodes_values")?);
    let values = values.unwrap_or_default();
    same_length("nodes_modes", modes.len())?;
    same_length("nodes_values", values.len())?;
    let missing = n.attrs.ints("nodes_missing_value_tracks_true")?.filter(|list| !list.is_empty());
    if let Some(missing) = &missing {
        same_length("nodes_missing_value_tracks_true", missing.len())?;
    }
    let index = node_index(&trees, &lists[0])?;
    let find = |tree: i64, node: i64, what: &str| {
        let found = index.get(&(tree, node)).copied();
        found.ok_or_else(|| InferError::new(format!("{what} node {node} of tree {tree}, which does not exist")))
    };
    let mut nodes = Vec::with_capacity(count);
    for at in 0..count {
        let (tree, t) = (trees[at], values[at]);
        let test = match modes[at].as_str() {
            "LEAF" => {
                nodes.push(TreeNode::Leaf(Vec::new()));
                continue;
            }
            "BRANCH_LEQ" => Test::AtMost(t),
            "BRANCH_LT" => Test::Less(t),
            "BRANCH_GTE" => Test::AtLeast(t),
            "BRANCH_GT" => Test::Greater(t),
            "BRANCH_EQ" => Test::Equal(t),
            "BRANCH_NEQ" => Test::NotEqual(t),
            other => return n.error(format!("a mode in `nodes_modes` is `{other}`")),
        };
        let child = |list: usize| find(tree, lists[list][at], "a child is");
        let missing_passes = missing.as_ref().is_some_and(|missing| missing[at] != 0);
        nodes.push(TreeNode::Branch(Branch {
            feature: lists[1][at],
            test,
            missing_passes,
            children: [child(2)?, child(3)?],
        }));
    }
    add_weights(n, weights, &mut nodes, targets, find)?;
    // The first node of each tree is its root.
    let mut seen = FxHashSet::default();
    let roots: Vec<usize> = (0..count).filter(|at| seen.insert(trees[*at])).collect();
    if roots.is_empty() {
        return n.error("it has no trees");
    }
    Ok(Forest { nodes, roots, targets })
}

/// Maps the ids of trees and nodes to positions in the lists.
fn node_index(trees: &[i64], nodes: &[i64]) -> node::Result<FxHashMap<(i64, i64), usize>> {
    let mut index = FxHashMap::default();
    for (at, key) in trees.iter().copied().zip(nodes.iter().copied()).enumerate() {
        if index.insert(key, at).is_some() {
            return Err(InferError::new(format!("it has node {} of tree {} twice", key.1, key.0)));
        }
    }
    Ok(index)
}

/// Adds the weights to the leaves; weights of branches have no effect.
fn add_weights(
    n: &mut Node,
    prefix: &str,
    nodes: &mut [TreeNode],
    targets: usize,
    find: impl Fn(i64, i64, &str) -> node::Result<usize>,
) -> node::Result<()> {
    let ids = n.attrs.ints_or_empty(&format!("{prefix}_ids"))?;
    let (trees, leaves) =
        (n.attrs.ints_or_empty(&format!("{prefix}_treeids"))?, n.attrs.ints_or_empty(&format!("{prefix}_nodeids"))?);
    let weights = reals(n, &format!("{prefix}_weights"))?.unwrap_or_default();
    for (name, len) in [("treeids", trees.len()), ("nodeids", leaves.len()), ("weights", weights.len())] {
        if len != ids.len() {
            return n.error(format!("its `{prefix}_ids` are {}, but its `{prefix}_{name}` are {len}", ids.len()));
        }
    }
    for (((id, tree), leaf), weight) in ids.into_iter().zip(trees).zip(leaves).zip(weights) {
        let Some(target) = usize::try_from(id).ok().filter(|id| *id < targets) else {
            return n.error(format!("a weight is for {prefix} {id}, but there are {targets}"));
        };
        if let TreeNode::Leaf(own) = &mut nodes[find(tree, leaf, "a weight is of")?] {
            own.push((target, weight));
        }
    }
    Ok(())
}

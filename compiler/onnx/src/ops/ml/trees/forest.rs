//! Decision trees in the form of `R.ml.tree_ensemble`: every node compares with `<=`.
//!
//! Other comparisons become `<=` with exchanged children, or with the next smaller float as threshold. Equality becomes
//! two nodes, membership in a set a binary search. Where NaN goes is part of a node, so it is exact for all of them.

use super::super::{constant, constant_floats};
use crate::node::{self, Node};
use hammock_ir::{
    DType,
    relax::{InferError, Operand},
};

/// Node of a tree.
pub enum TreeNode {
    /// Leaf, with pairs of a target and its weight.
    Leaf(Vec<(usize, f64)>),
    /// Branch.
    Branch(Branch),
}

/// Branch: compares a feature.
pub struct Branch {
    /// Index of the feature.
    pub feature: i64,
    /// The comparison.
    pub test: Test,
    /// True if NaN passes the test.
    pub missing_passes: bool,
    /// Indices of the child for values that pass the test, and of the other one.
    pub children: [usize; 2],
}

/// Comparison of a feature `x`.
#[derive(Clone)]
pub enum Test {
    /// `x <= t`
    AtMost(f64),
    /// `x < t`
    Less(f64),
    /// `x >= t`
    AtLeast(f64),
    /// `x > t`
    Greater(f64),
    /// `x == t`
    Equal(f64),
    /// `x != t`
    NotEqual(f64),
    /// `x` is one of these.
    Member(Vec<f64>),
}

/// Trees, as the model has them.
pub struct Forest {
    /// Nodes of all trees.
    pub nodes: Vec<TreeNode>,
    /// Indices of the roots.
    pub roots: Vec<usize>,
    /// Number of targets.
    pub targets: usize,
}

/// Combination of the leaves' weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

/// Child of a node in the operator's form.
#[derive(Clone, Copy)]
enum Child {
    /// Node of the forest, by its index.
    Tree(usize),
    /// Row that exists already.
    Row(usize),
}

/// Row of the operator's nodes.
struct Row {
    feature: i64,
    /// Bits of the threshold, or the index of a leaf's weights.
    value: i64,
    children: [Child; 2],
}

/// Rows under construction.
struct Rows<'f> {
    forest: &'f Forest,
    /// Dtype of the data.
    dtype: DType,
    rows: Vec<Row>,
    /// First row of each node that was reached.
    entry: Vec<Option<usize>>,
    /// Maximum number of rows of a branch on a path.
    rows_per_branch: usize,
    /// Reached leaves.
    leaves: Vec<usize>,
    missing: bool,
}

impl Forest {
    /// Appends the descent of all trees: aggregated weights of `data`, which holds float32 or float64, in its dtype.
    pub fn descend(&self, n: &mut Node, data: Operand, aggregate: Aggregate) -> node::Result<Operand> {
        let dtype = n.dtype(&data)?;
        let depth = self.depth()?;
        self.expect_features(n, &data)?;
        let mut rows = Rows {
            forest: self,
            dtype,
            rows: Vec::new(),
            entry: vec![None; self.nodes.len()],
            rows_per_branch: 1,
            leaves: Vec::new(),
            missing: false,
        };
        rows.add_trees();
        let int = if dtype == DType::FLOAT64 { DType::INT64 } else { DType::INT32 };
        let roots: Vec<i64> = self.roots.iter().map(|root| rows.index(Child::Tree(*root)) as i64).collect();
        let identity = match aggregate {
            Aggregate::Average | Aggregate::Sum => 0.0,
            Aggregate::Min => f64::INFINITY,
            Aggregate::Max => f64::NEG_INFINITY,
        };
        let weights = LeafWeights::new(self, &rows.leaves, aggregate, identity);
        let mut args = vec![
            data,
            integers(int, &[rows.rows.len(), 4], &rows.numbers())?,
            integers(int, &[roots.len()], &roots)?,
            constant_floats(dtype, &[rows.leaves.len(), weights.width], &weights.values)?,
        ];
        if let Some(targets) = &weights.targets {
            args.push(integers(DType::INT64, &[rows.leaves.len(), weights.width], targets)?);
        }
        let name = match aggregate {
            Aggregate::Average | Aggregate::Sum => "sum",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
        };
        let attrs = [
            ("depth", ((depth * rows.rows_per_branch) as i64).into()),
            ("num_targets", (self.targets as i64).into()),
            ("aggregate", name.into()),
            ("missing", rows.missing.into()),
        ];
        let y = n.call_with("ml.tree_ensemble", args, &attrs)?;
        match aggregate {
            Aggregate::Sum => Ok(y),
            Aggregate::Average => n.with_scalar("divide", &y, self.roots.len() as f64),
            // No leaf of the row has a weight of the target.
            Aggregate::Min | Aggregate::Max => {
                let none = n.with_scalar("equal", &y, identity)?;
                let zero = n.scalar_like(0.0, &y)?;
                n.call("where", [none, zero, y])
            }
        }
    }

    /// Returns the targets and weights of all leaves.
    pub fn weights(&self) -> impl Iterator<Item = (usize, f64)> {
        self.nodes
            .iter()
            .flat_map(|node| match node {
                TreeNode::Leaf(weights) => weights.as_slice(),
                TreeNode::Branch(_) => &[],
            })
            .copied()
    }

    /// Returns true if a leaf has a weight of a target.
    pub fn has_weights(&self, target: usize) -> bool {
        self.weights().any(|(own, _)| own == target)
    }

    /// Returns the maximum number of branches on a path. Nodes may be shared, but must not form cycles.
    fn depth(&self) -> node::Result<usize> {
        #[derive(Clone, Copy)]
        enum State {
            New,
            Open,
            Done(usize),
        }
        let mut states = vec![State::New; self.nodes.len()];
        let mut stack: Vec<usize> = self.roots.clone();
        let depth = |states: &[State], node: usize| match states[node] {
            State::Done(depth) => depth,
            _ => 0,
        };
        while let Some(node) = stack.last().copied() {
            let children: &[usize] = match &self.nodes[node] {
                TreeNode::Branch(branch) => &branch.children,
                TreeNode::Leaf(_) => &[],
            };
            match states[node] {
                State::New => {
                    states[node] = State::Open;
                    if children.iter().any(|child| matches!(states[*child], State::Open)) {
                        return Err(InferError::new("nodes of a tree form a cycle"));
                    }
                    stack.extend(children.iter().filter(|child| matches!(states[**child], State::New)));
                }
                State::Open => {
                    let below = children.iter().map(|child| depth(&states, *child)).max();
                    states[node] = State::Done(below.map_or(0, |below| below + 1));
                    stack.pop();
                }
                State::Done(_) => drop(stack.pop()),
            }
        }
        Ok(self.roots.iter().map(|root| depth(&states, *root)).max().unwrap_or(0))
    }

    /// Checks that the data have all features.
    fn expect_features(&self, n: &Node, data: &Operand) -> node::Result<()> {
        let count = n.dims(data)?.get(1).and_then(hammock_ir::PrimExpr::as_int).unwrap_or(i64::from(i32::MAX));
        let features = self.nodes.iter().filter_map(|node| match node {
            TreeNode::Branch(branch) => Some(branch.feature),
            TreeNode::Leaf(_) => None,
        });
        match features.into_iter().find(|feature| !(0..count).contains(feature)) {
            Some(feature) => n.error(format!("a node compares feature {feature}, but its input has {count} features")),
            None => Ok(()),
        }
    }
}

impl Rows<'_> {
    /// Adds the reached nodes of all trees, breadth first.
    fn add_trees(&mut self) {
        for root in &self.forest.roots {
            let mut level = vec![*root];
            while !level.is_empty() {
                level = level.into_iter().flat_map(|node| self.add(node)).collect();
            }
        }
    }

    /// Adds a node, unless it was reached before, and returns its children.
    fn add(&mut self, node: usize) -> Vec<usize> {
        if self.entry[node].is_some() {
            return Vec::new();
        }
        match &self.forest.nodes[node] {
            TreeNode::Leaf(_) => {
                let (own, leaf) = (Child::Row(self.rows.len()), self.leaves.len() as i64);
                self.leaves.push(node);
                self.entry[node] = Some(self.row(Row { feature: 0, value: leaf, children: [own, own] }));
                Vec::new()
            }
            TreeNode::Branch(branch) => {
                let before = self.rows.len();
                let entry = self.branch(branch);
                self.entry[node] = Some(entry);
                self.rows_per_branch = self.rows_per_branch.max(self.rows.len() - before);
                branch.children.to_vec()
            }
        }
    }

    fn row(&mut self, row: Row) -> usize {
        self.rows.push(row);
        self.rows.len() - 1
    }

    /// Adds a row that compares a feature by `<=`; NaN goes to the first child if `missing` is true.
    fn at_most(&mut self, feature: i64, threshold: f64, missing: bool, children: [Child; 2]) -> usize {
        self.missing |= missing;
        let feature = if missing { -1 - feature } else { feature };
        let value = match self.dtype {
            DType::FLOAT64 => threshold.to_bits() as i64,
            _ => i64::from((threshold as f32).to_bits() as i32),
        };
        self.row(Row { feature, value, children })
    }

    /// Adds the rows of a branch, and returns its first one.
    fn branch(&mut self, branch: &Branch) -> usize {
        let Branch { feature, missing_passes: missing, .. } = *branch;
        let [yes, no] = branch.children.map(Child::Tree);
        // Thresholds are rounded to the data's dtype so that comparisons of its values stay exact.
        let (at_most, less) = (|t: f64| self.round_down(t), |t: f64| self.below(t));
        match &branch.test {
            Test::NotEqual(t) if t.is_nan() => self.at_most(feature, f64::NAN, false, [yes, yes]),
            Test::AtMost(t) | Test::Less(t) | Test::AtLeast(t) | Test::Greater(t) | Test::Equal(t) if t.is_nan() => {
                self.at_most(feature, f64::NAN, missing, [yes, no])
            }
            Test::AtMost(t) => self.at_most(feature, at_most(*t), missing, [yes, no]),
            Test::Less(t) => self.at_most(feature, less(*t), missing, [yes, no]),
            Test::AtLeast(t) => self.at_most(feature, less(*t), !missing, [no, yes]),
            Test::Greater(t) => self.at_most(feature, at_most(*t), !missing, [no, yes]),
            Test::Equal(t) => {
                let (low, high) = (less(*t), at_most(*t));
                let inner = self.at_most(feature, low, false, [no, yes]);
                self.at_most(feature, high, missing, [Child::Row(inner), no])
            }
            Test::NotEqual(t) => {
                let (low, high) = (less(*t), at_most(*t));
                let inner = self.at_most(feature, low, false, [yes, no]);
                self.at_most(feature, high, false, [Child::Row(inner), yes])
            }
            Test::Member(set) => {
                let search = self.member(feature, set, [yes, no]);
                match (missing, search) {
                    (true, search) => self.at_most(feature, f64::NAN, true, [yes, search]),
                    (false, Child::Row(search)) => search,
                    (false, search) => self.at_most(feature, f64::NAN, false, [no, search]),
                }
            }
        }
    }

    /// Adds a binary search in a set: values up to each of the ascending bounds, and above the last one, go alternately
    /// to `no` and `yes`.
    fn member(&mut self, feature: i64, set: &[f64], [yes, no]: [Child; 2]) -> Child {
        let mut members: Vec<f64> = set.iter().copied().filter(|member| !member.is_nan()).collect();
        members.sort_by(f64::total_cmp);
        members.dedup_by(|a, b| a == b);
        let mut bounds: Vec<(f64, Child)> = Vec::new();
        for member in members {
            bounds.push((self.below(member), no));
            bounds.push((self.round_down(member), yes));
        }
        // There is nothing below minus infinity.
        bounds.retain(|(bound, _)| !bound.is_nan());
        self.search(feature, &bounds, no)
    }

    fn search(&mut self, feature: i64, bounds: &[(f64, Child)], above: Child) -> Child {
        let middle = bounds.len() / 2;
        let Some((bound, child)) = bounds.get(middle) else { return above };
        let low = self.search(feature, &bounds[..middle], *child);
        let high = self.search(feature, &bounds[middle + 1..], above);
        Child::Row(self.at_most(feature, *bound, false, [low, high]))
    }

    /// Returns the maximum float of the data's dtype that is at most a number.
    fn round_down(&self, t: f64) -> f64 {
        if self.dtype == DType::FLOAT64 {
            return t;
        }
        let rounded = t as f32;
        f64::from(if f64::from(rounded) > t { rounded.next_down() } else { rounded })
    }

    /// Returns the maximum float of the data's dtype that is less than a number; NaN, at most which nothing is, if there
    /// is none.
    fn below(&self, t: f64) -> f64 {
        let rounded = self.round_down(t);
        match self.dtype {
            _ if t == f64::NEG_INFINITY => f64::NAN,
            _ if rounded < t => rounded,
            DType::FLOAT64 => t.next_down(),
            _ => f64::from((t as f32).next_down()),
        }
    }

    /// Returns the row of a child.
    fn index(&self, child: Child) -> usize {
        match child {
            Child::Row(row) => row,
            Child::Tree(node) => self.entry[node].unwrap_or(0),
        }
    }

    /// Returns the elements of all rows.
    fn numbers(&self) -> Vec<i64> {
        let row = |row: &Row| [row.feature, row.value].into_iter().chain(row.children.map(|c| self.index(c) as i64));
        self.rows.iter().flat_map(row).collect()
    }
}

/// Weights of the leaves, a row for each.
struct LeafWeights {
    width: usize,
    values: Vec<f64>,
    /// The targets of the weights, unless there is one weight for each target.
    targets: Option<Vec<i64>>,
}

impl LeafWeights {
    /// Collects the weights of leaves: for all targets, unless most have no weight.
    fn new(forest: &Forest, leaves: &[usize], aggregate: Aggregate, identity: f64) -> LeafWeights {
        let weights = |leaf: &usize| match &forest.nodes[*leaf] {
            TreeNode::Leaf(weights) => weights.as_slice(),
            TreeNode::Branch(_) => &[],
        };
        let width = leaves.iter().map(|leaf| weights(leaf).len()).max().unwrap_or(0).max(1);
        if forest.targets <= 2 * width {
            let width = forest.targets;
            let mut values = vec![identity; leaves.len() * width];
            for (leaf, row) in leaves.iter().zip(values.chunks_mut(width.max(1))) {
                for (target, weight) in weights(leaf) {
                    row[*target] = match aggregate {
                        Aggregate::Average | Aggregate::Sum => row[*target] + weight,
                        Aggregate::Min => row[*target].min(*weight),
                        Aggregate::Max => row[*target].max(*weight),
                    };
                }
            }
            return LeafWeights { width, values, targets: None };
        }
        let padded = leaves
            .iter()
            .flat_map(|leaf| weights(leaf).iter().copied().chain(std::iter::repeat((0, identity))).take(width));
        let (targets, values) = padded.map(|(target, weight)| (target as i64, weight)).unzip();
        LeafWeights { width, values, targets: Some(targets) }
    }
}

/// Returns a constant of integers.
fn integers(dtype: DType, shape: &[usize], values: &[i64]) -> node::Result<Operand> {
    match dtype {
        DType::INT64 => constant(shape, values),
        _ => {
            let narrow = |value: &i64| i32::try_from(*value).ok();
            let values: Option<Vec<i32>> = values.iter().map(narrow).collect();
            constant(shape, &values.ok_or_else(|| InferError::new("it has too many nodes"))?)
        }
    }
}

//! Ensembles of decision trees.

mod forest;
mod indexed;
mod listed;

use super::{
    super::{Op, Result},
    classes::Classes,
    constant_floats, float_rows,
    labels::Labels,
    op, reals,
    scores::PostTransform,
};
use crate::{
    node::{self, Node},
    value::{Outputs, Value},
};
use forest::{Aggregate, Forest};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("TreeEnsemble", tree_ensemble).attributes(
        "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs \
         nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes nodes_splits \
         nodes_trueleafs nodes_truenodeids post_transform tree_roots",
    ),
    op("TreeEnsembleClassifier", classifier).attributes(
        "base_values base_values_as_tensor@3 class_ids class_nodeids class_treeids class_weights \
         class_weights_as_tensor@3 classlabels_int64s classlabels_strings nodes_falsenodeids nodes_featureids \
         nodes_hitrates nodes_hitrates_as_tensor@3 nodes_missing_value_tracks_true nodes_modes nodes_nodeids \
         nodes_treeids nodes_truenodeids nodes_values nodes_values_as_tensor@3 post_transform",
    ),
    op("TreeEnsembleRegressor", regressor).attributes(
        "aggregate_function base_values base_values_as_tensor@3 n_targets nodes_falsenodeids nodes_featureids \
         nodes_hitrates nodes_hitrates_as_tensor@3 nodes_missing_value_tracks_true nodes_modes nodes_nodeids \
         nodes_treeids nodes_truenodeids nodes_values nodes_values_as_tensor@3 post_transform target_ids \
         target_nodeids target_treeids target_weights target_weights_as_tensor@3",
    ),
];

fn regressor(n: &mut Node) -> Result {
    let targets = n.attrs.int_or("n_targets", 1)?;
    let Some(count) = usize::try_from(targets).ok().filter(|count| *count > 0) else {
        return n.error(format!("its `n_targets` is {targets}"));
    };
    let aggregate = match n.attrs.str_or("aggregate_function", "SUM")? {
        "AVERAGE" => Aggregate::Average,
        "SUM" => Aggregate::Sum,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        other => return n.error(format!("its `aggregate_function` is `{other}`")),
    };
    let post_transform = PostTransform::of(n)?;
    let data = float_rows(n)?;
    let forest = listed::forest(n, "target", count)?;
    let y = forest.descend(n, data, aggregate)?;
    let y = with_base(n, y, count)?;
    let y = post_transform.apply(n, y)?;
    Ok(n.cast(y, DType::FLOAT32)?.into())
}

fn classifier(n: &mut Node) -> Result {
    let labels = Labels::of(n, "classlabels_int64s", "classlabels_strings")?;
    let data = float_rows(n)?;
    let forest = listed::forest(n, "class", labels.len())?;
    let classes = match (labels.len(), forest.has_weights(0), forest.has_weights(1)) {
        (2, false, _) | (2, _, false) => binary(n, forest, data)?,
        (count, ..) => {
            let scores = forest.descend(n, data, Aggregate::Sum)?;
            let scores = with_base(n, scores, count)?;
            let post_transform = PostTransform::of(n)?;
            Classes::of_maximum(n, scores, post_transform)?
        }
    };
    let scores = n.cast(classes.scores, DType::FLOAT32)?;
    let label = labels.select(n, classes.index)?;
    Ok(Outputs(vec![label, Value::Operand(scores)]))
}

/// Classifies into two classes by weights for one of them. Those of class 0 are scores of class 1.
fn binary(n: &mut Node, mut forest: Forest, data: Operand) -> node::Result<Classes> {
    let post_transform = PostTransform::of(n)?;
    let is_probability = forest.weights().all(|(_, weight)| weight >= 0.0);
    let threshold = if is_probability { 0.5 } else { 0.0 };
    let has_second = forest.has_weights(1);
    if !has_second {
        forest.targets = 1;
    }
    let scores = forest.descend(n, data, Aggregate::Sum)?;
    let scores = with_base(n, scores, forest.targets)?;
    if !has_second {
        let index = Classes::above(n, &scores, threshold)?;
        return Ok(Classes { index, scores: Classes::both_scores(n, scores, is_probability, post_transform)? });
    }
    let second = n.int64_vector([1])?;
    let second = n.call_with("take", [scores.clone(), second], &[("axis", 1i64.into())])?;
    let index = Classes::above(n, &second, threshold)?;
    Ok(Classes { index, scores: post_transform.apply(n, scores)? })
}

/// Adds the base values.
fn with_base(n: &mut Node, scores: Operand, count: usize) -> node::Result<Operand> {
    let base = reals(n, "base_values")?.unwrap_or_default();
    if base.is_empty() {
        return Ok(scores);
    }
    if base.len() != count {
        let have = base.len();
        return n.error(format!("its `base_values` are {have}, but it has {count} targets or classes with weights"));
    }
    let base = constant_floats(n.dtype(&scores)?, &[1, count], &base)?;
    n.call("add", [scores, base])
}

/// Version 5: lists of branches and of leaves, whose children and roots are positions in them.
fn tree_ensemble(n: &mut Node) -> Result {
    let targets = n.attrs.int_or("n_targets", 1)?;
    let Some(count) = usize::try_from(targets).ok().filter(|count| *count > 0) else {
        return n.error(format!("its `n_targets` is {targets}"));
    };
    let aggregate = match n.attrs.int_or("aggregate_function", 1)? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return n.error(format!("its `aggregate_function` is {other}")),
    };
    let post_transform = match n.attrs.int_or("post_transform", 0)? {
        0 => PostTransform::None,
        1 => PostTransform::Softmax,
        2 => PostTransform::Logistic,
        3 => PostTransform::SoftmaxZero,
        4 => PostTransform::Probit,
        other => return n.error(format!("its `post_transform` is {other}")),
    };
    let own = n.input(0)?;
    let dtype = n.dtype(&own)?;
    let data = float_rows(n)?;
    let forest = indexed::forest(n, count)?;
    let y = forest.descend(n, data, aggregate)?;
    let y = post_transform.apply(n, y)?;
    Ok(n.cast(y, dtype)?.into())
}

//! Linear models.

use super::{
    super::{Op, Result},
    classes::Classes,
    constant_floats, float32_rows,
    labels::Labels,
    op,
    scores::PostTransform,
};
use crate::{
    node::{self, Node},
    value::{Outputs, Value},
};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("LinearClassifier", classifier)
        .attributes("classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform"),
    op("LinearRegressor", regressor).attributes("coefficients intercepts post_transform targets"),
];

fn regressor(n: &mut Node) -> Result {
    let targets = match n.attrs.int_or("targets", 1)? {
        targets @ 1.. => targets as usize,
        targets => return n.error(format!("its `targets` are {targets}")),
    };
    let post_transform = PostTransform::of(n)?;
    let scores = scores(n, targets)?;
    Ok(post_transform.apply(n, scores)?.into())
}

/// With a row of coefficients for two classes, its score is that of the second one.
fn classifier(n: &mut Node) -> Result {
    let labels = Labels::of(n, "classlabels_ints", "classlabels_strings")?;
    let post_transform = PostTransform::of(n)?;
    let intercepts = n.attrs.floats("intercepts")?.filter(|intercepts| !intercepts.is_empty());
    let count = intercepts.map_or(labels.len(), |intercepts| intercepts.len());
    let scores = scores(n, count)?;
    let classes = if count == 1 && labels.len() == 2 {
        let index = Classes::above(n, &scores, 0.0)?;
        Classes { index, scores: Classes::both_scores(n, scores, true, post_transform)? }
    } else if count == labels.len() {
        Classes::of_maximum(n, scores, post_transform)?
    } else {
        return n.error(format!("its `intercepts` are {count}, but it has labels for {} classes", labels.len()));
    };
    let label = labels.select(n, classes.index)?;
    Ok(Outputs(vec![label, Value::Operand(classes.scores)]))
}

/// Appends `x w + b`, a column for each target.
fn scores(n: &mut Node, targets: usize) -> node::Result<Operand> {
    let x = float32_rows(n)?;
    let coefficients = n.attrs.floats("coefficients")?.unwrap_or_default();
    let features = coefficients.len() / targets;
    if features * targets != coefficients.len() || features == 0 {
        return n.error(format!("its `coefficients` are {}, for {targets} targets or classes", coefficients.len()));
    }
    let x = n.assert_dims(x, &[(1, (features as i64).into())])?;
    let by_feature: Vec<f64> =
        (0..features).flat_map(|feature| coefficients.iter().skip(feature).step_by(features).copied()).collect();
    let weight = constant_floats(DType::FLOAT32, &[features, targets], &by_feature)?;
    let y = n.call("matmul", [x, weight])?;
    match n.attrs.floats("intercepts")?.filter(|intercepts| !intercepts.is_empty()) {
        Some(intercepts) if intercepts.len() == targets => {
            let intercepts = constant_floats(DType::FLOAT32, &[targets], &intercepts)?;
            n.call("add", [y, intercepts])
        }
        Some(intercepts) => n.error(format!("its `intercepts` are {}, for {targets} targets", intercepts.len())),
        None => Ok(y),
    }
}

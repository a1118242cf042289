//! Support vector machines.

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
    op("SVMClassifier", classifier).attributes(
        "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform prob_a prob_b rho \
         support_vectors vectors_per_class",
    ),
    op("SVMRegressor", regressor)
        .attributes("coefficients kernel_params kernel_type n_supports one_class post_transform rho support_vectors"),
];

/// Smallest distance of the probability of a pair from 0 and 1.
const MIN_PROBABILITY: f64 = 1e-7;

/// Without support vectors, the coefficients are those of features. A one-class machine returns 1 for inliers, -1 for
/// outliers.
fn regressor(n: &mut Node) -> Result {
    let post_transform = PostTransform::of(n)?;
    let coefficients = required(n, "coefficients")?;
    let rho = required(n, "rho")?;
    let x = float32_rows(n)?;
    let (values, count) = match n.attrs.int_or("n_supports", 0)? {
        0 => (n.assert_dims(x, &[(1, (coefficients.len() as i64).into())])?, coefficients.len()),
        vectors @ 1.. => (kernel(n, x, vectors as usize)?, vectors as usize),
        vectors => return n.error(format!("its `n_supports` is {vectors}")),
    };
    if coefficients.len() != count {
        return n.error(format!("its `coefficients` are {}, but it has {count} support vectors", coefficients.len()));
    }
    let weight = constant_floats(DType::FLOAT32, &[count, 1], &coefficients)?;
    let y = n.call("matmul", [values, weight])?;
    let y = n.with_scalar("add", &y, rho[0])?;
    if !n.attrs.flag("one_class")? {
        return Ok(post_transform.apply(n, y)?.into());
    }
    let inlier = n.with_scalar("greater", &y, 0.0)?;
    let (one, minus) = (n.scalar_like(1.0, &y)?, n.scalar_like(-1.0, &y)?);
    let one = n.call("where", [inlier, one, minus])?;
    Ok(one.into())
}

fn classifier(n: &mut Node) -> Result {
    let labels = Labels::of(n, "classlabels_ints", "classlabels_strings")?;
    let vectors = n.attrs.ints_or_empty("vectors_per_class")?;
    let classes = match vectors.iter().all(|count| *count == 0) {
        true => linear(n, labels.len())?,
        false => by_pairs(n, labels.len(), &vectors)?,
    };
    let label = labels.select(n, classes.index)?;
    Ok(Outputs(vec![label, Value::Operand(classes.scores)]))
}

/// Without support vectors, each class has coefficients of features.
fn linear(n: &mut Node, classes: usize) -> node::Result<Classes> {
    let post_transform = PostTransform::of(n)?;
    let coefficients = required(n, "coefficients")?;
    let rho = required(n, "rho")?;
    let features = coefficients.len() / classes;
    if features * classes != coefficients.len() {
        return n.error(format!("its `coefficients` are {}, for {classes} classes", coefficients.len()));
    }
    let x = float32_rows(n)?;
    let x = n.assert_dims(x, &[(1, (features as i64).into())])?;
    let weight = constant_floats(DType::FLOAT32, &[classes, features], &coefficients)?;
    let weight = n.call("permute_dims", [weight])?;
    let y = n.call("matmul", [x, weight])?;
    let y = n.with_scalar("add", &y, rho[0])?;
    Classes::of_maximum(n, y, post_transform)
}

/// Each pair of classes has a machine, which votes for one of them.
fn by_pairs(n: &mut Node, classes: usize, vectors: &[i64]) -> node::Result<Classes> {
    let post_transform = PostTransform::of(n)?;
    let pairs: Vec<(usize, usize)> = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
    let (prob_a, prob_b) =
        (n.attrs.floats("prob_a")?.unwrap_or_default(), n.attrs.floats("prob_b")?.unwrap_or_default());
    let rho = required(n, "rho")?;
    let has_probabilities = !prob_a.is_empty();
    for (name, len) in [("rho", rho.len()), ("prob_a", prob_a.len()), ("prob_b", prob_b.len())] {
        if len != pairs.len() && (name == "rho" || has_probabilities || len > 0) {
            return n.error(format!("its `{name}` are {len}, but its {classes} classes have {} pairs", pairs.len()));
        }
    }
    let weights = pair_weights(n, classes, vectors, &pairs)?;
    let count = weights.len() / pairs.len().max(1);
    let x = float32_rows(n)?;
    let values = kernel(n, x, count)?;
    let weights = constant_floats(DType::FLOAT32, &[count, pairs.len()], &weights)?;
    let sums = n.call("matmul", [values, weights])?;
    let row = |values: &[f64]| constant_floats(DType::FLOAT32, &[1, pairs.len()], values);
    let sums = n.call("add", [sums, row(&rho)?])?;
    let index = majority(n, &sums, classes, &pairs)?;
    if !has_probabilities {
        let scores = match pairs.len() {
            1 => Classes::both_scores(n, sums, post_transform != PostTransform::None, post_transform)?,
            _ => post_transform.apply(n, sums)?,
        };
        return Ok(Classes { index, scores });
    }
    let scaled = n.call("multiply", [sums, row(&prob_a)?])?;
    let shifted = n.call("add", [scaled, row(&prob_b)?])?;
    let opposite = n.call("negative", [shifted])?;
    let probabilities = n.call("sigmoid", [opposite])?;
    let probabilities = n.with_scalar("maximum", &probabilities, MIN_PROBABILITY)?;
    let probabilities = n.with_scalar("minimum", &probabilities, 1.0 - MIN_PROBABILITY)?;
    let scores = n.call_with("ml.pairwise_coupling", [probabilities], &[("classes", (classes as i64).into())])?;
    Ok(Classes { index, scores: post_transform.apply(n, scores)? })
}

/// Returns the coefficients of the support vectors, a column for each pair of classes. The vectors of class `i` have
/// those against class `j` in row `j`, or before it in row `j - 1`.
fn pair_weights(n: &Node, classes: usize, vectors: &[i64], pairs: &[(usize, usize)]) -> node::Result<Vec<f64>> {
    let coefficients = required(n, "coefficients")?;
    let Some(vectors) = vectors.iter().map(|count| usize::try_from(*count).ok()).collect::<Option<Vec<_>>>() else {
        return n.error("its `vectors_per_class` are negative");
    };
    let total = vectors.iter().try_fold(0usize, |sum, count| sum.checked_add(*count));
    let count = total.filter(|total| total.checked_mul(classes - 1) == Some(coefficients.len()));
    let Some(count) = count.filter(|_| vectors.len() == classes) else {
        return n.error(format!(
            "its {} `coefficients` and {} `vectors_per_class` do not fit its {classes} classes",
            coefficients.len(),
            vectors.len()
        ));
    };
    let class_of = vectors.iter().enumerate().flat_map(|(class, count)| std::iter::repeat_n(class, *count));
    let weight = |vector: usize, class: usize, (i, j): (usize, usize)| match class {
        class if class == i => coefficients[(j - 1) * count + vector],
        class if class == j => coefficients[i * count + vector],
        _ => 0.0,
    };
    Ok(class_of
        .enumerate()
        .flat_map(|(vector, class)| pairs.iter().map(move |pair| weight(vector, class, *pair)))
        .collect())
}

/// Returns the class with most votes, the first of them.
fn majority(n: &mut Node, sums: &Operand, classes: usize, pairs: &[(usize, usize)]) -> node::Result<Operand> {
    let (mut base, mut gain) = (vec![0.0; classes], vec![0.0; pairs.len() * classes]);
    for (pair, (i, j)) in pairs.iter().enumerate() {
        base[*j] += 1.0;
        gain[pair * classes + i] += 1.0;
        gain[pair * classes + j] -= 1.0;
    }
    let wins = n.with_scalar("greater", sums, 0.0)?;
    let wins = n.cast(wins, DType::FLOAT32)?;
    let gain = constant_floats(DType::FLOAT32, &[pairs.len(), classes], &gain)?;
    let votes = n.call("matmul", [wins, gain])?;
    let votes = n.call("add", [votes, constant_floats(DType::FLOAT32, &[1, classes], &base)?])?;
    let index = n.call_with("argmax", [votes], &[("axis", 1i64.into())])?;
    n.cast(index, DType::INT64)
}

/// Appends the kernel function of rows and support vectors: `[rows, vectors]`.
fn kernel(n: &mut Node, x: Operand, count: usize) -> node::Result<Operand> {
    let vectors = required(n, "support_vectors")?;
    let features = vectors.len() / count;
    if features * count != vectors.len() || features == 0 {
        return n.error(format!("its `support_vectors` are {} numbers, for {count} vectors", vectors.len()));
    }
    let x = n.assert_dims(x, &[(1, (features as i64).into())])?;
    let kind = n.attrs.str_or("kernel_type", "LINEAR")?;
    let params = n.attrs.floats("kernel_params")?.unwrap_or_default();
    let (gamma, coef0, degree) = match (params.as_slice(), kind) {
        ([gamma, coef0, degree], _) => (*gamma, *coef0, *degree),
        (_, "LINEAR") => (0.0, 0.0, 0.0),
        (params, _) => return n.error(format!("its `kernel_params` are {} numbers, not 3", params.len())),
    };
    if kind == "RBF" {
        let vectors = constant_floats(DType::FLOAT32, &[1, count, features], &vectors)?;
        let x = n.call_with("expand_dims", [x], &[("axis", vec![1i64].into())])?;
        let difference = n.call("subtract", [x, vectors])?;
        let square = n.call("multiply", [difference.clone(), difference])?;
        let distance = n.call_with("sum", [square], &[("axis", vec![2i64].into())])?;
        let scaled = n.with_scalar("multiply", &distance, -gamma)?;
        return n.call("exp", [scaled]);
    }
    let vectors = constant_floats(DType::FLOAT32, &[count, features], &vectors)?;
    let vectors = n.call("permute_dims", [vectors])?;
    let dot = n.call("matmul", [x, vectors])?;
    let affine = |n: &mut Node, dot: Operand| {
        let scaled = n.with_scalar("multiply", &dot, gamma)?;
        n.with_scalar("add", &scaled, coef0)
    };
    match kind {
        "LINEAR" => Ok(dot),
        "POLY" => {
            let base = affine(n, dot)?;
            n.with_scalar("power", &base, degree)
        }
        "SIGMOID" => {
            let base = affine(n, dot)?;
            n.call("tanh", [base])
        }
        other => n.error(format!("its `kernel_type` is `{other}`")),
    }
}

fn required(n: &Node, name: &str) -> node::Result<Vec<f64>> {
    match n.attrs.floats(name)? {
        Some(values) if !values.is_empty() => Ok(values),
        _ => n.error(format!("its attribute `{name}` is missing")),
    }
}

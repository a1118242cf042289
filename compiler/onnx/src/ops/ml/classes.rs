//! Decisions of classifiers: the class and the scores of each example.

use super::scores::PostTransform;
use crate::node::{self, Node};
use hammock_ir::{DType, relax::Operand};

/// Class indices and scores, one row for each example.
pub struct Classes {
    /// Index of the class: int64, a vector.
    pub index: Operand,
    /// Scores of all classes.
    pub scores: Operand,
}

impl Classes {
    /// Chooses the class with the maximum score, the first of them.
    pub fn of_maximum(n: &mut Node, scores: Operand, post_transform: PostTransform) -> node::Result<Classes> {
        let index = n.call_with("argmax", [scores.clone()], &[("axis", 1i64.into())])?;
        let index = n.cast(index, DType::INT64)?;
        Ok(Classes { index, scores: post_transform.apply(n, scores)? })
    }

    /// Chooses the second of two classes if its score, a column, is above a threshold.
    pub fn above(n: &mut Node, score: &Operand, threshold: f64) -> node::Result<Operand> {
        let above = n.with_scalar("greater", score, threshold)?;
        let index = n.cast(above, DType::INT64)?;
        let rows = n.dims(score)?.swap_remove(0);
        n.reshape(index, vec![rows])
    }

    /// Appends the scores of both classes to that of the second one: a probability has its complement, any other score
    /// its opposite.
    pub fn both_scores(
        n: &mut Node,
        score: Operand,
        is_probability: bool,
        post_transform: PostTransform,
    ) -> node::Result<Operand> {
        let pair = match post_transform {
            PostTransform::Probit => {
                let score = post_transform.apply(n, score)?;
                let zero = n.scalar_like(0.0, &score)?;
                let second = n.call("multiply", [score.clone(), zero])?;
                [score, second]
            }
            PostTransform::Logistic => {
                let opposite = n.call("negative", [score.clone()])?;
                [post_transform.apply(n, opposite)?, post_transform.apply(n, score)?]
            }
            _ if is_probability => {
                let one = n.scalar_like(1.0, &score)?;
                [n.call("subtract", [one, score.clone()])?, score]
            }
            _ => [n.call("negative", [score.clone()])?, score],
        };
        n.call_with("concat", [Operand::Tuple(pair.to_vec())], &[("axis", 1i64.into())])
    }
}

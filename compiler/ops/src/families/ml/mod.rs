//! Classical machine learning: ensembles of decision trees, probabilities of classes.

mod pairwise_coupling;
mod tree_ensemble;

use crate::op::Op;

/// The operators of these families.
pub fn ops() -> Vec<Op> {
    vec![pairwise_coupling::pairwise_coupling(), tree_ensemble::tree_ensemble()]
}

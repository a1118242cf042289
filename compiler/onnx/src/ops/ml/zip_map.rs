//! `ZipMap`: scores with the labels of their classes.
//!
//! All maps of its sequence have the same keys. So the result is a pair: the keys, and the matrix of the values, with a
//! row for each map.

use super::{
    super::{Op, Result},
    labels::Labels,
    op, rows,
};
use crate::{node::Node, value::Value};
use hammock_ir::relax::Operand;

pub const OPS: &[Op] = &[op("ZipMap", zip).attributes("classlabels_int64s classlabels_strings")];

fn zip(n: &mut Node) -> Result {
    let labels = Labels::of(n, "classlabels_int64s", "classlabels_strings")?;
    let values = rows(n)?;
    let values = n.assert_dims(values, &[(1, (labels.len() as i64).into())])?;
    let keys = labels.keys(n)?;
    Ok(Value::Maps(Operand::Tuple(vec![keys, values])).into())
}

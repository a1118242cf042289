//! Loops with few iterations, unrolled.

use super::{ImportBody, Output, Results};
use crate::{
    node::{self, Node, Result},
    value::Value,
};
use hammock_ir::{DType, relax::Operand};

/// Maximum trip count of a loop that is unrolled.
pub const MAX_UNROLLED: i64 = 8;

/// Maximum trip count of a loop that is unrolled because its body needs it.
const MAX_UNROLLED_OTHERWISE: i64 = 1024;

/// Unrolls a loop; `None` if its condition is only known at run time, or it has too many iterations.
pub fn unroll<'m>(
    n: &mut Node<'_, 'm>,
    trips: i64,
    initial: &[Value],
    import_body: &mut ImportBody<'_, 'm>,
) -> Result<Option<Results>> {
    let start = n.importer.checkpoint();
    let mut state = initial.to_vec();
    let mut outputs: Vec<Vec<Output>> = Vec::new();
    for iteration in 0..trips {
        if iteration == MAX_UNROLLED_OTHERWISE {
            n.importer.abandon(&start);
            return Ok(None);
        }
        let next = import_body(n, &node::scalar(iteration as f64, DType::INT64)?, &state)?;
        outputs.push(next.outputs);
        state = next.state;
        let Some(condition) = next.condition else { continue };
        match n.importer.build.known(&Value::Operand(condition)).and_then(|condition| condition.ints()) {
            Some(running) if running.first() == Some(&0) => break,
            Some(_) => {}
            None => {
                n.importer.abandon(&start);
                return Ok(None);
            }
        }
    }
    let count = outputs.first().map_or(0, Vec::len);
    let outputs = (0..count).map(|at| stack(n, outputs.iter().filter_map(|all| all.get(at)).collect()));
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    Ok(Some(Results { state, outputs }))
}

/// Stacks an output of all iterations, by position.
fn stack(n: &mut Node, mut outputs: Vec<&Output>) -> Result<Value> {
    let Some(Output { axis, reversed, value }) = outputs.first().copied() else {
        return n.error("it has no iterations");
    };
    if *reversed {
        outputs.reverse();
    }
    let parts = outputs.iter().map(|output| n.importer.build.operand(&output.value)).collect::<Result<Vec<_>>>()?;
    let stacked = n.call_with("stack", [Operand::Tuple(parts)], &[("axis", (*axis as i64).into())])?;
    Ok(match value.narrow() {
        Some(element) => Value::of(stacked, element),
        None => Value::Operand(stacked),
    })
}

//! Control flow: branches, and loops with a known trip count, which are unrolled.

use super::{Op, Result, op};
use crate::{
    node::{self, Node},
    value::{Outputs, Value},
};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("If", import_if).handles_sub_byte().attributes("else_branch then_branch"),
    op("Loop", import_loop).handles_sub_byte().attributes("body"),
    op("Scan", import_scan).handles_sub_byte().attributes(
        "body directions@-8 num_scan_inputs scan_input_axes@9 scan_input_directions@9 scan_output_axes@9 \
         scan_output_directions@9",
    ),
];

/// Maximum trip count of an unrolled loop.
pub const MAX_ITERATIONS: i64 = 1024;

/// A constant condition selects one branch. Otherwise both are computed, and `where` selects the result.
fn import_if(n: &mut Node) -> Result {
    let (then, otherwise) = (n.attrs.graph("then_branch")?, n.attrs.graph("else_branch")?);
    if let Some(condition) = n.known(0).and_then(|condition| condition.ints()) {
        let taken = if condition.first().is_some_and(|v| *v != 0) { then } else { otherwise };
        return Ok(Outputs(n.importer.import_subgraph(taken, Vec::new())?));
    }
    let condition = n.input(0)?;
    let condition = n.reshape(condition, Vec::new())?;
    let then = n.importer.import_subgraph(then, Vec::new())?;
    let otherwise = n.importer.import_subgraph(otherwise, Vec::new())?;
    let mut chosen = Vec::new();
    for (a, b) in then.iter().zip(&otherwise) {
        let (a, b) = (n.importer.build.operand(a)?, n.importer.build.operand(b)?);
        if !hammock_ops::dims::all_equal(&n.dims(&a)?, &n.dims(&b)?) {
            return n.error("branches whose results have different shapes are not supported");
        }
        chosen.push(n.call("where", [condition.clone(), a, b])?);
    }
    Ok(chosen.into())
}

/// Stacks the scan outputs of all iterations.
fn stack_outputs(n: &mut Node, outputs: Vec<Vec<Value>>, axes: &[i64]) -> node::Result<Vec<Value>> {
    let mut all = Vec::new();
    for (at, values) in outputs.into_iter().enumerate() {
        let mut parts = Vec::new();
        for value in values {
            parts.push(n.importer.build.operand(&value)?);
        }
        if parts.is_empty() {
            return n.error("a loop without iterations is not supported");
        }
        let axis = axes.get(at).copied().unwrap_or(0);
        let tuple = Operand::Tuple(parts);
        all.push(Value::Operand(n.call_with("stack", [tuple], &[("axis", axis.into())])?));
    }
    Ok(all)
}

/// Unrolls a loop whose trip count and condition are known.
fn import_loop(n: &mut Node) -> Result {
    let body = n.attrs.graph("body")?;
    let max_count = n.ints(0, "the trip count")?.and_then(|max_count| max_count.first().copied());
    let initial_condition = n.ints(1, "the condition")?.and_then(|running| running.first().copied()).unwrap_or(1) != 0;
    let count = body.input.len().saturating_sub(2);
    let mut state = (2..2 + count).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    let mut outputs: Vec<Vec<Value>> = vec![Vec::new(); body.output.len().saturating_sub(1 + count)];
    let mut running = initial_condition;
    let mut iteration = 0;
    while running && max_count.is_none_or(|max_count| iteration < max_count) {
        if iteration == MAX_ITERATIONS {
            return n.error(format!("loops of more than {MAX_ITERATIONS} iterations are not supported"));
        }
        let condition = Value::Operand(node::scalar(1.0, DType::BOOL)?);
        let number = Value::Operand(node::scalar(iteration as f64, DType::INT64)?);
        let mut results = n.importer.import_subgraph(body, [&[number, condition][..], &state].concat())?;
        if results.len() < 1 + count {
            return n.error("its body has too few results");
        }
        let condition = n.importer.build.known(&results.remove(0)).and_then(|running| running.ints());
        let Some(condition) = condition else {
            return n.error("loops with a dynamic trip count are not supported");
        };
        running = condition.first().is_some_and(|v| *v != 0);
        for (all, value) in outputs.iter_mut().zip(results.drain(count..)) {
            all.push(value);
        }
        state = results;
        iteration += 1;
    }
    state.extend(stack_outputs(n, outputs, &[])?);
    Ok(Outputs(state))
}

/// Unrolls a scan over axes of known size.
fn import_scan(n: &mut Node) -> Result {
    if n.opset < 9 {
        return n.error("the form before version 9 is not supported");
    }
    let body = n.attrs.graph("body")?;
    let Some(scanned) = n.attrs.int("num_scan_inputs")?.and_then(|count| usize::try_from(count).ok()) else {
        return n.error("its `num_scan_inputs` is missing");
    };
    let Some(count) = n.inputs.len().checked_sub(scanned) else { return n.error("it has too few inputs") };
    let mut state = (0..count).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    let (axes, backward) = (n.attrs.ints("scan_input_axes")?, n.attrs.ints("scan_input_directions")?);
    let listed = |list: &Option<Vec<i64>>, at: usize| list.as_ref().and_then(|list| list.get(at)).copied().unwrap_or(0);
    let mut inputs = Vec::new();
    let mut iterations = None;
    for at in 0..scanned {
        let x = n.input(count + at)?;
        let dims = n.dims(&x)?;
        let axis = n.axis(listed(&axes, at), dims.len())?;
        let size = dims[axis].as_int().filter(|size| *size <= MAX_ITERATIONS);
        let Some(size) = size else {
            return n.error(format!("its trip count has to be known, and at most {MAX_ITERATIONS}"));
        };
        iterations = Some(size);
        inputs.push((x, axis, listed(&backward, at) != 0));
    }
    let Some(iterations) = iterations else { return n.error("it has no scan inputs") };
    let mut outputs: Vec<Vec<Value>> = vec![Vec::new(); body.output.len().saturating_sub(count)];
    for iteration in 0..iterations {
        let mut given = state.clone();
        for (x, axis, backward) in &inputs {
            let at = node::scalar(if *backward { iterations - 1 - iteration } else { iteration } as f64, DType::INT64)?;
            let part = n.call_with("take", [x.clone(), at], &[("axis", (*axis as i64).into())])?;
            given.push(Value::Operand(part));
        }
        let mut results = n.importer.import_subgraph(body, given)?;
        if results.len() < count {
            return n.error("its body has too few results");
        }
        for (all, value) in outputs.iter_mut().zip(results.drain(count..)) {
            all.push(value);
        }
        state = results;
    }
    let directions = n.attrs.ints("scan_output_directions")?;
    let reversed = outputs.iter_mut().enumerate().filter(|(at, _)| listed(&directions, *at) != 0);
    reversed.for_each(|(_, all)| all.reverse());
    let axes = n.attrs.ints("scan_output_axes")?.unwrap_or_default();
    state.extend(stack_outputs(n, outputs, &axes)?);
    Ok(Outputs(state))
}

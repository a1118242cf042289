//! `Scan`: a loop over slices of tensors.

use super::{Op, Result, op};
use crate::{
    looping::{Iteration, Loop, Output, Results, counted_loop, dim_scalar, import_loop},
    node::{self, Node},
    schema::GraphProto,
    value::Value,
};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[op("Scan", import_scan).handles_sub_byte().attributes(
    "body directions@-8 num_scan_inputs scan_input_axes@9 scan_input_directions@9 scan_output_axes@9 \
     scan_output_directions@9",
)];

/// A scan.
struct Scan<'m> {
    graph: &'m GraphProto,
    /// Number of scan inputs.
    scanned: usize,
    /// Number of used scan outputs.
    outputs: usize,
    input_axes: Vec<i64>,
    input_directions: Vec<i64>,
    output_axes: Vec<i64>,
    output_directions: Vec<i64>,
}

/// A value with one more axis than the slices of it.
struct Scanned {
    x: Operand,
    axis: usize,
    value: Value,
}

impl Scanned {
    /// Returns a slice.
    fn at(&self, n: &mut Node, index: Operand) -> node::Result<Value> {
        let slice = n.call_with("take", [self.x.clone(), index], &[("axis", (self.axis as i64).into())])?;
        Ok(match self.value.narrow() {
            Some(element) => Value::of(slice, element),
            None => Value::Operand(slice),
        })
    }
}

fn import_scan<'m>(n: &mut Node<'_, 'm>) -> Result {
    let graph = n.attrs.graph("body")?;
    let Some(scanned) = n.attrs.int("num_scan_inputs")?.and_then(|count| usize::try_from(count).ok()) else {
        return n.error("its `num_scan_inputs` is missing");
    };
    let first = usize::from(n.opset < 9);
    let Some(count) = n.inputs.len().checked_sub(scanned + first) else { return n.error("it has too few inputs") };
    if graph.input.len() != count + scanned {
        return n.error(format!("its body has {} inputs, not {}", graph.input.len(), count + scanned));
    }
    if graph.output.len() < count.max(n.outputs) {
        return n.error(format!("its body has {} results, not {}", graph.output.len(), count.max(n.outputs)));
    }
    let list = |name: &str| n.attrs.ints(name).map(Option::unwrap_or_default);
    let scan = Scan {
        graph,
        scanned,
        outputs: n.outputs.saturating_sub(count),
        input_axes: list("scan_input_axes")?,
        input_directions: list(if n.opset < 9 { "directions" } else { "scan_input_directions" })?,
        output_axes: list("scan_output_axes")?,
        output_directions: list("scan_output_directions")?,
    };
    let values = (first..n.inputs.len()).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    match first {
        0 => Ok(scan.import(n, values, None)?.into()),
        _ => scan.import_batch(n, values),
    }
}

fn listed(list: &[i64], at: usize) -> i64 {
    list.get(at).copied().unwrap_or(0)
}

impl<'m> Scan<'m> {
    /// Imports a scan of values: the state, then the scan inputs. A length limits it to the first slices; rows of
    /// outputs after that are zero.
    fn import(&self, n: &mut Node<'_, 'm>, mut values: Vec<Value>, length: Option<Operand>) -> node::Result<Results> {
        let inputs = values.split_off(values.len() - self.scanned);
        let mut trips: Option<PrimExpr> = None;
        let mut scanned = Vec::new();
        for (at, value) in inputs.into_iter().enumerate() {
            let mut x = n.importer.build.operand(&value)?;
            let sizes = n.dims(&x)?;
            let axis = n.axis(listed(&self.input_axes, at), sizes.len())?;
            match &trips {
                Some(trips) => x = n.assert_dims(x, &[(axis, trips.clone())])?,
                None => trips = Some(sizes[axis].clone()),
            }
            scanned.push(Scanned { x, axis, value });
        }
        let Some(trips) = trips else { return n.error("it has no scan inputs") };
        let count = match &length {
            Some(length) => length.clone(),
            None => dim_scalar(n, &trips)?,
        };
        let mut iterate = |n: &mut Node<'_, 'm>, position: &Operand, state: &[Value]| {
            let mut given = state.to_vec();
            for (at, scanned) in scanned.iter().enumerate() {
                let mut index = position.clone();
                if listed(&self.input_directions, at) != 0 {
                    let last = n.with_scalar("subtract", &count, 1.0)?;
                    index = n.call("subtract", [last, index])?;
                }
                given.push(scanned.at(n, index)?);
            }
            let mut results = n.importer.import_subgraph(self.graph, given)?;
            let outputs = results.split_off(state.len());
            Ok(Iteration { condition: None, state: results, outputs: self.rows(n, outputs)? })
        };
        let Some(length) = length else {
            let mut form = |n: &mut Node<'_, 'm>| counted_loop(n, Some(self.graph), &trips);
            return import_loop(n, Some(&trips), &values, &mut form, &mut iterate);
        };
        let mut form = |n: &mut Node<'_, 'm>| {
            let starts = Some(n.with_scalar("greater", &length, 0.0)?);
            Ok(Loop { graph: Some(self.graph), limit: Some(length.clone()), starts, rows: Some(trips.clone()) })
        };
        import_loop(n, None, &values, &mut form, &mut iterate)
    }

    fn rows(&self, n: &mut Node<'_, 'm>, outputs: Vec<Value>) -> node::Result<Vec<Output>> {
        let mut rows = Vec::new();
        for (at, value) in outputs.into_iter().take(self.outputs).enumerate() {
            let operand = n.importer.build.operand(&value)?;
            let axis = n.axis(listed(&self.output_axes, at), n.rank(&operand)? + 1)?;
            rows.push(Output { value, axis, reversed: listed(&self.output_directions, at) != 0 });
        }
        Ok(rows)
    }

    /// Imports the form before version 9: a loop over the batch, with lengths of its sequences, around the scan.
    fn import_batch(&self, n: &mut Node<'_, 'm>, values: Vec<Value>) -> Result {
        let mut batch: Option<PrimExpr> = None;
        let mut inputs = Vec::new();
        for value in values {
            let mut x = n.importer.build.operand(&value)?;
            let sizes = n.dims(&x)?;
            match (&batch, sizes.first()) {
                (_, None) => return n.error("its inputs need the axis of the batch"),
                (Some(batch), _) => x = n.assert_dims(x, &[(0, batch.clone())])?,
                (None, Some(size)) => batch = Some(size.clone()),
            }
            inputs.push(Scanned { x, axis: 0, value });
        }
        let (Some(batch), Some(last)) = (batch, inputs.last()) else { return n.error("it has no scan inputs") };
        let lengths = match n.optional(0)? {
            Some(lengths) => {
                let Some(size) = n.dims(&last.x)?.get(1).cloned() else {
                    return n.error("its scan inputs need the axis of the sequence");
                };
                Some(n.check_lengths(lengths, &size)?)
            }
            None => None,
        };
        let mut iterate = |n: &mut Node<'_, 'm>, position: &Operand, _: &[Value]| {
            let given = inputs.iter().map(|input| input.at(n, position.clone())).collect::<node::Result<Vec<_>>>()?;
            let length = match &lengths {
                Some(lengths) => {
                    let lengths = n.cast(lengths.clone(), DType::INT64)?;
                    Some(n.call_with("take", [lengths, position.clone()], &[("axis", 0i64.into())])?)
                }
                None => None,
            };
            let Results { state, outputs } = self.import(n, given, length)?;
            let row = |value| Output { value, axis: 0, reversed: false };
            Ok(Iteration {
                condition: None,
                state: Vec::new(),
                outputs: state.into_iter().chain(outputs).map(row).collect(),
            })
        };
        let mut form = |n: &mut Node<'_, 'm>| counted_loop(n, None, &batch);
        Ok(import_loop(n, Some(&batch), &[], &mut form, &mut iterate)?.into())
    }
}

//! Sequences of tensors.
//!
//! A sequence whose values are known one by one while the model is imported costs nothing at run time. It becomes one
//! of the runtime if its length or a position in it depends on data.

use super::{Op, Result, activation::axis_attr, op, rearrange::concat_known};
use crate::{
    known_tensor::KnownTensor,
    looping::{Iteration, Loop, import_loop},
    node::{self, Node, scalar},
    schema::GraphProto,
    value::{
        Outputs, Value,
        sequence::{Dims, Element, Sequence},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    relax::{InferError, Operand},
};

pub const OPS: &[Op] = &[
    op("ConcatFromSequence", concat_from_sequence).handles_sub_byte().attributes("axis new_axis"),
    op("SequenceAt", sequence_at).handles_sub_byte(),
    op("SequenceConstruct", sequence_construct).handles_sub_byte(),
    op("SequenceEmpty", sequence_empty).attributes("dtype"),
    op("SequenceErase", sequence_erase).handles_sub_byte(),
    op("SequenceInsert", sequence_insert).handles_sub_byte(),
    op("SequenceLength", sequence_length).handles_sub_byte(),
    op("SequenceMap", sequence_map).handles_sub_byte().attributes("body"),
    op("SplitToSequence", split_to_sequence).handles_sub_byte().attributes("axis keepdims"),
];

/// Maximum number of parts of a tensor that are split when the model is imported.
const MAX_PARTS: i64 = 1024;

impl Node<'_, '_> {
    /// Returns an input that must be a sequence.
    pub(super) fn sequence(&self, at: usize) -> node::Result<Sequence> {
        match self.value(at)? {
            Value::Sequence(sequence) => Ok(sequence),
            other => {
                self.error(format!("its input {at} is {}, not a sequence", other.other_kind().unwrap_or("a tensor")))
            }
        }
    }

    /// Returns the integer of an input: a position in a sequence, if it is known.
    fn known_position(&self, at: usize) -> node::Result<Option<i64>> {
        let Some(known) = self.known(at) else { return Ok(None) };
        match known.ints().as_deref() {
            Some([position]) if !known.dtype.is_floating() => Ok(Some(*position)),
            Some(_) | None if known.elements.len() != 1 => self.error("its `position` has to be one integer"),
            _ => Ok(None),
        }
    }
}

/// Resolves a position below `end` in a sequence of `len` values.
fn index(position: i64, len: usize, end: usize) -> node::Result<usize> {
    let from_start = if position < 0 { position.saturating_add(len as i64) } else { position };
    let outside = || InferError::new(format!("index {position} is out of range for a sequence of {len}"));
    usize::try_from(from_start).ok().filter(|at| *at < end).ok_or_else(outside)
}

fn sequence_empty(n: &mut Node) -> Result {
    let number = n.attrs.int_or("dtype", 1)?;
    let ty = Some(n.element_type(number)?);
    Ok(Value::Sequence(Sequence::Known([].into(), Element { ty, dims: Dims::Empty })).into())
}

fn sequence_construct(n: &mut Node) -> Result {
    let values = (0..n.inputs.len()).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    Ok(Value::Sequence(n.importer.build.known_sequence(values, None)?).into())
}

fn sequence_length(n: &mut Node) -> Result {
    let sequence = n.sequence(0)?;
    if let Sequence::Known(values, _) = &sequence
        && let Some(length) = KnownTensor::scalar(PrimExpr::int64(values.len() as i64))
    {
        return Ok(length.into());
    }
    let sequence = n.importer.build.sequence_operand(&sequence)?;
    Ok(n.call("sequence_length", [sequence])?.into())
}

fn sequence_at(n: &mut Node) -> Result {
    let sequence = n.sequence(0)?;
    if let (Sequence::Known(values, _), Some(position)) = (&sequence, n.known_position(1)?) {
        return Ok(values[index(position, values.len(), values.len())?].clone().into());
    }
    let position = n.input(1)?;
    Ok(element_at(n, &sequence, position)?.into())
}

fn sequence_insert(n: &mut Node) -> Result {
    let (sequence, value) = (n.sequence(0)?, n.value(1)?);
    let has_position = n.given(2).is_some();
    let position = if has_position { n.known_position(2)? } else { None };
    match &sequence {
        Sequence::Known(values, element) if position.is_some() || !has_position => {
            let len = values.len();
            let mut values = values.to_vec();
            values.insert(position.map_or(Ok(len), |position| index(position, len, len + 1))?, value);
            Ok(Value::Sequence(n.importer.build.known_sequence(values, Some(element.clone()))?).into())
        }
        _ => {
            let position = n.optional(2)?;
            Ok(Value::Sequence(insert(n, &sequence, &value, position)?).into())
        }
    }
}

/// Inserts a value at run time, by default at the end.
fn insert(n: &mut Node, sequence: &Sequence, value: &Value, position: Option<Operand>) -> node::Result<Sequence> {
    let build = &mut n.importer.build;
    let element = sequence.element().join(&build.element_of(value)?)?;
    let mut args = vec![build.sequence_operand(sequence)?, build.operand(value)?];
    args.extend(position);
    Ok(Sequence::Dynamic(n.call("sequence_insert", args)?, element))
}

fn sequence_erase(n: &mut Node) -> Result {
    let sequence = n.sequence(0)?;
    let position = if n.given(1).is_some() { n.known_position(1)? } else { Some(-1) };
    if let (Sequence::Known(values, element), Some(position)) = (&sequence, position) {
        let at = index(position, values.len(), values.len())?;
        let mut values = values.to_vec();
        values.remove(at);
        return Ok(Value::Sequence(Sequence::Known(values.into(), element.clone())).into());
    }
    let mut args = vec![n.importer.build.sequence_operand(&sequence)?];
    args.extend(n.optional(1)?);
    Ok(Value::Sequence(Sequence::Dynamic(n.call("sequence_erase", args)?, sequence.element().clone())).into())
}

fn concat_from_sequence(n: &mut Node) -> Result {
    let sequence = n.sequence(0)?;
    let Some(axis) = n.attrs.int("axis")? else { return n.error("its attribute `axis` is missing") };
    let new_axis = n.attrs.flag("new_axis")?;
    match &sequence {
        Sequence::Known(values, element) => concat_values(n, values, element, axis, new_axis),
        Sequence::Dynamic(operand, element) => {
            Ok(n.importer.build.concat_sequence(operand.clone(), element, axis, new_axis)?.into())
        }
    }
}

fn concat_values(n: &mut Node, values: &[Value], element: &Element, axis: i64, new_axis: bool) -> Result {
    let known: Option<Vec<KnownTensor>> = values.iter().map(|value| n.importer.build.known(value)).collect();
    let rank = usize::from(!new_axis);
    if let Some(known) = known.filter(|known| (axis == 0 || axis == -1) && known.iter().all(|x| x.shape.len() == rank))
        && let Some(known) = concat_known(&known)
    {
        return Ok(known.into());
    }
    let parts = values.iter().map(|value| n.importer.build.operand(value)).collect::<node::Result<Vec<_>>>()?;
    let (Some(first), Some(ty)) = (parts.first(), element.ty) else {
        return n.error("an empty sequence cannot be concatenated");
    };
    let rank = n.rank(first)? + usize::from(new_axis);
    let axis = axis_attr(n.axis(axis, rank)?);
    let joined = match (parts.as_slice(), new_axis) {
        ([one], false) => one.clone(),
        (_, false) => n.call_with("concat", [Operand::Tuple(parts)], &[("axis", axis)])?,
        (_, true) => n.call_with("stack", [Operand::Tuple(parts)], &[("axis", axis)])?,
    };
    Ok(Value::of(joined, ty).into())
}

/// Sizes of the parts of an axis.
enum Parts {
    /// All sizes.
    Known(Vec<i64>),
    /// One size of all parts but the last, or a vector of sizes, at run time.
    Dynamic(Option<Operand>),
}

fn split_to_sequence(n: &mut Node) -> Result {
    let narrow = n.value(0)?.narrow();
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.axis(n.attrs.int_or("axis", 0)?, dims.len())?;
    let each = n.given(1).is_none();
    let keepdims = !each || n.attrs.int_or("keepdims", 1)? != 0;
    let element = n.importer.build.element_of(&n.value(0)?)?;
    let size = each.then(|| PrimExpr::int64(1));
    let element = element.with_axis(axis, keepdims.then_some(size));
    let of = |operand: Operand| narrow.map_or(Value::Operand(operand.clone()), |narrow| Value::of(operand, narrow));
    match parts(n, &dims[axis])? {
        Parts::Known(sizes) => {
            let total = sizes.iter().fold(0i64, |sum, size| sum.saturating_add(*size));
            if sizes.iter().any(|size| *size < 0) {
                return n.error(format!("it splits into parts of {sizes:?}"));
            }
            let x = n.assert_dims(x, &[(axis, PrimExpr::int64(total))])?;
            let parts = split_known(n, x, axis, &sizes, keepdims)?.into_iter().map(of).collect();
            Ok(Value::Sequence(n.importer.build.known_sequence(parts, Some(element))?).into())
        }
        Parts::Dynamic(parts) => {
            let mut args = vec![x, Operand::int(axis as i64), Operand::Prim(PrimExpr::bool(keepdims))];
            args.extend(parts);
            Ok(Value::Sequence(Sequence::Dynamic(n.call("sequence_split", args)?, element)).into())
        }
    }
}

fn parts(n: &mut Node, extent: &PrimExpr) -> node::Result<Parts> {
    let known = n.known(1);
    let is_scalar = known.as_ref().is_some_and(|known| known.shape.is_empty());
    match (known.and_then(|known| known.ints()), extent.as_int()) {
        (Some(sizes), _) if !is_scalar && sizes.len() as i64 <= MAX_PARTS => return Ok(Parts::Known(sizes)),
        (Some(size), _) if is_scalar && size[0] <= 0 => {
            return n.error(format!("an axis cannot be split into parts of {}", size[0]));
        }
        (Some(size), Some(extent)) if is_scalar && extent / size[0] < MAX_PARTS => {
            let starts = (0..extent).step_by(size[0] as usize);
            return Ok(Parts::Known(starts.map(|start| size[0].min(extent - start)).collect()));
        }
        (None, Some(extent)) if n.given(1).is_none() && extent <= MAX_PARTS => {
            return Ok(Parts::Known(vec![1; extent as usize]));
        }
        _ => {}
    }
    Ok(Parts::Dynamic(n.optional(1)?))
}

fn split_known(n: &mut Node, x: Operand, axis: usize, sizes: &[i64], keepdims: bool) -> node::Result<Vec<Operand>> {
    if !keepdims {
        let take = |at: usize| {
            let at = scalar(at as f64, DType::INT64)?;
            n.call_with("take", [x.clone(), at], &[("axis", axis_attr(axis))])
        };
        return (0..sizes.len()).map(take).collect();
    }
    if sizes.len() <= 1 {
        return Ok(if sizes.is_empty() { Vec::new() } else { vec![x] });
    }
    let ends = sizes[..sizes.len() - 1].iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    let attrs = [("indices_or_sections", ends.collect::<Vec<i64>>().into()), ("axis", axis_attr(axis))];
    let parts = n.call_with("split", [x], &attrs)?;
    n.importer.build.members(&parts)
}

/// Maps a sequence, and further sequences of the same length; further tensors are the same for all values.
fn sequence_map(n: &mut Node) -> Result {
    let body = n.attrs.graph("body")?;
    let inputs = (0..n.inputs.len()).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    let is_known = |value: &Value| !matches!(value, Value::Sequence(Sequence::Dynamic(..)));
    let values = match n.sequence(0)? {
        Sequence::Known(values, _) if inputs.iter().all(is_known) => values,
        sequence => return map_dynamic(n, body, &sequence, &inputs),
    };
    let mut outputs: Vec<Vec<Value>> = vec![Vec::new(); body.output.len()];
    for at in 0..values.len() {
        let given = inputs.iter().enumerate().map(|(number, input)| match input {
            Value::Sequence(Sequence::Known(others, _)) if others.len() == values.len() => Ok(others[at].clone()),
            Value::Sequence(_) => n.error(format!("its input {number} is not a sequence of {}", values.len())),
            tensor => Ok(tensor.clone()),
        });
        let given = given.collect::<node::Result<Vec<_>>>()?;
        let results = n.importer.import_subgraph(body, given)?;
        outputs.iter_mut().zip(results).for_each(|(all, value)| all.push(value));
    }
    let mut sequences = Vec::new();
    for (values, output) in outputs.into_iter().zip(&body.output) {
        let element = Element::declared(output.r#type.as_ref()).map_err(InferError::new)?;
        let element = if values.is_empty() { Some(element) } else { None };
        sequences.push(Value::Sequence(n.importer.build.known_sequence(values, element)?));
    }
    Ok(Outputs(sequences))
}

/// Maps sequences by a loop.
fn map_dynamic<'m>(n: &mut Node<'_, 'm>, body: &'m GraphProto, sequence: &Sequence, inputs: &[Value]) -> Result {
    let sequence = n.importer.build.sequence_operand(sequence)?;
    let length = n.call("sequence_length", [sequence])?;
    let starts = n.with_scalar("greater", &length, 0.0)?;
    let mut initial = Vec::new();
    for output in &body.output {
        let nested = output.r#type.as_ref();
        let element = Element { dims: Dims::Empty, ..Element::declared(nested).map_err(InferError::new)? };
        initial.push(Value::Sequence(Sequence::Known([].into(), element)));
    }
    let mut form = |_: &mut Node<'_, 'm>| {
        let (limit, starts) = (Some(length.clone()), Some(starts.clone()));
        Ok(Loop { graph: Some(body), limit, starts, rows: None })
    };
    let mut iterate = |n: &mut Node<'_, 'm>, position: &Operand, state: &[Value]| {
        let mut given = Vec::new();
        for input in inputs {
            given.push(match input {
                Value::Sequence(sequence) => element_at(n, sequence, position.clone())?,
                tensor => tensor.clone(),
            });
        }
        let results = n.importer.import_subgraph(body, given)?;
        let mut next = Vec::new();
        for (sequence, value) in state.iter().zip(&results) {
            let Value::Sequence(sequence) = sequence else { return n.error("its state is not a sequence") };
            next.push(Value::Sequence(insert(n, sequence, value, None)?));
        }
        Ok(Iteration { condition: None, state: next, outputs: Vec::new() })
    };
    Ok(Outputs(import_loop(n, None, &initial, &mut form, &mut iterate)?.state))
}

/// Returns the value at a position that is only known at run time.
fn element_at(n: &mut Node, sequence: &Sequence, position: Operand) -> node::Result<Value> {
    let args = [n.importer.build.sequence_operand(sequence)?, position];
    let value = n.call("sequence_at", args)?;
    n.importer.build.tensor_of_element(value, sequence.element())
}

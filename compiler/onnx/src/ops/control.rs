//! Control flow: branches and loops.

use super::{Op, Result, op};
use crate::{
    build::nested::body,
    looping::{Iteration, Loop, Output, Results, import_loop},
    node::{self, Node},
    schema::GraphProto,
    value::{Outputs, Value, sequence::ObjectType},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{Body, InferError, Operand, Value as Bound},
};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("If", import_if).handles_sub_byte().attributes("else_branch then_branch"),
    op("Loop", loop_node).handles_sub_byte().attributes("body"),
];

/// Imports one branch if the condition is constant, and otherwise a conditional.
fn import_if(n: &mut Node) -> Result {
    let (then, otherwise) = (n.attrs.graph("then_branch")?, n.attrs.graph("else_branch")?);
    for (branch, name) in [(then, "then_branch"), (otherwise, "else_branch")] {
        if branch.output.len() < n.outputs {
            return n.error(format!("its `{name}` has {} results, not {}", branch.output.len(), n.outputs));
        }
    }
    if let Some(condition) = n.known(0).and_then(|condition| condition.ints()) {
        let taken = if condition.first().is_some_and(|v| *v != 0) { then } else { otherwise };
        return Ok(Outputs(n.importer.import_subgraph(taken, Vec::new())?));
    }
    let condition = n.input(0)?;
    let condition = n.reshape(condition, Vec::new())?;
    let vars_before = n.importer.build.function.vars.len();
    let then = Branch::import(n, then)?;
    let otherwise = Branch::import(n, otherwise)?;
    let types =
        (0..n.outputs).map(|at| join(n, at, (&then, &otherwise), vars_before)).collect::<node::Result<Vec<_>>>()?;
    let declared: Vec<Type> = types.iter().map(Joined::declared).collect();
    let elements: Vec<_> = then.values.iter().map(Value::narrow).collect();
    let ty = if let [one] = declared.as_slice() { one.clone() } else { Type::Tuple(declared.clone()) };
    let (then, otherwise) = (then.finish(n, &ty), otherwise.finish(n, &ty));
    let build = &mut n.importer.build;
    let chosen = Operand::Var(build.bind_if("chosen", ty, condition, then, otherwise));
    let mut results = Vec::new();
    for (at, (ty, declared)) in types.into_iter().zip(&declared).enumerate() {
        let mut result = match n.outputs {
            1 => chosen.clone(),
            _ => Operand::Var(build.bind(declared.clone(), Bound::TupleGet(chosen.clone(), at))?),
        };
        results.push(match ty {
            Joined::Object(ty) => ty.value(result),
            Joined::Tensor { declared, named } => {
                if declared.dims().is_none() {
                    result = build.match_cast(result, named.into())?;
                }
                match elements[at] {
                    Some(element) => Value::of(result, element),
                    None => Value::Operand(result),
                }
            }
        });
    }
    Ok(Outputs(results))
}

/// Branch of a conditional.
struct Branch {
    bindings: Vec<hammock_ir::relax::Binding>,
    values: Vec<Value>,
    results: Vec<Operand>,
}

impl Branch {
    fn import<'m>(n: &mut Node<'_, 'm>, graph: &'m GraphProto) -> node::Result<Branch> {
        let enclosing = n.importer.build.enter_body();
        let results = n.importer.import_subgraph(graph, Vec::new()).and_then(|mut values| {
            values.truncate(n.outputs);
            let results =
                values.iter().map(|value| n.importer.build.object_operand(value)).collect::<node::Result<Vec<_>>>()?;
            Ok((values, results))
        });
        let bindings = n.importer.build.leave_body(enclosing);
        results.map(|(values, results)| Branch { bindings, values, results })
    }

    fn finish(self, n: &mut Node, ty: &Type) -> Body {
        let Branch { mut bindings, mut results, .. } = self;
        if let [result @ Operand::Var(_)] = results.as_slice() {
            return body(bindings, result.clone());
        }
        let result = if results.len() == 1 { results.remove(0) } else { Operand::Tuple(results) };
        let build = &mut n.importer.build;
        let enclosing = build.enter_body();
        let var = build.nested_var("result", ty.clone());
        build.push(var, Bound::Operand(result));
        bindings.extend(build.leave_body(enclosing));
        body(bindings, Operand::Var(var))
    }
}

/// Type of a result of two branches.
enum Joined {
    /// Sequence, optional value or strings.
    Object(ObjectType),
    /// Tensor of numbers.
    Tensor {
        /// Type of the conditional: without dimensions unless all are equal.
        declared: TensorType,
        /// The type with names for the dimensions that differ.
        named: TensorType,
    },
}

impl Joined {
    fn declared(&self) -> Type {
        match self {
            Joined::Object(_) => Type::Any,
            Joined::Tensor { declared, .. } => declared.clone().into(),
        }
    }
}

fn join(n: &mut Node, at: usize, (then, otherwise): (&Branch, &Branch), vars_before: usize) -> node::Result<Joined> {
    let joined = n.importer.build.joined_type(&then.values[at], &otherwise.values[at]);
    let build = &n.importer.build;
    if let Some(mut ty) = joined.map_err(|error| InferError::new(format!("result {at}: {}", error.message)))? {
        ty.retain_dims(|dim| build.is_dim_of_first_vars(dim, vars_before));
        return Ok(Joined::Object(ty));
    }
    let (a, b) = (build.tensor(&then.results[at])?, build.tensor(&otherwise.results[at])?);
    let (x, y) = (build.dims(&then.results[at])?, build.dims(&otherwise.results[at])?);
    let elements = [then, otherwise].map(|branch| branch.values[at].narrow().map(|element| element.number));
    if a.dtype != b.dtype || elements[0] != elements[1] {
        return n.error(format!("its branches return result {at} with different element types"));
    }
    if x.len() != y.len() {
        return n.error(format!("its branches return result {at} with {} and {} dimensions", x.len(), y.len()));
    }
    let is_same =
        |(a, b): (&PrimExpr, &PrimExpr)| dims::equal(a, b) == Some(true) && build.is_dim_of_first_vars(a, vars_before);
    let same: Vec<bool> = x.iter().zip(&y).map(is_same).collect();
    let named = x.into_iter().zip(&same).map(|(dim, same)| if *same { dim } else { prim::Var::int64("m").expr() });
    let named = TensorType { shape: TensorShape::Known(named.collect::<Vec<_>>().into()), ..a.clone() };
    let declared = match same.iter().all(|same| *same) {
        true => named.clone(),
        false => TensorType { shape: TensorShape::Rank(same.len()), ..a },
    };
    Ok(Joined::Tensor { declared, named })
}

/// Inputs of `Loop`.
struct LoopInputs<'m> {
    graph: &'m GraphProto,
    state: Vec<Value>,
    /// Number of used scan outputs.
    outputs: usize,
}

fn loop_node<'m>(n: &mut Node<'_, 'm>) -> Result {
    let graph = n.attrs.graph("body")?;
    let count = n.inputs.len().saturating_sub(2);
    if graph.input.len() != 2 + count {
        return n.error(format!("its body has {} inputs, not {}", graph.input.len(), 2 + count));
    }
    if graph.output.len() < 1 + count.max(n.outputs) {
        return n.error(format!("its body has {} results, not {}", graph.output.len(), 1 + count.max(n.outputs)));
    }
    let state = (2..2 + count).map(|at| n.value(at)).collect::<node::Result<Vec<_>>>()?;
    let inputs = LoopInputs { graph, state, outputs: n.outputs.saturating_sub(count) };
    let trips = n.known(0).and_then(|trips| trips.ints()?.first().copied());
    let starts = match n.given(1) {
        None => Some(true),
        Some(_) => n.known(1).and_then(|starts| Some(starts.ints()?.first().copied()? != 0)),
    };
    let trips = if n.given(0).is_none() { Some(i64::MAX) } else { trips };
    let trips = trips.filter(|_| starts == Some(true)).map(PrimExpr::int64);
    let mut iterate = |n: &mut Node<'_, 'm>, at: &Operand, state: &[Value]| iteration(n, &inputs, at, state);
    Ok(import_loop(n, trips.as_ref(), &inputs.state, &mut |n| loop_form(n, &inputs, starts), &mut iterate)?.into())
}

/// Imports an iteration of `Loop`.
fn iteration<'m>(
    n: &mut Node<'_, 'm>,
    inputs: &LoopInputs<'m>,
    position: &Operand,
    state: &[Value],
) -> node::Result<Iteration> {
    let given = [Value::Operand(position.clone()), Value::Operand(node::scalar(1.0, DType::BOOL)?)];
    let mut results = n.importer.import_subgraph(inputs.graph, [&given, state].concat())?;
    let condition = results.remove(0);
    let condition = match n.importer.build.known(&condition).and_then(|condition| condition.ints()) {
        Some(known) if known.first() != Some(&0) => None,
        _ => {
            let condition = n.importer.build.operand(&condition)?;
            Some(condition_scalar(n, condition)?)
        }
    };
    let outputs = results.split_off(state.len()).into_iter().take(inputs.outputs);
    let outputs = outputs.map(|value| Output { value, axis: 0, reversed: false }).collect();
    Ok(Iteration { condition, state: results, outputs })
}

/// Returns when a loop starts and ends.
fn loop_form<'m>(n: &mut Node<'_, 'm>, inputs: &LoopInputs<'m>, starts: Option<bool>) -> node::Result<Loop> {
    let mut form = Loop { graph: Some(inputs.graph), limit: None, starts: None, rows: None };
    if starts != Some(true) {
        let condition = n.input(1)?;
        form.starts = Some(condition_scalar(n, condition)?);
    }
    if n.given(0).is_none() {
        return Ok(form);
    }
    let limit = n.input_as_int64(0)?;
    let limit = n.reshape(limit, Vec::new())?;
    let known = n.known(0).and_then(|trips| trips.elements.first().cloned());
    if known.as_ref().and_then(|trips| dims::at_least(trips, &1i64.into())) != Some(true) {
        let some = n.with_scalar("greater", &limit, 0.0)?;
        form.starts = Some(match form.starts {
            Some(starts) => n.call("logical_and", [starts, some])?,
            None => some,
        });
    }
    if inputs.outputs > 0 {
        form.rows = Some(match known.filter(|_| starts == Some(true)) {
            Some(trips) => dims::max(&trips, &0i64.into()),
            None => row_count(n, &limit, form.starts.as_ref())?,
        });
    }
    form.limit = Some(limit);
    Ok(form)
}

/// Returns the trip count of a loop as a dimension: zero if it does not start.
fn row_count(n: &mut Node, limit: &Operand, runs: Option<&Operand>) -> node::Result<PrimExpr> {
    let mut count = limit.clone();
    if let Some(runs) = runs {
        let none = node::scalar(0.0, DType::INT64)?;
        count = n.call("where", [runs.clone(), count, none])?;
    }
    let sizes = n.symbolic_dims(count)?;
    sizes.into_iter().next().ok_or_else(|| hammock_ir::relax::InferError::new("its trip count has no elements"))
}

/// Returns a condition as a scalar.
fn condition_scalar(n: &mut Node, condition: Operand) -> node::Result<Operand> {
    if !n.dtype(&condition)?.is_bool() {
        return n.error("its condition has to be a bool");
    }
    match n.rank(&condition)? {
        0 => Ok(condition),
        _ => n.reshape(condition, Vec::new()),
    }
}

impl From<Results> for Outputs {
    fn from(results: Results) -> Outputs {
        Outputs(results.state.into_iter().chain(results.outputs).collect())
    }
}

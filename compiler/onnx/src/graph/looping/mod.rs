//! Loops, as local recursive functions.
//!
//! ```text
//! def loop(position, state…, stacked…):
//!     the body: state1…, outputs…
//!     stacked1… = store_row(stacked…, outputs…, position)
//!     if again: result = loop(position + 1, state1…, stacked1…)
//!     else: result = (state1…, stacked1…)
//! ```
//!
//! The call is a tail call, which needs no stack. The condition is at the end, so the body is not part of a branch, and
//! its kernels fuse. A branch around the first call is only necessary if the loop may have no iterations.
//!
//! The state starts with the types of its initial values. If the body returns other dimensions, they get symbols of
//! their own, and the body is imported again, until its results have the types of its parameters.

mod function;
mod state;
mod unroll;

use super::node::{Node, Result};
use crate::{known_tensor::KnownTensor, schema::GraphProto, value::Value};
use function::LoopFunction;
use hammock_ir::{
    PrimExpr,
    relax::{InferError, Operand},
};
use hammock_ops::dims;
use state::State;
use unroll::{MAX_UNROLLED, unroll};

/// A loop to import.
pub struct Loop {
    /// The body's graph, if it has one.
    pub graph: Option<*const GraphProto>,
    /// Maximum number of iterations, a scalar.
    pub limit: Option<Operand>,
    /// Condition of the first iteration; `None` if there always is one.
    pub starts: Option<Operand>,
    /// Number of rows of stacked outputs, if it is known before the loop; each iteration stores one.
    pub rows: Option<PrimExpr>,
}

/// Results of one iteration.
pub struct Iteration {
    /// Condition of the next iteration, a scalar; `None` if it is always true.
    pub condition: Option<Operand>,
    /// The next state.
    pub state: Vec<Value>,
    /// Its outputs, which are stacked.
    pub outputs: Vec<Output>,
}

/// Output of one iteration.
pub struct Output {
    /// Its value.
    pub value: Value,
    /// Axis along which it is stacked.
    pub axis: usize,
    /// True if the first iteration's output is the last one there.
    pub reversed: bool,
}

/// Imports a loop's body, from the position and the state.
pub type ImportBody<'b, 'm> = dyn FnMut(&mut Node<'_, 'm>, &Operand, &[Value]) -> Result<Iteration> + 'b;

/// Results of a loop.
pub struct Results {
    /// The final state.
    pub state: Vec<Value>,
    /// The stacked outputs.
    pub outputs: Vec<Value>,
}

/// Imports a loop with a state. With few iterations it is unrolled, and also with more if their number is constant and
/// its body can only be imported for constant positions or changing ranks. `form` creates the loop otherwise.
pub fn import_loop<'m>(
    n: &mut Node<'_, 'm>,
    trips: Option<&PrimExpr>,
    initial: &[Value],
    form: &mut dyn FnMut(&mut Node<'_, 'm>) -> Result<Loop>,
    import_body: &mut ImportBody<'_, 'm>,
) -> Result<Results> {
    let trips = trips.and_then(PrimExpr::as_int).filter(|trips| *trips >= 1);
    if let Some(trips) = trips.filter(|trips| *trips <= MAX_UNROLLED)
        && let Some(results) = unroll(n, trips, initial, import_body)?
    {
        return Ok(results);
    }
    let start = n.importer.checkpoint();
    let looped = form(n).and_then(|form| import_function(n, &form, initial, import_body));
    let (Err(_), Some(trips)) = (&looped, trips) else { return looped };
    n.importer.abandon(&start);
    if let Some(results) = unroll(n, trips, initial, import_body)? {
        return Ok(results);
    }
    form(n).and_then(|form| import_function(n, &form, initial, import_body))
}

/// Returns a loop with a known number of iterations, each of which stores a row of each output.
pub fn counted_loop(n: &mut Node, graph: Option<*const GraphProto>, trips: &PrimExpr) -> Result<Loop> {
    let limit = dim_scalar(n, trips)?;
    let starts = match dims::at_least(trips, &1i64.into()) {
        Some(true) => None,
        _ => Some(n.with_scalar("greater", &limit, 0.0)?),
    };
    Ok(Loop { graph, limit: Some(limit), starts, rows: Some(trips.clone()) })
}

/// Imports a loop as a function.
fn import_function<'m>(
    n: &mut Node<'_, 'm>,
    form: &Loop,
    initial: &[Value],
    import_body: &mut ImportBody<'_, 'm>,
) -> Result<Results> {
    let results = import_until_stable(n, form, initial, import_body);
    if n.importer.loop_depth == 0 {
        n.importer.dynamic_axes.clear();
    }
    results
}

fn import_until_stable<'m>(
    n: &mut Node<'_, 'm>,
    form: &Loop,
    initial: &[Value],
    import_body: &mut ImportBody<'_, 'm>,
) -> Result<Results> {
    let mut state = State::new(n, form, initial)?;
    loop {
        let start = n.importer.checkpoint();
        let enclosing = n.importer.build.enter_body();
        let function = match LoopFunction::import(n, &state, import_body) {
            Ok(function) => function,
            Err(error) => {
                _ = n.importer.build.leave_body(enclosing);
                return Err(error);
            }
        };
        match state.generalize(n, &function.next) {
            Ok(false) => return function.finish(n, form, &state, enclosing),
            Ok(true) => {
                _ = n.importer.build.leave_body(enclosing);
                n.importer.roll_back(&start);
                state.remember(n, form);
            }
            Err(error) => {
                _ = n.importer.build.leave_body(enclosing);
                return Err(error);
            }
        }
    }
}

/// Returns a dimension as an int64 scalar.
pub fn dim_scalar(n: &mut Node, dim: &PrimExpr) -> Result<Operand> {
    let known = KnownTensor::scalar(dim.clone()).ok_or_else(|| InferError::new("a dimension is too complex"))?;
    n.importer.build.operand(&Value::Known(known))
}

/// Returns the position counted from the last of `rows` rows.
pub fn from_end(n: &mut Node, rows: &PrimExpr, position: &Operand) -> Result<Operand> {
    let last = dim_scalar(n, &dims::sub(rows, &1i64.into()))?;
    n.call("subtract", [last, position.clone()])
}

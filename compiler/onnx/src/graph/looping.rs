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

use super::node::{self, Node, Result, shown_size};
use crate::{
    build::nested::{Enclosing, body},
    known_tensor::KnownTensor,
    schema::GraphProto,
    value::{Value, sequence::ObjectType},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{Call, Callee, InferError, Lambda, Operand, Value as Bound, Var},
};
use hammock_ops::dims;
use std::sync::Arc;

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
        match state.generalize(n, &function) {
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

/// Maximum trip count of a loop that is unrolled.
const MAX_UNROLLED: i64 = 8;

/// Maximum trip count of a loop that is unrolled because its body needs it.
const MAX_UNROLLED_OTHERWISE: i64 = 1024;

/// Unrolls a loop; `None` if its condition is only known at run time, or it has too many iterations.
fn unroll<'m>(
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

/// The state of a loop: its initial values and the types of all iterations.
struct State<'v> {
    values: &'v [Value],
    initial: Vec<Operand>,
    /// Types of tensors; those of other values are in `objects`.
    types: Vec<TensorType>,
    /// Types of values that are not tensors of numbers.
    objects: Vec<Option<ObjectType>>,
    /// Axes whose size changes, or may change.
    dynamic_axes: Vec<(usize, usize)>,
}

impl<'v> State<'v> {
    fn new(n: &mut Node, form: &Loop, values: &'v [Value]) -> Result<Self> {
        let build = &mut n.importer.build;
        let initial = values.iter().map(|value| build.object_operand(value)).collect::<Result<Vec<_>>>()?;
        let objects: Vec<_> = values.iter().map(ObjectType::of).collect();
        let mut types = Vec::new();
        for (operand, object) in initial.iter().zip(&objects) {
            types.push(match object {
                Some(_) => TensorType::with_rank(Some(0), None),
                None => build.dims(operand).and_then(|_| build.tensor(operand))?,
            });
        }
        let mut state = State { values, initial, types, objects, dynamic_axes: Vec::new() };
        let known = form.graph.and_then(|graph| n.importer.dynamic_axes.get(&graph)).cloned();
        known.unwrap_or_default().into_iter().for_each(|(at, axis)| state.set_dynamic(at, axis));
        Ok(state)
    }

    fn set_dynamic(&mut self, at: usize, axis: usize) {
        let Some(ty) = self.types.get_mut(at) else { return };
        let mut dims = ty.dims().unwrap_or_default().to_vec();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = prim::Var::int64("d").expr();
            ty.shape = TensorShape::Known(dims.into());
            self.dynamic_axes.push((at, axis));
        }
    }

    /// Records the dynamic axes for imports of the loops around this one.
    fn remember(&self, n: &mut Node, form: &Loop) {
        if let Some(graph) = form.graph {
            n.importer.dynamic_axes.insert(graph, self.dynamic_axes.clone());
        }
    }

    /// Makes axes dynamic that an iteration changes; false if there are none.
    fn generalize(&mut self, n: &mut Node, function: &LoopFunction) -> Result<bool> {
        let mut changed = Vec::new();
        let has_new_objects = self.generalize_objects(n, function)?;
        for (at, (before, after)) in self.types.iter().zip(&function.next).enumerate() {
            if self.objects[at].is_some() {
                continue;
            }
            let after = n.importer.build.tensor(after)?;
            let (Some(from), Some(to)) = (before.dims(), after.dims()) else {
                return n.error(format!("the shape of state {at} after an iteration is not known"));
            };
            if before.dtype != after.dtype {
                let name = |ty: &TensorType| ty.dtype.map_or_else(String::new, |dtype| dtype.to_string());
                let (before, after) = (name(before), name(&after));
                return n.error(format!("state {at} is {before} before an iteration and {after} after it"));
            }
            if from.len() != to.len() {
                let (from, to) = (shape_text(from), shape_text(to));
                let error = format!("the rank of state {at} changes from {from} to {to} in an iteration");
                return Err(InferError::new(error).help("the state of a loop needs one rank"));
            }
            let differs = |axis: &usize| dims::equal(&from[*axis], &to[*axis]) != Some(true);
            let axes = (0..from.len()).filter(differs).map(|axis| (at, axis));
            changed.extend(axes.filter(|axis| !self.dynamic_axes.contains(axis)));
        }
        changed.iter().for_each(|(at, axis)| self.set_dynamic(*at, *axis));
        Ok(!changed.is_empty() || has_new_objects)
    }

    /// Joins the types of values that are not tensors with those after an iteration; false if that changes nothing.
    fn generalize_objects(&mut self, n: &mut Node, function: &LoopFunction) -> Result<bool> {
        let mut has_new = false;
        for (at, after) in function.values.iter().enumerate() {
            let build = &mut n.importer.build;
            let before = match &self.objects[at] {
                Some(object) => object.value(self.initial[at].clone()),
                None => self.values[at].clone(),
            };
            let Some(mut joined) = build.joined_type(&before, after).map_err(|error| {
                InferError::new(format!("state {at} before and after an iteration: {}", error.message))
            })?
            else {
                continue;
            };
            joined.retain_dims(|dim| build.is_dim_of_first_vars(dim, function.vars_before));
            if !self.objects[at].as_ref().is_some_and(|own| own.is_same(&joined)) {
                has_new = true;
            }
            self.objects[at] = Some(joined);
        }
        Ok(has_new)
    }

    /// Returns the type of a value in all iterations.
    fn type_of(&self, at: usize) -> Type {
        if self.objects[at].is_some() { Type::Any } else { self.types[at].clone().into() }
    }

    /// Returns the type of the final state as the caller knows it.
    fn result_type(&self, at: usize) -> Type {
        if self.objects[at].is_some() {
            return Type::Any;
        }
        let ty = self.types[at].clone();
        let is_dynamic = self.dynamic_axes.iter().any(|(own, _)| *own == at);
        let shape = if is_dynamic { TensorShape::Rank(ty.ndim().unwrap_or(0)) } else { ty.shape };
        TensorType { shape, ..ty }.into()
    }
}

fn shape_text(shape: &[PrimExpr]) -> String {
    format!("({})", shape.iter().map(shown_size).collect::<Vec<_>>().join(", "))
}

/// The function under construction.
struct LoopFunction {
    /// Number of variables before the loop.
    vars_before: usize,
    position: Var,
    params: Vec<Var>,
    /// The state after an iteration.
    values: Vec<Value>,
    next: Vec<Operand>,
    condition: Option<Operand>,
    outputs: Vec<Output>,
}

impl LoopFunction {
    /// Imports the body.
    fn import<'m>(n: &mut Node<'_, 'm>, state: &State, import_body: &mut ImportBody<'_, 'm>) -> Result<LoopFunction> {
        let build = &mut n.importer.build;
        let vars_before = build.function.vars.len();
        let position = build.nested_var("position", Type::tensor([0i64; 0], DType::INT64));
        let types = (0..state.types.len()).map(|at| state.type_of(at));
        let params: Vec<Var> = types.map(|ty| build.nested_var("state", ty)).collect();
        let value = |at: usize| match (&state.objects[at], state.values[at].narrow()) {
            (Some(object), _) => object.value(Operand::Var(params[at])),
            (None, Some(element)) => Value::of(Operand::Var(params[at]), element),
            (None, None) => Value::Operand(Operand::Var(params[at])),
        };
        let values: Vec<Value> = (0..params.len()).map(value).collect();
        n.importer.loop_depth += 1;
        let iteration = import_body(n, &Operand::Var(position), &values);
        n.importer.loop_depth -= 1;
        let Iteration { condition, state: next, outputs } = iteration?;
        for (at, (before, after)) in state.values.iter().zip(&next).enumerate() {
            if before.narrow().map(|e| e.number) != after.narrow().map(|e| e.number) {
                return n.error(format!("the element type of state {at} changes in an iteration"));
            }
        }
        let values = next;
        let next = values.iter().map(|value| n.importer.build.object_operand(value)).collect::<Result<Vec<_>>>()?;
        Ok(LoopFunction { vars_before, position, params, values, next, condition, outputs })
    }

    /// Binds the function and calls it.
    fn finish(mut self, n: &mut Node, form: &Loop, state: &State, enclosing: Enclosing) -> Result<Results> {
        let stacked = self.stack_outputs(n, form);
        let again = stacked.and_then(|stacked| Ok((self.again(n, form)?, stacked)));
        let inner = n.importer.build.leave_body(enclosing);
        let ((position, again), stacked) = again?;
        let elements: Vec<Value> = self.outputs.drain(..).map(|output| output.value).collect();
        let types = (0..state.types.len()).map(|at| state.result_type(at));
        let ret = Type::Tuple(types.chain(stacked.iter().map(Stacked::ty)).collect());
        let build = &mut n.importer.build;
        let function = build.nested_var("loop", Type::Any);
        let params: Vec<Var> =
            [self.position].into_iter().chain(self.params).chain(stacked.iter().map(|s| s.param)).collect();
        let results: Vec<Operand> = self.next.into_iter().chain(stacked.iter().map(|s| s.stored.clone())).collect();
        let call = |args: Vec<Operand>| {
            let callee = Callee::Var(function);
            Bound::Call(Call { callee, args, attrs: Default::default(), ty_args: Vec::new() })
        };
        let args = [position].into_iter().chain(results.iter().cloned()).collect();
        let next = bind_in(n, "result", ret.clone(), call(args));
        let after = bind_in(n, "result", ret.clone(), Bound::Operand(Operand::Tuple(results)));
        let mut bindings = inner;
        let build = &mut n.importer.build;
        let enclosing = build.enter_body();
        build.bind_if("result", ret.clone(), again, next, after);
        bindings.extend(build.leave_body(enclosing));
        let result = bindings.last().map_or(function, |binding| binding.var);
        let lambda = Lambda {
            params,
            ret_ty: ret.clone(),
            pure: true,
            attrs: Default::default(),
            body: body(bindings, Operand::Var(result)),
            span: build.span,
        };
        build.function.vars[function].ty = Type::Callable(Arc::new(build.function.lambda_ty(&lambda)));
        build.push(function, Bound::Function(Box::new(lambda)));
        let first = node::scalar(0.0, DType::INT64)?;
        let mut initial = state.initial.clone();
        for stacked in &stacked {
            initial.push(stacked.initial(n)?);
        }
        let args = [first].into_iter().chain(initial.iter().cloned()).collect();
        let result = match &form.starts {
            None => n.importer.build.bind(ret, call(args))?,
            Some(condition) => {
                let then = bind_in(n, "result", ret.clone(), call(args));
                let otherwise = bind_in(n, "result", ret.clone(), Bound::Operand(Operand::Tuple(initial)));
                n.importer.build.bind_if("result", ret, condition.clone(), then, otherwise)
            }
        };
        let mut results = results_of(n, state, result, &elements)?;
        for (value, stacked) in results.outputs.iter_mut().zip(&stacked) {
            if let StackedForm::Rows(ObjectType::Sequence(element), axis) = &stacked.form {
                let rows = n.importer.build.operand(value)?;
                *value = n.importer.build.concat_sequence(rows, element, *axis as i64, true)?;
            }
        }
        Ok(results)
    }

    /// Stores the outputs in the tensors of all iterations.
    fn stack_outputs(&self, n: &mut Node, form: &Loop) -> Result<Vec<Stacked>> {
        let mut all = Vec::new();
        for output in &self.outputs {
            let build = &mut n.importer.build;
            let row = build.operand(&output.value)?;
            let visible = build.dims(&row)?.iter().all(|dim| build.is_dim_of_first_vars(dim, self.vars_before));
            let Some(rows) = form.rows.as_ref().filter(|_| visible && self.condition.is_none()) else {
                all.push(self.collect_rows(n, output, row)?);
                continue;
            };
            let ty = build.stacked_type(&row, output.axis, rows.clone())?;
            let param = build.nested_var("stacked", ty.clone().into());
            let index = match output.reversed {
                true => from_end(n, rows, &Operand::Var(self.position))?,
                false => Operand::Var(self.position),
            };
            let stored = n.importer.build.store_row(Operand::Var(param), row, index, output.axis)?;
            all.push(Stacked { param, stored, form: StackedForm::Tensor(ty) });
        }
        Ok(all)
    }

    /// Collects rows whose number or shape is not known before the loop in a sequence.
    fn collect_rows(&self, n: &mut Node, output: &Output, row: Operand) -> Result<Stacked> {
        if output.reversed {
            return n.error("reversed outputs of iterations whose number or shape is not known before the loop");
        }
        let build = &mut n.importer.build;
        let mut element = ObjectType::Sequence(build.element_of(&output.value)?);
        element.retain_dims(|dim| build.is_dim_of_first_vars(dim, self.vars_before));
        let param = build.nested_var("rows", Type::Any);
        let stored = n.call("sequence_insert", [Operand::Var(param), row])?;
        Ok(Stacked { param, stored, form: StackedForm::Rows(element, output.axis) })
    }

    /// Returns the next position, and the condition of the next iteration.
    fn again(&self, n: &mut Node, form: &Loop) -> Result<(Operand, Operand)> {
        let position = Operand::Var(self.position);
        let next = n.with_scalar("add", &position, 1.0)?;
        let within = match &form.limit {
            Some(limit) => Some(n.call("less", [next.clone(), limit.clone()])?),
            None => None,
        };
        let again = match (within, self.condition.clone()) {
            (Some(within), Some(condition)) => n.call("logical_and", [within, condition])?,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => node::scalar(1.0, DType::BOOL)?,
        };
        Ok((next, again))
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

/// Tensor of one output of all iterations.
struct Stacked {
    param: Var,
    stored: Operand,
    form: StackedForm,
}

/// How outputs of iterations are stored.
enum StackedForm {
    /// Tensor with a row for each.
    Tensor(TensorType),
    /// Sequence of rows of this type, which are stacked along an axis after the loop.
    Rows(ObjectType, usize),
}

impl Stacked {
    fn ty(&self) -> Type {
        match &self.form {
            StackedForm::Tensor(ty) => ty.clone().into(),
            StackedForm::Rows(..) => Type::Any,
        }
    }

    /// Returns its value before the loop.
    fn initial(&self, n: &mut Node) -> Result<Operand> {
        let StackedForm::Tensor(ty) = &self.form else { return n.call("sequence_construct", []) };
        let (shape, dtype) = (ty.dims().unwrap_or_default().to_vec(), ty.dtype);
        let zero = node::scalar(0.0, dtype.unwrap_or(DType::FLOAT32))?;
        n.call("full", [Operand::Shape(shape), zero])
    }
}

/// Returns a branch that binds one value.
fn bind_in(n: &mut Node, name: &str, ty: Type, value: Bound) -> hammock_ir::relax::Body {
    let build = &mut n.importer.build;
    let enclosing = build.enter_body();
    let var = build.nested_var(name, ty);
    build.push(var, value);
    body(build.leave_body(enclosing), Operand::Var(var))
}

/// Takes the results of a loop out of their tuple; dimensions that the caller does not know get names.
fn results_of(n: &mut Node, state: &State, result: Var, outputs: &[Value]) -> Result<Results> {
    let build = &mut n.importer.build;
    let fields = match build.function.ty(result) {
        Type::Tuple(fields) => fields.clone(),
        _ => Vec::new(),
    };
    let mut values = Vec::new();
    for (at, ty) in fields.into_iter().enumerate() {
        let mut value = Operand::Var(build.bind(ty, Bound::TupleGet(Operand::Var(result), at))?);
        if let Some(ty) = state.types.get(at).filter(|_| state.dynamic_axes.iter().any(|(own, _)| *own == at)) {
            let rename = |(axis, dim): (usize, &PrimExpr)| match state.dynamic_axes.contains(&(at, axis)) {
                true => prim::Var::int64("m").expr(),
                false => dim.clone(),
            };
            let dims: Vec<PrimExpr> = ty.dims().unwrap_or_default().iter().enumerate().map(rename).collect();
            value =
                build.match_cast(value, TensorType { shape: TensorShape::Known(dims.into()), ..ty.clone() }.into())?;
        }
        if let Some(Some(object)) = state.objects.get(at) {
            values.push(object.value(value));
            continue;
        }
        let source = state.values.get(at).or_else(|| outputs.get(at - state.values.len()));
        values.push(match source.and_then(Value::narrow) {
            Some(element) => Value::of(value, element),
            None => Value::Operand(value),
        });
    }
    let outputs = values.split_off(state.types.len());
    Ok(Results { state: values, outputs })
}

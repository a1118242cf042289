//! The recursive function of a loop.

use super::{
    ImportBody, Iteration, Loop, Output, Results, from_end,
    state::{NextState, State},
};
use crate::{
    build::nested::{Enclosing, body},
    node::{self, Node, Result},
    value::{Value, sequence::ObjectType},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{Call, Callee, Lambda, Operand, Value as Bound, Var},
};
use std::sync::Arc;

/// The function under construction.
pub struct LoopFunction {
    position: Var,
    params: Vec<Var>,
    pub next: NextState,
    condition: Option<Operand>,
    outputs: Vec<Output>,
}

impl LoopFunction {
    /// Imports the body.
    pub fn import<'m>(
        n: &mut Node<'_, 'm>,
        state: &State,
        import_body: &mut ImportBody<'_, 'm>,
    ) -> Result<LoopFunction> {
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
        let operands = next.iter().map(|value| n.importer.build.object_operand(value)).collect::<Result<Vec<_>>>()?;
        let next = NextState { values: next, operands, vars_before };
        Ok(LoopFunction { position, params, next, condition, outputs })
    }

    /// Binds the function and calls it.
    pub fn finish(mut self, n: &mut Node, form: &Loop, state: &State, enclosing: Enclosing) -> Result<Results> {
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
        let results: Vec<Operand> =
            self.next.operands.into_iter().chain(stacked.iter().map(|s| s.stored.clone())).collect();
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
            let visible = build.dims(&row)?.iter().all(|dim| build.is_dim_of_first_vars(dim, self.next.vars_before));
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
        element.retain_dims(|dim| build.is_dim_of_first_vars(dim, self.next.vars_before));
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

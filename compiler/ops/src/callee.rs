//! The type of a call of a function: its result type, with symbolic variables bound by the arguments.

use hammock_ir::{
    CallableType, Module, PrimExpr, TensorShape, TensorType, Type, module,
    prim::Substitution,
    relax::{Call, Callee, Function, InferError},
    types::ShapeType,
};

/// The type of a call whose callee is not an operator.
pub fn infer_call(module: &Module, function: &Function, call: &Call) -> Result<Type, InferError> {
    let given = || call.ty_args.first().cloned();
    let (name, ty) = match &call.callee {
        Callee::Global(name) => match module.functions.get(name) {
            Some(module::Function::Tir(f)) => {
                return Ok(f.ret_ty.as_ref().map_or(Type::void(), |t| Type::Prim(t.dtype())));
            }
            Some(f) => (name.to_string(), f.ty()),
            None => return Err(InferError::new(format!("there is no function `{name}` in the module"))),
        },
        Callee::Var(v) => (function.vars[*v].name.to_string(), function.ty(*v).clone()),
        Callee::Extern(_) | Callee::Op(_) => return Ok(given().unwrap_or(Type::Any)),
    };
    match ty {
        Type::Callable(c) => {
            let args: Vec<Type> = call.args.iter().map(|a| function.operand_ty(module, a)).collect();
            apply(&name, &c, &args).map(|ret| given().unwrap_or(ret))
        }
        Type::Any => Ok(given().unwrap_or(Type::Any)),
        _ => Err(InferError::new(format!("`{name}` is called but is not a function"))),
    }
}

/// The result of calling a function with arguments of these types.
fn apply(name: &str, callee: &CallableType, args: &[Type]) -> Result<Type, InferError> {
    let Some(params) = &callee.params else { return Ok(callee.ret.clone()) };
    if params.len() != args.len() {
        let (want, got) = (params.len(), args.len());
        return Err(InferError::new(format!("`{name}` takes {}, but gets {got}", hammock_ir::count(want, "argument"))));
    }
    let mut values = Substitution::default();
    for (param, arg) in params.iter().zip(args) {
        bind(param, arg, &mut values);
    }
    Ok(result(&callee.ret, &values))
}

/// Binds variables that are dimensions of `param` to the dimensions of `arg`.
fn bind(param: &Type, arg: &Type, values: &mut Substitution) {
    match (param, arg) {
        (Type::Tensor(p), Type::Tensor(a)) => bind_dims(p.dims(), a.dims(), values),
        (Type::Shape(p), Type::Shape(a)) => bind_dims(p.dims(), a.dims(), values),
        (Type::Tuple(p), Type::Tuple(a)) => p.iter().zip(a).for_each(|(p, a)| bind(p, a, values)),
        _ => {}
    }
}

fn bind_dims(params: Option<&[PrimExpr]>, args: Option<&[PrimExpr]>, values: &mut Substitution) {
    for (param, arg) in params.into_iter().flatten().zip(args.into_iter().flatten()) {
        if let Some(var) = param.as_var() {
            values.entry(var.clone()).or_insert_with(|| arg.clone());
        }
    }
}

/// The callee's result type for the caller: dimensions that use a variable without a value become unknown.
fn result(ret: &Type, values: &Substitution) -> Type {
    let known = |dims: &[PrimExpr]| {
        let mut bound = true;
        dims.iter().for_each(|d| d.each_var(&mut |v| bound &= values.contains_key(v)));
        bound
    };
    match ret {
        Type::Tensor(t) => {
            let shape = match &t.shape {
                TensorShape::Known(d) if known(d) => return ret.substitute(values),
                TensorShape::Unknown => TensorShape::Unknown,
                other => other.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
            };
            Type::Tensor(TensorType { shape, ..t.clone() })
        }
        Type::Shape(ShapeType::Known(d)) if !known(d) => Type::Shape(ShapeType::Rank(d.len())),
        Type::Tuple(members) => Type::Tuple(members.iter().map(|m| result(m, values)).collect()),
        _ => ret.substitute(values),
    }
}

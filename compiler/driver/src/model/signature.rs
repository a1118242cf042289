//! Signatures of a module's functions: parameters and results, as executables store them.

use hammock_ir::{
    Module, PrimExpr, Type,
    print::{dim_text, type_text},
    relax::{Function, Operand, Value, Var},
    types::ShapeType,
};
use hammock_runtime::image::{
    Signature,
    signature::{Dims, Param, Role, Size, ValueType},
};

/// Signatures of a module's public functions.
pub fn signatures(module: &Module) -> Vec<Signature> {
    let exported =
        module.functions.iter().filter_map(|(name, f)| Some((f.global_symbol().unwrap_or(name), module.relax(name)?)));
    exported.filter(|(_, f)| !f.is_private()).map(|(name, f)| signature(name, f)).collect()
}

/// Signatures of a lowered module. `known` are those from before passes ran, with the names of results, and with parameters
/// that have become constants.
pub(crate) fn lowered(module: &Module, known: &[Signature]) -> Vec<Signature> {
    let complete = |own: Signature| known.iter().find_map(|known| completed(&own, known)).unwrap_or(own);
    signatures(module).into_iter().map(complete).collect()
}

/// A signature completed with the earlier one of the same function; `None` if that is of another function.
fn completed(own: &Signature, known: &Signature) -> Option<Signature> {
    let mut left = own.params.iter().peekable();
    let params = known.params.iter().map(|before| match left.next_if(|param| param.name == before.name) {
        Some(param) => param.clone(),
        None => Param { role: Role::Bound, ..before.clone() },
    });
    let params = params.collect();
    let is_same = known.function == own.function && left.peek().is_none() && known.results.len() == own.results.len();
    let results =
        own.results.iter().zip(&known.results).map(|(own, before)| Param { name: before.name.clone(), ..own.clone() });
    is_same.then(|| Signature { function: own.function.clone(), params, results: results.collect() })
}

fn signature(name: &str, function: &Function) -> Signature {
    let inputs = function.lambda.num_input().unwrap_or(usize::MAX);
    let params = function.lambda.params.iter().enumerate().map(|(at, param)| Param {
        name: function.vars[*param].name.to_string(),
        role: if at < inputs { Role::Input } else { Role::Weight },
        ty: value_type(function.ty(*param)),
    });
    let ret = &function.lambda.ret_ty;
    let types = if let Type::Tuple(fields) = ret { fields.as_slice() } else { std::slice::from_ref(ret) };
    let results = types.iter().zip(names(function, types.len())).map(|(ty, name)| Param {
        name,
        role: Role::Output,
        ty: value_type(ty),
    });
    Signature { function: name.to_owned(), results: results.collect(), params: params.collect() }
}

/// Names of a function's results: those of the variables that it returns, alone or in a tuple; numbers for other values.
fn names(function: &Function, count: usize) -> Vec<String> {
    let result = &function.lambda.body.result;
    let returned = match result {
        Operand::Var(var) => definition(function, *var).unwrap_or(result),
        other => other,
    };
    let operands = if let Operand::Tuple(fields) = returned { fields.as_slice() } else { std::slice::from_ref(result) };
    let name = |at: usize| match operands.get(at).filter(|_| operands.len() == count).and_then(Operand::as_var) {
        Some(var) => function.vars[var].name.to_string(),
        None => at.to_string(),
    };
    (0..count).map(name).collect()
}

/// The operand that a variable is an alias of.
fn definition(function: &Function, var: Var) -> Option<&Operand> {
    let binding = function.lambda.body.bindings().find(|binding| binding.var == var)?;
    if let Value::Operand(operand) = &binding.value { Some(operand) } else { None }
}

/// The type of a value, as signatures show it.
pub fn value_type(ty: &Type) -> ValueType {
    let known = |dims: &[PrimExpr]| Dims::Known(dims.iter().map(size).collect());
    match ty {
        Type::Prim(dtype) => ValueType::Scalar(*dtype),
        Type::Shape(ShapeType::Unknown) => ValueType::Shape(Dims::Unknown),
        Type::Shape(ShapeType::Rank(rank)) => ValueType::Shape(Dims::Rank(*rank)),
        Type::Shape(ShapeType::Known(dims)) => ValueType::Shape(known(dims)),
        Type::Tensor(tensor) => {
            let rank = tensor.ndim().map_or(Dims::Unknown, Dims::Rank);
            ValueType::Tensor { dtype: tensor.dtype, shape: tensor.dims().map_or(rank, known) }
        }
        Type::Tuple(fields) => ValueType::Tuple(fields.iter().map(value_type).collect()),
        other => ValueType::Other(type_text(other)),
    }
}

fn size(dim: &PrimExpr) -> Size {
    dim.as_int().map_or_else(|| Size::Symbol(dim_text(dim)), Size::Static)
}

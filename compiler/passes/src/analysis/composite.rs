//! Names of groups of operators that external code generators take.

use super::attributes::{CODEGEN, COMPOSITE};
use hammock_ir::{
    Attrs, Module, Name,
    relax::{CallTir, Callee, Value},
};

/// Returns the names of a module's graph functions, without those that are groups already, in alphabetical order: TVM
/// numbers the functions that it makes in that order.
pub fn graphs(module: &Module) -> Vec<Name> {
    let is_group =
        |attrs: &Attrs| attrs.is_true("Primitive") || attrs.get(COMPOSITE).is_some() || attrs.get(CODEGEN).is_some();
    let graphs = module.relax_functions().filter(|(_, function)| !is_group(&function.lambda.attrs));
    let mut names: Vec<Name> = graphs.map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names
}

/// Returns the code generator that prefixes a pattern's name.
pub fn codegen_of(composite: &str) -> &str {
    composite.split('.').next().unwrap_or(composite)
}

/// Returns the suffix that a value adds to the name of a function that computes it.
pub fn name_of(value: &Value) -> String {
    let Value::Call(call) = value else { return String::new() };
    let name = match (CallTir::or_inplace(call).and_then(|call| call.kernel()), &call.callee) {
        (Some(kernel), _) => kernel.to_string(),
        (None, Callee::Op(op)) => format!("relax_{op}"),
        (None, Callee::Global(name)) => name.strip_prefix("fused_").unwrap_or(name).to_owned(),
        _ => return String::new(),
    };
    format!("_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

//! BindSymbolicVars: binds symbolic dimensions to fixed sizes, by name.

use crate::{Context, OptionKind, Pass, PassOption, analysis::functions};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr,
    prim::{Substitution, Var},
    relax::{Function, Value},
};
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "BindSymbolicVars",
    doc: "Binds symbolic dimensions to fixed sizes",
    options: &[
        PassOption {
            name: "binding_map",
            kind: OptionKind::Integers,
            default: "{}",
            doc: "Sizes, by names of dimensions",
        },
        PassOption {
            name: "func_name",
            kind: OptionKind::Text,
            default: "\"\"",
            doc: "Function whose dimensions are bound; if empty, all functions",
        },
    ],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let sizes = context.options.integers("binding_map");
    if let Some((name, size)) = sizes.iter().find(|(_, size)| *size < 0) {
        return Err(wrong(format!("a size cannot be negative, but `{name}` is to be {size}")));
    }
    let wanted = context.options.text("func_name");
    let names: Vec<Name> = match wanted.as_str() {
        "" => module.relax_functions().map(|(name, _)| name.clone()).collect(),
        name => vec![functions::find(module, &PASS, name)?],
    };
    let mut used: FxHashSet<&str> = FxHashSet::default();
    let mut known = Vec::new();
    for name in names {
        let Some(Global::Relax(function)) = module.functions.get_mut(&name) else { continue };
        let dimensions = dimensions(function);
        let mut values = Substitution::default();
        for (dimension, size) in &sizes {
            let mut meant = dimensions.iter().filter(|var| **var.name() == **dimension);
            let Some(var) = meant.next() else { continue };
            if meant.next().is_some() {
                let error = wrong(format!("`{name}` has several dimensions called `{dimension}`"));
                return Err(error.label(function.lambda.span, "").help("give them different names"));
            }
            used.insert(dimension);
            values.insert(var.clone(), PrimExpr::int(*size, var.dtype()));
        }
        function.substitute_dims(&values);
        known.extend(dimensions);
    }
    match sizes.iter().find(|(dimension, _)| !used.contains(dimension.as_str())) {
        None => Ok(()),
        Some((dimension, _)) => {
            let names: Vec<&str> = known.iter().map(|var| &**var.name()).collect();
            Err(wrong(format!("there is no symbolic dimension `{dimension}`")).help(
                match nearest(dimension, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if names.is_empty() => "all sizes are known already".to_owned(),
                    None => format!("there are {}", names.join(", ")),
                },
            ))
        }
    }
}

/// Returns the symbolic dimensions that a function defines, by its parameters and by casts in its body.
fn dimensions(function: &Function) -> Vec<Var> {
    let mut found = Vec::new();
    let mut note = |ty: &hammock_ir::Type| {
        ty.each_expr(&mut |e| {
            let var = e.as_var().filter(|var| !found.contains(*var) && function.var_of_scalar(var).is_none());
            found.extend(var.cloned());
        });
    };
    function.lambda.params.iter().for_each(|param| note(function.ty(*param)));
    function.lambda.body.walk(&mut |binding| {
        if let Value::MatchCast(_, ty) = &binding.value {
            note(ty);
        }
    });
    found
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_PASS_OPTIONS, message)
}

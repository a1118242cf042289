//! Equal and unequal programs.

use super::*;
use crate::{
    Attrs, DType, Module, PrimExpr, Span, Type,
    module::Function,
    prim::Var,
    relax::{self, Body, Lambda, Operand},
    types::TensorType,
};

fn identity(names: [&str; 2], dims: [usize; 2], result: usize) -> Function {
    let vars = names.map(Var::int64);
    let ty = |i: usize| Type::from(TensorType::new([vars[dims[i]].expr()], DType::FLOAT32));
    let lambda = Lambda {
        params: Vec::new(),
        ret_ty: ty(result),
        pure: true,
        attrs: Attrs::new().with("global_symbol", "main"),
        body: Body::of(Operand::Tuple(Vec::new())),
        span: Span::NONE,
    };
    let mut f = relax::Function { vars: Default::default(), lambda };
    let params = [0, 1].map(|i| f.new_var(names[i], ty(i), false, Span::NONE));
    f.lambda.params = params.to_vec();
    f.lambda.body = Body::of(params[result].into());
    Function::Relax(f)
}

#[test]
fn names_do_not_matter() {
    let a = identity(["n", "m"], [0, 1], 0);
    assert_eq!(functions(&a, &identity(["x", "x"], [0, 1], 0)), Ok(()));
    assert_eq!(crate::hash::function(&a), crate::hash::function(&identity(["x", "x"], [1, 0], 0)));
}

#[test]
fn the_first_difference_is_named() {
    let a = identity(["n", "m"], [0, 1], 0);
    let other = functions(&a, &identity(["n", "m"], [0, 0], 0)).expect_err("one dimension is shared");
    assert_eq!(other.to_string(), "params.1.type.shape.0: variable 1 against variable 0");
    let other = functions(&a, &identity(["n", "m"], [0, 1], 1)).expect_err("another result");
    assert_eq!(other.path, ["result type", "shape", "0"]);
    assert_ne!(crate::hash::function(&a), crate::hash::function(&identity(["n", "m"], [0, 1], 1)));
}

#[test]
fn modules_compare_functions_by_name() {
    let module = |names: [&str; 2]| {
        let mut module = Module::new();
        for name in names {
            module.functions.insert(name.into(), identity(["n", "m"], [0, 1], 0));
        }
        module
    };
    assert_eq!(modules(&module(["f", "g"]), &module(["g", "f"])), Ok(()));
    assert_eq!(crate::hash::module(&module(["f", "g"])), crate::hash::module(&module(["g", "f"])));
    assert!(modules(&module(["f", "g"]), &module(["f", "h"])).is_err());
}

#[test]
fn expressions_of_one_function() {
    let (n, m) = (Var::int64("n"), Var::int64("n"));
    let double = |v: &Var| v.expr() * PrimExpr::int64(2);
    assert!(exprs(&double(&n), &double(&n)));
    assert!(!exprs(&double(&n), &double(&m)), "variables are themselves, whatever their names");
    let ty = |v: &Var| Type::tensor([v.expr()], DType::FLOAT32);
    assert!(types(&ty(&n), &ty(&n)) && !types(&ty(&n), &ty(&m)));
}

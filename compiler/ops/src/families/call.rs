//! Calls of functions, closures, checks and printing.
//!
//! Representation in the IR: the callee is the first argument ([`Operand::Global`], [`Operand::Extern`] or a variable),
//! the operands of `call_tir` and its variants are one tuple, those of packed calls are separate arguments, and the
//! types of results are [`Call::ty_args`]. An operand printed as a keyword (`format`) precedes the variadic ones.
//!
//! [`Operand::Global`]: hammock_ir::relax::Operand::Global
//! [`Operand::Extern`]: hammock_ir::relax::Operand::Extern
//! [`Call::ty_args`]: hammock_ir::relax::Call::ty_args

use crate::{
    CallContext,
    op::{AttrKind, Op, OperandKind},
    rules::Inferred,
    text::type_text,
};
use hammock_ir::{AttrValue, DType, Type, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = destination_passing();
    ops.extend(packed());
    ops.extend(closures());
    ops.extend(checks());
    ops
}

const CODE: &str = "code generation makes it an instruction";
const REWRITE: &str = "CallTIRRewrite allocates its results and calls the function with them";

/// Calls of functions that write their results into arguments.
fn destination_passing() -> Vec<Op> {
    vec![
        Op::new("call_tir")
            .doc("Calls a TIR function that writes its results into tensors of the given types.")
            .operand("gvar", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .infer(declared_results)
            .own_memory()
            .structural(REWRITE),
        Op::new("call_tir_inplace")
            .doc(
                "Calls a TIR function whose results overwrite the arguments at `inplace_indices`, or are new tensors for -1.",
            )
            .operand("gvar", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .required("inplace_indices", AttrKind::Ints)
            .infer(infer_inplace)
            .writes_in_place()
            .structural(REWRITE),
        Op::new("call_tir_with_grad")
            .doc("`R.call_tir`, with the name of the function that computes its gradient.")
            .operand("gvar", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .required("te_grad_name", AttrKind::Str)
            .attr("te_grad_kwargs", AttrKind::Any, AttrValue::Dict(Vec::new()))
            .infer(declared_results)
            .own_memory()
            .structural(REWRITE),
        Op::new("call_dps_packed")
            .doc("Calls a runtime function that writes its results into tensors of the given types.")
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .infer(declared_results)
            .own_memory()
            .structural(REWRITE),
        Op::new("call_py_func")
            .doc("Calls a function that the host program registered under this name.")
            .operand("func_name", OperandKind::Str)
            .operand("args", OperandKind::Any)
            .infer(declared_results)
            .structural(CODE),
    ]
}

/// Calls of runtime functions that return their results.
fn packed() -> Vec<Op> {
    vec![
        Op::new("call_pure_packed")
            .doc("Calls a runtime function without side effects.")
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Variadic)
            .infer(returned)
            .structural("RemovePurityChecking makes it a plain call"),
        Op::new("call_inplace_packed")
            .doc(
                "Calls a runtime function that may overwrite the arguments at `inplace_indices`, which must not be \
                 used afterwards.",
            )
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Variadic)
            .required("inplace_indices", AttrKind::Ints)
            .infer(returned)
            .writes_in_place()
            .structural("RemovePurityChecking makes it a plain call"),
        Op::new("call_builtin_with_ctx")
            .doc("Calls a runtime function that takes the virtual machine as its first argument.")
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .impure()
            .infer(returned)
            .structural(CODE),
    ]
}

fn closures() -> Vec<Op> {
    vec![
        Op::new("make_closure")
            .doc("Creates a closure: a function with its last arguments bound.")
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .infer(|_| Ok(Type::Any))
            .structural("LowerRuntimeBuiltin"),
        Op::new("invoke_closure")
            .doc("Calls a closure.")
            .operand("closure", OperandKind::Any)
            .operand("args", OperandKind::Any)
            .impure()
            .infer(returned)
            .structural("LowerRuntimeBuiltin"),
        Op::new("invoke_pure_closure")
            .doc("Calls a closure that has no side effects.")
            .operand("closure", OperandKind::Any)
            .operand("args", OperandKind::Any)
            .calls_closure()
            .infer(returned)
            .structural("RemovePurityChecking makes it `R.invoke_closure`"),
        Op::new("null_value")
            .doc("The null value, which denotes an absent object.")
            .example("", "")
            .infer(|_| Ok(Type::Any))
            .structural(CODE),
    ]
}

/// The keyword `format` precedes the values in the IR, as in the runtime functions.
fn checks() -> Vec<Op> {
    vec![
        Op::new("assert_op")
            .doc("Stops with a message unless a condition holds.")
            .example("x: float32[2]", r#"R.const(True, "bool"), x, format="x was {}""#)
            .operand("condition", OperandKind::Any)
            .operand_or("format", OperandKind::Str, "")
            .operand("format_args", OperandKind::Variadic)
            .impure_reader()
            .infer(infer_assert)
            .packed("relax.run.assert_op"),
        Op::new("print")
            .doc("Prints values, with a format that has a `{}` for each, or one after another.")
            .example("x: float32[2]", r#"x, format="x is {}""#)
            .operand_or("format", OperandKind::Str, "")
            .operand("values", OperandKind::Variadic)
            .impure_reader()
            .infer(|_| Ok(Type::void()))
            .packed("relax.run.print"),
    ]
}

/// The type of a call declared by its type arguments; any type if there are none.
fn returned(cx: &CallContext) -> Inferred {
    Ok(match cx.call.ty_args.as_slice() {
        [] => Type::Any,
        [one] => one.clone(),
        several => Type::Tuple(several.to_vec()),
    })
}

/// The type of a call that writes tensors of the given types.
fn declared_results(cx: &CallContext) -> Inferred {
    if cx.call.ty_args.is_empty() {
        return Err(cx.error("the types of the results are missing").help("give them as `out_ty=R.Tensor(…)`"));
    }
    let ty = returned(cx)?;
    expect_tensors(cx, &ty)?;
    Ok(ty)
}

fn expect_tensors(cx: &CallContext, ty: &Type) -> Result<(), InferError> {
    match ty {
        Type::Tensor(_) | Type::DTensor(_) => Ok(()),
        Type::Tuple(members) => members.iter().try_for_each(|m| expect_tensors(cx, m)),
        other => {
            Err(cx.error_at("out_ty", format_args!("`out_ty` must be a tensor or several, not {}", type_text(other))))
        }
    }
}

fn infer_inplace(cx: &CallContext) -> Inferred {
    let ty = declared_results(cx)?;
    let results = ty.as_tuple().map_or(1, <[Type]>::len);
    let indices = cx.ints("inplace_indices")?;
    if indices.len() != results {
        let count = indices.len();
        return Err(cx.error_at(
            "inplace_indices",
            format_args!("`inplace_indices` must have one entry for each of {results} results, not {count}"),
        ));
    }
    let args = cx.ty("args")?.as_tuple().map_or(1, <[Type]>::len) as i64;
    for (i, index) in indices.iter().enumerate() {
        if *index < -1 || *index >= args {
            return Err(cx.error_at(
                "inplace_indices",
                format_args!(
                    "`inplace_indices` holds {index}, but `args` has {}",
                    hammock_ir::count(args as usize, "member")
                ),
            ));
        }
        if *index >= 0 && indices[..i].contains(index) {
            return Err(
                cx.error_at("inplace_indices", format_args!("`inplace_indices` writes over argument {index} twice"))
            );
        }
    }
    Ok(ty)
}

fn infer_assert(cx: &CallContext) -> Inferred {
    let ty = cx.ty("condition")?;
    let fits = match &ty {
        Type::Prim(dtype) => dtype.is_bool(),
        Type::Tensor(t) => t.dtype.is_none_or(|t| t == DType::BOOL) && t.ndim().is_none_or(|n| n == 0),
        Type::Any => true,
        _ => false,
    };
    if !fits {
        let found = type_text(&ty);
        return Err(cx.error_at(
            "condition",
            format_args!("`condition` must be a bool, or a bool tensor without dimensions, not {found}"),
        ));
    }
    Ok(Type::void())
}

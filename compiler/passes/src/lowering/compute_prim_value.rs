//! ComputePrimValue: computes scalars that the shape heap cannot hold by TIR functions.
//!
//! The heap holds int64 values. An operand such as `n < 4` or `T.Cast("float32", n)` becomes a call of a small private
//! TIR function of the variables in it that returns the value.

use crate::{
    Context, Pass,
    analysis::symbolic,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, DType, Function as Global, Module, Name, PrimExpr, Span, Type,
    prim::{PrimType, Substitution},
    relax::{Call, Callee, Function, Operand, Value},
    tir::{Param, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ComputePrimValue",
    doc: "Moves scalar arithmetic on dtypes other than int64 into small TIR functions",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made: FxHashMap<String, Name> = FxHashMap::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            let span = binding.span;
            binding.value.each_operand_mut(&mut |o| {
                o.map(&mut |o| {
                    if let Operand::Prim(e) = o
                        && needs_function(e)
                    {
                        *o = compute(module, &mut made, function, out, e, span);
                    }
                })
            });
            out.push(binding);
            Ok(())
        })
    })
}

fn needs_function(e: &PrimExpr) -> bool {
    e.as_int().is_none() && e.as_float().is_none() && e.as_var().is_none() && e.dtype() != DType::INT64
}

fn compute(
    module: &mut Module,
    made: &mut FxHashMap<String, Name>,
    function: &mut Function,
    out: &mut Emitter,
    e: &PrimExpr,
    span: Span,
) -> Operand {
    let name = made
        .entry(symbolic::key(e))
        .or_insert_with(|| module.add_unique("compute_symbolic_expr", Global::Tir(returning(e))));
    let args = symbolic::vars(e).iter().map(|v| Operand::Prim(v.expr())).collect();
    let callee = Callee::Global(name.clone());
    let ty = Type::Prim(e.dtype());
    let call = Call { callee, args, attrs: Attrs::new(), ty_args: Vec::new() };
    out.bind(function, "gv", ty, Value::Call(call), span).into()
}

/// Returns a function of an expression's variables that returns its value.
fn returning(e: &PrimExpr) -> PrimFunc {
    let vars = symbolic::vars(e);
    let params: Vec<Param> = vars.iter().map(|v| Param::scalar(v.fresh())).collect();
    let fresh: Substitution = vars.into_iter().zip(params.iter().map(|p| p.var.expr())).collect();
    PrimFunc {
        params,
        ret_ty: Some(PrimType::Scalar(e.dtype())),
        body: Stmt::new(StmtKind::Return(e.substitute(&fresh))),
        attrs: symbolic::size_function(),
        s_tir: true,
        span: Span::default(),
    }
}

//! Small functions to compile.

use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Param, PrimFunc, Stmt},
};

/// Returns a function called `f` whose pointers do not overlap.
pub fn func(params: Vec<Param>, body: Stmt) -> PrimFunc {
    let attrs = Attrs::new().with("global_symbol", "f").with("tirx.noalias", true);
    PrimFunc { params, ret_ty: None, body, attrs, s_tir: false, span: Default::default() }
}

/// `out_k[i] = f_k(in0[i], in1[i], …)` over `n` elements.
pub fn elementwise(inputs: usize, from: DType, f: impl Fn(&[PrimExpr]) -> Vec<PrimExpr>) -> PrimFunc {
    let n = Var::int64("n");
    let buffer = |name: String, dtype| Buffer::new(name, vec![n.expr()], dtype);
    let ins: Vec<Buffer> = (0..inputs).map(|k| buffer(format!("in{k}"), from)).collect();
    let i = Var::int64("i");
    let loaded: Vec<PrimExpr> = ins.iter().map(|b| PrimExpr::load(b, vec![i.expr()])).collect();
    let values = f(&loaded);
    let outs: Vec<Buffer> = values.iter().enumerate().map(|(k, v)| buffer(format!("out{k}"), v.dtype())).collect();
    let stores = outs.iter().zip(values).map(|(b, value)| Stmt::store(b, vec![i.expr()], value));
    let body = Stmt::serial(i.clone(), n.expr(), Stmt::seq(stores.collect::<Vec<_>>()));
    func(ins.into_iter().chain(outs).map(Param::buffer).collect(), body)
}

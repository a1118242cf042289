//! Functions in block TIR for tests, in the form that legalization produces.

use hammock_ir::{
    DType, PrimExpr,
    prim::{IterKind, Var},
    tir::{Block, BlockAxis, Buffer, Param, PrimFunc, Stmt},
};
use std::slice::from_ref;

/// Initialization and body of a block.
pub type Body = (Option<Stmt>, Stmt);

/// Creates a block with axes (`S` or `R` and an extent each) in as many loops.
pub fn sblock(name: &str, axes: &[(char, PrimExpr)], body: impl FnOnce(&[PrimExpr]) -> Body) -> Stmt {
    let loops: Vec<Var> = (0..axes.len()).map(|i| Var::int64(format!("i{i}"))).collect();
    let vars: Vec<Var> = (0..axes.len()).map(|i| Var::int64(format!("v{i}"))).collect();
    let values: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
    let (init, stmt) = body(&values);
    let axis = |i: usize| BlockAxis {
        var: vars[i].clone(),
        dom: (PrimExpr::int64(0), axes[i].1.clone()),
        kind: if axes[i].0 == 'S' { IterKind::Spatial } else { IterKind::Reduce },
        binding: loops[i].expr(),
    };
    let block = Block {
        name: name.into(),
        axes: (0..axes.len()).map(axis).collect(),
        init,
        reads: None,
        writes: None,
        ..Block::root(Vec::new(), stmt)
    };
    let nest = |inner, i: usize| Stmt::serial(loops[i].clone(), axes[i].1.clone(), inner);
    (0..axes.len()).rev().fold(block.into(), nest)
}

/// Creates a function of buffers, with temporary ones.
pub fn function(params: &[&Buffer], temporaries: &[&Buffer], stages: Vec<Stmt>) -> PrimFunc {
    PrimFunc {
        params: params.iter().map(|b| Param::buffer((*b).clone())).collect(),
        ret_ty: None,
        body: Block::root(temporaries.iter().map(|b| (*b).clone()).collect(), Stmt::seq(stages)).into(),
        attrs: [("global_symbol", "main")].into_iter().collect(),
        s_tir: true,
        span: hammock_ir::Span::default(),
    }
}

/// Creates a buffer with 64-bit sizes.
pub fn buffer(name: &str, shape: &[PrimExpr], dtype: DType) -> Buffer {
    Buffer::new(name, shape.to_vec(), dtype)
}

/// `C[i, j] = sum over k of A[i, k] * B[k, j]`.
pub fn matmul(n: PrimExpr, m: PrimExpr, k: PrimExpr, dtype: DType) -> PrimFunc {
    let a = buffer("A", &[n.clone(), k.clone()], dtype);
    let b = buffer("B", &[k.clone(), m.clone()], dtype);
    let c = buffer("C", &[n.clone(), m.clone()], dtype);
    let stage = sblock("matmul", &[('S', n), ('S', m), ('R', k)], |v| {
        let at = vec![v[0].clone(), v[1].clone()];
        let product =
            PrimExpr::load(&a, vec![v[0].clone(), v[2].clone()]) * PrimExpr::load(&b, vec![v[2].clone(), v[1].clone()]);
        let sum = PrimExpr::load(&c, at.clone()) + product;
        (Some(Stmt::store(&c, at.clone(), PrimExpr::constant(0.0, dtype))), Stmt::store(&c, at, sum))
    });
    function(&[&a, &b, &c], &[], vec![stage])
}

/// `B[i] = f(A[i])` over `n` elements.
pub fn map(n: PrimExpr, from: DType, to: DType, f: impl FnOnce(PrimExpr) -> PrimExpr) -> PrimFunc {
    let (a, b) = (buffer("A", from_ref(&n), from), buffer("B", from_ref(&n), to));
    let stage = sblock("map", &[('S', n)], |v| (None, Stmt::store(&b, v.to_vec(), f(PrimExpr::load(&a, v.to_vec())))));
    function(&[&a, &b], &[], vec![stage])
}

//! Kernels that store one iteration's output in the tensor of all iterations.

use super::Builder;
use hammock_ir::{
    Attrs, DType, Function as Global, Name, PrimExpr, Span, TensorShape, TensorType, Type,
    prim::{self, IterKind},
    relax::{Call, InferError, Operand, Value as Bound},
    tir::{Block, BlockAxis, Buffer, Param, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Kernels so far, by the row's static dimensions, its dtype and the axis of iterations.
#[derive(Default)]
pub struct RowKernels(FxHashMap<(Vec<Option<i64>>, DType, usize), Name>);

impl Builder {
    /// Overwrites one index of an axis of `all` by `row`, in place; returns the result, of the same type.
    pub fn store_row(
        &mut self,
        all: Operand,
        row: Operand,
        index: Operand,
        axis: usize,
    ) -> Result<Operand, InferError> {
        let (ty, sizes) = (self.tensor(&all)?, self.dims(&row)?);
        let key = (sizes.iter().map(PrimExpr::as_int).collect::<Vec<_>>(), self.dtype(&row)?, axis);
        let kernel = match self.row_kernels.0.get(&key) {
            Some(kernel) => kernel.clone(),
            None => {
                let name: Name = match self.row_kernels.0.len() {
                    0 => "store_row".into(),
                    count => format!("store_row{count}").into(),
                };
                self.module.functions.insert(name.clone(), Global::Tir(kernel(&key.0, key.1, axis)));
                self.row_kernels.0.insert(key, name.clone());
                name
            }
        };
        let ty: Type = ty.into();
        let call = Call::tir_inplace(kernel, vec![row, index, all], ty.clone(), &[Some(2)]);
        self.bind(ty, Bound::Call(call)).map(Operand::Var)
    }

    /// Returns the type of all rows: the row's type with another axis.
    pub fn stacked_type(&self, row: &Operand, axis: usize, count: PrimExpr) -> Result<TensorType, InferError> {
        let mut dims = self.dims(row)?;
        dims.insert(axis, count);
        Ok(TensorType { shape: TensorShape::Known(dims.into()), ..self.tensor(row)? })
    }
}

/// `all[.., index, ..] = row`
fn kernel(sizes: &[Option<i64>], dtype: DType, axis: usize) -> PrimFunc {
    let size = |(at, size): (usize, &Option<i64>)| match size {
        Some(size) => PrimExpr::int64(*size),
        None => prim::Var::int64(format!("s{at}")).expr(),
    };
    let sizes: Vec<PrimExpr> = sizes.iter().enumerate().map(size).collect();
    let mut shape = sizes.clone();
    shape.insert(axis, prim::Var::int64("count").expr());
    let row = Buffer::new("row", sizes.clone(), dtype);
    let index = Buffer::new("index", Vec::new(), DType::INT64);
    let all = Buffer::new("all", shape, dtype);
    let loops: Vec<prim::Var> = (0..sizes.len()).map(|at| prim::Var::int64(format!("ax{at}"))).collect();
    let axis_of = |(var, size): (&prim::Var, &PrimExpr)| BlockAxis {
        var: prim::Var::int64(format!("v_{}", var.name())),
        dom: (PrimExpr::int64(0), size.clone()),
        kind: IterKind::Spatial,
        binding: var.expr(),
    };
    let axes: Vec<BlockAxis> = loops.iter().zip(&sizes).map(axis_of).collect();
    let at: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    let mut target = at.clone();
    target.insert(axis, PrimExpr::load(&index, Vec::new()));
    let body = Stmt::store(&all, target, PrimExpr::load(&row, at));
    let block = Block { name: "row".into(), axes, reads: None, writes: None, ..Block::root(Vec::new(), body) };
    let nest = loops.into_iter().zip(&sizes).rev();
    let body = nest
        .fold(Stmt::new(StmtKind::Block(Box::new(block))), |body, (var, size)| Stmt::serial(var, size.clone(), body));
    let params = [row, index, all].map(Param::buffer).to_vec();
    let attrs = Attrs::new().with("tirx.noalias", true);
    PrimFunc { params, ret_ty: None, body: Block::root(Vec::new(), body).into(), attrs, s_tir: true, span: Span::NONE }
}

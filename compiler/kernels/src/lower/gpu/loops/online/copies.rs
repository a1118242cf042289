//! Asynchronous copies of the operands of matmuls to shared memory, in accesses of 16 bytes.

use super::super::{
    guarded,
    stage::{scaled, sum},
};
use crate::schedule::gpu::tensor_cores::matrix_row;
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Substitution, Var},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::Stage;

/// An operand in shared memory: rows along one of its axes, padded so that `ldmatrix` has no bank conflicts.
pub struct SharedOperand {
    /// The copy.
    pub buffer: Buffer,
    /// Operand that is copied.
    load: PrimExpr,
    /// Condition without which it is zero.
    inside: Option<PrimExpr>,
    /// Variables of the axes along which there are rows, and of their elements.
    vars: [Var; 2],
    extents: [i64; 2],
}

impl SharedOperand {
    /// Returns the copy of an operand of a stage along an axis of rows and an axis of their elements.
    pub fn new(stage: &Stage, load: &PrimExpr, inside: Option<&PrimExpr>, axes: [usize; 2]) -> SharedOperand {
        let extents = axes.map(|axis| stage.axes[axis].extent.as_int().unwrap_or(0));
        let shape = vec![PrimExpr::int64(extents[0]), PrimExpr::int64(extents[1] + matrix_row(load.dtype()))];
        let name = match load.kind() {
            PrimKind::Load(buffer, ..) => format!("{}_shared", buffer.name),
            _ => "operand_shared".to_owned(),
        };
        let buffer = Buffer::scoped(name, shape, load.dtype(), "shared");
        let vars = axes.map(|axis| stage.axes[axis].var.clone());
        SharedOperand { buffer, load: load.clone(), inside: inside.cloned(), vars, extents }
    }

    /// Returns the allocation.
    pub fn allocation(&self) -> Stmt {
        Stmt::new(StmtKind::Alloc(self.buffer.clone(), Default::default()))
    }

    /// Returns the copy by some threads, with values for variables around it.
    pub fn copy(&self, thread: &Var, threads: i64, values: &Substitution) -> Stmt {
        let [rows, columns] = self.extents;
        let lanes = matrix_row(self.load.dtype());
        let (total, chunks) = (rows * columns / lanes, columns / lanes);
        let turn = Var::int64("turn");
        let number = sum(&scaled(turn.expr(), threads), &thread.expr());
        let row = number.clone().floordiv(PrimExpr::int64(chunks));
        let column = scaled(number.clone().floormod(PrimExpr::int64(chunks)), lanes);
        let at = [&row, &column].map(PrimExpr::clone);
        let local: Substitution = self.vars.iter().cloned().zip(at).collect();
        let place = |e: &PrimExpr| e.substitute(values).substitute(&local);
        let address = |element: PrimExpr| PrimExpr::intrin("address_of", vec![element], DType::HANDLE);
        let (to, zero) = (PrimExpr::load(&self.buffer, vec![row, column]), PrimExpr::int64(0));
        let bytes = PrimExpr::int64(lanes * self.load.dtype().bytes() as i64);
        let args = vec![address(to), zero.clone(), address(place(&self.load)), zero, bytes];
        let args = args.into_iter().chain(self.inside.as_ref().map(place)).collect();
        let copy = Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("ptx_cp_async", args, self.load.dtype())));
        let copy = if total % threads == 0 { copy } else { guarded(number.lt(PrimExpr::int64(total)), copy) };
        Stmt::for_kind(turn, PrimExpr::int64((total + threads - 1) / threads), ForKind::Unrolled, copy)
    }
}

//! Kernels as FuseRows sees them: the accesses of their stages.

use hammock_ir::tir::{Buffer, PrimFunc, Stmt, StmtKind};
use hammock_loopnest::{Cost, Stage, promote_indices, row_axes::StageAccesses};

/// A kernel made of stages, with one result.
pub struct Kernel {
    /// The accesses of its stages, in order.
    pub stages: Vec<StageAccesses<Buffer>>,
    /// Buffers of its operands.
    pub inputs: Vec<Buffer>,
    /// Buffer of its result.
    pub output: Buffer,
    /// Approximate number of operations in its expressions, over all stages.
    pub work: i64,
}

impl Kernel {
    /// Reads a kernel; `None` if it is more than stages without side effects, or takes anything but tensors and
    /// scalars.
    pub fn of(func: &PrimFunc) -> Option<Kernel> {
        if func.params.iter().any(|param| param.buffer.is_none() && param.var.dtype().is_handle()) {
            return None;
        }
        let mut inputs: Vec<Buffer> = func.buffers().cloned().collect();
        let output = inputs.pop()?;
        let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.elem_offset.is_none();
        if !func.is_noalias() || !func.s_tir || !inputs.iter().chain([&output]).all(plain) {
            return None;
        }
        let mut body = func.body.clone();
        promote_indices(&mut body);
        let mut stages = Vec::new();
        read(&body, &mut stages)?;
        let stored = |buffer: &Buffer| stages.iter().any(|stage| stage.store.buffer == *buffer);
        let last = stages.last().is_some_and(|stage| stage.store.buffer == output);
        let fits = last && !inputs.iter().any(stored);
        fits.then(|| Kernel { stages, inputs, output, work: operations(&func.body) })
    }
}

fn read(stmt: &Stmt, stages: &mut Vec<StageAccesses<Buffer>>) -> Option<()> {
    match &stmt.kind {
        StmtKind::Seq(stmts) => stmts.iter().try_for_each(|stmt| read(stmt, stages)),
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => read(&block.body, stages),
        _ => {
            stages.push(StageAccesses::of(&Stage::raise(stmt)?)?);
            Some(())
        }
    }
}

/// Returns the approximate number of operations in all stored values.
fn operations(body: &Stmt) -> i64 {
    let mut total = 0;
    body.walk(&mut |stmt| {
        if let StmtKind::Store { value, .. } = &stmt.kind {
            total += i64::from(Cost::of(value).operations);
        }
    });
    total
}

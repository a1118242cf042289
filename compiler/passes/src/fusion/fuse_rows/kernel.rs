//! Kernels as FuseRows sees them: lists of stages.

use hammock_ir::{
    PrimExpr,
    arith::Analyzer,
    prim::{IterKind, PrimKind},
    tir::{
        BlockAxis, Buffer, PrimFunc, Stmt, StmtKind,
        rows::{Nest, NestAxis},
        stage::{Cost, Stage},
    },
};

/// A kernel made of stages, with one result.
pub struct Kernel {
    /// Its stages, in order.
    pub nests: Vec<Nest<Buffer>>,
    /// Buffers of its operands.
    pub inputs: Vec<Buffer>,
    /// Buffer of its result.
    pub output: Buffer,
    /// Approximate number of operations in its expressions, over all stages.
    pub work: i64,
}

impl Kernel {
    /// Reads a kernel; `None` if it is more than loops around stores, or takes anything but tensors and scalars.
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
        let mut stages = Vec::new();
        read(&func.body, &mut stages)?;
        let nests = stages.iter().map(nest).collect::<Option<Vec<_>>>()?;
        let values = stages.iter().flat_map(|stage| stage.init.iter().map(|init| init.value).chain([stage.value]));
        let work = values.map(|value| i64::from(Cost::of(value).operations)).sum();
        let stored = |buffer: &Buffer| nests.iter().any(|nest| nest.store.buffer == *buffer);
        let last = nests.last().is_some_and(|nest| nest.store.buffer == output);
        (last && !inputs.iter().any(stored)).then_some(Kernel { nests, inputs, output, work })
    }
}

fn read<'s>(stmt: &'s Stmt, stages: &mut Vec<Stage<'s>>) -> Option<()> {
    match &stmt.kind {
        StmtKind::Seq(stmts) => stmts.iter().try_for_each(|stmt| read(stmt, stages)),
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => read(&block.body, stages),
        _ => {
            stages.push(Stage::of(stmt, |e| Analyzer::new().simplify(e))?);
            Some(())
        }
    }
}

/// Returns a stage, if its expressions have no side effects.
fn nest(stage: &Stage) -> Option<Nest<Buffer>> {
    let mut loads = Vec::new();
    let mut free = true;
    for value in stage.init.iter().map(|init| init.value).chain([stage.value]) {
        value.walk(&mut |e| match e.kind() {
            PrimKind::Load(buffer, indices, None) => loads.push((buffer.clone(), buffer, indices.as_slice())),
            _ => free &= !has_effects(e),
        });
    }
    // The order of a block's axes is only a convention of its author.
    let axis = |axis: &BlockAxis| NestAxis {
        var: axis.var.clone(),
        extent: axis.dom.1.clone(),
        reduce: axis.kind == IterKind::Reduce,
    };
    let axes = stage.block.axes.iter().map(axis).collect();
    free.then(|| Nest::new(axes, (stage.buffer.clone(), stage.buffer, stage.indices), loads))
}

/// Returns true if an expression has side effects.
fn has_effects(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Let(..) | PrimKind::Reduce(_) | PrimKind::Load(..) => true,
        PrimKind::Var(var) => var.dtype().is_handle(),
        PrimKind::Call(call) => call.runs_function(),
        _ => false,
    }
}

//! What FuseRows knows of a kernel: its stages.

use hammock_ir::{
    PrimExpr,
    prim::{IterKind, PrimCallee, PrimKind},
    tir::{
        Block, Buffer, ForKind, PrimFunc, Stmt, StmtKind,
        rows::{Nest, NestAxis},
    },
};

/// A kernel made of stages, with one result.
pub struct Kernel {
    /// Its stages, in order.
    pub nests: Vec<Nest<Buffer>>,
    /// The buffers of its operands.
    pub inputs: Vec<Buffer>,
    /// The buffer of its result.
    pub output: Buffer,
    /// About how many operations its values take, stage by stage.
    pub work: i64,
}

/// What a function of mathematics costs, in operations.
const FUNCTION: i64 = 40;

impl Kernel {
    /// Reads a kernel; `None` if it is more than loops around stores, or takes more than tensors.
    pub fn of(func: &PrimFunc) -> Option<Kernel> {
        let mut inputs = func.params.iter().map(|param| param.buffer.clone()).collect::<Option<Vec<Buffer>>>()?;
        let output = inputs.pop()?;
        let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.elem_offset.is_none();
        if !func.is_noalias() || !func.s_tir || !inputs.iter().chain([&output]).all(plain) {
            return None;
        }
        let mut nests = Vec::new();
        stages(&func.body, &mut nests)?;
        let mut work = 0;
        func.body.walk(&mut |stmt| {
            if let StmtKind::Store { value, .. } = &stmt.kind {
                value.walk(&mut |e| work += operations(e));
            }
        });
        let stored = |buffer: &Buffer| nests.iter().any(|nest| nest.store.buffer == *buffer);
        let last = nests.last().is_some_and(|nest| nest.store.buffer == output);
        (last && !inputs.iter().any(stored)).then_some(Kernel { nests, inputs, output, work })
    }
}

fn stages(stmt: &Stmt, nests: &mut Vec<Nest<Buffer>>) -> Option<()> {
    match &stmt.kind {
        StmtKind::Seq(stmts) => stmts.iter().try_for_each(|stmt| stages(stmt, nests)),
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => stages(&block.body, nests),
        _ => {
            nests.push(stage(stmt)?);
            Some(())
        }
    }
}

/// Plain loops around a block with one store, an axis for each loop.
fn stage(stmt: &Stmt) -> Option<Nest<Buffer>> {
    let (mut inner, mut loops) = (stmt, Vec::new());
    while let StmtKind::For(l) = &inner.kind {
        if l.kind != ForKind::Serial || l.step.is_some() || l.min.as_int() != Some(0) || !l.annotations.is_empty() {
            return None;
        }
        loops.push(l.var.clone());
        inner = &l.body;
    }
    let StmtKind::Block(block) = &inner.kind else { return None };
    let bound = |axis: &hammock_ir::tir::BlockAxis| {
        axis.binding.as_var().is_some_and(|var| loops.contains(var)) && axis.dom.0.as_int() == Some(0)
    };
    let plain = block.predicate.is_none() && block.match_buffers.is_empty() && block.alloc_buffers.is_empty();
    if !plain || block.no_realize || block.axes.len() != loops.len() || !block.axes.iter().all(bound) {
        return None;
    }
    let StmtKind::Store { buffer, indices, value, predicate: None } = &block.body.kind else { return None };
    let first = match &block.init {
        None => None,
        Some(init) => match &init.kind {
            StmtKind::Store { buffer: own, value, predicate: None, .. } if own == buffer => Some(value),
            _ => return None,
        },
    };
    let mut loads = Vec::new();
    let mut free = true;
    for value in first.into_iter().chain([value]) {
        value.walk(&mut |e| match e.kind() {
            PrimKind::Load(buffer, indices, None) => loads.push((buffer.clone(), buffer, indices.as_slice())),
            _ => free &= !acts(e),
        });
    }
    free.then(|| Nest::new(axes(block), (buffer.clone(), buffer, indices), loads))
}

fn axes(block: &Block) -> Vec<NestAxis> {
    let axis = |axis: &hammock_ir::tir::BlockAxis| NestAxis {
        var: axis.var.clone(),
        extent: axis.dom.1.clone(),
        reduce: axis.kind != IterKind::Spatial,
    };
    block.axes.iter().map(axis).collect()
}

fn operations(e: &PrimExpr) -> i64 {
    match e.kind() {
        PrimKind::Call(call) if !matches!(&call.callee, PrimCallee::Intrin(name) if &**name == "if_then_else") => {
            FUNCTION
        }
        PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) | PrimKind::Load(..) => 0,
        _ => 1,
    }
}

/// Whether an expression does more than compute a value.
fn acts(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Let(..) | PrimKind::Reduce(_) | PrimKind::Load(..) => true,
        PrimKind::Var(var) => var.dtype().is_handle(),
        PrimKind::Call(call) => call.runs_function(),
        _ => false,
    }
}

//! Thread axes of a device region: loops of the same axis share its index, and become `T.launch_thread` attributes.

use super::barriers::has_barrier;
use crate::Reason;
use hammock_ir::{
    Name, PrimExpr,
    prim::{IterKind, IterVar, Substitution, Var, intrinsics::THREAD_AXES},
    tir::{AttrNode, ForKind, Loop, Stmt, StmtKind},
};
use hammock_loopnest::index::same_expr;
use hammock_target::Gpu;

/// Thread axes of a region.
pub struct ThreadAxes {
    axes: [Option<(Var, PrimExpr)>; 6],
}

impl ThreadAxes {
    /// Removes the loops over thread axes from the body of a region. A loop that is shorter than its axis becomes a
    /// condition.
    ///
    /// # Errors
    /// When an axis is unknown, or a barrier is in a loop that is shorter than its axis.
    pub fn extract(body: &mut Stmt) -> Result<ThreadAxes, Reason> {
        let mut axes = ThreadAxes { axes: Default::default() };
        let mut found = Ok(());
        axes.measure(body, &mut found);
        found?;
        axes.bind(body)?;
        Ok(axes)
    }

    /// Returns the extents of the grid in blocks, and of a block in threads.
    pub fn extents(&self) -> [PrimExpr; 6] {
        self.axes.each_ref().map(|axis| axis.as_ref().map_or_else(|| PrimExpr::int64(1), |(_, extent)| extent.clone()))
    }

    /// Returns the variables of the axes' indices.
    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        self.axes.iter().flatten().map(|(var, _)| var)
    }

    /// Returns the variables that differ between the threads of a block.
    pub fn thread_vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.axes[3..].iter().flatten().map(|(var, _)| var.clone())
    }

    /// Returns an upper bound of the threads of a block.
    ///
    /// # Errors
    /// When there are too many.
    pub fn max_threads(&self, gpu: &Gpu) -> Result<u32, Reason> {
        let extents = self.extents();
        let sizes = extents[3..].iter().map(|extent| extent.as_int());
        let limit = gpu.max_block_threads;
        let Some(count) = sizes.reduce(|a, b| a?.checked_mul(b?)).flatten() else { return Ok(limit) };
        u32::try_from(count)
            .ok()
            .filter(|count| *count <= limit)
            .ok_or_else(|| Reason::GpuLimit(format!("a block has {count} threads, and {} allows {limit}", gpu.name)))
    }

    /// Returns a body with the attributes of all axes around it.
    pub fn launch(&self, body: Stmt) -> Stmt {
        let axes = THREAD_AXES.iter().zip(&self.axes).rev();
        axes.filter_map(|(name, axis)| Some((name, axis.as_ref()?))).fold(body, |body, (name, (var, extent))| {
            let iter = IterVar { var: var.clone(), dom: None, kind: IterKind::ThreadIndex, thread: (*name).into() };
            let (node, key) = (AttrNode::Thread(iter), "thread_extent".into());
            Stmt::new(StmtKind::Attr { node, key, value: extent.clone(), body: Box::new(body) })
        })
    }

    /// Collects the extents of all axes.
    fn measure(&mut self, stmt: &Stmt, found: &mut Result<(), Reason>) {
        if let StmtKind::For(l) = &stmt.kind
            && let ForKind::ThreadBinding(thread) = &l.kind
        {
            match number(thread) {
                None => *found = Err(Reason::GpuLimit(format!("there is no thread axis `{thread}`"))),
                Some(number) => {
                    let axis = &mut self.axes[number];
                    let extent = match axis.take() {
                        None => (Var::int64(l.var.name().clone()), l.extent.clone()),
                        Some((var, known)) => (var, longer(known, &l.extent)),
                    };
                    *axis = Some(extent);
                }
            }
        }
        stmt.each_child(&mut |stmt| self.measure(stmt, found));
    }

    /// Replaces loops by their bodies, with the axes' indices.
    fn bind(&self, stmt: &mut Stmt) -> Result<(), Reason> {
        let mut result = Ok(());
        stmt.each_child_mut(&mut |stmt| {
            if result.is_ok() {
                result = self.bind(stmt);
            }
        });
        result?;
        if let StmtKind::For(l) = &mut stmt.kind
            && let ForKind::ThreadBinding(thread) = l.kind.clone()
            && let Some((var, whole)) = number(&thread).and_then(|number| self.axes[number].as_ref())
        {
            let Loop { var: own, min, extent, body, .. } = &mut **l;
            let mut body = std::mem::replace(body, Stmt::nop());
            let index = if min.as_int() == Some(0) { var.expr() } else { &*min + var.expr() };
            body.substitute(&Substitution::from_iter([(own.clone(), index)]));
            if !same_expr(extent, whole) {
                if has_barrier(&body) {
                    let message = format!("a barrier is in a loop over `{thread}` that is shorter than another one");
                    return Err(Reason::GpuLimit(message));
                }
                body = Stmt::new(StmtKind::If(var.expr().lt(extent.clone()), Box::new(body), None));
            }
            *stmt = body;
        }
        Ok(())
    }
}

fn number(thread: &Name) -> Option<usize> {
    THREAD_AXES.iter().position(|name| thread == *name)
}

/// Returns the maximum of two extents.
fn longer(a: PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => PrimExpr::int64(x.max(y)),
        _ if same_expr(&a, b) => a,
        _ => a.max(b.clone()),
    }
}

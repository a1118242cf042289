//! Code generation for statements.

use super::{Emitter, LoopScope, Result, Unsupported, Value};
use hammock_ir::{
    PrimExpr,
    prim::check,
    tir::{AttrNode, Buffer, ForKind, Loop, Stmt, StmtKind},
};

/// Maximum number of iterations of a loop that is unrolled.
const MAX_UNROLLED_ITERATIONS: i64 = 256;

impl Emitter<'_, '_> {
    /// Emits a statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        self.forget();
        match &stmt.kind {
            StmtKind::Seq(stmts) => self.sequence(stmts),
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => self.while_loop(condition, body),
            StmtKind::If(condition, then, otherwise) => self.branch(condition, then, otherwise.as_deref()),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.store(buffer, indices, value, predicate.as_ref())
            }
            StmtKind::Evaluate(e) => self.value(e).map(|_| ()),
            StmtKind::Bind(var, value) => {
                let read = self.value(value)?;
                let frozen = self.frozen(value, read);
                self.vars.insert(var.clone(), frozen);
                Ok(())
            }
            StmtKind::Alloc(buffer, _) => self.allocate(buffer),
            StmtKind::Decl(buffer) if self.vars.contains_key(&buffer.data) => Ok(()),
            StmtKind::Decl(buffer) => self.allocate(buffer),
            StmtKind::Attr { node: AttrNode::Thread(axis), value, body, .. } => {
                let platform = self.kernel.platform;
                platform.thread_axis(self, axis, value, body)
            }
            StmtKind::Attr { body, .. } => self.stmt(body),
            StmtKind::Assert(condition, kind, message) => {
                let message: String = message.iter().map(|part| part.as_str()).collect();
                self.assert(condition, kind, &message)
            }
            StmtKind::Break => self.leave_iteration(|l| l.exit),
            StmtKind::Continue => self.leave_iteration(|l| l.next),
            StmtKind::Return(status) => self.leave(status),
            StmtKind::Block(_) => Err(Unsupported::Form("a block in flat TIR")),
        }
    }

    /// Returns from the kernel. Results have been stored, so only success can be returned.
    fn leave(&mut self, status: &PrimExpr) -> Result<()> {
        if status.as_int() != Some(0) {
            return Err(Unsupported::Form("a status returned by a kernel other than 0"));
        }
        for workspace in self.workspaces.clone().iter().rev() {
            self.free_workspace(workspace);
        }
        self.leave_function();
        Ok(())
    }

    fn assert(&mut self, condition: &PrimExpr, kind: &str, message: &str) -> Result<()> {
        self.forget();
        let compared = match check::compared(condition) {
            Some((a, words, b)) => Some((self.frozen_index(a)?, words, self.frozen_index(b)?)),
            None => None,
        };
        let condition = self.decide(condition)?;
        let (failed, next) = (self.f.label(), self.f.label());
        self.f.branch(&condition, next, failed);
        self.f.start(failed);
        match compared {
            Some((a, words, b)) => self.raise_values(kind, &[&format!("{message}: "), words, ""], &[&a, &b]),
            None => self.raise(kind, message),
        }
        self.fail();
        self.f.start(next);
        Ok(())
    }

    fn branch(&mut self, condition: &PrimExpr, then: &Stmt, otherwise: Option<&Stmt>) -> Result<()> {
        self.forget();
        let condition = self.decide(condition)?;
        if let Some(known) = condition.as_int() {
            return match (known != 0, otherwise) {
                (true, _) => self.stmt(then),
                (false, Some(otherwise)) => self.stmt(otherwise),
                (false, None) => Ok(()),
            };
        }
        let (then_block, else_block) = (self.f.label(), self.f.label());
        let next = if otherwise.is_some() { self.f.label() } else { else_block };
        self.f.branch(&condition, then_block, else_block);
        self.f.start(then_block);
        self.stmt(then)?;
        self.f.jump(next);
        if let Some(otherwise) = otherwise {
            self.f.start(else_block);
            self.stmt(otherwise)?;
            self.f.jump(next);
        }
        self.f.start(next);
        Ok(())
    }

    fn while_loop(&mut self, condition: &PrimExpr, body: &Stmt) -> Result<()> {
        let (head, inside, exit) = (self.f.label(), self.f.label(), self.f.label());
        self.f.jump(head);
        self.f.start(head);
        self.forget();
        let condition = self.decide(condition)?;
        self.f.branch(&condition, inside, exit);
        self.f.start(inside);
        self.loops.push(LoopScope { next: head, exit, workspaces: self.workspaces.len() });
        self.stmt(body)?;
        self.loops.pop();
        self.f.jump(head);
        self.f.start(exit);
        Ok(())
    }

    fn leave_iteration(&mut self, to: fn(&LoopScope) -> super::Label) -> Result<()> {
        let scope = self.loops.last().ok_or(Unsupported::Form("a break or continue outside of a loop"))?;
        let (to, outer) = (to(scope), scope.workspaces);
        for workspace in self.workspaces[outer..].to_vec().iter().rev() {
            self.free_workspace(workspace);
        }
        self.f.jump(to);
        Ok(())
    }

    fn for_loop(&mut self, l: &Loop) -> Result<()> {
        match l.kind {
            ForKind::Parallel => {
                let platform = self.kernel.platform;
                return platform.parallel_loop(self, l);
            }
            ForKind::ThreadBinding(_) => return Err(Unsupported::Form("a loop over GPU threads in flat TIR")),
            _ => {}
        }
        let (min, extent) = (self.value(&l.min)?, self.value(&l.extent)?);
        let step = match &l.step {
            Some(step) => self.value(step)?,
            None => Value::int(1, min.ty),
        };
        if l.kind == ForKind::Unrolled
            && let (Some(min), Some(extent), Some(step)) = (min.as_int(), extent.as_int(), step.as_int())
            && extent <= MAX_UNROLLED_ITERATIONS
            && step > 0
            && !leaves_early(&l.body)
        {
            return self.unrolled(l, min, extent, step);
        }
        let end = self.f.binary("add", &min, &extent);
        self.counted(l, &min, &end, &step)
    }

    /// Emits an unrolled loop.
    fn unrolled(&mut self, l: &Loop, min: i64, extent: i64, step: i64) -> Result<()> {
        let ty = super::convert::register_type(l.var.dtype())?;
        for distance in (0..extent).step_by(step as usize) {
            self.vars.insert(l.var.clone(), Value::int(min + distance, ty));
            self.stmt(&l.body)?;
        }
        Ok(())
    }

    /// Emits a loop over `begin .. end` in rotated form, which enables LICM.
    pub(super) fn counted(&mut self, l: &Loop, begin: &Value, end: &Value, step: &Value) -> Result<()> {
        let Some(order) = step.as_int().map(|s| if s < 0 { "icmp sgt" } else { "icmp slt" }) else {
            return Err(Unsupported::Form("a loop whose step is not a constant"));
        };
        if step.as_int() == Some(0) {
            return Err(Unsupported::Form("a loop whose step is zero"));
        }
        let (body, latch, exit) = (self.f.label(), self.f.label(), self.f.label());
        let enters = self.f.compare(order, begin, end);
        if enters.as_int() == Some(0) {
            return Ok(());
        }
        let (own, rest) = memory_of_iterations(l);
        let (live, after) = (self.workspaces.len(), if own.is_empty() { exit } else { self.f.label() });
        let mut before = self.f.current();
        if own.is_empty() {
            self.f.branch(&enters, body, exit);
        } else {
            let first = self.f.label();
            self.f.branch(&enters, first, after);
            self.f.start(first);
            own.iter().try_for_each(|buffer| self.allocate(buffer))?;
            before = self.f.current();
            self.f.jump(body);
        }
        self.f.start(body);
        let next = self.f.forward(begin.ty);
        let var = self.f.phi(&[(begin, before), (&next, latch)]);
        self.vars.insert(l.var.clone(), var.clone());
        self.loops.push(LoopScope { next: latch, exit, workspaces: self.workspaces.len() });
        match rest {
            Some(rest) => self.sequence(rest)?,
            None => self.stmt(&l.body)?,
        }
        self.loops.pop();
        self.f.jump(latch);
        self.f.start(latch);
        let again = if step.as_int() == Some(1) {
            self.f.assign_to(&next, format_args!("add nsw {} {var}, {step}", var.ty));
            self.f.compare(order, &next, end)
        } else {
            // A longer step may overflow, so compare the remaining distance instead.
            self.f.assign_to(&next, format_args!("add {} {var}, {step}", var.ty));
            let left = self.f.binary("sub", end, &var);
            self.f.compare(order, step, &left)
        };
        self.f.branch(&again, body, exit);
        self.f.start(exit);
        if !own.is_empty() {
            self.free_workspaces_to(live);
            self.f.jump(after);
            self.f.start(after);
        }
        Ok(())
    }
}

/// Returns the leading allocations of a loop body whose sizes are loop-invariant, which can share memory between
/// iterations, and the statements after them.
fn memory_of_iterations(l: &Loop) -> (Vec<&Buffer>, Option<&[Stmt]>) {
    let StmtKind::Seq(stmts) = &l.body.kind else { return (Vec::new(), None) };
    let own = stmts.iter().map_while(|stmt| match &stmt.kind {
        StmtKind::Alloc(buffer, _) if !buffer.shape.iter().any(|size| size.uses(&l.var)) => Some(buffer),
        _ => None,
    });
    let own: Vec<&Buffer> = own.collect();
    let rest = &stmts[own.len()..];
    (own, Some(rest))
}

/// Returns true if iterations may break or continue.
pub(super) fn leaves_early(body: &Stmt) -> bool {
    let mut found = false;
    body.walk(&mut |s| found |= matches!(s.kind, StmtKind::Break | StmtKind::Continue));
    found
}

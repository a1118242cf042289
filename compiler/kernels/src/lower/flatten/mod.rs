//! Flattens buffers: every access becomes an offset into the memory behind a pointer.
//!
//! In: a body with buffers of any rank, strides, offsets and matched regions. Out: the same statements (blocks stay,
//! without regions) where each load and store has one int64 index into a flat buffer. There is one flat buffer per
//! pointer and element type, so comparing two buffers compares their memory. Elements that are vectors become lanes.
//! Loop bounds are simplified on the way.

mod access;
mod layout;

use crate::error::Reason;
use hammock_ir::{
    PrimExpr,
    prim::{Substitution, Var},
    tir::{AttrNode, Block, Buffer, Loop, Stmt, StmtKind},
};
use layout::Flattener;
pub use layout::Scopes;

/// Flattens a body. `params` are the buffers of the caller, `handles` its other pointers, `values` replace symbolic
/// sizes.
///
/// # Errors
/// When an access does not fit its buffer, or a buffer has no memory.
pub fn flatten(
    body: Stmt,
    params: &[Buffer],
    handles: &[Var],
    values: Substitution,
    scopes: Scopes,
) -> Result<Stmt, Reason> {
    let mut flattener = Flattener::new(values, scopes);
    params.iter().for_each(|b| flattener.add_param(b));
    handles.iter().for_each(|v| flattener.add_pointer(v));
    let mut body = flattener.stmt(body)?;
    flattener.declare_views(&mut body);
    let mut stmts = Vec::new();
    for (i, param) in params.iter().enumerate() {
        if params[..i].iter().all(|b| b.data != param.data) {
            stmts.extend(flattener.declarations(&param.data));
        }
    }
    handles.iter().for_each(|v| stmts.extend(flattener.declarations(v)));
    Ok(Stmt::seq(stmts.into_iter().chain([body])))
}

impl Flattener {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Reason> {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Seq(stmts) => StmtKind::Seq(stmts.into_iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?),
            StmtKind::For(l) => StmtKind::For(Box::new(self.for_loop(*l)?)),
            StmtKind::Block(b) => StmtKind::Block(Box::new(self.block(*b)?)),
            StmtKind::Store { buffer, indices, value, predicate } => {
                let indices = self.exprs(&indices)?;
                let (buffer, index) = self.access(&buffer, &indices)?;
                let value = self.expr(&value)?;
                let predicate = predicate.map(|p| self.expr(&p)).transpose()?;
                StmtKind::Store { buffer, indices: vec![index], value, predicate }
            }
            StmtKind::Alloc(buffer, attrs) => StmtKind::Alloc(self.allocate(&buffer), attrs),
            StmtKind::Decl(buffer) => return Ok(self.declare(&buffer).unwrap_or_else(Stmt::nop).at(span)),
            StmtKind::Bind(var, value) => {
                if var.dtype().is_handle() {
                    self.add_pointer(&var);
                }
                StmtKind::Bind(var, self.expr(&value)?)
            }
            StmtKind::Evaluate(e) => StmtKind::Evaluate(self.expr(&e)?),
            StmtKind::Return(e) => StmtKind::Return(self.expr(&e)?),
            StmtKind::Assert(e, kind, message) => StmtKind::Assert(self.expr(&e)?, kind, message),
            StmtKind::While(e, body) => StmtKind::While(truth(self.expr(&e)?), Box::new(self.stmt(*body)?)),
            StmtKind::If(e, then, otherwise) => {
                let otherwise = otherwise.map(|s| self.stmt(*s).map(Box::new)).transpose()?;
                StmtKind::If(truth(self.expr(&e)?), Box::new(self.stmt(*then)?), otherwise)
            }
            StmtKind::Attr { node, key, value, body } => {
                let value = self.expr(&value)?;
                if let AttrNode::Thread(iter) = &node {
                    self.learn(&iter.var, &PrimExpr::int64(0), &value);
                }
                StmtKind::Attr { node, key, value, body: Box::new(self.stmt(*body)?) }
            }
            kind @ (StmtKind::Break | StmtKind::Continue) => kind,
        };
        Ok(Stmt { kind, span })
    }

    fn for_loop(&mut self, mut l: Loop) -> Result<Loop, Reason> {
        l.min = self.index(&l.min)?;
        l.extent = self.index(&l.extent)?;
        l.step = l.step.map(|s| self.index(&s)).transpose()?;
        self.learn(&l.var, &l.min, &l.extent);
        l.body = self.stmt(l.body)?;
        Ok(l)
    }

    fn block(&mut self, mut block: Block) -> Result<Block, Reason> {
        for axis in &mut block.axes {
            axis.binding = self.index(&axis.binding)?;
            axis.dom = (self.index(&axis.dom.0)?, self.index(&axis.dom.1)?);
            self.learn(&axis.var, &axis.dom.0, &axis.dom.1);
        }
        block.predicate = block.predicate.map(|p| self.expr(&p)).transpose()?;
        (block.reads, block.writes) = (None, None);
        block.alloc_buffers = block.alloc_buffers.iter().map(|b| self.allocate(b)).collect();
        for matched in std::mem::take(&mut block.match_buffers) {
            self.match_buffer(&matched)?;
        }
        block.init = block.init.map(|s| self.stmt(s)).transpose()?;
        block.body = self.stmt(block.body)?;
        Ok(block)
    }

    /// Declares, after each allocation, the other element types of its memory.
    fn declare_views(&self, stmt: &mut Stmt) {
        stmt.each_child_mut(&mut |s| self.declare_views(s));
        let others = |b: &Buffer| -> Vec<Stmt> {
            let itself = |s: &Stmt| matches!(&s.kind, StmtKind::Decl(d) if d == b);
            self.declarations(&b.data).filter(|s| !itself(s)).collect()
        };
        match &mut stmt.kind {
            StmtKind::Seq(stmts) => {
                let with_views = |s: Stmt| {
                    let views = if let StmtKind::Alloc(b, _) = &s.kind { others(b) } else { Vec::new() };
                    std::iter::once(s).chain(views)
                };
                *stmts = std::mem::take(stmts).into_iter().flat_map(with_views).collect();
            }
            StmtKind::Block(block) => {
                let views: Vec<Stmt> = block.alloc_buffers.iter().flat_map(others).collect();
                if !views.is_empty() {
                    let body = std::mem::replace(&mut block.body, Stmt::nop());
                    block.body = Stmt::seq(views.into_iter().chain([body]));
                }
            }
            _ => {}
        }
    }
}

/// Converts a condition to bool: nonzero integers are true.
fn truth(e: PrimExpr) -> PrimExpr {
    let zero = PrimExpr::int(0, e.dtype());
    if e.dtype().is_bool() { e } else { e.ne(zero) }
}

//! Copies of statements with fresh variables, or with values for variables.

use super::{AttrNode, Block, Buffer, Loop, Param, PrimFunc, Region, Stmt, StmtKind};
use crate::{
    PrimExpr, arith, equal,
    prim::{BinaryOp, PrimKind, Substitution, Var},
};
use rustc_hash::FxHashMap;

/// Copies a statement with new variables and buffers for those declared inside, substituting `values`.
pub fn copy(stmt: &Stmt, values: Substitution) -> Stmt {
    Copier { values, renews: true, ..Copier::default() }.copy(stmt)
}

/// Substitutes `values` everywhere, including the sizes of declared buffers, which become new buffers. The values may
/// use variables that the statement declares.
pub fn replace(stmt: &Stmt, values: Substitution) -> Stmt {
    Copier { values, ..Copier::default() }.copy(stmt)
}

/// Replaces whole expressions by `wholes` (pairs of old and new), then the remaining variables by `values`, including
/// those in the sizes of parameters.
pub fn replace_in(func: &PrimFunc, values: Substitution, wholes: Vec<(PrimExpr, PrimExpr)>) -> PrimFunc {
    let mut copier = Copier { values, wholes, ..Copier::default() };
    let declared =
        |p: &Param| Param { var: copier.known(&p.var), buffer: p.buffer.as_ref().map(|b| copier.declare(b)) };
    let params = func.params.iter().map(declared).collect();
    PrimFunc { params, body: copier.copy(&func.body), ..func.clone() }
}

/// Copies a function's body for other parameters: `values` replaces its scalars, sizes and pointers, `buffers` its
/// buffers. All other declarations are new.
pub fn copy_body(body: &Stmt, values: Substitution, buffers: FxHashMap<Buffer, Buffer>) -> Stmt {
    Copier { values, buffers, closed: true, renews: true, ..Copier::default() }.copy(body)
}

impl Loop {
    /// Unrolls the first `iterations`, each with fresh variables.
    pub fn unrolled(&self, iterations: i64) -> Stmt {
        let dtype = self.var.dtype();
        let constant = |v| PrimExpr::int(v, dtype);
        let value = |i: i64| {
            let moved = match &self.step {
                Some(step) => arith::binary(BinaryOp::Mul, step.clone(), constant(i)),
                None => constant(i),
            };
            arith::binary(BinaryOp::Add, self.min.clone(), moved)
        };
        let copy = |i| copy(&self.body, Substitution::from_iter([(self.var.clone(), value(i))]));
        Stmt::seq((0..iterations).map(copy))
    }
}

#[derive(Default)]
struct Copier {
    values: Substitution,
    /// Replacements of whole expressions.
    wholes: Vec<(PrimExpr, PrimExpr)>,
    buffers: FxHashMap<Buffer, Buffer>,
    /// True if the copy shares nothing with the outside, other than the given replacements.
    closed: bool,
    /// True if declared variables and buffers are new.
    renews: bool,
}

impl Copier {
    fn copy(mut self, stmt: &Stmt) -> Stmt {
        let mut stmt = stmt.clone();
        self.stmt(&mut stmt);
        stmt
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) => {
                for e in [&mut l.min, &mut l.extent].into_iter().chain(&mut l.step) {
                    *e = self.expr(e);
                }
                l.var = self.define(&l.var);
            }
            StmtKind::Bind(var, value) => {
                *value = self.expr(value);
                *var = self.define(var);
            }
            StmtKind::Alloc(buffer, _) => {
                self.define(&buffer.data);
                *buffer = self.declare(buffer);
            }
            StmtKind::Decl(buffer) => *buffer = self.declare(buffer),
            StmtKind::Store { buffer, indices, value, predicate } => {
                *buffer = self.buffer(buffer);
                for e in indices.iter_mut().chain([value]).chain(predicate) {
                    *e = self.expr(e);
                }
            }
            StmtKind::While(e, _) | StmtKind::If(e, ..) | StmtKind::Evaluate(e) | StmtKind::Return(e) => {
                *e = self.expr(e);
            }
            StmtKind::Assert(e, ..) => *e = self.expr(e),
            StmtKind::Attr { node, value, .. } => {
                *value = self.expr(value);
                if let AttrNode::Thread(iter) = node {
                    iter.var = self.known(&iter.var);
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Seq(_) | StmtKind::Break | StmtKind::Continue => {}
        }
        stmt.each_child_mut(&mut |s| self.stmt(s));
    }

    fn block(&mut self, block: &mut Block) {
        for axis in &mut block.axes {
            axis.binding = self.expr(&axis.binding);
            axis.dom = (self.expr(&axis.dom.0), self.expr(&axis.dom.1));
        }
        block.axes.iter_mut().for_each(|axis| axis.var = self.define(&axis.var));
        block.predicate = block.predicate.as_ref().map(|p| self.expr(p));
        for buffer in &mut block.alloc_buffers {
            self.define(&buffer.data);
            *buffer = self.declare(buffer);
        }
        for matched in &mut block.match_buffers {
            self.region(&mut matched.source);
            self.define(&matched.buffer.data);
            matched.buffer = self.declare(&matched.buffer);
        }
        block.reads.iter_mut().chain(&mut block.writes).flatten().for_each(|region| self.region(region));
    }

    fn region(&mut self, region: &mut Region) {
        region.buffer = self.buffer(&region.buffer);
        for (min, extent) in &mut region.ranges {
            (*min, *extent) = (self.expr(min), self.expr(extent));
        }
    }

    /// A new variable for one that is declared here; without renewal, its replacement.
    fn define(&mut self, var: &Var) -> Var {
        if !self.renews {
            return self.values.get(var).and_then(PrimExpr::as_var).unwrap_or(var).clone();
        }
        let new = var.fresh();
        self.values.insert(var.clone(), new.expr());
        new
    }

    /// The replacement of a variable.
    fn known(&mut self, var: &Var) -> Var {
        match self.values.get(var).and_then(PrimExpr::as_var) {
            Some(known) => known.clone(),
            None if self.closed => self.define(var),
            None => var.clone(),
        }
    }

    fn declare(&mut self, buffer: &Buffer) -> Buffer {
        let data = self.known(&buffer.data);
        let mut all = |exprs: &[PrimExpr]| exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>();
        let (shape, strides) = (all(&buffer.shape), all(&buffer.strides));
        let elem_offset = buffer.elem_offset.as_ref().map(|e| self.expr(e));
        let same = |a: &[PrimExpr], b: &[PrimExpr]| a.iter().zip(b).all(|(a, b)| a.same_node(b));
        let offsets = (elem_offset.as_slice(), buffer.elem_offset.as_slice());
        if !self.renews && same(&shape, &buffer.shape) && same(&strides, &buffer.strides) && same(offsets.0, offsets.1)
        {
            return buffer.clone();
        }
        let new = buffer.change(|b| {
            (b.data, b.shape, b.strides, b.elem_offset) = (data, shape, strides, elem_offset);
        });
        self.buffers.insert(buffer.clone(), new.clone());
        new
    }

    fn buffer(&mut self, buffer: &Buffer) -> Buffer {
        match self.buffers.get(buffer) {
            Some(known) => known.clone(),
            None if self.closed => self.declare(buffer),
            None => buffer.clone(),
        }
    }

    fn expr(&mut self, e: &PrimExpr) -> PrimExpr {
        if let Some((_, whole)) = self.wholes.iter().find(|(known, _)| equal::exprs(known, e)) {
            return whole.clone();
        }
        match e.kind() {
            PrimKind::Var(v) => match self.values.get(v) {
                Some(value) => value.clone(),
                None if self.closed => self.define(v).expr(),
                None => e.clone(),
            },
            PrimKind::Load(buffer, indices, mask) if self.closed || self.buffers.contains_key(buffer) => {
                let indices = indices.iter().map(|i| self.expr(i)).collect();
                let mask = mask.as_ref().map(|m| self.expr(m));
                PrimExpr::load_masked(&self.buffer(buffer), indices, mask)
            }
            PrimKind::Let(var, value, body) if self.closed || self.values.contains_key(var) => {
                let value = self.expr(value);
                let var = self.define(var);
                PrimExpr::bind(var, value, self.expr(body))
            }
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }
}

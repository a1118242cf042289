//! Execution of statements.

use crate::{Fault, Interpreter, Value, view::View};
use hammock_ir::{
    Name, PrimExpr,
    prim::{IterKind, IterVar, check},
    tir::{AttrNode, Block, Buffer, Loop, Stmt, StmtKind},
};
use hammock_runtime::vm::check_interrupt;
use std::rc::Rc;

/// Control flow after a statement.
pub enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

impl Flow {
    /// Returned value, if any.
    pub fn returned(self) -> Option<Value> {
        match self {
            Flow::Return(value) => Some(value),
            Flow::Next | Flow::Break | Flow::Continue => None,
        }
    }
}

/// Elements that one load or store touches.
pub struct Access {
    /// The buffer.
    pub view: Rc<View>,
    indices: Vec<Value>,
    mask: Option<Value>,
}

impl Access {
    /// Returns true if an index is a vector.
    pub fn is_vector(&self) -> bool {
        self.indices.iter().any(|i| matches!(i, Value::Vector(_)))
    }

    /// Number of elements.
    pub fn lanes(&self) -> usize {
        self.indices.iter().map(Value::lanes).max().unwrap_or(1)
    }

    /// Returns the offset of one element; `None` if its lane is inactive.
    pub fn position(&self, lane: usize) -> Result<Option<i64>, Fault> {
        if let Some(mask) = &self.mask
            && !mask.lane(lane).truth()?
        {
            return Ok(None);
        }
        let indices = self.indices.iter().map(|i| i.lane(lane).int()).collect::<Result<Vec<_>, _>>()?;
        self.view.position(indices.into_iter()).map(Some)
    }
}

impl Interpreter {
    /// Runs a statement. Its allocations are freed at its end; declarations are in scope to the end of their sequence.
    pub fn execute(&mut self, stmt: &Stmt) -> Result<Flow, Fault> {
        if stmt.span != hammock_ir::Span::default() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => self.sequence(stmts),
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => self.while_loop(condition, body),
            StmtKind::If(condition, then, otherwise) => match (self.eval(condition)?.truth()?, otherwise) {
                (true, _) => self.execute(then),
                (false, Some(otherwise)) => self.execute(otherwise),
                (false, None) => Ok(Flow::Next),
            },
            StmtKind::Block(block) => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.store(buffer, indices, value, predicate.as_ref())
            }
            StmtKind::Evaluate(e) => self.eval(e).map(|_| Flow::Next),
            StmtKind::Bind(var, value) => {
                let value = self.value(value)?;
                self.vars.insert(var.clone(), value);
                Ok(Flow::Next)
            }
            StmtKind::Alloc(buffer, _) => self.allocate(buffer).map(|()| Flow::Next),
            StmtKind::Decl(buffer) if self.vars.contains_key(&buffer.data) => {
                self.declare_inside(buffer).map(|()| Flow::Next)
            }
            StmtKind::Decl(buffer) => self.allocate(buffer).map(|()| Flow::Next),
            StmtKind::Attr { node: AttrNode::Thread(iter), value, body, .. } => self.threads(iter, value, body),
            StmtKind::Attr { body, .. } => self.execute(body),
            StmtKind::Assert(condition, kind, message) => self.assert(condition, kind, message),
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(e) => self.value(e).map(Flow::Return),
        }
    }

    fn sequence(&mut self, stmts: &[Stmt]) -> Result<Flow, Fault> {
        let mark = self.heap.mark();
        for stmt in stmts {
            match self.execute(stmt)? {
                Flow::Next => {}
                other => {
                    self.heap.release(mark);
                    return Ok(other);
                }
            }
        }
        self.heap.release(mark);
        Ok(Flow::Next)
    }

    fn for_loop(&mut self, l: &Loop) -> Result<Flow, Fault> {
        let (min, extent) = (self.int(&l.min)?, self.int(&l.extent)?);
        let step = l.step.as_ref().map_or(Ok(1), |e| self.int(e))?;
        if step == 0 {
            return Err(Fault::ZeroStep);
        }
        let mut distance = 0i64;
        while if step > 0 { distance < extent } else { distance > extent } {
            check_interrupt()?;
            self.vars.insert(l.var.clone(), Value::Int(min.wrapping_add(distance)));
            match self.execute(&l.body)? {
                Flow::Break => break,
                returned @ Flow::Return(_) => return Ok(returned),
                Flow::Next | Flow::Continue => {}
            }
            let Some(next) = distance.checked_add(step) else { break };
            distance = next;
        }
        Ok(Flow::Next)
    }

    fn while_loop(&mut self, condition: &PrimExpr, body: &Stmt) -> Result<Flow, Fault> {
        while self.eval(condition)?.truth()? {
            check_interrupt()?;
            match self.execute(body)? {
                Flow::Break => break,
                returned @ Flow::Return(_) => return Ok(returned),
                Flow::Next | Flow::Continue => {}
            }
        }
        Ok(Flow::Next)
    }

    /// `T.launch_thread`: runs all threads of the axis sequentially.
    fn threads(&mut self, iter: &IterVar, extent: &PrimExpr, body: &Stmt) -> Result<Flow, Fault> {
        for thread in 0..self.int(extent)? {
            check_interrupt()?;
            self.vars.insert(iter.var.clone(), Value::Int(thread));
            if let returned @ Flow::Return(_) = self.execute(body)? {
                return Ok(returned);
            }
        }
        Ok(Flow::Next)
    }

    fn block(&mut self, block: &Block) -> Result<Flow, Fault> {
        if let Some(predicate) = &block.predicate
            && !self.eval(predicate)?.truth()?
        {
            return Ok(Flow::Next);
        }
        let mut first = true;
        for axis in &block.axes {
            let value = self.eval(&axis.binding)?;
            let (at, min, extent) = (value.int()?, self.int(&axis.dom.0)?, self.int(&axis.dom.1)?);
            if at < min || at.saturating_sub(min) >= extent {
                let (block, axis) = (block.name.clone(), axis.var.name().clone());
                return Err(Fault::OutsideDomain { block, axis, value: at, min, extent });
            }
            first &= axis.kind != IterKind::Reduce || at == min;
            self.vars.insert(axis.var.clone(), value);
        }
        let mark = self.heap.mark();
        block.alloc_buffers.iter().try_for_each(|b| self.allocate(b))?;
        block.match_buffers.iter().try_for_each(|m| self.match_buffer(m))?;
        if let Some(init) = block.init.as_ref().filter(|_| first) {
            self.execute(init)?;
        }
        let flow = self.execute(&block.body)?;
        self.heap.release(mark);
        Ok(flow)
    }

    /// Evaluates the indices of a load or store.
    pub fn access(&mut self, buffer: &Buffer, indices: &[PrimExpr], mask: Option<&PrimExpr>) -> Result<Access, Fault> {
        let view = self.view(buffer)?;
        let indices = indices.iter().map(|i| self.eval(i)).collect::<Result<Vec<_>, _>>()?;
        let mask = mask.map(|m| self.eval(m)).transpose()?;
        let access = Access { view, indices, mask };
        let lanes = access.lanes();
        let fits = |v: &Value| !matches!(v, Value::Vector(l) if l.len() != lanes);
        if access.indices.iter().chain(&access.mask).all(fits) {
            return Ok(access);
        }
        Err(Fault::Mismatch { expected: "indices and mask of equal lanes", found: format!("{:?}", access.indices) })
    }

    fn store(
        &mut self,
        buffer: &Buffer,
        indices: &[PrimExpr],
        value: &PrimExpr,
        mask: Option<&PrimExpr>,
    ) -> Result<Flow, Fault> {
        let value = self.value(value)?;
        let access = self.access(buffer, indices, mask)?;
        let width = usize::from(buffer.dtype.lanes);
        if matches!(&value, Value::Vector(l) if l.len() != access.lanes() * width) {
            return Err(Fault::Mismatch { expected: "as many values as elements", found: value.to_string() });
        }
        for lane in 0..access.lanes() {
            let Some(at) = access.position(lane)? else { continue };
            let element = match &value {
                Value::Vector(lanes) if width > 1 => &Value::Vector(lanes[lane * width..][..width].to_vec()),
                value => value.lane(lane),
            };
            self.heap.store(access.view.base, at, buffer.dtype, element, &access.view.name)?;
        }
        Ok(Flow::Next)
    }

    fn assert(&mut self, condition: &PrimExpr, kind: &Name, message: &[Name]) -> Result<Flow, Fault> {
        if self.eval(condition)?.truth()? {
            return Ok(Flow::Next);
        }
        let mut message = message.iter().map(Name::as_str).collect::<String>();
        if let Some((a, words, b)) = check::compared(condition) {
            message += &format!(": {}{words}{}", self.eval(a)?.int()?, self.eval(b)?.int()?);
        }
        Err(Fault::Assertion { kind: kind.clone(), message })
    }
}

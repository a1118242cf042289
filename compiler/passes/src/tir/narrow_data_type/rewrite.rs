//! Rewriting to narrower integers.

use super::{Bounds, fixes_argument_types, narrower, with_type};
use hammock_ir::{
    DType, PrimExpr,
    arith::match_types,
    prim::{self, PrimCall, PrimKind, Var},
    tir::{AttrNode, Block, Buffer, Region, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Integers that become narrower.
pub(crate) enum Narrowing<'b> {
    /// Index arithmetic that fits.
    Fitting(&'b Bounds),
    /// All indices and constants become int32.
    Int32,
}

/// Rewrites a kernel.
pub(crate) struct Rewriter<'b> {
    narrowing: Narrowing<'b>,
    vars: FxHashMap<Var, Var>,
    buffers: FxHashMap<Buffer, Buffer>,
    /// A constant that int32 cannot represent.
    pub too_large: Option<i64>,
}

/// Context of an expression.
#[derive(Clone, Copy)]
struct ExprContext {
    /// Width of the enclosing expression.
    under: u8,
    /// True if it is an index or a size.
    index: bool,
    /// True if it is part of a condition, which compares indices.
    condition: bool,
}

impl<'b> Rewriter<'b> {
    pub fn new(narrowing: Narrowing<'b>, vars: FxHashMap<Var, Var>) -> Self {
        Rewriter { narrowing, vars, buffers: FxHashMap::default(), too_large: None }
    }

    fn value(&self) -> ExprContext {
        let under = match self.narrowing {
            Narrowing::Fitting(bounds) => bounds.bits,
            Narrowing::Int32 => 32,
        };
        ExprContext { under, index: false, condition: false }
    }

    /// Rewrites a body.
    pub fn body(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) => {
                let (min, extent) = (self.index(&l.min), self.index(&l.extent));
                l.var = self.declared(&l.var);
                (l.min, l.extent) = (min.cast_to(l.var.dtype()), extent.cast_to(l.var.dtype()));
                l.step = l.step.as_ref().map(|step| self.index(step).cast_to(l.var.dtype()));
            }
            StmtKind::Attr { node, value, .. } => {
                *value = match node {
                    AttrNode::Thread(axis) => {
                        let extent = self.index(value);
                        axis.var = self.declared(&axis.var);
                        if let Some((min, extent)) = &axis.dom {
                            axis.dom = Some((
                                self.index(min).cast_to(axis.var.dtype()),
                                self.index(extent).cast_to(axis.var.dtype()),
                            ));
                        }
                        extent.cast_to(axis.var.dtype())
                    }
                    _ => self.expr(value, self.value()),
                };
            }
            StmtKind::If(condition, ..) => *condition = self.condition(condition),
            StmtKind::While(e, _) | StmtKind::Evaluate(e) | StmtKind::Return(e) | StmtKind::Assert(e, ..) => {
                let dtype = e.dtype();
                *e = self.expr(e, self.value());
                if matches!(stmt.kind, StmtKind::Return(_))
                    && let StmtKind::Return(e) = &mut stmt.kind
                {
                    *e = e.clone().cast_to(dtype);
                }
            }
            StmtKind::Bind(var, value) => {
                let mut new = self.expr(value, self.value());
                if new.dtype() != value.dtype() {
                    let dtype = new.dtype();
                    self.vars.insert(var.clone(), with_type(var, dtype));
                    new = self.index(value).cast_to(dtype);
                }
                (*var, *value) = (self.known(var), new);
            }
            StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => *buffer = self.declare(buffer),
            StmtKind::Store { buffer, indices, value, predicate } => {
                *value = self.expr(value, self.value()).cast_to(value.dtype());
                *indices = indices.iter().map(|index| self.index(index)).collect();
                *predicate = predicate.as_ref().map(|mask| self.expr(mask, self.value()));
                *buffer = self.known_buffer(buffer);
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Seq(_) | StmtKind::Break | StmtKind::Continue => {}
        }
        stmt.each_child_mut(&mut |child| self.body(child));
    }

    fn block(&mut self, block: &mut Block) {
        block.predicate = block.predicate.as_ref().map(|predicate| self.condition(predicate));
        for axis in &mut block.axes {
            let (min, extent, binding) = (self.index(&axis.dom.0), self.index(&axis.dom.1), self.index(&axis.binding));
            axis.var = self.declared(&axis.var);
            let dtype = axis.var.dtype();
            axis.dom = (min.cast_to(dtype), extent.cast_to(dtype));
            axis.binding = binding.cast_to(dtype);
        }
        block.alloc_buffers.iter_mut().for_each(|buffer| *buffer = self.declare(buffer));
        for matched in &mut block.match_buffers {
            matched.source = self.region(&matched.source);
            matched.buffer = self.declare(&matched.buffer);
        }
        for regions in [&mut block.reads, &mut block.writes] {
            regions.iter_mut().flatten().for_each(|region| *region = self.region(region));
        }
    }

    fn region(&mut self, region: &Region) -> Region {
        let ranges = region.ranges.iter().map(|(min, extent)| (self.index(min), self.index(extent))).collect();
        Region { buffer: self.known_buffer(&region.buffer), ranges }
    }

    /// Rewrites the variable of a loop or an axis.
    fn declared(&mut self, var: &Var) -> Var {
        match self.narrowing {
            Narrowing::Fitting(_) => self.known(var),
            Narrowing::Int32 => self.narrow(var),
        }
    }

    /// Returns the int32 replacement of a variable.
    pub fn narrow(&mut self, var: &Var) -> Var {
        if var.dtype() != DType::INT64 {
            return self.known(var);
        }
        self.vars.entry(var.clone()).or_insert_with(|| with_type(var, DType::INT32)).clone()
    }

    fn known(&self, var: &Var) -> Var {
        self.vars.get(var).unwrap_or(var).clone()
    }

    fn known_buffer(&self, buffer: &Buffer) -> Buffer {
        self.buffers.get(buffer).unwrap_or(buffer).clone()
    }

    /// Returns a buffer with narrower sizes.
    pub fn declare(&mut self, buffer: &Buffer) -> Buffer {
        let mut changed = false;
        let mut all = |exprs: &[PrimExpr]| -> Vec<PrimExpr> {
            let new: Vec<PrimExpr> = exprs.iter().map(|e| self.index(e)).collect();
            changed |= new.iter().zip(exprs).any(|(new, old)| !new.same_node(old));
            new
        };
        let (shape, strides, offset) = (all(&buffer.shape), all(&buffer.strides), all(buffer.elem_offset.as_slice()));
        if !changed {
            return buffer.clone();
        }
        let new = buffer.change(|b| (b.shape, b.strides, b.elem_offset) = (shape, strides, offset.into_iter().next()));
        self.buffers.insert(buffer.clone(), new.clone());
        new
    }

    fn index(&mut self, e: &PrimExpr) -> PrimExpr {
        self.expr(e, ExprContext { index: true, ..self.value() })
    }

    fn condition(&mut self, e: &PrimExpr) -> PrimExpr {
        self.expr(e, ExprContext { condition: true, ..self.value() })
    }

    /// Returns the width of a constant or cast.
    fn bits(&self, dtype: DType, context: ExprContext) -> u8 {
        match self.narrowing {
            Narrowing::Fitting(_) if context.index && dtype.is_int() => dtype.bits.min(context.under),
            Narrowing::Int32 if context.index && dtype.is_int() && dtype.bits > 32 => 32,
            _ => dtype.bits,
        }
    }

    fn expr(&mut self, e: &PrimExpr, mut context: ExprContext) -> PrimExpr {
        if let Narrowing::Fitting(bounds) = self.narrowing {
            context.under = bounds.width(e, context.under);
        }
        let dtype = e.dtype();
        match e.kind() {
            PrimKind::Var(var) => match (&self.narrowing, self.vars.get(var)) {
                (_, Some(new)) => new.expr(),
                (Narrowing::Int32, None) if context.index => {
                    let new = self.narrow(var);
                    if new == *var { e.clone() } else { new.expr() }
                }
                _ => e.clone(),
            },
            PrimKind::Int(value) => self.number(e, *value, context),
            PrimKind::Cast(value) => {
                let bits = self.bits(dtype, context);
                let new = self.expr(value, context);
                if bits < dtype.bits {
                    return new.cast(narrower(dtype, bits));
                }
                if new.same_node(value) { e.clone() } else { PrimExpr::new(PrimKind::Cast(new), dtype) }
            }
            PrimKind::Binary(op, a, b) => {
                if op.is_comparison() {
                    context.index = context.condition && a.dtype().is_int();
                }
                let (mut x, mut y) = (self.expr(a, context), self.expr(b, context));
                if x.dtype() != y.dtype() && !context.index {
                    let index = ExprContext { index: true, ..context };
                    (x, y) = (self.expr(a, index), self.expr(b, index));
                }
                if x.same_node(a) && y.same_node(b) {
                    return e.clone();
                }
                let (x, y) = match_types(x, y);
                prim::binary(*op, x, y)
            }
            PrimKind::Select(condition, a, b) => {
                let condition = self.expr(condition, ExprContext { condition: true, ..context });
                let (x, y) = match_types(self.expr(a, context), self.expr(b, context));
                condition.select(x, y)
            }
            PrimKind::Ramp(base, step) => {
                let (base, step) = match_types(self.expr(base, context), self.expr(step, context));
                PrimExpr::ramp(base, step, dtype.lanes)
            }
            PrimKind::Broadcast(value) => self.expr(value, context).broadcast(dtype.lanes),
            PrimKind::Load(buffer, indices, mask) => {
                let indices = indices.iter().map(|index| self.index(index)).collect();
                let mask = mask.as_ref().map(|mask| self.expr(mask, self.value()));
                PrimExpr::load_masked(&self.known_buffer(buffer), indices, mask)
            }
            PrimKind::Let(var, value, body) => {
                let value = self.expr(value, context);
                if value.dtype() != var.dtype() {
                    self.vars.insert(var.clone(), with_type(var, value.dtype()));
                }
                let var = self.known(var);
                PrimExpr::bind(var, value, self.expr(body, context))
            }
            PrimKind::Call(call) => self.call(e, call, context),
            _ => e.map_children(&mut |child| self.expr(child, context)),
        }
    }

    fn number(&mut self, e: &PrimExpr, value: i64, context: ExprContext) -> PrimExpr {
        let dtype = e.dtype();
        let bits = match self.narrowing {
            Narrowing::Int32 if dtype == DType::INT64 => 32,
            _ => self.bits(dtype, context),
        };
        if bits == 32 && i32::try_from(value).is_err() && dtype.is_int() {
            self.too_large.get_or_insert(value);
        }
        if bits < dtype.bits { PrimExpr::int(value, narrower(dtype, bits)) } else { e.clone() }
    }

    fn call(&mut self, e: &PrimExpr, call: &PrimCall, context: ExprContext) -> PrimExpr {
        if let Some([condition, a, b]) = e.as_intrin("if_then_else").map(|call| &call.args[..]) {
            let condition = self.expr(condition, ExprContext { condition: true, ..context });
            let (x, y) = match_types(self.expr(a, context), self.expr(b, context));
            return condition.if_then_else(x, y);
        }
        if e.as_intrin("likely").is_some() {
            return e.map_children(&mut |child| self.expr(child, context));
        }
        let wide = ExprContext { under: if fixes_argument_types(e) { 64 } else { context.under }, ..context };
        let args: Vec<PrimExpr> = call.args.iter().map(|arg| self.expr(arg, wide).cast_to(arg.dtype())).collect();
        if args.iter().zip(&call.args).all(|(new, old)| new.same_node(old)) {
            return e.clone();
        }
        PrimExpr::call(call.callee.clone(), args, call.attrs.clone(), e.ty().clone())
    }
}

/// Conversion that is omitted if the dtype is the same.
trait CastTo {
    fn cast_to(self, dtype: DType) -> PrimExpr;
}

impl CastTo for PrimExpr {
    fn cast_to(self, dtype: DType) -> PrimExpr {
        if self.dtype().is_int() && self.dtype() != dtype { hammock_ir::arith::cast(self, dtype) } else { self }
    }
}

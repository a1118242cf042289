//! Blocks: `with T.sblock("name"):`, their axes, conditions and regions.

use super::{TirEval, scope::BlockParts};
use crate::script::{
    args::{Arg, Args},
    context::Read,
    dtypes, operators,
    value::Value,
};
use hammock_diagnostics::{Span, codes, count};
use hammock_ir::{
    AttrValue, PrimExpr, arith,
    prim::{IterKind, IterVar, Var},
    tir::{BlockAxis, StmtKind},
};
use hammock_syntax::ast;
use std::sync::Arc;

/// The kind of an axis by the name of its function.
pub(super) fn axis_kind(name: &str) -> Option<IterKind> {
    match name {
        "spatial" | "S" => Some(IterKind::Spatial),
        "reduce" | "R" => Some(IterKind::Reduce),
        "scan" => Some(IterKind::Scan),
        "opaque" => Some(IterKind::Opaque),
        _ => None,
    }
}

impl TirEval<'_, '_> {
    /// `with T.sblock("name"):`
    pub(super) fn block(&mut self, mut args: Args, body: &[ast::Stmt], span: Span) -> Read<()> {
        let name = args.take("name").map_or(Ok("".into()), |arg| self.to_str(&arg));
        let no_realize = args.take("no_realize").map_or(Ok(false), |arg| self.to_bool(&arg));
        args.take("exec_scope");
        let rest = args.finish(self.cx);
        self.dialect.blocks.push(BlockParts { depth: self.scope.depth() + 1, ..BlockParts::default() });
        let body = self.block_of(body);
        let Some(parts) = self.dialect.blocks.pop() else { return Ok(()) };
        self.emit(StmtKind::Block(Box::new(parts.finish(&name?, no_realize?, body))), span);
        rest
    }

    /// `with T.init():`
    pub(super) fn init(&mut self, args: Args, body: &[ast::Stmt], span: Span) -> Read<()> {
        let rest = args.finish(self.cx);
        let init = self.block_of(body).at(span);
        rest?;
        let block = self.parts("`T.init`", span)?;
        if block.init.is_none() {
            block.init = Some(init);
            return Ok(());
        }
        Err(self.cx.error(codes::BAD_BLOCK, span, "a block has one `T.init()`", "the second one"))
    }

    /// The parts of the enclosing block, if there is one. They must be among the block's own statements: they apply to
    /// the whole block, where the variables of loops in it are not defined.
    pub(super) fn parts(&mut self, what: &str, span: Span) -> Read<&mut BlockParts> {
        if self.dialect.blocks.len() < 2 {
            let message = format!("{what} is only allowed in a block");
            return Err(self.cx.error(codes::BAD_BLOCK, span, message, "no `with T.sblock(…):` around it"));
        }
        let depth = self.scope.depth();
        match self.dialect.blocks.last_mut() {
            Some(block) if depth <= block.depth => Ok(block),
            _ => {
                let message = format!("{what} must be at the top of a block");
                let label = "move it out of the statement around it, to the block's own lines";
                Err(self.cx.error(codes::BAD_BLOCK, span, message, label))
            }
        }
    }

    fn add_axis(&mut self, axis: BlockAxis, span: Span) -> Read<Value> {
        let iter = IterVar { var: axis.var.clone(), dom: Some(axis.dom.clone()), kind: axis.kind, thread: "".into() };
        self.parts("an axis", span)?.axes.push(axis);
        Ok(Value::IterVar(Arc::new(iter)))
    }

    /// `v = T.axis.spatial(n, i)`, `v = T.axis.reduce((a, b), i)`
    pub(super) fn axis(&mut self, kind: IterKind, mut args: Args) -> Read<Value> {
        let span = args.span;
        let dom = args.need(self.cx, "dom")?;
        let binding = args.need(self.cx, "binding")?;
        args.take("dtype");
        args.finish(self.cx)?;
        let dom = self.domain(&dom)?;
        let dtype = dom.1.dtype();
        let value = self.to_scalar_like(&binding, dtype)?;
        if !dtypes::is_index_dtype(value.dtype()) {
            let message = format!("an axis is bound to an integer, not to a {}", value.dtype());
            return Err(self.cx.error(codes::KERNEL_STRUCTURE, binding.span, message, "the value of the axis"));
        }
        let binding = value;
        let var = Var::new(self.name_for("v"), dtype);
        self.add_axis(BlockAxis { var, dom, kind, binding }, span)
    }

    /// An axis's first value and extent: `n`, `(begin, end)` or a range.
    fn domain(&mut self, arg: &Arg) -> Read<(PrimExpr, PrimExpr)> {
        let (min, extent) = match &arg.value {
            Value::Range(min, extent) => (min.clone(), extent.clone()),
            Value::Tuple(items) | Value::List(items) if items.len() == 2 => {
                let side = |value: &Value| Arg { value: value.clone(), span: arg.span };
                let (min, end) = self.scalar_pair(&side(&items[0]), &side(&items[1]))?;
                let extent = self.difference(end, &min, arg.span)?;
                (min, extent)
            }
            _ => {
                let extent = self.to_scalar(arg)?;
                (PrimExpr::int(0, extent.dtype()), extent)
            }
        };
        if !dtypes::is_index_dtype(min.dtype()) || !dtypes::is_index_dtype(extent.dtype()) {
            let message = "the domain of an axis is made of integers";
            return Err(self.cx.error(codes::KERNEL_STRUCTURE, arg.span, message, ""));
        }
        operators::same_type(min, extent).map_err(|why| self.cx.error(codes::SCALAR_MISMATCH, arg.span, why, ""))
    }

    /// `vi, vj = T.axis.remap("SR", [i, j])`: axes with the domains of the loops that they are bound to.
    pub(super) fn remap(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let kinds = args.need(self.cx, "kinds")?;
        let bindings = args.need(self.cx, "bindings")?;
        args.take("dtype");
        args.finish(self.cx)?;
        let letters = self.to_str(&kinds)?;
        let loops = self.to_scalars(&bindings)?;
        if letters.chars().count() != loops.len() {
            let kinds = count(letters.chars().count(), "kind");
            let message = format!("{kinds} of axes for {}", count(loops.len(), "loop"));
            let label = "one letter for each loop: S is spatial, R is reduce";
            return Err(self.cx.error(codes::BAD_BLOCK, span, message, label));
        }
        let mut axes = Vec::new();
        for (letter, binding) in letters.chars().zip(loops) {
            let kind = match letter {
                'S' => IterKind::Spatial,
                'R' => IterKind::Reduce,
                _ => {
                    let message = format!("`{letter}` is not a kind of axis");
                    return Err(self.cx.error(codes::BAD_BLOCK, kinds.span, message, "S is spatial, R is reduce"));
                }
            };
            let dom = binding.as_var().and_then(|var| self.dialect.loops.get(var)).cloned();
            let Some((min, extent)) = dom else {
                let help = "give its domain: `T.axis.spatial(n, i)`";
                return Err(self.cx.error(
                    codes::BAD_BLOCK,
                    bindings.span,
                    "an axis can be remapped from a loop variable only",
                    help,
                ));
            };
            let var = Var::new(self.name_for("v"), binding.dtype());
            let dom = (arith::cast(min, binding.dtype()), arith::cast(extent, binding.dtype()));
            axes.push(self.add_axis(BlockAxis { var, dom, kind, binding }, span)?);
        }
        Ok(match axes.len() {
            1 => axes.remove(0),
            _ => Value::List(axes),
        })
    }

    /// `T.reads(A[i, 0:4], B)`, `T.writes()`
    pub(super) fn reads_or_writes(&mut self, reads: bool, mut args: Args) -> Read<Value> {
        let span = args.span;
        let mut regions = Vec::new();
        while let Some(arg) = args.positional.pop_front() {
            match arg.value.elements() {
                Some(items) => {
                    for value in items.iter().cloned() {
                        regions.push(self.to_region(&Arg { value, span: arg.span })?);
                    }
                }
                None => regions.push(self.to_region(&arg)?),
            }
        }
        args.finish(self.cx)?;
        let name = if reads { "`T.reads`" } else { "`T.writes`" };
        let block = self.parts(name, span)?;
        let place = if reads { &mut block.reads } else { &mut block.writes };
        if place.is_none() {
            *place = Some(regions);
            return Ok(Value::None);
        }
        Err(self.cx.error(codes::BAD_BLOCK, span, format!("the block has two {name}"), "put all regions into one"))
    }

    /// `T.where(i * 4 + j < n)`
    pub(super) fn where_(&mut self, args: Args) -> Read<Value> {
        let span = args.span;
        let arg = self.first(args)?;
        let predicate = self.to_condition(&arg)?;
        self.parts("`T.where`", span)?.predicate = Some(predicate).filter(|p| p.as_int() != Some(1));
        Ok(Value::None)
    }

    /// `T.sblock_attr({"key": value})`
    pub(super) fn sblock_attr(&mut self, args: Args) -> Read<Value> {
        let arg = self.first(args)?;
        let attrs = self.to_attrs(&arg)?;
        let mut dependencies = Vec::new();
        attrs.iter().for_each(|(_, value)| expressions(value, &mut dependencies));
        self.check_block_scope(&dependencies, arg.span)?;
        if let Some(block) = self.dialect.blocks.last_mut() {
            attrs.iter().for_each(|(key, value)| block.annotations.set(key.clone(), value.clone()));
        }
        Ok(Value::None)
    }
}

/// The expressions in an attribute.
fn expressions(value: &AttrValue, found: &mut Vec<PrimExpr>) {
    match value {
        AttrValue::Expr(e) => found.push(e.clone()),
        AttrValue::List(items) | AttrValue::Tuple(items) => items.iter().for_each(|item| expressions(item, found)),
        AttrValue::Dict(pairs) => pairs.iter().for_each(|(_, item)| expressions(item, found)),
        _ => {}
    }
}

//! Attributes over statements: `T.attr(…)`, `T.launch_thread(…)`, with `with` or for the rest of the scope.

use super::TirEval;
use crate::script::{
    args::{Arg, Args},
    context::Read,
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    AttrValue, DType, Name, PrimExpr,
    prim::{IterKind, IterVar, Var},
    tir::{AttrNode, Stmt, StmtKind},
};
use std::sync::Arc;

/// Maximum nesting without indentation: attributes that apply to the rest of a scope, loops of a grid.
const MAX_DEPTH: usize = 256;

/// An attribute that applies from a statement to the end of its scope.
pub(super) struct OpenAttr {
    /// Number of statements before it.
    pub at: usize,
    node: AttrNode,
    key: Name,
    value: PrimExpr,
    span: Span,
}

/// Wraps the statements that an attribute applies to.
pub(super) fn wrap(open: OpenAttr, body: Stmt) -> Stmt {
    let OpenAttr { node, key, value, span, .. } = open;
    Stmt::new(StmtKind::Attr { node, key, value, body: Box::new(body) }).at(span)
}

impl TirEval<'_, '_> {
    fn open(&mut self, node: AttrNode, key: impl Into<Name>, value: PrimExpr, span: Span) -> Read<()> {
        self.deepen(1, span)?;
        let at = self.dialect.out.len();
        self.dialect.open.push(OpenAttr { at, node, key: key.into(), value, span });
        Ok(())
    }

    /// Opens levels of nesting without indentation. Closing them decrements `depth`.
    pub(super) fn deepen(&mut self, levels: usize, span: Span) -> Read<()> {
        if self.dialect.depth + levels > MAX_DEPTH {
            let message = format!("attributes and loops of grids are nested deeper than {MAX_DEPTH} levels");
            return Err(self.cx.error(codes::NESTED_TOO_DEEPLY, span, message, ""));
        }
        self.dialect.depth += levels;
        Ok(())
    }

    /// `T.attr(node, "key", value)`, `T.attr({"key": value})`
    pub(super) fn attr(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let node = args.need(self.cx, "node")?;
        if let Value::Dict(pairs) = &node.value {
            let pairs = pairs.clone();
            args.finish(self.cx)?;
            for (key, value) in pairs {
                let key = self.to_str(&Arg { value: key, span })?;
                let value = self.attr_value(&Arg { value, span })?;
                self.open(AttrNode::None, key, value, span)?;
            }
            return Ok(Value::None);
        }
        let key = args.need(self.cx, "attr_key")?;
        let value = args.need(self.cx, "value")?;
        args.finish(self.cx)?;
        let (key, value) = (self.to_str(&key)?, self.attr_value(&value)?);
        let node = self.attr_node(&node, &key)?;
        self.open(node, key, value, span)?;
        Ok(Value::None)
    }

    fn attr_node(&mut self, arg: &Arg, key: &str) -> Read<AttrNode> {
        Ok(match &arg.value {
            Value::Int(0) | Value::None => AttrNode::None,
            Value::IterVar(axis) if matches!(key, "thread_extent" | "virtual_thread") => {
                AttrNode::Thread((**axis).clone())
            }
            _ => AttrNode::Value(self.to_attr(arg)?),
        })
    }

    fn attr_value(&mut self, arg: &Arg) -> Read<PrimExpr> {
        match &arg.value {
            Value::Str(text) => Ok(PrimExpr::str(text.clone())),
            _ => self.to_scalar(arg),
        }
    }

    /// `tx = T.launch_thread("threadIdx.x", 32)`, `T.launch_thread(tx, 32)`
    pub(super) fn launch_thread(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let thread = args.need(self.cx, "thread")?;
        let extent = args.need(self.cx, "extent")?;
        args.finish(self.cx)?;
        let extent = self.to_scalar(&extent)?;
        let mut axis = match &thread.value {
            Value::IterVar(axis) => (**axis).clone(),
            Value::Scalar(e) => match self.dialect.threads.iter().find(|t| Some(&t.var) == e.as_var()) {
                Some(axis) => axis.clone(),
                None => return Err(self.expected(&thread, "a thread axis")),
            },
            _ => {
                let tag = self.to_thread(&thread)?;
                let name = self.name_for(&tag.replace('.', "_"));
                IterVar { var: Var::new(name, extent.dtype()), dom: None, kind: IterKind::ThreadIndex, thread: tag }
            }
        };
        axis.dom = Some((PrimExpr::int(0, extent.dtype()), extent.clone()));
        self.dialect.threads.push(axis.clone());
        self.open(AttrNode::Thread(axis.clone()), thread_key(&axis.thread), extent, span)?;
        Ok(Value::IterVar(Arc::new(axis)))
    }

    /// `tx = T.env_thread("threadIdx.x")`: an axis to launch later.
    pub(super) fn env_thread(&mut self, mut args: Args) -> Read<Value> {
        let tag = args.need(self.cx, "thread_tag")?;
        let dtype = args.take("dtype");
        args.finish(self.cx)?;
        let tag = self.to_thread(&tag)?;
        let dtype = dtype.map_or(Ok(DType::INT32), |arg| self.to_dtype(&arg))?;
        let var = Var::new(self.name_for(&tag.replace('.', "_")), dtype);
        let axis = IterVar { var, dom: None, kind: IterKind::ThreadIndex, thread: tag };
        self.dialect.threads.push(axis.clone());
        Ok(Value::IterVar(Arc::new(axis)))
    }

    /// The name of a thread axis: `"threadIdx.x"`.
    pub(super) fn to_thread(&mut self, arg: &Arg) -> Read<Name> {
        let tag = self.to_str(arg)?;
        let axis = tag.strip_prefix("threadIdx.").or_else(|| tag.strip_prefix("blockIdx."));
        if axis.is_none_or(|axis| matches!(axis, "x" | "y" | "z")) {
            return Ok(tag);
        }
        let message = format!("there is no thread axis `{tag}`");
        Err(self.cx.error(codes::WRONG_VALUE, arg.span, message, "the axes are x, y and z"))
    }

    /// `T.hint("message", key=value)`
    pub(super) fn hint(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let message = args.take("message");
        let mut pairs = Vec::new();
        for keyword in std::mem::take(&mut args.keywords) {
            pairs.push((AttrValue::Str(keyword.name), self.to_attr(&keyword.arg)?));
        }
        args.finish(self.cx)?;
        let message = message.map_or(Ok("".into()), |arg| self.to_str(&arg))?;
        let node = AttrNode::Value(AttrValue::Dict(pairs));
        self.open(node, "tirx.hint", PrimExpr::str(message), span)?;
        Ok(Value::None)
    }

    /// `T.device_entry()`: the following statements run on the device.
    pub(super) fn device_entry(&mut self, args: Args) -> Read<Value> {
        let span = args.span;
        args.finish(self.cx)?;
        self.open(AttrNode::None, "tirx.device_entry", PrimExpr::bool(true), span)?;
        Ok(Value::None)
    }
}

fn thread_key(thread: &str) -> &'static str {
    if thread.starts_with("vthread") { "virtual_thread" } else { "thread_extent" }
}

//! Dispatch of calls that are declarations or statements.

use super::{TirEval, blocks::axis_kind};
use crate::script::{
    args::Args,
    context::{Read, Reported},
    value::Value,
};
use hammock_diagnostics::codes;
use hammock_ir::{
    Name, PrimExpr,
    tir::{Stmt, StmtKind},
};

/// Result of reading a call.
pub(super) enum Declared {
    Value(Value),
    /// Not a declaration: the unchanged arguments.
    Nothing(Args),
}

impl TirEval<'_, '_> {
    /// Reads a declaration, or returns the call.
    pub(super) fn declare(&mut self, name: &str, args: Args) -> Read<Declared> {
        let value = match name {
            "Buffer" | "buffer_decl" => self.buffer_type(args)?,
            "match_buffer" => self.match_buffer(args)?,
            "sblock_alloc_buffer" => self.sblock_alloc_buffer(args)?,
            "alloc_buffer" if self.dialect.old => self.sblock_alloc_buffer(args)?,
            "alloc_buffer" => self.alloc_buffer("global", args)?,
            "alloc_shared" | "smem" => self.alloc_buffer("shared", args)?,
            "alloc_local" => self.alloc_buffer("local", args)?,
            "tmem" => self.alloc_buffer("tmem", args)?,
            "decl_buffer" => self.decl_buffer(args)?,
            "decl_scalar" => self.decl_scalar(args)?,
            "alloc_scalar" | "local_scalar" | "shared_scalar" => self.alloc_scalar(name, args)?,
            "allocate" | "Allocate" => self.allocate(args)?,
            "axis.remap" => self.remap(args)?,
            "reads" => self.reads_or_writes(true, args)?,
            "writes" => self.reads_or_writes(false, args)?,
            "where" => self.where_(args)?,
            "sblock_attr" | "block_attr" => self.sblock_attr(args)?,
            "func_attr" => self.func_attr(args)?,
            "launch_thread" => self.launch_thread(args)?,
            "env_thread" => self.env_thread(args)?,
            "attr" => self.attr(args)?,
            "hint" => self.hint(args)?,
            "device_entry" => self.device_entry(args)?,
            "evaluate" => self.evaluate(args)?,
            "break_loop" => self.jump(StmtKind::Break, args)?,
            "continue_loop" => self.jump(StmtKind::Continue, args)?,
            "ret" | "Return" => self.return_call(args)?,
            "buffer_store" => self.buffer_store(args)?,
            "bind" | "Bind" => self.bind_call(args)?,
            "sblock" | "block" | "init" | "grid" | "serial" | "parallel" | "vectorized" | "unroll"
            | "thread_binding" => return Err(self.report_misplaced(name, &args)),
            _ => match name.strip_prefix("axis.").and_then(axis_kind) {
                Some(kind) => self.axis(kind, args)?,
                None => return Ok(Declared::Nothing(args)),
            },
        };
        Ok(Declared::Value(value))
    }

    fn report_misplaced(&mut self, name: &str, args: &Args) -> Reported {
        let position =
            if matches!(name, "sblock" | "block" | "init") { "after `with`" } else { "after `in` of a `for`" };
        self.cx.error(codes::BAD_BLOCK, args.span, format!("`T.{name}` is only allowed {position}"), "")
    }

    /// The name of a declaration: from the left of the assignment, or a default.
    pub(super) fn name_for(&mut self, otherwise: &str) -> Name {
        if self.dialect.hints.is_empty() { otherwise.into() } else { self.dialect.hints.remove(0) }
    }

    /// Adds a statement to the scope.
    pub(super) fn emit(&mut self, kind: StmtKind, span: hammock_diagnostics::Span) {
        self.dialect.out.push(Stmt::new(kind).at(span));
    }

    fn func_attr(&mut self, args: Args) -> Read<Value> {
        let attrs = self.first(args)?;
        for (key, value) in self.to_attrs(&attrs)?.iter() {
            // Before 0.24 the dialect was named `tir`.
            let key = match key.strip_prefix("tir.") {
                Some(rest) => format!("tirx.{rest}").into(),
                None => key.clone(),
            };
            self.dialect.attrs.set(key, value.clone());
        }
        Ok(Value::None)
    }

    fn evaluate(&mut self, args: Args) -> Read<Value> {
        let span = args.span;
        let arg = self.first(args)?;
        let value = match &arg.value {
            Value::None => return Ok(Value::None),
            Value::Str(text) => PrimExpr::str(text.clone()),
            Value::Buffer(buffer) if !buffer.is_local_scalar() => buffer.data.expr(),
            _ => self.to_scalar(&arg)?,
        };
        self.emit(StmtKind::Evaluate(value), span);
        Ok(Value::None)
    }

    fn jump(&mut self, kind: StmtKind, args: Args) -> Read<Value> {
        let span = args.span;
        args.finish(self.cx)?;
        self.emit(kind, span);
        Ok(Value::None)
    }

    fn return_call(&mut self, args: Args) -> Read<Value> {
        let span = args.span;
        let arg = self.first(args)?;
        let value = self.to_scalar(&arg)?;
        self.emit(StmtKind::Return(value), span);
        Ok(Value::None)
    }

    /// `T.bind(value, var=x)`: an immutable variable.
    fn bind_call(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let value = args.need(self.cx, "value")?;
        let ty = args.take("type_annotation").filter(|arg| !matches!(arg.value, Value::None));
        let var = args.keyword("var");
        args.finish(self.cx)?;
        let value = self.to_scalar(&value)?;
        let var = match var {
            Some(arg) => match self.to_scalar(&arg)?.as_var() {
                Some(var) => var.clone(),
                None => return Err(self.expected(&arg, "a variable")),
            },
            None => {
                let ty = ty.map_or(Ok(value.ty().clone()), |arg| self.to_prim_type(&arg))?;
                hammock_ir::prim::Var::new(self.name_for("v"), ty)
            }
        };
        self.emit(StmtKind::Bind(var.clone(), value), span);
        Ok(Value::Scalar(var.expr()))
    }
}

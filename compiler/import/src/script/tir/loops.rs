//! Loops: `for i in range(n)`, `T.grid(…)`, `T.parallel(…)`, `T.thread_binding(…)`.

use super::{TirEval, stmts::target_names};
use crate::script::{
    args::{Arg, Args, list},
    context::Read,
    dtypes, operators,
    path::Space,
    scope::ClosedScope,
    suggest,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use hammock_ir::{
    AttrValue, Attrs, DType, PrimExpr, arith,
    prim::Var,
    tir::{ForKind, Loop, Stmt, StmtKind},
};
use hammock_syntax::ast::{self, Expr, ExprKind};

/// Functions of `T` that create loops.
const LOOPS: [&str; 6] = ["serial", "grid", "parallel", "vectorized", "unroll", "thread_binding"];

/// A loop's bounds and kind, before it has a variable.
struct Bounds {
    min: PrimExpr,
    extent: PrimExpr,
    step: Option<PrimExpr>,
    kind: ForKind,
    annotations: Attrs,
}

impl TirEval<'_, '_> {
    /// `for targets in iter: body`
    pub(super) fn for_loop(&mut self, each: &ast::For, span: Span) -> Read<()> {
        let read = self.bounds(&each.iter);
        let read = read.and_then(|bounds| Ok((self.loop_targets(&each.target, bounds.len())?, bounds)));
        let read = read.and_then(|read| self.deepen(read.0.len() - 1, each.iter.span).map(|()| read));
        let (targets, bounds) = read.inspect_err(|_| {
            let mut names = Vec::new();
            target_names(&each.target, &mut names);
            self.examine_body(&names, &each.body);
        })?;
        self.scope.push();
        let mut vars = Vec::new();
        for (target, bounds) in targets.iter().zip(&bounds) {
            let var = Var::new(target.clone(), bounds.extent.dtype());
            self.dialect.loops.insert(var.clone(), (bounds.min.clone(), bounds.extent.clone()));
            vars.push(var);
        }
        self.define_loops(&each.target, &vars);
        let body = self.block_of(&each.body);
        self.scope.pop(ClosedScope::Kernel);
        self.dialect.depth -= vars.len() - 1;
        for var in &vars {
            self.dialect.loops.remove(var);
        }
        let nest = vars.into_iter().zip(bounds).rev().fold(body, |body, (var, bounds)| {
            let Bounds { min, extent, step, kind, annotations } = bounds;
            Stmt::new(StmtKind::For(Box::new(Loop { var, min, extent, step, kind, annotations, body }))).at(span)
        });
        self.dialect.out.push(nest);
        Ok(())
    }

    /// A name for each loop: `i, j`, or one name for several, which are then `i_0`, `i_1`.
    fn loop_targets(&mut self, target: &Expr, loops: usize) -> Read<Vec<String>> {
        let names: Vec<String> = match &target.kind {
            ExprKind::Name(name) if loops == 1 => vec![name.to_string()],
            ExprKind::Name(name) => (0..loops).map(|n| format!("{name}_{n}")).collect(),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let name = |e: &Expr| match &e.kind {
                    ExprKind::Name(name) => Some(name.to_string()),
                    _ => None,
                };
                items.iter().map(name).collect::<Option<_>>().unwrap_or_default()
            }
            _ => Vec::new(),
        };
        if names.len() == loops {
            return Ok(names);
        }
        let need = if loops == 1 { "needs one name" } else { "need as many names" };
        let message = format!("{} {need}", count(loops, "loop"));
        let label = format!("{} here", count(names.len(), "name"));
        Err(self.cx.error(codes::BAD_BINDING, target.span, message, label))
    }

    fn define_loops(&mut self, target: &Expr, vars: &[Var]) {
        match &target.kind {
            ExprKind::Name(name) if vars.len() != 1 => {
                let all = vars.iter().map(|v| Value::Scalar(v.expr())).collect();
                self.scope.define(name.clone(), Value::Tuple(all));
            }
            _ => vars.iter().for_each(|v| self.scope.define(v.name().clone(), Value::Scalar(v.expr()))),
        }
    }

    fn bounds(&mut self, iter: &Expr) -> Read<Vec<Bounds>> {
        let Some((path, call)) = self.callee_of(iter) else { return Err(self.no_loop(iter)) };
        let args = self.args(call, path.to_string(), iter.span)?;
        match (path.space, &*path.name) {
            (Space::Python, "range") => self.range_loop(args).map(|b| vec![b]),
            (Space::Tir, "grid") => self.grid(args),
            (Space::Tir, "serial") => self.counted(ForKind::Serial, args).map(|b| vec![b]),
            (Space::Tir, "parallel") => self.counted(ForKind::Parallel, args).map(|b| vec![b]),
            (Space::Tir, "vectorized") => self.counted(ForKind::Vectorized, args).map(|b| vec![b]),
            (Space::Tir, "unroll") => self.counted(ForKind::Unrolled, args).map(|b| vec![b]),
            (Space::Tir, "thread_binding") => self.thread_binding(args).map(|b| vec![b]),
            _ => Err(self.no_loop(iter)),
        }
    }

    fn no_loop(&mut self, iter: &Expr) -> crate::script::context::Reported {
        let diagnostic = Diagnostic::error(codes::MEANINGLESS_SYNTAX, "this cannot be looped over");
        let called = self.callee_of(iter).map(|(path, call)| (path, call.func.span));
        let near = called.as_ref().and_then(|(path, _)| suggest::nearest(&path.name, LOOPS));
        let span = called.as_ref().map_or(iter.span, |(_, span)| *span);
        self.cx.report(match near {
            Some(near) => diagnostic.label(span, "").did_you_mean(span, format!("T.{near}")),
            None => diagnostic.label(span, "").help(format!("loops are over `range` and, of `T`, {}", list(&LOOPS))),
        })
    }

    /// First value and extent from begin and end; a single argument is the end.
    fn span_of(&mut self, start: Arg, stop: Option<Arg>) -> Read<(PrimExpr, PrimExpr)> {
        let Some(stop) = stop else {
            let extent = self.bound(&start)?;
            return Ok((PrimExpr::int(0, extent.dtype()), extent));
        };
        let span = stop.span;
        self.bound(&start)?;
        self.bound(&stop)?;
        let (min, end) = self.scalar_pair(&start, &stop)?;
        let extent = self.difference(end, &min, span)?;
        operators::same_type(min, extent).map_err(|why| self.cx.error(codes::SCALAR_MISMATCH, span, why, ""))
    }

    fn bound(&mut self, arg: &Arg) -> Read<PrimExpr> {
        let bound = self.to_scalar(arg)?;
        self.counted_in(bound.dtype(), arg.span)?;
        Ok(bound)
    }

    /// The type of a loop's variable.
    fn counter(&mut self, arg: &Arg) -> Read<DType> {
        let dtype = self.to_dtype(arg)?;
        self.counted_in(dtype, arg.span)
    }

    fn counted_in(&mut self, dtype: DType, span: Span) -> Read<DType> {
        if dtypes::is_index_dtype(dtype) && dtype.is_scalar() {
            return Ok(dtype);
        }
        let message = format!("the bounds of a loop are integers, not {dtype}");
        Err(self.cx.error(codes::KERNEL_STRUCTURE, span, message, ""))
    }

    fn range_loop(&mut self, mut args: Args) -> Read<Bounds> {
        let start = args.need(self.cx, "start")?;
        let stop = args.take("stop");
        let step = args.take("step");
        args.finish(self.cx)?;
        self.loop_of(ForKind::Serial, start, stop, step, Attrs::new(), None)
    }

    /// `T.serial(a, b, annotations={…}, step=…, unroll=…)` and similar functions
    fn counted(&mut self, kind: ForKind, mut args: Args) -> Read<Bounds> {
        let start = args.need(self.cx, "start")?;
        let stop = args.take("stop").filter(|arg| !matches!(arg.value, Value::None));
        let annotations = args.keyword("annotations");
        let step = args.keyword("step").filter(|arg| !matches!(arg.value, Value::None));
        let unroll = args.keyword("unroll").filter(|arg| !matches!(arg.value, Value::None));
        let dtype = args.keyword("dtype").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let mut annotations = annotations.map_or(Ok(Attrs::new()), |arg| self.to_attrs(&arg))?;
        match unroll.as_ref().map(|arg| &arg.value) {
            None => {}
            Some(Value::Bool(true)) => annotations.set("pragma_unroll", true),
            Some(Value::Bool(false)) => annotations.set("disable_unroll", true),
            Some(Value::Int(n)) if *n > 0 => annotations.set("pragma_unroll", AttrValue::Int(*n as i64)),
            Some(_) => {
                let arg = unroll.unwrap_or_else(|| start.clone());
                return Err(self.expected(&arg, "a truth value or a positive number"));
            }
        }
        self.loop_of(kind, start, stop, step, annotations, dtype)
    }

    fn loop_of(
        &mut self,
        kind: ForKind,
        start: Arg,
        stop: Option<Arg>,
        step: Option<Arg>,
        annotations: Attrs,
        dtype: Option<Arg>,
    ) -> Read<Bounds> {
        let (mut min, mut extent) = self.span_of(start, stop)?;
        if let Some(dtype) = dtype {
            let dtype = self.counter(&dtype)?;
            (min, extent) = (arith::cast(min, dtype), arith::cast(extent, dtype));
        }
        let step = match step {
            Some(arg) => {
                let step = self.to_scalar_like(&arg, extent.dtype())?;
                self.counted_in(step.dtype(), arg.span)?;
                if step.as_int().is_some_and(|s| s <= 0) {
                    let message = "the step of a loop is positive";
                    return Err(self.cx.error(
                        codes::KERNEL_STRUCTURE,
                        arg.span,
                        message,
                        "count up, and index downwards",
                    ));
                }
                Some(step).filter(|s| s.as_int() != Some(1))
            }
            None => None,
        };
        Ok(Bounds { min, extent, step, kind, annotations })
    }

    /// `T.thread_binding(32, thread="threadIdx.x")`, `T.thread_binding(0, 32, "threadIdx.x")`
    fn thread_binding(&mut self, mut args: Args) -> Read<Bounds> {
        let start = args.need(self.cx, "start")?;
        let stop = args.take("stop");
        let thread = args.take("thread");
        let annotations = args.keyword("annotations");
        args.finish(self.cx)?;
        let (stop, thread) = match (stop, thread) {
            (Some(tag @ Arg { value: Value::Str(_), .. }), None) => (None, tag),
            (stop, Some(thread)) => (stop, thread),
            _ => return Err(self.expected(&start, "a thread axis beside it, such as \"threadIdx.x\"")),
        };
        let thread = self.to_thread(&thread)?;
        let annotations = annotations.map_or(Ok(Attrs::new()), |arg| self.to_attrs(&arg))?;
        let stop = stop.filter(|arg| !matches!(arg.value, Value::None));
        self.loop_of(ForKind::ThreadBinding(thread), start, stop, None, annotations, None)
    }

    /// `T.grid(4, n, (1, 8))`
    fn grid(&mut self, mut args: Args) -> Read<Vec<Bounds>> {
        if args.positional.is_empty() {
            let message = "`T.grid` needs an extent for each loop";
            return Err(self.cx.error(codes::WRONG_ARGUMENTS, args.span, message, ""));
        }
        let dtype = args.keyword("dtype").filter(|arg| !matches!(arg.value, Value::None));
        let dtype = dtype.map(|arg| self.counter(&arg)).transpose()?;
        let mut loops = Vec::new();
        while let Some(arg) = args.positional.pop_front() {
            let (min, extent) = match arg.value.elements() {
                Some([start, extent]) => {
                    let side = |value: &Value| Arg { value: value.clone(), span: arg.span };
                    self.bound(&side(start))?;
                    self.bound(&side(extent))?;
                    self.scalar_pair(&side(start), &side(extent))?
                }
                _ => self.span_of(arg, None)?,
            };
            let dtype: DType = dtype.unwrap_or(extent.dtype());
            let (min, extent) = (arith::cast(min, dtype), arith::cast(extent, dtype));
            loops.push(Bounds { min, extent, step: None, kind: ForKind::Serial, annotations: Attrs::new() });
        }
        args.finish(self.cx)?;
        Ok(loops)
    }
}

//! Inlining of kernels that are called by other kernels.
//!
//! The callee's buffers are declared over the memory that the caller passes, so checks and analyses of a kernel's own
//! buffers (bounds, which arguments are written) also cover the buffers of its callees. The result calls no kernels.

mod remove_returns;

use crate::{
    error::{KernelError, Reason},
    lower::check_stmt,
};
use hammock_ir::{
    DType, Name, PrimExpr, Span,
    prim::{PrimKind, Var, check},
    tir::{
        Buffer, PrimFunc, Stmt, StmtKind,
        call::{BoundCall, CallMismatch, Equality, bind_call, called_in, callee, callees, conditional_call},
        fresh,
    },
};
use remove_returns::remove_returns;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Maximum depth of nested kernel calls.
const MAX_DEPTH: usize = 64;

/// Maximum number of statements that inlining may add to a kernel, which can grow exponentially with the depth.
const MAX_STATEMENTS: usize = 20_000;

/// Inlines all kernels that a function calls. `find` returns the module's kernels by name, `locate` the source location
/// of a span, for messages.
///
/// # Errors
/// When a call does not match its kernel, is in a position where it cannot be evaluated, or adds too many statements.
pub fn inline_calls<'f>(
    func: &'f PrimFunc,
    find: &dyn Fn(&str) -> Option<&'f PrimFunc>,
    locate: &dyn Fn(Span) -> Option<String>,
) -> Result<Cow<'f, PrimFunc>, KernelError> {
    if callees(func).is_empty() {
        return Ok(Cow::Borrowed(func));
    }
    let mut inliner = Inliner {
        find,
        locate,
        callers: Vec::new(),
        loop_vars: FxHashSet::default(),
        budget: MAX_STATEMENTS,
        span: func.span,
    };
    let mut whole = func.clone();
    match inliner.body(&mut whole.body) {
        Ok(()) => Ok(Cow::Owned(whole)),
        Err(reason) => {
            let name = func.global_symbol().unwrap_or("(private)").into();
            Err(KernelError { function: name, span: inliner.span, reason })
        }
    }
}

struct Inliner<'a, 'f> {
    find: &'a dyn Fn(&str) -> Option<&'f PrimFunc>,
    locate: &'a dyn Fn(Span) -> Option<String>,
    /// Kernels whose bodies enclose the current statement.
    callers: Vec<Name>,
    /// Variables of enclosing loops and axes.
    loop_vars: FxHashSet<Var>,
    /// Number of statements that may still be added.
    budget: usize,
    span: Span,
}

impl Inliner<'_, '_> {
    /// Inlines the calls in a statement that forms its own body.
    fn body(&mut self, stmt: &mut Stmt) -> Result<(), Reason> {
        let before = self.stmt(stmt)?;
        if !before.is_empty() {
            let inner = std::mem::replace(stmt, Stmt::nop());
            *stmt = Stmt::new(StmtKind::Seq(before.into_iter().chain([inner]).collect()));
        }
        Ok(())
    }

    /// Inlines the calls in any statement; returns the statements to insert before it.
    fn stmt(&mut self, stmt: &mut Stmt) -> Result<Vec<Stmt>, Reason> {
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        if let Some(name) = conditional_call(stmt) {
            return Err(Reason::CallPlace(name));
        }
        let mut before = Vec::new();
        match &mut stmt.kind {
            StmtKind::Seq(stmts) => {
                let mut all = Vec::with_capacity(stmts.len());
                for mut stmt in std::mem::take(stmts) {
                    all.append(&mut self.stmt(&mut stmt)?);
                    all.push(stmt);
                }
                *stmts = all;
                return Ok(before);
            }
            StmtKind::For(l) => {
                self.loop_vars.insert(l.var.clone());
                for e in [&mut l.min, &mut l.extent].into_iter().chain(&mut l.step) {
                    *e = self.expr(e, &mut before)?;
                }
            }
            StmtKind::If(e, ..)
            | StmtKind::Evaluate(e)
            | StmtKind::Bind(_, e)
            | StmtKind::Assert(e, ..)
            | StmtKind::Return(e)
            | StmtKind::Attr { value: e, .. } => *e = self.expr(e, &mut before)?,
            StmtKind::Store { indices, value, predicate, .. } => {
                for e in indices.iter_mut().chain([value]).chain(predicate) {
                    *e = self.expr(e, &mut before)?;
                }
            }
            StmtKind::Block(block) => self.loop_vars.extend(block.axes.iter().map(|axis| axis.var.clone())),
            _ => {}
        }
        let mut result = Ok(());
        stmt.each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.body(child);
            }
        });
        result.map(|()| before)
    }

    /// Replaces calls in an expression by their results.
    fn expr(&mut self, e: &PrimExpr, before: &mut Vec<Stmt>) -> Result<PrimExpr, Reason> {
        if called_in(e).is_none() {
            return Ok(e.clone());
        }
        let mut result = Ok(());
        let e = e.map_children(&mut |c| match self.expr(c, before) {
            Ok(new) => new,
            Err(reason) => {
                result = Err(reason);
                c.clone()
            }
        });
        result?;
        match (callee(&e), e.kind()) {
            (Some(name), PrimKind::Call(call)) => self.call(name, &call.args, before),
            _ => Ok(e),
        }
    }

    /// Returns the value of a call, and adds its body to the statements before.
    fn call(&mut self, name: &Name, args: &[PrimExpr], before: &mut Vec<Stmt>) -> Result<PrimExpr, Reason> {
        let misfit = |why: &str| Reason::Call { callee: name.clone(), why: why.to_owned() };
        let func = (self.find)(name).ok_or_else(|| misfit("the module has no such kernel"))?;
        if self.callers.contains(name) || self.callers.len() >= MAX_DEPTH {
            return Err(misfit("kernels call each other in circles, or too deep"));
        }
        let args: Vec<PrimExpr> = args.iter().map(|arg| self.stable_arg(arg, before)).collect();
        let bound = bind_call(func, &args).map_err(|why| match why {
            CallMismatch::Count => misfit("it takes another number of arguments"),
            CallMismatch::Argument(why) => misfit(&why),
        })?;
        let result = func.ret_ty.as_ref().map(|ty| ty.dtype()).filter(|dtype| !dtype.is_void());
        let result = result.map(|dtype| Buffer::new(format!("{name}.result"), vec![PrimExpr::int64(1)], dtype));
        if let Some(buffer) = &result {
            before.push(Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default())).at(self.span));
            let zero = PrimExpr::constant(0.0, buffer.dtype);
            before.push(Stmt::store(buffer, vec![PrimExpr::int64(0)], zero).at(self.span));
        }
        let at = self.span;
        let mut body = self.bound_body(name, func, bound)?;
        self.callers.push(name.clone());
        self.body(&mut body)?;
        self.callers.pop();
        let body =
            remove_returns(body, result.as_ref()).ok_or_else(|| misfit("it returns from the middle of its body"))?;
        before.push(body);
        self.span = at;
        Ok(result.map_or(PrimExpr::int32(0), |buffer| PrimExpr::load(&buffer, vec![PrimExpr::int64(0)])))
    }

    /// Returns an argument whose value is the same at every use in the callee. Tensor descriptors keep their form.
    fn stable_arg(&self, arg: &PrimExpr, before: &mut Vec<Stmt>) -> PrimExpr {
        match arg.kind() {
            // Declarations must not use loop variables, which lowering promotes.
            PrimKind::Var(var) if !self.loop_vars.contains(var) => arg.clone(),
            PrimKind::Int(_) | PrimKind::Float(_) | PrimKind::Str(_) => arg.clone(),
            PrimKind::Call(_)
                if ["tvm_stack_make_array", "tvm_stack_make_shape"].iter().any(|n| arg.as_intrin(n).is_some()) =>
            {
                arg.map_children(&mut |part| self.stable_arg(part, before))
            }
            _ => {
                let var = Var::of_value("arg", arg);
                before.push(Stmt::new(StmtKind::Bind(var.clone(), arg.clone())).at(self.span));
                var.expr()
            }
        }
    }

    /// Returns the callee's body in its own scope, after the checks and declarations of its parameters.
    fn bound_body(&mut self, name: &Name, func: &PrimFunc, bound: BoundCall) -> Result<Stmt, Reason> {
        let BoundCall { mut values, pointers, equalities } = bound;
        let at = |kind: StmtKind| Stmt::new(kind).at(self.span);
        let mut first = Vec::new();
        let line = check::suffix(self.locate, self.span);
        first.extend(equalities.iter().map(|e| check_equal(e, name, &line).at(self.span)));
        let mut buffers = FxHashMap::default();
        for (number, pointer) in pointers {
            let param = &func.params[number];
            let mut data = pointer.data;
            let mut offset = pointer.offset;
            if let (None, Some(elements)) = (&param.buffer, &offset) {
                let of = PrimExpr::intrin("type_annotation", Vec::new(), element(&data));
                let (none, mode) = (PrimExpr::int(0, elements.dtype()), PrimExpr::int32(3));
                let ty = data.ty().clone();
                data = PrimExpr::intrin("tvm_access_ptr", vec![of, data, elements.clone(), none, mode], ty);
                offset = None;
            }
            let var = match data.as_var() {
                Some(var) => var.clone(),
                None => {
                    let var = Var::new(param.var.name().clone(), data.ty().clone());
                    first.push(at(StmtKind::Bind(var.clone(), data)));
                    var
                }
            };
            values.insert(param.var.clone(), var.expr());
            let Some(buffer) = &param.buffer else { continue };
            values.insert(buffer.data.clone(), var.expr());
            let known = |all: &[PrimExpr]| all.iter().map(|e| e.substitute(&values)).collect();
            let own = buffer.change(|b| {
                b.name = format!("{name}.{}", b.name).into();
                (b.shape, b.strides) = (known(&b.shape), known(&b.strides));
                (b.data, b.elem_offset) = (var, offset);
            });
            buffers.insert(buffer.clone(), own.clone());
            first.push(at(StmtKind::Decl(own)));
        }
        let body = fresh::copy_body(&func.body, values, buffers);
        body.walk(&mut |_| self.budget = self.budget.saturating_sub(1));
        if self.budget == 0 {
            let why = "with the kernels that it calls in turn it is too long";
            return Err(Reason::Call { callee: name.clone(), why: why.into() });
        }
        Ok(Stmt::new(StmtKind::Seq(first.into_iter().chain([body]).collect())))
    }
}

/// Returns a statement that fails if sizes differ. One of its two checks fails if the size is too small, the other if
/// it is too large; their errors show both numbers.
fn check_equal(equality: &Equality, callee: &Name, line: &str) -> Stmt {
    let (expected, actual) = (&equality.expected, &equality.actual);
    let what = format!("{} of kernel `{callee}`", equality.what);
    let texts = |verb: &str, other: &str| [format!("{what} {verb} "), format!(", but {other} "), line.to_owned()];
    let checks = [
        check_stmt(expected.clone(), actual.clone(), &texts("must be", "is")),
        check_stmt(actual.clone(), expected.clone(), &texts("is", "must be")),
    ];
    Stmt::new(StmtKind::If(equality.condition().not(), Box::new(Stmt::seq(checks)), None))
}

/// Returns the element type of a pointer.
fn element(pointer: &PrimExpr) -> DType {
    match pointer.ty() {
        hammock_ir::prim::PrimType::Pointer(Some(dtype), _) => *dtype,
        _ => DType::UINT8,
    }
}

#[cfg(test)]
mod tests;

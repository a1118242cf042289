//! Outlining: splits a long sequence of statements into several functions.
//!
//! LLVM's time for a function grows with the square of its length: selecting and scheduling instructions compare the
//! memory accesses of a block with each other, and each new constant is compared with those that the function has.

use super::{
    Emitter, Function, Linkage, Result, Ty, Value,
    parallel::{contains_return, each_var},
};
use hammock_ir::{
    prim::{PrimKind, Var},
    tir::{Stmt, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Maximum number of operations of a sequence that is not outlined.
const MAX_OPS: usize = 4096;

/// Number of operations after which an outlined function ends, if none of its definitions is used later.
const PART_OPS: usize = 1024;

/// Number of captured values after which an outlined function ends, on the same condition.
const MAX_CAPTURED: usize = 128;

/// Maximum number of parameters of a function that is optimized although its statements are outlined: LLVM's register
/// allocation is quadratic in values that are live for long.
pub(super) const MAX_OPTIMIZED_PARAMS: usize = 128;

impl<'k> Emitter<'_, 'k> {
    /// Emits statements in order; their allocations end with them.
    pub(super) fn sequence(&mut self, stmts: &[Stmt]) -> Result<()> {
        let platform = self.kernel.platform;
        platform.sequence(self, stmts)
    }

    /// Emits statements in order, long sequences as several functions.
    pub(super) fn outlined_sequence(&mut self, stmts: &[Stmt]) -> Result<()> {
        if !is_long(stmts) {
            return self.in_order(stmts);
        }
        let live = self.workspaces.len();
        // An alias of another buffer needs no code.
        let is_alias = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Decl(b) if self.vars.contains_key(&b.data));
        let stmts: Vec<&Stmt> = stmts.iter().filter(|stmt| !is_alias(stmt)).collect();
        let is_outer = |var: &Var| self.vars.contains_key(var);
        let parts = parts(&stmts, &is_outer);
        if self.f.param_count() > MAX_OPTIMIZED_PARAMS {
            self.f.disable_optimization();
        }
        for part in parts {
            let part = &stmts[part];
            match part {
                _ if !self.f.is_open() => break,
                // A long statement may contain a sequence to outline.
                [stmt] => self.stmt(stmt)?,
                _ if part.iter().any(|stmt| leaves(stmt)) => part.iter().try_for_each(|stmt| self.stmt(stmt))?,
                _ => self.outlined(part)?,
            }
        }
        self.free_workspaces_to(live);
        Ok(())
    }

    /// Emits statements in order, in this function.
    pub(super) fn in_order<'s>(&mut self, stmts: impl IntoIterator<Item = &'s Stmt>) -> Result<()> {
        let live = self.workspaces.len();
        for stmt in stmts {
            if !self.f.is_open() {
                break; // what follows a break or return is never reached
            }
            self.stmt(stmt)?;
        }
        self.free_workspaces_to(live);
        Ok(())
    }

    /// Begins an internal function with parameters of types `leading` and for `captured` variables; returns its
    /// parameters.
    pub(super) fn outline(&mut self, name: &str, leading: &[Ty], captured: &[Var]) -> (Emitter<'_, 'k>, Vec<Value>) {
        let mut pointers = captured.iter().filter(|var| self.vars[*var].ty.is_pointer());
        let are_distinct = pointers.all(|var| self.distinct.contains(var));
        let attributes = |ty: Ty| if ty.is_pointer() && are_distinct { "noalias" } else { "" };
        let mut params: Vec<(Ty, &str)> = leading.iter().map(|ty| (*ty, "")).collect();
        params.extend(captured.iter().map(|var| (self.vars[var].ty, attributes(self.vars[var].ty))));
        let (f, values) = Function::new(name, Linkage::Internal, Ty::I32, &params);
        let mut inner = Emitter::new(self.kernel, f);
        inner.may_lose_nan = self.may_lose_nan;
        inner.stack_bytes = self.stack_bytes;
        inner.vars.extend(captured.iter().cloned().zip(values[leading.len()..].iter().cloned()));
        if are_distinct {
            inner.distinct.extend(captured.iter().cloned());
        }
        (inner, values)
    }

    /// Emits statements as a function, and a call of it.
    fn outlined(&mut self, stmts: &[&Stmt]) -> Result<()> {
        let (constants, captured): (Vec<Var>, Vec<Var>) =
            self.captured(stmts.iter().copied()).into_iter().partition(|var| self.vars[var].is_constant());
        let values: Vec<Value> = captured.iter().map(|var| self.vars[var].clone()).collect();
        let name = format!("{}.part{}", self.kernel.name, self.kernel.outlined);
        self.kernel.outlined += 1;
        let constants: Vec<_> = constants.into_iter().map(|var| (var.clone(), self.vars[&var].clone())).collect();
        let (mut inner, _) = self.outline(&name, &[], &captured);
        inner.vars.extend(constants);
        inner.in_order(stmts.iter().copied())?;
        inner.f.ret(&Value::int(0, Ty::I32));
        let mut f = inner.f;
        f.forbid_inlining();
        self.kernel.module.add(f);
        let args: Vec<&Value> = values.iter().collect();
        let status = self.f.call(&Value::global(&name), Ty::I32, &args);
        self.check(&status);
        Ok(())
    }
}

/// True if statements have more than [`MAX_OPS`] operations.
fn is_long(stmts: &[Stmt]) -> bool {
    let mut ops = 0;
    stmts.len() > 1
        && stmts.iter().any(|stmt| {
            ops += self::ops(stmt);
            ops > MAX_OPS
        })
}

/// Number of operations in a statement: about half as many as instructions.
fn ops(stmt: &Stmt) -> usize {
    let mut ops = 0;
    stmt.walk(&mut |stmt| {
        ops += 1;
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| {
                let is_leaf =
                    matches!(e.kind(), PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) | PrimKind::Str(_));
                ops += usize::from(!is_leaf);
            });
        });
    });
    ops
}

/// True if a statement skips the statements after it.
fn leaves(stmt: &Stmt) -> bool {
    stmt.jumps() || contains_return(stmt)
}

/// Returns ranges of statements that define nothing for later ones, and single statements that do.
/// `is_outer` returns true for a variable that is defined before all of them.
fn parts(stmts: &[&Stmt], is_outer: &dyn Fn(&Var) -> bool) -> Vec<Range<usize>> {
    let last_uses = last_uses(stmts);
    let (mut parts, mut part, mut in_use_until) = (Vec::new(), Part::default(), 0);
    for (i, stmt) in stmts.iter().enumerate() {
        let mut last_use = i;
        each_definition(stmt, &mut |var| {
            if !is_outer(var) {
                last_use = last_use.max(last_uses.get(var).copied().unwrap_or(i));
            }
        });
        let is_closed = in_use_until < i.max(1);
        // Definitions that are used much later are not outlined.
        let is_outside = is_closed && last_use - i > PART_OPS;
        if is_outside || is_closed && (part.ops >= PART_OPS || part.captured.len() >= MAX_CAPTURED) {
            parts.extend((part.start < i).then_some(part.start..i));
            part = Part { start: i, ..Part::default() };
        }
        if is_outside {
            parts.push(i..i + 1);
            part.start = i + 1;
            continue;
        }
        in_use_until = in_use_until.max(last_use);
        part.add(stmt);
    }
    parts.extend((part.start < stmts.len()).then_some(part.start..stmts.len()));
    parts
}

/// Statements of an outlined function.
#[derive(Default)]
struct Part<'s> {
    start: usize,
    ops: usize,
    defined: FxHashSet<&'s Var>,
    /// Variables defined before it.
    captured: FxHashSet<&'s Var>,
}

impl<'s> Part<'s> {
    fn add(&mut self, stmt: &'s Stmt) {
        self.ops += ops(stmt);
        each_definition(stmt, &mut |var| _ = self.defined.insert(var));
        each_var(stmt, &mut |var| {
            if !self.defined.contains(var) {
                self.captured.insert(var);
            }
        });
    }
}

/// Returns the index of the last statement that uses each variable.
fn last_uses<'s>(stmts: &[&'s Stmt]) -> FxHashMap<&'s Var, usize> {
    let mut uses = FxHashMap::default();
    for (i, stmt) in stmts.iter().enumerate() {
        each_var(stmt, &mut |var| _ = uses.insert(var, i));
    }
    uses
}

/// Calls `f` on each variable that a statement defines.
fn each_definition<'s>(stmt: &'s Stmt, f: &mut dyn FnMut(&'s Var)) {
    stmt.walk(&mut |stmt| match &stmt.kind {
        StmtKind::Bind(var, _) => f(var),
        StmtKind::For(l) => f(&l.var),
        StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => f(&buffer.data),
        _ => {}
    });
}

//! UnrollLoop: unrolls loops.
//!
//! These are loops of kind `T.unroll`, and, if options or pragmas (`pragma_auto_unroll_max_step`) allow, short serial
//! loops that do not contain remaining loops. A loop with `break` or `continue` stays.

use super::{each_kernel, misplaced, take};
use crate::{Context, OptionKind, Pass, PassOption};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, Name, PrimExpr, Span,
    arith::Analyzer,
    prim::PrimKind,
    tir::{ForKind, Loop, PrimFunc, Stmt, StmtKind},
};

const fn option(name: &'static str, kind: OptionKind, default: &'static str, doc: &'static str) -> PassOption {
    PassOption { name, kind, default, doc }
}

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "tirx.UnrollLoop",
    doc: "Unrolls loops",
    options: &[
        option("auto_max_step", OptionKind::Integer, "0", "Maximum steps of automatically unrolled serial loops"),
        option("auto_max_depth", OptionKind::Integer, "8", "Maximum nesting depth of automatically unrolled loops"),
        option(
            "auto_max_extent",
            OptionKind::Integer,
            "0",
            "Maximum iterations of automatically unrolled serial loops",
        ),
        option("explicit_unroll", OptionKind::Bool, "true", "Unroll; otherwise loops only become `T.unroll`"),
    ],
    run,
};

/// Maximum number of statements of a kernel after unrolling: more take longer to compile than to run.
const MAX_STATEMENTS: usize = 1 << 18;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let options = context.options;
    each_kernel(module, |name, kernel| {
        let mut unroller = Unroller {
            max_steps: options.integer("auto_max_step"),
            max_depth: options.integer("auto_max_depth"),
            max_iterations: options.integer("auto_max_extent"),
            explicit: options.is_on("explicit_unroll"),
            counts: Counts::default(),
            kernel: name,
        };
        unroller.kernel(kernel)
    })
}

/// Counts over the statements so far.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Stores and calls, multiplied by the iterations of unrolled loops.
    steps: i64,
    /// Nesting depth of unrolled loops.
    unrolled: i64,
    /// True if a loop remains.
    loops: bool,
    /// Statements after unrolling.
    unrolled_stmts: usize,
}

struct Unroller<'a> {
    max_steps: i64,
    max_depth: i64,
    max_iterations: i64,
    explicit: bool,
    counts: Counts,
    kernel: &'a Name,
}

impl Unroller<'_> {
    fn kernel(&mut self, kernel: &mut PrimFunc) -> Result<(), Diagnostic> {
        kernel.body = self.stmt(take(&mut kernel.body))?;
        Ok(())
    }

    fn stmt(&mut self, mut stmt: Stmt) -> Result<Stmt, Diagnostic> {
        let span = stmt.span;
        self.counts.unrolled_stmts += 1;
        match stmt.kind {
            StmtKind::Seq(stmts) => {
                let stmts = stmts.into_iter().map(|stmt| self.member(stmt)).collect::<Result<Vec<_>, _>>()?;
                return Ok(flat(Stmt::seq(stmts)).at(span));
            }
            StmtKind::Attr { ref key, ref value, ref mut body, .. } if self.pragma(key, value).is_some() => {
                let (steps, explicit) = (self.max_steps, self.explicit);
                if let Some(pragma) = self.pragma(key, value) {
                    (self.max_steps, self.explicit) = pragma;
                }
                let body = self.stmt(take(body));
                (self.max_steps, self.explicit) = (steps, explicit);
                return body;
            }
            StmtKind::For(mut l) => {
                l.body = self.stmt(take(&mut l.body))?;
                return self.of_loop(*l, span);
            }
            StmtKind::Store { .. } | StmtKind::Evaluate(_) => self.counts.steps += 1,
            _ => {}
        }
        let mut failed = None;
        stmt.each_child_mut(&mut |child| match self.stmt(take(child)) {
            Ok(new) => *child = new,
            Err(error) => failed = failed.take().or(Some(error)),
        });
        failed.map_or(Ok(stmt), Err)
    }

    /// Visits a statement of a sequence, counted separately.
    fn member(&mut self, stmt: Stmt) -> Result<Stmt, Diagnostic> {
        let before = std::mem::take(&mut self.counts);
        let stmt = self.stmt(stmt)?;
        self.counts.steps = self.counts.steps.saturating_add(before.steps);
        self.counts.unrolled = self.counts.unrolled.max(before.unrolled);
        self.counts.loops |= before.loops;
        self.counts.unrolled_stmts += before.unrolled_stmts;
        Ok(stmt)
    }

    /// Returns the maximum step and explicitness of unrolling, if an attribute sets them.
    fn pragma(&self, key: &str, value: &PrimExpr) -> Option<(i64, bool)> {
        match key {
            "pragma_auto_unroll_max_step" => Some((value.as_int()?, self.explicit)),
            "pragma_unroll_explicit" => Some((self.max_steps, value.as_int()? != 0)),
            _ => None,
        }
    }

    /// Handles a loop whose body has been visited.
    fn of_loop(&mut self, mut l: Loop, span: Span) -> Result<Stmt, Diagnostic> {
        let iterations = iterations(&l);
        let asked = l.kind == ForKind::Unrolled;
        if asked && iterations.is_none() {
            let help = "a loop of a number of iterations that is not known yet is written `range`";
            return Err(misplaced(&PASS, self.kernel, "a loop to unroll has no constant extent", help, span));
        }
        let Some(n) = iterations.filter(|n| (asked || self.is_short(&l, *n)) && !l.body.jumps()) else {
            self.counts.loops = true;
            return Ok(Stmt::new(StmtKind::For(Box::new(l))).at(span));
        };
        self.counts.steps = self.counts.steps.saturating_mul(n);
        self.counts.unrolled += 1;
        let written_out = self.explicit || n <= self.max_iterations && self.max_iterations == 1;
        if !written_out {
            l.kind = ForKind::Unrolled;
            return Ok(Stmt::new(StmtKind::For(Box::new(l))).at(span));
        }
        self.counts.unrolled_stmts =
            self.counts.unrolled_stmts.saturating_mul(usize::try_from(n).unwrap_or(usize::MAX));
        if self.counts.unrolled_stmts > MAX_STATEMENTS {
            let why = format!("it would have more than {MAX_STATEMENTS} statements");
            return Err(misplaced(&PASS, self.kernel, &why, "unroll loops of fewer iterations", span));
        }
        Ok(flat(l.unrolled(n)).at(span))
    }

    /// Returns true if a loop is unrolled automatically.
    fn is_short(&self, l: &Loop, n: i64) -> bool {
        let automatic = l.kind == ForKind::Serial
            && !self.counts.loops
            && self.counts.unrolled <= self.max_depth
            && (n.saturating_mul(self.counts.steps) <= self.max_steps || n <= self.max_iterations);
        automatic && !is_annotated(l)
    }
}

/// Flattens nested sequences, unless they declare values.
fn flat(stmt: Stmt) -> Stmt {
    let StmtKind::Seq(stmts) = stmt.kind else { return stmt };
    let opened = stmts.into_iter().flat_map(|stmt| match stmt.kind {
        StmtKind::Seq(stmts) if stmts.iter().all(|s| !s.declares() || matches!(s.kind, StmtKind::Bind(..))) => stmts,
        _ => vec![stmt],
    });
    Stmt::new(StmtKind::Seq(opened.collect()))
}

/// Returns true if a loop has annotations about its execution.
fn is_annotated(l: &Loop) -> bool {
    l.annotations.iter().any(|(_, value)| !matches!(value, AttrValue::None))
}

/// Returns the number of iterations of a loop.
fn iterations(l: &Loop) -> Option<i64> {
    let constant = |e: &PrimExpr| match e.kind() {
        PrimKind::Int(v) => Some(*v),
        _ => Analyzer::new().as_constant(e),
    };
    let extent = constant(&l.extent)?.max(0);
    match &l.step {
        None => Some(extent),
        Some(step) => {
            let step = constant(step).filter(|step| *step > 0)?;
            Some(extent / step + i64::from(extent % step != 0))
        }
    }
}

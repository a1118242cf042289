//! Verifier of stages: [`RULES`] lists what holds for every stage, after raising and after each transform.
//!
//! Schedules and lowering rely on the rules. [`Kernel::read`] checks them in debug builds.

mod rules;
#[cfg(test)]
mod tests;

use crate::{Footprint, Kernel, Part, Stage};
use hammock_ir::{
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
pub use rules::RULES;
use rustc_hash::FxHashSet;
use std::fmt;

/// A rule that holds for every stage.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The rule, in a sentence.
    pub doc: &'static str,
    holds: fn(&Stage, &Scope) -> bool,
}

/// A stage that breaks a rule.
pub struct Violation<'a> {
    /// The rule.
    pub rule: &'static Rule,
    /// The stage.
    pub stage: &'a Stage,
}

impl fmt::Display for Violation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage `{}` breaks the rule `{}`: {}", self.stage.name, self.rule.name, self.rule.doc)
    }
}

/// Definitions that a stage can use.
#[derive(Default)]
struct Scope {
    /// Parameters, sizes, memory of buffers, and variables of opaque statements.
    defined: FxHashSet<Var>,
    /// Local memory that no earlier part has written.
    unwritten: FxHashSet<Var>,
}

/// Checks a kernel between transforms.
pub struct Verifier<'a> {
    func: &'a PrimFunc,
    /// Memory of buffers that are declared around the kernel, such as match regions, and the sizes in their types.
    surrounding: FxHashSet<Var>,
    /// Local memory that the function itself reads before writing it.
    uninitialized: FxHashSet<Var>,
}

impl<'a> Verifier<'a> {
    /// Creates the verifier of a kernel that has just been raised, with its local buffers.
    pub fn new(func: &'a PrimFunc, kernel: &Kernel, own: &[Buffer]) -> Verifier<'a> {
        let mut unwritten: FxHashSet<Var> = own.iter().map(|buffer| buffer.data.clone()).collect();
        let mut uninitialized = FxHashSet::default();
        for part in &kernel.parts {
            for stage in part.stages() {
                uninitialized.extend(rules::loaded(stage).filter(|data| unwritten.contains(data)).cloned());
                stage.targets().for_each(|target| _ = unwritten.remove(&target.data));
            }
            if let Part::Opaque(_) = part {
                Footprint::of_part(part).vars().for_each(|var| _ = unwritten.remove(var));
            }
        }
        Verifier { func, surrounding: surrounding(kernel, own), uninitialized }
    }

    /// Checks all stages of the kernel.
    ///
    /// # Errors
    /// The first violation.
    pub fn check<'k>(&self, kernel: &'k Kernel, own: &[Buffer]) -> Result<(), Violation<'k>> {
        let mut scope = Scope::default();
        self.func.params.iter().for_each(|param| _ = scope.defined.insert(param.var.clone()));
        self.func.buffers().chain(own).for_each(|buffer| scope.define(buffer));
        scope.defined.extend(self.surrounding.iter().cloned());
        let local = own.iter().map(|buffer| buffer.data.clone());
        scope.unwritten = local.filter(|data| !self.uninitialized.contains(data)).collect();
        for part in &kernel.parts {
            if let Part::Opaque(opaque) = part {
                scope.define_stmts(&opaque.stmt);
                Footprint::of_part(part).vars().for_each(|var| _ = scope.unwritten.remove(var));
            }
            for stage in part.stages() {
                if let Some(rule) = RULES.iter().find(|rule| !(rule.holds)(stage, &scope)) {
                    return Err(Violation { rule, stage });
                }
                stage.targets().for_each(|target| _ = scope.unwritten.remove(&target.data));
            }
        }
        Ok(())
    }
}

/// Returns what the buffers define that a kernel accesses, without its local buffers.
fn surrounding(kernel: &Kernel, own: &[Buffer]) -> FxHashSet<Var> {
    let mut scope = Scope::default();
    let mut define = |buffer: &Buffer| {
        if !own.iter().any(|local| local.data == buffer.data) {
            scope.define(buffer);
        }
    };
    for stage in kernel.parts.iter().flat_map(Part::stages) {
        stage.targets().chain(stage.loaded()).for_each(&mut define);
    }
    scope.defined
}

impl Scope {
    /// Defines a buffer's memory, and the sizes in its type.
    fn define(&mut self, buffer: &Buffer) {
        self.defined.insert(buffer.data.clone());
        buffer.each_expr(&mut |e| e.each_var(&mut |var| _ = self.defined.insert(var.clone())));
    }

    /// Defines the variables that statements bind.
    fn define_stmts(&mut self, stmt: &Stmt) {
        stmt.walk(&mut |stmt| match &stmt.kind {
            StmtKind::Bind(var, _) => _ = self.defined.insert(var.clone()),
            StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => self.define(buffer),
            StmtKind::Block(block) => block.match_buffers.iter().for_each(|matched| self.define(&matched.buffer)),
            _ => {}
        });
    }
}

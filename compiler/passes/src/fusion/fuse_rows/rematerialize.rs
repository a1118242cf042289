//! Rematerialization: kernels that are cheaper to run again than to load the result of.
//!
//! If several kernels use the result of a cheap kernel with small inputs (a broadcast mask, an upcast), each gets its
//! own call, which can be fused with it: nothing is stored.

use super::{Fusion, group::FusionKind};
use crate::rewrite;
use hammock_diagnostics::Diagnostic;
use hammock_ir::relax::{Binding, Function, Value, Var};
use rustc_hash::FxHashMap;

/// Maximum number of copies of a call.
const MAX_COPIES: usize = 4;

/// Operands to recompute, by the bindings that use them.
#[derive(Default)]
pub struct Rematerialized(FxHashMap<Var, Vec<Var>>);

impl Fusion<'_> {
    /// Returns the calls that are cheaper to repeat for each user than to store, if every user can fuse its copy. The
    /// first user keeps the original call.
    pub fn find_rematerialized(&self) -> Rematerialized {
        let mut copies = Rematerialized::default();
        for (number, call) in self.calls.iter().enumerate() {
            let Some(group) = &self.groups[number] else { continue };
            let (own, hidden) = (call.var, self.function.vars[call.var].dataflow && self.graph.results(call.var) == 0);
            let mut users = self.graph.users(own).to_vec();
            users.dedup();
            let Some(cost) = group
                .cost_of_rematerialization(users.len())
                .filter(|_| hidden && (2..=MAX_COPIES).contains(&users.len()))
            else {
                continue;
            };
            let takes = |user: &Var| {
                let user = self.numbers.get(user).filter(|at| self.calls[**at].block == call.block);
                let user = user.and_then(|at| self.groups[*at].as_ref());
                let merged = user.and_then(|user| group.merge(user, own, &|_| false).ok());
                merged.is_some_and(|merged| match merged.kind {
                    FusionKind::Epilogue | FusionKind::Permuted => true,
                    FusionKind::Rows { reloaded, .. } => reloaded == 0,
                })
            };
            let value = self.graph.def(own).map(|def| &def.binding.value);
            let changes = |user: &Var| value.is_none_or(|value| self.memory.changes_between(value, own, *user));
            if cost.reloaded < cost.stored && users.iter().all(takes) && !users.iter().any(changes) {
                self.context.note(|| {
                    let (name, callee, tensor) = (self.name, call.callee, &self.function.vars[own].name);
                    let (users, bytes) = (users.len(), super::size(cost.stored - cost.reloaded));
                    format!("{name}: `{callee}` runs for each of the {users} users of `{tensor}`; saves {bytes} of memory traffic")
                });
                users[1..].iter().for_each(|user| copies.0.entry(*user).or_default().push(own));
            }
        }
        copies
    }
}

impl Rematerialized {
    /// Returns true if there is nothing to recompute.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Inserts the copies.
    pub fn insert_copies(self, function: &mut Function) -> Result<(), Diagnostic> {
        let wanted = self.0.values().flatten();
        let mut calls: FxHashMap<Var, Option<Binding>> = wanted.map(|var| (*var, None)).collect();
        rewrite::bindings(function, &mut |function, mut binding, out| {
            for own in self.0.get(&binding.var).into_iter().flatten() {
                let Some(Some(call)) = calls.get(own) else { continue };
                let (info, value) = (function.vars[*own].clone(), call.value.clone());
                let copy = out.bind(function, &info.name, info.ty, value, call.span);
                replace(&mut binding.value, *own, copy);
            }
            if let Some(call) = calls.get_mut(&binding.var) {
                *call = Some(binding.clone());
            }
            out.push(binding);
            Ok(())
        })
    }
}

fn replace(value: &mut Value, from: Var, to: Var) {
    value.each_operand_mut(&mut |operand| {
        operand.map(&mut |operand| {
            if operand.as_var() == Some(from) {
                *operand = to.into();
            }
        });
    });
}

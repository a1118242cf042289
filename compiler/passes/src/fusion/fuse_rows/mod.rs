//! FuseRows: fuses row-wise kernels into one that is tiled by rows, so that intermediates stay in the cache.
//!
//! FuseOps fuses element-wise operations with one reduction. This pass, which runs after FuseTIR, goes further:
//! normalizations (softmax, layer norm and similar, with the producers of their input and the consumers of their
//! result), matmuls followed by more than element-wise operations of the same shape, and attention written as matmuls
//! and a softmax. Two calls are fused if
//!
//! - the second is an epilogue of a matmul or another reduction;
//! - the first only permutes rows that the second reads, like a transpose of attention heads; or
//! - their stages have common row axes ([`hammock_loopnest::row_axes`]), the intermediates of 8 rows fit into a core's
//!   cache, and storing and loading the intermediate costs more bytes than reloading operands for each 8 rows, such
//!   as weights of a matmul that exceed the cache.
//!
//! A cheap call with several users is rematerialized for each if that costs less than storing its result. The groups
//! become functions as FuseOps makes them, so FuseTIR must follow.

mod group;
mod kernel;
mod rematerialize;

use crate::{
    Context, Pass,
    analysis::attributes::PRIMITIVE,
    rewrite::{
        self,
        groups::{self, Groups, outline_groups},
        shared_functions::SharedFunctions,
    },
};
use group::{FusedGroup, FusionKind, Group, Rejected};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Module, Name,
    relax::{
        Binding, CallTir, Function, Graph, Operand, Outlining, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use kernel::Kernel;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of calls in a group.
const MAX_MEMBERS: usize = 24;
/// Approximate maximum of operations in all expressions of a group: a larger kernel takes longer to compile than its
/// parts, and saves little compared with its own run time.
const MAX_OPERATIONS: i64 = 512;
/// Maximum number of bindings visited to check that nothing must run between two parts of a group.
const MAX_VISITED: usize = 512;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseRows",
    doc: "Groups row-wise kernel calls into functions that FuseTIR fuses, tiled by rows",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut kernels: FxHashMap<Name, Option<Kernel>> = FxHashMap::default();
    let writers = Writers::of(module, &Table);
    let mut shared = SharedFunctions::default();
    rewrite::relax_functions(module, |module, name, function| {
        let attrs = &function.lambda.attrs;
        if attrs.is_true(PRIMITIVE) || attrs.get("Codegen").is_some() {
            return Ok(());
        }
        let memory = MemoryDependences::of(function, &writers, &Table);
        let fusion = Fusion::new(module, function, memory, &mut kernels, context, name);
        let copies = fusion.find_rematerialized();
        let groups = if copies.is_empty() {
            fusion.groups()
        } else {
            drop(fusion);
            copies.insert_copies(function)?;
            let memory = MemoryDependences::of(function, &writers, &Table);
            Fusion::new(module, function, memory, &mut kernels, context, name).groups()
        };
        if !groups.all.is_empty() {
            let body = rewrite::take_body(function);
            let kind = Outlining { lift_constants: true, ..Outlining::default() };
            function.lambda.body = outline_groups(module, function, body, &groups, (&writers, kind), &mut shared)?;
        }
        Ok(())
    })
}

/// Kernel calls of a function's dataflow blocks, and their groups so far.
struct Fusion<'a> {
    context: &'a Context<'a>,
    name: &'a Name,
    graph: Graph<'a>,
    memory: MemoryDependences,
    /// Bindings that must come after a binding because of memory dependences.
    after: FxHashMap<Var, Vec<Var>>,
    function: &'a Function,
    calls: Vec<Node<'a>>,
    /// Index of the call that computes a variable.
    numbers: FxHashMap<Var, usize>,
    /// Group of each call: an index into `groups`.
    group_of: Vec<usize>,
    groups: Vec<Option<Group>>,
}

struct Node<'a> {
    var: Var,
    block: usize,
    callee: &'a Name,
    operands: Vec<Option<Var>>,
}

impl<'a> Fusion<'a> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        memory: MemoryDependences,
        kernels: &mut FxHashMap<Name, Option<Kernel>>,
        context: &'a Context<'a>,
        name: &'a Name,
    ) -> Self {
        let (mut calls, mut groups, mut numbers) = (Vec::new(), Vec::new(), FxHashMap::default());
        let blocks = function.lambda.body.blocks.iter().enumerate().filter(|(_, block)| block.dataflow);
        for (block, binding) in blocks.flat_map(|(at, block)| block.bindings.iter().map(move |b| (at, b))) {
            let call = kernel_call(function, binding).filter(|_| !memory.writes(binding.var));
            let Some((callee, operands)) = call else { continue };
            let kernel =
                kernels.entry(callee.clone()).or_insert_with(|| module.tir(callee).and_then(Kernel::of)).as_ref();
            let Some(kernel) = kernel.filter(|kernel| kernel.inputs.len() == operands.len()) else { continue };
            numbers.insert(binding.var, calls.len());
            groups.push(Some(Group::new(calls.len(), binding.var, kernel, &operands)));
            calls.push(Node { var: binding.var, block, callee, operands });
        }
        let group_of = (0..calls.len()).collect();
        let mut after: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
        for block in function.lambda.body.blocks.iter().filter(|block| block.dataflow) {
            for (earlier, later) in memory.order(&block.bindings) {
                after.entry(earlier).or_default().push(later);
            }
        }
        let graph = Graph::of(function);
        Fusion { context, name, graph, memory, after, function, calls, numbers, group_of, groups }
    }

    fn groups(mut self) -> Groups {
        for user in 0..self.calls.len() {
            for operand in 0..self.calls[user].operands.len() {
                let Some(tensor) = self.calls[user].operands[operand] else { continue };
                if let Some(producer) = self.numbers.get(&tensor) {
                    self.join(*producer, user, tensor);
                }
            }
        }
        let mut found = Groups::default();
        for group in self.groups.into_iter().flatten().filter(|group| group.members.len() > 1) {
            let part = |at: &usize| format!("_{}", self.calls[*at].callee.trim_start_matches("fused_"));
            let name = format!("fused{}", group.members.iter().map(part).collect::<String>());
            for member in &group.members {
                found.of.insert(self.calls[*member].var, found.all.len());
            }
            found.all.push(groups::Group { name, attrs: Attrs::new().with(PRIMITIVE, true) });
        }
        found
    }

    /// Fuses the groups of two calls, if that is possible and profitable.
    fn join(&mut self, producer: usize, user: usize, tensor: Var) {
        let (first, second) = (self.group_of[producer], self.group_of[user]);
        let [Some(a), Some(b)] = [&self.groups[first], &self.groups[second]] else { return };
        let fits = first != second
            && self.calls[producer].block == self.calls[user].block
            && a.members.len() + b.members.len() <= MAX_MEMBERS
            && a.operations.saturating_add(b.operations) <= MAX_OPERATIONS;
        if !fits {
            return;
        }
        let members: FxHashSet<Var> = a.members.iter().chain(&b.members).map(|at| self.calls[*at].var).collect();
        if self.has_path_outside(&members) {
            return;
        }
        let visible = |var: Var| {
            !self.function.vars[var].dataflow
                || self.graph.results(var) > 0
                || self.graph.users(var).iter().any(|user| !members.contains(user))
        };
        let merged = a.merge(b, tensor, &visible);
        self.context.note(|| self.explain(producer, user, tensor, &merged));
        if let Ok(FusedGroup { group, .. }) = merged {
            for member in &group.members {
                self.group_of[*member] = second;
            }
            self.groups[first] = None;
            self.groups[second] = Some(group);
        }
    }

    /// Returns true if a path between two of these calls leads outside the group, or may. Other groups are computed as a
    /// whole, so a path may enter one at any of its calls and leave it at another.
    fn has_path_outside(&self, members: &FxHashSet<Var>) -> bool {
        let place = |var: Var| self.graph.def(var).map(|def| def.position);
        let last = members.iter().filter_map(|member| place(*member)).max();
        let mut seen: FxHashSet<Var> = FxHashSet::default();
        let mut open: Vec<Var> = Vec::new();
        let outside = |from: Var, open: &mut Vec<Var>| {
            open.extend(self.followers(from).filter(|user| !members.contains(user)));
        };
        members.iter().for_each(|member| outside(*member, &mut open));
        while let Some(var) = open.pop() {
            if !seen.insert(var) {
                continue;
            }
            open.extend(self.members_with(var).filter(|other| !seen.contains(other)));
            if place(var) > last {
                continue;
            }
            // Sizes bound here may occur in a member's type.
            let binds_sizes = self.function.scalar(var).is_some()
                || matches!(self.graph.def(var).map(|def| &def.binding.value), Some(Value::MatchCast(..)));
            let needed = || self.followers(var).any(|user| members.contains(user));
            if binds_sizes || seen.len() > MAX_VISITED || needed() {
                return true;
            }
            outside(var, &mut open);
        }
        false
    }

    /// Returns the calls that are in one group with a call.
    fn members_with(&self, var: Var) -> impl Iterator<Item = Var> {
        let group = self.numbers.get(&var).and_then(|number| self.groups[self.group_of[*number]].as_ref());
        group.into_iter().flat_map(|group| &group.members).map(|member| self.calls[*member].var)
    }

    /// Returns the users of a binding, and bindings that must come after it because of memory dependences.
    fn followers(&self, var: Var) -> impl Iterator<Item = &Var> {
        self.graph.users(var).iter().chain(self.after.get(&var).into_iter().flatten())
    }

    fn explain(&self, producer: usize, user: usize, tensor: Var, merged: &Result<FusedGroup, Rejected>) -> String {
        let (first, second) = (self.calls[producer].callee, self.calls[user].callee);
        let what = format!("{}: `{first}` and `{second}`, by `{}`", self.name, self.function.vars[tensor].name);
        match merged {
            Ok(FusedGroup { kind: FusionKind::Epilogue, .. }) => {
                format!("{what}: one kernel; each result is used as it is computed")
            }
            Ok(FusedGroup { kind: FusionKind::Permuted, .. }) => {
                format!("{what}: one kernel; the second reads what the first would only rearrange")
            }
            Ok(FusedGroup { kind: FusionKind::Rows { saved, reloaded }, .. }) => {
                let again = if *reloaded > 0 { format!(", loads {} again", size(*reloaded)) } else { String::new() };
                format!("{what}: one kernel, row by row; saves {} of memory traffic{again}", size(*saved))
            }
            Err(Rejected::NoCommonRows) => format!("{what}: two kernels; they share no rows"),
            Err(Rejected::ExceedsCache(held)) => {
                format!("{what}: two kernels; {} for a few rows do not fit into the cache", size(*held))
            }
            Err(Rejected::TooExpensive(reloaded, saved)) => {
                let (reloaded, saved) = (size(*reloaded), size(*saved));
                format!("{what}: two kernels; one would load {reloaded} again to save {saved}")
            }
        }
    }
}

/// Returns the kernel that a binding calls, and its tensor arguments that are variables; `None` if it is not a call
/// with one new tensor.
fn kernel_call<'a>(function: &Function, binding: &'a Binding) -> Option<(&'a Name, Vec<Option<Var>>)> {
    let call = CallTir::of_value(&binding.value)?;
    function.ty(binding.var).as_tensor()?;
    let operand = |operand: &Operand| match operand {
        Operand::Var(var) => Some(Some(*var)),
        Operand::Const(_) => Some(None),
        _ => None,
    };
    let tensors = call.inputs()?.iter().filter(|operand| !matches!(operand, Operand::Prim(_)));
    Some((call.kernel()?, tensors.map(operand).collect::<Option<_>>()?))
}

/// Formats a number of bytes.
fn size(bytes: i64) -> String {
    match bytes {
        ..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} KB", (bytes + 500) / 1000),
        _ => format!("{} MB", (bytes + 500_000) / 1_000_000),
    }
}

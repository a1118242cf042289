//! FuseRows: kernels that work row by row become one, which holds only a few rows of what they handed on.
//!
//! FuseOps makes one kernel of element-wise operations and of what ends in one reduction. This pass, which runs after
//! FuseTIR, goes on where rows are normalised (softmax, layer norm and their kin, with what computes their input and what
//! uses their result), where a product is followed by more than element-wise operations of its own shape, and where
//! attention is written out as products and a softmax. Two calls are joined if
//!
//! - the second does something with each result of a product or reduction, as it is computed (an epilogue);
//! - the first only rearranges rows that the second reads, as a transpose of heads does; or
//! - their stages share rows ([`hammock_ir::tir::rows`]), what they hold for 8 rows fits into a core's cache, and storing
//!   and loading what is handed on costs more bytes than what is loaded again for each 8 rows, such as the weights of a
//!   product that do not fit into the cache.
//!
//! A cheap call with several users is repeated for each where that costs less than storing its result. The groups become
//! functions as FuseOps makes them, so FuseTIR must follow.

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
use group::{Apart, Group, How, Merged};
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

/// The most calls in a group.
const MAX_MEMBERS: usize = 24;
/// About the most operations in all expressions of a group: what a kernel that large could save is little beside what it
/// computes, and compiling it takes longer than its parts do.
const MAX_OPERATIONS: i64 = 512;
/// How many bindings are looked at to see whether one group must run between two parts of another.
const MAX_SEARCH: usize = 512;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseRows",
    doc: "Groups kernel calls that work row by row into functions that FuseTIR makes kernels of",
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
        let copies = fusion.copies();
        let groups = if copies.is_empty() {
            fusion.groups()
        } else {
            drop(fusion);
            copies.make(function)?;
            let memory = MemoryDependences::of(function, &writers, &Table);
            Fusion::new(module, function, memory, &mut kernels, context, name).groups()
        };
        if !groups.all.is_empty() {
            let body = rewrite::take_body(function);
            let how = Outlining { lift_constants: true, ..Outlining::default() };
            function.lambda.body = outline_groups(module, function, body, &groups, (&writers, how), &mut shared)?;
        }
        Ok(())
    })
}

/// The kernel calls of a function's dataflow blocks, and the groups that they are in so far.
struct Fusion<'a> {
    context: &'a Context<'a>,
    name: &'a Name,
    graph: Graph<'a>,
    memory: MemoryDependences,
    /// Bindings that must come after one for its memory's sake.
    after: FxHashMap<Var, Vec<Var>>,
    function: &'a Function,
    calls: Vec<Node<'a>>,
    /// The call that computes a variable.
    numbers: FxHashMap<Var, usize>,
    /// The group of each call: a number of `groups`.
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

    /// Makes one group of those of two calls, if that is possible and better.
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
        if self.comes_between(&members) {
            return;
        }
        let visible = |var: Var| {
            !self.function.vars[var].dataflow
                || self.graph.results(var) > 0
                || self.graph.users(var).iter().any(|user| !members.contains(user))
        };
        let merged = a.merge(b, tensor, &visible);
        self.context.note(|| self.explain(producer, user, tensor, &merged));
        if let Ok(Merged { group, .. }) = merged {
            for member in &group.members {
                self.group_of[*member] = second;
            }
            self.groups[first] = None;
            self.groups[second] = Some(group);
        }
    }

    /// Returns true if something else needs one of these calls and is needed by another; or may be.
    fn comes_between(&self, members: &FxHashSet<Var>) -> bool {
        let place = |var: Var| self.graph.def(var).map(|def| def.place);
        let last = members.iter().filter_map(|member| place(*member)).max();
        let mut seen: FxHashSet<Var> = FxHashSet::default();
        let mut open: Vec<Var> = Vec::new();
        let outside = |from: Var, open: &mut Vec<Var>| {
            open.extend(self.followers(from).filter(|user| !members.contains(user)));
        };
        members.iter().for_each(|member| outside(*member, &mut open));
        while let Some(var) = open.pop() {
            if place(var) > last || !seen.insert(var) {
                continue;
            }
            // Sizes that are bound here may be those of a member's type.
            let binds_sizes = self.function.scalar(var).is_some()
                || matches!(self.graph.def(var).map(|def| &def.binding.value), Some(Value::MatchCast(..)));
            let needed = || self.followers(var).any(|user| members.contains(user));
            if binds_sizes || seen.len() > MAX_SEARCH || needed() {
                return true;
            }
            outside(var, &mut open);
        }
        false
    }

    /// What uses a binding, and what must come after it for its memory's sake.
    fn followers(&self, var: Var) -> impl Iterator<Item = &Var> {
        self.graph.users(var).iter().chain(self.after.get(&var).into_iter().flatten())
    }

    fn explain(&self, producer: usize, user: usize, tensor: Var, merged: &Result<Merged, Apart>) -> String {
        let (first, second) = (self.calls[producer].callee, self.calls[user].callee);
        let what = format!("{}: `{first}` and `{second}`, by `{}`", self.name, self.function.vars[tensor].name);
        match merged {
            Ok(Merged { how: How::Epilogue, .. }) => {
                format!("{what}: one kernel; each result is used as it is computed")
            }
            Ok(Merged { how: How::Rearranged, .. }) => {
                format!("{what}: one kernel; the second reads what the first would only rearrange")
            }
            Ok(Merged { how: How::Rows { saved, repeated }, .. }) => {
                let again = if *repeated > 0 { format!(", loads {} again", size(*repeated)) } else { String::new() };
                format!("{what}: one kernel, row by row; saves {} of memory traffic{again}", size(*saved))
            }
            Err(Apart::NoRows) => format!("{what}: two kernels; they share no rows"),
            Err(Apart::TooLong(held)) => {
                format!("{what}: two kernels; {} for a few rows do not fit into the cache", size(*held))
            }
            Err(Apart::TooDear(repeated, saved)) => {
                let (repeated, saved) = (size(*repeated), size(*saved));
                format!("{what}: two kernels; one would load {repeated} again to save {saved}")
            }
        }
    }
}

/// The kernel that a binding calls, and the variables among the tensors that it is given; `None` if it is no call with one
/// new tensor.
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

/// A number of bytes as people say it.
fn size(bytes: i64) -> String {
    match bytes {
        ..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} KB", (bytes + 500) / 1000),
        _ => format!("{} MB", (bytes + 500_000) / 1_000_000),
    }
}

//! Memory dependences: alias analysis and mod-ref information, in addition to the use-def chains in
//! [`Graph`](super::Graph).
//!
//! A variable keeps its value unless a call overwrites its memory. [`MemoryDependences`] has the *regions* of memory
//! that each variable may point to (through aliases: tuples, casts, views, results of in-place calls, captured
//! variables), and the bindings that write to them. A pass that moves, repeats, merges or removes a binding queries it
//! first:
//!
//! - [`changes_between`](MemoryDependences::changes_between): may a value change if it is computed later?
//! - [`is_written`](MemoryDependences::is_written): may a variable's memory be overwritten later, so that it can be
//!   neither a constant nor an alias of an equal value?
//! - [`order`](MemoryDependences::order): which bindings of a block must keep their order (read after write, write after
//!   read, write after write)?
//!
//! Both regions and writes are conservative. All memory from outside the function (parameters, memory captured or
//! returned by unknown functions) is one region, because callers may pass a tensor twice. Constants are in no region:
//! they are never written.

mod build;
mod writers;

#[cfg(test)]
mod tests;

pub use build::PointsTo;
pub use writers::Writers;

use super::{Binding, Function, OpTable, Operand, Value, Var};
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// A region of memory, by number.
pub type Region = u32;

/// Any memory.
pub const ANY: Region = 0;

/// Memory from outside the function, or captured by unknown functions.
pub const EXTERNAL: Region = 1;

/// Memory regions of a function's variables and the bindings that write to them, at the time of the analysis.
pub struct MemoryDependences {
    held: SecondaryMap<Var, PointsTo>,
    /// First and last position of each binding, including nested bodies. 0 for parameters.
    positions: SecondaryMap<Var, (u32, u32)>,
    /// Positions that write to each region, in order.
    writes: FxHashMap<Region, Vec<u32>>,
    /// Writing positions with their regions, in order.
    writers: Vec<(u32, Vec<Region>)>,
    /// First and last positions of nested functions' bodies.
    lambdas: Vec<(u32, u32)>,
    /// Regions that unknown functions may capture.
    escaped: FxHashSet<Region>,
    /// Regions of functions' results: callers may write to them.
    returned: FxHashSet<Region>,
    regions: Region,
}

impl MemoryDependences {
    /// The dependences of a function; empty if nothing in its module writes.
    pub fn of(function: &Function, writers: &Writers, table: &dyn OpTable) -> Self {
        match writers.any() {
            true => Self::with_regions(function, writers, table),
            false => Self::empty(),
        }
    }

    /// Returns true if nothing in the function writes.
    pub fn is_empty(&self) -> bool {
        self.writers.is_empty()
    }

    /// Returns true if the function has nested functions, which run later than they are written.
    pub fn has_closures(&self) -> bool {
        !self.lambdas.is_empty()
    }

    /// Returns true if a binding, or one nested in it, may write to memory that is not new.
    pub fn writes(&self, var: Var) -> bool {
        !self.written_by(var).is_empty()
    }

    /// Returns true if the variable's memory may be written to after its binding, by the function or its callers.
    pub fn is_written(&self, var: Var) -> bool {
        self.is_written_after(&var.into(), var)
    }

    /// Returns true if the function itself may write to the variable's memory after its binding.
    pub fn is_overwritten(&self, var: Var) -> bool {
        self.is_written_within(&self.regions(var), self.positions[var].1.saturating_add(1), u32::MAX)
    }

    /// Returns true if an operand's memory may be written to after the binding of `at`, or escapes the function.
    pub fn is_written_after(&self, operand: &Operand, at: Var) -> bool {
        let regions = self.flat(&self.operand(operand));
        let end = self.positions[at].1;
        self.is_written_within(&regions, end.saturating_add(1), u32::MAX)
            || regions.iter().any(|region| self.returned.contains(region))
    }

    /// Returns true if memory that a value reads is written to anywhere in the function.
    pub fn reads_written(&self, value: &Value) -> bool {
        self.is_written_within(&self.read(value), 0, u32::MAX)
    }

    /// Returns true if recomputing the value of `var` at the binding of `to` may give another result than `var` has
    /// there: its memory, or memory that it reads, may be written to in between.
    pub fn changes_between(&self, value: &Value, var: Var, to: Var) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut regions = self.read(value);
        regions.extend(self.regions(var));
        let (from, to) = (self.positions[var].1, self.positions[to].0);
        // The body of a nested function runs later than it is written.
        let runs_later = |(begin, end): &(u32, u32)| (*begin..=*end).contains(&to) && !(*begin..=*end).contains(&from);
        match self.lambdas.iter().any(runs_later) {
            true => self.is_written_within(&regions, 0, u32::MAX),
            false => self.is_written_within(&regions, from.saturating_add(1), to),
        }
    }

    /// Pairs of bindings, earlier and later, that must keep their order because one of them writes to memory that the
    /// other reads or writes. `bindings` are in one body, in order.
    pub fn order<'b>(&self, bindings: impl IntoIterator<Item = &'b Binding>) -> Vec<(Var, Var)> {
        let mut edges = Vec::new();
        if self.is_empty() {
            return edges;
        }
        let mut last: FxHashMap<Region, LastAccess> = FxHashMap::default();
        for binding in bindings {
            let (read, written) = (self.read(&binding.value), self.written_by(binding.var));
            for region in self.overlapping(&read) {
                let last = last.entry(region).or_default();
                edges.extend(last.write.filter(|writer| *writer != binding.var).map(|writer| (writer, binding.var)));
                last.reads.push(binding.var);
            }
            for region in self.overlapping(&written) {
                let last = last.entry(region).or_default();
                let before = last.reads.drain(..).chain(last.write).filter(|other| *other != binding.var);
                edges.extend(before.map(|other| (other, binding.var)));
                last.write = Some(binding.var);
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// The regions that a value reads: those of its operands and of everything its branches use. Aliases read nothing.
    pub fn read(&self, value: &Value) -> Vec<Region> {
        let mut regions = Vec::new();
        if let Value::Call(_) | Value::If { .. } = value {
            let mut add = |var: Var| each(&self.held[var], &mut |region| regions.push(self.class(region)));
            value.each_use(&mut add);
        }
        sorted(regions)
    }

    /// The regions that a binding, or one nested in it, writes to.
    pub fn written_by(&self, var: Var) -> Vec<Region> {
        let (begin, end) = self.positions[var];
        let first = self.writers.partition_point(|(position, _)| *position < begin);
        let inside = self.writers[first..].iter().take_while(|(position, _)| *position <= end);
        // A nested function writes when it is called.
        let inside = inside.filter(|(position, _)| {
            !self.lambdas.iter().any(|(first, last)| {
                (first..=last).contains(&position) && !(first..=last).contains(&&begin) && *first > begin
            })
        });
        sorted(inside.flat_map(|(_, regions)| regions.iter().copied()).collect())
    }

    /// The regions that a variable may point to.
    pub fn regions(&self, var: Var) -> Vec<Region> {
        self.flat(&self.held[var])
    }

    /// Returns true if two sets of regions may share memory.
    pub fn overlap(&self, a: &[Region], b: &[Region]) -> bool {
        let has_any = |regions: &[Region]| regions.contains(&ANY);
        !a.is_empty() && !b.is_empty() && (has_any(a) || has_any(b) || a.iter().any(|region| b.contains(region)))
    }

    /// Returns true if any of the regions is written to from position `first` to before `end`.
    fn is_written_within(&self, regions: &[Region], first: u32, end: u32) -> bool {
        if regions.is_empty() || self.is_empty() {
            return false;
        }
        if regions.contains(&ANY) {
            let at = self.writers.partition_point(|(position, _)| *position < first);
            return self.writers.get(at).is_some_and(|(position, _)| *position < end);
        }
        let within = |region: &Region| {
            self.writes.get(region).is_some_and(|positions| {
                let at = positions.partition_point(|position| *position < first);
                positions.get(at).is_some_and(|position| *position < end)
            })
        };
        within(&ANY) || regions.iter().any(within)
    }

    /// Written regions that may share memory with these.
    fn overlapping(&self, regions: &[Region]) -> Vec<Region> {
        match regions {
            [] => Vec::new(),
            _ if regions.contains(&ANY) => self.writes.keys().copied().collect(),
            _ => {
                let own = regions.iter().chain([&ANY]).filter(|region| self.writes.contains_key(region));
                own.copied().collect()
            }
        }
    }

    /// The representative of a region's class.
    fn class(&self, region: Region) -> Region {
        if self.escaped.contains(&region) { EXTERNAL } else { region }
    }

    fn flat(&self, held: &PointsTo) -> Vec<Region> {
        let mut regions = Vec::new();
        each(held, &mut |region| regions.push(self.class(region)));
        sorted(regions)
    }
}

/// The last binding that wrote to a region, and those that have read it since.
#[derive(Default)]
struct LastAccess {
    write: Option<Var>,
    reads: Vec<Var>,
}

fn sorted(mut regions: Vec<Region>) -> Vec<Region> {
    regions.sort_unstable();
    regions.dedup();
    regions
}

/// Calls `f` on every region.
fn each(held: &PointsTo, f: &mut dyn FnMut(Region)) {
    match held {
        PointsTo::Nothing => {}
        PointsTo::AnyOf(regions) => regions.iter().for_each(|region| f(*region)),
        PointsTo::Tuple(fields, ..) => fields.iter().for_each(|field| each(field, f)),
    }
}

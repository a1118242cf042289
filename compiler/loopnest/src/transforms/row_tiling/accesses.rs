//! Index of a kernel's parts by the memory that they access.

use crate::{Footprint, Part, Stage};
use hammock_ir::{prim::Var, tir::Buffer};
use rustc_hash::FxHashMap;

/// Indices of the parts that access each memory, in order.
#[derive(Default)]
pub struct Accesses {
    users: FxHashMap<Var, Vec<usize>>,
    readers: FxHashMap<Var, Vec<usize>>,
    writers: FxHashMap<Var, Vec<usize>>,
    /// Parts of unknown effect.
    opaque: Vec<usize>,
    /// True if a part now runs with a later one.
    joined: Vec<bool>,
}

impl Accesses {
    /// Builds the index.
    pub fn of(parts: &[Part]) -> Self {
        let mut accesses = Accesses { joined: vec![false; parts.len()], ..Accesses::default() };
        for (number, part) in parts.iter().enumerate() {
            for var in Footprint::of_part(part).vars() {
                accesses.users.entry(var.clone()).or_default().push(number);
            }
            part.stages().iter().for_each(|stage| accesses.add(number, stage));
            if let Part::Opaque(_) = part {
                accesses.opaque.push(number);
            }
        }
        accesses
    }

    fn add(&mut self, number: usize, stage: &Stage) {
        for data in loaded(stage) {
            self.readers.entry(data.clone()).or_default().push(number);
        }
        for target in stage.targets() {
            self.writers.entry(target.data.clone()).or_default().push(number);
        }
    }

    /// Returns the parts that use a buffer's memory, joined ones included.
    pub fn users(&self, buffer: &Buffer) -> &[usize] {
        of(&self.users, &buffer.data)
    }

    /// Returns the start of the longest run of parts before a given one without opaque parts.
    pub fn after_opaque(&self, part: usize) -> usize {
        let before = self.opaque.partition_point(|opaque| *opaque < part);
        before.checked_sub(1).map_or(0, |at| self.opaque[at] + 1)
    }

    /// Returns the parts that load what a stage stores or store what it loads.
    pub fn connected(&self, stage: &Stage) -> impl Iterator<Item = usize> {
        let stored = stage.targets().flat_map(|target| of(&self.readers, &target.data));
        let loaded = loaded(stage).into_iter().flat_map(|data| of(&self.writers, data));
        stored.chain(loaded).copied().filter(|part| !self.joined[*part])
    }

    /// True if one of the parts that `is_between` names uses what a stage stores or writes what it loads.
    pub fn conflict(&self, stage: &Stage, is_between: impl Fn(usize) -> bool) -> bool {
        let writers = loaded(stage).into_iter().flat_map(|data| of(&self.writers, data));
        self.users(stage.target()).iter().chain(writers).any(|part| !self.joined[*part] && is_between(*part))
    }

    /// Marks a part as running with a later one.
    pub fn mark_joined(&mut self, part: usize) {
        self.joined[part] = true;
    }

    /// True if a part now runs with a later one.
    pub fn has_joined(&self, part: usize) -> bool {
        self.joined[part]
    }
}

fn of<'a>(parts: &'a FxHashMap<Var, Vec<usize>>, data: &Var) -> &'a [usize] {
    parts.get(data).map_or(&[], Vec::as_slice)
}

/// Returns the memory that a stage loads from, with duplicates.
fn loaded(stage: &Stage) -> Vec<&Var> {
    let mut all: Vec<&Var> = stage.loaded().into_iter().map(|buffer| &buffer.data).collect();
    all.dedup();
    all
}

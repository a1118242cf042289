//! Partition into groups: each binding joins its post-dominator, if everything in between can.

use super::{
    dominators::{Dominator, post_dominators},
    graph::Node,
};
use crate::analysis::op_pattern::OpPattern::{self, *};

/// Returns the group of each node, named by a node in it.
pub fn partition(nodes: &[Node], max_depth: usize) -> Vec<usize> {
    let dominators = post_dominators(nodes);
    let groups = nodes.iter().map(|node| Group { parent: None, pattern: node.pattern, size: 1 }).collect();
    let mut partition = Partition { nodes, groups, max_depth, seen: vec![0; nodes.len()], search: 0 };
    // Contractions fuse their epilogues before injective operations are fused with each other.
    for phase in [Phase::Contractions, Phase::Injective] {
        for (at, dominator) in dominators.iter().enumerate() {
            if let Some(dominator) = dominator {
                partition.fuse(at, *dominator, phase);
            }
        }
    }
    (0..nodes.len()).map(|at| partition.root(at)).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Contractions,
    Injective,
}

struct Group {
    /// A node of the group that this group joined.
    parent: Option<usize>,
    pattern: OpPattern,
    size: usize,
}

struct Partition<'a> {
    nodes: &'a [Node],
    groups: Vec<Group>,
    max_depth: usize,
    /// Last search that visited each node.
    seen: Vec<u32>,
    search: u32,
}

impl Partition<'_> {
    fn root(&mut self, mut at: usize) -> usize {
        while let Some(parent) = self.groups[at].parent {
            if let Some(grandparent) = self.groups[parent].parent {
                self.groups[at].parent = Some(grandparent);
            }
            at = parent;
        }
        at
    }

    /// Returns the number of nodes in a node's group.
    fn size(&mut self, at: usize) -> usize {
        let root = self.root(at);
        self.groups[root].size
    }

    /// Fuses a node with its post-dominator, if the classes on the paths allow it.
    fn fuse(&mut self, at: usize, to: Dominator, phase: Phase) {
        let own = self.groups[at].pattern;
        if own == Opaque || to.pattern == Opaque || self.root(at) == self.root(to.node) {
            return;
        }
        let widens = self.nodes[at].widens && !self.nodes[at].used_elsewhere;
        let fits: fn(OpPattern, bool) -> bool = match own {
            ElementWise | Broadcast | Injective
                if phase == Phase::Injective && widens && self.nodes[to.node].pattern == OutElementWiseFusable =>
            {
                |pattern, is_last| is_last || pattern <= Injective
            }
            OutElementWiseFusable if phase == Phase::Contractions && to.pattern == ElementWise => {
                |pattern, _| pattern <= Broadcast
            }
            ElementWise | Broadcast if to.pattern <= CommReduce => |pattern, is_last| match is_last {
                true => pattern != Opaque,
                false => pattern <= Injective,
            },
            Injective if phase == Phase::Injective => |pattern, _| pattern <= Injective,
            _ => return,
        };
        let Some(between) = self.between(at, to.node, fits) else { return };
        let size: usize = between.iter().chain([&to.node]).map(|node| self.size(*node)).sum();
        if size > self.max_depth {
            return;
        }
        for node in between {
            self.join(node, to.node);
        }
    }

    /// Returns the nodes on all paths from one node to another, including the first; `None` where one does not fit.
    fn between(&mut self, from: usize, to: usize, fits: fn(OpPattern, bool) -> bool) -> Option<Vec<usize>> {
        self.search += 1;
        let mut found = vec![from];
        let mut next = 0;
        while next < found.len() {
            let nodes = self.nodes;
            for (user, _) in &nodes[found[next]].users {
                if std::mem::replace(&mut self.seen[*user], self.search) == self.search {
                    continue;
                }
                let root = self.root(*user);
                if !fits(self.groups[root].pattern, *user == to) {
                    return None;
                }
                if *user != to {
                    found.push(*user);
                }
            }
            next += 1;
        }
        Some(found)
    }

    fn join(&mut self, node: usize, to: usize) {
        let (child, parent) = (self.root(node), self.root(to));
        if child == parent {
            return;
        }
        self.groups[parent].size += self.groups[child].size;
        self.groups[child].parent = Some(parent);
        // A group with a contraction has the contraction's class.
        if self.groups[child].pattern == OutElementWiseFusable {
            self.groups[parent].pattern = self.groups[parent].pattern.max(OutElementWiseFusable);
        }
    }
}

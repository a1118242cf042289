//! Immediate post-dominators of an acyclic graph.
//!
//! The post-dominator of a node is the nearest node on all paths from it. Nodes are visited from the last to the
//! first; a node's post-dominator is the lowest common ancestor of its users in the tree built so far. Each tree node
//! also has a link to a distant ancestor, so finding that takes logarithmic time (Myers, "An applicative
//! random-access stack", 1983).

use super::graph::Node;
use crate::analysis::op_pattern::OpPattern;

/// Post-dominator of a node, and the paths to it.
#[derive(Clone, Copy)]
pub struct Dominator {
    /// The post-dominator.
    pub node: usize,
    /// Least fusable class of the operations on the paths, including the post-dominator's.
    pub pattern: OpPattern,
}

/// Returns the post-dominator of each node; `None` where paths end at different nodes or the value is used elsewhere.
pub fn post_dominators(nodes: &[Node]) -> Vec<Option<Dominator>> {
    let mut tree = Tree { links: vec![Link::ROOT; nodes.len() + 1], root: nodes.len() };
    let mut found = vec![None; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let mut pattern = OpPattern::ElementWise;
        let mut users = if node.used_elsewhere { [].iter() } else { node.users.iter() };
        let parent = users.next().map(|(first, edge)| {
            pattern = pattern.max(*edge);
            users.fold(*first, |common, (user, edge)| {
                let common = tree.common(common, *user, &mut pattern);
                pattern = pattern.max(*edge);
                common
            })
        });
        let parent = parent.filter(|parent| *parent != tree.root);
        found[at] = parent.map(|node| Dominator { node, pattern });
        tree.add(at, parent.unwrap_or(tree.root), pattern);
    }
    found
}

struct Tree {
    links: Vec<Link>,
    root: usize,
}

#[derive(Clone, Copy)]
struct Link {
    depth: u32,
    parent: usize,
    /// Class of the path to the parent.
    to_parent: OpPattern,
    /// A more distant ancestor.
    jump: usize,
    to_jump: OpPattern,
}

impl Link {
    const ROOT: Link = Link {
        depth: 0,
        parent: usize::MAX,
        to_parent: OpPattern::ElementWise,
        jump: usize::MAX,
        to_jump: OpPattern::ElementWise,
    };
}

impl Tree {
    fn add(&mut self, at: usize, parent: usize, to_parent: OpPattern) {
        let up = self.links[parent];
        let depth = up.depth + 1;
        let (jump, to_jump) = match self.links.get(up.jump) {
            Some(far) if up.depth - far.depth == far.depth - self.depth(far.jump) && far.jump != usize::MAX => {
                (far.jump, to_parent.max(up.to_jump).max(far.to_jump))
            }
            _ => (parent, to_parent),
        };
        self.links[at] = Link { depth, parent, to_parent, jump, to_jump };
    }

    fn depth(&self, node: usize) -> u32 {
        self.links.get(node).map_or(0, |link| link.depth)
    }

    /// Returns the lowest common ancestor and merges the classes of the paths to it into `pattern`.
    fn common(&self, mut a: usize, mut b: usize, pattern: &mut OpPattern) -> usize {
        if self.depth(a) < self.depth(b) {
            std::mem::swap(&mut a, &mut b);
        }
        while self.depth(a) > self.depth(b) {
            let link = &self.links[a];
            let (next, way) = match self.depth(link.jump) >= self.depth(b) {
                true => (link.jump, link.to_jump),
                false => (link.parent, link.to_parent),
            };
            *pattern = (*pattern).max(way);
            a = next;
        }
        while a != b {
            let (x, y) = (&self.links[a], &self.links[b]);
            let ways = match x.jump != y.jump {
                true => [(x.jump, x.to_jump), (y.jump, y.to_jump)],
                false => [(x.parent, x.to_parent), (y.parent, y.to_parent)],
            };
            *pattern = (*pattern).max(ways[0].1).max(ways[1].1);
            (a, b) = (ways[0].0, ways[1].0);
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OpPattern::*;

    fn graph(users: &[&[usize]], patterns: &[OpPattern]) -> Vec<Node> {
        let node = |(at, users): (usize, &&[usize])| Node {
            pattern: patterns[at],
            users: users.iter().map(|user| (*user, patterns[*user])).collect(),
            used_elsewhere: false,
            widens: false,
        };
        users.iter().enumerate().map(node).collect()
    }

    #[test]
    fn paths_meet_in_the_post_dominator() {
        // 0 -> 1, 2; 1 -> 3; 2 -> 3; 3 -> 4; 5 -> 4
        let patterns = [OutElementWiseFusable, ElementWise, Broadcast, ElementWise, Injective, ElementWise];
        let nodes = graph(&[&[1, 2], &[3], &[3], &[4], &[], &[4]], &patterns);
        let found = post_dominators(&nodes);
        let ways: Vec<_> = found.iter().map(|d| d.map(|d| (d.node, d.pattern))).collect();
        let expected = [
            Some((3, Broadcast)),
            Some((3, ElementWise)),
            Some((3, ElementWise)),
            Some((4, Injective)),
            None,
            Some((4, Injective)),
        ];
        assert_eq!(ways, expected);
    }

    #[test]
    fn paths_to_different_ends_have_no_post_dominator() {
        let nodes = graph(&[&[1, 2], &[], &[]], &[ElementWise; 3]);
        assert!(post_dominators(&nodes).iter().all(Option::is_none));
    }

    /// Compares with the definition, on random graphs.
    #[test]
    fn matches_the_definition() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut random = |below: usize| rng.usize(..below);
        for _ in 0..300 {
            let n = 2 + random(30);
            let users: Vec<Vec<usize>> = (0..n)
                .map(|at| (0..random(3)).filter(|_| at + 1 < n).map(|_| at + 1 + random(n - at - 1)).collect())
                .collect();
            let slices: Vec<&[usize]> = users.iter().map(Vec::as_slice).collect();
            let found = post_dominators(&graph(&slices, &vec![ElementWise; n]));
            for at in 0..n {
                let nearest = (at + 1..n).find(|candidate| !users[at].is_empty() && !escapes(&users, at, *candidate));
                assert_eq!(found[at].map(|d| d.node), nearest, "{users:?} {at}");
            }
        }
    }

    /// Returns true if a path from a node ends without passing through another.
    fn escapes(users: &[Vec<usize>], from: usize, by: usize) -> bool {
        from != by && (users[from].is_empty() || users[from].iter().any(|user| escapes(users, *user, by)))
    }
}

//! Order in which the operands of a contraction are contracted in pairs.
//!
//! Of few operands, the cheapest order is found by dynamic programming over all subsets (Pfeifer, Haegeman, Verstraete:
//! Faster identification of optimal contraction sequences for tensor networks, 2014); of more, the cheapest pair is next.

use std::collections::BTreeSet;

/// Maximum number of operands for dynamic programming, which takes time proportional to `3^n`.
const MAX_OPTIMAL: usize = 8;
/// Cost of storing and loading an element of an intermediate, in multiplications.
const ELEMENT_COST: f64 = 8.0;

/// Labels of the axes of an operand, as numbers.
pub type Labels = BTreeSet<usize>;

/// A contraction of several operands.
pub struct Network<'a> {
    /// Labels of each operand.
    pub operands: Vec<Labels>,
    /// Labels of the result.
    pub output: Labels,
    /// Extent of each label.
    pub extents: &'a [f64],
}

/// Contraction of two operands, by their numbers. Its result gets the next number.
pub type Step = (usize, usize);

/// Order of the contractions of a subset of the operands.
#[derive(Clone)]
enum Order {
    Operand(usize),
    Pair(Box<[Order; 2]>),
}

impl Order {
    /// Appends the contractions; returns the number of the result.
    fn append(&self, operands: usize, steps: &mut Vec<Step>) -> usize {
        match self {
            Order::Operand(at) => *at,
            Order::Pair(pair) => {
                let [a, b] = pair.each_ref().map(|order| order.append(operands, steps));
                steps.push((a, b));
                operands + steps.len() - 1
            }
        }
    }
}

/// Contraction of a subset of the operands.
#[derive(Clone)]
struct Candidate {
    /// The pairs, as a tree.
    order: Order,
    labels: Labels,
    cost: f64,
}

impl Network<'_> {
    /// Returns the contractions, one less than operands.
    pub fn path(&self) -> Vec<Step> {
        let single = |at: usize| Candidate { order: Order::Operand(at), labels: self.operands[at].clone(), cost: 0.0 };
        let all: Vec<Candidate> = (0..self.operands.len()).map(single).collect();
        let best = if all.len() <= MAX_OPTIMAL { self.optimal(&all) } else { self.greedy(all) };
        let mut steps = Vec::new();
        best.inspect(|best| {
            best.order.append(self.operands.len(), &mut steps);
        });
        steps
    }

    fn optimal(&self, all: &[Candidate]) -> Option<Candidate> {
        let mut best: Vec<Option<Candidate>> = vec![None; 1 << all.len()];
        for subset in 1..best.len() {
            if subset.is_power_of_two() {
                best[subset] = Some(all[subset.trailing_zeros() as usize].clone());
                continue;
            }
            let outside = (0..all.len()).filter(|at| subset & (1 << at) == 0).map(|at| &self.operands[at]);
            let kept: Labels = outside.chain([&self.output]).flatten().copied().collect();
            // Each split once: the part with the lowest operand is the first.
            let lowest = subset & subset.wrapping_neg();
            let mut part = (subset - 1) & subset;
            while part > 0 {
                if part & lowest != 0
                    && let (Some(a), Some(b)) = (&best[part], &best[subset ^ part])
                {
                    let pair = self.pair(a, b, &kept);
                    if best[subset].as_ref().is_none_or(|best| pair.cost < best.cost) {
                        best[subset] = Some(pair);
                    }
                }
                part = (part - 1) & subset;
            }
        }
        best.pop().flatten()
    }

    fn greedy(&self, mut all: Vec<Candidate>) -> Option<Candidate> {
        while all.len() > 1 {
            let mut best: Option<(usize, usize, Candidate)> = None;
            for (i, j) in (0..all.len()).flat_map(|i| (i + 1..all.len()).map(move |j| (i, j))) {
                let others = (0..all.len()).filter(|at| *at != i && *at != j).map(|at| &all[at].labels);
                let kept: Labels = others.chain([&self.output]).flatten().copied().collect();
                let pair = self.pair(&all[i], &all[j], &kept);
                let added = |pair: &Candidate, i: usize, j: usize| pair.cost - all[i].cost - all[j].cost;
                if best.as_ref().is_none_or(|(a, b, best)| added(&pair, i, j) < added(best, *a, *b)) {
                    best = Some((i, j, pair));
                }
            }
            let (i, j, pair) = best?;
            all.remove(j);
            all[i] = pair;
        }
        all.pop()
    }

    fn pair(&self, a: &Candidate, b: &Candidate, kept: &Labels) -> Candidate {
        let size = |labels: &Labels| labels.iter().map(|label| self.extents[*label]).product::<f64>();
        let both: Labels = a.labels.union(&b.labels).copied().collect();
        let labels: Labels = both.intersection(kept).copied().collect();
        let cost = a.cost + b.cost + size(&both) + ELEMENT_COST * size(&labels);
        Candidate { order: Order::Pair(Box::new([a.order.clone(), b.order.clone()])), labels, cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(operands: &[&[usize]], output: &[usize], extents: &[f64]) -> Vec<Step> {
        let labels = |labels: &&[usize]| labels.iter().copied().collect();
        Network { operands: operands.iter().map(labels).collect(), output: labels(&output), extents }.path()
    }

    #[test]
    fn chains_begin_where_intermediates_are_small() {
        let chain: [&[usize]; 3] = [&[0, 1], &[1, 2], &[2, 3]];
        assert_eq!(path(&chain, &[0, 3], &[2.0, 50.0, 50.0, 50.0]), [(0, 1), (3, 2)]);
        assert_eq!(path(&chain, &[0, 3], &[50.0, 50.0, 50.0, 2.0]), [(1, 2), (0, 3)]);
    }

    #[test]
    fn many_operands_are_contracted_greedily() {
        let operands: Vec<Vec<usize>> = (0..12).map(|at| vec![at, at + 1]).collect();
        let operands: Vec<&[usize]> = operands.iter().map(Vec::as_slice).collect();
        let mut extents = vec![8.0; 13];
        extents[0] = 1000.0;
        let steps = path(&operands, &[0, 12], &extents);
        assert_eq!(steps.len(), 11);
        assert_eq!(steps.last(), Some(&(0, 21)));
    }
}

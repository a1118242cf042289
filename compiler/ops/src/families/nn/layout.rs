//! Layouts: which axis of a tensor holds what, `NCHW`, `NHWC`, `NCHW16c`, `OIHW16i16o`.
//!
//! A capital letter is an axis. A number with a small letter is a block cut from the axis of that letter: `NCHW16c` has
//! channels in groups of 16, the group's number at `C`, the place inside it at `16c`. Rules and kernels think in
//! *primal* axes, one a letter, in an order of their own (`"NCHW"`); a layout translates.

use crate::dims;
use hammock_ir::PrimExpr;

/// A parsed layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    axes: Vec<Axis>,
}

/// One axis of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    /// The capital letter of what it holds.
    letter: char,
    /// The size of the block, for an axis cut from another.
    block: Option<i64>,
}

impl Layout {
    /// Reads a layout. `None` when it is malformed: an axis named twice, a block without its axis, a block of size 0.
    pub fn parse(text: &str) -> Option<Layout> {
        let mut axes: Vec<Axis> = Vec::new();
        let mut digits = String::new();
        for c in text.chars() {
            match c {
                '0'..='9' => digits.push(c),
                'A'..='Z' if digits.is_empty() => axes.push(Axis { letter: c, block: None }),
                'a'..='z' => {
                    let block = std::mem::take(&mut digits).parse().ok().filter(|b| *b > 0)?;
                    axes.push(Axis { letter: c.to_ascii_uppercase(), block: Some(block) });
                }
                _ => return None,
            }
        }
        let count =
            |a: &Axis, block: bool| axes.iter().filter(|b| b.letter == a.letter && b.block.is_some() == block).count();
        let sound = digits.is_empty() && axes.iter().all(|a| count(a, false) == 1 && count(a, true) <= 1);
        sound.then_some(Layout { axes })
    }

    /// The number of axes, blocks included.
    pub fn ndim(&self) -> usize {
        self.axes.len()
    }

    /// Whether it holds exactly these primal axes, in any order.
    pub fn holds(&self, primal: &str) -> bool {
        let own = self.axes.iter().filter(|a| a.block.is_none());
        own.clone().count() == primal.chars().count() && own.clone().all(|a| primal.contains(a.letter))
    }

    /// The place of a primal axis among the axes.
    pub fn position(&self, letter: char) -> Option<usize> {
        self.axes.iter().position(|a| a.letter == letter && a.block.is_none())
    }

    fn block(&self, letter: char) -> Option<(usize, i64)> {
        let of = |(i, a): (usize, &Axis)| a.block.filter(|_| a.letter == letter).map(|b| (i, b));
        self.axes.iter().enumerate().find_map(of)
    }

    /// Sizes of the primal axes, from those of a tensor in this layout.
    pub fn to_primal(&self, primal: &str, shape: &[PrimExpr]) -> Vec<PrimExpr> {
        let size = |letter| {
            let outer = self.position(letter).map_or(PrimExpr::int64(1), |i| shape[i].clone());
            self.block(letter).map_or(outer.clone(), |(i, _)| dims::mul(&outer, &shape[i]))
        };
        primal.chars().map(size).collect()
    }

    /// Sizes of a tensor in this layout, from those of the primal axes.
    pub fn from_primal(&self, primal: &str, shape: &[PrimExpr]) -> Vec<PrimExpr> {
        let of = |letter| primal.chars().position(|c| c == letter).map_or(PrimExpr::int64(1), |i| shape[i].clone());
        let size = |axis: &Axis| match axis.block {
            Some(block) => PrimExpr::int64(block),
            None => {
                self.block(axis.letter).map_or(of(axis.letter), |(_, b)| dims::floordiv(&of(axis.letter), &b.into()))
            }
        };
        self.axes.iter().map(size).collect()
    }

    /// The place along each primal axis, from indices into a tensor in this layout.
    pub fn primal_index(&self, primal: &str, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let at = |letter| {
            let outer = self.position(letter).map_or(PrimExpr::int64(0), |i| indices[i].clone());
            self.block(letter).map_or(outer.clone(), |(i, b)| dims::add(&dims::mul(&outer, &b.into()), &indices[i]))
        };
        primal.chars().map(at).collect()
    }

    /// Indices into a tensor in this layout, from the place along each primal axis.
    pub fn index(&self, primal: &str, places: &[PrimExpr]) -> Vec<PrimExpr> {
        let of = |letter| primal.chars().position(|c| c == letter).map_or(PrimExpr::int64(0), |i| places[i].clone());
        let at = |axis: &Axis| match (axis.block, self.block(axis.letter)) {
            (Some(block), _) => dims::floormod(&of(axis.letter), &block.into()),
            (None, Some((_, block))) => dims::floordiv(&of(axis.letter), &block.into()),
            (None, None) => of(axis.letter),
        };
        self.axes.iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::prim::Var;

    fn ints(dims: &[PrimExpr]) -> Vec<i64> {
        dims.iter().map(|d| d.as_int().unwrap()).collect()
    }

    fn exprs(values: &[i64]) -> Vec<PrimExpr> {
        values.iter().map(|v| PrimExpr::int64(*v)).collect()
    }

    #[test]
    fn malformed_layouts_are_refused() {
        for text in ["NCHWC", "NCH16w", "NCHW0c", "NCHWc", "NCHW16", "16cNHW", "NC HW", "4NCHW", "NCHW4c4c"] {
            assert_eq!(Layout::parse(text), None, "{text}");
        }
    }

    #[test]
    fn blocks_multiply_into_their_axis() {
        let layout = Layout::parse("NCHW16c").unwrap();
        assert_eq!(layout.ndim(), 5);
        assert!(layout.holds("NCHW") && !layout.holds("NCW") && !layout.holds("OIHW"));
        assert_eq!(ints(&layout.to_primal("NCHW", &exprs(&[1, 2, 7, 8, 16]))), [1, 32, 7, 8]);
        assert_eq!(ints(&layout.from_primal("NCHW", &exprs(&[1, 32, 7, 8]))), [1, 2, 7, 8, 16]);
    }

    #[test]
    fn indices_survive_the_way_there_and_back() {
        let layout = Layout::parse("NHWC4c").unwrap();
        for place in [[0, 0, 0, 0], [1, 7, 2, 3], [3, 4, 5, 6]] {
            let there = layout.index("NCHW", &exprs(&place));
            assert_eq!(ints(&layout.primal_index("NCHW", &there)), place);
        }
        assert_eq!(ints(&layout.index("NCHW", &exprs(&[1, 7, 2, 3]))), [1, 2, 3, 1, 3]);
    }

    #[test]
    fn symbolic_sizes_pass_through() {
        let n = Var::int64("n").expr();
        let layout = Layout::parse("NHWC").unwrap();
        let shape = [n.clone(), 5.into(), 6.into(), 3.into()];
        assert!(layout.to_primal("NCHW", &shape)[0].same_node(&n));
    }
}

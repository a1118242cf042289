//! Tensor layouts: `NCHW`, `NHWC`, `NCHW16c`, `OIHW16i16o`.
//!
//! A capital letter is an axis. A number with a small letter is a block of the axis of that letter: `NCHW16c` has
//! channels in blocks of 16, with the block's index at `C` and the index in it at `16c`. Rules and kernels use *primal*
//! axes, one per letter, in an order of their own (`"NCHW"`); a layout maps to and from them.
//!
//! `ConvertLayout` permutes the axes of any tensor. There `A` is the first axis of the tensor in the program, `B` the
//! second, so `ACDB` is the layout of an `NCHW` tensor that is now stored as `NHWC`.

use crate::dims;
use hammock_ir::{
    DType, PrimExpr,
    prim::{IndexMap, Var},
};
use std::{fmt, sync::Arc};

/// A parsed layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    axes: Vec<Axis>,
}

/// One axis of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    /// Its capital letter.
    letter: char,
    /// The block size, for a block of another axis.
    block: Option<i64>,
}

impl Layout {
    /// Parses a layout. `None` if it is malformed: an axis named twice, a block without its axis, a block of size 0.
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

    /// Returns true if it holds exactly these primal axes, in any order.
    pub fn holds(&self, primal: &str) -> bool {
        let own = self.axes.iter().filter(|a| a.block.is_none());
        own.clone().count() == primal.chars().count() && own.clone().all(|a| primal.contains(a.letter))
    }

    /// The position of a primal axis among the axes.
    pub fn position(&self, letter: char) -> Option<usize> {
        self.axes.iter().position(|a| a.letter == letter && a.block.is_none())
    }

    fn block(&self, letter: char) -> Option<(usize, i64)> {
        let of = |(i, a): (usize, &Axis)| a.block.filter(|_| a.letter == letter).map(|b| (i, b));
        self.axes.iter().enumerate().find_map(of)
    }

    /// Returns true if it is a layout of these primal axes in any order, with blocks only of the first two: of images
    /// or of kernels.
    pub fn is_layout_of(&self, primal: &str) -> bool {
        let is_spatial = |a: &Axis| a.block.is_some() && primal[2..].contains(a.letter);
        self.holds(primal) && !self.axes.iter().any(is_spatial)
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

    /// The index along each primal axis, from indices into a tensor in this layout.
    pub fn primal_index(&self, primal: &str, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let at = |letter| {
            let outer = self.position(letter).map_or(PrimExpr::int64(0), |i| indices[i].clone());
            self.block(letter).map_or(outer.clone(), |(i, b)| dims::add(&dims::mul(&outer, &b.into()), &indices[i]))
        };
        primal.chars().map(at).collect()
    }

    /// Indices into a tensor in this layout, from the index along each primal axis.
    pub fn index(&self, primal: &str, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let of = |letter| primal.chars().position(|c| c == letter).map_or(PrimExpr::int64(0), |i| indices[i].clone());
        let at = |axis: &Axis| match (axis.block, self.block(axis.letter)) {
            (Some(block), _) => dims::floormod(&of(axis.letter), &block.into()),
            (None, Some((_, block))) => dims::floordiv(&of(axis.letter), &block.into()),
            (None, None) => of(axis.letter),
        };
        self.axes.iter().map(at).collect()
    }
}

/// Layouts of tensors whose axes are named `A`, `B`, … in program order.
impl Layout {
    /// The program's own layout; `None` if there are more axes than letters.
    pub fn as_written(ndim: usize) -> Option<Layout> {
        (ndim <= 26).then(|| Layout::of_axes((0..ndim).map(|axis| (axis, None))))
    }

    /// The layout with these axes of the program, each with its block size if it is a block.
    pub fn of_axes(axes: impl IntoIterator<Item = (usize, Option<i64>)>) -> Layout {
        let axis = |(number, block)| Axis { letter: letter(number), block };
        Layout { axes: axes.into_iter().map(axis).collect() }
    }

    /// The program's axis at each position, with its block size if it is a block.
    pub fn axes(&self) -> impl Iterator<Item = (usize, Option<i64>)> {
        self.axes.iter().map(|a| (number(a.letter), a.block))
    }

    /// Returns true if it is the program's own layout.
    pub fn is_as_written(&self) -> bool {
        self.axes().enumerate().all(|(index, axis)| axis == (index, None))
    }

    /// Returns true if some axis is blocked.
    pub fn has_blocks(&self) -> bool {
        self.axes.iter().any(|a| a.block.is_some())
    }

    /// The number of axes in the program.
    pub fn primal_ndim(&self) -> usize {
        self.axes.iter().filter(|a| a.block.is_none()).count()
    }

    /// The position of an axis of the program (that of the block index, if it is blocked).
    pub fn axis_position(&self, axis: usize) -> usize {
        self.position(letter(axis)).unwrap_or(axis)
    }

    /// The size of the blocks of an axis of the program, if it has any.
    pub fn block_of(&self, axis: usize) -> Option<i64> {
        self.block(letter(axis)).map(|(_, size)| size)
    }

    /// This layout with its axes permuted and blocked as from one layout to another; `None` if the two have other axes,
    /// or if any layout but the target has blocks.
    pub fn like(&self, from: &Layout, to: &Layout) -> Option<Layout> {
        if self.has_blocks() || from.has_blocks() || self.ndim() != from.ndim() || to.primal_ndim() != from.ndim() {
            return None;
        }
        let moved = |axis: &Axis| Some(Axis { letter: self.axes[from.position(axis.letter)?].letter, ..*axis });
        to.axes.iter().map(moved).collect::<Option<_>>().map(|axes| Layout { axes })
    }

    /// Returns true if a tensor of those sizes in the program needs no padding in it: each blocked axis is certainly a
    /// multiple of its block size.
    pub fn fits(&self, shape: Option<&[PrimExpr]>) -> bool {
        let whole = |(axis, block): (usize, Option<i64>)| {
            let Some(block) = block else { return true };
            let size = shape.and_then(|shape| shape.get(axis));
            size.is_some_and(|size| dims::is(&dims::simplify(&dims::floormod(size, &block.into())), 0))
        };
        self.axes().all(whole)
    }

    /// The axes of the `permute_dims` that converts a tensor from another layout to this one; `None` if that is not a
    /// permutation.
    pub fn permutation_from(&self, from: &Layout) -> Option<Vec<i64>> {
        let index = |axis: &Axis| from.axes.iter().position(|a| a == axis).map(|index| index as i64);
        let same = self.ndim() == from.ndim();
        same.then(|| self.axes.iter().map(index).collect()).flatten()
    }

    /// The index map from another layout to this one. The inverse is given only if it does not follow: from blocks to
    /// other blocks.
    pub fn index_map_from(&self, from: &Layout) -> IndexMap {
        let inverse = self.has_blocks() && from.has_blocks();
        IndexMap { inverse: inverse.then(|| Arc::new(from.mapped_from(self))), ..self.mapped_from(from) }
    }

    fn mapped_from(&self, from: &Layout) -> IndexMap {
        let params: Vec<Var> = (0..from.ndim()).map(|i| Var::new(format!("i{i}"), DType::INT64)).collect();
        let indices: Vec<PrimExpr> = params.iter().map(Var::expr).collect();
        let primal: String = (0..self.primal_ndim()).map(letter).collect();
        IndexMap { results: self.index(&primal, &from.primal_index(&primal, &indices)), params, inverse: None }
    }
}

fn letter(axis: usize) -> char {
    (b'A' + axis as u8) as char
}

fn number(letter: char) -> usize {
    (letter as u8 - b'A').into()
}

/// Displays as `NCHW16c`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.axes.iter().try_for_each(|axis| match axis.block {
            None => write!(f, "{}", axis.letter),
            Some(size) => write!(f, "{size}{}", axis.letter.to_ascii_lowercase()),
        })
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
        for index in [[0, 0, 0, 0], [1, 7, 2, 3], [3, 4, 5, 6]] {
            let there = layout.index("NCHW", &exprs(&index));
            assert_eq!(ints(&layout.primal_index("NCHW", &there)), index);
        }
        assert_eq!(ints(&layout.index("NCHW", &exprs(&[1, 7, 2, 3]))), [1, 2, 3, 1, 3]);
    }

    #[test]
    fn axes_move_as_those_of_another_layout() {
        let layout = |text| Layout::parse(text).unwrap();
        let written = Layout::as_written(4).unwrap();
        let moved = written.like(&layout("NCHW"), &layout("NHWC")).unwrap();
        assert_eq!(moved.to_string(), "ACDB");
        assert_eq!(layout("NHWC").like(&written, &moved).unwrap().to_string(), "NWCH");
        let blocks = written.like(&layout("NHWC"), &layout("NCHW4c")).unwrap();
        assert_eq!(blocks.to_string(), "ADBC4d");
        assert_eq!(written.like(&layout("OIHW"), &layout("NCHW")), None);
        assert_eq!(blocks.like(&layout("NCHW"), &layout("NHWC")), None);
        assert!(blocks.fits(Some(&exprs(&[1, 5, 5, 8]))));
        assert!(!blocks.fits(Some(&exprs(&[1, 8, 8, 6]))) && !blocks.fits(None) && moved.fits(None));
        assert_eq!(moved.permutation_from(&written), Some(vec![0, 2, 3, 1]));
        assert_eq!(written.permutation_from(&moved), Some(vec![0, 3, 1, 2]));
        assert_eq!(blocks.permutation_from(&moved), None);
    }

    #[test]
    fn blocks_of_symbolic_axes_need_a_proof() {
        let n = Var::int64("n").expr();
        let layout = Layout::parse("AB4b").unwrap();
        assert!(layout.fits(Some(&[n.clone(), dims::mul(&n, &8i64.into())])));
        assert!(!layout.fits(Some(&[4.into(), n])));
    }

    #[test]
    fn index_maps_cut_and_join_blocks() {
        let (plain, blocks) = (Layout::parse("ABCD").unwrap(), Layout::parse("ABCD4b").unwrap());
        let text = |map: IndexMap, at: &[i64]| {
            let values = map.params.iter().cloned().zip(exprs(at)).collect();
            ints(&map.results.iter().map(|r| dims::simplify(&r.substitute(&values))).collect::<Vec<_>>())
        };
        assert_eq!(text(blocks.index_map_from(&plain), &[1, 7, 2, 3]), [1, 1, 2, 3, 3]);
        assert_eq!(text(plain.index_map_from(&blocks), &[1, 1, 2, 3, 3]), [1, 7, 2, 3]);
    }

    #[test]
    fn symbolic_sizes_pass_through() {
        let n = Var::int64("n").expr();
        let layout = Layout::parse("NHWC").unwrap();
        let shape = [n.clone(), 5.into(), 6.into(), 3.into()];
        assert!(layout.to_primal("NCHW", &shape)[0].same_node(&n));
    }
}

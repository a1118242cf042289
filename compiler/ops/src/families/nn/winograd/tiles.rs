//! Tiles of a Winograd convolution along one axis.
//!
//! With dilation `d`, the results at positions of the same remainder modulo `d` are a convolution without dilation of
//! every `d`-th element (polyphase decomposition): a tile's positions are `d` apart. Tiles are numbered so that `d`
//! successive ones cover `d * output` successive positions.

use crate::dims;
use hammock_ir::PrimExpr;

/// Input tile size along each axis with a window.
const INPUT_TILE: i64 = 6;

/// Minimum and maximum window sizes of the algorithm.
const MIN_WINDOW: i64 = 2;
const MAX_WINDOW: i64 = 5;

/// The tiles along an axis.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// Positions of the window.
    pub window: i64,
    /// Stride between positions of the window.
    pub dilation: i64,
}

impl Tiles {
    /// Returns the tiles for a window; `None` if the algorithm does not support it.
    pub fn of(window: i64, dilation: i64) -> Option<Tiles> {
        let fits = window == 1 || (MIN_WINDOW..=MAX_WINDOW).contains(&window);
        (fits && dilation > 0).then_some(Tiles { window, dilation })
    }

    /// Number of input elements of a tile. A window of one position needs no transform.
    pub fn input(self) -> i64 {
        if self.window == 1 { 1 } else { INPUT_TILE }
    }

    /// Number of results of a tile.
    pub fn output(self) -> i64 {
        self.input() + 1 - self.window
    }

    /// Number of tiles that cover `results`.
    pub fn count(self, results: i64) -> i64 {
        let block = self.output() * self.dilation;
        results / block * self.dilation + (results % block).min(self.dilation)
    }

    /// Number of positions from the first tile's first input element to the last tile's last one.
    pub fn span(self, tiles: i64) -> i64 {
        let last = (tiles - 1) / self.dilation * self.output() * self.dilation + self.dilation - 1;
        last + (self.input() - 1) * self.dilation + 1
    }

    /// Position of input element `k` of a tile.
    pub fn source(self, tile: &PrimExpr, k: &PrimExpr) -> PrimExpr {
        let (output, dilation) = (self.output().into(), self.dilation.into());
        let phase = dims::floormod(tile, &dilation);
        let start = dims::add(&dims::mul(&dims::mul(&dims::floordiv(tile, &dilation), &output), &dilation), &phase);
        dims::add(&start, &dims::mul(k, &dilation))
    }

    /// The tile of a result.
    pub fn tile(self, position: &PrimExpr) -> PrimExpr {
        let block = (self.output() * self.dilation).into();
        let first = dims::mul(&dims::floordiv(position, &block), &self.dilation.into());
        dims::add(&first, &dims::floormod(position, &self.dilation.into()))
    }

    /// Index of a result in its tile.
    pub fn within(self, position: &PrimExpr) -> PrimExpr {
        let block = (self.output() * self.dilation).into();
        dims::floordiv(&dims::floormod(position, &block), &self.dilation.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expr: &PrimExpr) -> i64 {
        dims::simplify(expr).as_int().unwrap()
    }

    /// Every result is at its index in its tile, whose input elements are those that the window at the result covers.
    #[test]
    fn tiles_cover_all_results() {
        for (window, dilation, results) in [(3, 1, 9), (3, 2, 28), (3, 12, 65), (5, 3, 17), (2, 24, 13), (1, 4, 7)] {
            let tiles = Tiles::of(window, dilation).unwrap();
            let count = tiles.count(results);
            for position in 0..results {
                let tile = tiles.tile(&position.into());
                let within = tiles.within(&position.into());
                assert!((0..count).contains(&value(&tile)), "{position}");
                assert!((0..tiles.output()).contains(&value(&within)), "{position}");
                for k in 0..window {
                    let source = value(&tiles.source(&tile, &(value(&within) + k).into()));
                    assert_eq!(source, position + k * dilation);
                }
                let last = value(&tiles.source(&tile, &(tiles.input() - 1).into()));
                assert!(last < tiles.span(count), "{position}");
            }
        }
    }
}

//! Transforms of the Winograd algorithm with 6 evaluation points, for windows of 2 to 5 elements.
//!
//! The transform of the data depends only on the points; the others have as many rows or columns as the window has
//! elements, or the tile results.

use super::Tiles;
use hammock_ir::PrimExpr;

/// Evaluation points of the algorithm's polynomials, in addition to 0 and ∞: these and their negatives. The constants
/// derived from them by multiplication are exact. The integers 1 and 2 lose 4 times as many bits (B. Barabasz et al.:
/// "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020).
const POINTS: [f64; 2] = [11. / 16., 3. / 2.];

/// Returns the matrix G, which transforms weights along an axis: a row for each input element of a tile, a column for
/// each element of the window.
pub fn of_weights(tiles: Tiles) -> Vec<Vec<f64>> {
    if tiles.window == 1 {
        return vec![vec![1.]];
    }
    let [p, q] = POINTS;
    let [pp, qq] = [p * p, q * q];
    let row = |at: f64, scale: f64| powers(at).take(tiles.window as usize).map(|power| power / scale).collect();
    let [near, far] = [2. * pp * (pp - qq), 2. * qq * (qq - pp)];
    let infinity = (1..=tiles.window).map(|k| if k == tiles.window { 1. } else { 0. }).collect();
    vec![row(0., pp * qq), row(p, near), row(-p, near), row(q, far), row(-q, far), infinity]
}

fn powers(of: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.), move |power| Some(power * of))
}

/// Input transform Bᵀd.
pub fn of_data(data: Vec<PrimExpr>) -> Vec<PrimExpr> {
    let [a, b, c, d, e, f] = &data[..] else { return data };
    let [p, q] = POINTS;
    let [pp, qq] = [p * p, q * q];
    let (even, odd) = (plus(-qq, c, e), plus(-qq, b, d));
    let (far_even, far_odd) = (plus(-pp, c, e), plus(-pp, b, d));
    vec![
        plus(pp * qq, a, &plus(-pp - qq, c, e)),
        plus(p, &odd, &even),
        plus(-p, &odd, &even),
        plus(q, &far_odd, &far_even),
        plus(-q, &far_odd, &far_even),
        plus(pp * qq, b, &plus(-pp - qq, d, f)),
    ]
}

/// Output transform Aᵀm.
pub fn of_products(products: Vec<PrimExpr>, tiles: Tiles) -> Vec<PrimExpr> {
    let [a, b, c, d, e, f] = &products[..] else { return products };
    let [p, q] = POINTS;
    let (near, near_difference) = (b + c, b - c);
    let (far, far_difference) = (d + e, d - e);
    let last = tiles.output() - 1;
    let row = |(i, (p, q)): (i64, (f64, f64))| {
        let (near, far) = if i % 2 == 0 { (&near, &far) } else { (&near_difference, &far_difference) };
        match i {
            0 => a.clone() + near.clone() + far.clone(),
            i if i == last => plus(p, near, &plus(q, far, f)),
            _ => plus(p, near, &times(q, far)),
        }
    };
    (0..=last).zip(powers(p).zip(powers(q))).map(row).collect()
}

fn times(factor: f64, x: &PrimExpr) -> PrimExpr {
    PrimExpr::constant(factor, x.dtype()) * x.clone()
}

/// `factor * x + y`, as a fused multiply-add if the target has one.
fn plus(factor: f64, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    PrimExpr::intrin("fma", vec![PrimExpr::constant(factor, x.dtype()), x.clone(), y.clone()], x.dtype())
}

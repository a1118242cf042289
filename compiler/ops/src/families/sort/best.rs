//! The best elements of lines.

use crate::{
    families::reduce::wins,
    legalize::{Builder, Input, lowest},
};
use hammock_ir::{DType, PrimExpr, tir::Buffer};

/// The best elements of each line, in order.
pub struct Best {
    /// The elements: one line after the other.
    pub values: Buffer,
    /// Their positions in the line.
    pub positions: Buffer,
}

impl Best {
    /// The maximum of each line and its position, for `k = 1`: a vectorized arg-reduction, as in `argmax`.
    pub fn argmax(b: &mut Builder, x: &Input, axis: usize) -> Self {
        let mut shape = x.shape().to_vec();
        let length = std::mem::replace(&mut shape[axis], 1i64.into());
        let values = b.temp("best", shape.clone(), x.dtype());
        let best = Best { values, positions: b.temp("best_at", shape, DType::INT64) };
        let start = vec![PrimExpr::int64(0), lowest(x.dtype())];
        b.fold(&[&best.positions, &best.values], &[("k".to_owned(), length)], start, |so_far, i, k| {
            let at = [&i[..axis], k, &i[axis + 1..]].concat();
            let new = [k[0].clone(), x.at(&at)];
            let wins = wins(&new, so_far, true);
            new.into_iter().zip(so_far).map(|(new, old)| wins.clone().select(new, old.clone())).collect()
        });
        best
    }
}

//! Feature extraction: n-gram counts, determinants.

use super::{Op, Result, op};
use crate::node::{self, Node, axes_attr, product};
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("Det", determinant),
    op("TfIdfVectorizer", count_ngrams).attributes(
        "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s \
         pool_strings weights",
    ),
];

fn determinant(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(n.in_accumulator_dtype(x, gaussian_elimination)?.into())
}

/// Number of eliminated columns that are removed at once: steps between two removals share their kernels.
const REMOVED_COLUMNS: i64 = 8;

/// Determinant by Gaussian elimination with partial pivoting; pivoted rows are masked out instead of swapped.
fn gaussian_elimination(n: &mut Node, mut x: Operand) -> node::Result<Operand> {
    let sizes = n.dims(&x)?;
    let [outer @ .., rows, columns] = sizes.as_slice() else { return n.error("its input has to be matrices") };
    let Some(size) = rows.as_int().filter(|size| *size <= 64 && dims::is(columns, *size)) else {
        return n.error("its matrices have to be square, and of at most 64 rows");
    };
    let dtype = n.dtype(&x)?;
    let batch = product(outer);
    x = n.reshape(x, vec![batch.clone(), size.into(), size.into()])?;
    let row_indices = n.arange(size.into())?;
    let (zero, one, none) = (node::scalar(0.0, dtype)?, node::scalar(1.0, dtype)?, node::scalar(-1.0, dtype)?);
    let mut remaining = n.call("full", [Operand::Shape(vec![batch.clone(), size.into()]), one.clone()])?;
    let mut determinant = n.call("full", [Operand::Shape(vec![batch.clone()]), one.clone()])?;
    let along_rows = |keep: bool| [("axis", vec![1i64].into()), ("keepdims", keep.into())];
    let mut columns = size;
    for at in 0..size {
        if at > 0 && at % REMOVED_COLUMNS == 0 {
            x = n.strided_slice(x, 2, REMOVED_COLUMNS.into(), columns.into(), 1)?;
            columns -= REMOVED_COLUMNS;
        }
        let at = node::scalar((at % REMOVED_COLUMNS) as f64, DType::INT64)?;
        let column = n.call_with("take", [x.clone(), at.clone()], &[("axis", 2i64.into())])?;
        let sizes = n.call("abs", [column.clone()])?;
        let is_remaining = n.with_scalar("greater", &remaining, 0.0)?;
        let sizes = n.call("where", [is_remaining, sizes, none.clone()])?;
        let pivot_row = n.call_with("argmax", [sizes], &[("axis", 1i64.into()), ("keepdims", true.into())])?;
        let pivot_row = n.cast(pivot_row, DType::INT64)?;
        let chosen = n.call("equal", [row_indices.clone(), pivot_row.clone()])?;
        let chosen = n.cast(chosen, dtype)?;
        // The sign of the permutation: parity of the number of remaining rows before the pivot.
        let before = n.call("less", [row_indices.clone(), pivot_row])?;
        let before = n.cast(before, dtype)?;
        let before = n.call("multiply", [before, remaining.clone()])?;
        let swaps = n.call_with("sum", [before], &along_rows(false))?;
        let odd = n.with_scalar("floor_mod", &swaps, 2.0)?;
        let sign = n.with_scalar("multiply", &odd, -2.0)?;
        let sign = n.with_scalar("add", &sign, 1.0)?;
        remaining = n.call("subtract", [remaining, chosen.clone()])?;
        let mask = n.reshape(chosen, vec![batch.clone(), size.into(), 1i64.into()])?;
        let is_chosen = n.with_scalar("greater", &mask, 0.0)?;
        let row = n.call("where", [is_chosen, x.clone(), zero.clone()])?;
        let row = n.call_with("sum", [row], &along_rows(false))?;
        let pivot = n.call_with("take", [row.clone(), at], &[("axis", 1i64.into())])?;
        let factor = n.call("multiply", [sign, pivot.clone()])?;
        determinant = n.call("multiply", [determinant, factor])?;
        let is_zero = n.with_scalar("equal", &pivot, 0.0)?;
        let by = n.call("where", [is_zero, one.clone(), pivot])?;
        let by = n.reshape(by, vec![batch.clone(), 1i64.into()])?;
        let parts = n.call("divide", [column, by])?;
        let parts = n.call("multiply", [parts, remaining.clone()])?;
        let parts = n.reshape(parts, vec![batch.clone(), size.into(), 1i64.into()])?;
        let row = n.reshape(row, vec![batch.clone(), 1i64.into(), columns.into()])?;
        let gone = n.call("multiply", [parts, row])?;
        x = n.call("subtract", [x, gone])?;
    }
    n.reshape(determinant, outer.to_vec())
}

/// Counts n-grams and skip-grams.
fn count_ngrams(n: &mut Node) -> Result {
    let need = |name: &str| match n.attrs.int(name)? {
        Some(value) if (0..1 << 31).contains(&value) => Ok(value),
        _ => n.error(format!("its `{name}` is missing")),
    };
    let (shortest, longest, skips) = (need("min_gram_length")?, need("max_gram_length")?, need("max_skip_count")?);
    let (Some(pool), Some(starts), Some(columns)) =
        (n.attrs.ints("pool_int64s")?, n.attrs.ints("ngram_counts")?, n.attrs.ints("ngram_indexes")?)
    else {
        return n.error("runs of strings are not supported");
    };
    let x = n.input_as_int64(0)?;
    let flat = n.rank(&x)? < 2;
    let sizes = n.dims(&x)?;
    let x = if flat { n.reshape(x, vec![1i64.into(), product(&sizes)])? } else { x };
    let [batch, length] = n.dims(&x)?.try_into().or_else(|_| n.error("its input has to have 1 or 2 dimensions"))?;
    let Some(length) = length.as_int() else { return n.error("the length of its input has to be known") };
    let ngrams =
        split_ngrams(&pool, &starts).ok_or_else(|| InferError::new("its `ngram_counts` do not fit its pool"))?;
    let width = columns.iter().max().map_or(0, |most| most.saturating_add(1));
    let fits = columns.iter().all(|column| *column >= 0) && width <= 1 << 24;
    if !fits || ngrams.len() != columns.len() || skips > 64 || longest > 64 {
        return n.error("its `ngram_indexes` do not fit its pool, or its runs are too long");
    }
    let mut counts =
        n.call("full", [Operand::Shape(vec![batch.clone(), width.into()]), node::scalar(0.0, DType::FLOAT32)?])?;
    for size in shortest.max(1)..=longest {
        let of_size = || ngrams.iter().zip(&columns).filter(|(ngram, _)| ngram.len() as i64 == size);
        if of_size().next().is_none() {
            continue;
        }
        let number = of_size().count() as i64;
        let all: Vec<i64> = of_size().flat_map(|(ngram, _)| ngram.iter().copied()).collect();
        let column_indices: Vec<i64> = of_size().map(|(_, column)| *column).collect();
        let (all, column_indices) = (constant(&[number, size], &all)?, constant(&[1, number], &column_indices)?);
        let column_indices =
            n.call("broadcast_to", [column_indices, Operand::Shape(vec![batch.clone(), number.into()])])?;
        // A 1-gram has no gaps.
        for step in 1..=(if size == 1 { 1 } else { skips + 1 }) {
            let windows = length - step * (size - 1);
            if windows <= 0 {
                break;
            }
            let found = count_occurrences(n, &x, &all, [size, step, windows, number])?;
            let attrs = [("axis", 1i64.into()), ("reduction", "add".into())];
            counts = n.call_with("scatter_elements", [counts, column_indices.clone(), found], &attrs)?;
        }
    }
    let y = apply_weights(n, counts, width)?;
    Ok(if flat { n.reshape(y, vec![width.into()])? } else { y }.into())
}

/// Returns the n-grams of a pool: 1-grams, then 2-grams, and so on.
fn split_ngrams<'a>(pool: &'a [i64], starts: &[i64]) -> Option<Vec<&'a [i64]>> {
    let mut ngrams = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(pool.len() as i64);
        let part = pool.get(usize::try_from(*start).ok()?..usize::try_from(end).ok()?)?;
        ngrams.extend(part.chunks_exact(at + 1));
    }
    Some(ngrams)
}

fn constant(shape: &[i64], values: &[i64]) -> node::Result<Operand> {
    let tensor = Tensor::from_slice(shape, values).map_err(|e| InferError::new(e.to_string()))?;
    Ok(Operand::Const(Constant::new(tensor)))
}

/// Counts the occurrences of each n-gram of `all` in each row.
fn count_occurrences(
    n: &mut Node,
    x: &Operand,
    all: &Operand,
    [size, step, windows, number]: [i64; 4],
) -> node::Result<Operand> {
    let mut same: Option<Operand> = None;
    for at in 0..size {
        let tokens = n.slice_axis(x.clone(), 1, (at * step).into(), (at * step + windows).into())?;
        let tokens = n.call_with("expand_dims", [tokens], &[("axis", vec![1i64].into())])?;
        let wanted = n.slice_axis(all.clone(), 1, at.into(), (at + 1).into())?;
        let wanted = n.reshape(wanted, vec![1i64.into(), number.into(), 1i64.into()])?;
        let equal = n.call("equal", [tokens, wanted])?;
        same = Some(match same {
            Some(before) => n.call("logical_and", [before, equal])?,
            None => equal,
        });
    }
    let Some(same) = same else { return n.error("a run is empty") };
    let same = n.cast(same, DType::FLOAT32)?;
    n.call_with("sum", [same], &[("axis", axes_attr(&[2])), ("keepdims", false.into())])
}

/// Weights the counts, or for IDF the presence, of n-grams.
fn apply_weights(n: &mut Node, counts: Operand, width: i64) -> node::Result<Operand> {
    let mode = n.attrs.str_or("mode", "")?;
    let y = match mode {
        "TF" => return Ok(counts),
        "TFIDF" => counts,
        "IDF" => {
            let any = n.with_scalar("greater", &counts, 0.0)?;
            n.cast(any, DType::FLOAT32)?
        }
        other => return n.error(format!("its `mode` is `{other}`, which is not known")),
    };
    let Some(weights) = n.attrs.floats("weights")?.filter(|weights| !weights.is_empty()) else { return Ok(y) };
    if weights.len() as i64 != width {
        return n.error("the number of its `weights` differs from the number of its columns");
    }
    let weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
    let tensor = Tensor::from_slice(&[1, width], &weights).map_err(|e| InferError::new(e.to_string()))?;
    n.call("multiply", [y, Operand::Const(Constant::new(tensor))])
}

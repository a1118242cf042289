//! Operators with dynamic shapes: dimensions or axes that are only known at run time.
//!
//! Shapes are computed as small int64 tensors, then converted to symbolic dimensions, which are never negative: special
//! values such as -1 are resolved before.

use super::Result;
use crate::{
    known_tensor::Known,
    node::{self, Node, product},
};
use hammock_ir::{
    DType, PrimExpr, Type, prim,
    relax::{InferError, Operand},
};

impl Node<'_, '_> {
    /// Converts an integer vector to symbolic dimensions.
    pub(super) fn sizes_of(&mut self, x: Operand) -> node::Result<Vec<PrimExpr>> {
        self.sizes_from(x, &[])
    }

    /// Converts an integer vector to symbolic dimensions; the first ones must equal `first`, which is checked at run
    /// time.
    pub(super) fn sizes_from(&mut self, x: Operand, first: &[PrimExpr]) -> node::Result<Vec<PrimExpr>> {
        let shape = self.dims(&x)?;
        let count = product(&shape).as_int().filter(|count| *count <= hammock_ir::MAX_RANK as i64);
        let count = count.filter(|count| *count >= 0);
        let count = count.ok_or_else(|| InferError::new("the number of sizes in an input has to be known"))?;
        let vector = if shape.len() == 1 { x } else { self.reshape(x, vec![count.into()])? };
        let shape = self.call("tensor_to_shape", [vector])?;
        let more = (first.len() as i64..count).map(|_| prim::Var::int64("s").expr());
        let sizes: Vec<PrimExpr> = first.iter().take(count as usize).cloned().chain(more).collect();
        self.importer.build.match_cast(shape, Type::shape(sizes.clone()))?;
        Ok(sizes)
    }

    /// Returns dimensions as an int64 vector.
    pub(super) fn vector(&mut self, sizes: &[PrimExpr]) -> node::Result<Operand> {
        let known = Known::vector(sizes.to_vec()).ok_or_else(|| InferError::new("there are too many sizes"))?;
        self.importer.build.operand(&crate::value::Value::Known(known))
    }

    /// Returns a constant int64 vector.
    pub(super) fn integers(&mut self, values: impl IntoIterator<Item = i64>) -> node::Result<Operand> {
        let values: Vec<PrimExpr> = values.into_iter().map(PrimExpr::int64).collect();
        self.vector(&values)
    }

    /// Returns an integer input as int64.
    pub(super) fn int64(&mut self, at: usize) -> node::Result<Operand> {
        let x = self.input(at)?;
        self.cast(x, DType::INT64)
    }

    /// Returns an element of a vector.
    pub(super) fn element(&mut self, vector: &Operand, at: usize) -> node::Result<Operand> {
        let at = node::number(at as f64, DType::INT64)?;
        self.call_with("take", [vector.clone(), at], &[("axis", 0i64.into())])
    }

    /// `condition(x, number) ? then : x`
    pub(super) fn replaced(
        &mut self,
        x: Operand,
        op: &'static str,
        number: f64,
        then: Operand,
    ) -> node::Result<Operand> {
        let condition = self.with_number(op, &x, number)?;
        self.call("where", [condition, then, x])
    }

    /// Normalizes the negative axes of an input; out-of-range axes are a run-time error.
    pub(super) fn axes_from_start(&mut self, at: usize, rank: usize) -> node::Result<Operand> {
        let (axes, all) = (self.int64(at)?, self.integers(0..rank as i64)?);
        self.call_with("take", [all, axes], &[("axis", 0i64.into())])
    }

    /// Checks lengths of sequences: those outside of `0..=size` are a run-time error.
    pub(super) fn lengths_up_to(&mut self, lengths: Operand, size: &PrimExpr) -> node::Result<Operand> {
        let lengths = self.cast(lengths, DType::INT64)?;
        let count = hammock_ops::dims::add(size, &1i64.into());
        let extent = self.vector(std::slice::from_ref(&count))?;
        // `take` wraps negative indices, so they are shifted out of range.
        let shifted = self.call("subtract", [lengths.clone(), extent])?;
        let lengths = self.replaced(lengths, "less", 0.0, shifted)?;
        let all = self.count_to(count)?;
        self.call_with("take", [all, lengths], &[("axis", 0i64.into())])
    }

    /// Returns `arange(0, size)` in int64.
    pub(super) fn count_to(&mut self, size: PrimExpr) -> node::Result<Operand> {
        let args = [Operand::int(0), Operand::Prim(size), Operand::int(1)];
        self.call_with("arange", args, &[("dtype", DType::INT64.into())])
    }

    /// Converts linear indices to other strides: splits them by the sizes of the axes, outermost first, and combines
    /// them with the strides. `None` without axes.
    pub(super) fn recounted(
        &mut self,
        places: Operand,
        axes: Vec<(Operand, Operand)>,
    ) -> node::Result<Option<Operand>> {
        let (mut rest, mut place) = (places, None);
        for (size, step) in axes.into_iter().rev() {
            let index = self.call("floor_mod", [rest.clone(), size.clone()])?;
            rest = self.call("floor_divide", [rest, size])?;
            let offset = self.call("multiply", [index, step])?;
            place = Some(self.plus(place, offset)?);
        }
        Ok(place)
    }

    /// Returns the static length of a vector of dimensions or axes, at most the maximum rank.
    fn length(&mut self, x: &Operand) -> node::Result<usize> {
        let count = product(&self.dims(x)?).as_int().and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count <= hammock_ir::MAX_RANK);
        count.ok_or_else(|| InferError::new("the number of elements of an input has to be known, and small"))
    }
}

/// `Reshape`
pub fn reshape(n: &mut Node) -> Result {
    let (x, mut shape) = (n.input(0)?, n.int64(1)?);
    let (own, count) = (n.dims(&x)?, n.length(&shape)?);
    if !n.attrs.flag("allowzero")? {
        let kept: Vec<PrimExpr> = (0..count).map(|at| own.get(at).cloned().unwrap_or(0i64.into())).collect();
        let kept = n.vector(&kept)?;
        shape = n.replaced(shape, "equal", 0.0, kept)?;
    }
    let (one, open) = (node::number(1.0, DType::INT64)?, node::number(-1.0, DType::INT64)?);
    let given = n.replaced(shape.clone(), "equal", -1.0, one.clone())?;
    let product_of_given = n.call("prod", [given])?;
    let by = n.replaced(product_of_given, "equal", 0.0, one)?;
    let total = n.vector(&[product(&own)])?;
    let rest = n.call("floor_divide", [total, by])?;
    // If several dimensions are -1, they stay -1, which is a run-time error.
    let is_open = n.with_number("equal", &shape, -1.0)?;
    let is_open = n.cast(is_open, DType::INT64)?;
    let count = n.call("sum", [is_open])?;
    let several = n.with_number("greater", &count, 1.0)?;
    let rest = n.call("where", [several, open, rest])?;
    let shape = n.replaced(shape, "equal", -1.0, rest)?;
    let sizes = n.sizes_of(shape)?;
    Ok(n.reshape(x, sizes)?.into())
}

/// `Expand`
pub fn expand(n: &mut Node) -> Result {
    let (x, wanted) = (n.input(0)?, n.int64(1)?);
    let (mut own, mut wanted, count) = (n.dims(&x)?, wanted.clone(), n.length(&wanted)?);
    let rank = own.len().max(count);
    own.splice(0..0, vec![PrimExpr::int64(1); rank - own.len()]);
    if count < rank {
        let ones = n.integers(vec![1; rank - count])?;
        wanted = n.call_with("concat", [Operand::Tuple(vec![ones, wanted])], &[("axis", 0i64.into())])?;
    }
    let own = n.vector(&own)?;
    let shape = n.replaced(wanted, "equal", 1.0, own)?;
    let sizes = n.sizes_of(shape)?;
    Ok(n.call("broadcast_to", [x, Operand::Shape(sizes)])?.into())
}

/// `Tile`
pub fn tile(n: &mut Node) -> Result {
    let (mut x, repeats) = (n.input(0)?, n.int64(1)?);
    let repeats = n.sizes_of(repeats)?;
    let rank = n.rank(&x)?;
    if repeats.len() != rank {
        return n.error(format!("its `repeats` are {} numbers, but its input has {rank} dimensions", repeats.len()));
    }
    for (axis, (size, by)) in n.dims(&x)?.into_iter().zip(repeats).enumerate() {
        let places = n.count_to(hammock_ops::dims::mul(&size, &by))?;
        let size = n.vector(&[size])?;
        let places = n.call("floor_mod", [places, size])?;
        x = n.call_with("take", [x, places], &[("axis", (axis as i64).into())])?;
    }
    Ok(x.into())
}

/// `Range`
pub fn range(n: &mut Node) -> Result {
    let (start, limit, delta) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let dtype = n.dtype(&start)?;
    let wide = |n: &mut Node, x: &Operand| n.cast(x.clone(), DType::FLOAT64);
    let (low, high, step) = (wide(n, &start)?, wide(n, &limit)?, wide(n, &delta)?);
    let span = n.call("subtract", [high, low])?;
    let count = n.call("divide", [span, step])?;
    let count = n.call("ceil", [count])?;
    let count = n.with_number("maximum", &count, 0.0)?;
    let count = n.cast(count, DType::INT64)?;
    let sizes = n.sizes_of(count)?;
    let [size] = sizes.as_slice() else { return n.error("`start`, `limit` and `delta` have to be single numbers") };
    let places = n.count_to(size.clone())?;
    let places = n.cast(places, dtype)?;
    let steps = n.call("multiply", [places, delta])?;
    Ok(n.call("add", [steps, start])?.into())
}

/// `Trilu`
pub fn triangle(n: &mut Node) -> Result {
    let (x, k) = (n.input(0)?, n.int64(1)?);
    let dims = n.dims(&x)?;
    let [.., rows, columns] = dims.as_slice() else { return n.error("its input has to be matrices") };
    let down = n.count_to(rows.clone())?;
    let down = n.reshape(down, vec![rows.clone(), 1i64.into()])?;
    let across = n.count_to(columns.clone())?;
    let above = n.call("subtract", [across, down])?;
    let op = if n.attrs.int_or("upper", 1)? != 0 { "greater_equal" } else { "less_equal" };
    let kept = n.call(op, [above, k])?;
    let zero = n.number(0.0, &x)?;
    Ok(n.call("where", [kept, x, zero])?.into())
}

/// `TopK`: sorts all elements and slices the first `k`.
pub fn topk(n: &mut Node, axis: usize, largest: bool) -> Result {
    let (x, k) = (n.input(0)?, n.int64(1)?);
    let k = n.sizes_of(k)?;
    let axis_attr = ("axis", (axis as i64).into());
    let order = [axis_attr.clone(), ("descending", largest.into()), ("dtype", DType::INT64.into())];
    let places = n.call_with("argsort", [x.clone()], &order)?;
    let values = n.call_with("gather_elements", [x, places.clone()], &[axis_attr])?;
    let [k] = k.as_slice() else { return n.error("its `k` has to be one number") };
    let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
    let bounds = [prims((axis as i64).into()), prims(0i64.into()), prims(k.clone()), prims(1i64.into())];
    let first = |n: &mut Node, x: Operand| {
        let first = n.call("strided_slice", [&[x][..], &bounds].concat())?;
        n.with_sizes(first, &[(axis, k.clone())])
    };
    Ok(vec![first(n, values)?, first(n, places)?].into())
}

/// Computes an operator for each of the first axes and selects the one that an input names; all results must have the
/// same shape.
pub fn by_axis(
    n: &mut Node,
    at: usize,
    rank: usize,
    first: usize,
    of: impl Fn(&mut Node, usize) -> node::Result<Operand>,
) -> Result {
    let named = n.axes_from_start(at, rank)?;
    let named = n.reshape(named, Vec::new())?;
    let mut result = of(n, 0)?;
    for axis in 1..first {
        let is_it = n.with_number("equal", &named, axis as f64)?;
        let other = of(n, axis)?;
        result = n.call("where", [is_it, other, result])?;
    }
    Ok(result.into())
}

/// `Split`
pub fn split(n: &mut Node, axis: usize) -> Result {
    let (x, sizes) = (n.input(0)?, n.int64(1)?);
    let sizes = n.sizes_of(sizes)?;
    let total = sizes.iter().fold(PrimExpr::int64(0), |sum, size| hammock_ops::dims::add(&sum, size));
    let x = n.with_sizes(x, &[(axis, total)])?;
    let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
    let mut begin = PrimExpr::int64(0);
    let mut parts = Vec::new();
    for size in sizes {
        let end = hammock_ops::dims::add(&begin, &size);
        let bounds = [prims((axis as i64).into()), prims(begin), prims(end.clone()), prims(1i64.into())];
        parts.push(n.call("strided_slice", [&[x.clone()][..], &bounds].concat())?);
        begin = end;
    }
    Ok(parts.into())
}

/// `Slice` since version 10.
pub fn slice(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let starts = n.int64(1)?;
    let count = n.length(&starts)?;
    let axes = match n.given(3) {
        Some(_) => n.axes_from_start(3, rank)?,
        None => n.integers(0..count as i64)?,
    };
    let placed = |n: &mut Node, at: usize, default: i64| {
        let all = n.integers(vec![default; rank])?;
        if n.given(at).is_none() {
            return Ok(all);
        }
        let given = n.int64(at)?;
        n.call_with("scatter_elements", [all, axes.clone(), given], &[("axis", 0i64.into())])
    };
    let bounds = [placed(n, 1, 0)?, placed(n, 2, i64::MAX)?, placed(n, 4, 1)?];
    Ok(n.call("dynamic_strided_slice", [&[x][..], &bounds].concat())?.into())
}

/// `Squeeze` and `Unsqueeze`: reshapes without, or with additional, axes of size 1.
pub fn squeeze(n: &mut Node, more: bool) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let given = n.input(1)?;
    let count = n.length(&given)?;
    let rank = if more { dims.len() + count } else { dims.len() };
    if count > rank {
        return n.error("it has more axes than there are dimensions");
    }
    let axes = n.axes_from_start(1, rank)?;
    let marks = n.marks(axes, rank, count)?;
    let own = n.vector(&dims)?;
    let along = [("axis", 0i64.into())];
    let shape = if more {
        let kept = n.with_number("subtract", &marks, 1.0)?;
        let kept = n.call("negative", [kept])?;
        let places = n.call_with("cumsum", [kept], &along)?;
        let places = n.with_number("subtract", &places, 1.0)?;
        let places = n.with_number("maximum", &places, 0.0)?;
        let clip = [along[0].clone(), ("mode", "clip".into())];
        let sizes = n.call_with("take", [own, places], &clip)?;
        let new = n.with_number("equal", &marks, 1.0)?;
        let one = node::number(1.0, DType::INT64)?;
        n.call("where", [new, one, sizes])?
    } else {
        let order = n.kept_first(marks)?;
        let kept = n.first(order, rank - count)?;
        n.call_with("take", [own, kept], &along)?
    };
    let sizes = n.sizes_of(shape)?;
    Ok(n.reshape(x, sizes)?.into())
}

/// Reductions: moves the reduced axes to the end and reduces them as one.
pub fn reduce(
    n: &mut Node,
    keep: bool,
    compute: impl Fn(&mut Node, Operand, &[(&'static str, hammock_ir::AttrValue)]) -> node::Result<Operand>,
) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let rank = dims.len();
    let given = n.input(1)?;
    let count = n.length(&given)?;
    if count > rank {
        return n.error("it has more axes than there are dimensions");
    }
    let axes = n.axes_from_start(1, rank)?;
    let marks = n.marks(axes, rank, count)?;
    let order = n.kept_first(marks.clone())?;
    let along = [("axis", 0i64.into())];
    let own = n.vector(&dims)?;
    let strides: Vec<PrimExpr> = (0..rank).map(|axis| product(&dims[axis + 1..])).collect();
    let strides = n.vector(&strides)?;
    let strides = n.call_with("take", [strides, order.clone()], &along)?;
    let moved = n.call_with("take", [own.clone(), order], &along)?;
    // For each linear index of the transposed tensor, the one in `x`. Divisors of empty tensors must not be zero.
    let divisors = n.with_number("maximum", &moved, 1.0)?;
    let total = product(&dims);
    let mut axes = Vec::new();
    for at in 0..rank {
        axes.push((n.element(&divisors, at)?, n.element(&strides, at)?));
    }
    let counted = n.count_to(total.clone())?;
    let places = n.recounted(counted, axes)?;
    let flat = n.reshape(x, vec![total.clone()])?;
    let flat = match places {
        Some(places) => n.call_with("take", [flat, places], &along)?,
        None => flat,
    };
    let kept = n.first(moved.clone(), rank - count)?;
    let rows = n.call_with("prod", [kept.clone()], &[("keepdims", true.into())])?;
    let reduced = n.last(moved, count)?;
    let columns = n.call_with("prod", [reduced], &[("keepdims", true.into())])?;
    let sizes = n.call_with("concat", [Operand::Tuple(vec![rows, columns])], &along)?;
    let sizes = n.sizes_of(sizes)?;
    let table = n.reshape(flat, sizes)?;
    let y = compute(n, table, &[("axis", vec![1i64].into()), ("keepdims", false.into())])?;
    let shape = if keep {
        let gone = n.with_number("equal", &marks, 1.0)?;
        let one = node::number(1.0, DType::INT64)?;
        n.call("where", [gone, one, own])?
    } else {
        kept
    };
    let sizes = n.sizes_of(shape)?;
    Ok(n.reshape(y, sizes)?.into())
}

impl Node<'_, '_> {
    /// Returns a mask over axes: 1 for the named ones, 0 for others.
    fn marks(&mut self, axes: Operand, rank: usize, count: usize) -> node::Result<Operand> {
        let (none, ones) = (self.integers(vec![0; rank])?, self.integers(vec![1; count])?);
        let axes = self.reshape(axes, vec![(count as i64).into()])?;
        self.call_with("scatter_elements", [none, axes, ones], &[("axis", 0i64.into())])
    }

    /// Returns the indices of zeros in a mask, then those of ones.
    fn kept_first(&mut self, marks: Operand) -> node::Result<Operand> {
        self.call_with("argsort", [marks], &[("axis", 0i64.into()), ("dtype", DType::INT64.into())])
    }

    /// Returns the first elements of a vector.
    fn first(&mut self, vector: Operand, count: usize) -> node::Result<Operand> {
        let places = self.integers(0..count as i64)?;
        self.call_with("take", [vector, places], &[("axis", 0i64.into())])
    }

    /// Returns the last elements of a vector.
    fn last(&mut self, vector: Operand, count: usize) -> node::Result<Operand> {
        let len = self.length(&vector)?;
        let places = self.integers(len.saturating_sub(count) as i64..len as i64)?;
        self.call_with("take", [vector, places], &[("axis", 0i64.into())])
    }
}

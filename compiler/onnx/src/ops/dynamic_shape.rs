//! Operators with dynamic shapes: dimensions or axes that are only known at run time.
//!
//! Shapes are computed as small int64 tensors, then converted to symbolic dimensions, which are never negative: special
//! values such as -1 are resolved before.

use super::Result;
use crate::{
    known_tensor::KnownTensor,
    node::{self, Node, product},
    value::Value,
};
use hammock_ir::{
    DType, PrimExpr, Type, prim,
    relax::{InferError, Operand},
};

impl Node<'_, '_> {
    /// Converts an integer vector to symbolic dimensions.
    pub(super) fn symbolic_dims(&mut self, x: Operand) -> node::Result<Vec<PrimExpr>> {
        self.symbolic_dims_with_prefix(x, &[])
    }

    /// Converts an integer vector to symbolic dimensions; the first ones must equal `first`, which is checked at run
    /// time.
    pub(super) fn symbolic_dims_with_prefix(&mut self, x: Operand, first: &[PrimExpr]) -> node::Result<Vec<PrimExpr>> {
        let shape = self.dims(&x)?;
        let count = product(&shape).as_int().filter(|count| *count <= hammock_ir::MAX_RANK as i64);
        let count = count.filter(|count| *count >= 0);
        let count = count.ok_or_else(|| InferError::new("the number of sizes in an input has to be known"))?;
        if let Some(sizes) = self.static_sizes(&x)
            && sizes.len() >= first.len()
            && first.iter().zip(&sizes).all(|(a, b)| a.as_int().is_some() && a.as_int() == b.as_int())
        {
            return Ok(sizes);
        }
        let vector = if shape.len() == 1 { x } else { self.reshape(x, vec![count.into()])? };
        let shape = self.call("tensor_to_shape", [vector])?;
        let more = (first.len() as i64..count).map(|_| prim::Var::int64("s").expr());
        let sizes: Vec<PrimExpr> = first.iter().take(count as usize).cloned().chain(more).collect();
        self.importer.build.match_cast(shape, Type::shape(sizes.clone()))?;
        Ok(sizes)
    }

    /// Returns the elements of a constant that is a valid shape.
    fn static_sizes(&self, x: &Operand) -> Option<Vec<PrimExpr>> {
        let sizes = self.importer.build.known(&Value::Operand(x.clone()))?.ints()?;
        sizes.iter().all(|size| *size >= 0).then(|| sizes.into_iter().map(PrimExpr::int64).collect())
    }

    /// Returns the sizes in an input: as they are if they are known, otherwise as symbolic dimensions.
    pub(super) fn sizes(&mut self, at: usize) -> node::Result<Vec<PrimExpr>> {
        if let Some(known) = self.known(at) {
            return Ok(known.elements.to_vec());
        }
        let sizes = self.input_as_int64(at)?;
        self.symbolic_dims(sizes)
    }

    /// Returns dimensions as an int64 vector.
    pub(super) fn dims_vector(&mut self, sizes: &[PrimExpr]) -> node::Result<Operand> {
        let known = KnownTensor::vector(sizes.to_vec()).ok_or_else(|| InferError::new("there are too many sizes"))?;
        self.importer.build.operand(&Value::Known(known))
    }

    /// Returns a constant int64 vector.
    pub(super) fn int64_vector(&mut self, values: impl IntoIterator<Item = i64>) -> node::Result<Operand> {
        let values: Vec<PrimExpr> = values.into_iter().map(PrimExpr::int64).collect();
        self.dims_vector(&values)
    }

    /// Returns an integer input as int64.
    pub(super) fn input_as_int64(&mut self, at: usize) -> node::Result<Operand> {
        let x = self.input(at)?;
        self.cast(x, DType::INT64)
    }

    /// Returns an element of a vector.
    pub(super) fn vector_element(&mut self, vector: &Operand, at: usize) -> node::Result<Operand> {
        let at = node::scalar(at as f64, DType::INT64)?;
        self.call_with("take", [vector.clone(), at], &[("axis", 0i64.into())])
    }

    /// `condition(x, number) ? then : x`
    pub(super) fn replace_if(
        &mut self,
        x: Operand,
        op: &'static str,
        number: f64,
        then: Operand,
    ) -> node::Result<Operand> {
        let condition = self.with_scalar(op, &x, number)?;
        self.call("where", [condition, then, x])
    }

    /// Normalizes the negative axes of an input; out-of-range axes are a run-time error.
    pub(super) fn normalize_axes(&mut self, at: usize, rank: usize) -> node::Result<Operand> {
        let (axes, all) = (self.input_as_int64(at)?, self.int64_vector(0..rank as i64)?);
        self.call_with("take", [all, axes], &[("axis", 0i64.into())])
    }

    /// Checks lengths of sequences: those outside of `0..=size` are a run-time error.
    pub(super) fn check_lengths(&mut self, lengths: Operand, size: &PrimExpr) -> node::Result<Operand> {
        let lengths = self.cast(lengths, DType::INT64)?;
        let count = hammock_ops::dims::add(size, &1i64.into());
        let extent = self.dims_vector(std::slice::from_ref(&count))?;
        // `take` wraps negative indices, so they are shifted out of range.
        let shifted = self.call("subtract", [lengths.clone(), extent])?;
        let lengths = self.replace_if(lengths, "less", 0.0, shifted)?;
        let all = self.arange(count)?;
        self.call_with("take", [all, lengths], &[("axis", 0i64.into())])
    }

    /// Returns `arange(0, size)` in int64.
    pub(super) fn arange(&mut self, size: PrimExpr) -> node::Result<Operand> {
        let args = [Operand::int(0), Operand::Prim(size), Operand::int(1)];
        self.call_with("arange", args, &[("dtype", DType::INT64.into())])
    }

    /// Converts linear indices to other strides: splits them by the sizes of the axes, outermost first, and combines
    /// them with the strides. `None` without axes.
    pub(super) fn relinearize(
        &mut self,
        indices: Operand,
        axes: Vec<(Operand, Operand)>,
    ) -> node::Result<Option<Operand>> {
        let (mut rest, mut linear) = (indices, None);
        for (size, step) in axes.into_iter().rev() {
            let index = self.call("floor_mod", [rest.clone(), size.clone()])?;
            rest = self.call("floor_divide", [rest, size])?;
            let offset = self.call("multiply", [index, step])?;
            linear = Some(self.accumulate_sum(linear, offset)?);
        }
        Ok(linear)
    }

    /// Returns the static length of a vector of dimensions or axes, at most the maximum rank.
    fn static_length(&mut self, x: &Operand) -> node::Result<usize> {
        let count = product(&self.dims(x)?).as_int().and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count <= hammock_ir::MAX_RANK);
        count.ok_or_else(|| InferError::new("the number of elements of an input has to be known, and small"))
    }
}

/// `Reshape`
pub fn reshape(n: &mut Node) -> Result {
    let (x, mut shape) = (n.input(0)?, n.input_as_int64(1)?);
    let (own, count) = (n.dims(&x)?, n.static_length(&shape)?);
    if !n.attrs.flag("allowzero")? {
        let input_dims: Vec<PrimExpr> = (0..count).map(|at| own.get(at).cloned().unwrap_or(0i64.into())).collect();
        let input_dims = n.dims_vector(&input_dims)?;
        shape = n.replace_if(shape, "equal", 0.0, input_dims)?;
    }
    let (one, open) = (node::scalar(1.0, DType::INT64)?, node::scalar(-1.0, DType::INT64)?);
    let given = n.replace_if(shape.clone(), "equal", -1.0, one.clone())?;
    let product_of_given = n.call("prod", [given])?;
    let by = n.replace_if(product_of_given, "equal", 0.0, one)?;
    let total = n.dims_vector(&[product(&own)])?;
    let rest = n.call("floor_divide", [total, by])?;
    // If several dimensions are -1, they stay -1, which is a run-time error.
    let is_open = n.with_scalar("equal", &shape, -1.0)?;
    let is_open = n.cast(is_open, DType::INT64)?;
    let count = n.call("sum", [is_open])?;
    let several = n.with_scalar("greater", &count, 1.0)?;
    let rest = n.call("where", [several, open, rest])?;
    let shape = n.replace_if(shape, "equal", -1.0, rest)?;
    let sizes = n.symbolic_dims(shape)?;
    Ok(n.reshape(x, sizes)?.into())
}

/// `Expand`
pub fn expand(n: &mut Node) -> Result {
    let (x, wanted) = (n.input(0)?, n.input_as_int64(1)?);
    let (mut own, mut wanted, count) = (n.dims(&x)?, wanted.clone(), n.static_length(&wanted)?);
    let rank = own.len().max(count);
    own.splice(0..0, vec![PrimExpr::int64(1); rank - own.len()]);
    if count < rank {
        let ones = n.int64_vector(vec![1; rank - count])?;
        wanted = n.call_with("concat", [Operand::Tuple(vec![ones, wanted])], &[("axis", 0i64.into())])?;
    }
    let own = n.dims_vector(&own)?;
    let shape = n.replace_if(wanted, "equal", 1.0, own)?;
    let sizes = n.symbolic_dims(shape)?;
    Ok(n.call("broadcast_to", [x, Operand::Shape(sizes)])?.into())
}

/// `Tile`
pub fn tile(n: &mut Node) -> Result {
    let (mut x, repeats) = (n.input(0)?, n.input_as_int64(1)?);
    let repeats = n.symbolic_dims(repeats)?;
    let rank = n.rank(&x)?;
    if repeats.len() != rank {
        return n.error(format!("its `repeats` are {} numbers, but its input has {rank} dimensions", repeats.len()));
    }
    for (axis, (size, by)) in n.dims(&x)?.into_iter().zip(repeats).enumerate() {
        let indices = n.arange(hammock_ops::dims::mul(&size, &by))?;
        let size = n.dims_vector(&[size])?;
        let indices = n.call("floor_mod", [indices, size])?;
        x = n.call_with("take", [x, indices], &[("axis", (axis as i64).into())])?;
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
    let count = n.with_scalar("maximum", &count, 0.0)?;
    let count = n.cast(count, DType::INT64)?;
    let sizes = n.symbolic_dims(count)?;
    let [size] = sizes.as_slice() else { return n.error("`start`, `limit` and `delta` have to be single numbers") };
    let indices = n.arange(size.clone())?;
    let indices = n.cast(indices, dtype)?;
    let steps = n.call("multiply", [indices, delta])?;
    Ok(n.call("add", [steps, start])?.into())
}

/// `Trilu`
pub fn triangle(n: &mut Node) -> Result {
    let (x, k) = (n.input(0)?, n.input_as_int64(1)?);
    let dims = n.dims(&x)?;
    let [.., rows, columns] = dims.as_slice() else { return n.error("its input has to be matrices") };
    let down = n.arange(rows.clone())?;
    let down = n.reshape(down, vec![rows.clone(), 1i64.into()])?;
    let across = n.arange(columns.clone())?;
    let above = n.call("subtract", [across, down])?;
    let op = if n.attrs.int_or("upper", 1)? != 0 { "greater_equal" } else { "less_equal" };
    let mask = n.call(op, [above, k])?;
    let zero = n.scalar_like(0.0, &x)?;
    Ok(n.call("where", [mask, x, zero])?.into())
}

/// `TopK`: sorts all elements and slices the first `k`.
pub fn topk(n: &mut Node, axis: usize, largest: bool) -> Result {
    let (x, k) = (n.input(0)?, n.input_as_int64(1)?);
    let k = n.symbolic_dims(k)?;
    let axis_attr = ("axis", (axis as i64).into());
    let order = [axis_attr.clone(), ("descending", largest.into()), ("dtype", DType::INT64.into())];
    let indices = n.call_with("argsort", [x.clone()], &order)?;
    let values = n.call_with("gather_elements", [x, indices.clone()], &[axis_attr])?;
    let [k] = k.as_slice() else { return n.error("its `k` has to be one number") };
    let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
    let bounds = [prims((axis as i64).into()), prims(0i64.into()), prims(k.clone()), prims(1i64.into())];
    let first = |n: &mut Node, x: Operand| {
        let first = n.call("strided_slice", [&[x][..], &bounds].concat())?;
        n.assert_dims(first, &[(axis, k.clone())])
    };
    Ok(vec![first(n, values)?, first(n, indices)?].into())
}

/// Computes an operator for each of the first axes and selects the one that an input names; all results must have the
/// same shape.
pub fn select_axis(
    n: &mut Node,
    at: usize,
    rank: usize,
    first: usize,
    of: impl Fn(&mut Node, usize) -> node::Result<Operand>,
) -> Result {
    let named = n.normalize_axes(at, rank)?;
    let named = n.reshape(named, Vec::new())?;
    let mut result = of(n, 0)?;
    for axis in 1..first {
        let is_it = n.with_scalar("equal", &named, axis as f64)?;
        let other = of(n, axis)?;
        result = n.call("where", [is_it, other, result])?;
    }
    Ok(result.into())
}

/// `Split`
pub fn split(n: &mut Node, axis: usize) -> Result {
    let (x, sizes) = (n.input(0)?, n.input_as_int64(1)?);
    let sizes = n.symbolic_dims(sizes)?;
    let total = sizes.iter().fold(PrimExpr::int64(0), |sum, size| hammock_ops::dims::add(&sum, size));
    let x = n.assert_dims(x, &[(axis, total)])?;
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
    let starts = n.input_as_int64(1)?;
    let count = product(&n.dims(&starts)?);
    let axes = match (n.given(3), count.as_int()) {
        (Some(_), _) => n.normalize_axes(3, rank)?,
        (None, Some(count)) => n.int64_vector(0..count.min(hammock_ir::MAX_RANK as i64))?,
        // The first axes, as many as there are at run time.
        (None, None) => n.arange(count)?,
    };
    let placed = |n: &mut Node, at: usize, default: i64| {
        let all = n.int64_vector(vec![default; rank])?;
        if n.given(at).is_none() {
            return Ok(all);
        }
        let given = n.input_as_int64(at)?;
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
    let count = n.static_length(&given)?;
    let rank = if more { dims.len() + count } else { dims.len() };
    if count > rank {
        return n.error("it has more axes than there are dimensions");
    }
    let axes = n.normalize_axes(1, rank)?;
    let mask = n.axis_mask(axes, rank, count)?;
    let own = n.dims_vector(&dims)?;
    let along = [("axis", 0i64.into())];
    let shape = if more {
        let remaining = n.with_scalar("subtract", &mask, 1.0)?;
        let remaining = n.call("negative", [remaining])?;
        let indices = n.call_with("cumsum", [remaining], &along)?;
        let indices = n.with_scalar("subtract", &indices, 1.0)?;
        let indices = n.with_scalar("maximum", &indices, 0.0)?;
        let clip = [along[0].clone(), ("mode", "clip".into())];
        let sizes = n.call_with("take", [own, indices], &clip)?;
        let new = n.with_scalar("equal", &mask, 1.0)?;
        let one = node::scalar(1.0, DType::INT64)?;
        n.call("where", [new, one, sizes])?
    } else {
        let order = n.unmasked_first(mask)?;
        let remaining = n.take_first(order, rank - count)?;
        n.call_with("take", [own, remaining], &along)?
    };
    let sizes = n.symbolic_dims(shape)?;
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
    let count = n.static_length(&given)?;
    if count > rank {
        return n.error("it has more axes than there are dimensions");
    }
    let axes = n.normalize_axes(1, rank)?;
    let mask = n.axis_mask(axes, rank, count)?;
    let order = n.unmasked_first(mask.clone())?;
    let along = [("axis", 0i64.into())];
    let own = n.dims_vector(&dims)?;
    let strides: Vec<PrimExpr> = (0..rank).map(|axis| product(&dims[axis + 1..])).collect();
    let strides = n.dims_vector(&strides)?;
    let strides = n.call_with("take", [strides, order.clone()], &along)?;
    let transposed_dims = n.call_with("take", [own.clone(), order], &along)?;
    // For each linear index of the transposed tensor, the one in `x`. Divisors of empty tensors must not be zero.
    let divisors = n.with_scalar("maximum", &transposed_dims, 1.0)?;
    let total = product(&dims);
    let mut axes = Vec::new();
    for at in 0..rank {
        axes.push((n.vector_element(&divisors, at)?, n.vector_element(&strides, at)?));
    }
    let counted = n.arange(total.clone())?;
    let indices = n.relinearize(counted, axes)?;
    let flat = n.reshape(x, vec![total.clone()])?;
    let flat = match indices {
        Some(indices) => n.call_with("take", [flat, indices], &along)?,
        None => flat,
    };
    let outer_dims = n.take_first(transposed_dims.clone(), rank - count)?;
    let rows = n.call_with("prod", [outer_dims.clone()], &[("keepdims", true.into())])?;
    let reduced = n.take_last(transposed_dims, count)?;
    let columns = n.call_with("prod", [reduced], &[("keepdims", true.into())])?;
    let sizes = n.call_with("concat", [Operand::Tuple(vec![rows, columns])], &along)?;
    let sizes = n.symbolic_dims(sizes)?;
    let table = n.reshape(flat, sizes)?;
    let y = compute(n, table, &[("axis", vec![1i64].into()), ("keepdims", false.into())])?;
    let shape = if keep {
        let gone = n.with_scalar("equal", &mask, 1.0)?;
        let one = node::scalar(1.0, DType::INT64)?;
        n.call("where", [gone, one, own])?
    } else {
        outer_dims
    };
    let sizes = n.symbolic_dims(shape)?;
    Ok(n.reshape(y, sizes)?.into())
}

impl Node<'_, '_> {
    /// Returns a mask over axes: 1 for the named ones, 0 for others.
    fn axis_mask(&mut self, axes: Operand, rank: usize, count: usize) -> node::Result<Operand> {
        let (none, ones) = (self.int64_vector(vec![0; rank])?, self.int64_vector(vec![1; count])?);
        let axes = self.reshape(axes, vec![(count as i64).into()])?;
        self.call_with("scatter_elements", [none, axes, ones], &[("axis", 0i64.into())])
    }

    /// Returns the indices of zeros in a mask, then those of ones.
    fn unmasked_first(&mut self, mask: Operand) -> node::Result<Operand> {
        self.call_with("argsort", [mask], &[("axis", 0i64.into()), ("dtype", DType::INT64.into())])
    }

    /// Returns the first elements of a vector.
    fn take_first(&mut self, vector: Operand, count: usize) -> node::Result<Operand> {
        let indices = self.int64_vector(0..count as i64)?;
        self.call_with("take", [vector, indices], &[("axis", 0i64.into())])
    }

    /// Returns the last elements of a vector.
    fn take_last(&mut self, vector: Operand, count: usize) -> node::Result<Operand> {
        let len = self.static_length(&vector)?;
        let indices = self.int64_vector(len.saturating_sub(count) as i64..len as i64)?;
        self.call_with("take", [vector, indices], &[("axis", 0i64.into())])
    }
}

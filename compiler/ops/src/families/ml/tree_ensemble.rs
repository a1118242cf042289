//! `ml.tree_ensemble`: sums, minima or maxima of the leaves that rows reach in decision trees.
//!
//! A row descends [`LANES`] trees at a time. The loads of a descent depend on each other, so a single tree would wait for
//! the latency of memory at each level. The next node is loaded from a column that the comparison selects, since a
//! branch on it would be mispredicted every second time.

use crate::{
    CallContext, dims,
    families::nn::activation::float_tensor,
    legalize::{
        Builder, Combine, Input, Legalized,
        loops::{Cell, each, in_order},
    },
    op::{AttrKind, NONE, Op, OperandKind},
    rules::{Inferred, common_vdevice, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// Number of trees that a row descends at a time.
const LANES: i64 = 8;

/// Maximum number of weights of a leaf whose loop is unrolled.
const MAX_UNROLLED_WEIGHTS: i64 = 8;

/// Columns of a node.
mod column {
    pub const FEATURE: i64 = 0;
    /// The bits of the threshold, or the row of a leaf's weights.
    pub const VALUE: i64 = 1;
    /// The child if the feature is at most the threshold; the other one is in the next column.
    pub const CHILDREN: i64 = 2;
    pub const COUNT: i64 = 4;
}

/// `ml.tree_ensemble`
pub fn tree_ensemble() -> Op {
    Op::new("ml.tree_ensemble")
        .doc(
            "Descends decision trees with each row of `data`, and combines the weights of the leaves by `aggregate` \
             (`sum`, `min` or `max`).\n\
             A node is a row of `nodes`: a feature, the bits of a threshold, the child for features up to the \
             threshold, and the child for other values; with `missing`, the feature -1 - f is f, where NaN counts as \
             up to the threshold. A leaf is its own child, and has a row of `weights` in place of the threshold. \
             `targets` are the columns of the result that weights belong to; without it, each weight belongs to its own \
             column. A descent ends after `depth` nodes.",
        )
        .example(
            "x: float32[3, 4]; nodes: int32[2, 4]; roots: int32[2]; weights: float32[2, 1]",
            "x, nodes, roots, weights, depth=1",
        )
        .tensor("data")
        .tensor("nodes")
        .tensor("roots")
        .tensor("weights")
        .operand_or("targets", OperandKind::OptionalTensor, NONE)
        .required("depth", AttrKind::Int)
        .attr("num_targets", AttrKind::OptionalInt, NONE)
        .attr("aggregate", AttrKind::Str, "sum")
        .attr("missing", AttrKind::Bool, false)
        .infer(infer)
        .legalize(legalize)
}

fn infer(cx: &CallContext) -> Inferred {
    let (data, weights) = (float_tensor(cx, "data")?, float_tensor(cx, "weights")?);
    let (nodes, roots, targets) = (cx.tensor("nodes")?, cx.tensor("roots")?, cx.optional_tensor("targets")?);
    for (param, ty, ndim) in [("data", &data, 2), ("nodes", &nodes, 2), ("roots", &roots, 1), ("weights", &weights, 2)]
    {
        expect_ndim(cx, param, ty, ndim)?;
    }
    expect_nodes(cx, &data, &nodes)?;
    for (param, ty) in [("roots", Some(&roots)), ("targets", targets.as_ref())] {
        if let Some(dtype) = ty.and_then(|ty| ty.dtype).filter(|dtype| !dtype.is_int()) {
            return Err(cx.error_at(param, format_args!("`{param}` must hold integers, not {dtype}")));
        }
    }
    cx.one_of("aggregate", &["sum", "min", "max"])?;
    if cx.int("depth")? < 0 {
        return Err(cx.error_at("depth", "`depth` must not be negative"));
    }
    let columns = columns(cx, &weights, targets.as_ref())?;
    let vdevice = common_vdevice(cx, [&data, &nodes, &roots, &weights].into_iter().chain(&targets))?;
    let shape = match (data.dims(), columns) {
        (Some(rows), Some(columns)) => TensorShape::Known([rows[0].clone(), columns].into()),
        _ => TensorShape::Rank(2),
    };
    Ok(TensorType { shape, dtype: weights.dtype, vdevice }.into())
}

/// Checks that nodes have four columns, of the width of the data: thresholds are their bits.
fn expect_nodes(cx: &CallContext, data: &TensorType, nodes: &TensorType) -> Result<(), InferError> {
    if let (Some(float), Some(dtype)) = (data.dtype, nodes.dtype)
        && (!dtype.is_int() || dtype.bits != float.bits)
    {
        let message = format_args!("`nodes` of `data` of {float} must hold int{}, not {dtype}", float.bits);
        return Err(cx.error_at("nodes", message));
    }
    match nodes.dims() {
        Some([_, columns]) if dims::equal(columns, &column::COUNT.into()) == Some(false) => {
            let columns = dim_text(columns);
            Err(cx.error_at("nodes", format_args!("`nodes` must have 4 columns, not {columns}")))
        }
        _ => Ok(()),
    }
}

/// Returns the number of columns of the result, if it is known.
fn columns(
    cx: &CallContext,
    weights: &TensorType,
    targets: Option<&TensorType>,
) -> Result<Option<PrimExpr>, InferError> {
    let own = weights.dims().map(|dims| dims[1].clone());
    let count = cx.optional_int("num_targets")?;
    if let Some(negative) = count.filter(|count| *count < 0) {
        return Err(
            cx.error_at("num_targets", format_args!("`num_targets` must not be negative, but it is {negative}"))
        );
    }
    let Some(targets) = targets else {
        if let (Some(count), Some(own)) = (count, &own)
            && dims::equal(own, &count.into()) == Some(false)
        {
            let own = dim_text(own);
            let message = format_args!("`weights` must have {count} columns, one for each target, not {own}");
            return Err(cx.error_at("weights", message).help("pass `targets`, the columns that weights belong to"));
        }
        return Ok(count.map(PrimExpr::from).or(own));
    };
    if let (Some(a), Some(b)) = (targets.dims(), weights.dims())
        && (a.len() != 2 || a.iter().zip(b).any(|(a, b)| dims::equal(a, b) == Some(false)))
    {
        return Err(cx.error_at("targets", "`targets` must have the shape of `weights`"));
    }
    match count {
        Some(count) => Ok(Some(count.into())),
        None => Err(cx.error_at("num_targets", "with `targets`, the number of columns `num_targets` is required")),
    }
}

/// Operands of the kernel.
struct Ensemble<'a> {
    data: Input,
    nodes: Input,
    roots: Input,
    weights: Input,
    targets: Option<Input>,
    out: &'a Buffer,
    depth: i64,
    combine: Combine,
    /// True if features may be encoded as missing ones.
    missing: bool,
}

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "tree_ensemble")?;
    let (data, nodes, roots) = (b.input("data")?, b.input("nodes")?, b.input("roots")?);
    let (weights, targets) = (b.input("weights")?, b.optional_input("targets")?);
    let combine = match cx.str("aggregate")? {
        "min" => Combine::Min,
        "max" => Combine::Max,
        _ => Combine::Sum,
    };
    let out = b.output("out")?;
    let (depth, missing) = (cx.int("depth")?, cx.bool("missing")?);
    let ensemble = Ensemble { data, nodes, roots, weights, targets, out: &out, depth, combine, missing };
    b.block("tree_ensemble", &out.shape[..1], |row| ensemble.row(&row[0]));
    Ok(b.finish())
}

impl Ensemble<'_> {
    /// Computes a row of the result.
    fn row(&self, row: &PrimExpr) -> Stmt {
        let identity = self.combine.identity(self.out.dtype);
        let init = each("c", self.out.shape[1].clone(), |c| {
            Stmt::store(self.out, vec![row.clone(), c.clone()], identity.clone())
        });
        let trees = self.roots.shape()[0].clone();
        let whole = dims::floordiv(&trees, &LANES.into());
        let blocks = each("block", whole.clone(), |block| self.trees(row, &(block * PrimExpr::int64(LANES)), LANES));
        let start = dims::mul(&whole, &LANES.into());
        let rest = match dims::sub(&trees, &start).as_int() {
            Some(0) => Stmt::nop(),
            Some(rest) => self.trees(row, &start, rest),
            None => each("tree", dims::sub(&trees, &start), |tree| self.trees(row, &(&start + tree), 1)),
        };
        in_order([init, blocks, rest])
    }

    /// Descends some trees, and combines the weights of their leaves with the row of the result.
    fn trees(&self, row: &PrimExpr, first: &PrimExpr, lanes: i64) -> Stmt {
        let at = Buffer::scoped("at", vec![lanes.into()], DType::INT64, "local");
        let (moved, level) = (Cell::new("moved", DType::BOOL), Cell::new("level", DType::INT64));
        let mut steps = vec![Stmt::new(StmtKind::Alloc(at.clone(), Default::default()))];
        steps.push(unrolled("lane", lanes, |lane| {
            Stmt::store(&at, vec![lane.clone()], self.roots.index_at(&[first + lane]))
        }));
        steps.extend(moved.declare(PrimExpr::bool(true)));
        steps.extend(level.declare(0i64.into()));
        let step = unrolled("lane", lanes, |lane| self.descend(row, &at, lane, &moved));
        let body = in_order([moved.set(PrimExpr::bool(false)), step, level.add(1i64)]);
        let go_on = moved.get().and(level.get().lt(self.depth));
        steps.push(Stmt::new(StmtKind::While(go_on, Box::new(body))));
        let leaves: Vec<Var> = (0..lanes).map(|lane| Var::int64(format!("leaf{lane}"))).collect();
        for (lane, leaf) in leaves.iter().enumerate() {
            let node = PrimExpr::load(&at, vec![(lane as i64).into()]);
            steps.push(Stmt::new(StmtKind::Bind(leaf.clone(), self.nodes.index_at(&[node, column::VALUE.into()]))));
        }
        steps.push(self.combine(row, &leaves));
        in_order(steps)
    }

    /// Moves one of the nodes to its child.
    fn descend(&self, row: &PrimExpr, at: &Buffer, lane: &PrimExpr, moved: &Cell) -> Stmt {
        let (node, next) = (Var::int64("node"), Var::int64("next"));
        let bind = |var: &Var, value: PrimExpr| Stmt::new(StmtKind::Bind(var.clone(), value));
        let field = |column: PrimExpr| self.nodes.at(&[node.expr(), column]);
        let threshold = PrimExpr::intrin("reinterpret", vec![field(column::VALUE.into())], self.data.dtype());
        let feature = field(column::FEATURE.into()).cast(DType::INT64);
        let goes_left = match self.missing {
            false => self.data.at(&[row.clone(), feature]).le(threshold),
            true => {
                let is_encoded = feature.clone().lt(0i64);
                let feature = is_encoded.clone().select(PrimExpr::int64(-1) - &feature, feature);
                let value = self.data.at(&[row.clone(), feature]);
                let is_nan = value.clone().ne(value.clone());
                // Logical operators would be branches.
                let number = |condition: PrimExpr| condition.cast(DType::INT32);
                number(value.le(threshold)).max(number(is_nan).min(number(is_encoded))).ne(PrimExpr::int32(0))
            }
        };
        let child = goes_left.select(column::CHILDREN.into(), (column::CHILDREN + 1).into());
        in_order([
            bind(&node, PrimExpr::load(at, vec![lane.clone()])),
            bind(&next, field(child).cast(DType::INT64)),
            Stmt::store(at, vec![lane.clone()], next.expr()),
            moved.set(moved.get().or(next.expr().ne(node.expr()))),
        ])
    }

    /// Combines the weights of leaves with the row of the result. Of a full block, pairs of leaves are combined first.
    fn combine(&self, row: &PrimExpr, leaves: &[Var]) -> Stmt {
        let count = self.weights.shape()[1].clone();
        let weight = |leaf: &Var, k: &PrimExpr| self.weights.at(&[leaf.expr(), k.clone()]);
        let accumulate = |column: PrimExpr, values: Vec<PrimExpr>| {
            let index = vec![row.clone(), column];
            let so_far = PrimExpr::load(self.out, index.clone());
            let sum = values.into_iter().fold(so_far, |sum, value| self.combine.apply(sum, value));
            Stmt::store(self.out, index, sum)
        };
        match &self.targets {
            None => weights("k", &count, |k| {
                let values: Vec<PrimExpr> = leaves.iter().map(|leaf| weight(leaf, k)).collect();
                let is_full = values.len() as i64 == LANES;
                accumulate(k.clone(), if is_full { vec![self.pairwise(values)] } else { values })
            }),
            Some(targets) => in_order(leaves.iter().map(|leaf| {
                weights("k", &count, |k| accumulate(targets.index_at(&[leaf.expr(), k.clone()]), vec![weight(leaf, k)]))
            })),
        }
    }

    fn pairwise(&self, mut values: Vec<PrimExpr>) -> PrimExpr {
        while values.len() > 1 {
            values = values.chunks(2).map(|pair| self.combine.apply(pair[0].clone(), pair[1].clone())).collect();
        }
        values.swap_remove(0)
    }
}

/// A loop over the weights of a leaf.
fn weights(name: &str, count: &PrimExpr, f: impl FnOnce(&PrimExpr) -> Stmt) -> Stmt {
    match count.as_int() {
        Some(count) if count <= MAX_UNROLLED_WEIGHTS => unrolled(name, count, f),
        _ => each(name, count.clone(), f),
    }
}

fn unrolled(name: &str, extent: i64, f: impl FnOnce(&PrimExpr) -> Stmt) -> Stmt {
    let var = Var::int64(name);
    let body = f(&var.expr());
    Stmt::for_kind(var, extent.into(), ForKind::Unrolled, body)
}

//! `ml.pairwise_coupling`: probabilities of classes from those of pairs.
//!
//! The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling"
//! (2004), with libsvm's iteration and stopping criterion: results depend on when it stops.

use crate::{
    CallContext, dims,
    families::nn::activation::float_tensor,
    legalize::{
        Builder, Input, Legalized,
        loops::{Cell, each, in_order, when_else},
    },
    op::{AttrKind, Op},
    rules::{Inferred, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    relax::InferError,
    tir::{Buffer, Stmt, StmtKind},
};

/// Maximum number of iterations.
const MAX_ITERATIONS: i64 = 100;

/// Tolerance of the stopping criterion, by the number of classes.
const TOLERANCE: f64 = 0.005;

/// Maximum number of classes: each row needs a matrix of them.
const MAX_CLASSES: i64 = 1024;

/// `ml.pairwise_coupling`
pub fn pairwise_coupling() -> Op {
    Op::new("ml.pairwise_coupling")
        .doc(
            "Estimates probabilities of classes from those of all pairs: a row has the probability of class i against \
             class j, for each i < j.",
        )
        .example("x: float32[2, 3]", "x, classes=3")
        .tensor("pairs")
        .required("classes", AttrKind::Int)
        .infer(infer)
        .legalize(legalize)
}

fn infer(cx: &CallContext) -> Inferred {
    let pairs = float_tensor(cx, "pairs")?;
    expect_ndim(cx, "pairs", &pairs, 2)?;
    let classes = cx.int("classes")?;
    if !(1..=MAX_CLASSES).contains(&classes) {
        return Err(cx.error_at("classes", format_args!("`classes` must be 1 to {MAX_CLASSES}, not {classes}")));
    }
    let count = classes * (classes - 1) / 2;
    if let Some([_, own]) = pairs.dims()
        && dims::equal(own, &count.into()) == Some(false)
    {
        let own = dim_text(own);
        return Err(cx.error_at("pairs", format_args!("{classes} classes have {count} pairs, not {own}")));
    }
    let shape = match pairs.dims() {
        Some([rows, _]) => TensorShape::Known([rows.clone(), classes.into()].into()),
        _ => TensorShape::Rank(2),
    };
    Ok(TensorType { shape, ..pairs }.into())
}

/// Buffers and sizes of the kernel.
struct Coupling<'a> {
    pairs: &'a Input,
    /// Result: the probabilities so far.
    p: &'a Buffer,
    q: Buffer,
    /// `q p`
    qp: Buffer,
    classes: i64,
    dtype: DType,
}

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "pairwise_coupling")?;
    let pairs = b.input("pairs")?;
    let p = b.output("p")?;
    let (classes, dtype) = (cx.int("classes")?, pairs.dtype());
    b.block("pairwise_coupling", &p.shape[..1], |row| {
        let q = Buffer::scoped("q", vec![classes.into(), classes.into()], dtype, "local");
        let qp = Buffer::scoped("qp", vec![classes.into()], dtype, "local");
        Coupling { pairs: &pairs, p: &p, q, qp, classes, dtype }.row(&row[0])
    });
    Ok(b.finish())
}

impl Coupling<'_> {
    fn number(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, self.dtype)
    }

    /// The probability of class `i` against class `j`, for `i < j`.
    fn pair(&self, row: &PrimExpr, i: &PrimExpr, j: &PrimExpr) -> PrimExpr {
        let before = dims::floordiv(&(i * (PrimExpr::int64(2 * self.classes - 1) - i)), &2i64.into());
        self.pairs.at(&[row.clone(), before + j - i - PrimExpr::int64(1)])
    }

    fn row(&self, row: &PrimExpr) -> Stmt {
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let (iteration, active) = (Cell::new("iteration", DType::INT64), Cell::new("active", DType::BOOL));
        let pqp = Cell::new("pqp", self.dtype);
        let mut steps = vec![alloc(&self.q), alloc(&self.qp), self.fill_q(row)];
        steps.extend(iteration.declare(0i64.into()));
        steps.extend(active.declare(PrimExpr::bool(true)));
        steps.extend(pqp.declare(self.number(0.0)));
        let update = in_order([self.update(row, &pqp), iteration.add(1i64)]);
        let step = in_order([
            self.multiply(row, &pqp),
            self.find_error(&pqp, &active),
            when_else(active.get(), update, Stmt::nop()),
        ]);
        let go_on = active.get().and(iteration.get().lt(MAX_ITERATIONS));
        steps.push(Stmt::new(StmtKind::While(go_on, Box::new(step))));
        in_order(steps)
    }

    /// Sets `q`, and equal probabilities.
    fn fill_q(&self, row: &PrimExpr) -> Stmt {
        each("i", self.classes, |i| {
            let sum = Cell::new("sum", self.dtype);
            let entry = |j: &PrimExpr, own: PrimExpr, other: PrimExpr| {
                let product = &own * &other;
                in_order([
                    sum.add(&other * &other),
                    Stmt::store(&self.q, vec![i.clone(), j.clone()], self.number(0.0) - product),
                ])
            };
            let others = each("j", self.classes, |j| {
                let (upper, lower) = (self.pair(row, i, j), self.pair(row, j, i));
                let above = entry(j, upper.clone(), self.number(1.0) - upper);
                let below = entry(j, self.number(1.0) - &lower, lower);
                when_else(j.clone().gt(i), above, when_else(j.clone().lt(i), below, Stmt::nop()))
            });
            let diagonal = Stmt::store(&self.q, vec![i.clone(), i.clone()], sum.get());
            let start = self.number(1.0 / self.classes as f64);
            let p = Stmt::store(self.p, vec![row.clone(), i.clone()], start);
            in_order(sum.declare(self.number(0.0)).into_iter().chain([others, diagonal, p]))
        })
    }

    fn q(&self, i: &PrimExpr, j: &PrimExpr) -> PrimExpr {
        PrimExpr::load(&self.q, vec![i.clone(), j.clone()])
    }

    fn qp(&self, i: &PrimExpr) -> PrimExpr {
        PrimExpr::load(&self.qp, vec![i.clone()])
    }

    fn p(&self, row: &PrimExpr, i: &PrimExpr) -> PrimExpr {
        PrimExpr::load(self.p, vec![row.clone(), i.clone()])
    }

    /// Computes `q p` and `p q p`.
    fn multiply(&self, row: &PrimExpr, pqp: &Cell) -> Stmt {
        let each_row = each("i", self.classes, |i| {
            let sum = Cell::new("sum", self.dtype);
            let terms = each("j", self.classes, |j| sum.add(self.q(i, j) * self.p(row, j)));
            let store = Stmt::store(&self.qp, vec![i.clone()], sum.get());
            let total = pqp.add(self.p(row, i) * sum.get());
            in_order(sum.declare(self.number(0.0)).into_iter().chain([terms, store, total]))
        });
        in_order([pqp.set(self.number(0.0)), each_row])
    }

    /// Goes on if an element of `q p` differs from `p q p`.
    fn find_error(&self, pqp: &Cell, active: &Cell) -> Stmt {
        let tolerance = self.number(TOLERANCE / self.classes as f64);
        let compare = each("i", self.classes, |i| {
            let (above, below) = (self.qp(i) - pqp.get(), pqp.get() - self.qp(i));
            active.set(active.get().or(above.max(below).ge(tolerance)))
        });
        in_order([active.set(PrimExpr::bool(false)), compare])
    }

    /// Updates the probabilities one by one.
    fn update(&self, row: &PrimExpr, pqp: &Cell) -> Stmt {
        each("i", self.classes, |i| {
            let (diff, scale) = (Cell::new("diff", self.dtype), Cell::new("scale", self.dtype));
            let own = diff.declare((pqp.get() - self.qp(i)) / self.q(i, i));
            let factor = scale.declare(self.number(1.0) + diff.get());
            let p = Stmt::store(self.p, vec![row.clone(), i.clone()], self.p(row, i) + diff.get());
            let grown = pqp.get() + diff.get() * (diff.get() * self.q(i, i) + self.number(2.0) * self.qp(i));
            let sum = pqp.set(grown / scale.get() / scale.get());
            let normalize = each("j", self.classes, |j| {
                let qp = (self.qp(j) + diff.get() * self.q(i, j)) / scale.get();
                in_order([
                    Stmt::store(&self.qp, vec![j.clone()], qp),
                    Stmt::store(self.p, vec![row.clone(), j.clone()], self.p(row, j) / scale.get()),
                ])
            });
            in_order(own.into_iter().chain(factor).chain([p, sum, normalize]))
        })
    }
}

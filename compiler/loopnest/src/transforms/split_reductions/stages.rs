//! The stages of a split reduction, and the buffers between them.

use super::{Pattern, Split};
use crate::{ArgResult, Axis, Stage, access::combiner, substitution};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var, binary},
    tir::Buffer,
};

impl Split<'_> {
    /// Returns the stages in order, and the buffers between them.
    pub fn stages(&self) -> (Vec<Stage>, Vec<Buffer>) {
        let shape = self.at(self.count.clone(), self.results().map(|axis| axis.extent.clone()));
        let buffer = |suffix: &str, dtype: DType| {
            Buffer::new(format!("{}_{suffix}", self.stage.buffer.name), shape.clone(), dtype)
        };
        let partial = buffer("part", self.stage.buffer.dtype);
        let Some(arg) = &self.stage.arg_result else {
            return (vec![self.partial(&partial), self.combination(&partial)], vec![partial]);
        };
        let places = buffer("part_at", arg.buffer.dtype);
        let result = ArgResult { buffer: places.clone(), stores_value: true, ..arg.clone() };
        let first = self.partial(&partial).with_arg_result(result);
        let (second, third, number) = self.lookup(arg, &partial, &places);
        (vec![first, second, third], vec![partial, places, number])
    }

    /// Returns the axes of results.
    fn results(&self) -> impl Iterator<Item = &Axis> {
        self.stage.axes.iter().filter(|axis| !axis.reduce)
    }

    /// Returns the indices, or the shape, of partial results: consecutive results of the first stage are consecutive in
    /// memory.
    fn at(&self, part: PrimExpr, results: impl Iterator<Item = PrimExpr>) -> Vec<PrimExpr> {
        let mut at: Vec<PrimExpr> = results.collect();
        let dim = if self.pattern == Pattern::Row { at.len() } else { 0 };
        at.insert(dim, part);
        at
    }

    /// Returns an axis over the parts.
    fn part_axis(&self, reduce: bool) -> Axis {
        let var = &self.stage.axes[self.axis].var;
        Axis { var: Var::new(format!("{}_part", var.name()), var.dtype()), extent: self.count.clone(), reduce }
    }

    /// Returns the stage that reduces parts.
    fn partial(&self, to: &Buffer) -> Stage {
        let (stage, part) = (self.stage, self.part_axis(false));
        let inner = Axis { var: stage.axes[self.axis].var.fresh(), extent: self.length.clone(), reduce: true };
        let element = self.element(part.var.expr() * self.length.clone() + inner.var.expr());
        let indices = self.at(part.var.expr(), self.results().map(|axis| axis.var.expr()));
        let mut axes = stage.axes.clone();
        axes[self.axis] = inner;
        let last = axes.iter().rposition(|axis| !axis.reduce).map_or(0, |last| last + 1);
        axes.insert(if self.pattern == Pattern::Row { last } else { 0 }, part);
        let value = self.reduced(PrimExpr::load(to, indices.clone()), element);
        let reduced = Stage::new(format!("{}_part", stage.name), axes, to.clone(), indices, value);
        reduced.with_init(Some(self.start())).with_part(stage.part)
    }

    /// Returns the reduced element at a position of the axis, or what changes no result beyond its end.
    fn element(&self, position: PrimExpr) -> PrimExpr {
        let own = &self.stage.axes[self.axis];
        let Some((_, term)) = combiner(self.stage) else { return self.start() };
        let term = term.substitute(&substitution(std::slice::from_ref(own), std::slice::from_ref(&position)));
        let parts = self.count.as_int().zip(self.length.as_int());
        if parts.is_some_and(|(count, length)| own.extent.as_int() == Some(count * length)) {
            return term;
        }
        let (is_inside, dtype) = (position.lt(own.extent.clone().cast(own.var.dtype())), term.dtype());
        PrimExpr::intrin("if_then_else", vec![is_inside, term, self.start()], dtype)
    }

    /// Returns the value that a part starts from: one that may count once for each part.
    fn start(&self) -> PrimExpr {
        let dtype = self.stage.buffer.dtype;
        match combiner(self.stage) {
            Some((BinaryOp::Add, _)) => PrimExpr::constant(0.0, dtype),
            Some((BinaryOp::Mul, _)) => PrimExpr::constant(1.0, dtype),
            _ => self.stage.init.clone().unwrap_or_else(|| PrimExpr::constant(0.0, dtype)),
        }
    }

    /// Returns a result and an element, reduced.
    fn reduced(&self, result: PrimExpr, element: PrimExpr) -> PrimExpr {
        match self.stage.value.kind() {
            PrimKind::Binary(op, ..) => binary(*op, result, element),
            _ => result,
        }
    }

    /// Returns the stage that reduces partial results.
    fn combination(&self, from: &Buffer) -> Stage {
        let (stage, part) = (self.stage, self.part_axis(true));
        let own = PrimExpr::load(&stage.buffer, stage.indices.clone());
        let partial = PrimExpr::load(from, self.at(part.var.expr(), self.results().map(|axis| axis.var.expr())));
        let axes = self.results().cloned().chain([part]).collect();
        Stage { axes, value: self.reduced(own, partial), ..stage.clone() }
    }

    /// Returns the second and the third stage of an arg-reduction: the first finds the part, and the other the position
    /// in there. The number of the part is in a buffer of its own.
    fn lookup(&self, arg: &ArgResult, partial: &Buffer, places: &Buffer) -> (Stage, Stage, Buffer) {
        let (stage, dtype) = (self.stage, arg.buffer.dtype);
        let name = format!("{}_part_number", stage.buffer.name);
        let number = Buffer::new(name, stage.buffer.shape.clone(), dtype);
        let found = ArgResult { buffer: number.clone(), init: PrimExpr::int(0, dtype), ..arg.clone() };
        let second = Stage { arg_result: Some(found), ..self.combination(partial) };
        let results: Vec<Axis> = self.results().map(Axis::fresh).collect();
        let values = self.results().zip(&results).map(|(old, new)| (old.var.clone(), new.var.expr())).collect();
        let indices: Vec<PrimExpr> = stage.indices.iter().map(|index| index.substitute(&values)).collect();
        let part = PrimExpr::load(&number, indices.clone());
        let wide = |e: &PrimExpr| e.clone().cast(DType::INT64);
        // Positions count along all reduction axes; the split one is the first.
        let row = stage.axes.iter().enumerate().filter(|(n, axis)| axis.reduce && *n != self.axis);
        let offset = row.fold(wide(&part) * wide(&self.length), |offset, (_, axis)| offset * wide(&axis.extent));
        let at = self.at(part.cast(self.count.dtype()), results.iter().map(|axis| axis.var.expr()));
        let value = (wide(&PrimExpr::load(places, at)) + offset).cast(dtype);
        let third = Stage::new(format!("{}_position", stage.name), results, arg.buffer.clone(), indices, value);
        (second, third, number)
    }
}

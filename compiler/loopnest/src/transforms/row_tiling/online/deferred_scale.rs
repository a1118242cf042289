//! Deferred scale of a softmax: sums of exponentials with weights are divided once for each row and result, instead of
//! each exponential. The exponentials of a tile of elements can then be summed before the divisor is known.

use super::Online;
use crate::{
    Epilogue, Stage,
    access::{combiner, is_load_of},
    index::same_expr,
    map_loads,
    row_tiling::Rows,
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, binary},
    tir::Buffer,
};

impl Rows {
    /// Returns the stages that can run as an online softmax, which they then do: these, or those with a deferred scale.
    pub fn online_form(&self) -> Option<(Rows, Online)> {
        let own = self.online().map(|online| (self.clone(), online));
        own.or_else(|| {
            let deferred = self.with_deferred_scale()?;
            let online = deferred.online()?;
            Some((deferred, online))
        })
    }

    /// Returns the stages without the one that divides the elements of a row by a number, where only sums read these;
    /// the sums are divided instead.
    fn with_deferred_scale(&self) -> Option<Rows> {
        let number = (0..self.stages.len()).find(|number| self.divisor(*number).is_some())?;
        let scaling = &self.stages[number];
        let mut rows = self.clone();
        rows.stages.remove(number);
        rows.axes.iter_mut().for_each(|axis| _ = axis.axes.remove(number));
        rows.intermediates.retain(|buffer| buffer != scaling.target());
        for stage in &mut rows.stages {
            let reads = |e: &PrimExpr| e.any(&mut |e| is_load_of(e, scaling.target()));
            if stage.values().any(reads) {
                *stage = self.divided_sum(number, stage)?;
            }
        }
        Some(rows)
    }

    /// Returns the dividend and the divisor of a stage that divides intermediate elements by a number of their row.
    fn divisor(&self, number: usize) -> Option<(&PrimExpr, &PrimExpr)> {
        let stage = &self.stages[number];
        let quotient = match stage.value.kind() {
            PrimKind::Cast(value) if value.dtype().is_floating() => value,
            _ => &stage.value,
        };
        let PrimKind::Binary(BinaryOp::Div, element, divisor) = quotient.kind() else { return None };
        let PrimKind::Load(buffer, indices, None) = element.kind() else { return None };
        let is_row = |axis: usize| self.row_axes(number).any(|row| row == axis);
        let of_row = (0..stage.axes.len()).filter(|axis| !is_row(*axis));
        let is_invariant = of_row.map(|axis| &stage.axes[axis].var).all(|var| !divisor.uses(var));
        let is_same = indices.len() == stage.indices.len()
            && indices.iter().zip(&stage.indices).all(|(a, b)| same_expr(a, b))
            && stage.indices.iter().all(|index| index.as_var().is_some() || index.as_int().is_some());
        let is_own = !stage.reduces() && stage.epilogue.is_none() && !stage.regions;
        (is_own && is_invariant && is_same && self.is_intermediate(buffer) && self.is_intermediate(stage.target()))
            .then_some((element, divisor))
    }

    /// Returns a sum of the elements that a stage divides, divided afterwards.
    fn divided_sum(&self, number: usize, sum: &Stage) -> Option<Stage> {
        let scaling = &self.stages[number];
        let (element, divisor) = self.divisor(number)?;
        let PrimKind::Load(elements, ..) = element.kind() else { return None };
        let (BinaryOp::Add, term) = combiner(sum)? else { return None };
        let load = factor(term, scaling.target())?;
        let PrimKind::Load(_, at, None) = load.kind() else { return None };
        let indices = scaling.indices.iter().zip(at.iter().cloned());
        let divisor = divisor.substitute(&indices.filter_map(|(own, at)| Some((own.as_var()?.clone(), at))).collect());
        let is_reduced = sum.axes.iter().filter(|axis| axis.reduce).any(|axis| divisor.uses(&axis.var));
        let starts_at_zero = sum.init.as_ref().and_then(PrimExpr::as_float) == Some(0.0);
        let has_one_use = !sum.epilogue.iter().any(|e| e.value.any(&mut |e| is_load_of(e, scaling.target())));
        if is_reduced || !starts_at_zero || !has_one_use || sum.regions || !sum.buffer.dtype.is_floating() {
            return None;
        }
        let undivided = |load: &PrimExpr| match load.kind() {
            PrimKind::Load(_, at, _) => PrimExpr::load(elements, at.to_vec()).cast(load.dtype()),
            _ => load.clone(),
        };
        // A sum of no elements is zero, not zero divided by zero.
        let may_be_empty = sum.axes.iter().filter(|axis| axis.reduce).find(|axis| axis.extent.as_int().is_none());
        let divide = |total: &PrimExpr| {
            let quotient = binary(BinaryOp::Div, total.clone(), divisor.clone().cast(total.dtype()));
            match may_be_empty {
                Some(axis) => PrimExpr::int64(0).lt(axis.extent.clone()).select(quotient, total.clone()),
                None => quotient,
            }
        };
        let value = map_loads(&sum.value, scaling.target(), &undivided);
        let divided = match &sum.epilogue {
            Some(epilogue) => {
                let result = map_loads(&epilogue.value, &sum.buffer, &divide);
                Stage { value, epilogue: Some(Epilogue { value: result, ..epilogue.clone() }), ..sum.clone() }
            }
            None => {
                let total =
                    Buffer::new(format!("{}_undivided", sum.buffer.name), sum.buffer.shape.to_vec(), sum.buffer.dtype);
                let own = PrimExpr::load(&total, sum.indices.clone());
                let epilogue =
                    Epilogue { buffer: sum.buffer.clone(), indices: sum.indices.clone(), value: divide(&own) };
                let value = map_loads(&value, &sum.buffer, &|_| own.clone());
                Stage { buffer: total, value, epilogue: Some(epilogue), ..sum.clone() }
            }
        };
        Some(divided)
    }
}

/// Returns the only load of a buffer in a product, as one of its factors.
fn factor<'a>(term: &'a PrimExpr, buffer: &Buffer) -> Option<&'a PrimExpr> {
    match term.kind() {
        PrimKind::Load(..) => is_load_of(term, buffer).then_some(term),
        PrimKind::Cast(value) if term.dtype().is_floating() => factor(value, buffer),
        PrimKind::Binary(BinaryOp::Mul, a, b) => {
            let has = |e: &PrimExpr| e.any(&mut |e| is_load_of(e, buffer));
            match (has(a), has(b)) {
                (true, false) => factor(a, buffer),
                (false, true) => factor(b, buffer),
                _ => None,
            }
        }
        _ => None,
    }
}

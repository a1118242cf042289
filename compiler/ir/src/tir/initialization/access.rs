//! Loads and stores: the areas that they access, and loads without a preceding write.

use super::{
    InitializationWalk, PossibleRead,
    area::{Area, add, cover},
    reads_at,
};
use crate::{
    PrimExpr,
    prim::{BinaryOp, PrimCall, PrimCallee, PrimKind, Var},
    tir::{Buffer, regions::Range},
};

impl InitializationWalk<'_, '_> {
    /// The memory of an access, if it is fresh, and the accessed area, if known.
    pub(super) fn locate(&self, buffer: &Buffer, indices: &[PrimExpr]) -> Option<(Var, Option<Area>)> {
        let ranges: Option<Vec<Range>> = indices.iter().map(|index| self.range(index)).collect();
        self.area_of(buffer, ranges)
    }

    fn range(&self, index: &PrimExpr) -> Option<Range> {
        let one = PrimExpr::int64(1);
        match index.kind() {
            PrimKind::Ramp(base, stride) if stride.as_int() == Some(1) => {
                let (base, lanes) = (self.value(base), i64::from(index.dtype().lanes));
                Some(Range { end: add(base.clone(), PrimExpr::int64(lanes)), begin: base })
            }
            _ if !index.dtype().is_scalar() => None,
            _ => {
                let begin = self.value(index);
                self.reads_inputs_only(&begin).then(|| Range { end: add(begin.clone(), one), begin })
            }
        }
    }

    fn area_of(&self, buffer: &Buffer, ranges: Option<Vec<Range>>) -> Option<(Var, Option<Area>)> {
        if let Some((source, region)) = self.views.get(buffer) {
            let moved = ranges.and_then(|ranges| {
                let outer = region.len().checked_sub(ranges.len())?;
                let moved = region[outer..].iter().zip(&ranges).map(|(source, range)| Range {
                    begin: add(source.begin.clone(), range.begin.clone()),
                    end: add(source.begin.clone(), range.end.clone()),
                });
                Some(region[..outer].iter().cloned().chain(moved).collect())
            });
            return self.area_of(source, moved);
        }
        let whole = self.fresh.get(&buffer.data)?;
        let memory = buffer.data.clone();
        let is_plain =
            |b: &Buffer| b.strides.is_empty() && b.elem_offset.as_ref().is_none_or(|e| e.as_int() == Some(0));
        let area = match ranges.map(Area::of) {
            Some(area) if whole == buffer => Some(area),
            Some(area) if is_plain(whole) && is_plain(buffer) && whole.dtype == buffer.dtype => {
                let sizes: Vec<PrimExpr> = buffer.shape.iter().map(|e| self.value(e)).collect();
                area.flat(&sizes, self.scope.analyzer())
            }
            _ => None,
        };
        Some((memory, area))
    }

    /// The loads of an expression, those of operands that may not be evaluated under their conditions.
    pub(super) fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Load(buffer, indices, _) => {
                e.each_child(&mut |c| self.expr(c));
                self.read(buffer, indices);
            }
            PrimKind::Select(condition, then, otherwise) => self.choice(condition, then, otherwise),
            PrimKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.expr(a);
                self.under(a, *op == BinaryOp::And, b);
            }
            PrimKind::Call(call) => match (&call.args[..], e.as_intrin("if_then_else").is_some()) {
                ([condition, then, otherwise], true) => self.choice(condition, then, otherwise),
                _ if !call.is_pure() => self.call(call),
                _ => e.each_child(&mut |c| self.expr(c)),
            },
            _ => e.each_child(&mut |c| self.expr(c)),
        }
    }

    fn choice(&mut self, condition: &PrimExpr, then: &PrimExpr, otherwise: &PrimExpr) {
        self.expr(condition);
        self.under(condition, true, then);
        self.under(condition, false, otherwise);
    }

    fn under(&mut self, condition: &PrimExpr, holds: bool, e: &PrimExpr) {
        let scope = self.scope.clone();
        self.learn(condition, holds);
        self.expr(e);
        self.scope = scope;
    }

    /// A call that may read and write the memory passed to it. External functions are assumed to write it.
    fn call(&mut self, call: &PrimCall) {
        let kernel = match &call.callee {
            PrimCallee::Global(name) => (self.kernel)(name),
            PrimCallee::Intrin(_) => None,
        };
        for (at, arg) in call.args.iter().enumerate() {
            let mut pointers: Vec<Buffer> = Vec::new();
            arg.walk(&mut |e| {
                let data = match e.kind() {
                    PrimKind::Var(var) => var,
                    PrimKind::Load(buffer, ..) => &buffer.data,
                    _ => return,
                };
                pointers.extend(self.fresh.get(data).cloned());
                pointers.extend(self.views.iter().filter(|(view, _)| view.data == *data).map(|(view, _)| view.clone()));
            });
            for buffer in pointers {
                let param = kernel.and_then(|kernel| kernel.params.get(at)?.buffer.as_ref());
                if let (Some(kernel), Some(param), true, 1..) = (kernel, param, self.reports, self.calls)
                    && reads_at(kernel, std::iter::once(param), self.kernel, self.calls - 1)
                        .iter()
                        .any(|read| read.memory == param.data)
                {
                    self.read(&buffer, &[]);
                }
                if let Some((memory, _)) = self.area_of(&buffer, None) {
                    let zero = || PrimExpr::int64(0);
                    let all = self.sizes(&memory).into_iter().map(|end| Range { begin: zero(), end }).collect();
                    self.add(memory, Area::of(all), false);
                }
            }
        }
    }

    /// A load at indices; without any, of the whole buffer.
    fn read(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        let zero = PrimExpr::int64(0);
        let all = buffer.shape.iter().map(|size| Range { begin: zero.clone(), end: self.value(size) }).collect();
        let Some((memory, whole)) = self.area_of(buffer, Some(all)).filter(|_| self.reports) else { return };
        if self.found.iter().any(|read| read.memory == memory) {
            return;
        }
        let accessed = match indices.len() == buffer.ndim() {
            true => self.locate(buffer, indices).and_then(|(_, area)| area),
            false => None,
        };
        let areas = self.written.get(&memory).map_or(&[][..], Vec::as_slice);
        let sizes = self.sizes(&memory);
        // A data-dependent index is anywhere in the buffer.
        let mut read = accessed.iter().chain(&whole);
        if !read.any(|area| cover(areas, area, &sizes, self.scope.analyzer())) {
            self.found.push(PossibleRead { span: self.span, buffer: buffer.clone(), memory });
        }
    }
}

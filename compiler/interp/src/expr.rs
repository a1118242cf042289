//! Evaluation of expressions.

use crate::{Fault, Interpreter, Value, arith, number};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Reduce, Var},
    tir::Buffer,
};

impl Interpreter {
    /// Evaluates an expression.
    pub fn eval(&mut self, e: &PrimExpr) -> Result<Value, Fault> {
        match e.kind() {
            PrimKind::Var(v) => self.variable(v),
            PrimKind::Int(v) => Ok(Value::Int(number::wrap(*v, e.dtype()))),
            PrimKind::Float(v) => Ok(Value::Float(number::round(*v, e.dtype()))),
            PrimKind::Str(s) => Ok(Value::Str(s.clone())),
            PrimKind::Binary(op, a, b) => self.binary(*op, a, b),
            PrimKind::Not(a) => Value::lanewise([&self.eval(a)?], |[a]| Ok((!a.truth()?).into())),
            PrimKind::Select(c, a, b) => self.select(c, a, b),
            PrimKind::Cast(a) => self.cast(a, e),
            PrimKind::Load(buffer, indices, mask) => self.load(buffer, indices, mask.as_ref()),
            PrimKind::Ramp(base, stride) => self.ramp(base, stride, e),
            PrimKind::Broadcast(a) => {
                let value = self.eval(a)?;
                let repeats = usize::from(e.dtype().lanes) / value.lanes().max(1);
                Ok(Value::Vector((0..repeats).flat_map(|_| lanes_of(&value)).collect()))
            }
            PrimKind::Shuffle(vectors, chosen) => self.shuffle(vectors, chosen),
            PrimKind::Let(v, value, body) => {
                let value = self.eval(value)?;
                self.vars.insert(v.clone(), value);
                self.eval(body)
            }
            PrimKind::Call(call) => self.call(call, e),
            PrimKind::Reduce(r) => self.reduce(r),
        }
    }

    /// Evaluates an expression of a statement. If integers must not wrap, an error shows the expression.
    pub fn value(&mut self, e: &PrimExpr) -> Result<Value, Fault> {
        let result = self.eval(e);
        let what = match &result {
            Err(Fault::Overflow(dtype)) => format!("overflows {dtype}"),
            Err(Fault::DivisionByZero) if self.exact => "divides by zero".to_owned(),
            _ => return result,
        };
        let named = |v: &Var| Some(format!("{} = {}", v.name(), self.variable(v).ok()?.int().ok()?));
        let values: Vec<String> = hammock_ir::prim::check::variables(e).iter().filter_map(named).collect();
        let values = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
        Err(Fault::Size { text: hammock_ir::print::dim_text(e), what, values })
    }

    /// Evaluates an integer expression.
    pub fn int(&mut self, e: &PrimExpr) -> Result<i64, Fault> {
        self.eval(e)?.int()
    }

    /// Returns the value of a variable.
    pub fn variable(&self, var: &Var) -> Result<Value, Fault> {
        self.vars.get(var).cloned().ok_or_else(|| Fault::Unbound(var.name().clone()))
    }

    fn binary(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Result<Value, Fault> {
        let dtype = a.dtype().element();
        let left = self.eval(a)?;
        match (op, &left) {
            (BinaryOp::And, Value::Int(0)) | (BinaryOp::Or, Value::Int(1)) => return Ok(left),
            _ => {}
        }
        let right = self.eval(b)?;
        let exact = self.exact;
        Value::lanewise([&left, &right], |[a, b]| match exact {
            true => arith::exact(op, a, b, dtype),
            false => arith::binary(op, a, b, dtype),
        })
    }

    fn select(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Result<Value, Fault> {
        let condition = self.eval(condition)?;
        if !matches!(condition, Value::Vector(_)) {
            return if condition.truth()? { self.eval(a) } else { self.eval(b) };
        }
        let (a, b) = (self.eval(a)?, self.eval(b)?);
        Value::lanewise([&condition, &a, &b], |[c, a, b]| Ok(if c.truth()? { a.clone() } else { b.clone() }))
    }

    fn cast(&mut self, operand: &PrimExpr, e: &PrimExpr) -> Result<Value, Fault> {
        let (from, to) = (operand.dtype().element(), e.dtype().element());
        let exact = self.exact;
        Value::lanewise([&self.eval(operand)?], |[v]| {
            let result = number::cast(v, from, to)?;
            let narrows = exact && from.is_int() && to.is_int() && *v != result;
            if narrows { Err(Fault::Overflow(to)) } else { Ok(result) }
        })
    }

    fn ramp(&mut self, base: &PrimExpr, stride: &PrimExpr, e: &PrimExpr) -> Result<Value, Fault> {
        let element = e.dtype().element();
        let (base, stride) = (self.eval(base)?, self.eval(stride)?);
        let steps = usize::from(e.dtype().lanes) / base.lanes().max(1);
        let mut lanes = Vec::with_capacity(steps * base.lanes());
        for step in 0..steps {
            for lane in 0..base.lanes() {
                let offset = stride.lane(lane).int()?.wrapping_mul(step as i64);
                lanes.push(Value::Int(number::wrap(base.lane(lane).int()?.wrapping_add(offset), element)));
            }
        }
        Ok(Value::Vector(lanes))
    }

    fn shuffle(&mut self, vectors: &[PrimExpr], chosen: &[PrimExpr]) -> Result<Value, Fault> {
        let mut all = Vec::new();
        for v in vectors {
            all.extend(lanes_of(&self.eval(v)?));
        }
        let mut lanes = Vec::with_capacity(chosen.len());
        for index in chosen {
            let index = self.int(index)?;
            let lane = usize::try_from(index).ok().and_then(|i| all.get(i));
            let outside = || Fault::OutOfBounds { buffer: "shuffle".into(), axis: 0, index, extent: all.len() as i64 };
            lanes.push(lane.ok_or_else(outside)?.clone());
        }
        Ok(if lanes.len() == 1 { lanes.remove(0) } else { Value::Vector(lanes) })
    }

    fn load(&mut self, buffer: &Buffer, indices: &[PrimExpr], mask: Option<&PrimExpr>) -> Result<Value, Fault> {
        let access = self.access(buffer, indices, mask)?;
        let zero = number::from_bits(0, buffer.dtype)?;
        let mut lanes = Vec::with_capacity(access.lanes());
        for lane in 0..access.lanes() {
            match access.position(lane)? {
                Some(at) => {
                    let value = self.heap.load(access.view.base, at, buffer.dtype, &access.view.name)?;
                    lanes.extend(lanes_of(&value));
                }
                None => lanes.extend((0..buffer.dtype.lanes).map(|_| zero.clone())),
            }
        }
        Ok(if lanes.len() == 1 && !access.is_vector() { lanes.remove(0) } else { Value::Vector(lanes) })
    }

    fn reduce(&mut self, r: &Reduce) -> Result<Value, Fault> {
        let start = if r.init.is_empty() { &r.combiner.identity } else { &r.init };
        let mut results = start.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
        self.reduce_axes(r, 0, &mut results)?;
        Ok(results.swap_remove(r.index))
    }

    fn reduce_axes(&mut self, r: &Reduce, axis: usize, results: &mut Vec<Value>) -> Result<(), Fault> {
        let Some(iter) = r.axes.get(axis) else { return self.combine(r, results) };
        let Some((min, extent)) = &iter.dom else { return Err(Fault::Unbound(iter.var.name().clone())) };
        let (min, extent) = (self.int(min)?, self.int(extent)?);
        for value in min..min.saturating_add(extent) {
            self.vars.insert(iter.var.clone(), Value::Int(value));
            self.reduce_axes(r, axis + 1, results)?;
        }
        Ok(())
    }

    fn combine(&mut self, r: &Reduce, results: &mut Vec<Value>) -> Result<(), Fault> {
        if !self.eval(&r.condition)?.truth()? {
            return Ok(());
        }
        let sources = r.source.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
        self.vars.extend(r.combiner.lhs.iter().cloned().zip(results.iter().cloned()));
        self.vars.extend(r.combiner.rhs.iter().cloned().zip(sources));
        *results = r.combiner.result.iter().map(|e| self.eval(e)).collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Returns the lanes of a value; a scalar has one.
pub fn lanes_of(value: &Value) -> Vec<Value> {
    match value {
        Value::Vector(lanes) => lanes.clone(),
        scalar => vec![scalar.clone()],
    }
}

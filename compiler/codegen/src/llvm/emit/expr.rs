//! Code generation for expressions.

use super::{
    Emitter, Result, Ty, Unsupported, Value,
    convert::{float_constant, register_type},
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
};

impl Emitter<'_, '_> {
    /// Evaluates a statement's expression. Shared nodes are evaluated once.
    pub(super) fn value(&mut self, e: &PrimExpr) -> Result<Value> {
        self.forget();
        self.eval(e)
    }

    /// Clears memoized values, before memory may change.
    pub(super) fn forget(&mut self) {
        self.memo.clear();
        self.made.clear();
    }

    /// Evaluates a subexpression of the current statement.
    pub(super) fn eval(&mut self, e: &PrimExpr) -> Result<Value> {
        if let Some(value) = self.memo.get(&e.node_id()) {
            return Ok(value.clone());
        }
        let value = self.eval_node(e)?;
        self.memo.insert(e.node_id(), value.clone());
        Ok(value)
    }

    fn eval_node(&mut self, e: &PrimExpr) -> Result<Value> {
        match e.kind() {
            PrimKind::Var(v) => self.vars.get(v).cloned().ok_or_else(|| Unsupported::Unbound(v.name().clone())),
            PrimKind::Int(v) if e.dtype().is_handle() => match *v {
                0 => Ok(Value::zero(Ty::PTR)),
                _ => Err(Unsupported::Form("a handle constant other than null")),
            },
            PrimKind::Int(v) if e.dtype().is_floating() => float_constant(*v as f64, e.dtype()),
            PrimKind::Int(v) => Ok(Value::int(*v, register_type(e.dtype())?)),
            PrimKind::Float(v) => float_constant(*v, e.dtype()),
            PrimKind::Str(text) => Ok(self.kernel.module.string(text)),
            PrimKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => self.logic(*op, a, b),
            PrimKind::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) if a.dtype().is_floating() => {
                self.float_extremum(*op, a, b)
            }
            PrimKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a)?, self.eval(b)?);
                self.binary(*op, &x, &y, a.dtype())
            }
            PrimKind::Not(a) => {
                let a = self.eval(a)?;
                Ok(self.not(&a))
            }
            PrimKind::Select(condition, a, b) => {
                let (condition, a, b) = (self.eval(condition)?, self.eval(a)?, self.eval(b)?);
                Ok(self.f.select(&condition, &a, &b))
            }
            PrimKind::Cast(a) => {
                if let Some(value) = self.float_of_nibble(a, e.dtype())? {
                    return Ok(value);
                }
                let value = self.eval(a)?;
                self.cast(&value, a.dtype(), e.dtype())
            }
            PrimKind::Load(buffer, indices, mask) => self.load(buffer, indices, mask.as_ref(), e.dtype()),
            PrimKind::Ramp(base, stride) => self.ramp(base, stride, e.dtype().lanes),
            PrimKind::Broadcast(a) => {
                let value = self.eval(a)?;
                Ok(self.repeat(&value, e.dtype().lanes / value.ty.lanes.max(1)))
            }
            PrimKind::Shuffle(vectors, lanes) => self.shuffle(vectors, lanes),
            PrimKind::Let(var, value, body) => {
                let value = self.decide(value)?;
                self.vars.insert(var.clone(), value);
                self.eval(body)
            }
            PrimKind::Call(call) => self.call(call, e),
            PrimKind::Reduce(_) => Err(Unsupported::Form("a reduction expression outside of a compute definition")),
        }
    }

    /// Concatenates `times` copies of a value.
    fn repeat(&mut self, value: &Value, times: u16) -> Value {
        let lanes = usize::from(value.ty.lanes);
        match lanes {
            1 => self.f.splat(value, times),
            _ if times == 1 => value.clone(),
            _ => {
                let order = (0..lanes * usize::from(times)).map(|i| i % lanes);
                self.f.shuffle(value, &Value::poison(value.ty), order)
            }
        }
    }

    /// `base + stride * k` for each `k`, as whole vectors for a vector base.
    fn ramp(&mut self, base: &PrimExpr, stride: &PrimExpr, lanes: u16) -> Result<Value> {
        let (base, stride) = (self.eval(base)?, self.eval(stride)?);
        let width = base.ty.lanes.max(1);
        let times = lanes / width;
        let element = base.ty.element();
        let (base, stride) = (self.repeat(&base, times), self.repeat(&stride, lanes / stride.ty.lanes.max(1)));
        let steps = Value::vector((0..lanes).map(|l| i64::from(l / width)), element);
        let distance = self.f.binary("mul", &stride, &steps);
        Ok(self.f.binary("add", &base, &distance))
    }

    /// Selects lanes by constant indices from concatenated vectors.
    fn shuffle(&mut self, vectors: &[PrimExpr], lanes: &[PrimExpr]) -> Result<Value> {
        let values = vectors.iter().map(|v| self.eval(v)).collect::<Result<Vec<_>>>()?;
        let chosen = lanes.iter().map(|l| l.as_int().and_then(|l| usize::try_from(l).ok())).collect::<Option<Vec<_>>>();
        let chosen = chosen.ok_or(Unsupported::Form("a shuffle by lanes that are not constants"))?;
        let total: usize = values.iter().map(|v| usize::from(v.ty.lanes)).sum();
        if chosen.is_empty() || chosen.iter().any(|l| *l >= total) {
            return Err(Unsupported::Form("a shuffle by lanes that are not there"));
        }
        match &values[..] {
            [a] if chosen.len() > 1 && a.ty.lanes > 1 => {
                Ok(self.f.shuffle(a, &Value::poison(a.ty), chosen.into_iter()))
            }
            [a, b] if chosen.len() > 1 && a.ty.lanes > 1 && a.ty == b.ty => {
                Ok(self.f.shuffle(a, b, chosen.into_iter()))
            }
            _ => Ok(self.gather_lanes(&values, &chosen)),
        }
    }

    /// Selects lanes one at a time.
    fn gather_lanes(&mut self, values: &[Value], chosen: &[usize]) -> Value {
        let places: Vec<(usize, usize)> =
            values.iter().enumerate().flat_map(|(v, value)| (0..value.ty.lanes.into()).map(move |l| (v, l))).collect();
        let lane = |emitter: &mut Self, number: usize| {
            let (value, lane) = places[number];
            let value = &values[value];
            if value.ty.lanes == 1 { value.clone() } else { emitter.f.extract(value, lane) }
        };
        if let [one] = chosen {
            return lane(self, *one);
        }
        let ty = values[0].ty.with_lanes(chosen.len() as u16);
        let mut result = Value::poison(ty);
        for (at, &number) in chosen.iter().enumerate() {
            let value = lane(self, number);
            result = self.f.insert(&result, &value, at);
        }
        result
    }

    /// Applies a scalar function to each lane.
    pub(super) fn lanewise(
        &mut self,
        args: &[Value],
        ret: Ty,
        f: &mut dyn FnMut(&mut Self, &[Value]) -> Value,
    ) -> Value {
        if ret.lanes == 1 {
            return f(self, args);
        }
        let mut result = Value::poison(ret);
        for lane in 0..usize::from(ret.lanes) {
            let scalars: Vec<Value> = args.iter().map(|a| self.f.extract(a, lane)).collect();
            let value = f(self, &scalars);
            result = self.f.insert(&result, &value, lane);
        }
        result
    }
}

//! Number of steps of a kernel call.

use hammock_interp::{self as interp, Value};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{AttrNode, PrimFunc, Stmt, StmtKind},
};
use hammock_runtime::{Any, Tensor};

/// Upper bound of the number of statements that a call runs; `None` if it depends on more than the sizes of its arguments,
/// or the kernel may not terminate.
pub fn steps(func: &PrimFunc, args: &[Any]) -> Option<u64> {
    let mut count = Count { values: Vec::new() };
    for (param, arg) in func.params.iter().zip(args) {
        let sizes = param.buffer.iter().flat_map(|buffer| &buffer.shape);
        let actual = arg.get::<&Tensor>().map(Tensor::shape).unwrap_or_default();
        for (size, actual) in sizes.zip(actual) {
            count.values.extend(size.as_var().map(|var| (var.clone(), Value::Int(*actual))));
        }
        count.values.extend(arg.get::<i64>().map(|value| (param.var.clone(), Value::Int(value))));
    }
    count.stmt(&func.body)
}

struct Count {
    /// Sizes, and the last values of loop variables.
    values: Vec<(Var, Value)>,
}

impl Count {
    fn stmt(&mut self, stmt: &Stmt) -> Option<u64> {
        match &stmt.kind {
            StmtKind::While(..) => None,
            StmtKind::For(l) => {
                let (min, extent) = (self.int(&l.min), self.int(&l.extent)?);
                self.repeated(&l.var, min, extent, &l.body)
            }
            StmtKind::Attr { node: AttrNode::Thread(axis), value, body, .. } => {
                let extent = self.int(value)?;
                self.repeated(&axis.var, Some(0), extent, body)
            }
            StmtKind::Block(block) => {
                let outside = self.values.len();
                for axis in &block.axes {
                    let value = self.int(&axis.binding);
                    self.values.extend(value.map(|value| (axis.var.clone(), Value::Int(value))));
                }
                let steps = self.children(stmt);
                self.values.truncate(outside);
                steps
            }
            _ => self.children(stmt),
        }
    }

    /// A body run for each of `extent` values of a variable from `min` on.
    fn repeated(&mut self, var: &Var, min: Option<i64>, extent: i64, body: &Stmt) -> Option<u64> {
        let times = u64::try_from(extent).unwrap_or(0);
        if times == 0 {
            return Some(1);
        }
        let outside = self.values.len();
        let last = min.and_then(|min| min.checked_add(extent - 1));
        self.values.extend(last.map(|last| (var.clone(), Value::Int(last))));
        let steps = self.stmt(body);
        self.values.truncate(outside);
        steps.map(|steps| steps.saturating_mul(times))
    }

    fn children(&mut self, stmt: &Stmt) -> Option<u64> {
        let mut steps = Some(1u64);
        stmt.each_child(&mut |child| {
            let more = if steps.is_some() { self.stmt(child) } else { None };
            steps = steps.zip(more).map(|(steps, more)| steps.saturating_add(more));
        });
        steps
    }

    fn int(&self, e: &PrimExpr) -> Option<i64> {
        match interp::evaluate(e, &self.values) {
            Ok(Value::Int(value)) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::{DType, tir::Buffer};
    use hammock_runtime::Device;

    /// A kernel over `n` elements, with that body.
    fn kernel(body: impl FnOnce(PrimExpr, &Buffer) -> Stmt) -> PrimFunc {
        let n = Var::int64("n");
        let buffer = Buffer::new("A", vec![n.expr()], DType::FLOAT32);
        let body = body(n.expr(), &buffer);
        let params = vec![hammock_ir::tir::Param::buffer(buffer)];
        PrimFunc { params, ret_ty: None, body, attrs: Default::default(), s_tir: true, span: Default::default() }
    }

    fn store(buffer: &Buffer) -> Stmt {
        Stmt::store(buffer, vec![PrimExpr::int64(0)], PrimExpr::float(0.0, DType::FLOAT32))
    }

    #[test]
    fn loops_multiply_and_unknown_ends_are_unknown() {
        let args = [Any::from(Tensor::empty(DType::FLOAT32, &[6], Device::CPU).unwrap())];
        let (i, j) = (Var::int64("i"), Var::int64("j"));
        let triangle =
            kernel(|n, a| Stmt::serial(i.clone(), n, Stmt::serial(j.clone(), i.expr() + PrimExpr::int64(1), store(a))));
        assert_eq!(steps(&triangle, &args), Some(36));
        let forever = kernel(|_, a| Stmt::new(StmtKind::While(PrimExpr::bool(true), Box::new(store(a)))));
        assert_eq!(steps(&forever, &args), None);
        let huge =
            kernel(|n, a| Stmt::serial(i.clone(), n, Stmt::serial(j.clone(), PrimExpr::int64(i64::MAX), store(a))));
        assert_eq!(steps(&huge, &args), Some(u64::MAX));
        let data = kernel(|_, a| {
            let count = PrimExpr::load(a, vec![PrimExpr::int64(0)]).cast(DType::INT64);
            Stmt::serial(i.clone(), count, store(a))
        });
        assert_eq!(steps(&data, &args), None);
    }
}

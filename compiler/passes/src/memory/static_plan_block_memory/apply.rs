//! Rewriting by the plan: storages at their first use, and tensors in them.

use super::{
    Plan, Storage,
    bounds::{self, Bounds},
};
use crate::rewrite::{self, Emitter};
use hammock_ir::{
    Attrs, Type,
    arith::binary,
    prim::BinaryOp,
    relax::{Binding, Block, Body, Call, Function, Operand, Value, Var},
};

pub(super) fn apply(function: &mut Function, plan: &Plan, bounds: &Bounds) {
    if plan.locations.is_empty() && !bounds.dynamic_results {
        return;
    }
    let body = rewrite::take_body(function);
    let vars = vec![None; plan.storages.len()];
    function.lambda.body = Applier { plan, bounds, vars, bodies: 0 }.body(function, body);
}

struct Applier<'a> {
    plan: &'a Plan,
    bounds: &'a Bounds,
    /// Variables of the storages allocated so far.
    vars: Vec<Option<Var>>,
    /// Number of bodies so far, in the order in which the tensors were found.
    bodies: usize,
}

impl Applier<'_> {
    fn body(&mut self, function: &mut Function, body: Body) -> Body {
        let number = self.bodies;
        self.bodies += 1;
        let mut blocks = Vec::with_capacity(body.blocks.len());
        let mut start = Emitter { bindings: Vec::new(), dataflow: false };
        let first = body.bindings().next().map_or(function.lambda.span, |binding| binding.span);
        for (at, storage) in self.plan.storages.iter().enumerate().filter(|(_, s)| s.body == Some(number)) {
            self.vars[at] = Some(allocate(function, storage, first, &mut start));
        }
        if !start.bindings.is_empty() && body.blocks.first().is_some_and(|block| block.dataflow) {
            blocks.push(Block { dataflow: false, bindings: std::mem::take(&mut start.bindings) });
        }
        for Block { dataflow, bindings } in body.blocks {
            let mut out = Emitter { bindings: std::mem::take(&mut start.bindings), dataflow };
            out.bindings.reserve(bindings.len());
            for mut binding in bindings {
                binding.value.each_body_mut(&mut |nested| {
                    let taken = std::mem::replace(nested, Body::of(Operand::Tuple(Vec::new())));
                    *nested = self.body(function, taken);
                });
                self.binding(function, binding, &mut out);
            }
            blocks.push(Block { dataflow, bindings: out.bindings });
        }
        Body { blocks, result: body.result }
    }

    fn binding(&mut self, function: &mut Function, mut binding: Binding, out: &mut Emitter) {
        if let Value::Call(call) = &binding.value
            && call.is_op("builtin.alloc_tensor")
            && let Some(in_storage) = self.in_storage(function, &binding, call, out)
        {
            binding.value = Value::Call(in_storage);
        }
        out.push(binding);
    }

    /// Returns the tensor in its storage.
    fn in_storage(
        &mut self,
        function: &mut Function,
        binding: &Binding,
        call: &Call,
        out: &mut Emitter,
    ) -> Option<Call> {
        let [_, dtype, device, Operand::Str(scope)] = call.args.as_slice() else { return None };
        let dims = function.ty(binding.var).as_tensor()?.dims()?.to_vec();
        let (storage, offset) = match self.plan.locations.get(&binding.var) {
            Some(location) => {
                let plan = &self.plan.storages[location.storage];
                let known = self.vars[location.storage];
                let var = known.unwrap_or_else(|| allocate(function, plan, binding.span, out));
                self.vars[location.storage] = Some(var);
                (var, location.offset)
            }
            None if self.bounds.dynamic_results && dims.iter().any(|dim| dim.as_int().is_none()) => {
                let Operand::DType(dtype) = dtype else { return None };
                let upper = dims.iter().map(|dim| self.bounds.upper(dim));
                let count = upper.reduce(|a, b| binary(BinaryOp::Mul, a, b))?;
                let bytes = binary(BinaryOp::Mul, count, bounds::bytes(&[], dtype.bytes())?);
                let (dtype, device, scope) = (self.bounds.scope.storage_dtype(*dtype), device.clone(), scope.clone());
                let storage = Storage { bytes, dtype, device, scope, body: None };
                (allocate(function, &storage, binding.span, out), 0)
            }
            None => return None,
        };
        let args = vec![storage.into(), Operand::int(offset), Operand::Shape(dims), dtype.clone(), device.clone()];
        Some(Call::op("memory.alloc_tensor", args, Attrs::new()))
    }
}

fn allocate(function: &mut Function, storage: &Storage, span: hammock_diagnostics::Span, out: &mut Emitter) -> Var {
    let Storage { bytes, dtype, device, scope, .. } = storage;
    let args =
        vec![Operand::Shape(vec![bytes.clone()]), device.clone(), Operand::Str(scope.clone()), Operand::DType(*dtype)];
    let call = Call::op("memory.alloc_storage", args, Attrs::new());
    out.bind(function, "storage", Type::Any, Value::Call(call), span)
}

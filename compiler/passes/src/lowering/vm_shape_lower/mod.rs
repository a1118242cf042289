//! VMShapeLower: lowers symbolic shapes to a heap of integers.
//!
//! A function with symbolic variables allocates a *shape heap*, a vector of int64 with one slot for each variable and
//! each expression that it computes. Parameters are checked at the function's start: kind, rank and dtype, then their
//! dimensions, which are stored if the variable is new and compared if it is known. A TIR function (`shape_func`)
//! computes expressions as soon as their variables are known; expressions that only one branch uses are computed in
//! that branch. `R.shape` operands become `make_shape`, symbolic scalars become `make_prim_value`, and `match_cast`
//! becomes the same checks as for parameters. The result is checked if its type is more precise than what is known.

mod checks;
mod heap;

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{functions, symbolic},
    rewrite::{self, Emitter},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, DType, Module, Name, PrimExpr, Span, TensorShape, TensorType, Type,
    relax::{Binding, Body, Call, Function, Operand, Value, Var},
    types::ShapeType,
};
use heap::Heap;
use std::collections::HashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "VMShapeLower",
    doc: "Lowers symbolic shapes to reads and writes of an integer heap, and checks parameters and casts",
    options: &[PassOption {
        name: "emit_err_ctx",
        kind: OptionKind::Bool,
        default: "true",
        doc: "Failing checks report their location",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let reports_location = context.options.is_on("emit_err_ctx");
    rewrite::relax_functions(module, |module, name, function| {
        Lowering { reports_location, ..Lowering::new(module, name, function) }.run()
    })
}

/// The runtime's codes for matching and making dimensions.
mod code {
    pub const MATCH_IMM: i64 = 0;
    pub const MATCH_STORE: i64 = 1;
    pub const MATCH_NOTHING: i64 = 2;
    pub const MATCH_LOAD: i64 = 3;
    pub const MAKE_IMM: i64 = 0;
    pub const MAKE_LOAD: i64 = 1;
}

struct Lowering<'a> {
    module: &'a mut Module,
    name: &'a Name,
    function: &'a mut Function,
    heap: Heap,
    heap_var: Var,
    /// True if failing checks report their location.
    reports_location: bool,
}

impl<'a> Lowering<'a> {
    fn new(module: &'a mut Module, name: &'a Name, function: &'a mut Function) -> Self {
        let heap = Heap::of(function);
        let ty = Type::Tensor(TensorType::with_rank(Some(1), Some(DType::INT64)));
        let heap_var = function.new_var("shape_heap", ty, false, Span::default());
        Lowering { module, name, function, heap, heap_var, reports_location: true }
    }

    fn run(mut self) -> Result<(), Diagnostic> {
        let body = rewrite::take_body(self.function);
        let mut out = Emitter { bindings: Vec::new(), dataflow: false };
        self.allocate_heap(&mut out);
        self.check_params(&mut out);
        let Body { blocks, result } = body;
        for binding in blocks.into_iter().flat_map(|b| b.bindings) {
            self.binding(binding, &mut out)?;
        }
        let result = self.operand(result, &mut out, Span::default());
        self.check_result(&result, &mut out);
        let block = hammock_ir::relax::Block { dataflow: false, bindings: out.bindings };
        self.function.lambda.body = Body { blocks: vec![block], result };
        rewrite::merge_blocks(&mut self.function.lambda.body);
        self.forget_dims();
        Ok(())
    }

    /// Removes symbolic dimensions, which are heap values from now on: types of variables other than parameters only
    /// have ranks.
    fn forget_dims(&mut self) {
        let params: HashSet<_> = self.function.lambda.params.iter().copied().collect();
        for (var, info) in self.function.vars.iter_mut() {
            if !params.contains(&var) {
                info.ty = without_dims(&info.ty);
            }
        }
        // So do types in calls, except for dimensions that parameters define.
        let sizes = self.function.sizes_of(&self.function.lambda.params);
        functions::each_call_mut(&mut self.function.lambda.body, &mut |call| {
            for ty in &mut call.ty_args {
                let mut known = true;
                ty.each_expr(&mut |e| e.each_var(&mut |v| known &= sizes.contains(v)));
                if !known {
                    *ty = without_dims(ty);
                }
            }
        });
    }

    fn allocate_heap(&mut self, out: &mut Emitter) {
        let value = if self.heap.is_empty() {
            Value::Call(Call::op("null_value", Vec::new(), Attrs::new()))
        } else {
            let size = Operand::Tuple(vec![Operand::int(self.heap.len() as i64)]);
            let args = vec![Operand::Extern("vm.builtin.alloc_shape_heap".into()), size];
            let ty_args = vec![self.function.ty(self.heap_var).clone()];
            Value::Call(Call { ty_args, ..Call::op("call_builtin_with_ctx", args, Attrs::new()) })
        };
        out.push(Binding { var: self.heap_var, value, span: Span::default() });
    }

    fn binding(&mut self, mut binding: Binding, out: &mut Emitter) -> Result<(), Diagnostic> {
        let mut failed = None;
        binding.value.each_body_mut(&mut |body| failed = failed.take().or(self.nested(body).err()));
        if let Some(error) = failed {
            return Err(error);
        }
        let (var, span) = (binding.var, binding.span);
        self.lower_value(binding, out);
        if self.function.scalar(var).is_some_and(|s| self.heap.contains(&s.expr())) {
            let context =
                self.context(&format!("binding, var={}", self.function.vars[var].name), self.function.ty(var));
            self.match_scalar(var, &context, out, span);
            self.compute(out, span);
        }
        Ok(())
    }

    fn lower_value(&mut self, mut binding: Binding, out: &mut Emitter) {
        let span = binding.span;
        match &mut binding.value {
            Value::MatchCast(value, ty) => {
                let (value, ty) = (value.clone(), ty.clone());
                let value = self.operand(value, out, span);
                let context = self.context(&format!("match_cast, var={}", self.function.vars[binding.var].name), &ty);
                self.check_kind(&value, &ty, &context, out, span);
                self.match_value(&value, &ty, &context, out, span);
                out.push(Binding { value: Value::Operand(value), ..binding });
            }
            Value::Operand(Operand::Shape(dims)) if !constant(dims) => {
                binding.value = self.make_shape(dims);
                out.push(binding);
            }
            Value::Operand(Operand::Prim(e)) if e.as_int().is_none() && e.as_float().is_none() => {
                binding.value = self.make_prim_value(e);
                out.push(binding);
            }
            value => {
                let mut pending = std::mem::replace(value, Value::Operand(Operand::Tuple(Vec::new())));
                pending.each_operand_mut(&mut |o| *o = self.operand(o.clone(), out, span));
                binding.value = pending;
                out.push(binding);
            }
        }
    }

    fn nested(&mut self, body: &mut Body) -> Result<(), Diagnostic> {
        let mut out = Emitter { bindings: Vec::new(), dataflow: false };
        let outside = self.heap.enter(body);
        let span = body.bindings().next().map_or(Span::NONE, |binding| binding.span);
        self.compute(&mut out, span);
        for binding in std::mem::take(&mut body.blocks).into_iter().flat_map(|b| b.bindings) {
            self.binding(binding, &mut out)?;
        }
        body.result = self.operand(body.result.clone(), &mut out, Span::default());
        self.heap.leave(outside);
        body.blocks = vec![hammock_ir::relax::Block { dataflow: false, bindings: out.bindings }];
        Ok(())
    }

    /// Returns the operand with its symbolic parts computed.
    fn operand(&mut self, operand: Operand, out: &mut Emitter, span: Span) -> Operand {
        match operand {
            Operand::Tuple(fields) => Operand::Tuple(fields.into_iter().map(|f| self.operand(f, out, span)).collect()),
            Operand::Shape(dims) if !constant(&dims) => {
                let value = self.make_shape(&dims);
                let ty = Type::Shape(ShapeType::Known(dims.into()));
                out.bind(self.function, "gv", ty, value, span).into()
            }
            Operand::Prim(e) if e.as_int().is_none() && e.as_float().is_none() => {
                let value = self.make_prim_value(&e);
                out.bind(self.function, "gv", Type::Prim(e.dtype()), value, span).into()
            }
            other => other,
        }
    }

    /// Returns a call of `vm.builtin.make_shape(heap, n, (code, value)…)`.
    fn make_shape(&self, dims: &[PrimExpr]) -> Value {
        let mut args = vec![self.heap_var.into(), Operand::int(dims.len() as i64)];
        for dim in dims {
            let (code, value) = match dim.as_int() {
                Some(n) => (code::MAKE_IMM, n),
                None => (code::MAKE_LOAD, self.heap.slot(dim)),
            };
            args.extend([Operand::int(code), Operand::int(value)]);
        }
        let ty = Type::Shape(ShapeType::Rank(dims.len()));
        Value::Call(Call::packed("vm.builtin.make_shape", args, vec![ty]))
    }

    /// Returns a call of `vm.builtin.make_prim_value(heap, code, slot)`.
    fn make_prim_value(&self, e: &PrimExpr) -> Value {
        let args = vec![self.heap_var.into(), Operand::int(code::MAKE_LOAD), Operand::int(self.heap.slot(e))];
        Value::Call(Call::packed("vm.builtin.make_prim_value", args, vec![Type::Prim(e.dtype())]))
    }

    /// Computes the expressions whose variables are known.
    fn compute(&mut self, out: &mut Emitter, span: Span) {
        if let Some(func) = self.heap.shape_func() {
            let name = self.module.add_unique("shape_func", hammock_ir::Function::Tir(func));
            let callee = hammock_ir::relax::Callee::Global(name);
            let args = vec![self.heap_var.into()];
            out.effect(
                self.function,
                Value::Call(Call { callee, args, attrs: Attrs::new(), ty_args: Vec::new() }),
                span,
            );
        }
    }

    fn check_result(&mut self, result: &Operand, out: &mut Emitter) {
        let declared = self.function.lambda.ret_ty.clone();
        let known = self.function.operand_ty(self.module, result);
        if hammock_ir::equal::types(&declared, &known) {
            return;
        }
        let context = self.context("return", &declared);
        self.check_kind_unless_known(result, &declared, &known, &context, out);
        self.match_value(result, &declared, &context, out, Span::default());
    }
}

/// Returns the type with ranks instead of symbolic dimensions.
fn without_dims(ty: &Type) -> Type {
    let known = |dims: Option<&[PrimExpr]>| dims.is_none_or(constant);
    match ty {
        Type::Tensor(t) if !known(t.dims()) => {
            Type::Tensor(TensorType { shape: TensorShape::Rank(t.ndim().unwrap_or(0)), ..t.clone() })
        }
        Type::Shape(s) if !known(s.dims()) => Type::Shape(ShapeType::Rank(s.ndim().unwrap_or(0))),
        Type::Tuple(fields) => Type::Tuple(fields.iter().map(without_dims).collect()),
        other => other.clone(),
    }
}

fn constant(dims: &[PrimExpr]) -> bool {
    dims.iter().all(|d| d.as_int().is_some())
}

/// Returns the symbolic dimensions in a type.
fn symbolic_dims(ty: &Type) -> Vec<PrimExpr> {
    let mut found = Vec::new();
    symbolic::each_dim(ty, &mut |d| {
        if d.as_int().is_none() {
            found.push(d.clone());
        }
    });
    found
}

//! LegalizeOps: lowers operators to calls of TIR functions.
//!
//! Each operator declares its lowering: a TIR function (`call_tir`), other operators (which are legalized in turn),
//! or a function of the runtime. Equal TIR functions are shared. A call that cannot be lowered, because its operands
//! have unknown rank or dtype, stays as it is; the bytecode generator reports it.

use crate::{
    Context, Pass,
    analysis::types::{is_incomplete, refine_type, value_ty},
    rewrite::{self, Emitter, shared_functions::SharedFunctions},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, Attrs, DType, Function as Global, Module, PrimExpr, Span,
    relax::{Binding, Call, Callee, Function, InferError, Operand, Value, VarInfo},
};
use hammock_ops::{
    CallContext, Lowering, Op,
    legalize::{Emit, Legalized, has_normal_operands, normalize_operands},
    lookup,
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "LegalizeOps", doc: "Lowers operators to TIR functions or runtime calls", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| {
            let mut legalizer = Legalizer { module, function, out, made: &mut made, span: binding.span };
            legalizer.binding(binding)
        })
    })
}

struct Legalizer<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    out: &'a mut Emitter,
    made: &'a mut SharedFunctions,
    span: Span,
}

impl Legalizer<'_> {
    fn binding(&mut self, binding: Binding) -> Result<(), Diagnostic> {
        self.refine(&binding);
        let Value::Call(Call { callee: Callee::Op(name), .. }) = &binding.value else {
            self.out.push(binding);
            return Ok(());
        };
        let (name, span) = (*name, binding.span);
        let lowered = match lookup(name) {
            Some(op) => self.lower(op, &binding).map_err(|e| cannot(name, e, span))?,
            None => None,
        };
        match lowered {
            Some(value) => {
                let lowered = Binding { value, ..binding };
                // The kernel may know a shape that the operator leaves open.
                self.refine(&lowered);
                self.out.push(lowered);
            }
            None => self.out.push(binding),
        }
        Ok(())
    }

    /// Completes the type of a variable whose declared type is incomplete: kernels need shapes and dtypes.
    fn refine(&mut self, binding: &Binding) {
        let declared = self.function.ty(binding.var);
        if is_incomplete(declared)
            && let Ok(inferred) = value_ty(self.module, self.function, &binding.value)
        {
            let refined = refine_type(declared, &inferred);
            self.function.vars[binding.var].ty = refined;
        }
    }

    /// Returns the value that replaces the binding's; `None` to leave it.
    fn lower(&mut self, op: &'static Op, binding: &Binding) -> Result<Option<Value>, InferError> {
        let Value::Call(call) = &binding.value else { return Ok(None) };
        match &op.lowering {
            Lowering::Tir(build) => {
                let call = self.with_literals(op, call)?;
                let context = CallContext { module: self.module, function: self.function, op, call: &call };
                let Legalized { name, func, args, out_ty } = build(&context)?;
                let name = self.made.share(self.module, &name, Global::Tir(func));
                Ok(Some(Value::Call(Call::tir(name, args, out_ty))))
            }
            Lowering::Decompose(rewrite) => {
                let decompose =
                    |context: &CallContext, emit: &mut dyn Emit| Ok(Value::Operand(rewrite(context, emit)?));
                Ok(Some(self.detached(op, call, decompose)?))
            }
            Lowering::Packed(symbol) => Ok(Some(self.packed(op, symbol, call, binding))),
            Lowering::Structural(_) => Ok(None),
        }
    }

    /// Returns the call with tuples as literals and sizes as variables, as kernels need them.
    fn with_literals(&mut self, op: &'static Op, call: &Call) -> Result<Call, InferError> {
        let context = CallContext { module: self.module, function: self.function, op, call };
        if has_normal_operands(&context) {
            return Ok(call.clone());
        }
        match self.detached(op, call, |context, emit| Ok(Value::Call(normalize_operands(context, emit)?)))? {
            Value::Call(call) => Ok(call),
            _ => Err(InferError::new("a call that is written out stays a call")),
        }
    }

    /// Calls `f` with the call in a small function that has only its operands; bindings that `f` emits, and its
    /// result, are lowered in turn and inlined here. The context's module has no functions: operators lowered this
    /// way take none.
    fn detached(
        &mut self,
        op: &'static Op,
        call: &Call,
        f: impl FnOnce(&CallContext, &mut dyn Emit) -> Result<Value, InferError>,
    ) -> Result<Value, InferError> {
        let module = Module { global_infos: self.module.global_infos.clone(), ..Module::new() };
        let (function, call, numbers) = Function::of_call(self.function, call);
        let mut emitted = Emitted { module: &module, function: function.clone(), bindings: Vec::new() };
        let mut value = f(&CallContext { module: &module, function: &function, op, call: &call }, &mut emitted)?;
        let Emitted { function, bindings, .. } = emitted;
        let mut outside = numbers.back();
        for Binding { var, value: mut bound, .. } in bindings {
            bound.replace(&outside);
            let mut info = VarInfo { dataflow: self.out.dataflow, span: self.span, ..function.vars[var].clone() };
            info.ty.replace(&outside);
            let new = self.function.vars.push(info);
            outside.insert(var, new.into());
            let lowered = self.binding(Binding { var: new, value: bound, span: self.span });
            lowered.map_err(|d| InferError { names_operator: true, ..InferError::new(d.message) })?;
        }
        value.replace(&outside);
        Ok(value)
    }

    /// Returns a call of a runtime function: operands, then attributes. Calls of pure operators are marked pure.
    fn packed(&self, op: &Op, symbol: &'static str, call: &Call, binding: &Binding) -> Value {
        let ty_args = vec![self.function.ty(binding.var).clone()];
        let attrs = call.attrs.iter().map(|(_, v)| attr_operand(v));
        let args = call.args.iter().cloned().chain(attrs);
        Value::Call(if op.pure {
            let args = std::iter::once(Operand::Extern(symbol.into())).chain(args).collect();
            Call { callee: Callee::Op("call_pure_packed"), args, attrs: Attrs::new(), ty_args }
        } else {
            Call::packed(symbol, args.collect(), ty_args)
        })
    }
}

/// Returns an attribute as an argument of a runtime function.
fn attr_operand(value: &AttrValue) -> Operand {
    match value {
        AttrValue::Bool(v) => Operand::Prim(PrimExpr::bool(*v)),
        AttrValue::Int(v) => Operand::int(*v),
        AttrValue::Float(v) => Operand::Prim(PrimExpr::float(*v, DType::FLOAT64)),
        AttrValue::Str(v) => Operand::Str(v.clone()),
        AttrValue::DType(v) => Operand::DType(*v),
        AttrValue::Expr(v) => Operand::Prim(v.clone()),
        AttrValue::List(v) | AttrValue::Tuple(v) => Operand::Tuple(v.iter().map(attr_operand).collect()),
        other => Operand::Opaque(Box::new(other.clone())),
    }
}

/// Bindings that a decomposition emits, in a function of their own.
struct Emitted<'a> {
    module: &'a Module,
    function: Function,
    bindings: Vec<Binding>,
}

impl Emit for Emitted<'_> {
    fn emit(&mut self, value: Value) -> Result<Operand, InferError> {
        let ty = value_ty(self.module, &self.function, &value)?;
        let var = self.function.new_var("lv", ty, false, Span::NONE);
        self.bindings.push(Binding { var, value, span: Span::NONE });
        Ok(var.into())
    }
}

fn cannot(op: &str, error: InferError, span: Span) -> Diagnostic {
    let message =
        if error.names_operator { error.message } else { format!("`R.{op}` cannot be lowered: {}", error.message) };
    let diagnostic = Diagnostic::error(codes::NOT_LOWERABLE, message);
    let diagnostic = diagnostic.label(span, "");
    match error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

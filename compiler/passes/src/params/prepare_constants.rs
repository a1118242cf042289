//! PrepareConstants: materializes expanded constants lazily, at first use.
//!
//! If FoldConstant computed a constant from much less data (weights transformed for Winograd convolution are four
//! times as large), kernels take the result of `hammock.prepared` instead: its first call runs one kernel, fused from
//! all that computed the constant, and later calls return the stored result. So files are smaller and the first call
//! is slower: `hammock compile` adds the pass to the others.

use super::is_much_smaller;
use crate::{
    Context, Pass,
    rewrite::{self, Emitter, fuse_kernels, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr, Span, Tensor, Type,
    relax::{Binding, Block, Body, Call, CallTir, Callee, Constant, Function, Operand, Origin, Source, Value, Var},
    tir::PrimFunc,
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "PrepareConstants", doc: "Materializes expanded constants lazily, at first use", options: &[], run };

/// Runtime function that computes a constant at its first call, and then returns it.
const PREPARED: &str = "hammock.prepared";

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut preparer = Preparer::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Value::Call(call) = &mut binding.value
                && CallTir::of_kernel(call).is_some()
            {
                preparer.call(module, function, call, binding.span, out);
            }
            out.push(binding);
            Ok(())
        })
    })
}

/// A constant that is materialized at run time.
#[derive(Clone)]
struct Prepared {
    /// Its index.
    number: i64,
    kernel: Name,
    /// Inputs of the kernel.
    data: Vec<Tensor>,
}

#[derive(Default)]
struct Preparer {
    kernels: SharedFunctions,
    /// By the addresses of the constants' data; `None` if there is no such kernel.
    made: FxHashMap<usize, Option<Prepared>>,
    count: i64,
}

impl Preparer {
    /// Replaces constant arguments of a kernel by variables.
    fn call(&mut self, module: &mut Module, function: &mut Function, call: &mut Call, span: Span, out: &mut Emitter) {
        for operand in &mut call.args {
            operand.map(&mut |operand| {
                let Operand::Const(constant) = operand else { return };
                if let Some(prepared) = self.prepare(module, constant) {
                    *operand = prepared.bind(function, constant, span, out).into();
                }
            });
        }
    }

    fn prepare(&mut self, module: &mut Module, constant: &Constant) -> Option<Prepared> {
        let origin = constant.origin.as_ref()?;
        if !is_much_smaller(origin.bytes(), constant.tensor.nbytes()) {
            return None;
        }
        let address = constant.tensor.data_ptr().addr();
        if let Some(made) = self.made.get(&address) {
            return made.clone();
        }
        let made = fuse_origin(module, origin).map(|(kernel, data)| {
            self.count += 1;
            let kernel = self.kernels.share(module, "prepare", Global::Tir(kernel));
            Prepared { number: self.count - 1, kernel, data }
        });
        self.made.insert(address, made.clone());
        made
    }
}

impl Prepared {
    /// Binds the constant: `R.call_pure_packed("hammock.prepared", number, kernel, shape, dtype, data…)`.
    fn bind(self, function: &mut Function, constant: &Constant, span: Span, out: &mut Emitter) -> Var {
        let tensor = &constant.tensor;
        let shape = tensor.shape().iter().map(|size| PrimExpr::int64(*size)).collect();
        let what = [
            Operand::Extern(PREPARED.into()),
            Operand::int(self.number),
            Operand::Global(self.kernel),
            Operand::Shape(shape),
            Operand::DType(tensor.dtype()),
        ];
        let data = self.data.into_iter().map(|tensor| Operand::Const(Constant::new(tensor)));
        let (args, ty) = (what.into_iter().chain(data).collect(), constant.ty());
        let call =
            Call { callee: Callee::Op("call_pure_packed"), args, attrs: Attrs::new(), ty_args: vec![ty.clone()] };
        out.bind(function, "prepared", ty, Value::Call(call), span)
    }
}

/// Returns a fused kernel that computes a constant, and its inputs in order.
fn fuse_origin(module: &mut Module, origin: &Origin) -> Option<(PrimFunc, Vec<Tensor>)> {
    let mut steps =
        Steps { module, function: Function::empty(), bindings: Vec::new(), data: Vec::new(), names: Vec::new() };
    let result = steps.add(origin);
    let Steps { mut function, bindings, data, names, .. } = steps;
    let result = Operand::Var(result);
    function.lambda.body = Body { blocks: vec![Block { dataflow: true, bindings }], result };
    let fused = fuse_kernels::fuse(module, &function, true);
    names.iter().for_each(|name| drop(module.functions.shift_remove(name)));
    fused.map(|fused| (fused.func, data))
}

/// The calls of kernels that compute a constant, as a function of its inputs.
struct Steps<'a> {
    module: &'a mut Module,
    function: Function,
    bindings: Vec<Binding>,
    data: Vec<Tensor>,
    names: Vec<Name>,
}

impl Steps<'_> {
    fn add(&mut self, origin: &Origin) -> Var {
        let inputs = origin.inputs.iter().map(|source| match source {
            Source::Constant(tensor) => {
                let ty = Constant::new(tensor.clone()).ty();
                let param = self.function.new_var("data", ty, false, Span::NONE);
                self.function.lambda.params.push(param);
                self.data.push(tensor.clone());
                param.into()
            }
            Source::Computed(origin) => self.add(origin).into(),
        });
        let inputs = inputs.collect();
        let name = self.module.add_unique("step", Global::Tir(origin.kernel.clone()));
        self.names.push(name.clone());
        let ty = Type::Tensor(origin.ty.clone());
        let var = self.function.new_var("lv", ty.clone(), true, Span::NONE);
        self.bindings.push(Binding { var, value: Value::Call(Call::tir(name, inputs, ty)), span: Span::NONE });
        var
    }
}

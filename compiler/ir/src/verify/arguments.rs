//! Verifies arguments of calls against the callee's parameters.

use super::{
    conflict::{Symbols, conflict, dims, ranks},
    graph::Graph,
    uninitialized::{self, Certainty},
};
use crate::{
    DType, Name, PrimExpr, Type,
    module::Function,
    print::type_text,
    relax::{Call, CallTir, Callee, Operand, Var},
    tir::{Buffer, Param, PrimFunc},
};
use hammock_diagnostics::{Span, codes, count};

impl Graph<'_> {
    /// Checks arguments against parameters; true if the type rule can be applied.
    pub fn arguments(&mut self, call: &Call, span: Span) -> bool {
        match &call.callee {
            Callee::Op(_) => CallTir::of_kernel(call).is_none_or(|kernel| self.kernel_call(call, kernel, span)),
            Callee::Global(name) => self.direct_call(name, call, span),
            Callee::Var(var) => self.call_of_value(*var, call, span),
            _ => true,
        }
    }

    /// Checks the number of arguments of a kernel's call, and its declared output types.
    pub fn kernel_outputs(&mut self, call: &Call, span: Span) {
        let Some(parts) = CallTir::of_kernel(call) else { return };
        let (Some(name), Some(args)) = (parts.kernel(), parts.inputs()) else { return };
        if let Some(Function::Tir(kernel)) = self.module.functions.get(name)
            && self.kernel_arity(name, kernel, args.len(), &parts, span)
        {
            self.output_types(name, kernel, args.len(), &parts, span);
        }
    }

    /// Checks that a kernel has a parameter for each argument and output.
    fn kernel_arity(&mut self, name: &Name, kernel: &PrimFunc, args: usize, parts: &CallTir, span: Span) -> bool {
        let outputs = parts.in_place().filter(Option::is_none).count();
        if kernel.params.len() == args + outputs {
            return true;
        }
        let (params, given) = (count(kernel.params.len(), "parameter"), count(args, "argument"));
        let message = format!("kernel `{name}` has {params}, but gets {given} and {}", count(outputs, "output"));
        self.error(codes::WRONG_ARITY, message, span, "called here")
            .secondary(kernel.span, "the kernel")
            .help("its parameters are the arguments in the tuple, then one buffer for each type of `out_ty`");
        false
    }

    /// Checks that outputs have the types of the kernel's parameters for them, unless arguments are written in place.
    fn output_types(&mut self, name: &Name, kernel: &PrimFunc, args: usize, parts: &CallTir, span: Span) -> bool {
        let outputs = parts.outputs();
        let mut fits = true;
        if parts.in_place().filter(Option::is_none).count() == outputs.len() {
            for (i, ty) in outputs.iter().enumerate() {
                fits &= self.kernel_argument(name, kernel, args + i, ty, &format!("output {i}"), span);
            }
        }
        fits
    }

    /// `R.call_tir(cls.kernel, (x, y), out_ty=…)`: inputs and scalars, then outputs.
    fn kernel_call(&mut self, call: &Call, parts: CallTir, span: Span) -> bool {
        let (module, f) = (self.module, self.f);
        if let Operand::Extern(name) | Operand::Str(name) = parts.function {
            let message = format!("{} calls a kernel of the module, not \"{name}\"", self.callee_text(call));
            let report = self.error(codes::WRONG_CALLEE, message, span, "called here");
            match module.functions.contains_key(name) {
                true => report.help(format!("write `cls.{name}` without quotes")),
                false => report.help(format!("an external function is called by `R.call_dps_packed(\"{name}\", …)`")),
            };
            return false;
        }
        let (Some(name), Some(args)) = (parts.kernel(), parts.inputs()) else { return true };
        let kernel = match module.functions.get(name) {
            Some(Function::Tir(kernel)) => kernel,
            Some(_) => {
                let message = format!("{} calls `{name}`, which is no `T.prim_func`", self.callee_text(call));
                self.error(codes::WRONG_CALLEE, message, span, "called here")
                    .help(format!("call it directly: `cls.{name}(…)`"));
                return false;
            }
            None => return false,
        };
        if !self.kernel_arity(name, kernel, args.len(), &parts, span) {
            return false;
        }
        let mut fits = true;
        for (i, arg) in args.iter().enumerate() {
            let ty = f.operand_ty(module, arg);
            fits &= self.kernel_argument(name, kernel, i, &ty, &format!("argument {i}"), span);
        }
        fits &= self.output_types(name, kernel, args.len(), &parts, span);
        if fits {
            self.uninitialized_outputs(&kernel.params[args.len()..], kernel, span);
        }
        fits
    }

    /// Checks that a kernel writes the memory of new outputs before it reads it.
    fn uninitialized_outputs(&mut self, outputs: &[Param], kernel: &PrimFunc, call: Span) {
        let module = self.module;
        let buffers = || outputs.iter().filter_map(|p| p.buffer.as_ref());
        for read in uninitialized::reads(kernel, buffers(), &|name| module.tir(name), self.warns) {
            // Memory that the kernel allocates is reported at the kernel.
            if buffers().any(|b| b.data == read.memory) {
                let note = format!("memory for `{}` is allocated here", read.buffer.name);
                let help = format!("{}; a tensor to update is an argument of `R.call_tir_inplace`", read.advice());
                let report = match read.certainty {
                    Certainty::Certain => self.error(codes::UNINITIALIZED, read.message(), read.span, ""),
                    Certainty::Possible => self.warn(codes::UNINITIALIZED, read.message(), read.span, ""),
                };
                report.secondary(call, &note).help(help);
            }
        }
    }

    /// `cls.f(x, y)`.
    fn direct_call(&mut self, name: &Name, call: &Call, span: Span) -> bool {
        let (module, f) = (self.module, self.f);
        match module.functions.get(name) {
            Some(Function::Tir(kernel)) if kernel.params.len() != call.args.len() => {
                let (params, given) = (kernel.params.len(), call.args.len());
                let (params, given) = (count(params, "parameter"), count(given, "argument"));
                let message = format!("kernel `{name}` has {params}, but gets {given}");
                self.error(codes::WRONG_ARITY, message, span, "called here").secondary(kernel.span, "the kernel");
                false
            }
            Some(Function::Tir(kernel)) => {
                let check = |(i, arg): (usize, &Operand)| {
                    let ty = f.operand_ty(module, arg);
                    self.kernel_argument(name, kernel, i, &ty, &format!("argument {i}"), span)
                };
                call.args.iter().enumerate().map(check).filter(|fits| !fits).count() == 0
            }
            Some(Function::Relax(callee)) => {
                let params = callee.lambda.params.iter().map(|p| (&callee.vars[*p].name, callee.ty(*p)));
                let mut fits = true;
                for (arg, (param, expected)) in call.args.iter().zip(params) {
                    let found = f.operand_ty(module, arg);
                    if let Some(why) = conflict(&found, expected, Symbols::Separate) {
                        let message = format!("argument `{param}` of `{name}` does not fit: {why}");
                        self.error(
                            codes::WRONG_ARGUMENT,
                            message,
                            span,
                            &format!("`{param}` is {}", type_text(&found)),
                        )
                        .secondary(callee.lambda.span, &format!("takes `{param}`, {}", type_text(expected)));
                        fits = false;
                    }
                }
                fits
            }
            _ => true,
        }
    }

    /// `f(x, y)` of a function that a variable holds.
    fn call_of_value(&mut self, var: Var, call: &Call, span: Span) -> bool {
        let (module, f) = (self.module, self.f);
        let Type::Callable(callable) = self.ty(var) else { return true };
        let Some(params) = &callable.params else { return true };
        let mut fits = true;
        for (i, (arg, expected)) in call.args.iter().zip(params).enumerate() {
            let found = f.operand_ty(module, arg);
            if let Some(why) = conflict(&found, expected, Symbols::Separate) {
                let message =
                    format!("argument {i} of `{}` does not fit {}: {why}", self.text(var), type_text(expected));
                self.error(codes::WRONG_ARGUMENT, message, span, &format!("argument {i} is {}", type_text(&found)));
                fits = false;
            }
        }
        fits
    }

    fn kernel_argument(&mut self, name: &Name, kernel: &PrimFunc, i: usize, ty: &Type, what: &str, span: Span) -> bool {
        let param = &kernel.params[i];
        let Some(why) = mismatch(ty, param) else { return true };
        let param_name = param.buffer.as_ref().map_or(param.var.name(), |b| &b.name);
        let message = format!("{what} does not fit `{param_name}` of kernel `{name}`: {why}");
        let takes = format!("takes `{param_name}`, {}", param_text(param));
        self.error(codes::WRONG_ARGUMENT, message, span, &format!("{what} is {}", type_text(ty)))
            .secondary(kernel.span, &takes);
        false
    }
}

/// The reason why an argument of that type does not match a kernel's parameter.
fn mismatch(ty: &Type, param: &Param) -> Option<String> {
    match (ty, &param.buffer) {
        (Type::Tensor(t), Some(buffer)) => {
            let dtype = t.dtype.filter(|d| !same_storage(*d, buffer.dtype));
            let ndim = t.ndim().filter(|n| *n != buffer.ndim());
            match (dtype, ndim) {
                (Some(dtype), _) => Some(format!("{dtype} is not {}", buffer.dtype)),
                (_, Some(_)) => ranks(t.ndim(), Some(buffer.ndim())),
                _ => shape_mismatch(t.dims()?, buffer),
            }
        }
        (Type::Prim(dtype), None) => {
            let expected = param.var.dtype();
            (*dtype != expected && !expected.is_handle()).then(|| format!("{dtype} is not {expected}"))
        }
        (Type::Prim(_), Some(_)) => Some("a scalar is not a tensor".to_owned()),
        (Type::Tensor(_), None) if !param.var.dtype().is_handle() => Some("a tensor is not a scalar".to_owned()),
        _ => None,
    }
}

/// Description of a kernel's parameter.
fn param_text(param: &Param) -> String {
    match &param.buffer {
        Some(buffer) => type_text(&Type::tensor(buffer.shape.clone(), buffer.dtype)),
        None => format!("a scalar of {}", param.var.dtype()),
    }
}

fn shape_mismatch(shape: &[PrimExpr], buffer: &Buffer) -> Option<String> {
    dims(shape, &buffer.shape, Symbols::Separate)
}

/// Returns true if elements of both dtypes have the same storage; bool and int8 do.
fn same_storage(a: DType, b: DType) -> bool {
    a == b || a.is_bool() && b == DType::INT8 || b.is_bool() && a == DType::INT8
}

//! Verifies calls of kernels and of C functions in kernels.

use super::kernel::Kernel;
use crate::{
    DType, Module, Name, PrimExpr,
    module::Function,
    prim::{PrimCall, PrimKind, math},
    tir::{
        Buffer, Stmt,
        call::{CallMismatch, bind_call, called_in, callees, conditional_call},
    },
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use rustc_hash::{FxHashMap, FxHashSet};

impl Kernel<'_> {
    /// Checks that a statement calls kernels only where they are certainly run, once.
    pub(super) fn check_call_positions(&mut self, stmt: &Stmt) {
        if let Some(name) = conditional_call(stmt) {
            let message = format!("kernel `{name}` is called where that may not be evaluated, or more than once");
            self.error(codes::KERNEL_STRUCTURE, message).help("call it in a statement of its own");
        }
    }

    /// Checks a call of another kernel.
    pub(super) fn kernel_call(&mut self, name: &Name, call: &PrimCall) {
        let module = self.module;
        let kernel = match module.functions.get(name) {
            Some(Function::Tir(kernel)) => kernel,
            Some(_) => {
                let message = format!("`{name}` is no `T.prim_func`, and kernels call only these");
                self.error(codes::WRONG_CALLEE, message);
                return;
            }
            None => {
                self.error(codes::UNDEFINED_NAME, format!("the module has no function `{name}`"));
                return;
            }
        };
        let span = kernel.span;
        match bind_call(kernel, &call.args) {
            Err(CallMismatch::Count) => {
                let (params, given) = (kernel.params.len(), call.args.len());
                let (params, given) = (count(params, "parameter"), count(given, "argument"));
                let message = format!("kernel `{name}` has {params}, but gets {given}");
                self.error(codes::WRONG_ARITY, message).secondary(span, "the kernel");
            }
            Err(CallMismatch::Argument(why)) => {
                let message = format!("the arguments do not fit kernel `{name}`: {why}");
                self.error(codes::WRONG_ARGUMENT, message).secondary(span, "the kernel");
            }
            Ok(bound) => {
                for (number, pointer) in bound.pointers {
                    let Some(buffer) = &kernel.params[number].buffer else { continue };
                    let sizes = buffer.change(|b| {
                        b.shape = b.shape.iter().map(|e| e.substitute(&bound.values)).collect();
                        b.elem_offset = pointer.offset;
                    });
                    self.fits_memory(name, &sizes, &pointer.data, span);
                }
            }
        }
    }

    /// Checks that a buffer of constant size fits into memory of constant size.
    fn fits_memory(&mut self, kernel: &Name, buffer: &Buffer, data: &PrimExpr, span: Span) {
        let memory = data.as_var().and_then(|data| self.memory.get(data)).copied();
        let (Some(memory), Some(need)) = (memory, buffer.constant_bytes()) else { return };
        if need > memory {
            let message = format!(
                "`{}` of kernel `{kernel}` has {need} bytes, but the memory that it is given has {memory}",
                buffer.name
            );
            self.error(codes::WRONG_ARGUMENT, message).secondary(span, "the kernel");
        }
    }

    /// Checks a call of a C function by name: functions that take addresses may access any memory.
    pub(super) fn extern_call(&mut self, e: &PrimExpr, call: &PrimCall) {
        let Some(PrimKind::Str(symbol)) = call.args.first().map(PrimExpr::kind) else { return };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if !symbol.bytes().all(plain) || symbol.starts_with("__") || MEMORY_FUNCTIONS.contains(&&**symbol) {
            let message = format!("kernels may not call `{symbol}`: nothing could check what it does with memory");
            self.error(codes::WRONG_CALLEE, message)
                .help("write loops, or register a function and call it by `T.call_packed`");
            return;
        }
        let Some((params, dtype)) = math::c_prototype(symbol) else { return };
        let given: Vec<DType> = call.args[1..].iter().map(PrimExpr::dtype).collect();
        if given != params || e.dtype() != dtype {
            let text = |all: &[DType]| all.iter().map(DType::to_string).collect::<Vec<_>>().join(", ");
            let (takes, gets, gives) = (text(&params), text(&given), e.dtype());
            let message = format!("`{symbol}` takes {takes} and gives {dtype}; here it gets {gets} and gives {gives}");
            let other = if symbol.ends_with('f') {
                "functions of float64 have no `f` at the end"
            } else {
                "functions of float32 have an `f` at the end"
            };
            self.error(codes::KERNEL_TYPES, message).help(other);
        }
    }
}

/// Recursive kernels, directly or through others: one error per call cycle.
pub fn recursive_calls(module: &Module) -> Vec<Diagnostic> {
    let kernels = module.tir_functions().map(|(name, func)| (name, callees(func)));
    let graph: FxHashMap<&Name, Vec<&Name>> = kernels.filter(|(_, callees)| !callees.is_empty()).collect();
    let (mut found, mut done) = (Vec::new(), FxHashSet::default());
    for start in module.functions.keys() {
        // The stack of visited kernels, each with the index of its next callee.
        let (mut path, mut around) = (vec![(start, 0)], FxHashSet::from_iter([start]));
        while let Some((name, next)) = path.last_mut() {
            let name = *name;
            let callee = graph.get(name).filter(|_| !done.contains(name)).and_then(|callees| callees.get(*next));
            *next += 1;
            match callee {
                Some(callee) if around.contains(callee) => found.push(recursion(module, name, callee)),
                Some(callee) => {
                    around.insert(callee);
                    path.push((callee, 0));
                }
                None => {
                    done.insert(name);
                    around.remove(name);
                    path.pop();
                }
            }
        }
    }
    found
}

fn recursion(module: &Module, caller: &Name, callee: &Name) -> Diagnostic {
    let mut span = module.tir(caller).map_or(Span::NONE, |func| func.span);
    if let Some(func) = module.tir(caller) {
        func.body.walk(&mut |stmt| {
            stmt.each_expr(&mut |e| {
                if !stmt.span.is_none() && called_in(e).is_some_and(|name| name == *callee) {
                    span = stmt.span;
                }
            });
        });
    }
    let message = match caller == callee {
        true => format!("kernel `{caller}` calls itself"),
        false => format!("kernel `{caller}` calls `{callee}`, which calls it in turn"),
    };
    Diagnostic::error(codes::WRONG_CALLEE, message).label(span, "").help("kernels have no stack for that; use a loop")
}

/// C functions that access memory.
const MEMORY_FUNCTIONS: &[&str] = &["bcmp", "memcmp", "memcpy", "memmove", "memset", "sincos", "sincosf", "strlen"];

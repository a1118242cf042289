//! SplitCallTIRByPattern: replaces the first loop nests of kernels by calls of library functions.
//!
//! `patterns` names a text file of kernels, each a pattern with the name of the function that computes it. If the
//! first loop nests of a kernel match a pattern ([`matcher`]), `R.call_dps_packed` calls that function with the
//! tensors matched by the pattern's buffers, then the numbers matched by its scalar parameters; its last buffer is
//! the result. The rest of the kernel becomes `unfused_epilogue`, which takes that result. Of several patterns, the
//! one with most loop nests wins, then the first in the file. Unused kernels remain for DeadCodeElimination.
//!
//! (TVM's pass calls a Python function for the library's code, and for the extent of the match that it covers.)

mod matcher;

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Function as Global, Module, Name, PrimExpr, TensorType, Type,
    prim::{PrimKind, Substitution, Var},
    relax::{Binding, Call, CallTir, Function, Operand, Value},
    tir::{Block, Buffer, Param, PrimFunc, Stmt, StmtKind},
};
use matcher::{match_pattern, statements};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "SplitCallTIRByPattern",
    doc: "Replaces the first loop nests of kernels by calls of library functions",
    options: &[PassOption {
        name: "patterns",
        kind: OptionKind::Text,
        default: "\"\"",
        doc: "Text file of the patterns: kernels with the names of the functions to call",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let file = context.options.text("patterns");
    if file.is_empty() {
        let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, "pass `SplitCallTIRByPattern` has no patterns");
        return Err(error.help("option `patterns` names a text file of kernels"));
    }
    let patterns = context.environment.texts.module(&file)?;
    let mut splits: FxHashMap<Name, Option<Split>> = FxHashMap::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| {
            let call = CallTir::of_value(&binding.value);
            let value = match call.and_then(|call| Some((call.kernel()?, call.inputs()?, call.out_ty))) {
                Some((name, args, ty)) => {
                    let split =
                        splits.entry(name.clone()).or_insert_with(|| split(&patterns, module.tir(name)?, args.len()));
                    split.as_mut().and_then(|split| split.call(module, function, &binding, args, ty, out))
                }
                None => None,
            };
            out.push(Binding { value: value.unwrap_or(binding.value), ..binding });
            Ok(())
        })
    })
}

/// A kernel split into a library call and the rest.
struct Split {
    /// Library function.
    library: Name,
    /// Its tensors, as indices of the kernel's parameters, and its numbers.
    inputs: Vec<usize>,
    scalars: Vec<PrimExpr>,
    /// The kernel's parameters, which define sizes.
    params: Vec<Param>,
    rest: Option<Rest>,
}

/// The rest of a kernel.
struct Rest {
    kernel: PrimFunc,
    /// Result of the library function, its first parameter.
    from: Buffer,
    /// Indices of the arguments that follow.
    inputs: Vec<usize>,
    /// Its name, once it is in the module.
    name: Option<Name>,
}

/// Splits a kernel with `args` arguments, if a pattern matches.
fn split(patterns: &Module, kernel: &PrimFunc, args: usize) -> Option<Split> {
    let stmts = statements(kernel)?;
    let mut best: Option<(usize, Split)> = None;
    for (name, pattern) in patterns.tir_functions() {
        let nests = statements(pattern).map_or(0, <[Stmt]>::len);
        if nests > 0
            && best.as_ref().is_none_or(|(best_nests, _)| nests > *best_nests)
            && let Some(split) = split_by(name, pattern, kernel, stmts, args)
        {
            best = Some((nests, split));
        }
    }
    best.map(|(_, split)| split)
}

fn split_by(name: &Name, pattern: &PrimFunc, kernel: &PrimFunc, stmts: &[Stmt], args: usize) -> Option<Split> {
    let found = match_pattern(pattern, stmts)?;
    let (nests, rest) = stmts.split_at(statements(pattern)?.len());
    let mut buffers: Vec<&Buffer> = pattern.buffers().filter_map(|buffer| found.buffers.get(buffer)).collect();
    let result = buffers.pop()?;
    let position = |buffer: &Buffer| kernel.params.iter().position(|param| param.buffer.as_ref() == Some(buffer));
    let inputs = buffers.into_iter().map(|buffer| position(buffer).filter(|at| *at < args));
    let inputs = inputs.collect::<Option<Vec<usize>>>()?;
    let written = |buffer: &Buffer| nests.iter().any(|stmt| uses(stmt, buffer).written);
    if inputs.iter().any(|at| kernel.params[*at].buffer.as_ref().is_some_and(written)) {
        return None;
    }
    let is_param = |buffer: &Buffer| pattern.buffers().any(|param| param == buffer);
    if found.buffers.iter().any(|(own, other)| !is_param(own) && position(other).is_some()) {
        return None;
    }
    let scalars = pattern.params.iter().filter(|param| param.buffer.is_none());
    let scalars = scalars.filter_map(|param| found.vars.get(&param.var).cloned()).collect();
    let rest = match rest {
        [] if position(result) == Some(args) && kernel.params.len() == args + 1 => None,
        [] => return None,
        _ => Some(remaining_kernel(kernel, nests, rest, result, args)?),
    };
    Some(Split { library: name.clone(), inputs, scalars, params: kernel.params.clone(), rest })
}

/// Returns the kernel of the remaining statements; `None` if they use other intermediates than the result.
fn remaining_kernel(kernel: &PrimFunc, nests: &[Stmt], rest: &[Stmt], result: &Buffer, args: usize) -> Option<Rest> {
    let StmtKind::Block(root) = &kernel.body.kind else { return None };
    let touched = |buffer: &Buffer| rest.iter().any(|stmt| uses(stmt, buffer).any());
    let is_made = |buffer: &Buffer| nests.iter().any(|stmt| uses(stmt, buffer).written);
    let overwritten = rest.iter().any(|stmt| uses(stmt, result).written);
    let outputs = &kernel.params[args..];
    let private = |buffer: &Buffer| buffer == result || !is_made(buffer) || !touched(buffer);
    let splits = root.alloc_buffers.contains(result)
        && !overwritten
        && root.alloc_buffers.iter().all(private)
        && outputs.iter().all(|param| param.buffer.as_ref().is_some_and(|buffer| !is_made(buffer)));
    if !splits {
        return None;
    }
    let needed = |param: &Param| match &param.buffer {
        Some(buffer) => touched(buffer),
        None => rest.iter().any(|stmt| names(stmt, &param.var)),
    };
    let inputs: Vec<usize> = (0..args).filter(|at| needed(&kernel.params[*at])).collect();
    let params: Vec<Param> = std::iter::once(Param::buffer(result.clone()))
        .chain(inputs.iter().map(|at| kernel.params[*at].clone()))
        .chain(outputs.iter().cloned())
        .collect();
    let alloc: Vec<Buffer> =
        root.alloc_buffers.iter().filter(|buffer| *buffer != result && touched(buffer)).cloned().collect();
    if !defines_sizes(kernel, &params, rest, &alloc) {
        return None;
    }
    let mut attrs = kernel.attrs.clone();
    attrs.remove("global_symbol");
    let body = Stmt::from(Block::root(alloc, Stmt::seq(rest.iter().cloned()))).at(kernel.body.span);
    let kernel = PrimFunc { params, attrs, body, ..kernel.clone() };
    Some(Rest { kernel, from: result.clone(), inputs, name: None })
}

/// Returns true if the parameters define all sizes that the statements and their buffers use.
fn defines_sizes(kernel: &PrimFunc, params: &[Param], stmts: &[Stmt], alloc: &[Buffer]) -> bool {
    let is_defined = |params: &[Param], var: &Var| {
        let mut sizes = params.iter().filter_map(|param| param.buffer.as_ref()).flat_map(|buffer| &buffer.shape);
        sizes.any(|size| size.as_var() == Some(var))
    };
    let sizes = kernel.buffers().flat_map(|buffer| &buffer.shape).filter_map(PrimExpr::as_var);
    let buffers = || params.iter().filter_map(|param| param.buffer.as_ref()).chain(alloc);
    let needed = |var: &Var| {
        stmts.iter().any(|stmt| names(stmt, var))
            || buffers().flat_map(|buffer| &buffer.shape).any(|size| size.uses(var))
    };
    sizes.into_iter().all(|var| is_defined(params, var) || !needed(var))
}

impl Split {
    /// Returns the calls that replace a call of the kernel; `None` if the size of the library's result is unknown.
    fn call(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        binding: &Binding,
        args: &[Operand],
        ty: &Type,
        out: &mut Emitter,
    ) -> Option<Value> {
        let scalars = self.scalars.iter().cloned().map(Operand::Prim);
        let library = self.inputs.iter().map(|at| args[*at].clone()).chain(scalars).collect();
        let symbol = self.library.clone();
        let packed = |args, ty| Value::Call(Call::dps_packed(symbol, args, ty));
        let Some(rest) = &mut self.rest else { return Some(packed(library, ty.clone())) };
        let sizes = sizes(module, function, &self.params, args);
        let shape: Vec<PrimExpr> = rest.from.shape.iter().map(|size| size.substitute(&sizes)).collect();
        let open = |size: &PrimExpr| {
            size.any(&mut |e| e.as_var().is_some_and(|var| self.params.iter().any(|p| names_in(p, var))))
        };
        let known = |(size, own): (&PrimExpr, &PrimExpr)| !open(size) || !size.same_node(own);
        if !shape.iter().zip(&rest.from.shape).all(known) {
            return None;
        }
        let shape = shape.into_iter().map(|size| size.cast(DType::INT64));
        let made = Type::from(TensorType::new(shape, rest.from.dtype));
        let result = out.bind(function, "lv", made.clone(), packed(library, made), binding.span);
        let add = || module.add_unique("unfused_epilogue", Global::Tir(rest.kernel.clone()));
        let name = rest.name.get_or_insert_with(add).clone();
        let others = rest.inputs.iter().map(|at| args[*at].clone());
        Some(Value::Call(Call::tir(name, std::iter::once(result.into()).chain(others).collect(), ty.clone())))
    }
}

/// Returns the values of the variables in a kernel's parameters for a call.
fn sizes(module: &Module, function: &Function, params: &[Param], args: &[Operand]) -> Substitution {
    let mut sizes = Substitution::default();
    for (param, arg) in params.iter().zip(args) {
        match (&param.buffer, arg) {
            (Some(buffer), arg) => {
                let ty = function.operand_ty(module, arg);
                let dims = ty.as_tensor().and_then(TensorType::dims).unwrap_or_default();
                for (own, size) in buffer.shape.iter().zip(dims) {
                    if let Some(var) = own.as_var() {
                        sizes.entry(var.clone()).or_insert_with(|| size.clone().cast(var.dtype()));
                    }
                }
            }
            (None, Operand::Prim(value)) => _ = sizes.insert(param.var.clone(), value.clone()),
            _ => {}
        }
    }
    sizes
}

fn names_in(param: &Param, var: &Var) -> bool {
    param.var == *var || param.buffer.iter().flat_map(|buffer| &buffer.shape).any(|size| size.uses(var))
}

/// Uses of a buffer by a statement.
struct Uses {
    read: bool,
    written: bool,
}

impl Uses {
    fn any(&self) -> bool {
        self.read || self.written
    }
}

fn uses(stmt: &Stmt, buffer: &Buffer) -> Uses {
    let mut uses = Uses { read: false, written: false };
    stmt.walk(&mut |stmt| {
        match &stmt.kind {
            StmtKind::Store { buffer: to, .. } => uses.written |= to == buffer,
            StmtKind::Block(block) => {
                let matched = block.match_buffers.iter().any(|matched| matched.source.buffer == *buffer);
                (uses.read, uses.written) = (uses.read | matched, uses.written | matched);
            }
            _ => {}
        }
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| match e.kind() {
                PrimKind::Load(from, ..) => uses.read |= from == buffer,
                // an address: its memory may be read and written
                PrimKind::Var(var) if *var == buffer.data => (uses.read, uses.written) = (true, true),
                _ => {}
            });
        });
    });
    uses
}

fn names(stmt: &Stmt, var: &Var) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| stmt.each_expr(&mut |e| found |= e.uses(var)));
    found
}

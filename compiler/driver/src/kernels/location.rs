//! Source locations of kernels, and their calls in graphs.

use super::functions;
use hammock_diagnostics::SourceFile;
#[cfg(feature = "native")]
use hammock_ir::tir::PrimFunc;
use hammock_ir::{
    Module, Span,
    prim::PrimKind,
    relax::{Call, Callee, Operand, Value},
};

/// File and line of a span, for messages of kernels: `model.py:12`.
pub fn location(source: &SourceFile, span: Span) -> Option<String> {
    (!span.is_none()).then(|| format!("{}:{}", source.name(), source.position(span.start).line))
}

/// Span of a kernel in the text; of its first call if a pass created it.
pub fn kernel_span(module: &Module, symbol: &str) -> Span {
    let own = functions(module).find(|(name, _)| *name == symbol).map(|(_, func)| func.span);
    if let Some(span) = own.filter(|span| !span.is_none()) {
        return span;
    }
    let mut found = Span::NONE;
    for (_, function) in module.relax_functions() {
        function.lambda.body.walk(&mut |binding| {
            if found.is_none() && calls_kernel(&binding.value, symbol) {
                found = binding.span;
            }
        });
    }
    found
}

/// Span of the first call of an external function of that name in a kernel.
pub fn extern_call_span(module: &Module, symbol: &str) -> Span {
    let mut found = Span::NONE;
    for (name, func) in functions(module) {
        func.body.walk(&mut |stmt| {
            let mut calls = false;
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| {
                    calls |= matches!(e.kind(), PrimKind::Call(call) if matches!(call.args.first().map(|a| a.kind()), Some(PrimKind::Str(s)) if **s == *symbol));
                })
            });
            if calls && found.is_none() {
                found = if stmt.span.is_none() { kernel_span(module, name) } else { stmt.span };
            }
        });
    }
    found
}

/// Calls `f` with the location of each statement that has one.
#[cfg(feature = "native")]
pub fn each_location(func: &PrimFunc, location: &dyn Fn(Span) -> Option<String>, f: &mut dyn FnMut(String)) {
    func.body.walk(&mut |stmt| location(stmt.span).into_iter().for_each(&mut *f));
}

/// Number of calls of a kernel in graphs.
#[cfg(feature = "native")]
pub fn call_count(module: &Module, symbol: &str) -> usize {
    let mut calls = 0;
    for (_, function) in module.relax_functions() {
        function.lambda.body.walk(&mut |binding| calls += usize::from(calls_kernel(&binding.value, symbol)));
    }
    calls
}

/// Returns true if a value is a call of a kernel, or gives it to a function that calls it.
fn calls_kernel(value: &Value, symbol: &str) -> bool {
    let mut calls = matches!(value, Value::Call(Call { callee: Callee::Global(name) | Callee::Extern(name), .. }) if &**name == symbol);
    value.each_operand(&mut |operand| {
        calls |= matches!(operand, Operand::Global(name) | Operand::Extern(name) if &**name == symbol);
    });
    calls
}

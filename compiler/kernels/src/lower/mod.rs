//! From any valid TIR function to flat code.

mod across;
mod bits;
mod blocks;
mod bounds;
pub mod exact;
mod flatten;
mod free;
mod legalize;
mod loops;
mod reshapes;
mod selects;
mod sizes;
mod threads;
mod tidy;
mod traps;
mod unroll;
mod vectorize;
mod widen;

use crate::{
    FlatKernel, Target,
    error::{KernelError, Reason},
    index::same_expr,
    plan::Written,
    rules::{Choice, PackedWords, Packing},
    signature::{self, Interface},
};
use hammock_ir::{
    Name, PrimExpr, Span,
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};

pub use bounds::Accesses;
pub(crate) use bounds::check_stmt;
use loops::Planner;
pub use loops::{Near, Neighbours};

/// What kernels are lowered for, and how.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The machine.
    pub target: &'a Target,
    /// Whether accesses that are not proved to be inside of their buffers are checked. Without that, whoever gives a
    /// kernel its arguments vouches for it.
    pub checked: bool,
    /// Whether reductions combine their terms in the order in which they are written, though lanes of vectors would be
    /// faster with an order of their own.
    pub strict_order: bool,
    /// How the kernel is computed, if it is not for rules to choose.
    pub plan: Option<&'a Written>,
    /// Says where a span lies (`model.py:12`), for messages at run time.
    pub place: &'a dyn Fn(Span) -> Option<String>,
}

impl<'a> Options<'a> {
    /// Checked kernels for a machine, whose messages name no lines.
    pub fn new(target: &'a Target) -> Self {
        Options { target, checked: true, strict_order: false, plan: None, place: &|_| None }
    }

    fn planner(&self) -> Planner<'a> {
        let choice = Choice { target: self.target, strict_order: self.strict_order };
        Planner { choice, written: self.plan }
    }
}

/// Lowers a function to a kernel: flat code with explicit vectors.
///
/// # Errors
/// When the function is not valid TIR, or works on GPU threads that work together.
pub fn lower(func: &PrimFunc, target: &Target) -> Result<FlatKernel, KernelError> {
    lower_with(func, Options::new(target))
}

/// The same with options.
///
/// # Errors
/// As [`lower`].
pub fn lower_with(func: &PrimFunc, options: Options<'_>) -> Result<FlatKernel, KernelError> {
    let name = name_of(func);
    flat_kernel(func, &name, options).map_err(|reason| KernelError { function: name, span: func.span, reason })
}

fn flat_kernel(func: &PrimFunc, name: &Name, options: Options<'_>) -> Result<FlatKernel, Reason> {
    let mut interface = signature::interface(func);
    let func = &*sizes::named(func, &interface);
    let (body, accesses) = flat_blocks(func, &interface, options)?;
    let sizes: Vec<Var> = interface.sizes().collect();
    let body = tidy::tidy(blocks::remove_blocks(body), &sizes);
    let mut body = tidy::tidy(vectorize::vectorize(unroll::unroll(body), options.target.masks), &sizes);
    bits::move_bits(&mut body);
    let body = across::transpose(func, body);
    let body = legalize::legalize(body, &mut interface.params, &sizes, options.target)?;
    let func = PrimFunc {
        params: interface.params,
        ret_ty: None,
        body,
        attrs: func.attrs.clone(),
        s_tir: false,
        span: func.span,
    };
    free::check_variables(&func)?;
    Ok(FlatKernel { name: name.clone(), said: name.clone(), func, signature: interface.signature, accesses })
}

/// What a function's kernel is called.
fn name_of(func: &PrimFunc) -> Name {
    func.attrs.get("global_symbol").and_then(|v| v.as_str()).unwrap_or("(private)").into()
}

/// The plan of a function's kernel, as text.
///
/// # Errors
/// As [`lower`].
pub fn plan_text(func: &PrimFunc, options: Options<'_>) -> Result<String, KernelError> {
    let name = name_of(func);
    let func = &*sizes::named(func, &signature::interface(func));
    let text = safe(func, options).and_then(|safe| loops::plan_text(func, safe.body, options.planner()));
    text.map_err(|reason| KernelError { function: name, span: func.span, reason })
}

/// The plan of a function's kernel, and plans near it that can be used as well.
///
/// # Errors
/// As [`lower`].
pub fn neighbours(func: &PrimFunc, options: Options<'_>) -> Result<Neighbours, KernelError> {
    let name = name_of(func);
    let func = &*sizes::named(func, &signature::interface(func));
    let found = safe(func, options).and_then(|safe| loops::neighbours(func, safe.body, options.planner()));
    found.map_err(|reason| KernelError { function: name, span: func.span, reason })
}

/// The parameters of a function that are worth packing before its kernel runs: their numbers, and how, in terms of their
/// buffers' dimensions.
///
/// # Errors
/// As [`lower`].
pub fn packings(func: &PrimFunc, options: Options<'_>) -> Result<Vec<(usize, Packing)>, KernelError> {
    let name = name_of(func);
    let func = &*sizes::named(func, &signature::interface(func));
    let safe = safe(func, options).map_err(|reason| KernelError { function: name, span: func.span, reason })?;
    let found = loops::packings(func, safe.body, options.planner().choice).into_iter();
    Ok(found.filter_map(|packing| parameter(func, packing)).collect())
}

/// The parameter whose memory a buffer is, and how it is packed as the buffer is.
fn parameter(func: &PrimFunc, packing: Packing) -> Option<(usize, Packing)> {
    let buffer = &packing.buffer;
    let mut params = func.params.iter().map(|param| param.buffer.as_ref()).enumerate();
    let (number, own) = params.find_map(|(number, own)| Some((number, own.filter(|own| own.data == buffer.data)?)))?;
    let plain = own.dtype == buffer.dtype && own.strides.is_empty();
    // Dimensions are counted from the end: others may be one there.
    let same = |dim: usize| {
        let at = own.ndim().checked_sub(buffer.ndim() - dim)?;
        let rest = own.shape[at..].iter().zip(&buffer.shape[dim..]);
        rest.into_iter().all(|(a, b)| same_expr(a, b)).then_some(at)
    };
    let words = match packing.words {
        Some(words) => Some(PackedWords { dim: same(words.dim)?, ..words }),
        None => None,
    };
    let packing = Packing { dim: same(packing.dim)?, words, buffer: own.clone(), block: packing.block };
    plain.then_some((number, packing))
}

/// The floating-point operations of a function's kernel, where they are known: see [`plan::flops`](crate::plan::flops).
///
/// # Errors
/// As [`lower`].
pub fn flops(func: &PrimFunc, options: Options<'_>) -> Result<Option<f64>, KernelError> {
    let func = &*sizes::named(func, &signature::interface(func));
    let safe = safe(func, options);
    let error = |reason| KernelError { function: name_of(func), span: func.span, reason };
    safe.map(|safe| loops::flops(func, safe.body)).map_err(error)
}

/// A body whose accesses and divisions are checked where that is necessary.
struct Safe {
    body: Stmt,
    checked: bounds::Checked,
    relied: traps::Relied,
}

/// What loops are chosen for.
fn safe(func: &PrimFunc, options: Options<'_>) -> Result<Safe, Reason> {
    let mut body = func.body.clone();
    threads::serialize_threads(&mut body)?;
    reshapes::simplify(func, &mut body);
    let checked =
        if options.checked { bounds::check(&mut body, func, options.place)? } else { bounds::Checked::default() };
    exact::mark(func, &mut body);
    let relied = traps::check(func, &mut body, options.place);
    selects::guard(&mut body);
    widen::widen(&mut body);
    Ok(Safe { body, checked, relied })
}

/// The body with its blocks, all buffers flat.
fn flat_blocks(
    func: &PrimFunc,
    interface: &Interface,
    options: Options<'_>,
) -> Result<(Stmt, bounds::Accesses), Reason> {
    let Safe { mut body, checked, relied } = safe(func, options)?;
    loops::schedule(func, &mut body, options.planner())?;
    let first = if options.checked { interface.checks() } else { Vec::new() };
    let limited = relied.limited.iter().filter(|size| !checked.limited.iter().any(|known| same_expr(known, size)));
    let limits: Vec<Stmt> = checked.limited.iter().chain(limited).map(bounds::limit).collect();
    let exact = relied.exact.iter().map(|size| Stmt::new(StmtKind::Evaluate(exact::exact(size))));
    let first = first.into_iter().chain(limits).chain(exact).chain(checked.prologue);
    let mut body = Stmt::seq(first.chain([body]));
    store_result(&mut body, interface.result.as_ref());
    let buffers: Vec<Buffer> = func.buffers().chain(&interface.result).cloned().collect();
    let handles = func.params.iter().filter(|p| p.buffer.is_none() && p.var.dtype().is_handle());
    let handles: Vec<Var> = handles.map(|p| p.var.clone()).collect();
    let body = flatten::flatten(body, &buffers, &handles, interface.values.clone())?;
    Ok((body, checked.accesses))
}

/// A kernel returns a status; what the function returns goes where the caller wants it.
fn store_result(stmt: &mut Stmt, result: Option<&Buffer>) {
    stmt.each_child_mut(&mut |s| store_result(s, result));
    if let StmtKind::Return(value) = &stmt.kind {
        let store = result.map(|b| Stmt::store(b, vec![PrimExpr::int64(0)], value.clone().cast(b.dtype)));
        let done = Stmt::new(StmtKind::Return(PrimExpr::int32(0)));
        *stmt = Stmt::seq(store.into_iter().chain([done])).at(stmt.span);
    }
}

#[cfg(test)]
mod tests;

//! From any valid TIR function to flat code.

mod bitcast_copies;
mod bounds;
mod derived_sizes;
mod flatten;
mod guard_div_shift;
mod lazy_select;
mod legalize;
mod loops;
mod promote_indices;
mod register_transpose;
mod remove_blocks;
mod reshape_indices;
mod serialize_threads;
mod simplify;
pub mod size_overflow;
pub mod steps;
mod unroll;
mod vectorize;
mod verify_vars;

use crate::{
    FlatKernel, Target,
    error::{KernelError, Reason},
    index::same_expr,
    plan::{Flops, Written},
    rules::{Choice, PackedWords, Packing},
};
use hammock_ir::{
    Name, Span,
    tir::{PrimFunc, Stmt},
};

pub use bounds::Accesses;
pub(crate) use bounds::check_stmt;
use loops::Planner;
pub use loops::{Near, Neighbours};
use std::borrow::Cow;
use steps::{LOOPS, Lowering};

/// What kernels are lowered for, and how.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The machine.
    pub target: &'a Target,
    /// True if accesses that are not proved to be inside of their buffers are checked. Without that, whoever gives a
    /// kernel its arguments vouches for it.
    pub checked: bool,
    /// True if reductions combine their terms in the order in which they are written, though lanes of vectors would be
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
    flat_kernel(func, options).map_err(|reason| error(func, reason))
}

fn flat_kernel(func: &PrimFunc, options: Options<'_>) -> Result<FlatKernel, Reason> {
    let lowered = Lowering::new(func, options).before(None)?;
    let accesses = lowered.accesses();
    let (func, signature) = lowered.into_func();
    verify_vars::check_variables(&func)?;
    let name = name_of(&func);
    Ok(FlatKernel { said: name.clone(), name, func, signature, accesses })
}

/// The function as it is before a step of [`STEPS`](steps::STEPS), or after all without one.
///
/// # Errors
/// As [`lower`].
pub fn before(func: &PrimFunc, options: Options<'_>, step: Option<&str>) -> Result<PrimFunc, KernelError> {
    let lowered = Lowering::new(func, options).before(step);
    lowered.map(|lowered| lowered.into_func().0).map_err(|reason| error(func, reason))
}

fn error(func: &PrimFunc, reason: Reason) -> KernelError {
    KernelError { function: name_of(func), span: func.span, reason }
}

/// What loops are chosen for: a function, and its body, whose accesses and divisions are checked where that is necessary.
fn unplanned<'a>(func: &'a PrimFunc, options: Options<'a>) -> Result<(Cow<'a, PrimFunc>, Stmt), KernelError> {
    let lowered = Lowering::new(func, options).before(Some(LOOPS)).map_err(|reason| error(func, reason))?;
    Ok((lowered.func, lowered.body))
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
    let (named, body) = unplanned(func, options)?;
    loops::plan_text(&named, body, options.planner()).map_err(|reason| error(func, reason))
}

/// The plan of a function's kernel, and plans near it that can be used as well.
///
/// # Errors
/// As [`lower`].
pub fn neighbours(func: &PrimFunc, options: Options<'_>) -> Result<Neighbours, KernelError> {
    let (named, body) = unplanned(func, options)?;
    loops::neighbours(&named, body, options.planner()).map_err(|reason| error(func, reason))
}

/// The parameters of a function that are worth packing before its kernel runs: their numbers, and how, in terms of their
/// buffers' dimensions.
///
/// # Errors
/// As [`lower`].
pub fn packings(func: &PrimFunc, options: Options<'_>) -> Result<Vec<(usize, Packing)>, KernelError> {
    let (func, body) = unplanned(func, options)?;
    let found = loops::packings(&func, body, options.planner().choice).into_iter();
    Ok(found.filter_map(|packing| parameter(&func, packing)).collect())
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

/// The floating-point operations of a function's kernel, where they are known.
///
/// # Errors
/// As [`lower`].
pub fn flops(func: &PrimFunc, options: Options<'_>) -> Result<Option<Flops>, KernelError> {
    let (func, body) = unplanned(func, options)?;
    Ok(loops::flops(&func, body))
}

#[cfg(test)]
mod tests;

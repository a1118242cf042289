//! Lowering: turns any valid TIR function into flat code. What assumes how CPUs run loops is in `cpu`.

mod bitcast_copies;
mod bounds;
mod cpu;
mod derived_sizes;
mod flatten;
mod gpu;
mod guard_div_shift;
mod lazy_select;
mod legalize;
mod planner;
mod reduction_init;
mod reductions;
mod remove_blocks;
mod reshape_indices;
mod simplify;
pub mod size_overflow;
pub mod steps;
mod unroll;
mod verify_vars;

use crate::{
    FlatKernel, GpuKernel,
    error::{KernelError, Reason},
    schedule::{Flops, ParsedPlan, ScheduleContext},
};
use hammock_ir::{
    Name, Span,
    tir::{Buffer, PrimFunc, Stmt},
};
use hammock_loopnest::{PackedGroups, PackedLayout, PackedParam, index::same_expr};
use hammock_target::{Gpu, Target};

pub use bounds::Accesses;
pub(crate) use bounds::check_stmt;
use planner::Planner;
pub use planner::{Candidate, SearchSpace};
use std::borrow::Cow;
use steps::{LOOPS, Lowering};

/// Options of lowering.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Target machine; for a GPU, its host.
    pub target: &'a Target,
    /// The GPU that plans and steps are for; `None` for kernels that run on the target itself.
    pub gpu: Option<&'a Gpu>,
    /// True if accesses that are not proved to be in bounds are checked. Otherwise the caller guarantees that they are.
    pub checked: bool,
    /// True if reductions keep their source order, which forbids vectorizing along the reduction axis.
    pub strict_order: bool,
    /// True if tensor cores of a GPU may multiply float32 elements rounded to tf32, with sums of float32.
    pub allow_tf32: bool,
    /// Plan that overrides the choice of the rules.
    pub plan: Option<&'a ParsedPlan>,
    /// Returns the source location of a span (`model.py:12`), for messages at run time.
    pub locate: &'a dyn Fn(Span) -> Option<String>,
}

impl<'a> Options<'a> {
    /// Options for checked kernels, whose messages name no source lines.
    pub fn new(target: &'a Target) -> Self {
        Options {
            target,
            gpu: None,
            checked: true,
            strict_order: false,
            allow_tf32: false,
            plan: None,
            locate: &|_| None,
        }
    }

    fn planner(&self) -> Planner<'a> {
        let Options { target, gpu, strict_order, allow_tf32, .. } = *self;
        let choice = ScheduleContext { target, gpu, strict_order, allow_tf32, repeats: 1 };
        Planner { choice, written: self.plan }
    }
}

/// Lowers a function to a kernel: flat code with explicit vectors.
///
/// # Errors
/// When the function is not valid TIR, or has GPU threads that cooperate.
pub fn lower(func: &PrimFunc, target: &Target) -> Result<FlatKernel, KernelError> {
    lower_with(func, Options::new(target))
}

/// Like [`lower`], with options.
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
    verify_vars::verify_vars(&func)?;
    let name = name_of(&func);
    Ok(FlatKernel { said: name.clone(), name, func, signature, accesses })
}

/// Lowers a function to a kernel for a GPU. `options` are those of its host code.
///
/// # Errors
/// When the function is not valid TIR, exceeds a limit of the GPU, or needs the host: it returns a value, or calls a
/// function.
pub fn lower_gpu(func: &PrimFunc, options: Options<'_>, gpu: &Gpu) -> Result<GpuKernel, KernelError> {
    gpu_kernel(func, Options { gpu: Some(gpu), ..options }, gpu).map_err(|reason| error(func, reason))
}

fn gpu_kernel(func: &PrimFunc, options: Options<'_>, gpu: &Gpu) -> Result<GpuKernel, Reason> {
    let whole = flat_kernel(func, options)?;
    let output_args = whole.output_args();
    let (func, device) = gpu::split::split(&whole.func, gpu)?;
    for func in [&func].into_iter().chain(device.iter().map(|device| &device.func)) {
        verify_vars::verify_vars(func)?;
    }
    Ok(GpuKernel { host: FlatKernel { func, ..whole }, device, output_args })
}

/// Returns the function as it is before a step of [`STEPS`](steps::STEPS), or after all of them if `step` is `None`.
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

/// Runs the steps before [`LOOPS`]. Returns the function, and its body with checks added.
fn before_loops<'a>(func: &'a PrimFunc, options: Options<'a>) -> Result<(Cow<'a, PrimFunc>, Stmt), KernelError> {
    let lowered = Lowering::new(func, options).before(Some(LOOPS)).map_err(|reason| error(func, reason))?;
    Ok((lowered.func, lowered.body))
}

/// Returns the name of a function's kernel.
fn name_of(func: &PrimFunc) -> Name {
    func.attrs.get("global_symbol").and_then(|v| v.as_str()).unwrap_or("(private)").into()
}

/// Returns the function with its stages as blocks, after the first `count` [`TRANSFORMS`](hammock_loopnest::transforms).
///
/// # Errors
/// As [`lower`].
pub fn stages(func: &PrimFunc, options: Options<'_>, count: usize) -> Result<PrimFunc, KernelError> {
    let (func, mut body) = before_loops(func, options)?;
    planner::raise_stages(&func, &mut body, options.planner().choice.machine(), count);
    Ok(PrimFunc { body, ..func.into_owned() })
}

/// Returns the plan of a function's kernel as text.
///
/// # Errors
/// As [`lower`].
pub fn plan_text(func: &PrimFunc, options: Options<'_>) -> Result<String, KernelError> {
    let (named, body) = before_loops(func, options)?;
    planner::plan_text(&named, body, options.planner()).map_err(|reason| error(func, reason))
}

/// Returns the plan of a function's kernel and its search space: similar plans that autotuning may try.
///
/// # Errors
/// As [`lower`].
pub fn search_space(func: &PrimFunc, options: Options<'_>) -> Result<SearchSpace, KernelError> {
    let (named, body) = before_loops(func, options)?;
    planner::search_space(&named, body, options.planner()).map_err(|reason| error(func, reason))
}

/// Returns the parameters that are worth packing before a kernel runs, with their packed layouts.
///
/// # Errors
/// As [`lower`].
pub fn packed_params(func: &PrimFunc, options: Options<'_>) -> Result<Vec<PackedParam>, KernelError> {
    let (func, body) = before_loops(func, options)?;
    let found = planner::packings(&func, body, options.planner().choice).into_iter();
    Ok(found.filter_map(|(buffer, layout)| packed_param(&func, &buffer, layout)).collect())
}

/// Returns the parameter that a packed buffer is a view of, with the layout over its own dimensions.
fn packed_param(func: &PrimFunc, buffer: &Buffer, layout: PackedLayout) -> Option<PackedParam> {
    let mut params = func.params.iter().map(|param| param.buffer.as_ref()).enumerate();
    let (param, own) = params.find_map(|(number, own)| Some((number, own.filter(|own| own.data == buffer.data)?)))?;
    let is_plain = own.dtype == buffer.dtype && own.strides.is_empty();
    // Dimensions match from the end; the leading ones may differ.
    let own_dim = |dim: usize| {
        let at = own.ndim().checked_sub(buffer.ndim() - dim)?;
        let rest = own.shape[at..].iter().zip(&buffer.shape[dim..]);
        rest.into_iter().all(|(a, b)| same_expr(a, b)).then_some(at)
    };
    let groups = match layout.groups {
        Some(groups) => Some(PackedGroups { dim: own_dim(groups.dim)?, ..groups }),
        None => None,
    };
    let layout = PackedLayout { dim: own_dim(layout.dim)?, groups, ..layout };
    is_plain.then_some(PackedParam { param, layout })
}

/// Counts the floating-point operations of a function's kernel, if they are known.
///
/// # Errors
/// As [`lower`].
pub fn flops(func: &PrimFunc, options: Options<'_>) -> Result<Option<Flops>, KernelError> {
    let (func, body) = before_loops(func, options)?;
    Ok(planner::flops(&func, body))
}

#[cfg(test)]
mod tests;

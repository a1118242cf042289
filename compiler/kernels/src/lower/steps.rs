//! Lowering steps from block TIR to flat code, as a list.
//!
//! The function can be printed after every step, so the effect of a step is the difference of two texts. Plans are
//! chosen for the function that the steps before [`LOOPS`] produce.

use super::{
    Accesses, Options, bitcast_copies, bounds,
    cpu::{loops, register_transpose, serialize_threads, vectorize},
    derived_sizes, flatten, gpu, guard_div_shift, lazy_select, legalize, reduction_init, remove_blocks,
    reshape_indices, simplify, size_overflow, unroll,
};
use crate::{
    error::Reason,
    signature::{self, Interface},
};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::{index::same_expr, promote_indices};
use std::borrow::Cow;

/// A lowering step.
pub struct Step {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    run: fn(&mut Lowering<'_>) -> Result<(), Reason>,
}

/// Name of the step that turns plans into loops.
pub const LOOPS: &str = "loops";

/// Lowering steps for CPUs, in order. Features of the CPU are handled within the steps.
pub static STEPS: &[Step] = &[
    SERIALIZE_THREADS,
    REDUCTION_INIT,
    RESHAPE_INDICES,
    BOUNDS_CHECKS,
    SIZE_OVERFLOW,
    GUARD_DIV_SHIFT,
    LAZY_SELECT,
    PROMOTE_INDICES,
    CPU_LOOPS,
    ENTRY_CHECKS,
    FLATTEN,
    UNROLL,
    VECTORIZE,
    BITCAST_COPIES,
    REGISTER_TRANSPOSE,
    LEGALIZE,
];

/// Lowering steps for GPUs, in order. [`split`](super::gpu::split) then makes functions of the device regions.
pub static GPU_STEPS: &[Step] = &[
    THREAD_LOOPS,
    THREAD_REDUCTIONS,
    COMPACT_BUFFERS,
    REDUCTION_INIT,
    RESHAPE_INDICES,
    BOUNDS_CHECKS,
    SIZE_OVERFLOW,
    GUARD_DIV_SHIFT,
    LAZY_SELECT,
    PROMOTE_INDICES,
    GPU_LOOPS,
    ENTRY_CHECKS,
    FLATTEN,
    UNROLL,
    VECTORIZE,
    BITCAST_COPIES,
    LEGALIZE,
];

const SERIALIZE_THREADS: Step = Step {
    name: "serialize-threads",
    doc: "turns GPU thread axes into serial loops",
    run: |l| serialize_threads::serialize_threads(&mut l.body),
};

const THREAD_LOOPS: Step = Step {
    name: "thread-loops",
    doc: "turns thread axes into loops that are bound to them",
    run: |l| l.edit(|l| gpu::thread_loops::bind_loops(&mut l.body)),
};

const THREAD_REDUCTIONS: Step = Step {
    name: "thread-reductions",
    doc: "combines the parts of reductions that the threads of the program's own loops share",
    run: |l| gpu::thread_reductions::combine_parts(&mut l.body),
};

const COMPACT_BUFFERS: Step = Step {
    name: "compact-buffers",
    doc: "reduces the memory of threads and blocks to what the program's own loops use",
    run: |l| l.edit(|l| gpu::compact_buffers::compact(&mut l.body)),
};

const REDUCTION_INIT: Step = Step {
    name: "reduction-init",
    doc: "initializes possibly empty reductions before their loops, unless a plan does",
    run: |l| l.edit(|l| reduction_init::init_reductions(&mut l.body)),
};

const RESHAPE_INDICES: Step = Step {
    name: "reshape-indices",
    doc: "simplifies divisions and remainders in indices of reshapes",
    run: |l| l.edit(|l| reshape_indices::simplify_reshapes(&l.func, &mut l.body)),
};

const BOUNDS_CHECKS: Step =
    Step { name: "bounds-checks", doc: "checks accesses that are not proved to be in bounds", run: check_bounds };

const SIZE_OVERFLOW: Step = Step {
    name: "size-overflow",
    doc: "marks size computations, which must not overflow",
    run: |l| l.edit(|l| size_overflow::mark_exact(&l.func, &mut l.body)),
};

const GUARD_DIV_SHIFT: Step = Step {
    name: "guard-div-shift",
    doc: "checks divisors and shift counts that may be invalid",
    run: |l| l.edit(|l| l.assumed = guard_div_shift::guard(&l.func, &mut l.body, l.options.locate)),
};

const LAZY_SELECT: Step = Step {
    name: "lazy-select",
    doc: "makes selects that guard accesses lazy",
    run: |l| l.edit(|l| lazy_select::make_lazy(&mut l.body)),
};

const PROMOTE_INDICES: Step = Step {
    name: "promote-indices",
    doc: "promotes loop variables to int64",
    run: |l| l.edit(|l| promote_indices(&mut l.body)),
};

const CPU_LOOPS: Step = Step {
    name: LOOPS,
    doc: "replaces stages by the loop nests of their plans",
    run: |l| loops::replace_stages(&l.func, &mut l.body, l.options.planner()),
};

const GPU_LOOPS: Step = Step {
    name: LOOPS,
    doc: "replaces stages by the loop nests of their plans, on blocks and threads",
    run: |l| gpu::loops::replace_stages(&l.func, &mut l.body, l.options.planner()),
};

const ENTRY_CHECKS: Step =
    Step { name: "entry-checks", doc: "checks arguments and assumed sizes on entry", run: entry_checks };

const FLATTEN: Step = Step {
    name: "flatten",
    doc: "removes blocks, flattens buffers, and turns parameters into pointers and sizes",
    run: flat,
};

const UNROLL: Step =
    Step { name: "unroll", doc: "expands unrolled loops", run: |l| l.rewrite(|_, body| Ok(unroll::unroll(body))) };

const VECTORIZE: Step = Step {
    name: "vectorize",
    doc: "turns vectorized loops into vector operations, masked if the machine has masks",
    run: |l| {
        let masks = l.options.gpu.is_none() && l.options.target.masks;
        l.rewrite(|l, body| Ok(simplify::simplify(vectorize::vectorize(body, masks), &l.sizes())))
    },
};

const BITCAST_COPIES: Step = Step {
    name: "bitcast-copies",
    doc: "copies values as integers where nothing is computed with them",
    run: |l| l.edit(|l| bitcast_copies::bitcast_copies(&mut l.body)),
};

const REGISTER_TRANSPOSE: Step = Step {
    name: "register-transpose",
    doc: "transposes blocks in registers instead of loading strided columns",
    run: |l| l.rewrite(|l, body| Ok(register_transpose::transpose(&l.func, body))),
};

const LEGALIZE: Step = Step {
    name: "legalize",
    doc: "replaces operations that the machine lacks",
    run: |l| {
        let sizes = l.sizes();
        let features = legalize::Features::of(l.options.target, l.options.gpu);
        l.rewrite(|l, body| legalize::legalize(body, &mut l.interface.params, &sizes, features))
    },
};

/// A function being lowered.
pub(super) struct Lowering<'a> {
    /// Original function, with derived sizes named.
    pub func: Cow<'a, PrimFunc>,
    /// Its body after the steps so far.
    pub body: Stmt,
    /// Parameters and result of the kernel.
    pub interface: Interface,
    options: Options<'a>,
    checked: bounds::Checked,
    assumed: guard_div_shift::Assumptions,
    is_flat: bool,
}

impl<'a> Lowering<'a> {
    /// Starts before the first step.
    pub fn new(func: &'a PrimFunc, options: Options<'a>) -> Self {
        let func = func.with_data_marked().map_or(Cow::Borrowed(func), Cow::Owned);
        let interface = signature::interface(&func);
        let func = match derived_sizes::name_derived_sizes(&func, &interface) {
            Cow::Owned(named) => Cow::Owned(named),
            Cow::Borrowed(_) => func,
        };
        let body = func.body.clone();
        let (checked, assumed) = (bounds::Checked::default(), guard_div_shift::Assumptions::default());
        Lowering { func, body, interface, options, checked, assumed, is_flat: false }
    }

    /// Runs the steps before `step`, or all of them.
    pub fn before(mut self, step: Option<&str>) -> Result<Self, Reason> {
        let all = if self.options.gpu.is_some() { GPU_STEPS } else { STEPS };
        let steps = all.iter().take_while(|next| step != Some(next.name));
        for step in steps {
            (step.run)(&mut self)?;
        }
        Ok(self)
    }

    /// Returns how many accesses are proved to be in bounds, and how many are checked.
    pub fn accesses(&self) -> Accesses {
        self.checked.accesses
    }

    /// Returns the function as it is now.
    pub fn into_func(self) -> (PrimFunc, signature::Signature) {
        let given = self.func.into_owned();
        let func = if self.is_flat {
            let params = self.interface.params;
            PrimFunc { params, ret_ty: None, body: self.body, s_tir: false, ..given }
        } else {
            PrimFunc { body: self.body, ..given }
        };
        (func, self.interface.signature)
    }

    /// Runs a step that cannot fail.
    fn edit(&mut self, f: impl FnOnce(&mut Self)) -> Result<(), Reason> {
        f(self);
        Ok(())
    }

    fn rewrite(&mut self, f: impl FnOnce(&mut Self, Stmt) -> Result<Stmt, Reason>) -> Result<(), Reason> {
        let body = std::mem::replace(&mut self.body, Stmt::nop());
        self.body = f(self, body)?;
        Ok(())
    }

    /// Returns the size variables, which are not negative.
    fn sizes(&self) -> Vec<Var> {
        self.interface.sizes().collect()
    }
}

fn check_bounds(l: &mut Lowering<'_>) -> Result<(), Reason> {
    if l.options.checked {
        l.checked = bounds::check(&mut l.body, &l.func, l.options.locate)?;
    }
    Ok(())
}

fn entry_checks(l: &mut Lowering<'_>) -> Result<(), Reason> {
    let first = if l.options.checked { l.interface.checks() } else { Vec::new() };
    let known = &l.checked.bounded;
    let more = l.assumed.bounded.iter().filter(|size| !known.iter().any(|known| same_expr(known, size)));
    let sizes = known.iter().chain(more).map(bounds::check_bounded);
    let exact = l.assumed.exact.iter().map(|size| Stmt::new(StmtKind::Evaluate(size_overflow::exact(size))));
    let first: Vec<Stmt> = first.into_iter().chain(sizes).chain(exact).collect();
    let first = first.into_iter().chain(std::mem::take(&mut l.checked.prologue));
    l.rewrite(|l, body| {
        let mut body = Stmt::seq(first.chain([body]));
        store_result(&mut body, l.interface.result.as_ref());
        Ok(body)
    })
}

fn flat(l: &mut Lowering<'_>) -> Result<(), Reason> {
    let buffers: Vec<Buffer> = l.func.buffers().chain(&l.interface.result).cloned().collect();
    let handles = l.func.params.iter().filter(|p| p.buffer.is_none() && p.var.dtype().is_handle());
    let handles: Vec<Var> = handles.map(|p| p.var.clone()).collect();
    l.is_flat = true;
    l.rewrite(|l, body| {
        let scopes = if l.options.gpu.is_some() { flatten::Scopes::Declared } else { flatten::Scopes::BySize };
        let body = flatten::flatten(body, &buffers, &handles, l.interface.values.clone(), scopes)?;
        Ok(simplify::simplify(remove_blocks::remove_blocks(body), &l.sizes()))
    })
}

/// Stores the returned value in the result buffer; the kernel itself returns a status.
fn store_result(stmt: &mut Stmt, result: Option<&Buffer>) {
    stmt.each_child_mut(&mut |s| store_result(s, result));
    if let StmtKind::Return(value) = &stmt.kind {
        let store = result.map(|b| Stmt::store(b, vec![PrimExpr::int64(0)], value.clone().cast(b.dtype)));
        let done = Stmt::new(StmtKind::Return(PrimExpr::int32(0)));
        *stmt = Stmt::seq(store.into_iter().chain([done])).at(stmt.span);
    }
}

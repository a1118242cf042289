//! The steps that make flat code of a function, as a list.
//!
//! Each leaves a function that prints, so what a step does can be read as the difference of two texts. Plans are made for
//! what the steps before [`LOOPS`] leave.

use super::{
    Accesses, Options, bitcast_copies, bounds, derived_sizes, flatten, guard_div_shift, lazy_select, legalize, loops,
    promote_indices, register_transpose, remove_blocks, reshape_indices, serialize_threads, simplify, size_overflow,
    unroll, vectorize,
};
use crate::{
    error::Reason,
    index::same_expr,
    signature::{self, Interface},
};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use std::borrow::Cow;

/// A step of lowering.
pub struct Step {
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    run: fn(&mut Lowering<'_>) -> Result<(), Reason>,
}

/// The step that makes loops of plans.
pub const LOOPS: &str = "loops";

/// What makes flat code for CPUs, in order; what a CPU has decides within a step.
pub static STEPS: &[Step] = &[
    Step {
        name: "threads",
        doc: "axes of GPU threads become serial loops",
        run: |l| serialize_threads::serialize_threads(&mut l.body),
    },
    Step {
        name: "init",
        doc: "reductions that may be empty start before their loops, where no plan does that",
        run: |l| l.edit(|l| loops::start_reductions(&mut l.body)),
    },
    Step {
        name: "reshapes",
        doc: "indices of reshapes lose the quotients that loops decide",
        run: |l| l.edit(|l| reshape_indices::simplify(&l.func, &mut l.body)),
    },
    Step { name: "bounds", doc: "accesses that are not proved to be in bounds are checked", run: bounded },
    Step {
        name: "exact",
        doc: "what computes sizes is marked: none of it may wrap",
        run: |l| l.edit(|l| size_overflow::mark(&l.func, &mut l.body)),
    },
    Step {
        name: "traps",
        doc: "divisors, and counts of shifts, that may be invalid are checked",
        run: |l| l.edit(|l| l.relied = guard_div_shift::check(&l.func, &mut l.body, l.options.place)),
    },
    Step {
        name: "selects",
        doc: "choices that guard accesses become lazy",
        run: |l| l.edit(|l| lazy_select::guard(&mut l.body)),
    },
    Step {
        name: "widen",
        doc: "loop variables become int64",
        run: |l| l.edit(|l| promote_indices::widen(&mut l.body)),
    },
    Step {
        name: LOOPS,
        doc: "stages become the loops of their plans",
        run: |l| loops::schedule(&l.func, &mut l.body, l.options.planner()),
    },
    Step { name: "checks", doc: "what has to hold for all that follows is checked first", run: checks_first },
    Step {
        name: "flatten",
        doc: "blocks become statements, buffers one-dimensional, parameters pointers and sizes",
        run: flat,
    },
    Step {
        name: "unroll",
        doc: "unrolled loops are written out",
        run: |l| l.rewrite(|_, body| Ok(unroll::unroll(body))),
    },
    Step {
        name: "vectorize",
        doc: "vectorized loops become vectors, with masks where the CPU has them",
        run: |l| {
            l.rewrite(|l, body| Ok(simplify::tidy(vectorize::vectorize(body, l.options.target.masks), &l.sizes())))
        },
    },
    Step {
        name: "bits",
        doc: "what is only moved is moved as integers",
        run: |l| l.edit(|l| bitcast_copies::move_bits(&mut l.body)),
    },
    Step {
        name: "across",
        doc: "blocks of memory that are read across are transposed in registers",
        run: |l| l.rewrite(|l, body| Ok(register_transpose::transpose(&l.func, body))),
    },
    Step {
        name: "legalize",
        doc: "operations that the CPU lacks become others that it has",
        run: |l| {
            let sizes = l.sizes();
            l.rewrite(|l, body| legalize::legalize(body, &mut l.interface.params, &sizes, l.options.target))
        },
    },
];

/// A function on its way to flat code.
pub(super) struct Lowering<'a> {
    /// As it was given, but for names of sizes.
    pub func: Cow<'a, PrimFunc>,
    /// What the steps made of its body so far.
    pub body: Stmt,
    /// The parameters and results of the kernel.
    pub interface: Interface,
    options: Options<'a>,
    checked: bounds::Checked,
    relied: guard_div_shift::Relied,
    is_flat: bool,
}

impl<'a> Lowering<'a> {
    /// Before the first step.
    pub fn new(func: &'a PrimFunc, options: Options<'a>) -> Self {
        let func = func.with_data_marked().map_or(Cow::Borrowed(func), Cow::Owned);
        let interface = signature::interface(&func);
        let func = match derived_sizes::named(&func, &interface) {
            Cow::Owned(named) => Cow::Owned(named),
            Cow::Borrowed(_) => func,
        };
        let body = func.body.clone();
        let (checked, relied) = (bounds::Checked::default(), guard_div_shift::Relied::default());
        Lowering { func, body, interface, options, checked, relied, is_flat: false }
    }

    /// Runs the steps up to that one, which is not run; without one, all.
    pub fn before(mut self, step: Option<&str>) -> Result<Self, Reason> {
        let steps = STEPS.iter().take_while(|next| step != Some(next.name));
        for step in steps {
            (step.run)(&mut self)?;
        }
        Ok(self)
    }

    /// How accesses stay inside of their buffers.
    pub fn accesses(&self) -> Accesses {
        self.checked.accesses
    }

    /// The function as it is now.
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

    /// A step that always works.
    fn edit(&mut self, f: impl FnOnce(&mut Self)) -> Result<(), Reason> {
        f(self);
        Ok(())
    }

    fn rewrite(&mut self, f: impl FnOnce(&mut Self, Stmt) -> Result<Stmt, Reason>) -> Result<(), Reason> {
        let body = std::mem::replace(&mut self.body, Stmt::nop());
        self.body = f(self, body)?;
        Ok(())
    }

    /// Variables that are not negative.
    fn sizes(&self) -> Vec<Var> {
        self.interface.sizes().collect()
    }
}

fn bounded(l: &mut Lowering<'_>) -> Result<(), Reason> {
    if l.options.checked {
        l.checked = bounds::check(&mut l.body, &l.func, l.options.place)?;
    }
    Ok(())
}

fn checks_first(l: &mut Lowering<'_>) -> Result<(), Reason> {
    let first = if l.options.checked { l.interface.checks() } else { Vec::new() };
    let known = &l.checked.limited;
    let more = l.relied.limited.iter().filter(|size| !known.iter().any(|known| same_expr(known, size)));
    let limits = known.iter().chain(more).map(bounds::limit);
    let exact = l.relied.exact.iter().map(|size| Stmt::new(StmtKind::Evaluate(size_overflow::exact(size))));
    let first: Vec<Stmt> = first.into_iter().chain(limits).chain(exact).collect();
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
        let body = flatten::flatten(body, &buffers, &handles, l.interface.values.clone())?;
        Ok(simplify::tidy(remove_blocks::remove_blocks(body), &l.sizes()))
    })
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

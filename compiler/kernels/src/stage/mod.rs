//! What a kernel computes: stages, found in its blocks.
//!
//! [`recover`] reads the blocks of a function back into a [`Kernel`] of [`Stage`]s: axes, one store, a combiner's initial
//! value. Stages are [merged](fuse) where nothing needs to be stored between them, sums leave out
//! [zeros between their data](remove_zero_insertion), find narrow data [widened](hoist_upcast), what they load in steps [side by side](polyphase_layout) and in
//! rows that do not [compete for the cache](pad_leading_dim), and stages [share rows](row_tiling) where each needs only its row of what
//! others computed; numbers that places alone determine are kept in [tables](precompute_tables); axes that memory does not tell apart are
//! [joined](collapse_axes).
//! [`access`] says how stages go through memory. Which loops compute them is not known here: [`rules`](crate::rules) choose
//! a [`plan`](crate::plan).
//!
//! What is not a stage (several stores, branches, loops that the author has already scheduled) is left as it is.

pub mod access;
pub mod arg_reduce;
mod coalesce_elements;
mod collapse_axes;
pub mod dots;
mod effects;
mod fuse;
mod hoist_upcast;
mod pad_leading_dim;
mod parallel_loops;
mod polyphase_layout;
mod precompute_tables;
mod raise;
mod recover_affine_index;
mod remove_zero_insertion;
pub mod row_tiling;
mod split_phases;

use crate::index::same_expr;
use dots::Dot;
pub use effects::Used;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{Buffer, PrimFunc, Stmt},
};
pub use parallel_loops::Other;
pub use raise::is_stage;
use row_tiling::Rows;
use rustc_hash::FxHashSet;

/// What a function computes, part by part, in order.
pub struct Kernel {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of a kernel.
pub enum Part {
    /// A computation whose loops may be chosen.
    Stage(Stage),
    /// Several that run for a few rows at a time.
    Rows(Rows),
    /// Anything else, as written.
    Other(Other),
}

/// One store over a domain.
#[derive(Clone)]
pub struct Stage {
    /// The block's name.
    pub name: String,
    /// Axes, in the order in which reductions combine.
    pub axes: Vec<Axis>,
    /// Where the result goes.
    pub buffer: Buffer,
    /// At which indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// What is stored. A reduction reads the buffer at the same indices.
    pub value: PrimExpr,
    /// What a reduction starts from; `None` to start from what the buffer holds.
    pub init: Option<PrimExpr>,
    /// What is stored in place of the results of a reduction.
    pub epilogue: Option<Epilogue>,
    /// The second result of a search: a reduction to the greatest or least value that also says where this is.
    pub place: Option<Place>,
    /// How many terms of a sum are to be added up by themselves, about, if the block says so.
    pub part: Option<i64>,
    /// True if it reads or writes a region of a buffer under another name: that has no other names than this.
    pub regions: bool,
}

/// What is done with each result of a reduction. Its buffer, the stage's, is in no memory then.
#[derive(Clone)]
pub struct Epilogue {
    /// Where the values go.
    pub buffer: Buffer,
    /// At which indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// What is stored; a load of the stage's buffer is the result.
    pub value: PrimExpr,
}

/// Where a search finds its value: the number of the term, counted along all reduce axes. Of equal values it is the first.
/// The stage's value is the greater (or smaller) of what was found and a term, and says no more of how terms are chosen.
#[derive(Clone)]
pub struct Place {
    /// Where the number goes, at the stage's indices.
    pub buffer: Buffer,
    /// What it is where no term is found.
    pub init: PrimExpr,
    /// True if NaN is found before all other values. Else it is never found.
    pub finds_nan: bool,
    /// True if the value is stored, too.
    pub keeps_value: bool,
}

/// An axis of a stage, from zero.
#[derive(Clone)]
pub struct Axis {
    /// Its variable.
    pub var: Var,
    /// The number of values.
    pub extent: PrimExpr,
    /// True if values combine into one element.
    pub reduce: bool,
}

impl Kernel {
    /// Reads statements of a function, as stages where they are. `own` are the buffers of the kernel, which may get more.
    /// Stages are merged when the function says that its parameters share no memory. `masks`: whether loads under masks cost
    /// no more than others.
    pub fn read(func: &PrimFunc, stmts: Vec<Stmt>, own: &mut Vec<Buffer>, masks: bool) -> Kernel {
        let mut kernel = raise::kernel(stmts);
        if func.is_noalias() {
            for part in &mut kernel.parts {
                if let Part::Other(other) = part {
                    other.look();
                }
            }
            fuse::merge(&mut kernel, own, masks);
            let made = remove_zero_insertion::close(&mut kernel, own);
            if !made.is_empty() {
                own.extend(made);
                fuse::merge(&mut kernel, own, masks);
            }
            own.extend(hoist_upcast::keep(&mut kernel, own));
            own.extend(polyphase_layout::keep(&mut kernel, own));
            own.extend(pad_leading_dim::part(&mut kernel, own));
            row_tiling::share(&mut kernel, own);
        }
        own.extend(precompute_tables::keep(&mut kernel));
        arg_reduce::keep_what_is_read(&mut kernel, own);
        let known: FxHashSet<&Var> = func.buffers().chain(own.iter()).map(|known| &known.data).collect();
        let is_known = |buffer: &Buffer| known.contains(&buffer.data);
        let reads_regions = |stage: &Stage| {
            let region = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer != stage.buffer && !is_known(buffer));
            stage.targets().any(|target| !is_known(target)) || stage.values().any(|value| value.any(&mut |e| region(e)))
        };
        for part in &mut kernel.parts {
            match part {
                Part::Stage(stage) => stage.regions = reads_regions(stage),
                Part::Rows(rows) => {
                    rows.stages.iter_mut().for_each(|stage| stage.regions = reads_regions(stage));
                    rows.place();
                }
                Part::Other(_) => {}
            }
        }
        for part in &mut kernel.parts {
            if let Part::Stage(stage) = part
                && !stage.regions
            {
                collapse_axes::join(stage);
                coalesce_elements::widen(stage);
            }
        }
        kernel
    }
}

impl Stage {
    /// The buffer that it writes to.
    pub fn target(&self) -> &Buffer {
        self.epilogue.as_ref().map_or(&self.buffer, |epilogue| &epilogue.buffer)
    }

    /// The buffers that it writes to.
    pub fn targets(&self) -> impl Iterator<Item = &Buffer> {
        [self.target()].into_iter().chain(self.place.as_ref().map(|place| &place.buffer))
    }

    /// Where it writes.
    pub fn target_indices(&self) -> &[PrimExpr] {
        self.epilogue.as_ref().map_or(&self.indices, |epilogue| &epilogue.indices)
    }

    /// Returns true if elements combine many values.
    pub fn reduces(&self) -> bool {
        self.axes.iter().any(|axis| axis.reduce)
    }

    /// Returns true if it only moves elements: none is computed.
    pub fn moves(&self) -> bool {
        let same = |buffer: &Buffer| buffer.dtype == self.buffer.dtype && buffer.data != self.buffer.data;
        !self.reduces() && matches!(self.value.kind(), PrimKind::Load(buffer, ..) if same(buffer))
    }

    /// A stage that copies what a load of this one reads, for so many values from a position on of the axes that it changes
    /// along. All of one axis may be copied in words.
    pub fn copy_of(
        &self,
        load: &PrimExpr,
        axes: &[usize],
        counts: Vec<PrimExpr>,
        position: &[PrimExpr],
        to: Buffer,
        in_words: Option<(usize, Dot)>,
    ) -> Stage {
        let vars: Vec<Var> = axes.iter().map(|axis| self.axes[*axis].var.fresh()).collect();
        let mut at = position.to_vec();
        for (axis, var) in axes.iter().zip(&vars) {
            at[*axis] = if at[*axis].as_int() == Some(0) { var.expr() } else { &at[*axis] + var.expr() };
        }
        let value = match in_words {
            Some((axis, dot)) => self.words_of(load, axis, dot, at),
            None => load.substitute(&substitution(&self.axes, &at)),
        };
        let own = vars.iter().cloned().zip(counts);
        Stage {
            name: format!("{}_copy", self.name),
            axes: own.map(|(var, extent)| Axis { var, extent, reduce: false }).collect(),
            buffer: to,
            indices: vars.iter().map(Var::expr).collect(),
            value,
            init: None,
            epilogue: None,
            place: None,
            part: None,
            regions: self.regions,
        }
    }

    /// The expressions that it evaluates to values; not the indices at which it stores.
    pub fn values(&self) -> impl Iterator<Item = &PrimExpr> {
        self.init.iter().chain([&self.value]).chain(self.epilogue.iter().map(|epilogue| &epilogue.value))
    }
}

/// The value with every load of the buffer replaced.
pub fn replace_loads(value: &PrimExpr, buffer: &Buffer, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Load(b, ..) if b == buffer => by.clone(),
        _ => value.map_children(&mut |c| replace_loads(c, buffer, by)),
    }
}

/// The value with every load of the buffer's memory replaced by what is made of it.
pub fn map_loads(value: &PrimExpr, buffer: &Buffer, by: &impl Fn(&PrimExpr) -> PrimExpr) -> PrimExpr {
    if access::is_load_of(value, buffer) {
        by(value)
    } else {
        value.map_children(&mut |child| map_loads(child, buffer, by))
    }
}

/// The value with every load that is the same replaced.
pub fn replaced(value: &PrimExpr, load: &PrimExpr, by: &PrimExpr) -> PrimExpr {
    if same_expr(value, load) { by.clone() } else { value.map_children(&mut |child| replaced(child, load, by)) }
}

/// How many steps go through so many values, one for what is left included.
pub fn steps(count: &PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64((count + step - 1) / step),
        None if step == 1 => count.clone(),
        None => (count + PrimExpr::int64(step - 1)).floordiv(PrimExpr::int64(step)),
    }
}

/// The operands of a chain of `and`.
pub fn conjuncts(e: &PrimExpr) -> Vec<PrimExpr> {
    match e.kind() {
        PrimKind::Binary(BinaryOp::And, a, b) => [conjuncts(a), conjuncts(b)].concat(),
        _ => vec![e.clone()],
    }
}

/// Positions for axes.
pub fn substitution(axes: &[Axis], positions: &[PrimExpr]) -> Substitution {
    axes.iter().map(|a| a.var.clone()).zip(positions.iter().cloned()).collect()
}

//! Which loops compute a stage: rules, tried in order. Each says what it matches, what it chooses and why.
//!
//! Rules look at axes and access patterns, never at names, and take symbolic sizes like others.

mod contraction;
mod dot_product;
mod elementwise;
mod opaque;
mod reductions;
mod row_tiling;
mod split_reduction;
mod transpose;
mod window;

use crate::{
    Target,
    plan::{Loop, LoopKind, PartPlan, Plan, StagePlan, Staged, duration},
    stage::{Kernel, Other, Part, Stage, Used, access::common_divisor},
};
pub use contraction::{product_columns, product_rows};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
    tir::Buffer,
};
pub use row_tiling::plan as rows_plan;

/// Cycles below which a kernel stays on one thread: about 4 µs, eight times what a parallel region costs where its threads
/// are awake (`benches/regions.rs` of the runtime).
const WORTH: i64 = 16_000;
/// Cycles that are worth a thread's time, of a kernel that takes longer.
const GRAIN: i64 = 4_000;
/// Iterations that divide well among threads.
const ENOUGH: i64 = 64;
/// What a symbolic extent is taken for when work is estimated.
pub const TYPICAL: i64 = 64;
/// The part of a cache that what is used again has to itself.
const SHARE: u64 = 4;
/// The most lanes of a vector in the lowering.
pub const MAX_LANES: i64 = 64;

/// A way to compute stages of one kind.
pub struct Rule {
    /// Its name, in plans.
    pub name: &'static str,
    /// What the stages that it is for are called.
    pub class: &'static str,
    /// Why it is chosen for them, in a few words.
    pub why: &'static str,
    /// Which stages it is for, what it chooses, and why.
    pub doc: &'static str,
    /// The loops, outermost first and without threads, of a stage that it is for.
    plan: fn(&Stage, &Choice) -> Option<Loops>,
}

/// What a rule chooses.
struct Loops {
    loops: Vec<Loop>,
    staged: Vec<Staged>,
}

impl From<Vec<Loop>> for Loops {
    fn from(loops: Vec<Loop>) -> Loops {
        Loops { loops, staged: Vec::new() }
    }
}

/// What rules may choose from.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// The machine.
    pub target: &'a Target,
    /// True if reductions combine their terms in the order in which they are written.
    pub strict_order: bool,
}

impl Choice<'_> {
    /// Bytes that stay in a core's nearest cache while others pass through it.
    fn nearest(&self) -> i64 {
        (self.target.caches.l1 / SHARE) as i64
    }

    /// Bytes that stay in it while little else is used.
    fn all_of_nearest(&self) -> i64 {
        (self.target.caches.l1 / 4 * 3) as i64
    }

    /// The same as [`Choice::nearest`] for its second cache.
    fn cache(&self) -> i64 {
        (self.target.caches.l2 / SHARE) as i64
    }
}

/// All rules, in the order in which they are tried.
pub static RULES: [&Rule; 11] = [
    &dot_product::RULE,
    &contraction::PACKED,
    &contraction::OUTER,
    &contraction::INNER,
    &reductions::LANES_OF_RESULTS,
    &reductions::LANES_OF_TERMS,
    &reductions::SPACED,
    &reductions::SIDE_BY_SIDE,
    &transpose::RULE,
    &elementwise::CASES,
    &elementwise::RULE,
];

/// A plan for every part of a kernel.
pub fn choose(kernel: &Kernel, choice: Choice) -> Plan {
    let part = |part: &Part| match part {
        Part::Stage(stage) => PartPlan::Stage(stage_plan(stage, choice)),
        Part::Rows(rows) => PartPlan::Rows(row_tiling::plan(rows, choice, None)),
        Part::Other(other) => other_plan(other),
    };
    Plan { parts: kernel.parts.iter().map(part).collect() }
}

/// How a buffer is packed before a kernel uses it.
#[derive(Clone, Debug)]
pub struct Packing {
    /// The buffer.
    pub buffer: Buffer,
    /// Its dimension that is divided into blocks.
    pub dim: usize,
    /// How many elements a block has.
    pub block: i64,
    /// Whether several elements of another dimension lie side by side.
    pub words: Option<PackedWords>,
}

/// How terms of sums are packed in words.
#[derive(Clone, Copy, Debug)]
pub struct PackedWords {
    /// The dimension of the terms.
    pub dim: usize,
    /// How many a word has.
    pub terms: i64,
    /// True if the other factor is worth [moving](crate::stage::dots::Factor::moved) then.
    pub moved: bool,
}

/// What is worth packing before a kernel runs, if it reads it nowhere else.
pub fn packings(kernel: &Kernel, choice: Choice) -> Vec<Packing> {
    let of_stage =
        |stage: &Stage| dot_product::packing(stage, &choice).or_else(|| contraction::packing(stage, &choice));
    // Of stages that share rows, each is looked at as it is for the rows that run together.
    let stages = |part: &Part| match part {
        Part::Stage(stage) => vec![stage.clone()],
        Part::Rows(rows) => {
            rows.sample(row_tiling::plan(rows, choice, None).tiles.first().map_or(1, |tile| tile.0)).stages
        }
        Part::Other(_) => Vec::new(),
    };
    let all: Vec<Stage> = kernel.parts.iter().flat_map(stages).collect();
    let others = kernel.parts.iter().filter(|part| matches!(part, Part::Other(_)));
    let used: Vec<Used> = all.iter().map(Used::by_stage).chain(others.map(Used::by)).collect();
    let once = |found: &Packing| used.iter().filter(|used| used.has(&found.buffer)).count() == 1;
    all.iter().filter_map(of_stage).filter(once).collect()
}

/// The plan of statements that are no stage.
pub fn other_plan(other: &Other) -> PartPlan {
    PartPlan::AsWritten(opaque::spread(other))
}

/// The plan of the first rule that is for a stage.
pub fn stage_plan(stage: &Stage, choice: Choice) -> StagePlan {
    stage_plans(stage, choice).next().unwrap_or_else(|| unreachable!("the last rule is for every stage"))
}

/// The plans of all rules that are for a stage.
pub fn stage_plans<'a>(stage: &'a Stage, choice: Choice<'a>) -> impl Iterator<Item = StagePlan> + 'a {
    serial_plans(stage, choice).map(move |mut plan| {
        spread(&mut plan, stage, choice.target);
        plan.inverts = inverts(&plan, stage, choice);
        plan
    })
}

/// The plan of a stage inside of loops that are spread over threads.
pub fn inner_plan(stage: &Stage, choice: Choice) -> StagePlan {
    let plan = serial_plans(stage, choice).next();
    let mut plan = plan.unwrap_or_else(|| unreachable!("the last rule is for every stage"));
    plan.inverts = inverts(&plan, stage, choice);
    plan
}

/// What each rule that is for a stage chooses.
fn serial_plans<'a>(stage: &'a Stage, choice: Choice<'a>) -> impl Iterator<Item = StagePlan> + 'a {
    let chosen = RULES.iter().filter_map(move |rule| Some((rule, (rule.plan)(stage, &choice)?)));
    chosen.map(move |(rule, Loops { loops, staged })| {
        let mut plan = StagePlan { rule: rule.name, loops, staged, inverts: false };
        split_reduction::divide(&mut plan, stage, &choice);
        plan
    })
}

/// Returns true if a division for each of several vectors becomes one for all: a division costs as much as ten
/// products. Not with
/// --strict-order, for results differ in the last place.
fn inverts(plan: &StagePlan, stage: &Stage, choice: Choice) -> bool {
    let Some(axis) = plan.vector().map(|l| l.axis) else { return false };
    let repeats = stage.axes[axis].extent.as_int().is_none_or(|n| n >= 4 * register_lanes(stage, choice.target));
    let known = common_divisor(stage, axis).and_then(|divisor| plan.known(stage, divisor));
    !choice.strict_order && plan.staged.is_empty() && repeats && known.is_some()
}

/// Spreads the outermost loops over threads, where there is work for them.
fn spread(plan: &mut StagePlan, stage: &Stage, target: &Target) {
    let inside = plan.staged.iter().map(|staged| staged.inside);
    let again = |n: &usize| plan.loops[..*n].iter().any(|l| l.axis == plan.loops[*n].axis);
    let reduces = plan.loops.iter().position(|l| stage.axes[l.axis].reduce);
    let most = inside.chain((0..plan.loops.len()).find(again)).chain(reduces).fold(plan.tile(stage), usize::min);
    let counts: Vec<Count> = plan.loops[..most].iter().map(|l| Count::of(&stage.axes[l.axis].extent, l.step)).collect();
    if let Some((last, grain)) = parallel(&counts, duration(stage, plan, target), is_symbolic(stage)) {
        plan.loops[last].kind = LoopKind::Parallel(grain);
    }
}

/// The number of iterations of a loop.
struct Count {
    about: i64,
    /// Of a size that is not known there may be one.
    least: i64,
}

impl Count {
    /// Steps along an axis, one for what is left included.
    fn of(extent: &PrimExpr, step: i64) -> Count {
        let steps = |extent: i64| ((extent + step - 1) / step).max(1);
        match extent.as_int() {
            Some(extent) => Count { about: steps(extent), least: steps(extent) },
            None => Count { about: steps(size(extent)).max(2), least: 1 },
        }
    }
}

/// Which loop is spread over threads, together with those around it: the outermost with several iterations, and further ones
/// until there are enough for many threads to have the same. And how many iterations are worth a thread. None if the time,
/// in cycles, is not, and known.
fn parallel(counts: &[Count], time: i64, symbolic: bool) -> Option<(usize, i64)> {
    if !symbolic && time < WORTH {
        return None;
    }
    let (mut all, mut each, mut last) = (1i64, time, None);
    for (number, count) in counts.iter().enumerate() {
        if last.is_some() && (all >= ENOUGH || each <= GRAIN / 4) {
            break;
        }
        all = all.saturating_mul(count.least);
        each /= count.about;
        last = if count.about == 1 { last } else { Some(number) };
    }
    last.map(|last| (last, (GRAIN / each.max(1)).max(1)))
}

/// Returns true if some size of a stage is not known.
fn is_symbolic(stage: &Stage) -> bool {
    stage.axes.iter().any(|axis| axis.extent.as_int().is_none())
}

/// How many at a time, if all are to be worked on in blocks of about the same size.
fn evenly(count: i64, most: i64) -> i64 {
    let blocks = (count + most - 1) / most;
    ((count + blocks - 1) / blocks.max(1)).max(1)
}

/// The most of so many lanes whose vectors do not cross the ends of blocks.
fn within_block(lanes: i64, block: i64) -> i64 {
    (1..=lanes).rev().find(|lanes| block % lanes == 0).unwrap_or(1)
}

/// About how many values there are: one at least.
pub fn size(extent: &PrimExpr) -> i64 {
    match extent.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => size(a).saturating_mul(size(b)),
        _ => extent.as_int().unwrap_or(TYPICAL).max(1),
    }
}

/// How many elements one register holds. Masks and comparisons of small elements would fill a register many times over:
/// elements that are not only moved count four bytes at least.
pub fn register_lanes(stage: &Stage, target: &Target) -> i64 {
    let least = if stage.moves() { 1 } else { 4 };
    let bytes = stage.buffer.dtype.bytes().max(least) as i64;
    (i64::from(target.vector_bytes) / bytes).clamp(1, MAX_LANES)
}

/// How many lanes: so many registers' worth, no more than the axis has; none when there would be one.
fn lanes(stage: &Stage, axis: usize, registers: i64, target: &Target) -> Option<i64> {
    let one = register_lanes(stage, target);
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES);
    let lanes = (one * registers).min(MAX_LANES).min(most);
    // A part of one register may have any length; several registers are filled whole.
    let lanes = if lanes > one { 1 << lanes.ilog2() } else { lanes };
    (lanes >= 2).then_some(lanes)
}

/// The numbers of a stage's spatial axes.
fn spatial(stage: &Stage) -> impl DoubleEndedIterator<Item = usize> {
    (0..stage.axes.len()).filter(|at| !stage.axes[*at].reduce)
}

/// Loops over the reduce axes.
fn reduced(stage: &Stage) -> impl Iterator<Item = Loop> {
    (0..stage.axes.len()).filter(|at| stage.axes[*at].reduce).map(Loop::serial)
}

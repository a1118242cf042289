//! What is expected of a plan, next to the limit: a model of a core in a few numbers, said in the remarks of printed plans.
//!
//! The *limit* of a stage is the longer of two times: that of its operations, as many in a cycle as all vector units have
//! lanes, and that of its bytes, each read or written once, from the cache that holds all of them or from memory. What is
//! *predicted* counts the vectors of the plan's loops instead: operations, loads (two in a cycle), stores (one), and the
//! four cycles that a sum waits for the one before it. Sizes that are not known are taken for 64. Threads do not matter:
//! they change both times alike. The overhead of loops, and caches between the loops, are left out.

use super::{Loop, LoopKind, PartPlan, Plan, RowsPlan, StagePlan};
use crate::{
    Target,
    rules::{self, RULES, register_lanes},
    stage::{
        Kernel, Part, Stage,
        access::{factors, in_margin, is_contiguous, loads, spacing},
        dots,
        row_tiling::Rows,
    },
};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};

/// Loads in a cycle.
const LOADS: f64 = 2.0;
/// How often as long as a vector takes one of a block that is transposed.
const CROSSING: f64 = 6.0;
/// Cycles from an addition to its result.
const LATENCY: f64 = 4.0;
/// Operations of a search for each term, besides that it takes the greater: another comparison, the number of the term, and
/// what chooses that.
const SEARCH: f64 = 3.0;
/// Bytes in a cycle from a core's second cache, and from the last one.
const NEAR: f64 = 32.0;
const SHARED: f64 = 16.0;

/// A remark about a stage's plan.
pub fn stage(stage: &Stage, plan: &StagePlan, target: &Target) -> String {
    let mut traffic = Traffic::default();
    traffic.add(stage, &|_| false);
    let work = Work { operations: operations(stage, target), cycles: cycles(stage, plan, target) };
    let rule = RULES.iter().find(|rule| rule.name == plan.rule);
    let (class, why) = rule.map_or(("stage", "by hand"), |rule| (rule.class, rule.why));
    let lanes = lanes(stage, target) * at_once(stage, target);
    format!("{class}: {why}; {}", work.remark(traffic.bytes(), lanes, target))
}

/// A remark about the plan of stages that share rows.
pub fn rows(rows: &Rows, plan: &RowsPlan, target: &Target) -> String {
    let (traffic, work) = of_rows(rows, plan, target);
    let lanes = rows.stages.iter().map(|stage| lanes(stage, target)).fold(1.0, f64::max);
    format!("rows: each stage finds what others hand on in the cache; {}", work.remark(traffic.bytes(), lanes, target))
}

/// What stages that share rows read and write, and do.
fn of_rows(rows: &Rows, plan: &RowsPlan, target: &Target) -> (Traffic, Work) {
    let (copying, _) = rows.copies(plan);
    let (mut traffic, mut work) = (Traffic::default(), Work::default());
    for stage in &rows.stages {
        traffic.add(stage, &|buffer| rows.is_kept(buffer));
        work.operations += operations(stage, target);
    }
    let (count, plans) = plan.tiles.first().map_or((1, &[][..]), |(count, plans)| (*count, plans));
    for ((stage, whole), plan) in copying.sample(count).stages.iter().zip(&rows.stages).zip(plans) {
        work.cycles += cycles(stage, plan, target) * elements(whole) / elements(stage).max(1.0);
    }
    (traffic, work)
}

/// About how many cycles a stage takes on one thread.
pub fn duration(stage: &Stage, plan: &StagePlan, target: &Target) -> i64 {
    let mut traffic = Traffic::default();
    traffic.add(stage, &|_| false);
    cycles(stage, plan, target).max(streamed(traffic.bytes(), target)) as i64
}

/// About how many cycles a kernel takes on one thread; none for parts that are no stages.
pub fn cost(plan: &Plan, kernel: &Kernel, target: &Target) -> f64 {
    let of_part = |(plan, part): (&PartPlan, &Part)| match (plan, part) {
        (PartPlan::Stage(plan), Part::Stage(stage)) => duration(stage, plan, target) as f64,
        (PartPlan::Rows(plan), Part::Rows(rows)) => of_rows(rows, plan, target).1.cycles,
        _ => 0.0,
    };
    plan.parts.iter().zip(&kernel.parts).map(of_part).sum()
}

/// Operations of an algorithm, and the cycles that a plan takes for them.
#[derive(Default)]
struct Work {
    operations: f64,
    cycles: f64,
}

impl Work {
    fn remark(&self, bytes: f64, lanes: f64, target: &Target) -> String {
        let (arithmetic, memory) = (self.operations / (lanes * f64::from(target.fma_ports)), streamed(bytes, target));
        let (limit, what) = if arithmetic > memory { (arithmetic, "arithmetic") } else { (memory, "memory") };
        let share = limit / self.cycles.max(limit).max(1e-9) * 100.0;
        let (operations, bytes) = (amount(self.operations), amount(bytes));
        format!("{operations} operations, {bytes} bytes; {share:.0} % of the limit, {what}")
    }
}

/// The cycles in which so many bytes come from the cache that holds them all, or from memory.
fn streamed(bytes: f64, target: &Target) -> f64 {
    let speed = match bytes as u64 {
        bytes if bytes <= target.caches.l2 => NEAR,
        bytes if bytes <= target.caches.l3 => SHARED,
        _ => f64::from(target.memory_bytes),
    };
    bytes / speed
}

/// A number in few digits.
fn amount(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{:.1}G", value / 1e9),
        _ if value >= 1e6 => format!("{:.1}M", value / 1e6),
        _ if value >= 1e3 => format!("{:.1}k", value / 1e3),
        _ => format!("{value:.0}"),
    }
}

/// Buffers, with the bytes of each that are read or written.
#[derive(Default)]
struct Traffic {
    buffers: Vec<(Buffer, f64)>,
}

impl Traffic {
    /// Adds what a stage reads and writes, but for buffers that stay in caches.
    fn add(&mut self, stage: &Stage, stays: &dyn Fn(&Buffer) -> bool) {
        for load in loads(stage) {
            if let PrimKind::Load(buffer, indices, _) = load.kind() {
                self.touch(stage, buffer, indices, stays);
            }
        }
        self.touch(stage, stage.target(), stage.target_indices(), stays);
        if let Some(place) = &stage.place {
            self.touch(stage, &place.buffer, &stage.indices, stays);
        }
    }

    fn touch(&mut self, stage: &Stage, buffer: &Buffer, indices: &[PrimExpr], stays: &dyn Fn(&Buffer) -> bool) {
        if stays(buffer) {
            return;
        }
        let used = stage.axes.iter().filter(|axis| indices.iter().any(|index| index.uses(&axis.var)));
        let reached: f64 = used.map(|axis| size(&axis.extent)).product();
        let whole: f64 = buffer.shape.iter().map(size).product();
        let bytes = reached.min(whole) * buffer.dtype.bytes() as f64;
        match self.buffers.iter_mut().find(|(known, _)| known == buffer) {
            Some((_, most)) => *most = most.max(bytes),
            None => self.buffers.push((buffer.clone(), bytes)),
        }
    }

    fn bytes(&self) -> f64 {
        self.buffers.iter().map(|(_, bytes)| bytes).sum()
    }
}

fn size(extent: &PrimExpr) -> f64 {
    if extent.as_int() == Some(0) { 0.0 } else { rules::size(extent) as f64 }
}

fn elements(stage: &Stage) -> f64 {
    stage.axes.iter().map(|axis| size(&axis.extent)).product()
}

/// How many elements a stage stores.
fn results(stage: &Stage) -> f64 {
    stage.axes.iter().filter(|axis| !axis.reduce).map(|axis| size(&axis.extent)).product()
}

fn lanes(stage: &Stage, target: &Target) -> f64 {
    register_lanes(stage, target) as f64
}

/// The operations of a stage.
fn operations(stage: &Stage, target: &Target) -> f64 {
    let after = stage.epilogue.as_ref().map_or(0.0, |epilogue| of_value(&epilogue.value));
    elements(stage) * of_element(stage, target) + results(stage) * after
}

/// How many terms a lane takes at once: several of a dot product.
fn at_once(stage: &Stage, target: &Target) -> f64 {
    dots::dot(stage).filter(|dot| dot.is_for(target, false)).map_or(1.0, |dot| dot.terms() as f64)
}

/// The operations of an element; a product that is added to a sum is one where the target has that.
fn of_element(stage: &Stage, target: &Target) -> f64 {
    if dots::dot(stage).is_some_and(|dot| dot.is_for(target, false)) {
        return 1.0;
    }
    let fused = target.fma && factors(stage).is_some();
    let search = if stage.place.is_some() { SEARCH } else { 0.0 };
    of_value(&stage.value) + search - if fused { 1.0 } else { 0.0 }
}

/// The operations of a value, not those of its indices, nor of what says whether a place is in a margin.
pub fn of_value(value: &PrimExpr) -> f64 {
    if in_margin(value) {
        return 0.0;
    }
    let own = match value.kind() {
        PrimKind::Load(..) => return 0.0,
        PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) => 0.0,
        PrimKind::Call(call) => f64::from(call.cost()),
        _ => 1.0,
    };
    let mut all = own;
    value.each_child(&mut |child| all += of_value(child));
    all
}

/// The cycles that a plan takes.
fn cycles(stage: &Stage, plan: &StagePlan, target: &Target) -> f64 {
    let tile = plan.tile(stage);
    let register = lanes(stage, target);
    let extent = |axis: usize| size(&stage.axes[axis].extent);
    let in_tile =
        |axis: usize| plan.range(axis, tile).map_or(extent(axis), |range| extent(axis).min(range as f64)).max(1.0);
    let is_row = |l: &Loop| l.kind == LoopKind::Unrolled && !stage.axes[l.axis].reduce;
    let unrolled = |axis: usize| plan.loops.iter().any(|l| l.axis == axis && is_row(l));
    let vector = plan.vector().map(|l| l.axis);
    let width = vector.map_or(1.0, |axis| match stage.axes[axis].reduce {
        true => plan.at_once(axis) as f64,
        false => in_tile(axis),
    });
    let rows: f64 = (0..stage.axes.len()).filter(|axis| unrolled(*axis)).map(in_tile).product();
    let vectors = (width / register).ceil();
    let dot = plan.dot().and_then(|l| Some((l.axis, dots::dot(stage)?)));
    let of_load = |load: &&PrimExpr| {
        let words = dot.and_then(|(terms, dot)| stage.packed_words(load, terms, dot));
        let load = words.as_ref().unwrap_or(*load);
        let sides = (0..stage.axes.len()).filter(|axis| unrolled(*axis) && load.uses(&stage.axes[*axis].var));
        let sides: f64 = sides.map(in_tile).product();
        sides
            * match vector.map(|axis| &stage.axes[axis].var) {
                Some(var) if !load.uses(var) => 1.0,
                Some(var) if is_contiguous(load, var) => vectors,
                Some(var) if spacing(load, var).is_some() => vectors * spacing(load, var).map_or(1, i64::abs) as f64,
                Some(_) if plan.crosses(stage, load) => vectors * CROSSING,
                _ => width,
            }
    };
    let loads = loads(stage);
    let copied = |number: usize| plan.staged.iter().any(|staged| staged.load == number || staged.load >= loads.len());
    let loaded: f64 = loads.iter().enumerate().map(|(n, load)| if copied(n) { vectors } else { of_load(load) }).sum();
    let (stored, waited) = if stage.reduces() { (0.0, LATENCY) } else { (rows * vectors, 0.0) };
    let computed = rows * vectors * of_element(stage, target) / f64::from(target.fma_ports);
    let step = [computed, loaded / LOADS, stored, waited].into_iter().fold(0.0, f64::max);
    let step = if plan.dot().is_some() { step / at_once(stage, target) } else { step };
    // What is left of an axis at the end takes vectors that are not full.
    let filled = vector.map_or(1.0, |axis| {
        let (whole, left) = ((extent(axis) / width).floor(), extent(axis) % width);
        (whole * vectors + (left / register).ceil()) * width / (extent(axis).max(1.0) * vectors)
    });
    elements(stage) / (rows * width) * step * filled.max(1.0) + copies(stage, plan, register)
}

/// The cycles that copies take: an element is loaded and stored, in vectors if the copy has them.
fn copies(stage: &Stage, plan: &StagePlan, register: f64) -> f64 {
    let iterations = |number: usize| {
        let l = &plan.loops[number];
        let range = plan.range(l.axis, number).map_or(size(&stage.axes[l.axis].extent), |range| range as f64);
        (range / l.step as f64).ceil()
    };
    let of = |staged: &super::Staged| {
        let times: f64 = (0..staged.inside).map(iterations).product();
        let lanes = if staged.copy.vector().is_some() { register } else { 1.0 };
        times * elements(&plan.copy_of(stage, staged)) * 2.0 / lanes
    };
    plan.staged.iter().map(of).sum()
}

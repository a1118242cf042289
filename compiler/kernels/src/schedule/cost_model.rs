//! Cost model of plans: a roofline and a predicted time, printed as remarks in plans.
//!
//! The *roofline* of a stage is the longer of two times: its operations at full vector throughput, and its compulsory
//! memory traffic, at the bandwidth of the innermost cache that holds all its data, or of memory. The *prediction*
//! counts the vector instructions of the plan's loops: operations, loads (two per cycle), stores (one), and a latency
//! of four cycles for dependent accumulations. Dynamic extents are [assumed](hammock_target::dynamic_extent::WORK).
//! Threads are ignored, since they scale both times. Loop overhead and cache effects between loops are not modelled.

use super::{Loop, LoopKind, PartPlan, Plan, RowsPlan, StagePlan, cpu::register_lanes};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_loopnest::{
    Kernel, Part, Stage,
    access::{self, contraction_operands, is_contiguous, is_padded_load, load_stride, loads},
    dots,
    row_tiling::Rows,
};
use hammock_target::{
    Target,
    assumed_machine::{ADD_LATENCY, L2_BANDWIDTH, L3_BANDWIDTH, LOADS_PER_CYCLE},
};

/// Relative cost of a vector of a transposed block.
const TRANSPOSE_COST: f64 = 6.0;
/// Additional operations of an arg-reduction for each element: a comparison, the index, and a select.
const ARG_REDUCE_OPS: f64 = 3.0;

/// Formats the cost of a stage's plan.
pub fn stage_remark(stage: &Stage, plan: &StagePlan, target: &Target) -> String {
    let mut traffic = Traffic::default();
    traffic.add(stage, &|_| false);
    let work = Work { operations: stage_ops(stage, target), cycles: cycles(stage, plan, target) };
    let lanes = lanes(stage, target) * reduction_step(stage, target);
    work.remark(traffic.bytes(), lanes, target)
}

/// Formats the cost of a plan of row-tiled stages.
pub fn rows_remark(rows: &Rows, plan: &RowsPlan, target: &Target) -> String {
    let (traffic, work) = rows_work(rows, plan, target);
    let lanes = rows.stages.iter().map(|stage| lanes(stage, target)).fold(1.0, f64::max);
    work.remark(traffic.bytes(), lanes, target)
}

/// Returns the traffic and work of row-tiled stages.
fn rows_work(rows: &Rows, plan: &RowsPlan, target: &Target) -> (Traffic, Work) {
    let (copying, _) = plan.with_copies(rows);
    let (mut traffic, mut work) = (Traffic::default(), Work::default());
    for stage in &rows.stages {
        traffic.add(stage, &|buffer| rows.is_intermediate(buffer));
        work.operations += stage_ops(stage, target);
    }
    let (count, plans) = plan.tiles.first().map_or((1, &[][..]), |(count, plans)| (*count, plans));
    for ((stage, whole), own) in plan.sample(&copying, count).iter().zip(plan.stages(rows)).zip(plans) {
        work.cycles += cycles(stage, own, target) * elements(&whole) / elements(stage).max(1.0);
    }
    (traffic, work)
}

/// Estimates the single-threaded cycles of a stage.
pub fn duration(stage: &Stage, plan: &StagePlan, target: &Target) -> i64 {
    let mut traffic = Traffic::default();
    traffic.add(stage, &|_| false);
    cycles(stage, plan, target).max(transfer_cycles(traffic.bytes(), target)) as i64
}

/// Estimates the single-threaded cycles of a kernel; opaque parts count as zero.
pub fn cost(plan: &Plan, kernel: &Kernel, target: &Target) -> f64 {
    let of_part = |(plan, part): (&PartPlan, &Part)| match (plan, part) {
        (PartPlan::Stage(plan), Part::Stage(stage)) => duration(stage, plan, target) as f64,
        (PartPlan::Rows(plan), Part::Rows(rows)) => rows_work(rows, plan, target).1.cycles,
        _ => 0.0,
    };
    plan.parts.iter().zip(&kernel.parts).map(of_part).sum()
}

/// Operations of an algorithm, and the predicted cycles of a plan.
#[derive(Default)]
struct Work {
    operations: f64,
    cycles: f64,
}

impl Work {
    fn remark(&self, bytes: f64, lanes: f64, target: &Target) -> String {
        let (arithmetic, memory) =
            (self.operations / (lanes * f64::from(target.fma_ports)), transfer_cycles(bytes, target));
        let (limit, what) = if arithmetic > memory { (arithmetic, "compute-bound") } else { (memory, "memory-bound") };
        let share = limit / self.cycles.max(limit).max(1e-9) * 100.0;
        let (operations, bytes) = (format_amount(self.operations), format_amount(bytes));
        format!("{operations} operations, {bytes} bytes; {share:.0} % of the roofline, {what}")
    }
}

/// Returns the cycles to transfer bytes from the cache that holds them all, or from memory.
fn transfer_cycles(bytes: f64, target: &Target) -> f64 {
    let speed = match bytes as u64 {
        bytes if bytes <= target.caches.l2 => L2_BANDWIDTH,
        bytes if bytes <= target.caches.l3 => L3_BANDWIDTH,
        _ => f64::from(target.memory_bytes),
    };
    bytes / speed
}

/// Formats a number with few digits.
fn format_amount(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{:.1}G", value / 1e9),
        _ if value >= 1e6 => format!("{:.1}M", value / 1e6),
        _ if value >= 1e3 => format!("{:.1}k", value / 1e3),
        _ => format!("{value:.0}"),
    }
}

/// Bytes read or written of each buffer.
#[derive(Default)]
struct Traffic {
    buffers: Vec<(Buffer, f64)>,
}

impl Traffic {
    /// Adds the traffic of a stage, except for buffers that stay in cache.
    fn add(&mut self, stage: &Stage, stays: &dyn Fn(&Buffer) -> bool) {
        for load in loads(stage) {
            if let PrimKind::Load(buffer, indices, _) = load.kind() {
                self.touch(stage, buffer, indices, stays);
            }
        }
        self.touch(stage, stage.target(), stage.target_indices(), stays);
        if let Some(arg) = &stage.arg_result {
            self.touch(stage, &arg.buffer, &stage.indices, stays);
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
    if extent.as_int() == Some(0) { 0.0 } else { access::size(extent) as f64 }
}

fn elements(stage: &Stage) -> f64 {
    stage.axes.iter().map(|axis| size(&axis.extent)).product()
}

/// Returns the number of elements that a stage stores.
fn results(stage: &Stage) -> f64 {
    stage.axes.iter().filter(|axis| !axis.reduce).map(|axis| size(&axis.extent)).product()
}

fn lanes(stage: &Stage, target: &Target) -> f64 {
    register_lanes(stage, target) as f64
}

/// Counts the operations of a stage.
fn stage_ops(stage: &Stage, target: &Target) -> f64 {
    let after = stage.epilogue.as_ref().map_or(0.0, |epilogue| value_ops(&epilogue.value));
    elements(stage) * element_ops(stage, target) + results(stage) * after
}

/// Returns the elements that a lane reduces at once: the group size of a dot instruction.
fn reduction_step(stage: &Stage, target: &Target) -> f64 {
    dots::dot(stage).filter(|dot| dots::is_supported(*dot, target, false)).map_or(1.0, |dot| dot.group_size() as f64)
}

/// Counts the operations of an element; a fused multiply-add is one.
fn element_ops(stage: &Stage, target: &Target) -> f64 {
    if dots::dot(stage).is_some_and(|dot| dots::is_supported(dot, target, false)) {
        return 1.0;
    }
    let fused = target.fma && contraction_operands(stage).is_some();
    let search = if stage.arg_result.is_some() { ARG_REDUCE_OPS } else { 0.0 };
    value_ops(&stage.value) + search - if fused { 1.0 } else { 0.0 }
}

/// Counts the operations of a value, excluding indices and padding checks.
pub fn value_ops(value: &PrimExpr) -> f64 {
    if is_padded_load(value) {
        return 0.0;
    }
    let own = match value.kind() {
        PrimKind::Load(..) => return 0.0,
        PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) => 0.0,
        PrimKind::Call(call) => f64::from(call.cost()),
        _ => 1.0,
    };
    let mut all = own;
    value.each_child(&mut |child| all += value_ops(child));
    all
}

/// Predicts the cycles of a plan.
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
        true => plan.reduction_step(axis) as f64,
        false => in_tile(axis),
    });
    let rows: f64 = (0..stage.axes.len()).filter(|axis| unrolled(*axis)).map(in_tile).product();
    let vectors = (width / register).ceil();
    let dot = plan.dot().and_then(|l| Some((l.axis, dots::dot(stage)?)));
    let of_load = |load: &&PrimExpr| {
        let groups = dot.and_then(|(terms, dot)| stage.packed_load(load, terms, dot));
        let load = groups.as_ref().unwrap_or(*load);
        let sides = (0..stage.axes.len()).filter(|axis| unrolled(*axis) && load.uses(&stage.axes[*axis].var));
        let sides: f64 = sides.map(in_tile).product();
        sides
            * match vector.map(|axis| &stage.axes[axis].var) {
                Some(var) if !load.uses(var) => 1.0,
                Some(var) if is_contiguous(load, var) => vectors,
                Some(var) if load_stride(load, var).is_some() => {
                    vectors * load_stride(load, var).map_or(1, i64::abs) as f64
                }
                Some(_) if plan.transposes(stage, load) => vectors * TRANSPOSE_COST,
                _ => width,
            }
    };
    let loads = loads(stage);
    let copied = |number: usize| plan.staged.iter().any(|staged| staged.load == number || staged.load >= loads.len());
    let loaded: f64 = loads.iter().enumerate().map(|(n, load)| if copied(n) { vectors } else { of_load(load) }).sum();
    let (stored, waited) = if stage.reduces() { (0.0, ADD_LATENCY) } else { (rows * vectors, 0.0) };
    let computed = rows * vectors * element_ops(stage, target) / f64::from(target.fma_ports);
    let step = [computed, loaded / LOADS_PER_CYCLE, stored, waited].into_iter().fold(0.0, f64::max);
    let step = if plan.dot().is_some() { step / reduction_step(stage, target) } else { step };
    // Tails use partial vectors.
    let filled = vector.map_or(1.0, |axis| {
        let (whole, left) = ((extent(axis) / width).floor(), extent(axis) % width);
        (whole * vectors + (left / register).ceil()) * width / (extent(axis).max(1.0) * vectors)
    });
    elements(stage) / (rows * width) * step * filled.max(1.0) + copy_cycles(stage, plan, register)
}

/// Predicts the cycles of copies: a load and a store for each element or vector.
fn copy_cycles(stage: &Stage, plan: &StagePlan, register: f64) -> f64 {
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

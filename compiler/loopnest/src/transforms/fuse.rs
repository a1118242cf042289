//! Fusion of stages within a kernel.
//!
//! A kernel of several stages has a buffer between each two of them. If every value of such a buffer is computed
//! independently, consumers compute it where they read it (*inlining*). If it is the result of a reduction with one
//! element-wise consumer, the reduction applies the consumer before its store (an *epilogue*). Neither is done where it
//! would prevent vectorization or recompute much.
//!
//! Only buffers local to the kernel are removed, and only if the kernel's parameters do not alias.

use crate::{
    Axis, Cost, Epilogue, Footprint, Kernel, Machine, Part, Stage,
    access::{self, contraction_operands, is_load_of, reduction_vector_axis, vector_axis},
    consumers::{computes_whole_buffer, has_side_effects, is_unit_index, makes_checks},
    dots,
    index::{is_same_extent, same_expr},
    substitution,
    transforms::{Transform, split_group_axes},
    zero_insertion,
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var, check},
    tir::Buffer,
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "fuse",
    doc: "Inlines producers into their consumers, and attaches epilogues to reductions",
    may_alias: false,
    suits_gpus: true,
    run: |kernel, scope| apply(kernel, scope.own, scope.machine),
};

/// Maximum operations that are recomputed rather than stored: about the cost of a load and a store.
const MAX_RECOMPUTED_OPS: u32 = 8;
/// Minimum uses of each element of a contraction's operand that is computed before it. In attention, a multiplication of
/// queries before the first matmul took a quarter of its time.
const MIN_OPERAND_USES: i64 = 16;
/// Minimum uses of each element of the other operand: with fewer, reading it takes most of the time.
const MIN_OTHER_USES: i64 = 4;
/// Maximum rows of a contraction by matrices that are read where they are, although more rows would pack them.
const MAX_GATHERED_ROWS: i64 = 16;
/// Maximum operations of a fused stage; above, avoiding a store gains nothing.
const MAX_FUSED_OPS: u32 = 600;
/// Maximum taps of a small window, and maximum length of a short row of results.
const MAX_TAPS: i64 = 9;
const MAX_SHORT_ROW: i64 = 64;

/// Fuses the stages of a kernel. `own` are its local buffers.
pub fn apply(kernel: &mut Kernel, own: &[Buffer], machine: Machine) {
    let mut used: Vec<Footprint> = kernel.parts.iter().map(Footprint::of_part).collect();
    // Epilogue candidates are fused among themselves before the reduction takes them in.
    for reductions in [false, true] {
        let mut at = 0;
        while at < kernel.parts.len() {
            let fits =
                matches!(&kernel.parts[at], Part::Stage(stage) if reductions == stage.axes.iter().any(|a| a.reduce));
            let Some(merged) = fits.then(|| fuse_into_consumers(&kernel.parts, &used, at, own, machine)).flatten()
            else {
                at += 1;
                continue;
            };
            for (number, stage) in merged {
                used[number] = Footprint::of_stage(&stage);
                kernel.parts[number] = Part::Stage(stage);
            }
            kernel.parts.remove(at);
            used.remove(at);
            // Earlier stages may be fusible now.
            at = 0;
        }
    }
}

/// Returns the consumers that replace later ones once a stage is fused into them. `used` are the footprints of the
/// parts.
fn fuse_into_consumers(
    parts: &[Part],
    used: &[Footprint],
    at: usize,
    own: &[Buffer],
    machine: Machine,
) -> Option<Vec<(usize, Stage)>> {
    let Part::Stage(stage) = &parts[at] else { return None };
    if stage.epilogue.is_some()
        || stage.arg_result.is_some()
        || !own.contains(&stage.buffer)
        || !computes_whole_buffer(stage)
        || has_side_effects(stage)
    {
        return None;
    }
    let users: Vec<usize> = (0..parts.len()).filter(|n| *n != at && used[*n].has(&stage.buffer)).collect();
    let last = *users.last()?;
    if users[0] < at || (at + 1..=last).any(|n| may_write_inputs(&parts[n], stage)) {
        return None;
    }
    let user = |n: &usize| match &parts[*n] {
        Part::Stage(user)
            if user.buffer != stage.buffer && user.init.as_ref().is_none_or(|e| !loads(e, &stage.buffer)) =>
        {
            Some(user)
        }
        _ => None,
    };
    // An epilogue leaves the elements that a reduction computes, and so its checks, as they are.
    if stage.axes.iter().any(|axis| axis.reduce) {
        let [only] = users.as_slice() else { return None };
        return Some(vec![(*only, attach_epilogue(stage, user(only)?)?)]);
    }
    if makes_checks(stage)
        && !(checks_indices(stage) && users.iter().filter_map(user).any(|user| reads_all(user, stage)))
    {
        return None;
    }
    if users.len() > 1 && (Cost::of(&stage.value).total() > MAX_RECOMPUTED_OPS || divides(stage)) {
        return None;
    }
    // A contraction would recompute an inlined operand for every element that it reduces.
    if users.iter().filter_map(user).any(|user| is_operand_of(user, stage)) && is_epilogue(parts, used, at, own) {
        return None;
    }
    let inlined = |n: &usize| Some((*n, inline_into(stage, user(n)?, machine)?));
    users.iter().map(inlined).collect()
}

/// Returns true if all checks of a stage are index checks, which may be repeated.
fn checks_indices(stage: &Stage) -> bool {
    let is_other = |e: &PrimExpr| check::is_check(e) && e.as_intrin(check::INDEX).is_none();
    stage.init.is_none() && !stage.value.any(&mut |e| is_other(e))
}

/// Returns true if a stage unconditionally reads all elements of another's buffer, and so makes all its checks.
fn reads_all(user: &Stage, stage: &Stage) -> bool {
    let axis_of = |index: &PrimExpr| user.axes.iter().position(|axis| index.as_var() == Some(&axis.var));
    let is_all = |indices: &[PrimExpr]| {
        let mut taken = vec![false; user.axes.len()];
        indices.iter().zip(&stage.buffer.shape).all(|(index, size)| {
            is_unit_index(index, size)
                || axis_of(index).is_some_and(|n| {
                    !std::mem::replace(&mut taken[n], true) && is_same_extent(&user.axes[n].extent, size)
                })
        })
    };
    any_always(
        &user.value,
        &mut |e| matches!(e.kind(), PrimKind::Load(b, indices, None) if *b == stage.buffer && is_all(indices)),
    )
}

/// Returns true if a predicate holds for a subexpression that is evaluated unconditionally.
fn any_always(e: &PrimExpr, holds: &mut dyn FnMut(&PrimExpr) -> bool) -> bool {
    if holds(e) {
        return true;
    }
    match e.kind() {
        PrimKind::Select(first, ..) | PrimKind::Binary(BinaryOp::And | BinaryOp::Or, first, _) => {
            any_always(first, holds)
        }
        PrimKind::Call(call) if e.as_intrin("if_then_else").is_some() => {
            call.args.first().is_some_and(|first| any_always(first, holds))
        }
        _ => {
            let mut found = false;
            e.each_child(&mut |child| found = found || any_always(child, holds));
            found
        }
    }
}

fn loads(e: &PrimExpr, buffer: &Buffer) -> bool {
    e.any(&mut |e| is_load_of(e, buffer))
}

/// Returns true if a part may write to memory that a stage reads.
pub fn may_write_inputs(part: &Part, stage: &Stage) -> bool {
    let writes = |other: &Stage| other.targets().any(|target| stage.values().any(|e| loads(e, target)));
    matches!(part, Part::Opaque(_)) || part.stages().iter().any(writes)
}

/// Inlines a stage into a consumer.
fn inline_into(stage: &Stage, user: &Stage, machine: Machine) -> Option<Stage> {
    let mut positions: Vec<Vec<PrimExpr>> = Vec::new();
    let mut sites = 0;
    let epilogue = user.epilogue.as_ref().map(|epilogue| &epilogue.value);
    for e in [&user.value].into_iter().chain(epilogue) {
        e.walk(&mut |e| {
            if let PrimKind::Load(b, indices, _) = e.kind()
                && *b == stage.buffer
            {
                sites += 1;
                if !positions.iter().any(|known| known.iter().zip(indices).all(|(a, b)| same_expr(a, b))) {
                    positions.push(indices.clone());
                }
            }
        });
    }
    let masked = |e: &PrimExpr| {
        e.any(&mut |e| matches!(e.kind(), PrimKind::Load(b, _, mask) if b.data == stage.buffer.data && (mask.is_some() || *b != stage.buffer)))
    };
    if masked(&user.value) || epilogue.is_some_and(masked) || user.indices.iter().any(|i| loads(i, &stage.buffer)) {
        return None;
    }
    // A sliding window reads each element several times.
    let uses = |i: &PrimExpr, reduce: bool| user.axes.iter().any(|axis| axis.reduce == reduce && i.uses(&axis.var));
    let slides = |i: &PrimExpr| uses(i, true) && uses(i, false);
    let all = |position: &[PrimExpr]| user.axes.iter().all(|axis| position.iter().any(|i| i.uses(&axis.var)));
    let along_rows = |position: &[PrimExpr]| position.last().is_some_and(slides);
    let is_window = |position: &[PrimExpr]| {
        is_padding_of(stage, user) && (!along_rows(position) || machine.has_masks() && has_short_rows(user))
    };
    let once = match &positions[..] {
        [position] => all(position) && (!position.iter().any(slides) || is_window(position)),
        _ => false,
    };
    let work = Cost::of(&stage.value).total();
    let narrow = dequantizes_in_place(stage, user, machine) && !zero_insertion::inserts_zeros(stage);
    let once = once || narrow || gathers_in_place(stage, user, machine);
    if !narrow && !machine.is_gpu() && is_reused_operand(stage, user) {
        return None;
    }
    if !once && (work > MAX_RECOMPUTED_OPS || user.reduces() && divides(stage))
        || work * sites + Cost::of(&user.value).total() > MAX_FUSED_OPS
    {
        return None;
    }
    let put = |e: &PrimExpr| inlined(e, stage);
    let merged = Stage {
        value: put(&user.value),
        epilogue: user.epilogue.as_ref().map(|e| Epilogue { value: put(&e.value), ..e.clone() }),
        ..user.clone()
    };
    // Dot instructions load packed groups from memory.
    if !narrow && dots::dot(user).is_some() && dots::dot(&merged).is_none() {
        return None;
    }
    // A copy has no arithmetic to vectorize; only the consumer's access order can get worse.
    let moves = matches!(stage.value.kind(), PrimKind::Load(..));
    // The threads of a GPU share what a transposed load reads.
    if moves && machine.is_gpu() && !user.reduces() {
        return Some(merged);
    }
    let before: &[&Stage] = if moves { &[user] } else { &[stage, user] };
    preserves_vectors(before, merged)
}

/// Returns true if a contraction has a stage's results as an operand.
fn is_operand_of(sum: &Stage, stage: &Stage) -> bool {
    contraction_operands(sum).is_some_and(|(a, b)| is_load_of(a, &stage.buffer) || is_load_of(b, &stage.buffer))
}

/// Returns true if a contraction would recompute a stage's results, arithmetic on floats, for many results.
fn is_reused_operand(stage: &Stage, sum: &Stage) -> bool {
    let is_arithmetic = |e: &PrimExpr| matches!(e.kind(), PrimKind::Binary(..) | PrimKind::Call(_));
    let Some((a, b)) = contraction_operands(sum) else { return false };
    let uses = |operand: &PrimExpr| {
        let others = sum.axes.iter().filter(|axis| !axis.reduce && !operand.uses(&axis.var));
        others.map(|axis| access::size(&axis.extent)).fold(1, i64::saturating_mul)
    };
    stage.buffer.dtype.is_floating()
        && !access::is_padded_load(&stage.value)
        && is_arithmetic(&stage.value)
        && [(a, b), (b, a)].into_iter().any(|(operand, other)| {
            is_load_of(operand, &stage.buffer) && uses(operand) >= MIN_OPERAND_USES && uses(other) >= MIN_OTHER_USES
        })
}

/// Returns true if a stage is the only consumer of an earlier reduction, and can be its epilogue.
fn is_epilogue(parts: &[Part], used: &[Footprint], at: usize, own: &[Buffer]) -> bool {
    let Part::Stage(stage) = &parts[at] else { return false };
    parts[..at].iter().enumerate().any(|(n, part)| match part {
        Part::Stage(before) if before.reduces() && before.epilogue.is_none() && own.contains(&before.buffer) => {
            let is_user = |other: usize| other == n || other == at || !used[other].has(&before.buffer);
            loads(&stage.value, &before.buffer)
                && (0..parts.len()).all(is_user)
                && attach_epilogue(before, stage).is_some()
        }
        _ => false,
    })
}

/// Returns true if a stage divides floats, which costs more than loading a quotient from cache.
fn divides(stage: &Stage) -> bool {
    let is_quotient = |e: &PrimExpr| matches!(e.kind(), PrimKind::Binary(BinaryOp::Div, ..) if e.dtype().is_floating());
    stage.value.any(&mut |e| is_quotient(e))
}

/// Returns true if a stage only pads data for a small window with a constant. Most tiles are interior and skip the
/// padding checks.
fn is_padding_of(stage: &Stage, window: &Stage) -> bool {
    let taps = window.axes.iter().filter(|axis| axis.reduce);
    let taps = taps.map(|axis| axis.extent.as_int()).try_fold(1i64, |all, size| all.checked_mul(size?));
    access::is_padded_load(&stage.value) && taps.is_some_and(|taps| taps <= MAX_TAPS)
}

/// Returns true if rows of results are short. Vector loads along them mask out the padding; this is free when the
/// position in the row is a constant.
fn has_short_rows(window: &Stage) -> bool {
    let row = access::store_axis(window).and_then(|axis| window.axes[axis].extent.as_int());
    row.is_some_and(|row| row <= MAX_SHORT_ROW) && window.buffer.dtype.bits == 32
}

fn inlined(e: &PrimExpr, stage: &Stage) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(b, indices, None) if *b == stage.buffer => {
            let indices: Vec<PrimExpr> = indices.iter().map(|i| inlined(i, stage)).collect();
            let at = |axis: &Axis| {
                let n = stage.indices.iter().position(|index| index.as_var() == Some(&axis.var));
                n.map_or_else(|| axis.var.expr(), |n| indices[n].clone())
            };
            let positions: Vec<PrimExpr> = stage.axes.iter().map(at).collect();
            stage.value.substitute(&substitution(&stage.axes, &positions))
        }
        _ => e.map_children(&mut |c| inlined(c, stage)),
    }
}

/// Returns true if a stage widens a contraction's operand from a narrower dtype, as dequantization does: reading the
/// narrow data saves more bandwidth than recomputing the values for several rows costs.
fn dequantizes_in_place(stage: &Stage, user: &Stage, machine: Machine) -> bool {
    let is_it = |e: &PrimExpr| is_load_of(e, &stage.buffer);
    let is_factor = contraction_operands(user).is_some_and(|(a, b)| is_it(a) != is_it(b));
    // Memory per element, in thousandths of a bit.
    let bits = |e: &PrimExpr| match (e.kind(), stage.axes.last()) {
        // Data that is invariant along the last axis comes from cache.
        (PrimKind::Load(buffer, ..), Some(axis)) if e.uses(&axis.var) => {
            // A CPU keeps what several rows share in cache; the blocks of a GPU each load it.
            let shared = stage.axes.iter().filter(|other| !machine.is_gpu() || other.var == axis.var);
            let elements = shared.map(|axis| match e.uses(&axis.var) {
                true => access::elements_per_value(e, &axis.var),
                false => access::size(&axis.extent).max(1),
            });
            i64::from(buffer.dtype.bits) * 1000 / elements.fold(1, i64::saturating_mul)
        }
        _ => 0,
    };
    let read: i64 = access::loads(stage).into_iter().map(bits).sum();
    is_factor && read > 0 && read * 3 <= i64::from(stage.buffer.dtype.bits) * 2000
}

/// Returns true if a stage copies matrices that indices from memory select, for a contraction of few rows by each: it
/// reads them in place, where an index is invariant in the loops over a matrix.
fn gathers_in_place(stage: &Stage, user: &Stage, machine: Machine) -> bool {
    let PrimKind::Load(_, indices, None) = stage.value.kind() else { return false };
    let (selectors, others): (Vec<&PrimExpr>, Vec<&PrimExpr>) = indices.iter().partition(|index| index.has_loads());
    let matrix: Vec<&Axis> =
        stage.axes.iter().filter(|axis| others.iter().any(|index| index.uses(&axis.var))).collect();
    let is_shared = matrix.iter().all(|axis| !selectors.iter().any(|index| index.uses(&axis.var)));
    let is_matrix = !selectors.is_empty() && matrix.len() >= 2 && is_shared;
    let mut rows = None;
    user.value.walk(&mut |e| {
        if is_load_of(e, &stage.buffer) {
            let others = user.axes.iter().filter(|axis| !axis.reduce && !e.uses(&axis.var));
            rows = others.map(|axis| axis.extent.as_int()).try_fold(1i64, |rows, extent| rows.checked_mul(extent?));
        }
    });
    let is_few = rows.is_some_and(|rows| rows <= MAX_GATHERED_ROWS);
    is_matrix && is_few && is_operand_of(user, stage) && !machine.is_gpu()
}

/// Attaches an element-wise consumer to a reduction as its epilogue.
fn attach_epilogue(stage: &Stage, user: &Stage) -> Option<Stage> {
    stage.init.as_ref()?;
    let spatial = stage.axes.iter().filter(|axis| !axis.reduce).count();
    if user.epilogue.is_some() || user.axes.iter().any(|axis| axis.reduce) || user.axes.len() != spatial {
        return None;
    }
    // Maps each axis of the consumer to one of the reduction; the same for all loads.
    let mut values: Option<Substitution> = None;
    let mut fits = true;
    user.value.walk(&mut |e| {
        if let PrimKind::Load(b, indices, mask) = e.kind()
            && b.data == stage.buffer.data
        {
            let found = axes(stage, user, indices).filter(|_| *b == stage.buffer && mask.is_none());
            let same = |known: &Substitution| {
                found
                    .as_ref()
                    .is_some_and(|found| known.iter().all(|(var, e)| found.get(var).is_some_and(|f| same_expr(f, e))))
            };
            fits &= found.is_some() && values.as_ref().is_none_or(same);
            values = found.or(values.take());
        }
    });
    let values = values.filter(|_| fits && check::count(&user.value) == 0)?;
    let put = |e: &PrimExpr| e.substitute(&values);
    let epilogue = Epilogue {
        buffer: user.buffer.clone(),
        indices: user.indices.iter().map(put).collect(),
        value: put(&user.value),
    };
    let merged = Stage { epilogue: Some(epilogue), ..stage.clone() };
    // Channels of groups are vectorized once they are split.
    let (stage, split) = (split_group_axes::split(stage), split_group_axes::split(&merged));
    let split = preserves_vectors(&[&stage, user], split)?;
    // A transposed store is better done by a separate stage.
    let along = |stage: &Stage| vector_axis(stage).or_else(|| dots::dot(stage).and(access::store_axis(stage)));
    (along(&stage).is_none() || along(&stage) == along(&split)).then_some(merged)
}

/// Maps the consumer's axes to the reduction's, if its indices are exactly these.
fn axes(stage: &Stage, user: &Stage, indices: &[PrimExpr]) -> Option<Substitution> {
    let mut values = Substitution::default();
    let dims = indices.iter().zip(&stage.indices).zip(&stage.buffer.shape);
    for ((index, own), _) in
        dims.filter(|((index, own), size)| !(is_unit_index(index, size) && is_unit_index(own, size)))
    {
        let (var, own): (&Var, &Var) = (index.as_var()?, own.as_var()?);
        let extent = |stage: &Stage, var: &Var| stage.axes.iter().find(|a| a.var == *var).map(|a| a.extent.clone());
        if !same_expr(&extent(user, var)?, &extent(stage, own)?) || values.insert(var.clone(), own.expr()).is_some() {
            return None;
        }
    }
    (values.len() == user.axes.len()).then_some(values)
}

/// Returns the fused stage, unless it loses a vectorizable axis that one of the originals had.
fn preserves_vectors(before: &[&Stage], merged: Stage) -> Option<Stage> {
    let has = |stage: &Stage| vector_axis(stage).is_some() || reduction_vector_axis(stage).is_some();
    let had = before.iter().any(|stage| has(stage));
    (!had || has(&merged)).then_some(merged)
}

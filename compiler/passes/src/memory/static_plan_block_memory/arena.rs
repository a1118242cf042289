//! Arena: one storage for all tensors of known size, at offsets that differ if lifetimes overlap. Tensors of
//! different branches never coexist.
//!
//! Finding the smallest arena is NP-hard; two greedy methods come close, and the better is used: largest tensors
//! first, each at the lowest offset that is free during its lifetime; or in order of allocation, each in the smallest
//! gap that fits. (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020.)

use super::{
    Location, Plan, Storage,
    tensors::{BodyInfo, Tensor, TensorId, Tensors},
};
use hammock_ir::{DType, PrimExpr};
use hammock_target::assumed_machine::CACHE_LINE_BYTES;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Alignment of offsets: a cache line, which the widest vectors fill.
const ALIGNMENT: i64 = CACHE_LINE_BYTES;
/// Maximum number of tensors for the largest-first method, which takes quadratic time.
const MAX_BY_SIZE: usize = 2000;

/// A tensor to place.
#[derive(Clone, Copy)]
struct Buffer {
    id: TensorId,
    bytes: i64,
    /// First and last step.
    live: (usize, usize),
    moments: (usize, usize),
    body: usize,
}

/// Plans the tensors of known size; returns for each tensor if it remains to be planned. A function that calls others
/// has no arena, which would be live while they run.
pub(super) fn plan(tensors: &Tensors, plan: &mut Plan) -> Vec<bool> {
    let mut rest = tensors.planned();
    let mut groups: Vec<Vec<Buffer>> = Vec::new();
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    for (id, tensor) in tensors.all.iter().enumerate() {
        let function = tensors.bodies[tensor.body].function;
        let Some(bytes) = tensor.bytes.as_int().filter(|_| tensor.is_planned) else { continue };
        if tensors.bodies[function].calls {
            continue;
        }
        let name = format!("{function} {} {:?}", tensor.scope, tensor.device);
        let group = *numbers.entry(name).or_insert(groups.len());
        groups.resize_with(groups.len().max(group + 1), Vec::new);
        let Tensor { live, moments, body, .. } = *tensor;
        groups[group].push(Buffer { id, bytes, live, moments, body });
    }
    // A single tensor has its own storage anyway.
    for buffers in groups.into_iter().filter(|buffers| buffers.len() > 1) {
        let (offsets, bytes) = best_placement(&buffers, &tensors.bodies);
        let body = buffers.iter().map(|buffer| tensors.all[buffer.id].body);
        let body = body.reduce(|a, b| around_both(&tensors.bodies, a, b));
        let storage = plan.storages.len();
        let Tensor { device, scope, .. } = &tensors.all[buffers[0].id];
        let (bytes, dtype) = (PrimExpr::int64(bytes), DType::UINT8);
        plan.storages.push(Storage { bytes, dtype, device: device.clone(), scope: scope.clone(), body });
        for (buffer, offset) in buffers.iter().zip(offsets) {
            plan.locations.insert(tensors.all[buffer.id].var, Location { storage, offset });
            rest[buffer.id] = false;
        }
    }
    rest
}

/// Returns the innermost body that contains both, which belong to one function.
fn around_both(bodies: &[BodyInfo], mut a: usize, mut b: usize) -> usize {
    // Inner bodies have larger indices.
    while a != b {
        let inner = if a > b { &mut a } else { &mut b };
        match bodies[*inner].outer {
            Some(outer) => *inner = outer,
            None => return *inner,
        }
    }
    a
}

/// Returns true if two bodies are in different branches of the same `if`, so that only one of them runs.
fn are_alternatives(bodies: &[BodyInfo], mut a: usize, mut b: usize) -> bool {
    while a != b {
        let (of_a, of_b) = (bodies[a], bodies[b]);
        if of_a.choice.is_some() && of_a.choice == of_b.choice {
            return true;
        }
        let up = |at: &mut usize, of: BodyInfo| of.outer.map(|outer| *at = outer).is_some();
        let is_up = match of_a.depth.cmp(&of_b.depth) {
            Ordering::Greater => up(&mut a, of_a),
            Ordering::Less => up(&mut b, of_b),
            Ordering::Equal => up(&mut a, of_a) && up(&mut b, of_b),
        };
        if !is_up {
            return false;
        }
    }
    false
}

/// Returns an offset for each buffer, and their total size in bytes.
fn best_placement(buffers: &[Buffer], bodies: &[BodyInfo]) -> (Vec<i64>, i64) {
    let by_allocation = by_allocation(buffers);
    if buffers.len() > MAX_BY_SIZE {
        return by_allocation;
    }
    let by_size = by_size(buffers, bodies);
    if by_size.1 <= by_allocation.1 { by_size } else { by_allocation }
}

fn aligned(bytes: i64) -> i64 {
    bytes.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}

/// Largest first, each in the lowest gap between buffers that are live at the same time.
fn by_size(buffers: &[Buffer], bodies: &[BodyInfo]) -> (Vec<i64>, i64) {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(buffers[*at].bytes));
    let (mut offsets, mut total) = (vec![0; buffers.len()], 0);
    // By offset.
    let mut placed: Vec<usize> = Vec::with_capacity(buffers.len());
    for at in order {
        let buffer = buffers[at];
        let mut offset = 0;
        for other in &placed {
            let (from, Buffer { bytes, moments: (first, last), body, .. }) = (offsets[*other], buffers[*other]);
            if first > buffer.moments.1 || last < buffer.moments.0 || are_alternatives(bodies, body, buffer.body) {
                continue;
            }
            if offset + buffer.bytes <= from {
                break;
            }
            offset = offset.max(aligned(from + bytes));
        }
        offsets[at] = offset;
        total = total.max(offset + buffer.bytes);
        let position = placed.partition_point(|other| offsets[*other] <= offset);
        placed.insert(position, at);
    }
    (offsets, total)
}

/// In order of allocation, each in the smallest gap that fits, otherwise after all others.
fn by_allocation(buffers: &[Buffer]) -> (Vec<i64>, i64) {
    let mut gaps = Gaps::default();
    let mut ends: BTreeSet<(usize, usize)> = BTreeSet::new();
    let (mut offsets, mut total) = (vec![0; buffers.len()], 0);
    for (at, buffer) in buffers.iter().enumerate() {
        while let Some((last, done)) = ends.first().copied().filter(|(last, _)| *last < buffer.live.0) {
            ends.remove(&(last, done));
            gaps.add(offsets[done], aligned(buffers[done].bytes));
        }
        offsets[at] = gaps.take(aligned(buffer.bytes));
        total = total.max(offsets[at] + buffer.bytes);
        ends.insert((buffer.live.1, at));
    }
    (offsets, total)
}

/// Gaps between buffers.
#[derive(Default)]
struct Gaps {
    by_offset: BTreeMap<i64, i64>,
    by_size: BTreeSet<(i64, i64)>,
    /// End of the last buffer.
    end: i64,
}

impl Gaps {
    fn insert(&mut self, offset: i64, bytes: i64) {
        if bytes > 0 {
            self.by_offset.insert(offset, bytes);
            self.by_size.insert((bytes, offset));
        }
    }

    fn remove(&mut self, offset: i64, bytes: i64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(bytes, offset));
    }

    /// Adds a gap, merged with adjacent gaps.
    fn add(&mut self, mut offset: i64, mut bytes: i64) {
        if let Some((before, size)) = self.by_offset.range(..offset).next_back().map(|(o, b)| (*o, *b))
            && before + size == offset
        {
            self.remove(before, size);
            (offset, bytes) = (before, bytes + size);
        }
        if let Some(size) = self.by_offset.get(&(offset + bytes)).copied() {
            self.remove(offset + bytes, size);
            bytes += size;
        }
        self.insert(offset, bytes);
    }

    fn take(&mut self, bytes: i64) -> i64 {
        if let Some((size, offset)) = self.by_size.range((bytes, 0)..).next().copied() {
            self.remove(offset, size);
            self.insert(offset + bytes, size - bytes);
            return offset;
        }
        // A gap at the end is extended.
        let last = self.by_offset.last_key_value().map(|(o, b)| (*o, *b)).filter(|(o, b)| o + b == self.end);
        let offset = last.map_or(self.end, |(offset, _)| offset);
        last.into_iter().for_each(|(offset, size)| self.remove(offset, size));
        self.end = offset + bytes;
        offset
    }
}

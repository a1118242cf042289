//! One storage for all tensors of known size, at offsets that differ where lifetimes overlap. Of tensors that different
//! branches make, only one is ever there.
//!
//! Finding the smallest arena is hard; two simple ways come close, and the smaller result is taken: the largest tensors
//! first, each at the lowest offset that is free as long as it lives; or in the order they are made, each in the
//! smallest gap that fits. (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020.)

use super::{
    Place, Plan, Storage,
    tensors::{BodyInfo, Tensor, TensorId, Tensors},
};
use hammock_ir::{DType, PrimExpr};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets are multiples of this: a cache line, and what vector instructions like best.
const ALIGNMENT: i64 = 64;
/// More tensors are not sorted by size, which takes time that grows with their square.
const MOST_BY_SIZE: usize = 2000;

/// A tensor to place.
#[derive(Clone, Copy)]
struct Buffer {
    id: TensorId,
    bytes: i64,
    /// Steps.
    live: (usize, usize),
    moments: (usize, usize),
    body: usize,
}

/// Plans the tensors of known size; for each tensor, says whether it remains to be planned. A function that calls others
/// has no arena, which would be in use while they run.
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
    // A lone tensor has a storage of its own anyway.
    for buffers in groups.into_iter().filter(|buffers| buffers.len() > 1) {
        let (offsets, bytes) = place(&buffers, &tensors.bodies);
        let body = buffers.iter().map(|buffer| tensors.all[buffer.id].body);
        let body = body.reduce(|a, b| around_both(&tensors.bodies, a, b));
        let storage = plan.storages.len();
        let Tensor { device, scope, .. } = &tensors.all[buffers[0].id];
        let (bytes, dtype) = (PrimExpr::int64(bytes), DType::UINT8);
        plan.storages.push(Storage { bytes, dtype, device: device.clone(), scope: scope.clone(), body });
        for (buffer, offset) in buffers.iter().zip(offsets) {
            plan.places.insert(tensors.all[buffer.id].var, Place { storage, offset });
            rest[buffer.id] = false;
        }
    }
    rest
}

/// The innermost body that both are in; they belong to one function.
fn around_both(bodies: &[BodyInfo], mut a: usize, mut b: usize) -> usize {
    // Inner bodies have greater numbers.
    while a != b {
        let inner = if a > b { &mut a } else { &mut b };
        match bodies[*inner].outer {
            Some(outer) => *inner = outer,
            None => return *inner,
        }
    }
    a
}

/// Returns true if two bodies are in different branches of one choice, so that only one of them runs.
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

/// An offset for each buffer, and the bytes that they need in all.
fn place(buffers: &[Buffer], bodies: &[BodyInfo]) -> (Vec<i64>, i64) {
    let in_order = in_order(buffers);
    if buffers.len() > MOST_BY_SIZE {
        return in_order;
    }
    let by_size = by_size(buffers, bodies);
    if by_size.1 <= in_order.1 { by_size } else { in_order }
}

fn aligned(bytes: i64) -> i64 {
    bytes.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}

/// The largest first, each in the lowest gap between those that live at the same time.
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

/// In the order in which they are made, each in the smallest gap that fits, else behind all others.
fn in_order(buffers: &[Buffer]) -> (Vec<i64>, i64) {
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

/// Room between buffers.
#[derive(Default)]
struct Gaps {
    by_offset: BTreeMap<i64, i64>,
    by_size: BTreeSet<(i64, i64)>,
    /// Where nothing is any more.
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

    /// Adds room, together with the gaps on both sides.
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
        // A gap at the end is made longer.
        let last = self.by_offset.last_key_value().map(|(o, b)| (*o, *b)).filter(|(o, b)| o + b == self.end);
        let offset = last.map_or(self.end, |(offset, _)| offset);
        last.into_iter().for_each(|(offset, size)| self.remove(offset, size));
        self.end = offset + bytes;
        offset
    }
}

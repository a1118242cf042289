//! Reuse of storages: a storage is free after its tensor's last use, and the next tensor takes the best fitting free
//! storage.
//!
//! The policy is TVM's: the smallest of storages up to 16 times larger, otherwise the largest of those up to 16 times
//! smaller, which then grows. Symbolic sizes must be equal, or provably smaller if memory is shared in a whole
//! function.

use super::{
    Location, Plan, Scope, Storage,
    bounds::Bounds,
    samples::{Sampler, Samples},
    tensors::{Event, Tensor, TensorId, Tensors},
};
use hammock_ir::PrimExpr;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Maximum ratio of the sizes of a storage and its tensor.
const MAX_SIZE_RATIO: i64 = 16;
/// Maximum number of free storages of symbolic size compared with a smaller tensor.
const MAX_COMPARED: usize = 8;

/// Plans the tensors marked in `rest`.
pub(super) fn plan(tensors: &Tensors, rest: &[bool], scope: Scope, bounds: &Bounds, plan: &mut Plan) {
    let remaining_uses = tensors.all.iter().map(|tensor| tensor.uses).collect();
    let groups = FxHashMap::default();
    let (pools, made, samples) = (Vec::new(), Vec::new(), FxHashMap::default());
    let sampler = Sampler::new(bounds);
    let mut planner = Planner { tensors, scope, bounds, plan, groups, pools, made, remaining_uses, sampler, samples };
    for event in &tensors.events {
        match *event {
            Event::EnterFunction => planner.pools.push(Pool::default()),
            Event::LeaveFunction => drop(planner.pools.pop()),
            Event::Enter => planner.made.push(Vec::new()),
            Event::Leave => planner.leave(),
            Event::Make(id) if rest[id] => planner.make(id),
            Event::Use(id) if rest[id] => planner.use_once(id),
            Event::Make(_) | Event::Use(_) => {}
        }
    }
}

struct Planner<'a> {
    tensors: &'a Tensors,
    scope: Scope,
    bounds: &'a Bounds,
    plan: &'a mut Plan,
    /// Indices of groups of tensors that may share memory.
    groups: FxHashMap<String, usize>,
    /// Free storages of the current function and those around it.
    pools: Vec<Pool>,
    /// Storages allocated by each open body and block with local variables.
    made: Vec<Vec<usize>>,
    /// Number of remaining uses of each tensor.
    remaining_uses: Vec<usize>,
    sampler: Sampler<'a>,
    /// Samples of the symbolic sizes of storages.
    samples: FxHashMap<usize, Samples>,
}

/// Free storages.
#[derive(Default)]
struct Pool {
    /// By group, size, and order of release.
    sized: BTreeMap<(usize, i64, usize), usize>,
    /// Those of symbolic size, with their groups, in order of release.
    symbolic: Vec<(usize, usize)>,
    released: usize,
    /// Storages that are out of scope, though tensors in them may not be.
    out_of_scope: FxHashSet<usize>,
}

impl Planner<'_> {
    /// Leaves a scope: storages allocated in it are no longer visible.
    fn leave(&mut self) {
        let (made, Some(pool)) = (self.made.pop().unwrap_or_default(), self.pools.last_mut()) else { return };
        if !made.is_empty() {
            pool.sized.retain(|_, storage| made.binary_search(storage).is_err());
            pool.symbolic.retain(|(_, storage)| made.binary_search(storage).is_err());
            pool.out_of_scope.extend(made);
        }
    }

    fn make(&mut self, id: TensorId) {
        let tensors = self.tensors;
        let tensor = &tensors.all[id];
        let group = self.group(tensor);
        let free = if tensor.uses == 0 { None } else { self.take(tensor, group) };
        let storage = free.unwrap_or_else(|| self.allocate(tensor));
        self.plan.locations.insert(tensor.var, Location { storage, offset: 0 });
    }

    fn use_once(&mut self, id: TensorId) {
        self.remaining_uses[id] -= 1;
        let tensors = self.tensors;
        if self.remaining_uses[id] == 0 {
            let storage = self.plan.locations[&tensors.all[id].var].storage;
            let group = self.group(&tensors.all[id]);
            self.release(storage, group);
        }
    }

    fn group(&mut self, tensor: &Tensor) -> usize {
        let dtype = self.scope.storage_dtype(tensor.dtype);
        let name = format!("{dtype} {} {:?}", tensor.scope, tensor.device);
        let next = self.groups.len();
        *self.groups.entry(name).or_insert(next)
    }

    fn allocate(&mut self, tensor: &Tensor) -> usize {
        let storage = self.plan.storages.len();
        let dtype = self.scope.storage_dtype(tensor.dtype);
        let (bytes, device, scope) = (tensor.bytes.clone(), tensor.device.clone(), tensor.scope.clone());
        self.plan.storages.push(Storage { bytes, dtype, device, scope, body: None });
        self.made.last_mut().into_iter().for_each(|made| made.push(storage));
        storage
    }

    fn release(&mut self, storage: usize, group: usize) {
        let Some(pool) = self.pools.last_mut().filter(|pool| !pool.out_of_scope.contains(&storage)) else { return };
        pool.released += 1;
        match self.plan.storages[storage].bytes.as_int() {
            Some(size) => drop(pool.sized.insert((group, size, pool.released), storage)),
            None => {
                let bytes = &self.plan.storages[storage].bytes;
                self.samples.entry(storage).or_insert_with(|| self.sampler.sample(bytes));
                pool.symbolic.push((group, storage));
            }
        }
    }

    /// Takes a free storage for a tensor.
    fn take(&mut self, tensor: &Tensor, group: usize) -> Option<usize> {
        let pool = self.pools.last_mut()?;
        let Some(size) = tensor.bytes.as_int() else {
            let samples = self.sampler.sample(&tensor.bytes);
            let size = |storage: usize| (&self.plan.storages[storage].bytes, &self.samples[&storage]);
            let wide = self.scope != Scope::Block;
            let at = pool.symbolic_for(group, (&tensor.bytes, &samples), size, self.bounds, wide)?;
            return Some(pool.symbolic.remove(at).1);
        };
        let (lower, upper) =
            ((group, size / MAX_SIZE_RATIO, 0), (group, size.saturating_mul(MAX_SIZE_RATIO), usize::MAX));
        let larger = pool.sized.range((group, size, 0)..=upper).next();
        let key = larger.or_else(|| pool.sized.range(lower..(group, size, 0)).next_back()).map(|(key, _)| *key)?;
        let storage = pool.sized.remove(&key)?;
        if key.1 < size {
            self.plan.storages[storage].bytes = tensor.bytes.clone();
        }
        Some(storage)
    }
}

impl Pool {
    /// Returns the position of the first storage of equal symbolic size; otherwise of the last that is provably not
    /// smaller, if allowed.
    fn symbolic_for<'s>(
        &self,
        group: usize,
        (bytes, samples): (&PrimExpr, &Samples),
        size: impl Fn(usize) -> (&'s PrimExpr, &'s Samples) + Copy,
        bounds: &Bounds,
        smaller_will_do: bool,
    ) -> Option<usize> {
        let candidates = |may_fit: fn(&Samples, &Samples) -> bool| {
            let fits = move |(of, storage): (usize, usize)| of == group && may_fit(samples, size(storage).1);
            let all = self.symbolic.iter().copied().enumerate().rev();
            all.filter(move |(_, free)| fits(*free)).map(|(at, (_, storage))| (at, size(storage).0)).take(MAX_COMPARED)
        };
        let equal = candidates(Samples::may_equal).filter(|(_, other)| bounds.analyzer.prove_eq(bytes, other)).last();
        let larger = || candidates(Samples::may_be_le).find(|(_, other)| bounds.analyzer.prove_le(bytes, other));
        equal.or_else(|| if smaller_will_do { larger() } else { None }).map(|(at, _)| at)
    }
}

//! Queued operations as a graph of dependencies. They run as late as possible: only when the program waits for them.
use super::{Code, Driver, Handle, Result, work::Work};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Number of an operation, in the order of submission.
pub(super) type OpId = u64;

/// An operation that did not run yet.
#[derive(Debug)]
pub(super) struct Op {
    /// The context whose stream has it.
    pub(super) context: Handle,
    /// Operations that it waits for.
    pub(super) needs: Vec<OpId>,
    /// Its effect.
    pub(super) work: Work,
}

/// All operations that did not run yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pending: BTreeMap<OpId, Op>,
    next: OpId,
}

impl Queue {
    /// Adds an operation, which waits for those of `needs` that did not run yet.
    pub(super) fn push(&mut self, context: Handle, needs: &[OpId], work: Work) -> OpId {
        let needs = self.unfinished(needs);
        self.next += 1;
        self.pending.insert(self.next, Op { context, needs, work });
        self.next
    }

    /// Returns those operations that did not run yet.
    pub(super) fn unfinished(&self, ops: &[OpId]) -> Vec<OpId> {
        ops.iter().copied().filter(|id| self.pending.contains_key(id)).collect()
    }

    /// Returns the operations of a context.
    pub(super) fn of_context(&self, context: Handle) -> Vec<OpId> {
        self.pending.iter().filter(|(_, op)| op.context == context).map(|(&id, _)| id).collect()
    }

    /// Forgets the operations of a context.
    pub(super) fn abandon(&mut self, context: Handle) {
        self.pending.retain(|_, op| op.context != context);
    }

    /// Returns an operation.
    pub(super) fn get(&self, id: OpId) -> Option<&Op> {
        self.pending.get(&id)
    }

    fn take(&mut self, id: OpId) -> Option<Op> {
        self.pending.remove(&id)
    }

    /// Picks operations at random that nobody waits for.
    fn sample(&self, random: &mut fastrand::Rng) -> Vec<OpId> {
        self.pending.keys().copied().filter(|_| random.u32(..8) == 0).collect()
    }
}

/// Operations that are about to run: some, and all that they wait for.
struct Plan {
    /// The number of operations that each still waits for.
    waiting: FxHashMap<OpId, usize>,
    /// The operations that wait for each.
    followers: FxHashMap<OpId, Vec<OpId>>,
    ready: Vec<OpId>,
}

impl Plan {
    fn new(queue: &Queue, targets: &[OpId]) -> Self {
        let mut plan = Self { waiting: FxHashMap::default(), followers: FxHashMap::default(), ready: Vec::new() };
        let mut stack = targets.to_vec();
        while let Some(id) = stack.pop() {
            let Some(op) = queue.get(id) else { continue };
            if plan.waiting.contains_key(&id) {
                continue;
            }
            let needs = queue.unfinished(&op.needs);
            plan.waiting.insert(id, needs.len());
            if needs.is_empty() {
                plan.ready.push(id);
            }
            for need in needs {
                plan.followers.entry(need).or_default().push(id);
                stack.push(need);
            }
        }
        plan
    }

    /// Takes an operation that can run: the youngest if the order is fixed, or any.
    fn next(&mut self, order: Option<&mut fastrand::Rng>) -> Option<OpId> {
        let index = match order {
            Some(random) if !self.ready.is_empty() => random.usize(..self.ready.len()),
            Some(_) => return None,
            None => (0..self.ready.len()).max_by_key(|&index| self.ready[index])?,
        };
        let id = self.ready.swap_remove(index);
        for follower in self.followers.remove(&id).unwrap_or_default() {
            if let Some(count) = self.waiting.get_mut(&follower) {
                *count -= 1;
                if *count == 0 {
                    self.ready.push(follower);
                }
            }
        }
        Some(id)
    }
}

impl Driver {
    /// Runs operations and what they wait for, and with a seed others that could have run by now.
    pub(super) fn run(&mut self, targets: &[OpId]) {
        let mut targets = self.queue.unfinished(targets);
        let is_random = self.config.seed != 0;
        if is_random {
            targets.extend(self.queue.sample(&mut self.random));
        }
        let mut plan = Plan::new(&self.queue, &targets);
        while let Some(id) = plan.next(is_random.then_some(&mut self.random)) {
            self.execute(id);
        }
    }

    /// Waits for operations of a context.
    ///
    /// # Errors
    /// The error that ended the context.
    pub(super) fn settle(&mut self, context: Handle, ops: &[OpId]) -> Result {
        self.run(ops);
        self.healthy(context).map(|_| ())
    }

    /// Looks if operations of a context have run. If not, one more does, so that a program can poll.
    ///
    /// # Errors
    /// `NOT_READY` if some did not run, or the error that ended the context.
    pub(super) fn poll(&mut self, context: Handle, ops: &[OpId]) -> Result {
        self.healthy(context)?;
        let mut plan = Plan::new(&self.queue, ops);
        match plan.next(None) {
            None => Ok(()),
            Some(id) => {
                self.execute(id);
                Err(Code::NOT_READY)
            }
        }
    }

    fn execute(&mut self, id: OpId) {
        // A fault abandons the other operations of its context.
        let Some(op) = self.queue.take(id) else { return };
        self.clock += 1000;
        if let Err(failure) = self.perform(&op, id) {
            self.end_by_fault(op.context, failure);
        }
    }

    /// Runs what is left of a context that is about to be destroyed, so that its faults are seen. What would write to the
    /// program's memory or call it does not run: the program may have freed that memory, as it need not wait.
    pub(super) fn drain(&mut self, context: Handle) {
        let mut plan = Plan::new(&self.queue, &self.queue.of_context(context));
        while let Some(id) = plan.next(None) {
            if self.queue.get(id).is_some_and(|op| op.work.reaches_host()) {
                self.queue.take(id);
            }
            self.execute(id);
        }
    }
}

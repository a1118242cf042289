//! Number of operations of each kernel call, at the sizes of its arguments.

use hammock_compiler::Flops;
use hammock_runtime::{
    Any, Error, Tensor,
    vm::instrument::{Action, Call, Instrument},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Counts them while it is the machine's instrument.
pub struct Counter {
    work: HashMap<String, Flops>,
    /// Of each kernel how often it is called, and the operations of all calls where they are known.
    found: Mutex<HashMap<String, (u64, Option<f64>)>>,
}

impl Counter {
    /// Of kernels whose operations are known.
    pub fn new(work: Vec<(String, Option<Flops>)>) -> Arc<Counter> {
        let work = work.into_iter().filter_map(|(name, flops)| Some((name, flops?))).collect();
        Arc::new(Counter { work, found: Mutex::default() })
    }

    /// The operations of a call of a kernel in the mean.
    pub fn of(&self, kernel: &str) -> Option<f64> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(kernel).and_then(|(calls, flops)| Some((*flops)? / *calls as f64))
    }
}

impl Instrument for Counter {
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        if let Some(flops) = self.work.get(call.callee) {
            let flops = flops.at(&call.args.iter().map(sizes).collect::<Vec<_>>());
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let (calls, all) = found.entry(call.callee.to_owned()).or_insert((0, Some(0.0)));
            *calls += 1;
            *all = (*all).and_then(|all| Some(all + flops?));
        }
        Ok(Action::Run)
    }
}

/// A tensor's shape, or a number.
fn sizes(value: &Any) -> Vec<i64> {
    match value.get::<&Tensor>() {
        Some(tensor) => tensor.shape().to_vec(),
        None => value.get::<i64>().into_iter().collect(),
    }
}

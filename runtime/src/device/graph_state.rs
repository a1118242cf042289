//! What calls of a program keep for graphs of launches: storages at fixed addresses, and the graphs.
//!
//! A call from outside borrows a state of its program: calls at the same time have different ones, so nobody else uses
//! the storages while a call runs.
use super::Graph;
use crate::value::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of graphs of a state. The least recently used one makes room.
const MAX_GRAPHS: usize = 64;

/// Storages and graphs that calls keep for the next ones.
#[derive(Default)]
pub(crate) struct GraphState {
    /// Results of functions that allocate storages, by index.
    pub(crate) allocations: HashMap<i64, Any>,
    /// The most recently used one is the last.
    graphs: Vec<KeyedGraph>,
}

/// A graph of a function with its key.
struct KeyedGraph {
    index: i64,
    sizes: Vec<i64>,
    graph: Graph,
}

/// The states of a program that no call uses.
#[derive(Default)]
pub(crate) struct GraphStates(Mutex<Vec<GraphState>>);

/// The program of a call, with the state that it used, if any.
type CallState = (u64, Option<GraphState>);

thread_local! {
    /// The calls from outside on this thread.
    static CALLS: RefCell<Vec<CallState>> = const { RefCell::new(Vec::new()) };
}

/// A call from outside, whose state returns to the program at the end.
pub(crate) struct CallScope<'p>(&'p GraphStates);

impl Drop for CallScope<'_> {
    fn drop(&mut self) {
        if let Some((_, Some(state))) = CALLS.with_borrow_mut(Vec::pop) {
            self.0.lock().push(state);
        }
    }
}

impl GraphStates {
    /// Begins a call from outside of a program, which ends when the result is dropped.
    #[must_use]
    pub(crate) fn enter(&self, program: u64) -> CallScope<'_> {
        CALLS.with_borrow_mut(|calls| calls.push((program, None)));
        CallScope(self)
    }

    /// Passes the state of the current call of a program to `body`.
    pub(crate) fn within<R>(&self, program: u64, body: impl FnOnce(&mut GraphState) -> R) -> R {
        let replace = |state| {
            CALLS.with_borrow_mut(|calls| {
                let call = calls.last_mut().filter(|(id, _)| *id == program)?;
                std::mem::replace(&mut call.1, state)
            })
        };
        let own = replace(None);
        let mut state = own.or_else(|| self.lock().pop()).unwrap_or_default();
        let result = body(&mut state);
        // A state that calls in `body` used is dropped.
        drop(replace(Some(state)));
        result
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<GraphState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the states that no call uses; returns true if there were any.
    pub(crate) fn release(&self) -> bool {
        let states = std::mem::take(&mut *self.lock());
        !states.is_empty()
    }
}

impl GraphState {
    /// The graph of a key, which becomes the most recently used one.
    pub(crate) fn graph(&mut self, index: i64, sizes: &[i64]) -> &mut Graph {
        let known = self.graphs.iter().rposition(|known| known.index == index && known.sizes == sizes);
        let used = match known {
            Some(known) => self.graphs.remove(known),
            None => KeyedGraph { index, sizes: sizes.to_vec(), graph: Graph::default() },
        };
        if self.graphs.len() >= MAX_GRAPHS {
            self.graphs.remove(0);
        }
        &mut self.graphs.push_mut(used).graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_graph_makes_room() {
        let mut state = GraphState::default();
        (0..MAX_GRAPHS as i64).for_each(|index| _ = state.graph(index, &[]));
        state.graph(0, &[]);
        state.graph(0, &[7]);
        let keys: Vec<_> = state.graphs.iter().map(|known| (known.index, known.sizes.len())).collect();
        let expected = (MAX_GRAPHS, (2, 0), (0, 0), (0, 1));
        assert_eq!((keys.len(), keys[0], keys[MAX_GRAPHS - 2], keys[MAX_GRAPHS - 1]), expected);
    }
}

//! The order in which results wait as little as possible for what uses them.
//!
//! A call moves down to where its result is needed first, if all its operands are in memory there anyway: then nothing is
//! in use for longer, and the result, which a weight's transposition may make large, for a shorter time.

use crate::analysis::use_order::{definers, each_used};
use hammock_ir::relax::{Block, Function, Value, Var};
use rustc_hash::FxHashMap;

/// A place in a block: before which binding of the old order, and behind which of those that come to the same one.
type Place = (usize, usize);

/// Moves the calls of a dataflow block.
pub(super) fn sink(function: &Function, block: &mut Block) {
    let bindings = &block.bindings;
    let definers = definers(function, bindings);
    // Where variables of the block are used first and last.
    let mut uses: FxHashMap<Var, (Place, Place)> = FxHashMap::default();
    let mut places: FxHashMap<Var, Place> = FxHashMap::default();
    for (at, binding) in bindings.iter().enumerate().rev() {
        let mut used = Vec::new();
        each_used(function, &definers, binding, &mut |var| used.push(var));
        let mut place = (at, at);
        if let (Value::Call(_), Some((first, _))) = (&binding.value, uses.get(&binding.var)) {
            let later = (first.0, at);
            let stays =
                |var: &Var| !function.vars[*var].dataflow || uses.get(var).is_some_and(|(_, last)| *last > later);
            if function.vars[binding.var].dataflow && used.iter().all(stays) {
                place = later;
            }
        }
        for var in used {
            let (first, last) = uses.entry(var).or_insert((place, place));
            (*first, *last) = ((*first).min(place), (*last).max(place));
        }
        places.insert(binding.var, place);
    }
    block.bindings.sort_by_key(|binding| places[&binding.var]);
}

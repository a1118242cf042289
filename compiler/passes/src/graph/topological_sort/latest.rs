//! Order `latest`: computes values as late as possible.
//!
//! A call sinks to the first use of its result, if all its operands are live there anyway: then no lifetime grows,
//! and that of the result, which may be a large transposed weight, shrinks.

use crate::analysis::use_order::{definers, each_used};
use hammock_ir::relax::{Block, Function, Value, Var};
use rustc_hash::FxHashMap;

/// Position in a block: the binding of the old order that it precedes, and the order among those at the same
/// position.
type SunkPosition = (usize, usize);

/// Sinks the calls of a dataflow block.
pub(super) fn sink(function: &Function, block: &mut Block) {
    let bindings = &block.bindings;
    let definers = definers(function, bindings);
    // First and last use of each variable of the block.
    let mut uses: FxHashMap<Var, (SunkPosition, SunkPosition)> = FxHashMap::default();
    let mut positions: FxHashMap<Var, SunkPosition> = FxHashMap::default();
    for (at, binding) in bindings.iter().enumerate().rev() {
        let mut used = Vec::new();
        each_used(function, &definers, binding, &mut |var| used.push(var));
        let mut position = (at, at);
        if let (Value::Call(_), Some((first, _))) = (&binding.value, uses.get(&binding.var)) {
            let later = (first.0, at);
            let stays =
                |var: &Var| !function.vars[*var].dataflow || uses.get(var).is_some_and(|(_, last)| *last > later);
            if function.vars[binding.var].dataflow && used.iter().all(stays) {
                position = later;
            }
        }
        for var in used {
            let (first, last) = uses.entry(var).or_insert((position, position));
            (*first, *last) = ((*first).min(position), (*last).max(position));
        }
        positions.insert(binding.var, position);
    }
    block.bindings.sort_by_key(|binding| positions[&binding.var]);
}

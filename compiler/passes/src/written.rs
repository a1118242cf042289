//! Which variables' memory may be written to after they have their values: by operators in place, and by functions
//! about which nothing is known. Such a variable cannot stand for another with the same value, nor for a constant.

use hammock_ir::{
    Module,
    relax::{Body, Call, Callee, Operand, Value, Var},
};
use rustc_hash::FxHashSet;

/// Whether anything in the module may write to what it is given.
pub fn anything(module: &Module) -> bool {
    module.relax_functions().any(|(_, f)| {
        let mut found = false;
        f.lambda.body.walk(&mut |binding| found |= writes(&binding.value));
        found
    })
}

/// Whether a value may write over its operands, or makes memory for others to write to.
pub fn writes(value: &Value) -> bool {
    match value {
        Value::Call(Call { callee: Callee::Op(name), .. }) => {
            hammock_ops::lookup(name).is_none_or(|op| op.unique || !op.pure)
        }
        Value::Call(Call { callee: Callee::Extern(_), .. }) => true,
        _ => false,
    }
}

/// The variables whose memory may be written to in a body once they have their values.
pub fn variables(body: &Body) -> FxHashSet<Var> {
    let mut written = FxHashSet::default();
    find_written(body, &mut written);
    written
}

/// Collects, from the last binding to the first, the variables whose memory may be written to once they have their
/// values: operands of what writes, what those may be parts of, and what leaves a body for others to write to.
fn find_written(body: &Body, written: &mut FxHashSet<Var>) {
    let mark = |o: &Operand, written: &mut FxHashSet<Var>| {
        o.each_var(&mut |v| {
            written.insert(v);
        });
    };
    mark(&body.result, written);
    for binding in body.blocks.iter().rev().flat_map(|b| b.bindings.iter().rev()) {
        binding.value.each_body(&mut |nested| find_written(nested, written));
        // Functions of the module may write to what they are given.
        let calls = matches!(&binding.value, Value::Call(Call { callee: Callee::Global(_) | Callee::Var(_), .. }));
        if calls || writes(&binding.value) || written.contains(&binding.var) && !makes_memory(&binding.value) {
            binding.value.each_operand(&mut |o| mark(o, written));
        }
    }
}

/// Whether the value certainly shares no memory with its operands.
fn makes_memory(value: &Value) -> bool {
    let Value::Call(Call { callee: Callee::Op(name), .. }) = value else { return false };
    hammock_ops::lookup(name).is_some_and(|op| op.memory.is_own())
}

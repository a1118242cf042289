//! Mod-ref information: operands that calls overwrite, and the functions of a module that do so.

use super::super::{Binding, Call, CallTir, Callee, OpTable, Operand, OperandWrites, Value};
use crate::{
    AttrValue, Module, Name, prim,
    tir::{Param, PrimFunc, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns true if a value is a call of a closure, as a variable or through an operator.
fn calls_closure(value: &Value, table: &dyn OpTable) -> bool {
    let Value::Call(call) = value else { return false };
    match &call.callee {
        Callee::Var(_) => true,
        Callee::Op(name) => table.operand_writes(name) == OperandWrites::Closure,
        Callee::Global(_) | Callee::Extern(_) => false,
    }
}

/// Functions of a module that may overwrite their arguments (mod-ref summaries).
///
/// They describe the module at the time of the analysis: functions added since are assumed to write.
#[derive(Default)]
pub struct Writers {
    /// True if any call in the module may overwrite an operand.
    any: bool,
    /// Relax functions that overwrite no argument.
    readers: FxHashSet<Name>,
    /// Inputs that kernels store into, by index.
    stores: FxHashMap<Name, Vec<usize>>,
}

impl Writers {
    /// The summaries of a module.
    pub fn of(module: &Module, table: &dyn OpTable) -> Self {
        let tir = module.tir_functions().map(|(name, kernel)| (name.clone(), stored_params(kernel)));
        let stores: FxHashMap<Name, Vec<usize>> = tir.filter(|(_, stored)| !stored.is_empty()).collect();
        let mut writers = Writers { stores, ..Writers::default() };
        let mut callers: FxHashMap<&Name, Vec<&Name>> = FxHashMap::default();
        let mut found: Vec<&Name> = Vec::new();
        let mut all: FxHashSet<&Name> = FxHashSet::default();
        for (name, function) in module.relax_functions() {
            all.insert(name);
            let mut writes = false;
            function.lambda.body.walk(&mut |binding: &Binding| match &binding.value {
                Value::Call(Call { callee: Callee::Global(callee), .. }) if module.relax(callee).is_some() => {
                    callers.entry(callee).or_default().push(name);
                }
                value if calls_closure(value, table) => {}
                value => writers.each_operand_written(value, table, &mut |_, _| writes = true),
            });
            found.extend(writes.then_some(name));
        }
        writers.any = !found.is_empty();
        let has_closures = |name: &Name| {
            let mut closures = false;
            module.relax(name).into_iter().for_each(|function| {
                function.lambda.body.walk(&mut |binding| {
                    closures |= calls_closure(&binding.value, table);
                });
            });
            closures
        };
        if writers.any {
            found.extend(all.iter().filter(|name| has_closures(name)));
        }
        while let Some(name) = found.pop() {
            if all.remove(name) {
                found.extend(callers.get(name).into_iter().flatten());
            }
        }
        writers.readers = all.into_iter().cloned().collect();
        writers
    }

    /// Returns true if any call in the module may overwrite an operand.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Returns true if a value other than a branch or a nested function may overwrite an operand.
    pub fn writes(&self, value: &Value, table: &dyn OpTable) -> bool {
        let mut found = false;
        self.each_operand_written(value, table, &mut |_, _| found = true);
        found
    }

    /// Calls `f` on each operand that a value may overwrite, with the member's index if only one member of a tuple is.
    /// Branches and nested functions are not included; their bindings are visited separately.
    pub fn each_operand_written(&self, value: &Value, table: &dyn OpTable, f: &mut dyn FnMut(&Operand, Option<usize>)) {
        let Value::Call(call) = value else { return };
        let mut all = |call: &Call| call.args.iter().for_each(|arg| f(arg, None));
        match &call.callee {
            Callee::Op(name) => match table.operand_writes(name) {
                OperandWrites::Closure if !self.any => {}
                OperandWrites::Any | OperandWrites::Closure => all(call),
                OperandWrites::InPlace => self.in_place(call, f),
                OperandWrites::Nothing => self.stored(call, f),
            },
            Callee::Extern(_) => all(call),
            Callee::Global(name) if self.readers.contains(name) => {}
            Callee::Global(_) => all(call),
            Callee::Var(_) if !self.any => {}
            Callee::Var(closure) => {
                all(call);
                f(&Operand::Var(*closure), None);
            }
        }
    }

    fn in_place(&self, call: &Call, f: &mut dyn FnMut(&Operand, Option<usize>)) {
        if let Some(kernel) = CallTir::or_inplace(call) {
            kernel.in_place().flatten().for_each(|index| f(kernel.args, Some(index)));
            return self.stored(call, f);
        }
        let indices = call.attrs.get("inplace_indices").and_then(AttrValue::as_list).unwrap_or_default();
        let operands = call.args.get(1..).unwrap_or_default();
        for index in indices.iter().filter_map(AttrValue::as_int).filter_map(|index| usize::try_from(index).ok()) {
            operands.get(index).into_iter().for_each(|operand| f(operand, None));
        }
    }

    /// Inputs that the kernel itself stores into, regardless of the call.
    fn stored(&self, call: &Call, f: &mut dyn FnMut(&Operand, Option<usize>)) {
        let Some(tir) = CallTir::of_kernel(call) else { return };
        let Some(stored) = tir.kernel().and_then(|kernel| self.stores.get(kernel)) else { return };
        let inputs = tir.inputs().map_or(usize::MAX, <[Operand]>::len);
        stored.iter().filter(|index| **index < inputs).for_each(|index| f(tir.args, Some(*index)));
    }
}

/// Parameters whose buffers a kernel stores into, by index.
fn stored_params(kernel: &PrimFunc) -> Vec<usize> {
    let mut sources: FxHashMap<&prim::Var, &prim::Var> = FxHashMap::default();
    let mut stored: FxHashSet<&prim::Var> = FxHashSet::default();
    kernel.body.walk(&mut |stmt| match &stmt.kind {
        StmtKind::Block(block) => {
            sources.extend(block.match_buffers.iter().map(|m| (&m.buffer.data, &m.source.buffer.data)));
        }
        StmtKind::Store { buffer, .. } => _ = stored.insert(&buffer.data),
        _ => {}
    });
    let roots: FxHashSet<&prim::Var> = stored
        .into_iter()
        .map(|data| (0..=sources.len()).fold(data, |data, _| sources.get(data).copied().unwrap_or(data)))
        .collect();
    let is_stored = |param: &Param| param.buffer.as_ref().is_some_and(|b| roots.contains(&b.data));
    kernel.params.iter().enumerate().filter(|(_, param)| is_stored(param)).map(|(index, _)| index).collect()
}

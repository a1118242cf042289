//! RealizeVDevice: infers the device of each tensor, and turns hints into copies.
//!
//! Known devices (in types, and from `R.hint_on_device`) propagate between operands and results, which are on the
//! same device, except for those of `R.hint_on_device` and `R.to_vdevice`. By default, the operand of a hint is on
//! its result's device. A hint then becomes `R.to_vdevice`, or its operand if that is on the device already.

use crate::{
    Context, Pass,
    analysis::types::value_ty,
    rewrite::{self, devices},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, GlobalInfo, Module, Span, Type, VDevice,
    relax::{Body, Call, Function, Operand, Value, Var},
};
use hammock_ops::lookup;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RealizeVDevice",
    doc: "Infers the device of each tensor, and turns hints into copies",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |module, _, function| {
        let mut inference = DeviceInference::new(module);
        inference.body(function, &function.lambda.body, None)?;
        inference.result(function);
        for (var, device) in inference.propagate() {
            if let Type::Tensor(tensor) = &mut function.vars[var].ty {
                tensor.vdevice = Some(device);
            }
        }
        let mut body = rewrite::take_body(function);
        let result = realize(module, function, &mut body);
        function.lambda.body = body;
        devices::set_result_device(module, function);
        result
    })
}

/// Known devices of the variables of a function.
struct DeviceInference<'a> {
    module: &'a Module,
    known: FxHashMap<Var, Arc<VDevice>>,
    /// Operands of hints, with the hinted devices.
    hinted: Vec<(Var, Arc<VDevice>)>,
    /// Variables on the same device as each variable.
    same_device: FxHashMap<Var, Vec<Var>>,
    /// Tuple literals and aliases.
    values: FxHashMap<Var, Operand>,
}

impl<'a> DeviceInference<'a> {
    fn new(module: &'a Module) -> Self {
        let (known, same_device, values) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        DeviceInference { module, known, hinted: Vec::new(), same_device, values }
    }

    fn body(&mut self, function: &Function, body: &Body, around: Option<Var>) -> Result<(), Diagnostic> {
        if around.is_none() {
            function.lambda.params.iter().for_each(|param| self.declared(function, *param));
        }
        for binding in body.bindings() {
            let (mut used, mut moves) = (Vec::new(), false);
            match &binding.value {
                Value::Call(call) if call.is_op("hint_on_device") => {
                    let device = hinted_device(self.module, call, binding.span)?;
                    self.known.insert(binding.var, device.clone());
                    self.hinted.extend(call.args[0].as_var().map(|var| (var, device)));
                    moves = true;
                }
                Value::Call(call) if call.is_op("to_vdevice") => {
                    self.declared(function, binding.var);
                    moves = true;
                }
                Value::Operand(operand) => {
                    self.values.insert(binding.var, operand.clone());
                }
                Value::Function(lambda) => lambda.params.iter().for_each(|param| self.declared(function, *param)),
                _ => {}
            }
            if !moves {
                binding.value.each_operand(&mut |o| o.each_var(&mut |v| used.push(v)));
                // if an operand's type has the device, the result's type only repeats it, and a hint may be more
                // precise
                if !used.iter().any(|v| names_device(function.ty(*v))) {
                    self.declared(function, binding.var);
                }
            }
            let mut nested = Vec::new();
            binding.value.each_body(&mut |body| nested.push(body));
            for body in nested {
                self.body(function, body, Some(binding.var))?;
                body.result.each_var(&mut |v| used.push(v));
            }
            self.join(function, binding.var, &used);
        }
        Ok(())
    }

    fn declared(&mut self, function: &Function, var: Var) {
        if let Some(device) = function.ty(var).as_tensor().and_then(|t| t.vdevice.clone()) {
            self.known.insert(var, device);
        }
    }

    fn join(&mut self, function: &Function, var: Var, used: &[Var]) {
        let is_scalar = |v: Var| matches!(function.ty(v), Type::Prim(_));
        if is_scalar(var) {
            return;
        }
        for other in used.iter().copied().filter(|v| !is_scalar(*v)) {
            self.same_device.entry(var).or_default().push(other);
            self.same_device.entry(other).or_default().push(var);
        }
    }

    /// Propagates the declared result type to the returned variables.
    fn result(&mut self, function: &Function) {
        self.returned(&function.lambda.body.result, &function.lambda.ret_ty);
    }

    fn returned(&mut self, operand: &Operand, ty: &Type) {
        match (operand, ty) {
            (Operand::Var(var), Type::Tensor(tensor)) => {
                if let Some(device) = &tensor.vdevice {
                    self.known.entry(*var).or_insert_with(|| device.clone());
                }
            }
            (Operand::Tuple(members), Type::Tuple(types)) => {
                members.iter().zip(types).for_each(|(member, ty)| self.returned(member, ty));
            }
            (Operand::Var(var), Type::Tuple(_)) => {
                if let Some(value) = self.values.remove(var) {
                    self.returned(&value, ty);
                }
            }
            _ => {}
        }
    }

    /// Returns the device of every variable: known devices first, then those of hints.
    fn propagate(mut self) -> FxHashMap<Var, Arc<VDevice>> {
        let mut todo: Vec<Var> = self.known.keys().copied().collect();
        todo.sort_unstable();
        self.visit(todo);
        for (var, device) in std::mem::take(&mut self.hinted) {
            if let std::collections::hash_map::Entry::Vacant(entry) = self.known.entry(var) {
                entry.insert(device);
                self.visit(vec![var]);
            }
        }
        self.known
    }

    fn visit(&mut self, mut todo: Vec<Var>) {
        while let Some(var) = todo.pop() {
            let Some(device) = self.known.get(&var).cloned() else { continue };
            for other in self.same_device.get(&var).into_iter().flatten() {
                self.known.entry(*other).or_insert_with(|| {
                    todo.push(*other);
                    device.clone()
                });
            }
        }
    }
}

fn names_device(ty: &Type) -> bool {
    match ty {
        Type::Tensor(tensor) => tensor.vdevice.is_some(),
        Type::Tuple(members) => members.iter().any(names_device),
        _ => false,
    }
}

/// Returns the module's device that a hint names.
fn hinted_device(module: &Module, call: &Call, span: Span) -> Result<Arc<VDevice>, Diagnostic> {
    let int = |name| call.attrs.get(name).and_then(AttrValue::as_int).unwrap_or_default();
    let (kind, index) = (int("device_type"), int("index"));
    let scope = call.attrs.get("memory_scope").and_then(AttrValue::as_str).unwrap_or("global");
    let mut declared = module.global_infos.values().flatten().filter_map(|info| match info {
        GlobalInfo::VDevice(device) => Some(device),
        _ => None,
    });
    let found = declared.find(|d| d.device_type() == kind && d.index == index && *d.scope == *scope);
    found.cloned().ok_or_else(|| {
        let message =
            format!("the module declares no device of type {kind} with index {index} and memory scope \"{scope}\"");
        let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "");
        error.help("devices are declared by `I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\", 0)]})`")
    })
}

/// Replaces hints by copies or by the tensors themselves; types of tuples follow those of their members.
fn realize(module: &Module, function: &mut Function, body: &mut Body) -> Result<(), Diagnostic> {
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        if let Value::Call(call) = &binding.value
            && call.is_op("hint_on_device")
        {
            let device = hinted_device(module, call, binding.span)?;
            let operand = call.args[0].clone();
            let ty = function.operand_ty(module, &operand);
            let own = ty.as_tensor().and_then(|t| t.vdevice.as_ref());
            binding.value = match lookup("to_vdevice").filter(|_| !own.is_some_and(|own| Arc::ptr_eq(own, &device))) {
                Some(op) => Value::Call(op.call(vec![operand], [("dst_vdevice", AttrValue::VDevice(device))])),
                None => Value::Operand(operand),
            };
        }
        let mut result = Ok(());
        binding.value.each_body_mut(&mut |nested| {
            if result.is_ok() {
                result = realize(module, function, nested);
            }
        });
        result?;
        if function.ty(binding.var).as_tuple().is_some()
            && let Ok(found) = value_ty(module, function, &binding.value)
        {
            devices::set_device(&mut function.vars[binding.var].ty, &found);
        }
    }
    Ok(())
}

//! Propagation of devices between the variables of a function.

use super::hinted_device;
use crate::rewrite::devices::calls_runtime;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Type, VDevice,
    relax::{Binding, Body, CallTir, Callee, Function, Operand, Value, Var},
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Known devices of the variables of a function.
pub(super) struct DeviceInference<'a> {
    module: &'a Module,
    /// Device of the results of kernels for the host, if other kernels are for a GPU.
    host: Option<Arc<VDevice>>,
    known: FxHashMap<Var, Arc<VDevice>>,
    /// Variables with the device that they are on unless something else places them: operands of hints and arguments of
    /// functions.
    hinted: Vec<(Var, Arc<VDevice>)>,
    /// Variables with the operands that they are computed from, in order.
    flow: Vec<(Var, Vec<Var>)>,
    /// Variables on the same device as each variable.
    same_device: FxHashMap<Var, Vec<Var>>,
    /// Tuple literals and aliases.
    values: FxHashMap<Var, Operand>,
}

impl<'a> DeviceInference<'a> {
    pub(super) fn new(module: &'a Module, host: Option<Arc<VDevice>>) -> Self {
        let (known, hinted, flow, same_device, values) = Default::default();
        DeviceInference { module, host, known, hinted, flow, same_device, values }
    }

    pub(super) fn body(&mut self, function: &Function, body: &Body, around: Option<Var>) -> Result<(), Diagnostic> {
        if around.is_none() {
            function.lambda.params.iter().for_each(|param| self.declared(function, *param));
        }
        for binding in body.bindings() {
            let mut used = match self.same_device_as(function, binding)? {
                Some(used) => used,
                None => {
                    self.declared(function, binding.var);
                    Vec::new()
                }
            };
            let mut nested = Vec::new();
            binding.value.each_body(&mut |body| nested.push(body));
            let is_tuple = matches!(function.ty(binding.var), Type::Tuple(_));
            for body in nested {
                self.body(function, body, Some(binding.var))?;
                body.result.each_var(&mut |v| used.extend((!is_tuple).then_some(v)));
            }
            self.join(function, binding, &used);
        }
        Ok(())
    }

    /// Returns the variables that are on the same device as a binding's; `None` if only its type tells its device.
    fn same_device_as(&mut self, function: &Function, binding: &Binding) -> Result<Option<Vec<Var>>, Diagnostic> {
        match &binding.value {
            Value::Call(call) if call.is_op("hint_on_device") => {
                let device = hinted_device(self.module, call, binding.span)?;
                self.known.insert(binding.var, device.clone());
                self.hinted.extend(call.args[0].as_var().map(|var| (var, device)));
                return Ok(Some(Vec::new()));
            }
            Value::Call(call) if call.is_op("to_vdevice") => return Ok(None),
            Value::Call(call) => {
                if let Callee::Global(name) = &call.callee
                    && let Some(callee) = self.module.relax(name)
                {
                    self.arguments(callee, &call.args);
                    return Ok(None);
                }
                let kernel = CallTir::of_any(call).and_then(|call| self.module.tir(call.kernel()?));
                if let Some(host) =
                    self.host.as_ref().filter(|_| kernel.is_some_and(|kernel| kernel.attrs.targets_host()))
                {
                    self.known.insert(binding.var, host.clone());
                    return Ok(None);
                }
            }
            Value::Operand(operand) => {
                let known = operand.as_var().and_then(|var| self.values.get(&var)).unwrap_or(operand).clone();
                let is_tuple = matches!(known, Operand::Tuple(_));
                self.values.insert(binding.var, known);
                if is_tuple {
                    return Ok(None);
                }
            }
            Value::TupleGet(tuple, index) => {
                if let Some(field) = self.field(tuple, *index) {
                    let mut used = Vec::new();
                    field.each_var(&mut |var| used.push(var));
                    self.values.insert(binding.var, field);
                    self.declared(function, binding.var);
                    return Ok(Some(used));
                }
                if names_device(function.ty(binding.var)) {
                    return Ok(None);
                }
            }
            Value::If { .. } => return Ok(None),
            Value::Function(lambda) => lambda.params.iter().for_each(|param| self.declared(function, *param)),
            Value::MatchCast(..) => {}
        }
        let mut used = Vec::new();
        binding.value.each_operand(&mut |operand| operand.each_var(&mut |var| self.parts(var, &mut used)));
        binding.value.each_operand(&mut |operand| self.constants(binding.var, operand));
        // if an operand's type has the device, the result's type only repeats it, and a hint may be more precise
        if !used.iter().any(|var| names_device(function.ty(*var))) {
            self.declared(function, binding.var);
        }
        Ok(Some(used))
    }

    /// Adds a variable, or those of which it is a tuple: fields may be on different devices.
    fn parts(&self, var: Var, out: &mut Vec<Var>) {
        match self.values.get(&var) {
            Some(tuple @ Operand::Tuple(_)) => tuple.each_var(&mut |field| self.parts(field, out)),
            _ => out.push(var),
        }
    }

    /// A result is on the device of constants that are placed.
    fn constants(&mut self, var: Var, operand: &Operand) {
        match operand {
            Operand::Const(constant) => {
                if let Some(device) = &constant.vdevice {
                    self.known.entry(var).or_insert_with(|| device.clone());
                }
            }
            Operand::Tuple(fields) => fields.iter().for_each(|field| self.constants(var, field)),
            _ => {}
        }
    }

    /// A field of a tuple literal.
    fn field(&self, tuple: &Operand, index: usize) -> Option<Operand> {
        match self.values.get(&tuple.as_var()?)? {
            Operand::Tuple(fields) => fields.get(index).cloned(),
            _ => None,
        }
    }

    /// Arguments are on the devices of the parameters, by default.
    fn arguments(&mut self, callee: &Function, args: &[Operand]) {
        for (arg, param) in args.iter().zip(&callee.lambda.params) {
            let device = callee.ty(*param).as_tensor().and_then(|tensor| tensor.vdevice.clone());
            self.hinted.extend(arg.as_var().zip(device));
        }
    }

    fn declared(&mut self, function: &Function, var: Var) {
        if let Some(device) = function.ty(var).as_tensor().and_then(|t| t.vdevice.clone()) {
            self.known.insert(var, device);
        }
    }

    /// Records that a binding's variable is on the same device as others: those that a runtime function takes may be
    /// elsewhere.
    fn join(&mut self, function: &Function, binding: &Binding, used: &[Var]) {
        let is_scalar = |v: Var| matches!(function.ty(v), Type::Prim(_) | Type::Shape(_));
        let var = binding.var;
        if is_scalar(var) {
            return;
        }
        let used: Vec<Var> = used.iter().copied().filter(|v| !is_scalar(*v)).collect();
        for other in used.iter().copied().filter(|_| !calls_runtime(&binding.value)) {
            self.same_device.entry(var).or_default().push(other);
            self.same_device.entry(other).or_default().push(var);
        }
        self.flow.push((var, used));
    }

    /// Propagates the declared result type to the returned variables.
    pub(super) fn result(&mut self, function: &Function) {
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

    /// Returns the device of every variable: known devices first, from operands to results and then both ways, then those
    /// of hints.
    pub(super) fn propagate(mut self) -> FxHashMap<Var, Arc<VDevice>> {
        for (var, used) in std::mem::take(&mut self.flow) {
            let found = used.iter().find_map(|operand| self.known.get(operand)).cloned();
            if let (false, Some(device)) = (self.known.contains_key(&var), found) {
                self.known.insert(var, device);
            }
        }
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

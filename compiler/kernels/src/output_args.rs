//! Finds the arguments that a kernel writes.

use crate::{ArgDesc, DeviceFunc, FlatKernel, RawParam};
use hammock_ir::{
    PrimExpr,
    prim::{PrimCall, PrimCallee, PrimKind, Var},
    tir::{Stmt, StmtKind, call::Description},
};
use std::collections::{BTreeSet, HashMap};

/// Bit of the mask of `T.tvm_access_ptr` that declares write access.
const WRITES: i64 = 2;

impl FlatKernel {
    /// Returns for each packed argument whether it is a tensor that the kernel stores to. Writes of called functions
    /// are unknown, unless an address declares them.
    pub fn output_args(&self) -> Vec<bool> {
        let mut pointers = Pointers::default();
        for (raw, param) in self.signature.raw.iter().zip(&self.func.params) {
            if let RawParam::Data(arg) = raw {
                pointers.origins.insert(param.var.clone(), BTreeSet::from([*arg]));
            }
        }
        self.func.body.walk(&mut |stmt| pointers.statement(stmt));
        let is_tensor = |arg: &ArgDesc| matches!(arg, ArgDesc::Tensor(_));
        let args = self.signature.args.iter().enumerate();
        args.map(|(number, arg)| is_tensor(arg) && pointers.written.contains(&number)).collect()
    }
}

impl DeviceFunc {
    /// Returns for each parameter whether it is a pointer through which the function stores.
    pub fn written_params(&self) -> Vec<bool> {
        let mut pointers = Pointers::default();
        for (number, param) in self.func.params.iter().enumerate() {
            pointers.origins.insert(param.var.clone(), BTreeSet::from([number]));
        }
        self.func.body.walk(&mut |stmt| pointers.statement(stmt));
        (0..self.func.params.len()).map(|number| pointers.written.contains(&number)).collect()
    }
}

/// Returns true for a call of a builtin that writes to its tensor arguments. Functions that users register are their
/// own responsibility.
fn is_builtin_that_writes(call: &PrimCall) -> bool {
    let is_packed =
        matches!(&call.callee, PrimCallee::Intrin(name) if matches!(&**name, "call_packed" | "call_cpacked"));
    let name = call.args.first().map(PrimExpr::kind);
    is_packed && matches!(name, Some(PrimKind::Str(name)) if name.starts_with("tvm.contrib.sort."))
}

#[derive(Default)]
struct Pointers {
    /// Arguments that a pointer may point into.
    origins: HashMap<Var, BTreeSet<usize>>,
    written: BTreeSet<usize>,
}

impl Pointers {
    fn statement(&mut self, stmt: &Stmt) {
        stmt.each_expr(&mut |expr| self.expression(expr));
        match &stmt.kind {
            StmtKind::Bind(var, value) => self.bind(var, value),
            StmtKind::Store { buffer, .. } => self.written.extend(self.origins.get(&buffer.data).into_iter().flatten()),
            _ => {}
        }
    }

    fn expression(&mut self, expr: &PrimExpr) {
        expr.walk(&mut |expr| match expr.kind() {
            PrimKind::Let(var, value, _) => self.bind(var, value),
            PrimKind::Call(call) if is_builtin_that_writes(call) => {
                // The first argument is read.
                let outputs = call.args.iter().skip(2).filter_map(Description::of);
                let outputs: Vec<usize> = outputs.flat_map(|given| self.leads_into(given.data)).collect();
                self.written.extend(outputs);
            }
            PrimKind::Call(call) if expr.as_intrin("atomic_add").is_some() => {
                let into = call.args.first().map(|address| self.leads_into(address)).unwrap_or_default();
                self.written.extend(into);
            }
            _ => {
                let Some(call) = expr.as_intrin("tvm_access_ptr") else { return };
                let mask = call.args.last().and_then(PrimExpr::as_int).unwrap_or(WRITES);
                if mask & WRITES != 0 {
                    let into = call.args.get(1).map(|data| self.leads_into(data)).unwrap_or_default();
                    self.written.extend(into);
                }
            }
        });
    }

    fn bind(&mut self, var: &Var, value: &PrimExpr) {
        let origins = self.leads_into(value);
        if var.dtype().is_handle() && !origins.is_empty() {
            self.origins.entry(var.clone()).or_default().extend(origins);
        }
    }

    /// Returns the arguments that the pointers in an expression point into.
    fn leads_into(&self, expr: &PrimExpr) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        expr.walk(&mut |expr| {
            let pointer = match expr.kind() {
                PrimKind::Var(var) => Some(var),
                PrimKind::Load(buffer, ..) => Some(&buffer.data),
                _ => None,
            };
            found.extend(pointer.and_then(|pointer| self.origins.get(pointer)).into_iter().flatten());
        });
        found
    }
}

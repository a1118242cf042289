//! SpecializePrimFuncBasedOnCallSite: specializes kernels to the sizes and memory scopes of their calls.
//!
//! A symbolic size of a kernel becomes the constant that all of its calls pass; buffers get the memory scope of the
//! virtual devices of their tensors. Kernels that are visible outside, or called other than by `call_tir`, stay as
//! they are.

use crate::{
    Context, Pass,
    analysis::{functions, symbolic},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr, Type,
    prim::{PrimCallee, PrimKind, PrimType, Substitution, Var as PrimVar},
    relax::{Call, CallTir, Function},
    tir::{Buffer, PrimFunc, fresh::copy_body},
};
use hammock_ops::dims::simplify;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "SpecializePrimFuncBasedOnCallSite",
    doc: "Specializes kernels to the sizes and memory scopes of their calls",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut sites: FxHashMap<Name, Vec<TensorArg>> = FxHashMap::default();
    let mut others = called_by_kernels(module);
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| match site(module, function, call) {
            Some((name, given)) => match sites.get_mut(name) {
                Some(known) if known.len() == given.len() => {
                    known.iter_mut().zip(given).for_each(|(known, given)| known.intersect(given));
                }
                Some(_) => drop(others.insert(name.clone())),
                None => drop(sites.insert(name.clone(), given)),
            },
            None => call.each_global(&mut |name| _ = others.insert(name.clone())),
        });
    }
    for (name, given) in sites {
        if let Some(Global::Tir(func)) = module.functions.get_mut(&name)
            && func.is_private()
            && !others.contains(&name)
        {
            specialize(func, &given);
        }
    }
    Ok(())
}

/// A tensor argument of a call.
struct TensorArg {
    /// Sizes, if known.
    sizes: Vec<Option<i64>>,
    /// Memory scope, if all calls agree.
    scope: Option<Name>,
}

impl TensorArg {
    fn of(ty: &Type) -> Option<Self> {
        let tensor = ty.as_tensor()?;
        let sizes = symbolic::dims(ty)?.iter().map(PrimExpr::as_int).collect();
        let scope = tensor.vdevice.as_ref().map_or("global".into(), |device| device.scope.clone());
        Some(TensorArg { sizes, scope: Some(scope) })
    }

    /// Keeps the sizes and scope that another call passes too.
    fn intersect(&mut self, other: TensorArg) {
        if self.sizes.len() != other.sizes.len() {
            self.sizes.fill(None);
        }
        for (own, other) in self.sizes.iter_mut().zip(other.sizes) {
            *own = own.filter(|own| Some(*own) == other);
        }
        self.scope = self.scope.take().filter(|own| Some(own) == other.scope.as_ref());
    }
}

/// Returns the kernel that a `call_tir` calls, with its arguments, then its results.
fn site<'a>(module: &Module, function: &Function, call: &'a Call) -> Option<(&'a Name, Vec<TensorArg>)> {
    let call = CallTir::of(call)?;
    let args = call.inputs()?.iter().map(|arg| TensorArg::of(&function.operand_ty(module, arg)));
    let given = args.chain(call.outputs().iter().map(TensorArg::of)).collect::<Option<_>>()?;
    Some((call.kernel()?, given))
}

/// Returns the kernels that kernels call.
fn called_by_kernels(module: &Module) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    for (_, func) in module.tir_functions() {
        func.body.walk(&mut |stmt| {
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let PrimKind::Call(call) = e.kind()
                        && let PrimCallee::Global(name) = &call.callee
                    {
                        names.insert(name.clone());
                    }
                });
            });
        });
    }
    names
}

/// Sets the sizes and scopes of a kernel's buffers. A kernel whose parameters do not match its calls stays.
fn specialize(func: &mut PrimFunc, given: &[TensorArg]) {
    let Some(sizes) = sizes(func, given) else { return };
    let mut values: Substitution =
        sizes.into_iter().map(|(v, size)| (v.clone(), PrimExpr::int(size, v.dtype()))).collect();
    let mut buffers: FxHashMap<Buffer, Buffer> = FxHashMap::default();
    let all = |exprs: &[PrimExpr], values: &Substitution| exprs.iter().map(|e| with_sizes(e, values)).collect();
    for (param, given) in func.params.iter_mut().zip(given) {
        let Some(old) = param.buffer.clone() else { continue };
        let scope = given.scope.clone().unwrap_or_else(|| old.scope.clone());
        let data = PrimVar::new(old.data.name().clone(), PrimType::Pointer(Some(old.dtype), scope.clone()));
        let new = old.change(|b| {
            (b.shape, b.strides) = (all(&old.shape, &values), all(&old.strides, &values));
            (b.scope, b.data) = (scope, data.clone());
        });
        values.insert(old.data.clone(), data.expr());
        buffers.insert(old, new.clone());
        let var = param.var.fresh();
        values.insert(std::mem::replace(&mut param.var, var.clone()), var.expr());
        param.buffer = Some(new);
    }
    for size in symbolic_sizes(func) {
        values.entry(size.clone()).or_insert_with(|| size.expr());
    }
    func.body.map_exprs(&mut |e| with_sizes(e, &values));
    func.body = copy_body(&func.body, values, buffers);
    func.attrs.set("scoped", 1i64);
}

/// Substitutes constants for sizes and folds arithmetic on them.
fn with_sizes(e: &PrimExpr, values: &Substitution) -> PrimExpr {
    if let Some(value) = e.as_var().and_then(|v| values.get(v)).filter(|value| value.as_int().is_some()) {
        return value.clone();
    }
    let new = e.map_children(&mut |child| with_sizes(child, values));
    if new.same_node(e) || !new.dtype().is_integer() { new } else { simplify(&new) }
}

/// Returns the kernel's symbolic sizes that calls pass as constants; `None` if a call does not match.
fn sizes(func: &PrimFunc, given: &[TensorArg]) -> Option<FxHashMap<PrimVar, i64>> {
    let mut sizes: FxHashMap<PrimVar, i64> = FxHashMap::default();
    if func.params.len() != given.len() {
        return None;
    }
    for (param, given) in func.params.iter().zip(given) {
        let buffer = param.buffer.as_ref()?;
        for (dim, size) in buffer.shape.iter().zip(&given.sizes) {
            if let (Some(var), Some(size)) = (dim.as_var(), size)
                && *sizes.entry(var.clone()).or_insert(*size) != *size
            {
                return None;
            }
        }
    }
    Some(sizes)
}

/// Returns the remaining variables in the sizes of parameters.
fn symbolic_sizes(func: &PrimFunc) -> Vec<PrimVar> {
    let mut vars = Vec::new();
    for buffer in func.buffers() {
        buffer.each_expr(&mut |e| vars.extend(symbolic::vars(e)));
    }
    vars
}

//! Replacement kernels.

use super::{PASS, wrong};
use crate::Context;
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    Attrs, DType, Function as Global, Module, Name, PrimExpr, Type, count,
    prim::{IndexMap, Var},
    tir::{Block, Buffer, Param, PrimFunc, Region, call::callees},
};
use hammock_ops::legalize::fill_block;
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Attribute of a kernel with the operator that it computes.
pub const OPERATOR: &str = "operator_name";

/// Replacement kernel of an operator.
pub struct Replacement {
    operator: Name,
    kernel: PrimFunc,
    /// Layouts of its buffers, arguments and then results; empty if all keep theirs.
    pub maps: Vec<Option<Arc<IndexMap>>>,
    /// Its name, once it is in the module.
    name: Option<Name>,
}

/// Reads the replacements from the pass's options.
pub fn all(module: &Module, context: &Context) -> Result<FxHashMap<Name, Replacement>, Diagnostic> {
    let file = context.options.text("file");
    let read = if file.is_empty() { None } else { Some(context.environment.texts.module(&file)?) };
    let kernels = read.as_ref().unwrap_or(module);
    let mut all = FxHashMap::default();
    for (operator, kernel) in context.options.entries("op_impl_map") {
        let kernel = kernel.as_str().unwrap_or_default();
        let found = kernels.tir(kernel).ok_or_else(|| unknown(kernels, kernel, &file))?;
        if let Some(other) = callees(found).first().filter(|_| read.is_some()) {
            let message = format!("kernel `{kernel}` of {file} calls `{other}`, which the module does not have");
            return Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help("write it as one kernel"));
        }
        let operator = Name::from(operator);
        let mut kernel = found.clone();
        kernel.attrs.remove("global_symbol");
        kernel.attrs.set(OPERATOR, &*operator);
        all.insert(operator.clone(), Replacement { operator, kernel, maps: Vec::new(), name: None });
    }
    for (operator, maps) in context.options.entries("op_buffer_transforms") {
        let Some(replacement) = all.get_mut(&*operator) else {
            let message = format!("option `op_buffer_transforms` of pass `{}` names `{operator}`", PASS.name);
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("{message}, for which there is no kernel"));
            return Err(error.help("`op_impl_map` has a kernel for each operator"));
        };
        let read = |map: &serde_json::Value| match map.as_str() {
            Some(text) => context.environment.texts.index_map(text).map(|map| Some(Arc::new(map))),
            None => Ok(None),
        };
        replacement.maps = maps.as_array().into_iter().flatten().map(read).collect::<Result<_, _>>()?;
        let (buffers, params) = (replacement.maps.len(), replacement.kernel.params.len());
        if buffers != 0 && buffers != params {
            let message = format!("the kernel for `{operator}` has {}", count(params, "parameter"));
            let message = format!("{message}, but {} are given", count(buffers, "index map"));
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, message);
            return Err(error.help("give one for each argument and result, `null` for one that stays, or none at all"));
        }
    }
    Ok(all)
}

fn unknown(kernels: &Module, wanted: &str, file: &str) -> Diagnostic {
    let source = if file.is_empty() { "the module" } else { file };
    let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("{source} has no kernel `{wanted}`"));
    let names: Vec<&str> = kernels.tir_functions().map(|(name, _)| &**name).collect();
    match nearest(wanted, names.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => error.help("option `file` names a text file with kernels"),
        None => error.help(format!("it has {}", names.join(", "))),
    }
}

impl Replacement {
    /// Returns its name, and adds it to the module at the first call.
    pub fn name(&mut self, module: &mut Module) -> Name {
        let add = || {
            let identifier: String = self.operator.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
            module.add_unique(&format!("{identifier}_replacement"), Global::Tir(self.kernel.clone()))
        };
        self.name.get_or_insert_with(add).clone()
    }

    /// Checks the number of arguments and results of a call.
    pub fn takes(&self, given: usize, span: Span) -> Result<(), Diagnostic> {
        let params = self.kernel.params.len();
        if params == given {
            return Ok(());
        }
        let takes = format!("the one for `{}` has {}", self.operator, count(params, "parameter"));
        Err(wrong(&format!("{takes}, but {given} arguments and results are needed"), span))
    }

    /// Checks the types of arguments and results against its buffers.
    pub fn fits(&self, types: &[Type], span: Span) -> Result<(), Diagnostic> {
        for (param, ty) in self.kernel.params.iter().zip(types) {
            let (Some(buffer), Some(tensor)) = (&param.buffer, ty.as_tensor()) else { continue };
            let sizes = || tensor.dims().into_iter().flatten().zip(&buffer.shape);
            let differ = |(a, b): (&PrimExpr, &PrimExpr)| a.as_int().zip(b.as_int()).is_some_and(|(a, b)| a != b);
            let fits = tensor.dtype.is_none_or(|dtype| dtype == buffer.dtype)
                && tensor.ndim().is_none_or(|rank| rank == buffer.ndim())
                && !sizes().any(differ);
            if !fits {
                let sizes: Vec<String> = buffer.shape.iter().map(size).collect();
                let wants = format!("`{}` of the one for `{}`", buffer.name, self.operator);
                let wants = format!("{wants} is {} of shape ({})", buffer.dtype, sizes.join(", "));
                return Err(wrong(&format!("{wants}, but gets {}", hammock_ir::print::type_text(ty)), span));
            }
        }
        Ok(())
    }
}

fn size(e: &PrimExpr) -> String {
    e.as_int().map_or_else(|| e.to_string(), |v| v.to_string())
}

/// Returns a kernel that copies the first elements along each axis.
pub fn remove_pad(rank: usize, dtype: DType) -> PrimFunc {
    let sizes = |name: &str| -> Vec<PrimExpr> { (0..rank).map(|i| Var::int64(format!("{name}{i}")).expr()).collect() };
    let (input, output) = (Buffer::new("input", sizes("p"), dtype), Buffer::new("output", sizes("i"), dtype));
    let value = |at: &[PrimExpr]| (PrimExpr::load(&input, at.to_vec()), vec![Region::point(&input, at.to_vec())]);
    let body = fill_block(&output, Attrs::new(), value);
    PrimFunc {
        params: vec![Param::buffer(input), Param::buffer(output)],
        ret_ty: None,
        body: Block::root(Vec::new(), body).into(),
        attrs: Attrs::new().with(OPERATOR, "remove_pad").with("tirx.noalias", true),
        s_tir: true,
        span: Span::NONE,
    }
}

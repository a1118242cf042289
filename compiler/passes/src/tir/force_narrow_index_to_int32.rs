//! ForceNarrowIndexToInt32: makes all int64 indices, sizes and constants int32, whether they fit or not.
//!
//! Sizes that are parameters become int32 too. It is for processors that compute indices in 32 bits: the caller
//! promises that no buffer has more than 2³¹ elements. A kernel with int64 buffers is rejected, since their elements
//! are no indices, and so is one whose sizes come from Relax functions.

use super::{
    each_kernel, misplaced,
    narrow_data_type::{Narrowing, Rewriter},
};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Function as Global, Module,
    tir::{Buffer, Param, PrimFunc, StmtKind},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "tirx.ForceNarrowIndexToInt32", doc: "Computes all indices in 32 bits", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let has_graphs = module.functions.values().any(|function| !matches!(function, Global::Tir(_)));
    each_kernel(module, |name, kernel| {
        let is_size = |param: &&Param| param.buffer.is_none() && param.var.dtype() == DType::INT64;
        if let Some(param) = kernel.params.iter().find(is_size).filter(|_| has_graphs) {
            let why = format!("graphs give it `{}` as int64", param.var.name());
            return Err(misplaced(&PASS, name, &why, "run pass `BindSymbolicVars` first", kernel.span));
        }
        if let Some(buffer) = buffers(kernel).into_iter().find(|buffer| buffer.dtype.is_int() && buffer.dtype.bits > 32)
        {
            let why = format!("buffer `{}` has elements of {}", buffer.name, buffer.dtype);
            return Err(misplaced(&PASS, name, &why, "keep its indices in 64 bits: leave this pass out", kernel.span));
        }
        let mut rewriter = Rewriter::new(Narrowing::Int32, FxHashMap::default());
        // first pass: find out which variables are indices
        rewriter.body(&mut kernel.body.clone());
        for param in &mut kernel.params {
            match &param.buffer {
                Some(buffer) => param.buffer = Some(rewriter.declare(buffer)),
                None => param.var = rewriter.narrow(&param.var),
            }
        }
        rewriter.body(&mut kernel.body);
        match rewriter.too_large {
            None => Ok(()),
            Some(value) => {
                let why = format!("the number {value} does not fit into int32");
                Err(misplaced(&PASS, name, &why, "keep its indices in 64 bits: leave this pass out", kernel.span))
            }
        }
    })
}

/// Returns a kernel's parameter buffers, and those of its blocks.
fn buffers(kernel: &PrimFunc) -> Vec<Buffer> {
    let mut found: Vec<Buffer> = kernel.buffers().cloned().collect();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Block(block) = &stmt.kind {
            found.extend(block.alloc_buffers.iter().cloned());
        }
    });
    found
}

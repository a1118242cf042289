//! PackWeights: kernels take weights as they use them.
//!
//! Products of matrices copy blocks of a matrix that does not lie as their loops use it, each time they run. Where a
//! weight may lie in memory in any way (AttachAttrLayoutFreeBuffers says so) and the planner of kernels finds a copy
//! worthwhile, the kernel copies all of it first, in a block marked for SplitLayoutRewritePreproc, which makes a kernel of
//! that; FoldConstant then runs it when the module is compiled.
//!
//! The attribute is gone afterwards. One dimension of the weight is divided into blocks: `[K, N]` becomes
//! `[N / 64, K, 64]`. Of numbers that processors multiply several of at once, such terms of a sum lie side by side, in
//! words: `[N / 64, K / 4, 64, 4]`. What the last block and the last word have too much is zeros. Where processors
//! multiply bytes only if one of them is signed, the others are [`flip_signs`].

mod flip_signs;
mod layout;

use crate::{Context, PackedParam, Pass, analysis::attributes::LAYOUT_REWRITE, rewrite::fill_block::fill_block};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function, Module, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, PrimFunc, Region, Stmt, StmtKind},
};
use layout::Layout;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "PackWeights", doc: "Copies weights first in the order in which kernels use them", options: &[], run };

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    for function in module.functions.values_mut() {
        let Function::Tir(kernel) = function else { continue };
        let Some(free) = kernel.attrs.remove("layout_free_buffers") else { continue };
        let free = free.as_list().unwrap_or_default();
        let is_free = |packed: &PackedParam| free.iter().any(|param| param.as_int() == Some(packed.param as i64));
        let wanted: Vec<PackedParam> = context.environment.planner.packed(kernel).into_iter().filter(is_free).collect();
        wanted.into_iter().for_each(|packed| pack(kernel, packed));
    }
    Ok(())
}

/// Makes a kernel copy a parameter first.
fn pack(kernel: &mut PrimFunc, packed: PackedParam) {
    let Some(given) = kernel.params.get(packed.param).and_then(|param| param.buffer.clone()) else { return };
    let sizes: Option<Vec<i64>> = given.shape.iter().map(PrimExpr::as_int).collect();
    let (Some(sizes), StmtKind::Block(root)) = (sizes, &mut kernel.body.kind) else { return };
    let layout = Layout { packed, sizes };
    let shape = layout.shape().into_iter().map(PrimExpr::int64).collect();
    let packed = Buffer::new(format!("{}_packed", given.name), shape, given.dtype);
    let mut taken = std::mem::replace(&mut root.body, Stmt::nop());
    let moves = layout.packed.group.is_some_and(|group| group.sign_flipped);
    let sums = moves.then(|| flip_signs::moved(&mut taken, &given)).flatten();
    let computed = reading(taken, &given, &packed, &layout);
    let summed = sums.iter().map(|sums| sums.stmt.clone());
    root.body = Stmt::seq([copy(&given, &packed, &layout)].into_iter().chain(summed).chain([computed]));
    root.alloc_buffers.push(packed);
    root.alloc_buffers.extend(sums.map(|sums| sums.buffer));
}

/// The statement that copies all elements.
fn copy(given: &Buffer, packed: &Buffer, layout: &Layout) -> Stmt {
    fill_block(packed, Attrs::new().with(LAYOUT_REWRITE, true), |at| {
        let (from, inside) = layout.from(at);
        let value = PrimExpr::load(given, from);
        let value = match inside {
            None => value,
            Some(inside) => inside.if_then_else(value, PrimExpr::constant(0.0, given.dtype)),
        };
        (value, vec![Region::full(given)])
    })
}

/// The statement with what it reads of one buffer read from its copy.
fn reading(mut stmt: Stmt, given: &Buffer, packed: &Buffer, layout: &Layout) -> Stmt {
    stmt.map_exprs(&mut |e| moved_to(e, given, packed, layout));
    declare(&mut stmt, given, packed);
    stmt
}

fn moved_to(e: &PrimExpr, given: &Buffer, packed: &Buffer, layout: &Layout) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, None) if buffer == given => {
            let indices = indices.iter().map(|i| moved_to(i, given, packed, layout)).collect();
            PrimExpr::load(packed, layout.place(indices))
        }
        _ => e.map_children(&mut |child| moved_to(child, given, packed, layout)),
    }
}

/// Blocks say that they read the copy.
fn declare(stmt: &mut Stmt, given: &Buffer, packed: &Buffer) {
    if let StmtKind::Block(block) = &mut stmt.kind {
        let regions = block.reads.iter_mut().flatten().filter(|region| region.buffer == *given);
        regions.for_each(|region| *region = Region::full(packed));
    }
    stmt.each_child_mut(&mut |child| declare(child, given, packed));
}

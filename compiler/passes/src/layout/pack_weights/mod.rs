//! PackWeights: packs weights into the layout that their kernels use.
//!
//! Matmul kernels pack blocks of an operand whose layout does not suit their loops, at each call. If the layout of a
//! weight is free (AttachAttrLayoutFreeBuffers) and the kernel planner finds packing worthwhile, the kernel packs all
//! of it first, in a block marked for SplitLayoutRewritePreproc, which makes a kernel of that; FoldConstant then runs
//! it at compile time.
//!
//! The attribute is removed. One dimension of the weight is tiled: `[K, N]` becomes `[N / 64, K, 64]`. Dtypes with
//! dot-product instructions are packed in groups along the reduction axis: `[N / 64, K / 4, 64, 4]`. Padding is zero.
//! Where the instructions need one signed and one unsigned operand, the sign bits of the other operand are flipped
//! ([`flip_signs`]).

mod flip_signs;

use crate::{Context, Pass, analysis::attributes::LAYOUT_REWRITE};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function, Module, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, PrimFunc, Region, Stmt, StmtKind},
};
use hammock_loopnest::{PackedLayout, PackedParam};
use hammock_ops::legalize::fill_block;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "PackWeights", doc: "Packs weights into the layout that their kernels use", options: &[], run };

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

/// Makes a kernel pack a parameter first.
fn pack(kernel: &mut PrimFunc, packed: PackedParam) {
    let Some(given) = kernel.params.get(packed.param).and_then(|param| param.buffer.clone()) else { return };
    let sizes: Option<Vec<i64>> = given.shape.iter().map(PrimExpr::as_int).collect();
    let (Some(sizes), StmtKind::Block(root)) = (sizes, &mut kernel.body.kind) else { return };
    let layout = packed.layout;
    let shape = layout.shape(&sizes).into_iter().map(PrimExpr::int64).collect();
    let packed = Buffer::new(format!("{}_packed", given.name), shape, given.dtype);
    let mut taken = std::mem::replace(&mut root.body, Stmt::nop());
    let flips = layout.groups.is_some_and(|groups| groups.flip_sign);
    let sums = flips.then(|| flip_signs::flip_signs(&mut taken, &given)).flatten();
    let computed = use_packed(taken, &given, &packed, &layout);
    let summed = sums.iter().map(|sums| sums.stmt.clone());
    root.body = Stmt::seq([packing_nest(&given, &packed, &layout, &sizes)].into_iter().chain(summed).chain([computed]));
    root.alloc_buffers.push(packed);
    root.alloc_buffers.extend(sums.map(|sums| sums.buffer));
}

/// Returns the loop nest that packs all elements.
fn packing_nest(given: &Buffer, packed: &Buffer, layout: &PackedLayout, sizes: &[i64]) -> Stmt {
    fill_block(packed, Attrs::new().with(LAYOUT_REWRITE, true), |at| {
        let (from, inside) = layout.unpack(at, sizes);
        let value = PrimExpr::load(given, from);
        let value = match inside {
            None => value,
            Some(inside) => inside.if_then_else(value, PrimExpr::constant(0.0, given.dtype)),
        };
        (value, vec![Region::full(given)])
    })
}

/// Returns the statement with loads of a buffer replaced by loads of its packed copy.
fn use_packed(mut stmt: Stmt, given: &Buffer, packed: &Buffer, layout: &PackedLayout) -> Stmt {
    stmt.map_exprs(&mut |e| load_packed(e, given, packed, layout));
    declare(&mut stmt, given, packed);
    stmt
}

fn load_packed(e: &PrimExpr, given: &Buffer, packed: &Buffer, layout: &PackedLayout) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, None) if buffer == given => {
            let indices: Vec<PrimExpr> = indices.iter().map(|i| load_packed(i, given, packed, layout)).collect();
            PrimExpr::load(packed, layout.pack(&indices))
        }
        _ => e.map_children(&mut |child| load_packed(child, given, packed, layout)),
    }
}

/// Replaces the buffer by the packed copy in the blocks' read regions.
fn declare(stmt: &mut Stmt, given: &Buffer, packed: &Buffer) {
    if let StmtKind::Block(block) = &mut stmt.kind {
        let regions = block.reads.iter_mut().flatten().filter(|region| region.buffer == *given);
        regions.for_each(|region| *region = Region::full(packed));
    }
    stmt.each_child_mut(&mut |child| declare(child, given, packed));
}

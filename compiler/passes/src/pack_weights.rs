//! PackWeights: kernels take weights as they use them.
//!
//! Products of matrices copy blocks of a matrix that does not lie as their loops use it, each time they run. Where a
//! weight may lie in memory in any way (AttachAttrLayoutFreeBuffers says so) and the planner of kernels finds a copy
//! worthwhile, the kernel copies all of it first, in a block marked for SplitLayoutRewritePreproc, which makes a kernel of
//! that; FoldConstant then runs it when the module is compiled.
//!
//! The attribute is gone afterwards. One dimension of the weight is divided into blocks: `[K, N]` becomes
//! `[N / 64, K, 64]`. What the last block has too much is zeros.

use crate::{Context, Packed, Pass, filled::filled, split_layout_rewrite_preproc::MARK};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, DType, Function, Module, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, PrimFunc, Region, Stmt, StmtKind},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "PackWeights", doc: "Copies weights first in the order in which kernels use them", options: &[], run };

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    for function in module.functions.values_mut() {
        let Function::Tir(kernel) = function else { continue };
        let Some(free) = kernel.attrs.remove("layout_free_buffers") else { continue };
        let free = free.as_list().unwrap_or_default();
        let is_free = |packed: &Packed| free.iter().any(|param| param.as_int() == Some(packed.param as i64));
        let wanted: Vec<Packed> = context.environment.planner.packed(kernel).into_iter().filter(is_free).collect();
        wanted.into_iter().for_each(|packed| pack(kernel, packed));
    }
    Ok(())
}

/// Makes a kernel copy a parameter first.
fn pack(kernel: &mut PrimFunc, Packed { param, dim, block }: Packed) {
    let Some(given) = kernel.params.get(param).and_then(|param| param.buffer.clone()) else { return };
    let sizes: Option<Vec<i64>> = given.shape.iter().map(PrimExpr::as_int).collect();
    let (Some(sizes), StmtKind::Block(root)) = (sizes, &mut kernel.body.kind) else { return };
    let blocks = (sizes[dim] + block - 1) / block;
    let others = (0..sizes.len()).filter(|at| *at != dim).map(|at| sizes[at]);
    let shape = [blocks].into_iter().chain(others).chain([block]).map(PrimExpr::int64).collect();
    let packed = Buffer::new(format!("{}_packed", given.name), shape, given.dtype);
    let taken = std::mem::replace(&mut root.body, Stmt::nop());
    let computed = reading(taken, &given, &packed, dim, block);
    root.body = Stmt::seq([copy(&given, &packed, dim, sizes[dim]), computed]);
    root.alloc_buffers.push(packed);
}

/// The statement that copies all elements.
fn copy(given: &Buffer, packed: &Buffer, dim: usize, size: i64) -> Stmt {
    filled(packed, Attrs::new().with(MARK, true), |at| {
        let [first, others @ .., last] = at else { unreachable!("a packed buffer has blocks, and places in them") };
        let [blocks, .., block] = &packed.shape[..] else { unreachable!("the same") };
        let place = first.clone() * block.clone() + last.clone();
        let mut from = others.to_vec();
        from.insert(dim, place.clone());
        let value = PrimExpr::load(given, from);
        let is_even = blocks.as_int().zip(block.as_int()).is_some_and(|(blocks, block)| blocks * block == size);
        let value = match is_even {
            true => value,
            false => place.lt(size).if_then_else(value, PrimExpr::constant(0.0, given.dtype)),
        };
        (value, vec![Region::full(given)])
    })
}

/// The statement with what it reads of one buffer read from its copy.
fn reading(mut stmt: Stmt, given: &Buffer, packed: &Buffer, dim: usize, block: i64) -> Stmt {
    stmt.map_exprs(&mut |e| moved(e, given, packed, dim, block));
    declare(&mut stmt, given, packed);
    stmt
}

fn moved(e: &PrimExpr, given: &Buffer, packed: &Buffer, dim: usize, block: i64) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, None) if buffer == given => {
            let mut indices: Vec<PrimExpr> = indices.iter().map(|i| moved(i, given, packed, dim, block)).collect();
            let place = indices.remove(dim).cast(DType::INT64);
            indices.insert(0, place.clone().floordiv(block));
            indices.push(place.floormod(block));
            PrimExpr::load(packed, indices)
        }
        _ => e.map_children(&mut |child| moved(child, given, packed, dim, block)),
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

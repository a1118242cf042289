//! SplitLayoutRewritePreproc: moves the packing of weights into kernels of their own.
//!
//! A schedule marks blocks that only pack an argument with `meta_schedule.layout_rewrite_preproc`. The kernel `f`
//! becomes `f_weight_prepack`, which has those blocks, and `f_prepacked`, whose parameters are the packed arguments;
//! each call becomes a call of both. If the weights are constants, FoldConstant then runs the first. Unused kernels
//! and bindings are removed.

use crate::{
    Context, Pass,
    analysis::attributes::LAYOUT_REWRITE,
    graph::dead_code_elimination,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr, Span, TensorType, Type,
    prim::PrimKind,
    relax::{Binding, Call, CallTir, Function, Operand, Value},
    tir::{Block, Buffer, Param, PrimFunc, Region, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// End of the name of a kernel whose parameters are packed, after the name of the kernel that it was made of.
pub const PREPACKED: &str = "_prepacked";

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "SplitLayoutRewritePreproc",
    doc: "Moves the packing of weights into kernels of their own",
    options: &[],
    run,
};

/// A kernel split in two.
struct Split {
    packing: PrimFunc,
    computing: PrimFunc,
    rewrites: Vec<Rewrite>,
}

/// A packed argument.
struct Rewrite {
    /// Its index.
    param: usize,
    /// Unpacked buffer.
    before: Buffer,
    /// Packed buffer.
    after: Buffer,
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut splits: FxHashMap<Name, Split> = FxHashMap::default();
    for (name, kernel) in module.tir_functions() {
        if let Some(split) = split(name, kernel)? {
            splits.insert(name.clone(), split);
        }
    }
    let mut parts: FxHashMap<Name, (Name, Name)> = FxHashMap::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| {
            let call = CallTir::of_value(&binding.value);
            let called = call.and_then(|call| Some((call.kernel()?, call.inputs()?, splits.get(call.kernel()?)?)));
            let Some((name, inputs, split)) = called else {
                out.push(binding);
                return Ok(());
            };
            let (packing, computing) = parts.entry(name.clone()).or_insert_with(|| {
                let mut add = |suffix: &str, kernel: &PrimFunc| {
                    module.add_unique(&format!("{name}{suffix}"), Global::Tir(kernel.clone()))
                };
                (add("_weight_prepack", &split.packing), add(PREPACKED, &split.computing))
            });
            let args = with_packed(function, inputs.to_vec(), split, packing, binding.span, out);
            let ty = function.ty(binding.var).clone();
            let call = Value::Call(Call::tir(computing.clone(), args, ty.clone()));
            let result = out.bind(function, "lv", ty, call, binding.span);
            out.push(Binding { value: Value::Operand(result.into()), ..binding });
            Ok(())
        })
    })?;
    context.then(&dead_code_elimination::PASS, module)
}

fn wrong(kernel: &Name, message: &str, at: &Stmt) -> Diagnostic {
    let message = format!("pass `SplitLayoutRewritePreproc` cannot split kernel `{kernel}`: {message}");
    let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(at.span, "");
    error.help(format!(
        "a block with the mark `{LAYOUT_REWRITE}` stands in a loop nest of its own and copies one argument"
    ))
}

/// Splits a kernel; `None` if nothing in it is marked.
fn split(name: &Name, kernel: &PrimFunc) -> Result<Option<Split>, Diagnostic> {
    let mut marked = false;
    kernel.body.walk(&mut |stmt| marked |= is_marked(stmt));
    if !marked {
        return Ok(None);
    }
    let root = match &kernel.body.kind {
        StmtKind::Block(root) if !is_marked(&kernel.body) => root,
        _ => return Err(wrong(name, "it has no root block", &kernel.body)),
    };
    let stmts = match &root.body.kind {
        StmtKind::Seq(stmts) => stmts.as_slice(),
        _ => std::slice::from_ref(&root.body),
    };
    let (mut packing, mut computing, mut rewrites) = (Vec::new(), Vec::new(), Vec::new());
    for stmt in stmts {
        match rewritten(name, kernel, root, stmt)? {
            Some(rewrite) => {
                packing.push(remove_marks(stmt.clone()));
                rewrites.push(rewrite);
            }
            None => computing.push(stmt.clone()),
        }
    }
    for rewrite in &rewrites {
        let is_before = |buffer: &Buffer| *buffer == rewrite.before;
        if let Some(stmt) = computing.iter().find(|stmt| touches(stmt, &is_before)) {
            let message = format!("buffer `{}` is used as it is given, too", rewrite.before.name);
            return Err(wrong(name, &message, stmt));
        }
    }
    // Buffers computed from one argument stay together.
    rewrites.sort_by_key(|rewrite| rewrite.param);
    let given = rewrites.chunk_by(|a, b| a.param == b.param).map(|group| &group[0].before);
    let params = given.chain(rewrites.iter().map(|r| &r.after));
    let params = params.map(|buffer| Param::buffer(buffer.clone())).collect();
    let packing = part(kernel, "_weight_prepack", params, Vec::new(), packing);
    let after = |at: usize| rewrites.iter().filter(move |r| r.param == at).map(|r| Param::buffer(r.after.clone()));
    let params = replaced(&kernel.params, &rewrites, after);
    let is_after = |buffer: &&Buffer| rewrites.iter().any(|r| r.after == **buffer);
    let alloc = root.alloc_buffers.iter().filter(|b| !is_after(b)).cloned().collect();
    let computing = part(kernel, PREPACKED, params, alloc, computing);
    Ok(Some(Split { packing, computing, rewrites }))
}

/// Returns arguments or parameters, with packed ones replaced by `after` of their index.
fn replaced<T: Clone, I: Iterator<Item = T>>(all: &[T], rewrites: &[Rewrite], after: impl Fn(usize) -> I) -> Vec<T> {
    let mut result = Vec::new();
    for (at, one) in all.iter().enumerate() {
        match rewrites.iter().any(|rewrite| rewrite.param == at) {
            true => result.extend(after(at)),
            false => result.push(one.clone()),
        }
    }
    result
}

/// Returns a kernel of some of another's statements.
fn part(kernel: &PrimFunc, suffix: &str, params: Vec<Param>, alloc: Vec<Buffer>, stmts: Vec<Stmt>) -> PrimFunc {
    let mut attrs = kernel.attrs.clone();
    attrs.remove("layout_free_buffers");
    if let Some(symbol) = kernel.global_symbol() {
        attrs.set("global_symbol", format!("{symbol}{suffix}").as_str());
    }
    let body = Stmt::from(Block::root(alloc, Stmt::seq(stmts))).at(kernel.body.span);
    PrimFunc { params, attrs, body, ..kernel.clone() }
}

fn is_marked(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Block(block) if block.annotations.is_true(LAYOUT_REWRITE))
}

fn remove_marks(mut stmt: Stmt) -> Stmt {
    if let StmtKind::Block(block) = &mut stmt.kind {
        block.annotations.remove(LAYOUT_REWRITE);
    }
    stmt.each_child_mut(&mut |child| {
        let taken = std::mem::replace(child, Stmt::nop());
        *child = remove_marks(taken);
    });
    stmt
}

/// Returns the argument that a statement of the root block packs; `None` if it computes.
fn rewritten(name: &Name, kernel: &PrimFunc, root: &Block, stmt: &Stmt) -> Result<Option<Rewrite>, Diagnostic> {
    let mut blocks: Vec<&Stmt> = Vec::new();
    stmt.walk(&mut |stmt| {
        if matches!(stmt.kind, StmtKind::Block(_)) {
            blocks.push(stmt);
        }
    });
    if !blocks.iter().any(|block| is_marked(block)) {
        return Ok(None);
    }
    let [block_stmt] = blocks.as_slice() else {
        return Err(wrong(name, "a marked block stands in one loop nest with others", stmt));
    };
    let error = |message: &str| wrong(name, message, block_stmt);
    let StmtKind::Block(block) = &block_stmt.kind else { return Ok(None) };
    if !block.alloc_buffers.is_empty() || !block.match_buffers.is_empty() {
        return Err(error("a marked block has buffers of its own"));
    }
    let one = |regions: &Option<Vec<Region>>| match regions.as_deref() {
        Some([region]) => Some(region.buffer.clone()),
        _ => None,
    };
    let (Some(before), Some(after)) = (one(&block.reads), one(&block.writes)) else {
        return Err(error("a marked block does not read one buffer and write one"));
    };
    let Some(param) = kernel.params.iter().position(|p| p.buffer.as_ref() == Some(&before)) else {
        return Err(error("what a marked block reads is no argument"));
    };
    if !root.alloc_buffers.contains(&after) {
        return Err(error("what a marked block writes is no buffer of the root block"));
    }
    if after.shape.iter().any(|size| size.as_int().is_none()) {
        return Err(error("what a marked block writes has a symbolic size"));
    }
    Ok(Some(Rewrite { param, before, after }))
}

/// Returns true if a statement reads or writes a buffer for which `is` is true.
fn touches(stmt: &Stmt, is: &dyn Fn(&Buffer) -> bool) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| {
        found |= matches!(&stmt.kind, StmtKind::Store { buffer, .. } if is(buffer));
        if let StmtKind::Block(block) = &stmt.kind {
            found |= block.match_buffers.iter().any(|matched| is(&matched.source.buffer));
        }
        stmt.each_expr(&mut |e| e.walk(&mut |e| found |= matches!(e.kind(), PrimKind::Load(buffer, ..) if is(buffer))));
    });
    found
}

/// Calls the packing kernel, and returns the arguments with its results.
fn with_packed(
    function: &mut Function,
    args: Vec<Operand>,
    split: &Split,
    packing: &Name,
    span: Span,
    out: &mut Emitter,
) -> Vec<Operand> {
    let groups = split.rewrites.chunk_by(|a, b| a.param == b.param);
    let given = groups.map(|group| args[group[0].param].clone()).collect();
    let ty = |r: &Rewrite| Type::from(TensorType::new(r.after.shape.iter().map(as_int64), r.after.dtype));
    let packed_ty = match split.rewrites.as_slice() {
        [one] => ty(one),
        all => Type::Tuple(all.iter().map(ty).collect()),
    };
    let packed = Value::Call(Call::tir(packing.clone(), given, packed_ty.clone()));
    let packed = out.bind(function, "lv", packed_ty, packed, span);
    let mut made: Vec<(usize, Operand)> = Vec::new();
    for (i, rewrite) in split.rewrites.iter().enumerate() {
        let own = match split.rewrites.len() {
            1 => packed.into(),
            _ => out.bind(function, "lv", ty(rewrite), Value::TupleGet(packed.into(), i), span).into(),
        };
        made.push((rewrite.param, own));
    }
    replaced(&args, &split.rewrites, |at| made.iter().filter(move |(of, _)| *of == at).map(|(_, own)| own.clone()))
}

fn as_int64(size: &PrimExpr) -> PrimExpr {
    size.as_int().map_or_else(|| size.clone(), PrimExpr::int64)
}

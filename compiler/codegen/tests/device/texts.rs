//! Texts of small kernels.

use crate::kernel::{THREADS, device_func, global, host_text, ptx, scoped};
use hammock_codegen::llvm::{LlvmError, OptLevel, Unsupported};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{Var, check},
    tir::{Param, Stmt, StmtKind},
};
use hammock_kernels::DeviceFunc;
use hammock_target::Gpu;
use std::path::Path;

/// `y[i] = x[i] + 1` for `i < n`, four elements a thread.
fn add_one() -> DeviceFunc {
    let ((x, first), (y, second), n) = (global("x", DType::FLOAT32), global("y", DType::FLOAT32), Var::int64("n"));
    device_func(vec![first, second, Param::scalar(n.clone())], |i| {
        let ramp = PrimExpr::ramp(&i * PrimExpr::int64(4), PrimExpr::int64(1), 4);
        let one = PrimExpr::float(1.0, DType::FLOAT32).broadcast(4);
        let store = Stmt::store(&y, vec![ramp.clone()], PrimExpr::load(&x, vec![ramp]) + one);
        Stmt::new(StmtKind::If(i.lt(n.expr()), Box::new(store), None))
    })
}

/// `y[i] = x[j]` through shared memory, where `j` runs backwards in each block.
fn reverse_blocks() -> DeviceFunc {
    let ((x, first), (y, second)) = (global("x", DType::FLOAT32), global("y", DType::FLOAT32));
    let shared = scoped("tile", "shared", THREADS, DType::FLOAT32);
    let device = device_func(vec![first, second], |i| {
        let thread = i.clone().floormod(PrimExpr::int64(THREADS));
        let sync = PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str("shared")], DType::VOID);
        Stmt::seq([
            Stmt::new(StmtKind::Alloc(shared.clone(), Attrs::new())),
            Stmt::store(&shared, vec![thread.clone()], PrimExpr::load(&x, vec![i.clone()])),
            Stmt::new(StmtKind::Evaluate(sync)),
            Stmt::store(&y, vec![i], PrimExpr::load(&shared, vec![PrimExpr::int64(THREADS - 1) - thread])),
        ])
    });
    DeviceFunc { shared_bytes: 4 * THREADS as u64, ..device }
}

/// `y[i] = x[table[i]]`, checked.
fn gather() -> DeviceFunc {
    let ((x, first), (y, second)) = (global("x", DType::INT64), global("y", DType::INT64));
    let device = device_func(vec![first, second], |i| {
        let texts = ["x: index ", " of dimension 0 is not below ", " (model.py:3)"].map(PrimExpr::str);
        let args = [PrimExpr::load(&x, vec![i.clone()]), PrimExpr::int64(1000)].into_iter().chain(texts).collect();
        let index = PrimExpr::intrin(check::INDEX, args, DType::INT64);
        Stmt::store(&y, vec![i], PrimExpr::load(&x, vec![index]))
    });
    DeviceFunc { follows_checks: true, ..device }
}

/// Compares a text with a snapshot.
pub fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/codegen_llvm"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn device_functions_as_ptx() {
    let gpu = Gpu::DEFAULT;
    let text = |device: DeviceFunc| ptx(&device, &gpu, OptLevel::Unroll).unwrap();
    snapshot("add_one.ptx", &text(add_one()));
    snapshot("reverse_blocks.ptx", &text(reverse_blocks()));
    snapshot("gather.ptx", &text(gather()));
}

#[test]
fn host_functions_launch() {
    let text = host_text(&gather(), &Gpu::DEFAULT);
    // The hash of the device code, and where the packed entry begins.
    let (before, rest) = text.split_once("}> <{ i64 ").unwrap();
    let (_, after) = rest.split_once(", ptr").unwrap();
    let (raw, _) = after.split_once("define dso_local i32 @__tvm_ffi_f").unwrap();
    snapshot("gather.host", &format!("{before}}}> <{{ HASH, ptr{raw}"));
}

#[test]
fn unsupported_operations_are_errors() {
    let reject = |body: &dyn Fn(PrimExpr) -> Stmt| {
        let error = ptx(&device_func(Vec::new(), body), &Gpu::DEFAULT, OptLevel::Lean).unwrap_err();
        let LlvmError::Kernel { what, .. } = error else { panic!("{error}") };
        what
    };
    let (x, _) = global("x", DType::FLOAT32);
    let evaluate = |e: PrimExpr| Stmt::new(StmtKind::Evaluate(e));
    let half = PrimExpr::float(0.5, DType::FLOAT32);
    for name in ["exp", "log", "sin", "cos", "tanh", "pow", "erf", "sigmoid", "fmod", "ldexp"] {
        let args = if ["pow", "fmod", "ldexp"].contains(&name) { vec![half.clone(); 2] } else { vec![half.clone()] };
        let what = reject(&|_| evaluate(PrimExpr::intrin(name, args.clone(), DType::FLOAT32)));
        assert_eq!(what, Unsupported::Intrinsic(name.into()), "{name}");
    }
    let extern_call = vec![PrimExpr::str("puts"), half.clone()];
    let what = reject(&|_| evaluate(PrimExpr::intrin("call_extern", extern_call.clone(), DType::FLOAT32)));
    assert_eq!(what.to_string(), "a call of a host function in device code");
    let what = reject(&|i| Stmt::serial(Var::int64("j"), i, Stmt::new(StmtKind::Alloc(x.clone(), Attrs::new()))));
    assert_eq!(what.to_string(), "an allocation in device code that is neither shared nor local");
}

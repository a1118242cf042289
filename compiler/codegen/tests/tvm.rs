//! Kernels for TVM's runtime, loaded as by its loader: named pointers are filled with functions, which are the test's
//! own.
#![cfg(feature = "native")]

#[path = "support/build.rs"]
mod build;

use build::{elementwise, func};
use hammock_codegen::llvm::{self, Emit, Host, OptLevel};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, ForKind, Param, PrimFunc, Stmt, StmtKind},
};
use hammock_kernels::lower;
use hammock_runtime::{Any, Tensor, value::index};
use hammock_target::Target;
use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_void},
    io::Write,
};

type Entry = unsafe extern "C" fn(*mut c_void, *const Any, i32, *mut Any) -> i32;

/// The kernel `f`, loaded.
struct Loaded {
    library: libloading::Library,
    _file: tempfile::NamedTempFile,
}

thread_local! {
    static RAISED: RefCell<Option<String>> = const { RefCell::new(None) };
}

unsafe extern "C" fn raise(kind: *const c_char, message: *const c_char) {
    // SAFETY: kernels pass C strings.
    let text = |p| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
    RAISED.replace(Some(format!("{}: {}", text(kind), text(message))));
}

unsafe extern "C" fn workspace(kind: i32, number: i32, bytes: u64, _code: i32, _bits: i32) -> *mut c_void {
    assert_eq!((kind, number), (1, 0));
    Box::into_raw(vec![0u8; bytes as usize + 8].into_boxed_slice()).cast()
}

unsafe extern "C" fn free_workspace(_kind: i32, _number: i32, _memory: *mut c_void) -> i32 {
    0
}

/// Resolves any name; the resolved function is the name itself.
unsafe extern "C" fn look_up(library: *mut c_void, name: *const c_char, found: *mut *const c_char) -> i32 {
    assert_eq!(library.addr(), 42);
    // SAFETY: kernels pass a pointer for the function.
    unsafe { *found = name };
    0
}

unsafe extern "C" fn call(function: *const c_char, args: *const Any, count: i32, result: *mut Any) -> i32 {
    // SAFETY: `look_up` returned the name, and kernels pass `count` values and a pointer for the result.
    let (name, args) = unsafe { (CStr::from_ptr(function), std::slice::from_raw_parts(args, count as usize)) };
    assert_eq!(name, c"test.twice");
    // SAFETY: as above; the result holds no object.
    unsafe { *result = Any::from(2 * args[0].get::<i64>().unwrap()) };
    0
}

impl Loaded {
    fn new(f: &PrimFunc) -> Loaded {
        let flat = lower(f, &Target { threads: 1, ..Target::host() }).unwrap();
        let object = llvm::compile(&[flat], &llvm::host(), Host::Tvm, OptLevel::Lean, Emit::Object).unwrap();
        let linked = hammock_link::link_for_tvm(&[&object], b"modules").unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&linked).unwrap();
        // SAFETY: the library has no initializers.
        let library = unsafe { libloading::Library::new(file.path()) }.unwrap();
        let functions = [
            ("__TVMFFIErrorSetRaisedFromCStr", raise as *const c_void),
            ("__TVMBackendAllocWorkspace", workspace as *const c_void),
            ("__TVMBackendFreeWorkspace", free_workspace as *const c_void),
            ("__TVMFFIEnvModLookupFromImports", look_up as *const c_void),
            ("__TVMFFIFunctionCall", call as *const c_void),
            ("__tvm_ffi__library_ctx", std::ptr::without_provenance(42)),
        ];
        for (name, value) in functions {
            // SAFETY: symbols of these names are pointers that the loader fills.
            unsafe {
                if let Ok(slot) = library.get::<*mut *const c_void>(name) {
                    **slot = value;
                }
            }
        }
        Loaded { library, _file: file }
    }

    fn call(&self, args: &[Any]) -> Result<Any, String> {
        // SAFETY: the symbol is the kernel's packed entry.
        let entry = unsafe { *self.library.get::<Entry>("__tvm_ffi_f").unwrap() };
        let mut result = Any::NONE;
        // SAFETY: the values and the result are valid for the call.
        match unsafe { entry(std::ptr::null_mut(), args.as_ptr(), args.len() as i32, &mut result) } {
            0 => Ok(result),
            _ => Err(RAISED.take().unwrap()),
        }
    }
}

fn tensor<T: hammock_runtime::Element>(shape: &[i64], values: &[T]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap()
}

#[test]
fn tensors_are_objects_or_descriptors() {
    let kernel = Loaded::new(&elementwise(1, DType::FLOAT32, |x| vec![x[0].clone() + x[0].clone()]));
    let (x, y) = (tensor(&[3], &[1.0f32, 2.0, 3.0]), tensor(&[3], &[0.0f32; 3]));
    assert!(kernel.call(&[x.clone().into(), y.clone().into()]).unwrap().is_none());
    assert_eq!(y.as_slice::<f32>().unwrap(), [2.0, 4.0, 6.0]);
    kernel.call(&[described(&y), described(&x)]).unwrap();
    assert_eq!(x.as_slice::<f32>().unwrap(), [4.0, 8.0, 12.0]);
}

/// Returns a pointer to a tensor's descriptor, as other clients of tvm-ffi may pass it.
fn described(tensor: &Tensor) -> Any {
    let object = Any::from(tensor.clone());
    // SAFETY: a value is a kind in 4 bytes, 4 more, and here a pointer to an object whose header is 24 bytes long. The
    // result is a plain pointer, valid while `tensor` lives.
    unsafe {
        let [_, object]: [u64; 2] = std::mem::transmute_copy(&object);
        std::mem::transmute::<[u64; 2], Any>([index::DL_TENSOR_PTR as u64, object + 24])
    }
}

#[test]
fn arguments_are_checked() {
    let kernel = Loaded::new(&elementwise(1, DType::FLOAT32, |x| vec![x[0].clone()]));
    let vector = |n: i64| Any::from(tensor(&[n], &vec![0f32; n as usize]));
    let whole = tensor(&[4, 2], &[0f32; 8]);
    let strided = whole.strided(&[4], &[2], 0).unwrap();
    let bytes = tensor(&[9], &[0u8; 9]);
    for (args, message) in [
        (vec![vector(3)], "TypeError: f: takes 2 arguments"),
        (vec![vector(3), Any::from(1i64)], "TypeError: f: parameter `out0` must be a Tensor"),
        (
            vec![tensor(&[3], &[0i32; 3]).into(), vector(3)],
            "TypeError: f: parameter `in0` must have elements of float32",
        ),
        (vec![vector(3), whole.into()], "ValueError: f: parameter `out0` must have 1 dimension"),
        (
            vec![vector(3), vector(4)],
            "ValueError: f: shape[0] of parameter `out0` must be what the same size is elsewhere",
        ),
        (vec![strided.into(), vector(4)], "ValueError: f: parameter `in0` must be contiguous"),
        (
            vec![bytes.view(DType::FLOAT32, &[2], 1).unwrap().into(), vector(2)],
            "ValueError: f: data of parameter `in0` must be aligned to 4 bytes",
        ),
    ] {
        assert_eq!(kernel.call(&args).unwrap_err(), message);
    }
}

#[test]
fn scalars_are_checked_and_results_returned() {
    let (n, x) = (Var::int64("n"), Var::new("x", DType::FLOAT32));
    let sum = n.expr().cast(DType::FLOAT32) + x.expr();
    let mut f = func(vec![Param::scalar(n), Param::scalar(x)], Stmt::new(StmtKind::Return(sum)));
    f.ret_ty = Some(DType::FLOAT32.into());
    let kernel = Loaded::new(&f);
    assert_eq!(kernel.call(&[Any::from(true), Any::from(2i64)]).unwrap().get::<f64>(), Some(3.0));
    assert_eq!(kernel.call(&[2.5.into(), 1.0.into()]).unwrap_err(), "TypeError: f: parameter `n` must be an integer");
    let error = kernel.call(&[1i64.into(), Any::NONE]).unwrap_err();
    assert_eq!(error, "TypeError: f: parameter `x` must be a number");
}

#[test]
fn size_scalars_are_checked() {
    let n = Var::int64("n");
    let (x, i) = (Buffer::new("x", vec![n.expr()], DType::INT64), Var::int64("i"));
    let fill = Stmt::serial(i.clone(), n.expr(), Stmt::store(&x, vec![i.expr()], i.expr()));
    let kernel = Loaded::new(&func(vec![Param::buffer(x), Param::scalar(n)], fill));
    let x = tensor(&[3], &[7i64; 3]);
    kernel.call(&[x.clone().into(), 3i64.into()]).unwrap();
    assert_eq!(x.as_slice::<i64>().unwrap(), [0, 1, 2]);
    let error = kernel.call(&[x.into(), 4i64.into()]).unwrap_err();
    assert_eq!(error, "ValueError: f: parameter `n` must be what the same size is elsewhere");
}

#[test]
fn workspaces_parallel_loops_and_global_functions_use_tvm() {
    let n = Var::int64("n");
    let (x, work) = (Buffer::new("x", vec![n.expr()], DType::INT64), Buffer::new("w", vec![n.expr()], DType::INT64));
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let value = PrimExpr::load(&x, vec![i.expr()]);
    let positive = value.clone().gt(PrimExpr::int64(0));
    let check = Stmt::new(StmtKind::Assert(positive, "ValueError".into(), vec!["not positive".into()]));
    let fill = Stmt::seq([check, Stmt::store(&work, vec![i.expr()], value)]);
    let fill = Stmt::for_kind(i, n.expr(), ForKind::Parallel, fill);
    let args = vec![PrimExpr::str("test.twice"), PrimExpr::load(&work, vec![j.expr()])];
    let twice = PrimExpr::intrin("call_packed", args, DType::INT64);
    let double = Stmt::serial(j.clone(), n.expr(), Stmt::store(&x, vec![j.expr()], twice));
    let alloc = Stmt::new(StmtKind::Alloc(work, Attrs::new()));
    let kernel = Loaded::new(&func(vec![Param::buffer(x)], Stmt::seq([alloc, fill, double])));
    let x = tensor(&[600], &(1..=600).collect::<Vec<i64>>());
    kernel.call(&[x.clone().into()]).unwrap();
    assert!(x.as_slice::<i64>().unwrap().iter().eq((1..=600).map(|v| 2 * v).collect::<Vec<i64>>().iter()));
    let error = kernel.call(&[tensor(&[2], &[1i64, 0]).into()]).unwrap_err();
    assert_eq!(error, "ValueError: f: not positive");
}

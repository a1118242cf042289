//! Tensors: kernel arguments, planned memory, checked annotations, released references.
use super::program::{Program, VM, VOID, branch, int, reg, ret};
use hammock_runtime::executable::{Arg, Constant};
use hammock_runtime::image::{Dim, KernelParam, KernelSignature, ParamKind};
use hammock_runtime::value::index;
use hammock_runtime::vm::Options;
use hammock_runtime::{Any, DType, Function, Shape, Str, Tensor, registry};
use std::ffi::c_void;

fn shape(p: &mut Program, sizes: &[i64]) -> Arg {
    p.constant(Constant::Shape(Shape::new(sizes)))
}

fn dtype(p: &mut Program, dtype: DType) -> Arg {
    p.constant(Constant::DType(dtype))
}

fn floats(values: &[f32]) -> Any {
    Tensor::from_slice(&[values.len() as i64], values).unwrap().into()
}

/// `increment` takes two vectors of this size.
fn vectors(size: Dim) -> Vec<KernelSignature> {
    let kind = ParamKind::Tensor { dtype: DType::FLOAT32, shape: vec![size], alignment: 4 };
    let param = |name: &str| KernelParam { name: name.to_owned(), kind: kind.clone(), is_written: name == "b" };
    let (name, device) = ("increment".to_owned(), hammock_runtime::Device::CPU);
    let symbol_count = u32::from(matches!(size, Dim::Symbol(_)));
    vec![KernelSignature { name, device, symbol_count, params: vec![param("a"), param("b")] }]
}

/// A chain of increments, each into its own memory, which is dead after the next one.
fn chain(length: i64) -> Program {
    let mut p = Program { kernels: vectors(Dim::Static(4)), ..Program::default() };
    let (bytes, uint8) = (shape(&mut p, &[16]), dtype(&mut p, DType::UINT8));
    let (four, float) = (shape(&mut p, &[4]), dtype(&mut p, DType::FLOAT32));
    let scope = p.constant(Constant::Str(Str::new("global")));
    let mut body = Vec::new();
    for i in 0..length {
        let (storage, output) = (2 * i + 1, 2 * i + 2);
        body.push(p.call(storage, "vm.builtin.alloc_storage", &[VM, bytes, int(0), uint8, scope]));
        body.push(p.call(output, "vm.builtin.alloc_tensor", &[reg(storage), int(0), four, float]));
        body.push(p.call(storage, "vm.builtin.null_value", &[]));
        body.push(p.call(VOID, "increment", &[reg((2 * i).max(0)), reg(output)]));
        if i > 0 {
            body.push(p.call(2 * i, "vm.builtin.null_value", &[]));
        }
    }
    body.push(ret(2 * length));
    p.function("main", 1, 2 * length as usize + 1, &body);
    p
}

#[test]
fn planned_memory_is_used_again() {
    let x = floats(&[1.0, 2.0, 3.0, 4.0]);
    // Machine code runs only the beginning of a long chain.
    for length in [20u8, 150] {
        let result = chain(length.into()).run(std::slice::from_ref(&x)).unwrap();
        let expected = [1.0, 2.0, 3.0, 4.0].map(|value| value + f32::from(length));
        assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), expected);
    }
    let vm = chain(20).load(&Options::default(), |_| true);
    for _ in 0..3 {
        vm.call("main", std::slice::from_ref(&x)).unwrap();
    }
    assert!(vm.memory().peak <= 4 * 64, "{:?}", vm.memory());
    let error = vm.call("main", &[Any::from(1i64)]).map(|_| ()).unwrap_err();
    assert_eq!(error.trace().len(), 1, "{error:#}");
}

/// Returns a chain of increments in one storage, in which each tensor reuses the memory of the one before the last. The
/// result has its own memory.
fn chain_in_arena(length: i64) -> Program {
    let mut p = Program { kernels: vectors(Dim::Static(4)), ..Program::default() };
    let (bytes, uint8) = (shape(&mut p, &[128]), dtype(&mut p, DType::UINT8));
    let (four, float) = (shape(&mut p, &[4]), dtype(&mut p, DType::FLOAT32));
    let mut body = vec![p.call(1, "vm.builtin.alloc_storage", &[VM, bytes, int(0), uint8])];
    for i in 0..length {
        let (input, output) = (if i == 0 { 0 } else { i + 1 }, i + 2);
        body.push(p.call(output, "vm.builtin.alloc_tensor", &[reg(1), int(i % 2 * 64), four, float]));
        body.push(p.call(VOID, "increment", &[reg(input), reg(output)]));
        body.push(p.call(input, "vm.builtin.null_value", &[]));
    }
    let (storage, result) = (length + 2, length + 3);
    body.push(p.call(1, "vm.builtin.null_value", &[]));
    body.push(p.call(storage, "vm.builtin.alloc_storage", &[VM, bytes, int(0), uint8]));
    body.push(p.call(result, "vm.builtin.alloc_tensor", &[reg(storage), int(0), four, float]));
    body.push(p.call(VOID, "increment", &[reg(length + 1), reg(result)]));
    body.push(ret(result));
    p.function("main", 1, length as usize + 4, &body);
    p
}

#[test]
fn arena_tensors_are_reused() {
    let x = |first: f32| [floats(&[first, 2.0, 3.0, 4.0])];
    for length in [3u8, 20, 150] {
        let result = chain_in_arena(length.into()).run(&x(1.0)).unwrap();
        let expected = [1.0, 2.0, 3.0, 4.0].map(|value| value + f32::from(length) + 1.0);
        assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), expected);
    }
    for compiled in [true, false] {
        let vm = chain_in_arena(20).load(&Options::default(), |_| compiled);
        let results: Vec<_> = (0u8..3).map(|first| vm.call("main", &x(first.into())).unwrap()).collect();
        let firsts = results.iter().map(|result| result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap()[0]);
        assert_eq!(firsts.collect::<Vec<_>>(), [21.0, 22.0, 23.0]);
        assert_eq!(vm.memory().peak, 128 + 3 * 128, "one arena and three results");
        assert_eq!((vm.memory().used, vm.memory().pooled), (3 * 128, 128), "the arena is free");
    }
    let limited = Options { memory_limit: Some(400_000), ..Options::default() };
    let mut too_large = chain_in_arena(3);
    let is_size = |constant: &&mut Constant| matches!(constant, Constant::Shape(sizes) if sizes.as_slice() == [128]);
    *too_large.executable.constants.iter_mut().find(is_size).unwrap() = Constant::Shape(Shape::new(&[500_000]));
    for compiled in [true, false] {
        let error = too_large.load(&limited, |_| compiled).call("main", &x(1.0)).unwrap_err();
        assert!(error.to_string().contains("500000 bytes on cpu:0 would exceed the limit of 400000"), "{error}");
        assert_eq!(error.trace().len(), 1, "{error:#}");
    }
}

/// The next call must not overwrite a returned view of a tensor in a storage.
#[test]
fn tensors_that_escape_an_arena_are_not_overwritten() {
    for copied in [false, true] {
        keeps(copied);
    }
}

fn keeps(copied: bool) {
    let mut p = Program { kernels: vectors(Dim::Static(4)), ..Program::default() };
    let (bytes, uint8) = (shape(&mut p, &[128]), dtype(&mut p, DType::UINT8));
    let (four, two, float) = (shape(&mut p, &[4]), shape(&mut p, &[2, 2]), dtype(&mut p, DType::FLOAT32));
    let body = [
        p.call(1, "vm.builtin.alloc_storage", &[VM, bytes, int(0), uint8]),
        p.call(2, "vm.builtin.alloc_tensor", &[reg(1), int(0), four, float]),
        p.call(3, "vm.builtin.alloc_tensor", &[reg(1), int(64), four, float]),
        p.call(VOID, "increment", &[reg(0), reg(2)]),
        p.call(VOID, "increment", &[reg(2), reg(3)]),
        if copied { p.call(4, "vm.builtin.copy", &[reg(3)]) } else { p.call(4, "vm.builtin.reshape", &[reg(3), two]) },
        ret(4),
    ];
    p.function("main", 1, 5, &body);
    p.run(&[floats(&[0.0; 4])]).unwrap();
    for compiled in [true, false] {
        let vm = p.load(&Options::default(), |_| compiled);
        let results: Vec<_> = [1.0, 5.0, 9.0].map(|x| vm.call("main", &[floats(&[x; 4])]).unwrap()).into();
        let values = results.iter().map(|result| result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap()[3]);
        assert_eq!(values.collect::<Vec<_>>(), [3.0, 7.0, 11.0]);
    }
}

/// Arguments that do not match go through the interpreter, with the same result.
#[test]
fn kernels_get_the_same_arguments() {
    for size in [Dim::Static(4), Dim::Symbol(0)] {
        let mut p = Program { kernels: vectors(size), ..Program::default() };
        let body = [
            p.call(VOID, "increment", &[reg(0), reg(1)]),
            p.call(VOID, "increment", &[reg(1), reg(0)]),
            p.call(VOID, "increment", &[reg(0), reg(1)]),
            ret(1),
        ];
        p.function("main", 2, 2, &body);
        let column = Tensor::from_slice(&[4, 1], &[0f32; 4]).unwrap();
        let of = |values: &[f32]| floats(values).get::<Tensor>().unwrap();
        let pairs = [
            (of(&[1.0; 4]), of(&[0.0; 4])),
            (of(&[1.0; 3]), of(&[0.0; 3])),
            (column.clone(), of(&[0.0; 4])),
            (of(&[1.0; 4]), Tensor::from_slice(&[4], &[0i32; 4]).unwrap()),
            (of(&[1.0; 4]), of(&[0.0; 3])),
        ];
        for (a, b) in pairs {
            let _ = p.run(&[Any::from(a), Any::from(b)]);
        }
        let (a, b) = (of(&[1.0; 4]), of(&[0.0; 4]));
        let vm = p.load(&Options::default(), |_| true);
        let result = vm.call("main", &[a.into(), b.into()]).unwrap();
        assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [4.0; 4]);
    }
}

#[test]
fn annotations_are_checked() {
    let mut p = Program::default();
    let (float, context) = (dtype(&mut p, DType::FLOAT32), p.constant(Constant::Str(Str::new("the argument"))));
    let uint8 = dtype(&mut p, DType::UINT8);
    let body = [
        p.call(1, "vm.builtin.alloc_shape_heap", &[VM, int(2)]),
        p.call(VOID, "vm.builtin.check_tensor_info", &[reg(0), int(2), float, context]),
        p.call(VOID, "vm.builtin.match_shape", &[reg(0), reg(1), int(2), int(1), int(0), int(0), int(3), context]),
        p.call(VOID, "vm.builtin.match_shape", &[reg(0), VM, int(2), int(2), int(0), int(0), int(3), context]),
        p.call(2, "vm.builtin.make_shape", &[reg(1), int(1), int(1), int(0)]),
        p.call(3, "vm.builtin.alloc_storage", &[VM, reg(2), int(0), uint8]),
        p.call(4, "vm.builtin.make_shape", &[reg(1), int(2), int(1), int(0), int(0), int(1)]),
        p.call(5, "vm.builtin.alloc_tensor", &[reg(3), int(0), reg(4), uint8]),
        p.call(6, "vm.builtin.shape_of", &[reg(5)]),
        ret(6),
    ];
    p.function("main", 1, 7, &body);
    let tensor = |shape: &[i64]| Any::from(Tensor::empty(DType::FLOAT32, shape, hammock_runtime::Device::CPU).unwrap());
    assert_eq!(p.run(&[tensor(&[5, 3])]).unwrap().get::<&Shape>().unwrap().as_slice(), [5, 1]);
    let ints = Tensor::from_slice(&[1, 3], &[1i32, 2, 3]).unwrap();
    for wrong in [tensor(&[5, 4]), tensor(&[5]), ints.into(), Any::from(7i64), Any::NONE] {
        p.run(&[wrong]).unwrap_err();
    }
}

#[test]
fn conditions_may_be_tensors() {
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.read_if_cond", &[reg(0)]),
        branch(1, 3),
        p.call(2, "vm.builtin.copy", &[int(1)]),
        ret(2),
        p.call(2, "vm.builtin.copy", &[int(0)]),
        ret(2),
    ];
    p.function("main", 1, 3, &body);
    let flags: [(Any, i64); 6] = [
        (Tensor::scalar(true).unwrap().into(), 1),
        (Tensor::scalar(false).unwrap().into(), 0),
        (Tensor::scalar(5i64).unwrap().into(), 1),
        (Tensor::from_slice(&[1, 1], &[0i32]).unwrap().into(), 0),
        (Any::from(true), 1),
        (Any::from(0i64), 0),
    ];
    for (flag, expected) in flags {
        assert_eq!(p.run(&[flag]).unwrap().get::<i64>(), Some(expected));
    }
    p.run(&[floats(&[1.0])]).unwrap_err();
    p.run(&[Any::str("a text, not a flag")]).unwrap_err();
}

/// Reference counts are balanced on every path.
#[test]
fn references_are_released() {
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.copy", &[reg(0)]),
        p.call(2, "vm.builtin.make_tuple", &[reg(0), reg(1)]),
        p.call(2, "vm.builtin.tuple_getitem", &[reg(2), int(1)]),
        p.call(1, "vm.builtin.null_value", &[]),
        p.call(VOID, "vm.builtin.make_tuple", &[reg(0), reg(2)]),
        p.call(3, "vm.builtin.copy", &[reg(2)]),
        p.call(2, "vm.builtin.make_tuple", &[reg(3)]),
        p.call(4, "vm.builtin.make_tuple", &[reg(2), reg(2)]),
        p.call(4, "vm.builtin.tuple_getitem", &[reg(4), int(0)]),
        ret(4),
    ];
    p.function("main", 1, 5, &body);
    let tensor = Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap();
    p.run(&[tensor.clone().into()]).unwrap();
    let bare = Any::from(tensor);
    // A uniquely owned tensor is writable: the call has leaked no reference.
    let mut tensor = bare.get::<Tensor>().unwrap();
    drop(bare);
    assert!(tensor.as_mut_slice::<f32>().is_ok());
}

/// Returns a borrowed descriptor of its tensor argument, as foreign functions do.
unsafe extern "C" fn lend(_: *mut c_void, args: *const Any, _: i32, result: *mut Any) -> i32 {
    // SAFETY: the function is called with one argument and room for a result.
    unsafe {
        let Some(tensor) = (*args).as_dl_tensor() else { return -1 };
        result.cast::<[u64; 2]>().write([index::DL_TENSOR_PTR as u64, (&raw const *tensor) as u64]);
    }
    0
}

#[test]
fn borrowed_results_become_owned() {
    // SAFETY: it follows the packed convention, and stays.
    registry::register("lend", unsafe { Function::from_c(lend, ()) });
    let mut p = Program::default();
    let body = [
        p.call(1, "lend", &[reg(0)]),
        p.call(2, "lend", &[reg(1)]),
        p.call(1, "vm.builtin.null_value", &[]),
        p.call(2, "lend", &[reg(2)]),
        p.call(VOID, "lend", &[reg(2)]),
        p.call(VOID, "lend", &[reg(2)]),
        p.call(3, "lend", &[reg(2)]),
        ret(3),
    ];
    p.function("main", 1, 4, &body);
    let result = p.run(&[floats(&[1.0, 2.0])]).unwrap();
    assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0]);
}

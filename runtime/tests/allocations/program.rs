//! A program that has run once allocates nothing from the system: no tensors, frames or shapes.
use super::COUNT;
use hammock_runtime::executable::Constant;
use hammock_runtime::executable::build::{VM, VOID, branch, int, reg, ret};
use hammock_runtime::vm::Options;
use hammock_runtime::{Any, DType, Device, Executable, Function, Image, Shape, Str, Tensor, Vm};
use std::sync::Arc;

/// `loop(n, x)`, `n` times, by recursion: a tensor of static size, one whose size is in the shape heap, a shape, a
/// tuple and one of its fields, a call of another function, a branch.
fn program() -> Executable {
    let mut b = Executable::default();
    let bytes = b.constant(Constant::DType(DType::UINT8));
    let float = b.constant(Constant::DType(DType::FLOAT32));
    let (size, shape) = (Constant::Shape(Shape::new(&[16])), Constant::Shape(Shape::new(&[4])));
    let (size, shape) = (b.constant(size), b.constant(shape));
    let context = b.constant(Constant::Str(Str::new("a context longer than seven bytes")));
    let same = [ret(0)];
    let body = [
        branch(0, 19),
        b.call(2, "vm.builtin.alloc_shape_heap", &[VM, int(1)]),
        b.call(VOID, "vm.builtin.match_shape", &[reg(1), reg(2), int(1), int(1), int(0), context]),
        b.call(3, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(4, "vm.builtin.alloc_tensor", &[reg(3), int(0), shape, float]),
        b.call(VOID, "kernel", &[reg(1), reg(4)]),
        b.call(5, "vm.builtin.make_shape", &[reg(2), int(1), int(1), int(0)]),
        b.call(6, "vm.builtin.alloc_storage", &[VM, reg(5), int(0), float]),
        b.call(7, "vm.builtin.make_shape", &[reg(2), int(1), int(1), int(0)]),
        b.call(8, "vm.builtin.alloc_tensor", &[reg(6), int(0), reg(7), float]),
        b.call(VOID, "kernel", &[reg(4), reg(8)]),
        b.call(9, "vm.builtin.make_shape", &[reg(2), int(2), int(1), int(0), int(0), int(1)]),
        b.call(10, "vm.builtin.reshape", &[reg(8), reg(9)]),
        b.call(11, "vm.builtin.make_tuple", &[reg(10), reg(8)]),
        b.call(12, "vm.builtin.tuple_getitem", &[reg(11), int(1)]),
        b.call(13, "same", &[reg(12)]),
        b.call(14, "less_one", &[reg(0)]),
        b.call(15, "loop", &[reg(14), reg(13)]),
        ret(15),
        ret(1),
    ];
    b.define("loop", 2, 16, &body);
    b.define("same", 1, 1, &same);
    b
}

/// `b = a` for vectors of four floats, and `n - 1`.
fn kernel(name: &str) -> Option<Function> {
    let body: fn(&[Any]) -> Any = match name {
        "kernel" => |args| {
            let data = |i: usize| args[i].get::<&Tensor>().map(|tensor| tensor.data_ptr()).unwrap();
            // SAFETY: the program passes two vectors of four floats that it owns.
            unsafe { data(1).copy_from(data(0), 16) };
            Any::NONE
        },
        "less_one" => |args| Any::from(args[0].get::<i64>().unwrap() - 1),
        _ => return None,
    };
    Some(Function::new(move |args| Ok(body(args))))
}

#[test]
fn steps_and_calls_ask_the_system_for_nothing() {
    let image = Image { executable: program(), ..Image::default() };
    let image = Arc::new(Image::from_bytes(image.save()).unwrap());
    let vm = Vm::new(image, Options::default(), |name| Ok(kernel(name))).unwrap();
    let x = Any::from(Tensor::from_slice(&[4], &[1f32, 2.0, 3.0, 4.0]).unwrap());
    let run = |steps: i64| {
        let before = COUNT.get();
        let result = vm.call("loop", &[steps.into(), x.clone()]).unwrap();
        assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        drop(result);
        COUNT.get() - before
    };
    assert!(run(100) > 0, "the first call must find memory somewhere");
    let args = [Any::from(1000i64), x.clone()];
    let before = COUNT.get();
    drop(vm.call("loop", &args).unwrap());
    assert_eq!(COUNT.get() - before, 0);
    assert_eq!(run(1), 0, "a short call neither");
    assert_eq!(vm.memory().used, 0);
    assert_eq!(Device::CPU, vm.allocators()[0].device());
}

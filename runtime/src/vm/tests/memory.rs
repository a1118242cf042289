//! Sizes, storages, memory limits, and drops of values.
use super::*;

#[test]
fn constants_are_no_heaps_to_write() {
    let mut a = Assembler::default();
    let context = a.constant(Constant::Str(Str::new("")));
    let check = [reg(0), reg(1), int(1), int(1), int(0), context];
    let body = [a.call(VOID, "vm.builtin.match_shape", &check), ret(0)];
    a.define("main", 2, 2, &body);
    let constant = Tensor::from_shared(crate::DType::INT64, &[1], Arc::new([0u8; 8]), 0..8).unwrap();
    let error = a.vm().call("main", &[Shape::new(&[3]).into(), constant.into()]).unwrap_err();
    assert!(error.message().ends_with("the shape heap is a constant"), "{error}");
}

#[test]
fn dynamic_shapes_flow_through_the_heap() {
    // main(x: (n, 4)) -> storage of n * 4 floats viewed as (4, n), and the shape (n, 7)
    let mut a = Assembler::default();
    let context = a.constant(Constant::Str(Str::new(
        "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype=\"float32\")) ",
    )));
    let float = a.constant(Constant::DType(crate::DType::FLOAT32));
    let bytes = a.constant(Constant::DType(crate::DType::UINT8));
    let size = a.constant(Constant::Shape(Shape::new(&[4096])));
    let scope = a.constant(Constant::Str(Str::new("global")));
    let vm_arg = VM;
    let body = [
        a.call(1, "vm.builtin.alloc_shape_heap", &[vm_arg, int(2)]),
        a.call(VOID, "vm.builtin.check_tensor_info", &[reg(0), int(2), float, context]),
        a.call(VOID, "vm.builtin.match_shape", &[reg(0), reg(1), int(2), int(1), int(0), int(0), int(4), context]),
        a.call(2, "vm.builtin.alloc_storage", &[vm_arg, size, int(0), bytes, scope]),
        a.call(3, "vm.builtin.make_shape", &[reg(1), int(2), int(0), int(4), int(1), int(0)]),
        a.call(4, "vm.builtin.alloc_tensor", &[reg(2), int(64), reg(3), float]),
        a.call(2, "vm.builtin.null_value", &[]),
        a.call(5, "vm.builtin.make_shape", &[reg(1), int(2), int(1), int(0), int(0), int(7)]),
        a.call(6, "vm.builtin.make_tuple", &[reg(4), reg(5)]),
        ret(6),
    ];
    a.define("main", 1, 7, &body);
    let vm = a.vm();
    let tensor = |shape: &[i64]| Any::from(Tensor::empty(crate::DType::FLOAT32, shape, Device::CPU).unwrap());
    let result = vm.call("main", &[tensor(&[3, 4])]).unwrap();
    let fields = result.get::<&Tuple>().unwrap();
    assert_eq!(fields[0].get::<&Tensor>().unwrap().shape(), [4, 3]);
    assert_eq!(fields[1].get::<&Shape>().unwrap().as_slice(), [3, 7]);
    assert_eq!(vm.memory().used, 4096, "the tensor keeps its storage");
    drop(result);
    // The shape heap takes 64 bytes.
    let in_use = |memory: MemoryStats| (memory.used, memory.peak, memory.pooled);
    assert_eq!(in_use(vm.memory()), (0, 4160, 4160));
    vm.trim();
    assert_eq!(in_use(vm.memory()), (0, 4160, 0));
    assert!(vm.memory().charged_peak > 4160, "frames count as well");

    let message = |arg| vm.call("main", &[arg]).unwrap_err().to_string();
    let expected = "function `main`, parameter `x`: expected R.Tensor((n, 4), dtype=\"float32\"), got ";
    assert_eq!(
        message(tensor(&[3, 5])),
        format!("RuntimeError: {expected}a float32 Tensor of shape (3, 5): shape[1] is 5, not 4")
    );
    assert_eq!(
        message(tensor(&[4])),
        format!("ValueError: {expected}a float32 Tensor of shape (4,): it has 1 dimension, not 2")
    );
    assert_eq!(message(7i64.into()), format!("TypeError: {expected}7: it is not a Tensor"));
}

#[test]
fn memory_limits_are_errors() {
    let mut a = Assembler::default();
    let size = a.constant(Constant::Shape(Shape::new(&[1 << 20])));
    let bytes = a.constant(Constant::DType(crate::DType::UINT8));
    let body = [a.call(0, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]), ret(0)];
    a.define("main", 0, 1, &body);
    let vm = a.vm_with(Options { memory_limit: Some(1 << 19), ..Options::default() });
    assert_eq!(vm.call("main", &[]).unwrap_err().kind(), kind::MEMORY);
}

/// Memory other than planned allocations counts as well.
#[test]
fn memory_limits_count_everything() {
    const LIMIT: usize = 1 << 20;
    let limited = |a: Assembler| a.vm_with(Options { memory_limit: Some(LIMIT), ..Options::default() });
    let refused = |vm: &Vm, args: &[i64]| {
        let error = vm.call("main", &ints(args)).unwrap_err();
        assert_eq!(error.kind(), kind::MEMORY, "{error}");
    };
    // Values: main(n) = if n { main(n - 1, (t, t)) } else { t }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(2, "sub", &[reg(0), int(1)]),
        a.call(1, "vm.builtin.make_tuple", &[reg(1), reg(1)]),
        a.call(1, "main", &[reg(2), reg(1)]),
        ret(1),
    ];
    a.define("main", 2, 3, &body);
    let vm = limited(a);
    assert!(vm.call("main", &ints(&[100, 0])).is_ok());
    refused(&vm, &[1_000_000, 0]);
    assert!(vm.call("main", &ints(&[100, 0])).is_ok(), "the machine is as good as new");

    // Frames: main(n) = if n { main(n - 1) + 1 } else { n }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(1, "sub", &[reg(0), int(1)]),
        a.call(1, "main", &[reg(1)]),
        a.call(0, "add", &[reg(1), int(1)]),
        ret(0),
    ];
    a.define("main", 1, 2, &body);
    refused(&limited(a), &[1_000_000]);

    // Tensors of builtins: a cache with more rows than the limit allows.
    let mut a = Assembler::default();
    let row = a.constant(Constant::Tensor(Tensor::from_slice(&[1, 4], &[0f32; 4]).unwrap()));
    let room = a.constant(Constant::Shape(Shape::new(&[1 << 17, 4])));
    let body = [a.call(0, "vm.builtin.attention_kv_cache_create", &[row, room, int(-1)]), ret(0)];
    a.define("main", 0, 1, &body);
    refused(&limited(a), &[]);

    // The model itself.
    let mut a = Assembler::default();
    a.constant(Constant::Tensor(Tensor::empty(crate::DType::UINT8, &[LIMIT as i64 + 1], Device::CPU).unwrap()));
    let options = Options { memory_limit: Some(LIMIT), ..Options::default() };
    let error = Vm::new(a.image(), options, |_| Ok(None)).err().unwrap();
    assert_eq!(error.message(), "the model: 1048577 bytes on cpu:0 would exceed the limit of 1048576 (0 are in use)");
}

#[test]
fn long_chains_of_values_are_dropped_safely() {
    // nest(n, t) = if n { nest(n - 1, (t,)) } else { t }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(2, "sub", &[reg(0), int(1)]),
        a.call(1, "vm.builtin.make_tuple", &[reg(1)]),
        a.call(1, "nest", &[reg(2), reg(1)]),
        ret(1),
    ];
    a.define("nest", 2, 3, &body);
    let depth: i64 = if cfg!(miri) { 300 } else { 60_000 };
    drop(a.vm().call("nest", &[depth.into(), Any::NONE]).unwrap());
}

/// Idle machines retain kernels' scratch memory, and release it when others need the memory.
#[test]
fn scratch_memory_rests_with_machines() {
    use crate::memory::workspace;
    const KB: usize = 1 << 10;
    let together = Arc::new(std::sync::Barrier::new(2));
    let both = together.clone();
    let kernel = Function::new(move |args| {
        let bytes = args[0].get::<i64>().unwrap_or(0);
        let piece = workspace::alloc(bytes as u64);
        if bytes == 64 << 10 {
            both.wait();
        }
        if piece.is_null() {
            return Err(Error::new(kind::MEMORY, "no room"));
        }
        workspace::free(piece);
        Ok(Any::NONE)
    });
    let mut a = Assembler::default();
    let body = [a.call(1, "kernel", &[reg(0)]), ret(1)];
    a.define("main", 1, 2, &body);
    let options = Options { memory_limit: Some(400 * KB), ..Options::default() };
    let vm = Vm::new(a.image(), options, |name| Ok((name == "kernel").then(|| kernel.clone()))).unwrap();
    let call = |bytes: usize| vm.call("main", &ints(&[bytes as i64]));
    let in_use = || (vm.memory().used, vm.memory().pooled);
    for _ in 0..3 {
        std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| call(64 * KB).is_ok()));
            threads.into_iter().for_each(|thread| assert!(thread.join().unwrap()));
        });
        assert_eq!(in_use(), (0, 128 * KB), "a block of each machine");
    }
    // Two machines' frames take 128 KB.
    assert!(call(250 * KB).is_ok(), "the other machine's block is released");
    assert_eq!(in_use(), (0, 256 * KB));
    assert!(call(300 * KB).is_err() && call(KB).is_ok());
    vm.trim();
    assert_eq!(in_use(), (0, 0));
    assert_eq!(vm.memory().charged_peak, 384 * KB);
}

//! Programs of the virtual machine whose kernels run on a device.
use super::emulated;
use super::kernels::{floats, ints, kernel, read, signature};
use hammock_runtime::executable::Constant;
use hammock_runtime::executable::build::{VM, VOID, int, reg, ret};
use hammock_runtime::image::Span;
use hammock_runtime::memory::AllocatorKind;
use hammock_runtime::profile::Profiler;
use hammock_runtime::vm::Options;
use hammock_runtime::{Any, DType, Device, Executable, Function, Image, Shape, Tensor, Vm};
use std::sync::Arc;
use std::time::Instant;

const CUDA: Device = Device::cuda(0);

/// Number of launches of `launches(x)`.
const LAUNCHES: usize = 1000;

/// Functions with a vector `x` of four floats: `reversed(x)` is `4 * x`, reversed by constant indices, with intermediates
/// in one storage; `take(x, indices)` are its elements by index; `shape(x)` is the shape that a tensor says.
fn program() -> Image {
    let mut b = Executable::default();
    let bytes = b.constant(Constant::DType(DType::UINT8));
    let float = b.constant(Constant::DType(DType::FLOAT32));
    let size = b.constant(Constant::Shape(Shape::new(&[1024])));
    let four = b.constant(Constant::Shape(Shape::new(&[4])));
    let reverse = b.constant(Constant::Tensor(Tensor::from_slice(&[4], &[3i64, 2, 1, 0]).unwrap()));
    let reversed = [
        b.call(1, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(2, "vm.builtin.alloc_tensor", &[reg(1), int(0), four, float]),
        b.call(3, "vm.builtin.alloc_tensor", &[reg(1), int(512), four, float]),
        b.call(VOID, "double", &[reg(0), reg(2)]),
        b.call(VOID, "double", &[reg(2), reg(3)]),
        b.call(4, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(5, "vm.builtin.alloc_tensor", &[reg(4), int(0), four, float]),
        b.call(VOID, "gather", &[reg(3), reverse, reg(5)]),
        ret(5),
    ];
    b.define("reversed", 1, 6, &reversed);
    let take = [
        b.call(2, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(3, "vm.builtin.alloc_tensor", &[reg(2), int(0), four, float]),
        b.call(VOID, "gather", &[reg(0), reg(1), reg(3)]),
        b.call(4, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(5, "vm.builtin.alloc_tensor", &[reg(4), int(0), four, float]),
        b.call(VOID, "double", &[reg(3), reg(5)]),
        ret(5),
    ];
    b.define("take", 2, 6, &take);
    let shape = [b.call(1, "vm.builtin.tensor_to_shape", &[reg(0)]), ret(1)];
    b.define("shape", 1, 2, &shape);
    let doubled = b.call(VOID, "double", &[reg(0), reg(2)]);
    let mut launches = vec![
        b.call(1, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(2, "vm.builtin.alloc_tensor", &[reg(1), int(0), four, float]),
    ];
    launches.extend(std::iter::repeat_n(doubled, LAUNCHES));
    launches.push(ret(2));
    b.define("launches", 1, 3, &launches);
    let mut image = Image { executable: b, kernels: ["double", "gather"].map(signature).to_vec(), ..Image::default() };
    let first = image.executable.functions[image.executable.function("take").unwrap()].start;
    let file = image.sources.file("model.py");
    image.sources.add_line(file, 12, "    y = R.take(x, indices)");
    image.sources.set(first + 2, Span { file, line: 12, column: 9 });
    image
}

fn machine(options: Options) -> Vm {
    let image = Arc::new(Image::from_bytes(program().save()).unwrap());
    let find = |name: &str| Ok(kernel(name).map(|kernel| signature(name).guard(kernel)));
    Vm::new(image, options, find).unwrap()
}

fn call(vm: &Vm, function: &str, args: &[Tensor]) -> Result<Vec<f32>, hammock_runtime::Error> {
    let args: Vec<Any> = args.iter().map(|arg| arg.clone().into()).collect();
    Ok(read(vm.call(function, &args)?.get::<&Tensor>().unwrap()))
}

#[test]
fn programs_run_on_the_device_of_their_kernels() {
    emulated("programs::programs_run_on_the_device_of_their_kernels", &[], || {
        let vm = machine(Options::default());
        let devices: Vec<Device> = vm.allocators().iter().map(|allocator| allocator.device()).collect();
        assert_eq!(devices, [CUDA, Device::CPU]);
        let x = floats(&[1., 2., 3., 4.], CUDA);
        for _ in 0..3 {
            assert_eq!(call(&vm, "reversed", std::slice::from_ref(&x)).unwrap(), [16., 12., 8., 4.]);
        }
        // The constant, storages of both kinds.
        assert_eq!((vm.memory().used, vm.memory().pooled), (64, 2048));
        let host = Any::from(floats(&[1., 2., 3., 4.], Device::CPU));
        let error = vm.call("reversed", std::slice::from_ref(&host)).unwrap_err();
        assert_eq!(error.message(), "kernel `double` expects a Tensor on cuda:0 for parameter `x`, got cpu:0");
        let placed = vm.on_first_device(&host).unwrap();
        assert_eq!(read(vm.call("reversed", &[placed]).unwrap().get().unwrap()), [16., 12., 8., 4.]);
        let shape = vm.call("shape", &[ints(&[2, 3], CUDA).into()]).unwrap();
        assert_eq!(shape.get::<&Shape>().unwrap().as_slice(), [2, 3]);
        let value = vm.call("take", &[x.clone().into(), ints(&[0, 0, 1, 1], CUDA).into()]).unwrap();
        assert_eq!(hammock_runtime::show::plain(&value), "[2.0 2.0 4.0 4.0]");
    });
}

#[test]
fn other_devices_can_be_chosen() {
    emulated("programs::other_devices_can_be_chosen", &[], || {
        let second = Device::cuda(1);
        let naive = AllocatorKind::Naive;
        let vm = machine(Options { devices: vec![second], allocator: naive, ..Options::default() });
        assert_eq!(call(&vm, "reversed", &[floats(&[1., 2., 3., 4.], second)]).unwrap(), [16., 12., 8., 4.]);
        assert_eq!((vm.memory().used, vm.memory().pooled), (64, 0));
        let wrong = call(&vm, "reversed", &[floats(&[1., 2., 3., 4.], CUDA)]).unwrap_err();
        assert!(wrong.message().contains("expects a Tensor on cuda:0, as the Tensors before it"), "{wrong}");
    });
}

#[test]
fn failed_checks_name_the_line_of_the_kernel_s_call() {
    emulated("programs::failed_checks_name_the_line_of_the_kernel_s_call", &[], || {
        let vm = machine(Options::default());
        let x = floats(&[1., 2., 3., 4.], CUDA);
        let take = |indices: &[i64]| call(&vm, "take", &[x.clone(), ints(indices, CUDA)]);
        let error = take(&[0, 1, -5, 2]).unwrap_err();
        let text = "IndexError: kernel `gather`, buffer `x`: index -5 is out of bounds for size 4\n  \
                    in take at model.py:12\n      y = R.take(x, indices)";
        assert_eq!(format!("{error:#}"), text);
        assert_eq!(take(&[0, 1, 3, 2]).unwrap(), [2., 4., 8., 6.]);
    });
}

#[test]
fn profiles_have_times_of_the_device() {
    emulated("programs::profiles_have_times_of_the_device", &[], || {
        let vm = machine(Options::default());
        let profiler = Profiler::new();
        vm.set_instrument(Some(profiler.clone()));
        let x = floats(&[1., 2., 3., 4.], CUDA);
        assert_eq!(call(&vm, "reversed", &[x]).unwrap(), [16., 12., 8., 4.]);
        let profile = profiler.profile();
        let row = |name: &str| profile.rows().into_iter().find(|row| row.name == name).unwrap();
        let names: Vec<_> = profile.nodes.iter().filter(|node| !node.device.is_zero()).map(|node| &node.name).collect();
        assert_eq!(names, ["double", "double", "gather"]);
        let (double, gather) = (row("double"), row("gather"));
        assert_eq!((double.count, gather.count), (2, 1));
        assert!(!double.device.is_zero() && row("reversed").device.is_zero());
        assert!(profile.table().lines().next().unwrap().contains("device") && profile.json().contains("device_ns"));
        assert!(profile.flame_graph().contains(" on the device"));
    });
}

/// Prints the time of a launch on the host: the emulator does nothing.
#[test]
#[ignore = "measures time"]
fn time_of_launches_on_the_host() {
    emulated("programs::time_of_launches_on_the_host", &[("NO_OP", "1")], || {
        let vm = machine(Options::default());
        let x = [Any::from(floats(&[1., 2., 3., 4.], CUDA))];
        let mut best = f64::INFINITY;
        for _ in 0..30 {
            let begin = Instant::now();
            vm.call("launches", &x).unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        println!("{:.0} ns per launch", best / LAUNCHES as f64 * 1e9);
    });
}

#[test]
fn device_memory_counts_towards_the_limit() {
    emulated("programs::device_memory_counts_towards_the_limit", &[], || {
        let limits = |vm: &Vm| vm.allocators().iter().map(|allocator| allocator.limit()).collect::<Vec<_>>();
        assert_eq!(limits(&machine(Options::default()))[0], 4 << 30, "the device's memory");
        let vm = machine(Options { memory_limit: Some(200_000), ..Options::default() });
        assert_eq!(limits(&vm), [200_000, 200_000]);
        let small = Any::from(floats(&[1., 2., 3., 4.], Device::CPU));
        assert!(vm.on_first_device(&small).is_ok());
        let large = Any::from(floats(&[1.0; 100_000], Device::CPU));
        let error = vm.on_first_device(&large).unwrap_err();
        assert!(error.to_string().starts_with("MemoryError: 400000 bytes on cuda:0 would exceed the limit"), "{error}");
    });
}

#[test]
fn builtins_read_and_write_tensors_of_the_device() {
    emulated("programs::builtins_read_and_write_tensors_of_the_device", &[], || {
        let call = |name: &str, args: &[Any]| hammock_runtime::vm::builtins::find(name).unwrap().call(args).unwrap();
        let on_host = |value: &Any| value.get::<&Tensor>().unwrap().to_device(Device::CPU).unwrap();
        let x = Any::from(floats(&[0., 2., 0., 3.], CUDA));
        let nonzero = call("relax.run.nonzero", std::slice::from_ref(&x));
        assert_eq!(nonzero.get::<&Tensor>().unwrap().device(), CUDA);
        assert_eq!(on_host(&nonzero).as_slice::<i64>().unwrap(), [1, 3]);
        let unique = call("relax.run.unique", &[x.clone(), true.into(), false.into(), false.into(), false.into()]);
        assert_eq!(read(unique.get().unwrap()), [0., 2., 3.]);
        let out = Any::from(floats(&[9.0; 4], CUDA));
        call("tvm.contrib.sort.sort", &[x.clone(), out.clone(), 0i64.into(), false.into()]);
        assert_eq!(read(out.get().unwrap()), [3., 2., 0., 0.]);
        let condition = Tensor::scalar(true).unwrap().to_device(CUDA).unwrap();
        assert_eq!(call("vm.builtin.read_if_cond", &[condition.into()]).get(), Some(true));
        let softmax = call("vm.builtin.apply_softmax_with_temperature", &[out.clone(), 1.0.into()]);
        assert!(softmax.is_none() && (read(out.get().unwrap()).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        let rows = |values: &[f32]| Any::from(floats(values, CUDA).reshape(&[values.len() as i64 / 2, 2]).unwrap());
        let room = Any::from(Shape::new(&[1, 2]));
        let cache = call("vm.builtin.attention_kv_cache_create", &[rows(&[1., 2.]), room, (-1i64).into()]);
        let view = |cache: &Any| call("vm.builtin.attention_kv_cache_view", std::slice::from_ref(cache));
        let before = view(&cache);
        let cache = call("vm.builtin.attention_kv_cache_append", &[cache, rows(&[3., 4., 5., 6.])]);
        assert_eq!(read(view(&cache).get().unwrap()), [1., 2., 3., 4., 5., 6.]);
        assert_eq!(
            (read(before.get().unwrap()), view(&cache).get::<&Tensor>().unwrap().device()),
            (vec![1., 2.], CUDA)
        );
        let pages = Any::from(floats(&[0.0; 8], CUDA).reshape(&[2, 2, 2]).unwrap());
        let slots = Any::from(ints(&[2, 3, 0], CUDA));
        call("hammock.kv_pages.write", &[pages.clone(), slots, rows(&[1., 2., 3., 4., 5., 6.])]);
        assert_eq!(read(pages.get().unwrap()), [5., 6., 0., 0., 1., 2., 3., 4.]);
    });
}

#[test]
fn dlpack_borrows_tensors_of_the_device() {
    emulated("programs::dlpack_borrows_tensors_of_the_device", &[], || {
        let own = floats(&[1., 2.], CUDA);
        let managed = own.to_dlpack().unwrap();
        // SAFETY: the managed tensor was just exported, and is imported once.
        let imported = unsafe { Tensor::from_dlpack(managed.as_ptr()) }.unwrap();
        assert_eq!((imported.data_ptr(), imported.device()), (own.data_ptr(), CUDA));
        drop(own);
        assert_eq!(read(&imported), [1., 2.]);
        // A function that gets a borrowed description owns a copy on the same device.
        let description = *imported.as_dl();
        let keep = Function::new(|args| Ok(args[0].get::<&Tensor>().map_or(Any::NONE, |tensor| tensor.clone().into())));
        let kept = keep.call(&[Any::from(imported)]).unwrap();
        assert_eq!(kept.get::<&Tensor>().unwrap().as_dl().data, description.data);
    });
}

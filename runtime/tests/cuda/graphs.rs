//! CUDA graphs of programs.
use super::emulated;
use super::kernels::{floats, ints, kernel, read, signature};
use hammock_runtime::executable::build::{VM, VOID, int, reg, ret};
use hammock_runtime::executable::{Arg, Constant};
use hammock_runtime::image::Span;
use hammock_runtime::profile::Profiler;
use hammock_runtime::vm::Options;
use hammock_runtime::{DType, Device, Error, Executable, Image, Shape, Tensor, Vm};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

const CUDA: Device = Device::cuda(0);

/// `main(x, indices)` gathers `4 * x` in a graph. Its intermediates are in a cached storage, its result is in a new one.
fn program() -> Image {
    let mut b = Executable::default();
    let bytes = b.constant(Constant::DType(DType::UINT8));
    let float = b.constant(Constant::DType(DType::FLOAT32));
    let size = b.constant(Constant::Shape(Shape::new(&[1024])));
    let four = b.constant(Constant::Shape(Shape::new(&[4])));
    let allocate = [b.call(0, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]), ret(0)];
    b.define("cuda_graph_alloc", 0, 1, &allocate);
    let captured = [
        b.call(VOID, "double", &[reg(0), reg(2)]),
        b.call(VOID, "double", &[reg(2), reg(3)]),
        b.call(VOID, "gather", &[reg(3), reg(1), reg(4)]),
        b.call(5, "vm.builtin.make_tuple", &[reg(4)]),
        ret(5),
    ];
    b.define("main_cuda_graph_capture", 5, 6, &captured);
    let function = |name: &str| Arg::Function(b.functions.iter().position(|info| info.name == name).unwrap() as i64);
    let (allocate, captured) = (function("cuda_graph_alloc"), function("main_cuda_graph_capture"));
    let main = [
        b.call(2, "vm.builtin.cuda_graph.get_cached_alloc", &[VM, allocate, int(0)]),
        b.call(3, "vm.builtin.alloc_tensor", &[reg(2), int(0), four, float]),
        b.call(4, "vm.builtin.alloc_tensor", &[reg(2), int(512), four, float]),
        b.call(5, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]),
        b.call(6, "vm.builtin.alloc_tensor", &[reg(5), int(0), four, float]),
        b.call(7, "vm.builtin.make_tuple", &[reg(0), reg(1), reg(3), reg(4), reg(6)]),
        b.call(8, "vm.builtin.cuda_graph.run_or_capture", &[VM, captured, reg(7), int(0)]),
        b.call(9, "vm.builtin.tuple_getitem", &[reg(8), int(0)]),
        ret(9),
    ];
    b.define("main", 2, 10, &main);
    let mut image = Image { executable: b, kernels: ["double", "gather"].map(signature).to_vec(), ..Image::default() };
    let functions = &image.executable.functions;
    let first = functions[image.executable.function("main_cuda_graph_capture").unwrap()].start;
    let file = image.sources.file("model.py");
    image.sources.add_line(file, 12, "    y = R.take(x, indices)");
    image.sources.set(first + 2, Span { file, line: 12, column: 9 });
    image
}

fn machine() -> Vm {
    let image = Arc::new(Image::from_bytes(program().save()).unwrap());
    let find = |name: &str| Ok(kernel(name).map(|kernel| signature(name).guard(kernel)));
    Vm::new(image, Options::default(), find).unwrap()
}

fn call(vm: &Vm, x: &Tensor, indices: &Tensor) -> Result<Vec<f32>, Error> {
    Ok(read(vm.call("main", &[x.clone().into(), indices.clone().into()])?.get::<&Tensor>().unwrap()))
}

/// Runs a program on the emulator, which counts launches in a file.
fn counted(test: &str, variables: &[(&str, &str)], program: fn()) {
    let file = std::env::temp_dir().join(format!("hammock-{}-{}", test.replace(':', "-"), std::process::id()));
    let file = file.display().to_string();
    emulated(test, &[variables, &[("COUNTERS", &file)]].concat(), program);
    let _ = std::fs::remove_file(file);
}

/// Launches since the last call, and the device functions that they ran.
fn launches() -> (usize, usize) {
    let file = std::env::var("CUDA_EMULATOR_COUNTERS").unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, "").unwrap();
    let number = |line: &str| line.split("\"launch\":").nth(1).unwrap().trim_end_matches('}').to_owned();
    (text.lines().map(number).collect::<BTreeSet<_>>().len(), text.lines().count())
}

#[test]
fn calls_become_one_launch() {
    counted("graphs::calls_become_one_launch", &[], || {
        let vm = machine();
        let (x, order) = (floats(&[1., 2., 3., 4.], CUDA), ints(&[3, 2, 1, 0], CUDA));
        assert_eq!(call(&vm, &x, &order).unwrap(), [16., 12., 8., 4.]);
        assert_eq!(launches(), (3, 3), "one by one at first");
        for _ in 0..3 {
            assert_eq!(call(&vm, &x, &order).unwrap(), [16., 12., 8., 4.]);
            assert_eq!(launches(), (1, 3));
        }
    });
}

#[test]
fn graphs_are_never_out_of_date() {
    counted("graphs::graphs_are_never_out_of_date", &[], || {
        let vm = machine();
        let mut kept = Vec::new();
        for round in 0..6 {
            // Arguments and results are at other addresses each time.
            let (x, order) = (floats(&[round as f32; 4], CUDA), ints(&[round % 4; 4], CUDA));
            let result = vm.call("main", &[x.clone().into(), order.clone().into()]).unwrap();
            kept.push((x, order, result));
            assert_eq!(launches(), (if round == 0 { 3 } else { 1 }, 3));
        }
        for (round, (_, _, result)) in kept.iter().enumerate() {
            assert_eq!(read(result.get().unwrap()), [4. * round as f32; 4]);
        }
    });
}

#[test]
fn errors_in_graphs_name_the_line_of_the_kernel_s_call() {
    emulated("graphs::errors_in_graphs_name_the_line_of_the_kernel_s_call", &[], || {
        let vm = machine();
        let x = floats(&[1., 2., 3., 4.], CUDA);
        let take = |indices: &[i64]| call(&vm, &x, &ints(indices, CUDA));
        for _ in 0..3 {
            assert_eq!(take(&[0, 1, 3, 2]).unwrap(), [4., 8., 16., 12.]);
            let error = take(&[0, 1, -5, 2]).unwrap_err();
            let text = "IndexError: kernel `gather`, buffer `x`: index -5 is out of bounds for size 4\n  \
                        in main at model.py:12\n      y = R.take(x, indices)";
            assert_eq!(format!("{error:#}"), text);
        }
    });
}

#[test]
fn threads_have_graphs_of_their_own() {
    emulated("graphs::threads_have_graphs_of_their_own", &[], || {
        let vm = machine();
        thread::scope(|scope| {
            for number in 0..3 {
                let vm = &vm;
                scope.spawn(move || {
                    let (x, order) = (floats(&[number as f32, 1., 2., 3.], CUDA), ints(&[0, 0, 1, 1], CUDA));
                    for _ in 0..10 {
                        let value = 4. * number as f32;
                        assert_eq!(call(vm, &x, &order).unwrap(), [value, value, 4., 4.]);
                    }
                });
            }
        });
        assert!(vm.memory().used >= 1024, "storages are kept for the next call");
        vm.trim();
        assert_eq!((vm.memory().used, vm.memory().pooled), (0, 0));
    });
}

#[test]
fn profiles_see_single_launches() {
    emulated("graphs::profiles_see_single_launches", &[], || {
        let vm = machine();
        let (x, order) = (floats(&[1., 2., 3., 4.], CUDA), ints(&[3, 2, 1, 0], CUDA));
        let profiler = Profiler::new();
        call(&vm, &x, &order).unwrap();
        vm.set_instrument(Some(profiler.clone()));
        call(&vm, &x, &order).unwrap();
        vm.set_instrument(None);
        call(&vm, &x, &order).unwrap();
        let rows = profiler.profile().rows();
        let double = rows.iter().find(|row| row.name == "double").unwrap();
        assert!(double.count == 2 && !double.device.is_zero());
    });
}

#[test]
fn drivers_without_graphs_launch_one_by_one() {
    counted("graphs::drivers_without_graphs_launch_one_by_one", &[("DRIVER_VERSION", "12030")], || {
        let vm = machine();
        let (x, order) = (floats(&[1., 2., 3., 4.], CUDA), ints(&[3, 2, 1, 0], CUDA));
        for _ in 0..3 {
            assert_eq!(call(&vm, &x, &order).unwrap(), [16., 12., 8., 4.]);
            assert_eq!(launches(), (3, 3));
        }
    });
}

#[test]
fn refused_launches_of_graphs_are_errors() {
    emulated("graphs::refused_launches_of_graphs_are_errors", &[("FAIL_LAUNCH", "4")], || {
        let vm = machine();
        let (x, order) = (floats(&[1., 2., 3., 4.], CUDA), ints(&[3, 2, 1, 0], CUDA));
        let call = || call(&vm, &x, &order);
        assert_eq!(call().unwrap(), [16., 12., 8., 4.]);
        let text = "RuntimeError: cuda:0: cannot launch a graph of 3 launches: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
        let error = call().unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
        assert_eq!(call().unwrap(), [16., 12., 8., 4.]);
    });
}

#[test]
fn faults_in_graphs_name_their_functions() {
    emulated("graphs::faults_in_graphs_name_their_functions", &[("STICKY_AT", "5")], || {
        let vm = machine();
        let (x, order) = (floats(&[1., 2., 3., 4.], CUDA), ints(&[3, 2, 1, 0], CUDA));
        let call = || call(&vm, &x, &order);
        assert_eq!(call().unwrap(), [16., 12., 8., 4.]);
        let error = call().unwrap_err().to_string();
        let text =
            "RuntimeError: cuda:0: one of 3 launches of `gather`, `scale` failed with CUDA_ERROR_ILLEGAL_ADDRESS";
        assert!(error.starts_with(text), "{error}");
    });
}

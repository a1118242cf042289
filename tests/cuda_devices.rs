//! Programs on several devices: the host and CUDA devices, which the emulator of the driver runs. Results are those of
//! the same programs on CPUs alone.

#[allow(dead_code)]
mod support;

use support::{emulated, emulated_with, hammock, root, snapshot, stdout};

/// The start of a module that declares devices.
fn head(devices: &str) -> String {
    format!(
        "\
from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar(\"n\")

@I.ir_module
class Module:
    I.module_global_infos({{\"vdevice\": [{devices}]}})
"
    )
}

/// Devices of the modules here.
const DEVICES: &str = "I.vdevice(\"llvm\"), I.vdevice(\"cuda\", 0), I.vdevice(\"cuda\", 1)";

/// The module for CPUs alone: CUDA devices become others of the kind `llvm`.
fn on_cpus(module: &str) -> String {
    let others =
        [("\"cuda\", 0", "\"llvm\", 1"), ("\"cuda\", 1", "\"llvm\", 2"), ("cuda:1", "llvm:2"), ("cuda:0", "llvm:1")];
    let targets = [("T.target(\"cuda\")", "T.target(\"llvm\")")];
    others.iter().chain(&targets).fold(module.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Compiles a module for CUDA devices at a level, runs it, and compares the results with those of CPUs. Returns the
/// listing of the program.
fn compare(body: &str, level: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let module = head(DEVICES) + body;
    std::fs::write(folder.join("cpus.py"), on_cpus(&module)).unwrap();
    std::fs::write(folder.join("model.py"), module).unwrap();
    let cpus = ["run", "cpus.py", "--device", "cpu:0,cpu:1,cpu:2", "--output", "cpus.npz"];
    stdout(hammock(folder, &[&cpus[..], args].concat()));
    stdout(hammock(folder, &["compile", "model.py", "-o", "model.so", "--target", "cuda", level]));
    let listing = stdout(hammock(folder, &["inspect", "model.so", "--listing"]));
    stdout(emulated(folder, &[&["run", "model.so", "--expect", "cpus.npz"][..], args].concat()));
    listing
}

/// The code of functions in a listing.
fn code(listing: &str) -> &str {
    listing.split_once("\ncode ").map_or("", |(_, code)| code)
}

const HOST_AND_DEVICE: &str = "
    @R.function
    def main(x: R.Tensor((n, 4), \"float32\", \"llvm:0\"), w: R.Tensor((4, 3), \"float32\"), b: R.Tensor((3,), \"float32\", \"llvm:0\")):
        with R.dataflow():
            h = R.add(R.tanh(x), R.const([1.0, 2.0, 3.0, 4.0], \"float32\"))
            g = R.to_vdevice(h, \"cuda:0\")
            y = R.add(R.tanh(R.matmul(g, w)), R.const([1.0, 2.0, 3.0], \"float32\"))
            c = R.to_vdevice(y, \"llvm:0\")
            z = R.tanh(R.add(R.add(c, b), R.const([1.0, 2.0, 3.0], \"float32\")))
            R.output(y, z)
        return (y, z)
";

#[test]
fn kernels_run_on_the_host_and_on_a_device() {
    let args = ["--arg", "random(5,4):float32", "--arg", "random(4,3):float32", "--arg", "random(3):float32"];
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let listing = compare(HOST_AND_DEVICE, level, &args);
        let storages: Vec<&str> = code(&listing).lines().filter(|line| line.contains("alloc_storage")).collect();
        let on_host = storages.iter().filter(|line| line.contains(", -1, ")).count();
        assert!(on_host > 0 && on_host < storages.len(), "{listing}");
        // One constant is used on the host and on the device.
        assert_eq!(listing.matches(" = tensor float32(3) [1.0, 2.0, 3.0]").count(), 2, "{listing}");
    }
}

#[test]
fn functions_are_compiled_for_the_device_of_their_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.py"), head(DEVICES) + HOST_AND_DEVICE).unwrap();
    stdout(hammock(folder, &["compile", "model.py", "-o", "model.so", "--target", "cuda", "-O2"]));
    let stats = stdout(hammock(folder, &["inspect", "model.so", "--stats"]));
    let kernels = stats.split_once("Device functions").expect("device functions").1;
    snapshot("cuda_devices", "stats", kernels);
}

#[test]
fn one_kernel_runs_on_two_devices() {
    let body = "
    @R.function
    def main(x: R.Tensor((8, n), \"float32\", \"llvm:0\"), y: R.Tensor((8, n), \"float32\")):
        a = R.nn.softmax(x)
        b = R.nn.softmax(y)
        c = R.add(R.to_vdevice(a, \"cuda:0\"), b)
        return (a, b, c)
";
    for level in ["-O0", "-O2"] {
        let listing = compare(body, level, &["--arg", "random(8,9):float32", "--arg", "random(8,9):float32"]);
        assert!(listing.contains("softmax_host"), "{listing}");
    }
}

#[test]
fn kernels_of_the_module_run_where_their_targets_say() {
    let body = "
    @T.prim_func
    def on_host(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        T.func_attr({\"target\": T.target(\"llvm\")})
        for i in range(8):
            with T.sblock(\"b\"):
                v = T.axis.spatial(8, i)
                B[v] = A[v] * T.float32(2)

    @T.prim_func
    def on_device(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        T.func_attr({\"target\": T.target(\"cuda\")})
        for i in range(8):
            with T.sblock(\"b\"):
                v = T.axis.spatial(8, i)
                B[v] = A[v] + T.float32(1)

    @T.prim_func
    def anywhere(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        for i in range(8):
            with T.sblock(\"b\"):
                v = T.axis.spatial(8, i)
                B[v] = A[v] - T.float32(3)

    @R.function
    def main(x: R.Tensor((8,), \"float32\")):
        cls = Module
        y = R.call_tir(cls.on_device, (R.exp(x),), R.Tensor((8,), \"float32\"))
        z = R.call_tir(cls.on_host, (R.to_vdevice(y, \"llvm:0\"),), R.Tensor((8,), \"float32\"))
        a = R.call_tir(cls.anywhere, (y,), R.Tensor((8,), \"float32\"))
        b = R.call_tir(cls.anywhere, (z,), R.Tensor((8,), \"float32\"))
        return (R.exp(z), a, b)
";
    for level in ["-O0", "-O2"] {
        compare(body, level, &["--arg", "random(8):float32"]);
    }
}

#[test]
fn branches_functions_and_tuples_are_on_several_devices() {
    let body = "
    @R.function(private=True)
    def swap(p: R.Tuple(R.Tensor((n,), \"float32\", \"llvm:0\"), R.Tensor((n,), \"float32\", \"cuda:0\"))) -> R.Tuple(R.Tensor((n,), \"float32\", \"cuda:0\"), R.Tensor((n,), \"float32\", \"llvm:0\")):
        a = R.to_vdevice(p[0], \"cuda:0\")
        b = R.to_vdevice(p[1], \"llvm:0\")
        return (R.exp(a), R.tanh(b))

    @R.function
    def main(t: R.Tuple(R.Tensor((n,), \"float32\", \"llvm:0\"), R.Tensor((n,), \"float32\", \"cuda:0\")), c: R.Tensor((), \"bool\", \"llvm:0\")):
        cls = Module
        u = cls.swap((R.exp(t[0]), R.exp(t[1])))
        if c:
            r = R.add(u[0], t[1])
            s = (r, R.exp(u[1]))
        else:
            r = R.subtract(u[0], t[1])
            s = (r, R.tanh(u[1]))
        return (s[0], R.add(s[1], u[1]), R.sort(u[1]), R.sort(s[0]))
";
    for (level, condition) in [("-O0", "true"), ("-O2", "false"), ("-O2", "true")] {
        let condition = format!("{condition}:bool");
        compare(body, level, &["--arg", "(random(7):float32, random(7):float32)", "--arg", &condition]);
    }
}

const TWO_DEVICES: &str = "
    @R.function
    def main(x: R.Tensor((n, 16), \"float32\"), w: R.Tensor((16, 24), \"float32\", \"cuda:0\"), v: R.Tensor((24, 8), \"float32\", \"cuda:1\")):
        with R.dataflow():
            a = R.nn.relu(R.matmul(x, w))
            b = R.add(a, R.const(1.0, \"float32\"))
            c = R.to_vdevice(b, \"cuda:1\")
            d = R.nn.softmax(R.matmul(c, v))
            e = R.to_vdevice(R.add(d, R.const(1.0, \"float32\")), \"cuda:0\")
            f = R.tanh(e)
            g = R.add(f, R.sum(a))
            R.output(g, d)
        return (g, d)
";

const TWO_DEVICES_ARGS: [&str; 6] =
    ["--arg", "random(5,16):float32", "--arg", "random(16,24):float32", "--arg", "random(24,8):float32"];

#[test]
fn layers_run_on_two_devices() {
    for level in ["-O0", "-O2"] {
        compare(TWO_DEVICES, level, &TWO_DEVICES_ARGS);
    }
}

#[test]
fn weights_are_on_the_devices_of_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let body = "
    @R.function
    def main(x: R.Tensor((2, 300), \"float32\"), w: R.Tensor((300, 300), \"float32\", \"cuda:1\"), v: R.Tensor((300, 300), \"float32\", \"llvm:0\")):
        R.func_attr({\"num_input\": 1})
        with R.dataflow():
            a = R.matmul(R.to_vdevice(x, \"cuda:1\"), R.permute_dims(w))
            b = R.matmul(R.to_vdevice(a, \"llvm:0\"), R.permute_dims(v))
            c = R.add(b, R.const(1.0, \"float32\"))
            R.output(c)
        return c
";
    let module = head(DEVICES) + body;
    std::fs::write(folder.join("cpus.py"), on_cpus(&module)).unwrap();
    std::fs::write(folder.join("model.py"), module).unwrap();
    std::fs::write(folder.join("weights.safetensors"), weights(&["w", "v"], 300 * 300)).unwrap();
    for more in [&[][..], &["--quantize", "int8"]] {
        let params = ["--params", "weights.safetensors"];
        let arg = ["--arg", "random(2,300):float32"];
        let cpus = ["run", "cpus.py", "--device", "cpu:0,cpu:1,cpu:2", "--output", "cpus.npz"];
        stdout(hammock(folder, &[&cpus[..], &params, &arg, more].concat()));
        let compile = ["compile", "model.py", "-o", "model.so", "--target", "cuda"];
        stdout(hammock(folder, &[&compile[..], &params, more].concat()));
        // Constants on devices are folded as others are.
        let listing = stdout(hammock(folder, &["inspect", "model.so", "--listing"]));
        assert!(!listing.contains("@transpose"), "{listing}");
        let quantized = if more.is_empty() { 0 } else { 2 };
        assert_eq!(listing.matches(" = tensor int8(300, 300)").count(), quantized, "{listing}");
        stdout(emulated(folder, &[&["run", "model.so", "--expect", "cpus.npz"][..], &arg].concat()));
    }
}

/// A file of float32 matrices of `count` elements with these names.
fn weights(names: &[&str], count: usize) -> Vec<u8> {
    let side = count.isqrt();
    let entry = |(number, name): (usize, &&str)| {
        let [begin, end] = [number, number + 1].map(|number| number * count * 4);
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[{side},{side}],\"data_offsets\":[{begin},{end}]}}")
    };
    let header = format!("{{{}}}", names.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let values = (0..names.len() * count).map(|i| ((i * 7919) % 2003) as f32 / 20_000.0 - 0.05);
    let data = values.flat_map(f32::to_le_bytes);
    (header.len() as u64).to_le_bytes().into_iter().chain(header.into_bytes()).chain(data).collect()
}

#[test]
fn the_example_runs() {
    let module = std::fs::read_to_string(root().join("ir-examples/devices.py")).unwrap();
    let body = module.split_once("I.vdevice(\"cuda\", 1)]})\n").unwrap().1;
    let weights = ["random(100,16):float32", "random(16,32):float32", "random(32,8):float32"];
    let args = ["[3, 1, 4]:int64"].into_iter().chain(weights).flat_map(|arg| ["--arg", arg]);
    compare(body, "-O2", &args.collect::<Vec<_>>());
}

#[test]
fn copies_between_devices_are_ordered() {
    // The first device goes on, in the memory that it copied from, while the second computes.
    let body = "
    @R.function
    def main(x: R.Tensor((64, 64), \"float32\", \"cuda:0\")):
        a = R.nn.softmax(R.matmul(x, x))
        b = R.to_vdevice(a, \"cuda:1\")
        c = R.nn.softmax(R.matmul(b, b))
        d = R.nn.softmax(R.matmul(R.exp(x), x))
        e = R.to_vdevice(d, \"cuda:1\")
        f = R.nn.softmax(R.matmul(e, c))
        g = R.nn.softmax(R.matmul(R.tanh(x), x))
        h = R.to_vdevice(g, \"cuda:1\")
        return (R.matmul(h, f), R.to_vdevice(R.matmul(f, c), \"cuda:0\"))
";
    for level in ["-O0", "-O2"] {
        compare(body, level, &["--arg", "random(64,64):float32"]);
    }
}

#[test]
fn graphs_have_kernels_of_the_first_device() {
    // `step` is called often enough that its graph is made and changed.
    let body = "
    @R.function
    def step(x: R.Tensor((n, 8), \"float32\", \"cuda:0\"), h: R.Tensor((n, 8), \"float32\", \"llvm:0\")):
        a = R.matmul(R.nn.softmax(x), R.ones((8, 8), \"float32\"))
        b = R.add(R.nn.softmax(h), R.to_vdevice(a, \"llvm:0\"))
        c = R.nn.softmax(R.matmul(R.to_vdevice(b, \"cuda:1\"), R.ones((8, 8), \"float32\")))
        d = R.nn.softmax(R.add(R.nn.softmax(a), R.to_vdevice(c, \"cuda:0\")))
        return (R.nn.softmax(R.multiply(d, x)), R.nn.softmax(R.multiply(b, h)))

    @R.function
    def main(x: R.Tensor((n, 8), \"float32\", \"cuda:0\"), h: R.Tensor((n, 8), \"float32\", \"llvm:0\")):
        cls = Module
        s0 = cls.step(x, h)
        s1 = cls.step(s0[0], s0[1])
        s2 = cls.step(s1[0], s1[1])
        s3 = cls.step(s2[0], s2[1])
        return s3
";
    for level in ["-O1", "-O2"] {
        let listing = compare(body, level, &["--arg", "random(5,8):float32", "--arg", "random(5,8):float32"]);
        let graphs = listing.matches("call @vm.builtin.cuda_graph.run_or_capture").count();
        assert!(graphs >= 2, "{listing}");
        for function in listing.split("\ncode ").filter(|code| code.starts_with("@step_cuda_graph_capture")) {
            assert!(!function.contains("_host") && !function.contains("to_device"), "{function}");
        }
    }
}

#[test]
fn devices_are_those_given_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.py"), head(DEVICES) + TWO_DEVICES).unwrap();
    stdout(hammock(folder, &["compile", "model.py", "-o", "model.so", "--target", "cuda"]));
    let run = |more: &[&str]| stdout(emulated(folder, &[&["run", "model.so"][..], &TWO_DEVICES_ARGS, more].concat()));
    let expected = run(&[]);
    assert_eq!(run(&["--device", "cuda:1,cuda:0"]), expected);
    assert_eq!(run(&["--device", "cuda:1", "--device", "cuda:0"]), expected);
    assert_eq!(run(&["--device", "cuda:0,cuda:0"]), expected);
}

#[test]
fn a_device_of_the_module_may_be_any_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("model.py"),
        head(&DEVICES[..DEVICES.len() - ", I.vdevice(\"cuda\", 1)".len()]) + HOST_AND_DEVICE,
    )
    .unwrap();
    stdout(hammock(folder, &["compile", "model.py", "-o", "model.so", "--target", "cuda"]));
    let args = ["--arg", "random(5,4):float32", "--arg", "random(4,3):float32", "--arg", "random(3):float32"];
    let run = |device: &str| stdout(emulated(folder, &[&["run", "model.so", "--device", device][..], &args].concat()));
    assert_eq!(run("cuda:1"), run("cuda:0"));
}

#[test]
fn missing_devices_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.py"), head(DEVICES) + TWO_DEVICES).unwrap();
    stdout(hammock(folder, &["compile", "model.py", "-o", "model.so", "--target", "cuda"]));
    let refusal = |devices: &str, more: &[&str]| {
        let run = [&["run", "model.so"][..], &TWO_DEVICES_ARGS, more].concat();
        let output = emulated_with(&[("DEVICES", devices)], folder, &run);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    snapshot("cuda_devices", "one_given", &refusal("2", &["--device", "cuda:0"]));
    snapshot("cuda_devices", "one_present", &refusal("1", &[]));
    snapshot("cuda_devices", "only_the_host", &refusal("2", &["--device", "cpu"]));
}

#[test]
fn bytecode_without_devices_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let body = "
    @T.prim_func
    def double(A: T.Buffer((2,), \"float32\"), B: T.Buffer((2,), \"float32\")):
        for i in range(2):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((2,), \"float32\", \"llvm:0\")):
        return R.call_tir(Module.double, (x,), R.Tensor((2,), \"float32\", \"llvm:0\"))
";
    std::fs::write(folder.join("cpus.py"), on_cpus(&(head(DEVICES) + body))).unwrap();
    std::fs::write(folder.join("model.py"), head(DEVICES) + body).unwrap();
    stdout(hammock(folder, &["compile", "cpus.py", "-o", "code.bin", "--emit", "bytecode"]));
    let compile = ["compile", "model.py", "--bytecode", "code.bin", "-o", "model.so", "--target", "cuda"];
    let output = hammock(folder, &compile);
    assert!(!output.status.success());
    snapshot("cuda_devices", "bytecode", &String::from_utf8(output.stderr).unwrap());
}

/// The error of a command on a module, which must fail.
fn refusal(body: &str, args: &[&str]) -> String {
    refusal_of(&head(DEVICES), body, args)
}

fn refusal_of(head: &str, body: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), head.to_owned() + body).unwrap();
    let output = emulated(folder.path(), &[&["run", "model.py"][..], args].concat());
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn tensors_on_the_wrong_device_are_rejected() {
    let main = |body: &str| {
        format!(
            "\n    @R.function\n    def main(x: R.Tensor((2,), \"float32\"), y: R.Tensor((2,), \"float32\", \"llvm:0\")):\n{body}"
        )
    };
    let cuda = ["--target", "cuda", "--arg", "[1,2]:float32", "--arg", "[1,2]:float32"];
    let stated = main(
        "        a = R.to_vdevice(y, \"cuda:0\")
        b = R.add(a, x)
        c = R.multiply(y, b)
        return c
",
    );
    let inferred = main(
        "        a = R.to_vdevice(y, \"cuda:0\")
        b = R.add(a, x)
        c = R.multiply(y, x)
        return (b, c)
",
    );
    let without_target = main("        return y\n");
    for index in ["-1", "64"] {
        let error =
            refusal_of(&head(DEVICES).replace("\"cuda\", 1", &format!("\"cuda\", {index}")), &without_target, &cuda);
        snapshot("cuda_devices", &format!("device_{index}").replace('-', "minus_"), &error);
    }
    let errors = [
        ("stated", refusal(&stated, &cuda)),
        ("inferred", refusal(&inferred, &cuda)),
        ("without_target", refusal(&without_target, &cuda[2..])),
    ];
    for (name, error) in errors {
        snapshot("cuda_devices", name, &error);
    }
}

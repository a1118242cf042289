//! `--params`: matching and unknown names, zeros, and invalid files.

use crate::support::{hammock, snapshot};
use hammock_runtime::Tensor;
use hammock_tools::{Weights, save_npz, save_safetensors};
use std::process::Output;

const MODEL: &str = r#"
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), fc1_weight: R.Tensor((3, 4), "float32"), fc1_bias: R.Tensor((4,), "float32")) -> R.Tensor((2, 4), "float32"):
        y: R.Tensor((2, 4), "float32") = R.matmul(x, fc1_weight)
        z: R.Tensor((2, 4), "float32") = R.add(y, fc1_bias)
        return z

    @R.function
    def other(e_weight: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return e_weight
"#;

/// Creates a folder with the model and weight files of these names.
fn folder(files: &[(&str, &[(&str, &[i64])])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), MODEL).unwrap();
    for (file, tensors) in files {
        let one = |(name, shape): &(&str, &[i64])| {
            let values = vec![1f32; shape.iter().product::<i64>() as usize];
            ((*name).to_owned(), Tensor::from_slice(shape, &values).unwrap())
        };
        let tensors: Vec<_> = tensors.iter().map(one).collect();
        let path = folder.path().join(file);
        if file.ends_with("npz") { save_npz(&path, &tensors) } else { save_safetensors(&path, &tensors) }.unwrap();
    }
    folder
}

/// Returns the output of a command and its status.
fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("status {}\n{err}{out}\n", output.status.code().unwrap())
}

const GOOD: &[(&str, &[i64])] = &[("fc1.weight", &[3, 4]), ("fc1.bias", &[4]), ("e.weight", &[2])];

#[test]
fn names_match_up_to_punctuation() {
    let folder = folder(&[("good.safetensors", GOOD), ("good.npz", GOOD)]);
    for file in ["good.safetensors", "good.npz"] {
        let run = |args: &[&str]| hammock(folder.path(), args);
        let result = run(&["run", "model.py", "--params", file, "--arg", "ones(2,3):float32"]);
        assert_eq!(said(&result), "status 0\nfloat32[2, 4]\n[[4.0 4.0 4.0 4.0]\n [4.0 4.0 4.0 4.0]]\n\n");
        let other = run(&["run", "model.py", "--func", "other", "--params", file]);
        assert_eq!(said(&other), "status 0\nfloat32[2]\n[1.0 1.0]\n\n");
        assert_eq!(said(&run(&["compile", "model.py", "-o", "model.so"])), "status 0\n\n");
        let late = run(&["run", "model.so", "--params", file, "--arg", "ones(2,3):float32"]);
        assert_eq!(said(&late), said(&result));
        assert_eq!(said(&run(&["compile", "model.py", "--params", file, "-o", "model.so"])), "status 0\n\n");
        assert_eq!(said(&run(&["run", "model.so", "--arg", "ones(2,3):float32"])), said(&result));
    }
}

#[test]
fn unmatched_names_are_listed() {
    let folder = folder(&[
        ("misspelt.safetensors", &[("fc1.wieght", &[3, 4]), ("fc1.bias", &[4]), ("e.weight", &[2])]),
        ("another.npz", &[("conv.weight", &[1]), ("conv.bias", &[1])]),
        ("wrong.safetensors", &[("fc1.weight", &[4, 3]), ("fc1.bias", &[5]), ("e.weight", &[2])]),
    ]);
    let run = |args: &[&str]| said(&hammock(folder.path(), args));
    let mut all = String::new();
    for file in ["misspelt.safetensors", "another.npz", "wrong.safetensors"] {
        all += &run(&["run", "model.py", "--params", file, "--arg", "ones(2,3):float32"]);
        all += &run(&["compile", "model.py", "--params", file, "-o", "model.so"]);
        let opt = run(&["opt", "model.py", "--params", file, "--passes", "Normalize"]);
        assert!(opt.contains("E0411") || opt.contains("E0406"), "{opt}");
    }
    run(&["compile", "model.py", "-o", "late.so"]);
    for file in ["misspelt.safetensors", "another.npz", "wrong.safetensors"] {
        all += &run(&["run", "late.so", "--params", file, "--arg", "ones(2,3):float32"]);
    }
    snapshot("cli", "weights_that_match_nothing", &all);
}

/// All errors in weights are reported in one message.
#[test]
fn all_mismatches_are_listed_at_once() {
    let folder = folder(&[(
        "all.safetensors",
        &[("fc1.weight", &[4, 3]), ("fc1.bais", &[4]), ("e.weight", &[2, 2]), ("conv.weight", &[1])],
    )]);
    let declared =
        MODEL.replacen("        y: R.Tensor", "        R.func_attr({\"num_input\": 1})\n        y: R.Tensor", 1);
    std::fs::write(folder.path().join("model.py"), declared).unwrap();
    let run = |args: &[&str]| said(&hammock(folder.path(), args));
    let mut all = run(&["compile", "model.py", "--params", "all.safetensors", "-o", "model.so"]);
    assert_eq!(all.matches("error[").count() + all.matches("warning[").count(), 1, "{all}");
    assert_eq!(run(&["check", "model.py", "--params", "all.safetensors"]), all, "check says the same");
    run(&["compile", "model.py", "-o", "late.so"]);
    all += &run(&["run", "late.so", "--params", "all.safetensors", "--arg", "x=ones"]);
    snapshot("cli", "weights_that_do_not_fit", &all);
}

/// Weights of a compiled model are not replaced silently.
#[test]
fn weights_of_a_compiled_model_are_not_replaced() {
    let folder = folder(&[("good.safetensors", GOOD)]);
    let run = |args: &[&str]| said(&hammock(folder.path(), args));
    run(&["compile", "model.py", "--params", "good.safetensors", "-o", "model.so"]);
    let again = run(&["run", "model.so", "--params", "good.safetensors", "--arg", "x=ones"]);
    assert!(again.starts_with("status 1\nerror[E0411]: no tensor of good.safetensors"), "{again}");
    assert!(
        again.contains("the model already has, and goes on to use, its own e_weight, fc1_bias, fc1_weight"),
        "{again}"
    );
}

#[test]
fn weights_are_read_from_several_files() {
    let folder = folder(&[
        ("model-1.safetensors", &GOOD[..1]),
        ("model-2.safetensors", &GOOD[1..]),
        ("twice.safetensors", &GOOD[..1]),
    ]);
    let run = |params: &str| {
        said(&hammock(folder.path(), &["run", "model.py", "--params", params, "--arg", "ones(2,3):float32"]))
    };
    let index = |text: &str| std::fs::write(folder.path().join("model.safetensors.index.json"), text).unwrap();
    let expected = "status 0\nfloat32[2, 4]\n[[4.0 4.0 4.0 4.0]\n [4.0 4.0 4.0 4.0]]\n\n";
    assert!(run(".").contains("two files of . have a tensor `fc1.weight`"), "{}", run("."));
    let good = r#"{"metadata": {"total_size": 72}, "weight_map": {"fc1.weight": "model-1.safetensors",
        "fc1.bias": "model-2.safetensors", "e.weight": "model-2.safetensors"}}"#;
    index(good);
    for params in [".", "model.safetensors.index.json"] {
        assert_eq!(run(params), expected, "the index says which files there are");
    }
    for (from, to, why) in [
        ("fc1.weight", "fc2.weight", "lack the tensors fc2.weight"),
        ("model-1.safe", "../model-1.safe", "`fc1.weight` is not in its folder"),
        ("model-1.safe", "model-3.safe", "model-3.safetensors"),
        ("weight_map", "map", "it has no `weight_map`"),
        ("}}", "}", "JSON"),
    ] {
        index(&good.replacen(from, to, 1));
        let text = run(".");
        assert!(text.starts_with("status 1\n") && text.contains(why), "{text}");
    }
    let index = folder.path().join("model.safetensors.index.json");
    std::fs::remove_file(index).unwrap();
    std::fs::remove_file(folder.path().join("twice.safetensors")).unwrap();
    assert_eq!(run("."), expected, "a folder without an index");
}

#[test]
fn constants_are_stored_beside_the_executable() {
    let folder = folder(&[("good.safetensors", GOOD)]);
    let run = |args: &[&str]| said(&hammock(folder.path(), args));
    let compile = |more: &[&str]| {
        run(&[&["compile", "model.py", "--params", "good.safetensors", "-o", "model.so"], more].concat())
    };
    assert_eq!(compile(&["--external-weights", "model.safetensors"]), "status 0\n\n");
    let call = |file: &str| run(&["run", file, "--arg", "x=ones"]);
    assert_eq!(call("model.so"), "status 0\nfloat32[2, 4]\n[[4.0 4.0 4.0 4.0]\n [4.0 4.0 4.0 4.0]]\n\n");
    let weights = Weights::open(&folder.path().join("model.safetensors")).unwrap();
    let mut sizes: Vec<_> =
        weights.iter().filter(|(name, _)| name.starts_with('c')).map(|(_, t)| t.element_count()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 4, 12], "others can read it");
    // The files run if they are moved together, but not alone.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::rename(folder.path().join("model.so"), other.join("model.so")).unwrap();
    assert!(call("other/model.so").contains("cannot use model.safetensors, which has the model's weights"));
    std::fs::rename(folder.path().join("model.safetensors"), other.join("model.safetensors")).unwrap();
    assert!(call("other/model.so").starts_with("status 0\n"));
    std::fs::copy(folder.path().join("good.safetensors"), other.join("model.safetensors")).unwrap();
    assert!(call("other/model.so").contains("it is not the file that was compiled with the executable"));
    assert!(compile(&["--external-weights", "other/w.safetensors"]).contains("name another file in the same folder"));
    assert!(compile(&["--external-weights", "model.so"]).contains("is the same file as `-o model.so`"));
    assert!(compile(&["--external-weights", "w.safetensors", "--emit", "tvm"]).contains("E0407"));
}

#[test]
fn missing_weights_are_reported() {
    let folder = folder(&[("part.safetensors", &[("fc1.wieght", &[3, 4]), ("fc1.bias", &[4]), ("e.weight", &[2])])]);
    let declared =
        MODEL.replacen("        y: R.Tensor", "        R.func_attr({\"num_input\": 1})\n        y: R.Tensor", 1);
    std::fs::write(folder.path().join("model.py"), declared).unwrap();
    let text = said(&hammock(folder.path(), &["compile", "model.py", "--params", "part.safetensors", "-o", "m.so"]));
    assert!(text.contains("weights of `main` have no tensor: fc1_weight"), "{text}");
    assert!(text.contains("`fc1.wieght` looks like the parameter `fc1_weight`"), "{text}");
}

#[test]
fn sizes_of_several_weights_must_be_equal() {
    let folder = folder(&[("w.safetensors", &[("a", &[3]), ("b", &[4])])]);
    let model = r#"
@R.function
def main(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return a
"#;
    std::fs::write(folder.path().join("model.py"), model).unwrap();
    let text = said(&hammock(folder.path(), &["run", "model.py", "--params", "w.safetensors"]));
    assert!(text.contains("E0406") && text.contains("`n` is 3 by another"), "{text}");
}

#[test]
fn the_pass_binds_one_function() {
    let folder = folder(&[("good.npz", GOOD)]);
    let opt =
        |passes: &str| said(&hammock(folder.path(), &["opt", "model.py", "--params", "good.npz", "--passes", passes]));
    let text = opt("BindParams{func_name=\"main\"}");
    assert!(text.contains("def main(x: R.Tensor((2, 3)"), "{text}");
    assert!(text.contains("R.add(y, metadata"), "{text}");
    assert!(text.contains("def other(e_weight: R.Tensor((2,)"), "{text}");
    assert!(opt("BindParams").contains("def other() -> R.Tensor((2,)"));
    assert!(opt("BindParams{func_name=\"mian\"}").contains("did you mean `main`?"));
}

/// A function that is called with the weight, but calls itself with another value, keeps its parameter.
#[test]
fn recursive_calls_prevent_binding() {
    let folder = folder(&[("w.safetensors", &[("w", &[2])])]);
    let model = r#"
@I.ir_module
class Module:
    @R.function(private=True)
    def again(go: R.Tensor((), "bool"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if go:
            y: R.Tensor((2,), "float32") = Module.again(R.const(False, "bool"), R.const([5, 5], "float32"))
            z: R.Tensor((2,), "float32") = y
        else:
            z: R.Tensor((2,), "float32") = w
        return z

    @R.function
    def main(go: R.Tensor((), "bool"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y: R.Tensor((2,), "float32") = Module.again(go, w)
        return y
"#;
    std::fs::write(folder.path().join("model.py"), model).unwrap();
    let run = |go: &str| {
        said(&hammock(
            folder.path(),
            &["run", "model.py", "--params", "w.safetensors", "--exec-mode", "reference", "--arg", go],
        ))
    };
    assert_eq!(run("zeros():bool"), "status 0\nfloat32[2]\n[1.0 1.0]\n\n");
    assert_eq!(run("ones():bool"), "status 0\nfloat32[2]\n[5.0 5.0]\n\n");
}

#[test]
fn zeros_take_the_shapes_of_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let model = r#"
@I.ir_module
class Module:
    @T.prim_func
    def scale(a: T.handle, b: T.Buffer((4,), "float32"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        C = T.match_buffer(c, (n, 4), "float32")
        for i, j in T.grid(n, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + b[vj]

    @R.function(private=True)
    def helper(w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return w

    @R.function
    def main(x: R.Tensor((1, 2, 8, 8), "float32")):
        cls = Module
        c: R.Tensor((1, 3, 6, 6), "float32") = R.nn.conv2d(x, metadata["relax.expr.Constant"][0])
        r: R.Tensor((9, 12), "float32") = R.reshape(c, (9, 12))
        m: R.Tensor((9, 4), "float32") = R.matmul(r, metadata["relax.expr.Constant"][1])
        b: R.Tensor((9, 4), "float32") = R.add(m, metadata["relax.expr.Constant"][2])
        l: R.Tensor((9, 4), "float32") = R.nn.layer_norm(b, metadata["relax.expr.Constant"][3], metadata["relax.expr.Constant"][4], axes=[-1])
        s = R.call_tir(cls.scale, (l, metadata["relax.expr.Constant"][5]), out_sinfo=R.Tensor((9, 4), "float32"))
        h: R.Tensor((4,), "float32") = cls.helper(metadata["relax.expr.Constant"][6])
        t: R.Tensor((9, 4), "float32") = R.add(s, h)
        u: R.Tuple(R.Tensor((9, 4), "float32"), R.Tensor((2,), "int64")) = (t, metadata["relax.expr.Constant"][7])
        return u
"#;
    std::fs::write(folder.path().join("model.py"), model).unwrap();
    let run = |args: &[&str]| said(&hammock(folder.path(), args));
    let text = run(&["run", "model.py", "--params", "zeros", "--arg", "ones(1,2,8,8):float32"]);
    assert!(text.starts_with("status 0\n") && text.contains("int64[2]"), "{text}");
    let unknown = model
        .replace("b: R.Tensor((9, 4), \"float32\") = R.add", "b = R.add")
        .replace("l: R.Tensor((9, 4), \"float32\") = ", "l = ");
    std::fs::write(folder.path().join("model.py"), unknown).unwrap();
    let text = run(&["check", "model.py", "--params", "zeros"]);
    assert!(text.contains("E0212") && text.contains("constant 2"), "{text}");
}

#[test]
fn cyclic_metadata_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = r#"{"root_index": 0, "nodes": [
  {"type": "ffi.Map", "data": [1, 2]},
  {"type": "ffi.String", "data": "ir.GenericConst"},
  {"type": "ffi.Array", "data": [3]},
  {"type": "ir.GenericConst", "data": {"value": 3}}
]}"#;
    let model = format!(
        "metadata = tvm.ir.load_json(\"\"\"{nodes}\"\"\")\n@R.function\ndef main(x: R.Tensor((1,), \"float32\")):\n    \
         return R.add(x, metadata[\"ir.GenericConst\"][0])\n"
    );
    std::fs::write(folder.path().join("model.py"), model).unwrap();
    let text = said(&hammock(folder.path(), &["check", "model.py"]));
    assert!(text.contains("node 3: it refers to itself") && text.contains("model.py:5:3"), "{text}");
}

/// A convolution whose transformed weights are four times as large.
const CONVOLUTION: &str = r#"
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 56, 56, 64), "float32"), w: R.Tensor((64, 3, 3, 64), "float32")) -> R.Tensor((1, 56, 56, 64), "float32"):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="OHWI")
            R.output(y)
        return y
"#;

#[test]
fn weights_that_kernels_transform_are_stored_untransformed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), CONVOLUTION).unwrap();
    let values: Vec<f32> = (0..64 * 64 * 9i32).map(|i| (i * 7919 % 1009 - 500) as f32 / 1000.0).collect();
    let weights = Tensor::from_slice(&[64, 3, 3, 64], &values).unwrap();
    save_safetensors(&folder.path().join("w.safetensors"), &[("w".to_owned(), weights.clone())]).unwrap();
    let run = |args: &[&str]| {
        let said = said(&hammock(folder.path(), args));
        assert!(said.starts_with("status 0\n"), "{args:?}: {said}");
    };
    let arg = ["--arg", "random(1,56,56,64):float32"];
    run(&[&["run", "model.py", "--params", "w.safetensors", "--output", "y.npz"], &arg[..]].concat());
    let plain = ["--emit", "lib"];
    let (compiled, beside) = (["--exec-mode", "compiled"], ["--external-weights", "beside.safetensors"]);
    for how in [&plain[..], &compiled, &beside, &["--multi-version=x86-64-v3,x86-64-v4"]] {
        run(&[&["compile", "model.py", "--params", "w.safetensors", "-o", "model.so"], how].concat());
        let size = |file: &str| std::fs::metadata(folder.path().join(file)).unwrap().len() as usize;
        let weights_at = if how == beside { "beside.safetensors" } else { "model.so" };
        assert!(size(weights_at) < weights.nbytes() * 2, "{how:?}: {} bytes", size(weights_at));
        for threads in ["1", "2"] {
            run(&[&["run", "model.so", "--threads", threads, "--expect", "y.npz"], &arg[..]].concat());
        }
    }
}

/// The extension selects the format of written weights, which can be read back.
#[test]
fn the_extension_selects_the_weights_format() {
    let folder = folder(&[]);
    let import = |out: &str, model: &str| {
        let model = crate::support::root().join("tests/onnx").join(model);
        hammock(folder.path(), &["import", model.to_str().unwrap(), "-o", "m.py", "--params-out", out])
    };
    for name in ["w.npz", "w.safetensors", "W.NPZ"] {
        assert!(import(name, "mlp.onnx").status.success(), "{name}");
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes.starts_with(b"PK"), !name.ends_with("safetensors"), "{name}");
        let run = ["run", "m.py", "--params", name, "--arg", "ones(1,64):float32", "--exec-mode", "reference"];
        assert!(hammock(folder.path(), &run).status.success(), "{name}");
    }
    for name in ["w.bin", "w.txt"] {
        let text = said(&import(name, "mlp.onnx"));
        assert!(text.contains("how to write weights") && text.contains(".npz"), "{text}");
        assert!(!folder.path().join(name).exists());
    }
    let beside = ["compile", "m.py", "--params", "w.npz", "-o", "m.so", "--external-weights", "e.npz"];
    assert!(said(&hammock(folder.path(), &beside)).contains("weights beside an executable are safetensors"));
}

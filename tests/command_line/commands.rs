//! The command line end to end: arguments, output and exit status.

use crate::support::{root, stdout};
use std::{path::Path, process::Output};

/// Runs `hammock` in the root of the repository.
fn hammock(args: &[&str]) -> Output {
    crate::support::hammock(root(), args)
}

/// Returns standard error of a command that must fail, without machine-specific parts.
fn refusal(args: &[&str]) -> String {
    let output = hammock(args);
    assert!(output.stdout.is_empty(), "nothing goes to standard output");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), crate::support::status_of(&said), "{said}");
    said
}

fn snapshot(name: &str, text: &str) {
    crate::support::snapshot("cli", name, text);
}

const DIGITS: &str = "ir-examples/digits/model.py";
const WEIGHTS: &str = "ir-examples/digits/weights.safetensors";
const IMAGES: &str = "@ir-examples/digits/test.npz#images";
const LABELS: &str = "@ir-examples/digits/test.npz#labels";

fn accuracy(text: &str) -> f64 {
    text.split_whitespace().next().and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("no number in {text:?}"))
}

#[test]
fn an_operator_shows_an_example_that_runs() {
    let text = stdout(hammock(&["ops", "R.concat"]));
    assert!(text.contains("legalizes to: TIR") && text.contains("R.concat((x, y), axis=1)"), "{text}");
    let module = stdout(hammock(&["ops", "concat", "--example"]));
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("example.py");
    std::fs::write(&path, module).unwrap();
    let args = ["run", path.to_str().unwrap(), "--arg", "zeros(2,3):float32", "--arg", "zeros(2,1):float32"];
    assert!(stdout(hammock(&args)).starts_with("float32[2, 4]"));
    assert!(refusal(&["ops", "call_tir", "--example"]).contains("no example"));
}

#[test]
fn digits_are_classified_from_text_and_library() {
    let args = ["run", DIGITS, "--func", "accuracy", "--params", WEIGHTS, "--arg", IMAGES, "--arg", LABELS];
    let direct = accuracy(&stdout(hammock(&args)));
    assert!(direct >= 0.96, "{direct}");
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("digits.so");
    let library = library.to_str().unwrap();
    stdout(hammock(&["compile", DIGITS, "-o", library, "--params", WEIGHTS]));
    let compiled = stdout(hammock(&["run", library, "--func", "accuracy", "--arg", IMAGES, "--arg", LABELS]));
    assert_eq!(accuracy(&compiled), direct);
}

#[test]
fn stages_are_named_and_timed() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("digits.so");
    let compile = |flags: &[&str]| {
        let args = ["compile", DIGITS, "-o", library.to_str().unwrap(), "--params", WEIGHTS];
        let output = hammock(&[&args[..], flags].concat());
        assert!(output.status.success() && output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(compile(&[]), "", "only terminals are told without being asked");
    let said = compile(&["-v", "--timing"]);
    let stages = ["reading weights", "reading the model", "passes", "compiling kernels", "writing the file"];
    assert!(said.starts_with(&stages.map(|stage| format!("{stage}\n")).concat()), "{said}");
    for stage in
        ["reading the model", "passes", "bytecode", "kernels to machine code", "linking", "writing the file", "all"]
    {
        assert!(said.contains(&format!(" ms  {stage}\n")), "{stage}: {said}");
    }
    let last = said.lines().last().unwrap();
    assert!(last.contains(" kernels (") && last.contains(" MiB file, ") && last.ends_with(" s"), "{last}");
    let times: serde_json::Value = serde_json::from_str(&compile(&["--timing=json"])).unwrap();
    let sum: f64 = times["stages"].as_array().unwrap().iter().map(|stage| stage["ms"].as_f64().unwrap()).sum();
    assert!(sum > 0.0 && sum <= times["total_ms"].as_f64().unwrap(), "{times}");
}

#[test]
fn every_command_that_may_take_long_names_its_stages() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("digits.so");
    let library = library.to_str().unwrap();
    stdout(hammock(&["compile", DIGITS, "-o", library, "--params", WEIGHTS]));
    let stages = |args: &[&str]| {
        let output = hammock(&[args, &["-v"]].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (text, compiled) = (["--params", WEIGHTS, "--arg", IMAGES], ["--arg", IMAGES]);
    let of_call = ["reading arguments", "first inference", "writing the result"];
    let of_text = ["reading weights", "reading the model", "passes", "compiling kernels", "loading", "reading weights"];
    assert_eq!(stages(&[&["run", DIGITS], &text[..]].concat()), [&of_text[..], &of_call].concat());
    assert_eq!(stages(&[&["run", library], &compiled[..]].concat()), [&["loading"], &of_call[..]].concat());
    let bench = stages(&[&["bench", library, "--min-time", "0.01"], &compiled[..]].concat());
    assert_eq!(bench, ["loading", "measuring"]);
    let weights = folder.path().join("w.safetensors");
    let import = ["import", "tests/onnx/encoder.onnx", "--params-out", weights.to_str().unwrap()];
    assert_eq!(stages(&import), ["reading the model", "writing weights", "writing the text"]);
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = ["a.so", "b.so"].map(|name| {
        let path = folder.path().join(name);
        stdout(hammock(&["compile", DIGITS, "-o", path.to_str().unwrap(), "--params", WEIGHTS]));
        std::fs::read(path).unwrap()
    });
    assert!(bytes[0] == bytes[1], "the libraries differ");
}

#[test]
fn weights_can_be_passed_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("digits.so");
    let library = library.to_str().unwrap();
    stdout(hammock(&["compile", DIGITS, "-o", library]));
    let args = ["run", library, "--func", "accuracy", "--params", WEIGHTS, "--arg", IMAGES, "--arg", LABELS];
    assert!(accuracy(&stdout(hammock(&args))) >= 0.96);
}

#[test]
fn weights_that_arguments_replace_are_named() {
    let args = ["run", DIGITS, "--params", WEIGHTS, "--arg", "images=zeros(1,64):float32", "--arg", "b1=zeros"];
    let output = hammock(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("are not used") && said.contains("parameters: b1"), "{said}");
}

#[test]
fn mismatched_arguments_are_reported_at_their_parameters() {
    let run = |args: &[&str]| refusal(&[&["run", DIGITS, "--params", WEIGHTS], args].concat());
    let line =
        std::fs::read_to_string(DIGITS).unwrap().lines().position(|line| line.contains("def main(images")).unwrap();
    let said = run(&["--arg", "zeros(2,63):float32"]);
    assert!(said.contains(&format!("model.py:{}:14", line + 1)), "{said}");
    // A size that is passed by name counts, too.
    let said = run(&["--arg", "n=5", "--arg", "images=zeros(2,64):float32"]);
    assert!(said.contains("since `n` is 5"), "{said}");
}

/// Writes a float32 `.npy` file.
fn npy(folder: &Path, shape: &str, values: &[f32]) -> String {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let path = folder.join("x.npy");
    std::fs::write(&path, bytes).unwrap();
    format!("@{}", path.display())
}

#[test]
fn control_flow() {
    let folder = tempfile::tempdir().unwrap();
    for (x, digits) in [(1000.0, "10"), (1.0, "1"), (0.25, "0")] {
        let x = npy(folder.path(), "()", &[x]);
        assert_eq!(
            stdout(hammock(&["run", "ir-examples/control_flow.py", "--arg", &x])),
            format!("{digits} (int64)\n")
        );
    }
}

#[test]
fn devices_are_given_by_number() {
    let file = "ir-examples/language/16_attributes_and_devices.py";
    let run = ["run", file, "--arg", "[0, 1]:float32"];
    assert!(refusal(&run).contains("no device 1"));
    assert!(refusal(&[&run[..], &["--device", "cpu:9"]].concat()).contains("there is no device cpu:9"));
}

#[test]
fn results_are_saved_as_json() {
    let file = "ir-examples/language/17_tagged_data.py";
    let args = ["--arg", "1:float32", "--arg", "0:int64", "--arg", "3:int64", "--json=graph"];
    let graph: serde_json::Value =
        serde_json::from_str(&stdout(hammock(&[&["run", file, "--func", "grow"], &args[..]].concat()))).unwrap();
    let root = &graph["nodes"][graph["root_index"].as_u64().unwrap() as usize];
    assert_eq!((&root["type"], graph["nodes"].as_array().unwrap().len()), (&"hammock.Adt".into(), 4));
    assert_eq!(graph["nodes"][1]["type"], "ffi.Tensor");
}

#[test]
fn custom_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let x = npy(folder.path(), "(7,)", &[0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
    let out = folder.path().join("out.npz");
    stdout(hammock(&["run", "ir-examples/custom_kernel.py", "--arg", &x, "--output", out.to_str().unwrap()]));
    let result = hammock_tools::load_npz(&out, "0").unwrap();
    let expected = [0.777_777_73f32, 2.222_222, 5.333_333_5, 10.333_333, 17.333_334, 24.888_887, 30.111_109];
    for (got, want) in result.as_slice::<f32>().unwrap().iter().zip(expected) {
        assert!((got - want).abs() <= want * 1e-6, "{got} {want}");
    }
    assert_eq!(result.shape(), &[7]);
}

#[test]
fn the_bytecode_listing_is_in_tvms_form() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("c.so");
    let library = library.to_str().unwrap();
    stdout(hammock(&["compile", "ir-examples/control_flow.py", "-o", library]));
    snapshot("inspect_text", &stdout(hammock(&["inspect", library, "--text"])));
    snapshot("inspect_python", &stdout(hammock(&["inspect", library, "--python"])));
}

#[test]
fn printed_modules_parse_to_the_same_module() {
    for file in [DIGITS, "ir-examples/control_flow.py", "ir-examples/custom_kernel.py"] {
        let once = stdout(hammock(&["opt", file]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("again.py");
        std::fs::write(&path, &once).unwrap();
        assert_eq!(stdout(hammock(&["opt", path.to_str().unwrap()])), once, "{file}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    snapshot("missing_file", &refusal(&["run", "nowhere.py"]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binary.py");
    std::fs::write(&path, b"import \xff\xfe").unwrap();
    snapshot("not_text", &refusal(&["check", path.to_str().unwrap()]));
    snapshot("missing_weights", &refusal(&["run", DIGITS, "--params", "nowhere.safetensors"]));
    let damaged = folder.path().join("w.safetensors");
    std::fs::write(&damaged, &std::fs::read(root().join(WEIGHTS)).unwrap()[..1000]).unwrap();
    assert!(refusal(&["run", DIGITS, "--params", damaged.to_str().unwrap()]).contains("E0403"));
}

/// The diagnostics of `tests/bad` are tested with the code that reports them; here, that the commands print them.
#[test]
fn mistakes_in_the_text() {
    for name in ["syntax/several_mistakes", "names/misspelt_variable", "types/wrong_annotation", "tir/too_few_indices"]
    {
        let file = format!("tests/bad/{name}.py");
        snapshot(&format!("bad_{}", name.replace('/', "_")), &refusal(&["check", &file]));
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.so");
        refusal(&["compile", &file, "-o", out.to_str().unwrap()]);
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no output, not even a part of one");
    }
}

#[test]
fn mismatched_arguments() {
    let digits = |args: &[&str]| refusal(&[&["run", DIGITS, "--params", WEIGHTS], args].concat());
    snapshot("too_few_arguments", &digits(&[]));
    snapshot("too_many_arguments", &digits(&["--arg", IMAGES, "--arg", "7"]));
    snapshot("wrong_rank", &digits(&["--arg", "zeros(3):float32"]));
    snapshot("wrong_size", &digits(&["--arg", "zeros(3,63):float32"]));
    snapshot("wrong_dtype", &digits(&["--arg", "zeros(3,64):float64"]));
    snapshot("wrong_kind", &digits(&["--arg", "7"]));
    snapshot("not_an_argument", &digits(&["--arg", "zeros(3"]));
    snapshot("no_such_function", &digits(&["--func", "mian", "--arg", IMAGES]));
    let sizes = ["--func", "accuracy", "--arg", "zeros(3,64):float32", "--arg", "zeros(4):int64"];
    snapshot("sizes_disagree", &digits(&sizes));
}

#[test]
fn damaged_libraries_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.so");
    let name = path.to_str().unwrap();
    stdout(hammock(&["compile", "ir-examples/control_flow.py", "-o", name]));
    let bytes = std::fs::read(&path).unwrap();
    let step = bytes.len() / 23;
    for at in (0..bytes.len()).step_by(step) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        assert!(refusal(&["run", name, "--arg", "1.0"]).contains("error["), "bit flipped at {at}");
        std::fs::write(&path, &bytes[..at]).unwrap();
        assert!(refusal(&["run", name, "--arg", "1.0"]).contains("error["), "cut at {at}");
    }
}

#[test]
fn wrong_usage_is_status_2() {
    assert_eq!(hammock(&["compile", DIGITS]).status.code(), Some(2));
    assert_eq!(hammock(&["frobnicate"]).status.code(), Some(2));
    for args in [
        &["run", DIGITS, "--threads", "0"][..],
        &["run", DIGITS, "--exec-mode", "fast"],
        &["run", DIGITS, "--target-cpu", "znver9"],
        &["compile", DIGITS, "-o", "never.so", "--passes", "LegalizeOp"],
        &["opt", DIGITS, "--passes", "FuseOps{depth=1}"],
        &["opt", DIGITS, "--print-after", "LegalizeOp"],
        &["bench", DIGITS, "--kernel", "matmull"],
        &["ops", "matmull"],
    ] {
        assert_eq!(hammock(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn bench_prints_json() {
    let args =
        ["bench", DIGITS, "--params", WEIGHTS, "--arg", IMAGES, "--min-time", "0.01", "--threads", "1", "--json"];
    let json: serde_json::Value = serde_json::from_str(&stdout(hammock(&args))).unwrap();
    for key in ["median_ns", "p90_ns", "min_ns", "samples", "threads", "peak_bytes"] {
        assert!(json[key].as_f64().is_some_and(|v| v > 0.0), "{key} in {json}");
    }
}

#[test]
fn diagnostics_as_json() {
    let output = hammock(&["check", "tests/bad/operators/unknown.py", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&list[0]["line"], &list[0]["severity"]), (&8.into(), &"error".into()));
    let range = serde_json::json!({"start": {"line": 7, "character": 12}, "end": {"line": 7, "character": 18}});
    assert_eq!((&list[0]["range"], &list[0]["labels"][0]["range"]), (&range, &range));
    assert_eq!((&list[0]["fixes"][0]["range"], &list[0]["fixes"][0]["text"]), (&range, &"R.nn.relu".into()));
    assert_eq!(hammock(&["check", DIGITS, "--json"]).stdout, b"[]\n");
}

#[test]
fn tables_are_printed() {
    for (args, line) in [
        (&["ops"][..], "R.matmul(x1, x2, out_dtype=None)"),
        (&["ops", "nn.relu"], "R.nn.relu(x)"),
        (&["passes"], "LegalizeOps"),
        (&["passes", "--pipeline"], "Normalize,"),
        (&["builtins"], "vm.builtin.match_shape"),
        (&["targets"], "native"),
        (&["explain", "E0201"], "undefined name"),
    ] {
        assert!(stdout(hammock(args)).contains(line), "{args:?}");
    }
    assert!(refusal(&["ops", "nn.rleu"]).contains("there is no operator"));
}

#[test]
fn modules_are_compared_up_to_names() {
    let same = hammock(&["opt", "ir-examples/control_flow.py", "--same-as", "tests/spellings/0.13/control_flow.py"]);
    assert_eq!(stdout(same), "");
    let (a, b) = ("ir-examples/language/01_module.py", "ir-examples/language/03_dataflow.py");
    snapshot("modules_differ", &refusal(&["opt", a, "--same-as", b]));
}

#[test]
fn constants_round_trip_through_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (weights, text) = (folder.path().join("w.safetensors"), folder.path().join("model.py"));
    let (weights, text) = (weights.to_str().unwrap(), text.to_str().unwrap());
    let model = "ir-examples/language/12_constants.py";
    let without = stdout(hammock(&["opt", model, "--params-out", weights]));
    assert!(without.contains("metadata[\"ir.GenericConst\"][0]") && !without.contains("load_json"), "{without}");
    std::fs::write(text, without).unwrap();
    assert_eq!(stdout(hammock(&["opt", text, "--params", weights, "--same-as", model])), "");
    let expected = "float32[2, 2]\n[[2.0 4.0]\n [6.0 8.0]]\n";
    assert_eq!(stdout(hammock(&["run", text, "--params", weights])), expected);
    snapshot("constants_left_out", &refusal(&["run", text]));
    assert_eq!(stdout(hammock(&["run", text, "--params", "zeros"])), "float32[2, 2]\n[[0.0 0.0]\n [0.0 0.0]]\n");
    snapshot("not_writable", &refusal(&["opt", model, "--params-out", "/no/such/folder/w.safetensors"]));
}

const OF_TVM: &str = "runtime/tests/tvm/control_flow.so";

#[test]
fn tvm_exports_are_printed_and_run_with_our_kernels() {
    let text = stdout(hammock(&["inspect", OF_TVM, "--text"]));
    assert_eq!(text, std::fs::read_to_string(root().join("runtime/tests/tvm/control_flow.txt")).unwrap());
    let module = "ir-examples/control_flow.py";
    let run = |args: &[&str]| stdout(hammock(&[&["run"], args, &["--arg", "20.0:float32"]].concat()));
    assert_eq!(run(&[module, "--bytecode", OF_TVM]), "5 (int64)\n");
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("model.so");
    let library = library.to_str().unwrap();
    stdout(hammock(&["compile", module, "--bytecode", OF_TVM, "-o", library]));
    assert_eq!(run(&[library]), "5 (int64)\n");
    assert_eq!(stdout(hammock(&["inspect", library, "--text"])), text);
}

#[test]
fn bytecode_may_call_functions_that_the_module_declares() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, code, library) = (file("m.py"), file("code.bin"), file("m.so"));
    let head = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n";
    let main = "    @R.function(pure=False)\n    def main(x: R.Any):\n";
    for (own, call) in [
        ("", r#"R.call_packed("app.f", x, ty_args=(R.Any,))"#),
        ("    f = R.ExternFunc(\"app.f\")\n\n", r#"R.call_packed("app.f", x, ty_args=(R.Any,))"#),
    ] {
        std::fs::write(&text, format!("{head}{own}{main}        y = {call}\n        return y\n")).unwrap();
        stdout(hammock(&["compile", &text, "--emit", "bytecode", "-o", &code]));
        stdout(hammock(&["compile", &text, "--bytecode", &code, "-o", &library]));
        let run = refusal(&["run", &text, "--bytecode", &code, "--arg", "1"]);
        assert!(run.contains("`app.f`") && run.contains("nobody registered it"), "{run}");
    }
    // Declaring it without a call is sufficient.
    std::fs::write(&text, format!("{head}    f = R.ExternFunc(\"app.f\")\n")).unwrap();
    stdout(hammock(&["compile", &text, "--bytecode", &code, "-o", &library]));
}

#[test]
fn bytecode_without_its_kernels_is_rejected() {
    let custom = "ir-examples/custom_kernel.py";
    let missing = refusal(&["compile", custom, "--bytecode", OF_TVM, "-o", "/dev/null"]);
    let of_tvm = refusal(&["run", OF_TVM]);
    let compiled = refusal(&["run", OF_TVM, "--bytecode", OF_TVM]);
    snapshot("bytecode", &[missing, of_tvm, compiled].join("\n"));
}

#[test]
fn libraries_for_tvm_have_the_same_bytecode_and_tvms_calling_convention() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ours, tvms) = (file("ours.so"), file("tvms.so"));
    stdout(hammock(&["compile", "ir-examples/control_flow.py", "-o", &ours]));
    stdout(hammock(&["compile", "ir-examples/control_flow.py", "--emit", "tvm", "-o", &tvms]));
    assert_eq!(stdout(hammock(&["inspect", &tvms, "--text"])), stdout(hammock(&["inspect", &ours, "--text"])));
    let bytes = std::fs::read(&tvms).unwrap();
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    assert!(has(b"\0__tvm_ffi_multiply\0") && has(b"\0__TVMFFIErrorSetRaisedFromCStr\0") && !has(b"__hammock_runtime"));
    let run = refusal(&["run", &tvms]);
    let tagged = ["compile", "ir-examples/language/17_tagged_data.py", "--emit", "tvm", "-o", "/dev/null"];
    snapshot("for_tvm", &[run, refusal(&tagged)].join("\n"));
}

#[test]
fn profiles_attribute_time_to_functions_and_lines() {
    let args = ["run", "ir-examples/control_flow.py", "--arg", "1000.0:float32"];
    let run = hammock(&[&args[..], &["--profile"]].concat());
    assert_eq!(stdout(run.clone()), "10 (int64)\n");
    let table = String::from_utf8(run.stderr).unwrap();
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {table}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("count ")[1..3], ["function", "11"]);
    assert_eq!(row("less ")[1..3], ["kernel", "11"]);
    assert!(row("less ").contains(&"control_flow.py:19".to_owned()), "{table}");
    let folder = tempfile::tempdir().unwrap();
    for (form, begin) in [("json", "{\"total_ns\":"), ("trace", "{\"displayTimeUnit\""), ("flame", "<svg ")] {
        let file = folder.path().join(form);
        let form = format!("--profile={form}");
        let output = hammock(&[&args[..], &[&form, "--profile-output", file.to_str().unwrap()]].concat());
        assert_eq!(stdout(output), "10 (int64)\n");
        assert!(std::fs::read_to_string(file).unwrap().starts_with(begin));
    }
}

#[test]
fn limits_stop_a_model() {
    let args = ["run", "ir-examples/control_flow.py", "--arg", "1000.0:float32"];
    let refused = |limit: &[&str]| refusal(&[&args[..], limit].concat());
    assert!(refused(&["--max-memory", "1"]).contains("limit of 1 "));
    // Tail calls do not nest, and -O2 leaves no other calls.
    assert!(refused(&["--max-depth", "1", "-O1"]).contains("RecursionError"));
    assert!(refused(&["--timeout", "0.0001"]).contains("TimeoutError"));
    assert_eq!(hammock(&[&args[..], &["--timeout", "never"]].concat()).status.code(), Some(2));
}

/// A kernel that does not terminate, and one with a workspace of two billion bytes.
const GREEDY: &str = r#"
from tvm.script import ir as I, tir as T, relax as R
@I.ir_module
class Module:
    @T.prim_func
    def spin(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
        B[0] = 0
        while A[0] > 0:
            B[0] = B[0] + A[0]
    @T.prim_func
    def fill(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
        C = T.alloc_buffer((500000000,), "int32")
        for i in T.serial(500000000):
            C[i] = A[0]
        B[0] = C[7]
    @R.function
    def spinning(x: R.Tensor((1,), "int32")) -> R.Tensor((1,), "int32"):
        cls = Module
        y = R.call_tir(cls.spin, (x,), out_sinfo=R.Tensor((1,), "int32"))
        return y
    @R.function
    def filling(x: R.Tensor((1,), "int32")) -> R.Tensor((1,), "int32"):
        cls = Module
        y = R.call_tir(cls.fill, (x,), out_sinfo=R.Tensor((1,), "int32"))
        return y
"#;

#[test]
fn limits_stop_kernels_too() {
    let folder = tempfile::tempdir().unwrap();
    let (module, out) = (folder.path().join("greedy.py"), folder.path().join("out.npz"));
    std::fs::write(&module, GREEDY).unwrap();
    let (module, out) = (module.to_str().unwrap(), out.to_str().unwrap());
    for mode in ["bytecode", "reference"] {
        let args = ["run", module, "--arg", "[1]:int32", "--exec-mode", mode, "--output", out, "--func"];
        let stopped = refusal(&[&args[..], &["spinning", "--timeout", "0.3"]].concat());
        assert!(stopped.starts_with("error[E0502]: TimeoutError: "), "{stopped}");
        let refused = refusal(&[&args[..], &["filling", "--max-memory", "64M"]].concat());
        assert!(refused.starts_with("error[E0502]: MemoryError: "), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn listings_show_sources_and_assemble_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (library, listing, code) = (file("model.so"), file("listing.txt"), file("code.bin"));
    for (module, beside) in [("ir-examples/control_flow.py", false), (DIGITS, true)] {
        let params: &[&str] = if beside { &["--params", WEIGHTS] } else { &[] };
        stdout(hammock(&[&["compile", module, "-o", &library], params].concat()));
        stdout(hammock(&[&["compile", module, "--emit", "bytecode", "-o", &code], params].concat()));
        let bytes = std::fs::read(&code).unwrap();
        let tensors = file("beside.safetensors");
        let out: &[&str] = if beside { &["--params-out", &tensors] } else { &[] };
        let text = stdout(hammock(&[&["inspect", &library, "--listing"], out].concat()));
        assert!(text.len() < 20_000, "large tensors lie beside the listing");
        std::fs::write(&listing, &text).unwrap();
        let params: &[&str] = if beside { &["--params", &tensors] } else { &[] };
        stdout(hammock(&[&["asm", &listing, "-o", &code], params].concat()));
        assert!(std::fs::read(&code).unwrap() == bytes, "{text}");
        if !beside {
            snapshot("listing", &text);
        }
    }
    stdout(hammock(&["compile", DIGITS, "--params", WEIGHTS, "--bytecode", &code, "-o", &library]));
    let args = ["run", &library, "--func", "accuracy", "--arg", IMAGES, "--arg", LABELS];
    assert!(accuracy(&stdout(hammock(&args))) >= 0.96);
}

/// Errors in names and options, in compilation, and in damaged files.
#[test]
fn other_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| {
        std::fs::write(file(name), text).unwrap();
        file(name)
    };
    let model = "ir-examples/custom_kernel.py";
    let example = |code: &str| write(&format!("{code}.py"), hammock_diagnostics::codes::explain(code).unwrap().wrong);
    let library = file("model.so");
    stdout(hammock(&["compile", model, "-o", &library]));
    let cut = std::fs::read(&library).unwrap()[..4000].to_vec();
    std::fs::write(file("cut.so"), cut).unwrap();
    let header = br#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let weights = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    std::fs::write(file("w.safetensors"), weights).unwrap();
    let add = "@R.function\ndef main(x: R.Tensor((3,), \"float32\")):\n    y = R.add(x, x)\n    return y\n";
    let add = write("add.py", add);
    let of_add = file("add.so");
    stdout(hammock(&["compile", &add, "-o", &of_add]));
    let other = KERNELS.replace("double(", "add(C: T.Buffer((4,), \"float32\"), ");
    let other = write("other.py", &other);
    let errors = "x = = 1\n".repeat(150);
    for (name, args) in [
        ("pass_unknown", vec!["opt", model, "--passes", "LegalizeOperators"]),
        ("pass_options", vec!["opt", model, "--passes", "LegalizeOps{speed"]),
        ("not_lowerable", vec!["compile", &example("E0303"), "-o", &file("x.so")]),
        ("not_linked", vec!["compile", &example("E0304"), "-o", &file("x.so")]),
        ("no_such_code", vec!["explain", "E9999"]),
        ("weight_of_other_shape", vec!["run", &add, "--params", &file("w.safetensors")]),
        ("damaged_library", vec!["inspect", &file("cut.so")]),
        ("bytecode_of_another_module", vec!["run", &other, "--bytecode", &of_add]),
        ("too_many_errors", vec!["check", &write("errors.py", &errors)]),
    ] {
        snapshot(name, &refusal(&args));
    }
}

const KERNELS: &str = "
@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), \"float32\")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
";

#[test]
fn a_single_kernel_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.py");
    std::fs::write(&file, KERNELS).unwrap();
    let text = file.to_str().unwrap();
    let args = ["--arg", "ones(4):float32", "--arg", "zeros(4):float32"];
    let doubled = "float32[4]\n[2.0 2.0 2.0 2.0]\n";
    for more in [&[][..], &["--func", "double"], &["--exec-mode", "reference"]] {
        assert_eq!(stdout(hammock(&[&["run", text], &args[..], more].concat())), doubled);
    }
    assert!(stdout(hammock(&[&["bench", text, "--min-time", "0.01"], &args[..]].concat())).contains("median"));
    let second = KERNELS.replace("double", "twice");
    std::fs::write(&file, KERNELS.to_owned() + second.split_once("class Module:\n").unwrap().1).unwrap();
    assert_eq!(stdout(hammock(&[&["run", text, "--func", "twice"], &args[..]].concat())), doubled);
    let several = refusal(&[&["run", text], &args[..]].concat());
    snapshot("several_kernels", &[several, refusal(&["run", text, "--func", "twice"])].join("\n"));
}

#[test]
fn compiler_generated_functions_are_not_listed() {
    let args = ["run", "ir-examples/digits/model.py", "--params", WEIGHTS, "--func", "nosuch"];
    let said = refusal(&args);
    assert!(!said.contains("unbound") && said.contains("classify, main"), "{said}");
    // Instructions without a position are not attributed to the file's first line.
    let profile = ["run", DIGITS, "--func", "main", "--params", WEIGHTS, "--arg", IMAGES, "--profile"];
    let output = hammock(&profile);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("model.py:") && !said.contains("model.py:1\n"), "{said}");
}

#[test]
fn the_version_has_llvms() {
    let version = |flag| String::from_utf8(hammock(&[flag]).stdout).unwrap();
    assert_eq!(version("-V"), concat!("hammock ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = version("--version");
    assert!(long.starts_with(concat!("hammock ", env!("CARGO_PKG_VERSION"), "\nLLVM 22.")), "{long}");
}

/// Run-time errors of kernels and of the graph quote the source, unless it is stripped.
#[test]
fn stripped_models_have_no_source() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("secret_name.py");
    let text = "from tvm.script import relax as R\n\n@R.function\n\
                def main(secret_x: R.Tensor((4, 2), \"float32\"), index: R.Tensor((3,), \"int64\")):\n    \
                secret_y = R.take(secret_x, index, axis=0)\n    return secret_y\n";
    std::fs::write(&model, text).unwrap();
    let (model, library) = (model.to_str().unwrap(), folder.path().join("m.so"));
    let library = library.to_str().unwrap();
    for (flags, is_quoted) in [(&[][..], true), (&["--strip-source"], false)] {
        assert!(hammock(&[&["compile", model, "-o", library], flags].concat()).status.success());
        let bytes = std::fs::read(library).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|bytes| bytes == text.as_bytes());
        assert_eq!((has("secret_name.py"), has("secret_y = R.take")), (is_quoted, is_quoted));
        let arguments = ["--arg", "zeros(4,2):float32", "--arg", "[1, 2, 9]:int64"];
        let failed = hammock(&[&["run", library][..], &arguments].concat());
        let error = String::from_utf8(failed.stderr).unwrap();
        assert!(error.contains("IndexError: take: ") && error.contains("main"), "{error}");
        assert_eq!(error.contains("secret_name.py:5"), is_quoted, "{error}");
    }
}

#[test]
fn completions_and_manual_pages_name_commands_and_flags() {
    let folder = tempfile::tempdir().unwrap();
    for (program, flag) in [("hammock", "--external-weights"), ("hammock-run", "--expect")] {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let script = String::from_utf8(hammock(&["completions", shell, "--of", program]).stdout).unwrap();
            let flag = if shell == "fish" { flag.trim_start_matches('-') } else { flag };
            assert!(script.contains(flag), "{program}, {shell}");
        }
    }
    let pages = folder.path().join("man1");
    assert!(hammock(&["man-pages", pages.to_str().unwrap()]).status.success());
    for page in
        ["hammock", "hammock-compile", "hammock-man-pages", "hammock-run-command", "hammock-run", "hammock-run-bench"]
    {
        let text = std::fs::read_to_string(pages.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(&page.replace('-', "\\-")), "{page}: {text}");
    }
    let refused = hammock(&["man-pages", "/dev/null/x"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("cannot create /dev/null/x"));
}

//! ONNX models: their results, the imported text, and messages for invalid and damaged ones.
//!
//! `tests/onnx/make.py` creates the models and records the results of ONNX Runtime.

#[allow(dead_code)]
mod support;

use hammock_compiler::{ImportOptions, OnnxWeights, import_onnx};
use hammock_ir::{
    print::{Metadata, PrintOptions},
    verify,
};
use std::path::{Path, PathBuf};
use support::{hammock, root, snapshot, stdout};

/// Returns the models of a folder, sorted by name.
fn models(folder: &str) -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "onnx")).collect();
    models.sort();
    models.into_iter().map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), file)).collect()
}

fn succeed(folder: &Path, args: &[&str]) -> String {
    stdout(hammock(folder, args))
}

/// Returns an `--arg` for each recorded input of a model.
fn arguments(name: &str) -> Vec<String> {
    let file = root().join(format!("tests/onnx/{name}.inputs.npz"));
    let count = hammock_tools::Weights::open(&file).unwrap().iter().count();
    (0..count).flat_map(|i| ["--arg".to_owned(), format!("@{}#{i}", file.display())]).collect()
}

/// Runs a program with a model's recorded inputs, and compares with the recorded results.
fn expect(name: &str, program: &str, more: &[&str]) {
    let expected = root().join(format!("tests/onnx/{name}.expected.npz"));
    let given = arguments(name);
    let mut args = vec!["run", program, "--expect", expected.to_str().unwrap()];
    args.extend(more);
    args.extend(given.iter().map(String::as_str));
    succeed(root(), &args);
}

#[test]
fn models_match_onnx_runtime() {
    let found = models("tests/onnx");
    assert!(found.len() >= 7, "{}", found.len());
    for (name, file) in found {
        expect(&name, file.to_str().unwrap(), &["--exec-mode", "reference"]);
    }
}

#[test]
fn compiled_models_match_onnx_runtime() {
    for name in ["cnn", "encoder", "segments", "column_blocks", "constant_indices", "grid_samples"] {
        expect(name, &format!("tests/onnx/{name}.onnx"), &[]);
    }
}

#[test]
fn loops_match_onnx_runtime_in_every_mode() {
    for name in ["control", "loops", "recurrent_loops"] {
        for flags in [&["-O0"][..], &["-O2"], &["--exec-mode", "compiled"]] {
            expect(name, &format!("tests/onnx/{name}.onnx"), flags);
        }
    }
}

/// Layers of any number of steps become the same calls.
#[test]
fn loops_are_not_unrolled() {
    let calls = |steps: &str| {
        let shape = format!("x={steps},3,4");
        let text = succeed(root(), &["import", "tests/onnx/recurrent_loops.onnx", "--shape", &shape]);
        text.lines().count()
    };
    assert_eq!(calls("10"), calls("1000000"));
}

/// Shapes that are only known at run time are listed with their nodes and the model's names for their dimensions.
#[test]
fn assumed_shapes_are_listed() {
    let output = hammock(root(), &["import", "tests/onnx/declared_sizes.onnx", "-o", "/dev/null"]);
    let listed = String::from_utf8(output.stderr).unwrap();
    for line in [
        "declared_sizes.onnx:1: indices = NonZero(x)  # node /nonzero: R.Tensor((2, found), dtype=\"int64\")",
        "declared_sizes.onnx:4: sum = Add(a, b)  # node /sum: R.Tensor((n_1,), dtype=\"float32\")",
        "declared_sizes.onnx:5: wide = Expand(one, shape)  # node /expand: R.Shape([height, width])",
    ] {
        assert!(listed.contains(line), "{listed}");
    }
    let output = hammock(root(), &["import", "tests/onnx/cnn.onnx", "-o", "/dev/null"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn endless_loops_are_stopped_by_a_timeout() {
    let args = ["run", "tests/onnx/misfits/endless.onnx", "--arg", "1:float32", "--timeout", "20"];
    let output = hammock(root(), &args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("TimeoutError"), "{said}");
}

/// Run-time checks: an operand that is added to a table of learned positions has at most the table's rows, and a
/// multiplied one the same number of rows, or one.
#[test]
fn dimensions_that_must_be_equal_are_checked() {
    let run = |x: &str, scale: &str| {
        let args = ["run", "tests/onnx/positions.onnx", "--arg", x, "--arg", scale, "--exec-mode", "reference"];
        hammock(root(), &args)
    };
    assert!(run("zeros(1,8,4):float32", "zeros(8,4):float32").status.success());
    for (x, scale, parts) in [
        ("zeros(1,9,4):float32", "zeros(1,4):float32", ["shape[0] is 8, not 9", "positions.onnx:", "/placed"]),
        ("zeros(1,8,4):float32", "zeros(3,4):float32", ["does not broadcast", "positions.onnx:", "/scaled"]),
    ] {
        let output = run(x, scale);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn models_are_imported_as_text() {
    for (name, file) in models("tests/onnx") {
        let options = ImportOptions { weights: OnnxWeights::Parameters, ..ImportOptions::default() };
        let imported = import_onnx(file.to_str().unwrap(), &options).unwrap_or_else(|e| panic!("{e}"));
        let found = verify::module(&imported.module, &hammock_ops::Table);
        assert!(found.is_empty(), "{name}: {found:?}");
        let weights: Vec<&str> = imported.weights.iter().map(|(name, _)| name.as_str()).collect();
        let text = hammock_ir::print::module_text(&imported.module, &PrintOptions { metadata: Metadata::NoConstants });
        let nodes = imported.source.text();
        // Longer texts are not reviewed.
        if text.len() > 16_000 {
            continue;
        }
        snapshot("onnx", &name, &format!("{text}\n# weights: {}\n\n{nodes}", weights.join(", ")));
    }
}

#[test]
fn imported_texts_and_weights_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["cnn", "encoder", "names"] {
        let model = root().join(format!("tests/onnx/{name}.onnx"));
        let args = ["import", model.to_str().unwrap(), "-o", "model.py", "--params-out", "weights.safetensors"];
        assert_eq!(succeed(folder.path(), &args), "");
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let more = ["--params", &file("weights.safetensors"), "--exec-mode", "reference"];
        expect(name, &file("model.py"), &more);
    }
}

#[test]
fn every_command_that_takes_a_module_takes_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("cnn.so");
    let library = library.to_str().unwrap();
    assert_eq!(succeed(root(), &["check", "tests/onnx/cnn.onnx"]), "");
    assert!(succeed(root(), &["opt", "tests/onnx/cnn.onnx"]).contains("R.nn.conv2d("));
    assert_eq!(succeed(root(), &["compile", "tests/onnx/cnn.onnx", "-o", library]), "");
    expect("cnn", library, &[]);
    assert!(succeed(root(), &["ops", "--onnx"]).contains("\nConv\n"));
}

/// A model may be read from standard input, without external data.
#[test]
fn a_model_may_be_standard_input() {
    let given = |file: &str, args: &[&str]| {
        let input = std::fs::File::open(root().join(file)).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hammock"));
        command.args(args).current_dir(root()).stdin(input).output().unwrap()
    };
    let output = given("tests/onnx/cnn.onnx", &["check", "-"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let expected =
        ["run", "-", "--expect", "tests/onnx/cnn.expected.npz", "--exec-mode", "reference"].map(String::from);
    let args = [&expected[..], &arguments("cnn")].concat();
    let output = given("tests/onnx/cnn.onnx", &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(given("tests/onnx/cnn.onnx", &["import", "-"]).stdout).unwrap().contains("R.nn.conv2d("));
    let output = given("tests/onnx/external.onnx", &["check", "-"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("read without its folder"));
}

/// `--sha256` rejects any kind of file with one wrong byte.
#[test]
fn files_are_verified_against_the_given_digest() {
    let folder = tempfile::tempdir().unwrap();
    let (model, damaged) = (root().join("tests/onnx/cnn.onnx"), folder.path().join("cnn.onnx"));
    let mut bytes = std::fs::read(&model).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let model = model.to_str().unwrap();
    let library = folder.path().join("cnn.so");
    let library = library.to_str().unwrap();
    let digest = |file: &str| {
        let output = std::process::Command::new("sha256sum").arg(file).output().unwrap();
        String::from_utf8(output.stdout).unwrap()[..64].to_owned()
    };
    let right = digest(model);
    assert_eq!(succeed(root(), &["compile", model, "-o", library, "--sha256", &right.to_uppercase()]), "");
    let text = succeed(root(), &["import", model, "--sha256", &right]);
    let written = folder.path().join("cnn.py");
    std::fs::write(&written, text).unwrap();
    for file in [model, library, written.to_str().unwrap()] {
        succeed(root(), &["inspect", file, "--sha256", &digest(file)]);
    }
    for command in ["check", "import", "inspect", "opt", "run"] {
        let output = hammock(folder.path(), &[command, "cnn.onnx", "--sha256", &right]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains("[E0415]") && output.stdout.is_empty(), "{said}");
    }
    let wrong = ["run", library, "--sha256", &right];
    assert!(String::from_utf8(hammock(root(), &wrong).stderr).unwrap().contains("[E0415]"));
    let short = hammock(root(), &["check", model, "--sha256", "12ab"]);
    assert!(
        short.status.code() == Some(2) && String::from_utf8(short.stderr).unwrap().contains("64 hexadecimal digits")
    );
    let said = String::from_utf8(hammock(folder.path(), &["check", "cnn.onnx", "--sha256", &right]).stderr).unwrap();
    snapshot("onnx", "other_digest", &said);
}

/// Messages name nodes and tensors.
#[test]
fn invalid_models_are_diagnosed() {
    let mut said = String::new();
    for (name, _) in models("tests/onnx/bad") {
        let output = hammock(root().join("tests/onnx/bad"), &["check", &format!("{name}.onnx")]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        said += &String::from_utf8(output.stderr).unwrap();
        said.push('\n');
    }
    snapshot("onnx", "wrong_models", &said);
}

/// Runs a model of `tests/onnx/misfits` with invalid inputs; returns standard error.
fn misfit(name: &str, inputs: &[&str], more: &[&str]) -> String {
    let model = format!("tests/onnx/misfits/{name}.onnx");
    let args = ["run", &model].into_iter().chain(more.iter().copied());
    let args: Vec<&str> = args.chain(inputs.iter().flat_map(|input| ["--arg", input])).collect();
    let output = hammock(root(), &args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{name} {inputs:?}: {said}");
    assert!(said.contains("[E0502]") && said.contains(&format!("{name}.onnx:1")) && said.contains("/node"), "{said}");
    said
}

const X: &str = "zeros(2,3):float32";

/// Dynamic indices and lengths, and the messages for those out of range of an axis of size 3 or 2.
#[test]
fn dynamic_indices_are_checked() {
    for (name, inputs, said) in [
        ("gather", &[X, "[3]:int64"][..], "index 3 is outside of dimension 1 of buffer `x`, whose size is 3"),
        ("gather", &[X, "[0, -4]:int64"], "index -1 is outside"),
        ("gather_constant", &[X], "index 7 is outside"),
        ("gather_elements", &[X, "[[0], [3]]:int64"], "index 3 is outside"),
        ("gather_nd", &[X, "[[0, 3]]:int64"], "index 3 is outside"),
        ("scatter_elements", &[X, "[[3]]:int64", "ones(1,1):float32"], "index 3 is outside"),
        ("scatter_nd", &[X, "[[2]]:int64", "ones(1,3):float32"], "index 2 is outside"),
        ("compress", &[X, "[true, false, false, true]:bool"], "index 3 is outside"),
        ("reverse_sequence", &[X, "[1, 2, 3]:int64"], "index 3 is outside"),
        ("reverse_sequence", &[X, "[1, -1, 2]:int64"], "index -1 is outside"),
        ("rnn", &["ones(2,2,1):float32", "[2, 3]:int32"], "index 3 is outside"),
        ("roi_align", &["ones(2,1,4,4):float32", "[[0, 0, 3, 3]]:float32", "[2]:int64"], "index 2 is outside"),
        ("pad_reflect", &[X, "[0, 3, 0, 0]:int64"], "index 3 is outside of dimension 0"),
        ("pad_reflect", &[X, "[0, -1, 2, 0]:int64"], "index 2 is outside of dimension 0"),
        ("pad_edge", &["zeros(0,3):float32", "[1, 0, 0, 0]:int64"], "whose size is 0"),
        ("pad_edge_constant", &["zeros(0,3):float32"], "whose size is 0"),
        ("pad_wrap", &["zeros(0,3):float32", "[0, 0, 1, 0]:int64"], "whose size is 0"),
        ("loss", &[X, "[0, 3]:int64"], "index 3 is outside of dimension 1"),
        ("loss", &[X, "[-1, 0]:int64"], "index -1 is outside of dimension 1"),
        ("loss", &[X, "[-4, -100]:int64"], "index -4 is outside of dimension 1"),
        ("cumsum", &[X, "2:int64"], "index 2 is outside"),
        ("slice_at", &[X, "[0]:int64", "[1]:int64", "[-3]:int64"], "index -1 is outside"),
        ("squeeze_at", &[X, "[2]:int64"], "index 2 is outside"),
        ("unsqueeze_at", &[X, "[3]:int64"], "index 3 is outside"),
        (
            "sequence_at",
            &["(zeros(2,3):float32, ones(1,1):float32)", "2:int64"],
            "index 2 is out of range for a sequence of 2",
        ),
    ] {
        let message = misfit(name, inputs, &["--exec-mode", "reference"]);
        assert!(message.contains(said), "{name}: {message}");
    }
    for level in ["-O0", "-O2"] {
        let message = misfit("gather", &[X, "[3]:int64"], &[level]);
        assert!(message.contains("index 3 is outside of dimension 1 of buffer `x`, whose size is 3"), "{message}");
    }
}

/// Dynamic sizes, and the messages for those that do not match.
#[test]
fn dynamic_sizes_are_checked() {
    for (name, inputs, said) in [
        ("reshape", &[X, "[2, 2]:int64"][..], "`x` and `shape` differ: 6 is not 4"),
        ("reshape", &[X, "[4, -1]:int64"], "6 is not 4"),
        ("reshape", &[X, "[-1, -1]:int64"], "shape[0] is -1, which is negative"),
        ("reshape", &[X, "[-2, -3]:int64"], "shape[0] is -2, which is negative"),
        ("reshape_constant", &[X], "6 is not 5"),
        ("squeeze", &[X], "shape[0] is 2, not 1"),
        ("squeeze_at", &[X, "[0]:int64"], "6 is not 3"),
        ("split", &[X], "shape[1] is 3, not 4"),
        ("split_at", &[X, "[2, 2]:int64"], "shape[1] is 3, not 4"),
        ("split_at", &[X, "[4, -1]:int64"], "shape[1] is -1, which is negative"),
        ("topk", &[X, "[4]:int64"], "shape[1] is 3, not 4"),
        ("sequence_split", &[X, "[2, 2]:int64"], "parts of [2, 2] do not add up to an axis of 3"),
        ("tile", &[X, "[1, -1]:int64"], "shape[1] is -1, which is negative"),
        ("pad", &[X, "[0, -2, 0, -2]:int64"], "shape[0] is -1, which is negative"),
        ("pad_reflect_constant", &[X], "shape[0] is 2, not 3"),
        ("conv", &["ones(1,1,2):float32"], "smaller than the window on spatial axis 0: 2 is less than 3"),
        ("conv", &["ones(1,1,1):float32"], "cannot have the shape (1, 1, -1): -1 is not a size"),
        ("declared", &["ones(3,3):float32"], "shape[0] is 3, not 2"),
    ] {
        let message = misfit(name, inputs, &["--exec-mode", "reference"]);
        assert!(message.contains(said), "{name}: {message}");
    }
    // Valid widths are padded.
    for (name, x) in [("pad_reflect_constant", "ones(3,3):float32"), ("pad_wrap_constant", "ones(1,3):float32")] {
        let model = format!("tests/onnx/misfits/{name}.onnx");
        stdout(hammock(root(), &["run", &model, "--exec-mode", "reference", "--arg", x]));
    }
    for level in ["-O0", "-O2"] {
        let message = misfit("reshape", &[X, "[2, 2]:int64"], &[level]);
        assert!(message.contains("6 is not 4"), "{message}");
    }
}

/// Strings are arguments and results as nested tuples.
#[test]
fn strings_are_arguments_and_results() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str, more: &[&str]| {
        let args = ["run", "tests/onnx/misfits/words.onnx", "--exec-mode", "reference", "--arg", words];
        hammock(root(), &[&args, more].concat())
    };
    let words = r#"("a b", "", "größer c")"#;
    let shown = stdout(run(words, &[]));
    for part in ["0.0: \"a b!\"\n", "1.0.0: \"a\"\n", "1.2.1: \"c\"\n", "2: int64[3]\n[2 0 2]"] {
        assert!(shown.contains(part), "{shown}");
    }
    let file = folder.path().join("out.npz");
    stdout(run(words, &["--output", file.to_str().unwrap()]));
    // The archive is not compressed.
    let written = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
    assert!(written.contains("{'descr': '<U6', 'fortran_order': False, 'shape': (3, 2), }"), "{written}");
    for (words, said) in [
        ("[1, 2]:float32", "a tensor of strings must be nested tuples of equal length"),
        (r#"("a", ("b", "c"))"#, "a tensor of strings must be nested tuples of equal length"),
    ] {
        let output = run(words, &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(said), "{message}");
    }
}

/// Sequences are arguments and results as tuples.
#[test]
fn sequences_are_arguments_and_results() {
    let run = |given: &str| {
        let args = ["run", "tests/onnx/misfits/given.onnx", "--exec-mode", "reference", "--arg", given];
        hammock(root(), &[&args, &["--arg", "[[5, 6]]:float32"][..]].concat())
    };
    let shown = stdout(run("([[1, 2], [3, 4]]:float32, zeros(0,2):float32)"));
    assert!(
        shown.starts_with("0: float32[3, 2]\n[[1.0 2.0]\n [3.0 4.0]\n [5.0 6.0]]\n1.0: float32[2, 2]\n"),
        "{shown}"
    );
    assert!(stdout(run("()")).starts_with("0: float32[1, 2]\n[[5.0 6.0]]\n1.0: float32[1, 2]\n"));
    for (given, said) in [
        ("[[1, 2]]:float32", "argument #0 must be Tuple"),
        ("([[1, 2]]:int64,)", "element 0 is"),
        ("([[1]]:float32,)", "element 1 is"),
        ("([1, 2]:float32,)", "element 1 is"),
    ] {
        let output = run(given);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains("[E0502]") && message.contains(said), "{message}");
    }
}

/// Optional inputs may be `null`.
#[test]
fn optional_inputs_are_values_or_null() {
    let run = |given: &str| {
        hammock(root(), &["run", "tests/onnx/misfits/optional.onnx", "--exec-mode", "reference", "--arg", given])
    };
    assert!(stdout(run("[1, 2]:float32")).contains("0: true (bool)"));
    let output = run("null");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.contains("[E0502]"), "{message}");
}

/// Results of a classifier whose labels are strings, with maps from them to scores.
#[test]
fn string_labels_and_maps_are_printed() {
    let x = "[[0.5, 0, 1, 2], [-1, 0, 0, -3]]:float32";
    let args = ["run", "tests/onnx/misfits/maps.onnx", "--exec-mode", "reference", "--arg", x];
    let shown = succeed(root(), &args);
    let labels = "0.0: \"blue\"\n0.1: \"red\"\n1.0.0: \"red\"\n1.0.1: \"green\"\n1.0.2: \"blue\"\n1.1: float32[2, 3]\n";
    assert!(shown.starts_with(labels), "{shown}");
}

/// An initializer that is also an input is a constant, unless a call overrides it: by name, among weights, or with an
/// argument for each input.
#[test]
fn default_values_of_inputs_are_overridden() {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        let x = format!("x=@{}#0", root().join("tests/onnx/defaults.inputs.npz").display());
        let all = [&["run", program, "--exec-mode", "reference", "--arg", &x], args].concat();
        stdout(hammock(folder.path(), &all))
    };
    let (once, twice) = (["--arg", "k=[1]:float32"], ["--arg", "k=[2]:float32"]);
    let file = |name: &str| root().join("tests/onnx").join(name).to_str().unwrap().to_owned();
    for model in [file("defaults.onnx"), file("misfits/every_input.onnx")] {
        let own = run(&model, &[]);
        assert_ne!(own, run(&model, &once));
        assert_eq!(own, run(&model, &twice));
        assert!(run(&model, &["--arg", "w=ones(3,7):float32"]).starts_with("float32[2, 7]"));
        expect("defaults", &model, &["--exec-mode", "reference"]);
        let weights = [("k".to_owned(), hammock_runtime::Tensor::from_slice(&[1], &[1f32]).unwrap())];
        hammock_tools::save_npz(&folder.path().join("k.npz"), &weights).unwrap();
        assert_eq!(run(&model, &["--params", "k.npz"]), run(&model, &once));
        // The written module has parameters for overridable inputs only.
        let import = ["import", &model, "-o", "m.py", "--params-out", "w.npz", "--overridable", "k"];
        stdout(hammock(folder.path(), &import));
        assert_eq!(run("m.py", &["--params", "w.npz"]), own);
        assert_eq!(run("m.py", &["--params", "w.npz", once[0], once[1]]), run(&model, &once));
        stdout(hammock(folder.path(), &["compile", &model, "-o", "m.so", "--overridable", "k"]));
        let library = ["run", "m.so", "--arg", "x=ones(2,3):float32"];
        let needs = hammock(folder.path(), &library);
        assert!(String::from_utf8(needs.stderr).unwrap().contains("one --arg each for: k: float32[1]"));
        stdout(hammock(folder.path(), &[&library[..], &once].concat()));
    }
    let shown = succeed(root(), &["inspect", "tests/onnx/defaults.onnx"]);
    assert!(shown.contains("input   k  float32[1]  has a default value\n"), "{shown}");
    let shown = succeed(root(), &["inspect", "tests/onnx/misfits/every_input.onnx"]);
    assert!(shown.contains("weight  w") && !shown.contains("default"), "{shown}");
    for (name, said) in [("x", "no input `x` with a default value"), ("W", "did you mean `w`?")] {
        let output = hammock(root(), &["check", "tests/onnx/defaults.onnx", "--overridable", name]);
        assert!(String::from_utf8(output.stderr).unwrap().contains(said), "{name}");
    }
}

/// Differently named dimensions are equal or 1 at run time; the joint dimension is named once.
#[test]
fn differently_named_dimensions_broadcast() {
    let run = |shapes: [&str; 6], more: &[&str]| {
        let args = shapes.iter().flat_map(|shape| ["--arg", shape]);
        let args: Vec<&str> = ["run", "tests/onnx/broadcasts.onnx"].into_iter().chain(args).collect();
        hammock(root(), &[&args[..], more].concat())
    };
    let a = "[[1, 2, 3], [4, 5, 6]]:float32";
    let (b, c, d) = ("[[10, 20, 30]]:float32", "[[true]]:bool", "[[100], [200]]:float32");
    let product = ["ones(1,2,3):float32", "ones(2,3,1):float32"];
    let results = [
        "[[11, 44, 99], [56, 125, 216]]",
        "[[[3], [3]], [[3], [3]]]",
        "[[111, 122, 133], [214, 225, 236]]",
        "[[10000, 10000, 10000], [40000, 40000, 40000]]",
    ];
    for more in [&["--exec-mode", "reference"][..], &["-O0"], &["-O2"], &["-O2", "--exec-mode", "compiled"]] {
        let said = stdout(run([a, b, c, d, product[0], product[1]], &[more, &["--json"]].concat()));
        let numbers = said.replace([' ', '\n'], "").replace(".0", "");
        for result in results {
            assert!(numbers.contains(&result.replace(' ', "")), "{more:?}: {said}");
        }
        let wrong = run([a, "ones(3,3):float32", "ones(3,1):bool", d, product[0], product[1]], more);
        let said = String::from_utf8(wrong.stderr).unwrap();
        assert!(
            said.contains("does not broadcast") && said.contains("2 is not 3") && said.contains("/added"),
            "{said}"
        );
    }
}

/// Shapes of inputs that the model leaves open are given by a flag or a call.
#[test]
fn open_input_shapes_can_be_given() {
    let (unranked, x) = ("tests/onnx/bad/unranked.onnx", ["--arg", "[[1, 2]]:float32"]);
    assert_eq!(succeed(root(), &["run", unranked, x[0], x[1]]), "float32[1, 2]\n[[-1.0 -2.0]]\n");
    assert_eq!(succeed(root(), &["run", unranked, x[0], x[1], "--shape", "x=n,2"]), "float32[1, 2]\n[[-1.0 -2.0]]\n");
    assert!(
        succeed(root(), &["import", unranked, "--shape", "x=n,2"]).contains("x: R.Tensor((n, 2), dtype=\"float32\")")
    );
    let gather = "tests/onnx/misfits/gather.onnx";
    assert!(
        succeed(root(), &["import", gather, "--shape", "x=2,k"]).contains("x: R.Tensor((2, m), dtype=\"float32\")")
    );
    for (model, shape, said) in [
        (unranked, "y=1", "the model has no input `y`"),
        (gather, "x=1", "the input `x` has 2 dimensions, but the shape given for it has 1"),
        ("tests/onnx/defaults.onnx", "x=2,4", "axis 1 of the input `x` has the size 3, not 4"),
    ] {
        let output = hammock(root(), &["opt", model, "--shape", shape]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(said), "{message}");
    }
    let text = hammock(root(), &["opt", "ir-examples/custom_kernel.py", "--shape", "x=2"]);
    assert!(text.status.code() == Some(2) && String::from_utf8(text.stderr).unwrap().contains("is no ONNX model"));
    assert_eq!(hammock(root(), &["opt", gather, "--shape", "x=a+b"]).status.code(), Some(2));
}

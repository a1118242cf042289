//! External code generators: their objects are linked and called, and compute the right results.

use hammock_compiler::{Build, CodeGenerator, Dump, Emit, Model, Options, ReadOptions, Silent, compile, read_text};
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
use hammock_passes::Pipeline;
use hammock_runtime::{Any, Tensor};
use hammock_tools::{RunOptions, Session};
use std::{
    path::Path,
    process::{Command, Output},
    sync::{Arc, Mutex},
};

/// Runs `hammock` on the model of `tests/codegen` with more arguments.
fn hammock(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    command.args(args).current_dir(root).env("NO_COLOR", "1").output().unwrap()
}

const PATTERNS: &str = r#"FuseOpsByPattern{patterns="tests/codegen/toy.patterns",annotate_codegen=true}"#;
const ARGS: [&str; 4] = ["--arg", "[[0.5,1,-1],[0,0.25,2]]:float32", "--arg", "[[1,0,1],[-1,3,0]]:float32"];

fn run(passes: &str, more: &[&str]) -> Output {
    hammock(&[&["run", "tests/codegen/model.py", "--passes", passes], &ARGS[..], more].concat())
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn generated_code_is_called() {
    let plain = stdout(&run("", &[]));
    let toy = |options: &str| format!(r#"{PATTERNS},RunCodegen{{codegens={{"toy":"tests/codegen/toy.sh"}}{options}}}"#);
    for more in [&[][..], &["--exec-mode", "compiled"], &["-O0"], &["-O3"]] {
        assert_eq!(stdout(&run(&toy(""), more)), plain, "{more:?}");
    }
    // To show that the generator's functions run, it is told to compute something else.
    assert_ne!(stdout(&run(&toy(r#",target_options={"toy":{"factor":3}}"#), &[])), plain);

    let merged = r#"FuseOpsByPattern{patterns="tests/codegen/toy.patterns"},MergeCompositeFunctions"#;
    assert_eq!(stdout(&run(merged, &[])), plain, "without a generator, we compile the functions ourselves");
    assert_eq!(stdout(&run(PATTERNS, &[])), plain);

    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("model.so").display().to_string();
    stdout(&hammock(&["compile", "tests/codegen/model.py", "-o", &library, "--passes", &toy("")]));
    assert_eq!(stdout(&hammock(&[&["run", &library], &ARGS[..]].concat())), plain);
}

#[test]
fn generator_failures_are_reported() {
    let with = |program: &str| format!(r#"{PATTERNS},RunCodegen{{codegens={{"toy":"{program}"}}}}"#);
    for (passes, said) in [
        (format!("{PATTERNS},RunCodegen"), "there is no code generator `toy` for `fused_relax_multiply_relax_add_toy`"),
        (with("./no/such/program"), "the code generator `toy` failed: cannot start ./no/such/program"),
        (with("false"), "the code generator `toy` failed: false ended with exit status: 1"),
        (with("true"), "what the code generator `toy` made cannot be used"),
        (with("cat"), "the code generator `toy` failed: cat ended with exit status: 1: cat: "),
    ] {
        let output = run(&passes, &[]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(said) && text.contains("[E0310]"), "{passes}: {text}");
    }
}

#[test]
fn link_failures_are_reported() {
    let toy = format!(r#"{PATTERNS},RunCodegen{{codegens={{"toy":"tests/codegen/toy.sh"}}}}"#);
    let interpreted = run(&toy, &["--exec-mode", "reference"]);
    let unlinked = hammock(&["compile", "tests/codegen/model.py", "-o", "-", "--emit", "asm", "--passes", &toy]);
    for output in [interpreted, unlinked] {
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains("[E0407]: what code generators made is"), "{text}");
    }
    let noted = hammock(&["opt", "tests/codegen/model.py", "--passes", &toy]);
    assert!(stdout(&noted).contains("R.call_dps_packed(\"fused_relax_multiply_relax_add_toy\", (x, y)"));
    assert!(String::from_utf8_lossy(&noted.stderr).contains("cannot hold it"));
}

/// Generator that returns prepared objects and records its requests.
struct Given {
    objects: Vec<Vec<u8>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl CodeGenerator for Given {
    fn generate(&self, functions: &Module, options: &serde_json::Value) -> Result<Vec<Vec<u8>>, String> {
        let names = functions.functions.keys().map(|name| name.to_string()).collect::<Vec<_>>().join(",");
        self.asked.lock().unwrap().push(format!("{names} {options}"));
        if self.objects.is_empty() { Err("it has nothing to give".into()) } else { Ok(self.objects.clone()) }
    }
}

const SYMBOL: &str = "fused_relax_multiply_relax_add_toy";

/// Compiles a kernel to an object: it adds 100 to its second argument, to distinguish it from the program's kernel.
fn object() -> Vec<u8> {
    let text = format!(
        "@T.prim_func\ndef {SYMBOL}(x: T.handle, y: T.handle, z: T.handle):\n    n = T.int64()\n    \
         X = T.match_buffer(x, (n, 3))\n    Y = T.match_buffer(y, (n, 3))\n    Z = T.match_buffer(z, (n, 3))\n    \
         for i, j in T.grid(n, 3):\n        with T.sblock(\"z\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            \
         Z[vi, vj] = Y[vi, vj] + T.float32(100)\n"
    );
    let source = SourceFile::new("kernel.py", text).unwrap();
    let module = read_text(&source, &ReadOptions::default()).unwrap();
    let options = Options { threads: 1, ..Options::default() };
    compile(&module, &source, &options, Emit::Obj).unwrap().file.into_bytes()
}

fn compiled(objects: Vec<Vec<u8>>, asked: &Arc<Mutex<Vec<String>>>) -> Result<Vec<u8>, hammock_compiler::Failure> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codegen/model.py")).unwrap();
    let source = SourceFile::new("model.py", text).unwrap();
    let passes = Pipeline::parse(&format!(r#"{PATTERNS},RunCodegen{{target_options={{"toy":{{"x":1}}}}}}"#)).unwrap();
    let options = Options { threads: 1, passes, ..Options::default() };
    let mut progress = Silent;
    let mut build = Build::new(Model::from_text(source)?, options, &mut progress);
    build.codegens().register("toy", Given { objects, asked: asked.clone() });
    build.lower(&build.options().pipeline(), &mut Dump::default())?;
    Ok(build.compile(Emit::Lib)?.file.into_bytes())
}

#[test]
fn programs_can_register_generators() {
    let asked = Arc::default();
    let library = compiled(vec![object()], &asked).unwrap();
    assert_eq!(*asked.lock().unwrap(), [format!("{SYMBOL} {{\"x\":1}}")], "equal groups are one function");
    let session = Session::from_bytes(library, &RunOptions::default()).unwrap();
    let tensor = |values: [f32; 3]| Any::from(Tensor::from_slice(&[1, 3], &values).unwrap());
    let result = session.call("main", &[tensor([1.0, 2.0, 3.0]), tensor([-200.0, -400.0, -600.0])]).unwrap();
    // first = y + 100, second = x + 100, result = exp(-second).
    let found = result.get::<Tensor>().unwrap();
    let found = found.as_slice::<f32>().unwrap();
    let expected = [1.0f32, 2.0, 3.0].map(|x| (-(x + 100.0)).exp());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= b * 1e-4), "{found:?} is not {expected:?}");

    let failed = compiled(Vec::new(), &asked).unwrap_err().to_string();
    assert!(failed.contains("the code generator `toy` failed: it has nothing to give"), "{failed}");
}

//! C and C++ programs that load a compiled model: compiled against the headers, linked with both libraries.

// Forces the libraries to be built.
use hammock as _;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// System libraries that the static library needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns cargo's output folder with the runtime's libraries.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().skip(1).find(|folder| folder.join("libhammock.so").is_file());
    folder.expect("cargo built libhammock.so").to_owned()
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles a program, links it, and runs it with a compiled model.
fn check(compiler: &str, source: &str, flags: &[&str]) {
    check_for(&[], None, compiler, source, flags);
}

/// Like [`check`], with flags for the model, and with a folder of libraries.
fn check_for(target: &[&str], libraries_folder: Option<PathBuf>, compiler: &str, source: &str, flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (model, program) = (folder.path().join("model.so"), folder.path().join("program"));
    let hammock = &mut Command::new(env!("CARGO_BIN_EXE_hammock"));
    succeed(hammock.current_dir(root()).args(["compile", "tests/capi/model.py", "-o"]).arg(&model).args(target));
    let libraries = libraries();
    let link = [vec![libraries.join("libhammock.a").display().to_string()], SYSTEM.map(String::from).to_vec()].concat();
    let shared =
        vec![format!("-L{0}", libraries.display()), "-lhammock".into(), format!("-Wl,-rpath,{}", libraries.display())];
    for libraries in [link, shared] {
        let mut command = Command::new(compiler);
        command.current_dir(root()).args(["-Wall", "-Wextra", "-Werror", "-Iruntime/include"]).args(flags);
        succeed(command.arg(source).arg("-o").arg(&program).args(libraries));
        let mut run = Command::new(&program);
        run.envs(libraries_folder.iter().map(|folder| ("LD_LIBRARY_PATH", folder)));
        assert_eq!(succeed(run.arg(&model)), "ok\n");
    }
}

fn hammock(arguments: &[&str]) {
    succeed(Command::new(env!("CARGO_BIN_EXE_hammock")).current_dir(root()).args(arguments));
}

/// Compiles a model and its header, compiles a program that contains the model, as C and as C++, and runs it.
fn check_header(name: &str, model: &[&str], source: &str, printed: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |file: &str| folder.path().join(file).display().to_string();
    let (library, header) = (path(&format!("{name}.so")), path(&format!("{name}.h")));
    hammock(&[&["compile", "-o", &library], model].concat());
    hammock(&[&["compile", "-o", &header, "--emit", "c-header"], model].concat());
    for (compiler, language) in [("cc", ["-std=c99", "-xc"]), ("c++", ["-std=c++17", "-xc++"])] {
        let mut command = Command::new(compiler);
        command.current_dir(root()).args(language).args(["-Wall", "-Wextra", "-Werror", "-pedantic"]);
        command.args(["-Iruntime/include", &format!("-I{}", folder.path().display())]);
        command.arg(format!("-D{}_FILE=\"{library}\"", name.to_uppercase()));
        command.args([source, "-xnone", &libraries().join("libhammock.a").display().to_string()]);
        succeed(command.args(SYSTEM).args(["-o", &path("program")]));
        std::fs::rename(&library, path("elsewhere")).unwrap();
        assert_eq!(succeed(&mut Command::new(path("program"))), printed, "{compiler}");
        std::fs::rename(path("elsewhere"), &library).unwrap();
    }
}

#[test]
fn a_program_contains_the_digits() {
    let model = ["ir-examples/digits/model.py", "--params", "ir-examples/digits/weights.safetensors"];
    check_header("digits", &model, "ir-examples/digits/digits.c", "2 images, the second is a 1\n");
}

#[test]
fn headers_have_all_forms_of_arguments_and_results() {
    check_header("typed", &["tests/capi/typed.py"], "tests/capi/typed.c", "ok\n");
}

#[test]
fn headers_of_the_examples_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("m.h").display().to_string();
    let examples = std::fs::read_dir(root().join("ir-examples/language")).unwrap().map(|entry| entry.unwrap().path());
    let examples: Vec<PathBuf> = examples.filter(|path| !path.ends_with("13_several_modules.py")).collect();
    assert!(examples.len() >= 16);
    for example in examples {
        hammock(&["compile", example.to_str().unwrap(), "-o", &header, "--emit", "c-header"]);
        for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
            let mut command = Command::new(compiler);
            command.current_dir(root()).args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
            succeed(command.args([
                "-Wno-unused-function",
                "-Iruntime/include",
                "-include",
                &header,
                "-x",
                language,
                "/dev/null",
            ]));
        }
    }
}

#[test]
fn a_c_program_runs_a_model() {
    check("cc", "tests/capi/program.c", &["-std=c11", "-Wno-missing-field-initializers"]);
}

#[test]
fn a_cpp_program_runs_a_model() {
    check("c++", "tests/capi/program.cpp", &["-std=c++17"]);
}

#[test]
fn a_cpp_program_runs_a_model_on_a_device() {
    let driver = hammock_cuda_emulator::library::folder().unwrap();
    check_for(&["--target", "cuda"], Some(driver), "c++", "tests/capi/device.cpp", &["-std=c++17"]);
}

//! The table of processors, against LLVM.
//!
//! LLVM's C interface does not report the features of a processor. Its inliner reveals them: it inlines a function only
//! if the caller's processor has all features that the function requires.
#![cfg(feature = "native")]

use hammock_target::{FEATURES, Target};
use inkwell::{
    OptimizationLevel,
    context::Context,
    memory_buffer::MemoryBuffer,
    passes::PassBuilderOptions,
    targets::{CodeModel, InitializationConfig, RelocMode, Target as Backend, TargetTriple},
    values::AnyValue,
};
use std::{
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/src/arch/x86_64.txt");
const HEAD: &str = "\
# The x86-64 processors that LLVM 22 knows, and which of the features that kernels use each has. After a change of LLVM:
# `UPDATE_TARGETS=1 cargo test -p hammock-codegen --features llvm --test targets`
";

/// Returns the output of LLVM's tool, and true if it succeeds.
fn llc(args: &[&str]) -> (String, bool) {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let mut llc = Command::new(Path::new(&prefix).join("bin/llc"));
    llc.arg(format!("-mtriple={TRIPLE}")).args(args);
    let mut llc = llc.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("LLVM has llc");
    // The tool may have failed before reading its input.
    let _ = llc.stdin.take().unwrap().write_all(b"define void @f() { ret void }");
    let output = llc.wait_with_output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.success())
}

/// Returns the names of LLVM's 64-bit processors. Names with `_` are aliases for GCC.
fn names() -> Vec<String> {
    let (list, _) = llc(&["-mcpu=help"]);
    let list = list.lines().skip(1).take_while(|line| !line.starts_with("Available"));
    let names = list.filter_map(|line| line.split_whitespace().next()).filter(|name| !name.contains('_'));
    let works = |name: &&str| Target::named(name).is_some() || llc(&[&format!("-mcpu={name}"), "-o", "/dev/null"]).1;
    names.filter(works).map(str::to_owned).collect()
}

/// Returns the table according to LLVM.
fn table(names: &[String]) -> String {
    let mut text = String::new();
    // Some old processors have no MMX, which does not matter here.
    for (number, feature) in FEATURES.iter().enumerate() {
        writeln!(text, "define i32 @has_{number}() \"target-features\"=\"-mmx,+{feature}\" {{ ret i32 {number} }}")
            .unwrap();
    }
    for (cpu, name) in names.iter().enumerate() {
        writeln!(text, "define void @cpu_{cpu}(ptr %p) \"target-cpu\"=\"{name}\" {{").unwrap();
        for number in 0..FEATURES.len() {
            writeln!(text, "  %has_{number} = call i32 @has_{number}()").unwrap();
            writeln!(text, "  store volatile i32 %has_{number}, ptr %p").unwrap();
        }
        text += "  ret void\n}\n";
    }
    Backend::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create(TRIPLE);
    let backend = Backend::from_triple(&triple).unwrap();
    let level = OptimizationLevel::Default;
    let machine = backend
        .create_target_machine(&triple, "x86-64", "", level, RelocMode::PIC, CodeModel::Default)
        .expect("LLVM makes machines");
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "processors");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.set_triple(&triple);
    module.run_passes("inline", &machine, PassBuilderOptions::create()).unwrap();
    let line = |(cpu, name): (usize, &String)| {
        let body = module.get_function(&format!("cpu_{cpu}")).unwrap().print_to_string().to_string();
        let has = |number: &usize| !body.contains(&format!("@has_{number}()"));
        let features = (0..FEATURES.len()).filter(has).map(|number| format!(" {}", FEATURES[number]));
        format!("{name}:{}\n", features.collect::<String>())
    };
    HEAD.to_owned() + &names.iter().enumerate().map(line).collect::<String>()
}

#[test]
fn the_table_matches_llvm() {
    let found = table(&names());
    if std::env::var_os("UPDATE_TARGETS").is_some() {
        std::fs::write(TABLE, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(TABLE).unwrap(), found);
}

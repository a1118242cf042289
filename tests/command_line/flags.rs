//! Unknown names, and flags without effect: rejected, with suggestions.

use std::process::Command;

const MODEL: &str = "ir-examples/custom_kernel.py";

/// Returns standard error of a command that must fail.
fn refusal(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    let output = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), crate::support::status_of(&said), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    said
}

#[test]
fn unknown_names_have_suggestions() {
    let compile = |target| refusal(&["compile", MODEL, "-o", "/dev/null", "--target-cpu", target]);
    for (said, meant) in [
        (refusal(&["opt", MODEL, "--passes", "legalizeops"]), "did you mean `LegalizeOps`?"),
        (refusal(&["opt", MODEL, "--passes", "Normalize,LegalizOps"]), "did you mean `LegalizeOps`?"),
        (refusal(&["opt", MODEL, "--passes", "quantum"]), "`hammock passes` lists them"),
        (refusal(&["opt", MODEL, "--passes", "Normalize{level=3}"]), "pass `Normalize` has no option `level`"),
        (refusal(&["opt", MODEL, "--passes", "VMShapeLower{emit_err_ctx=true"]), "never closed"),
        (refusal(&["opt", MODEL, "--print-after", "nosuch"]), "there is no pass `nosuch`"),
        (refusal(&["opt", MODEL, "--passes", "Normalize", "--print-after", "normalize"]), "did you mean `Normalize`?"),
        (refusal(&["compile", MODEL, "-o", "/dev/null", "--print-after", "Normalise"]), "did you mean `Normalize`?"),
        (compile("nosuch"), "`hammock targets` lists them"),
        (compile("znvr4"), "did you mean `znver4`?"),
        (compile("aarch64"), "x86-64 processors only"),
        (compile("x86-64-v3,+avx512f"), "without features"),
        (compile("x86-64-v3,znver4"), "`--multi-version=x86-64-v3,znver4` compiles for several"),
        (compile("llvm -mcpu=znver4"), "without features"),
        (compile("pentium3"), "there is no CPU `pentium3`"),
        (refusal(&["run", MODEL, "--target-cpu", "nosuch"]), "there is no CPU `nosuch`"),
        (refusal(&["bench", MODEL, "--arg", "1", "--target-cpu", "graniterapid"]), "did you mean `graniterapids`?"),
        (refusal(&["opt", MODEL, "--print-plans", "--target-cpu", "native-v4"]), "there is no CPU `native-v4`"),
        (refusal(&["passes", "--pipeline", "--target-cpu", "skylake512"]), "there is no CPU `skylake512`"),
        (refusal(&["run", MODEL, "--exec-mode", "compild"]), "did you mean `compiled`?"),
        (refusal(&["run", MODEL, "--func", "mian", "--arg", "1"]), "did you mean `main`?"),
        (refusal(&["run", MODEL, "--arg", "zeros(2):flaot32"]), "did you mean `float32`?"),
        (refusal(&["run", MODEL, "--arg", "[1, 2]:bflot16"]), "did you mean `bfloat16`?"),
        (refusal(&["ops", "relu"]), "did you mean `nn.relu`?"),
        (refusal(&["ops", "transpose"]), "did you mean `permute_dims`?"),
        (refusal(&["passes", "legalizeops"]), "did you mean `LegalizeOps`?"),
        (refusal(&["builtins", "match_shape"]), "did you mean `vm.builtin.match_shape`?"),
        (refusal(&["builtins", "vm.builtin.mach_shape"]), "did you mean `vm.builtin.match_shape`?"),
        (refusal(&["explain", "E020"]), "did you mean `E020"),
        (refusal(&["explain", "undefind name"]), "did you mean `undefined name`?"),
    ] {
        assert!(said.contains(meant), "{meant}: {said}");
    }
}

/// `hammock` in the repository, which must succeed: standard output and standard error.
fn accepted(args: &[&str]) -> (String, String) {
    let output = crate::support::hammock(crate::support::root(), args);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (crate::support::stdout(output), said)
}

#[test]
fn deprecated_spellings_warn_and_work() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old.svg", "new.svg"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let [old_file, new_file] = [format!("--memory-plan={old}"), format!("--memory-plan-out={new}")];
    let library = "runtime/tests/tvm/control_flow.so";
    let plans = ["opt", MODEL, "--print-plans"];
    for (command, old, new) in [
        (&plans[..], &["--target", "znver4"][..], &["--target-cpu", "znver4"][..]),
        (&["opt", MODEL], &[&old_file], &[&new_file]),
        (&["inspect", library], &["--asm"], &["--listing"]),
    ] {
        let (expected, silence) = accepted(&[command, new].concat());
        let (found, warning) = accepted(&[command, old].concat());
        assert_eq!((found, silence.as_str()), (expected, ""), "{old:?}");
        let [old, new] = [old, new].map(|flag| flag.join(" ").split('=').next().unwrap().to_owned());
        assert_eq!(warning, format!("warning: `{old}` is deprecated; write `{new}`\n"));
    }
    let [old, new] = [old, new].map(|file| std::fs::read(file).unwrap());
    assert!(old == new && !old.is_empty());
    // The old names are not shown, and both at once are refused.
    for (command, old) in [("opt", "--memory-plan "), ("inspect", "--asm")] {
        assert!(!accepted(&[command, "--help"]).0.contains(old), "{command}");
    }
    let both = refusal(&[&plans[..], &["--target", "znver4", "--target-cpu", "znver4"]].concat());
    assert!(both.contains("`--target-cpu` has no effect here: `--target znver4` names the CPU"), "{both}");
}

#[test]
fn targets_are_architectures_or_triples() {
    let plans = ["opt", MODEL, "--print-plans", "--target-cpu", "x86-64-v3"];
    let expected = accepted(&plans);
    for triple in ["x86_64", "x86_64-unknown-linux-gnu", "x86_64-linux-gnu"] {
        assert_eq!(accepted(&[&plans[..], &["--target", triple]].concat()), expected, "{triple}");
    }
    for (name, help) in [
        ("aarch64", "generates code for `x86_64` under Linux and for `cuda` only"),
        ("aarch64-unknown-linux-gnu", "generates code for `x86_64` under Linux and for `cuda` only"),
        ("sm_80", "did you mean `cuda:sm_80`?"),
        ("x86_64-apple-darwin", "generates code for `x86_64` under Linux and for `cuda` only"),
        ("x86_64-unknwn-linux-gnu", "did you mean `x86_64-unknown-linux-gnu`?"),
        ("znvr4", "did you mean `--target-cpu znver4`?"),
    ] {
        let said = refusal(&["compile", MODEL, "-o", "/dev/null", "--target", name]);
        assert!(said.contains(&format!("there is no target `{name}`")) && said.contains(help), "{said}");
    }
}

#[test]
fn every_target_compiles() {
    let list = Command::new(env!("CARGO_BIN_EXE_hammock")).arg("targets").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    for name in ["native", "x86-64", "x86-64-v4", "k8", "znver5"] {
        assert!(list.lines().any(|line| line.split(' ').next() == Some(name)), "{name}");
        let mut compile = Command::new(env!("CARGO_BIN_EXE_hammock"));
        compile
            .args(["compile", MODEL, "-o", "/dev/null", "--target-cpu", name])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = compile.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{name}");
    }
}

#[test]
fn targets_list_their_features() {
    let list = Command::new(env!("CARGO_BIN_EXE_hammock")).args(["targets", "--json"]).output().unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_slice(&list.stdout).unwrap();
    let of = |name: &str| list.iter().find(|target| target["name"] == name).unwrap();
    for (name, bits, registers) in
        [("diamondrapids", 512, 32), ("graniterapids-d", 512, 32), ("x86-64-v3", 256, 16), ("x86-64", 128, 16)]
    {
        assert_eq!(
            (&of(name)["vector_bits"], &of(name)["vector_registers"]),
            (&bits.into(), &registers.into()),
            "{name}"
        );
        assert!(of(name)["cores"].is_null());
    }
    assert_eq!((&of("znver4")["int8_dot"], &of("skylake")["int8_dot"]), (&true.into(), &false.into()));
    assert!(of("native")["cores"].as_u64().unwrap() > 0 && of("native")["caches"]["l2"].as_u64().unwrap() > 0);
}

#[test]
fn flags_without_effect_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("m.so");
    let library = library.to_str().unwrap();
    let mut compile = Command::new(env!("CARGO_BIN_EXE_hammock"));
    compile.args(["compile", MODEL, "-o", library]).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(compile.status().unwrap().success());
    let run = ["run", library, "--arg", "[1, 2]:float32"];
    for flags in [
        &["-O3"][..],
        &["--target-cpu", "native"],
        &["--exec-mode", "bytecode"],
        &["--exec-mode", "reference"],
        &["--bytecode", "x.so"],
        &["--print-after", "all"],
        &["--dump-dir", "."],
        &["--time-passes"],
        &["--verify-each"],
        &["--module", "Module"],
        &["--params", "zeros"],
    ] {
        for command in ["run", "bench"] {
            let said = refusal(&[&[command], &run[1..], flags].concat());
            assert!(said.contains(&format!("has no effect here: {library} is compiled already")), "{flags:?}: {said}");
        }
    }
    for emit in ["obj", "llvm", "asm", "bytecode", "tvm"] {
        for mode in ["compiled", "compiled=main"] {
            let args = ["compile", MODEL, "-o", "/dev/null", "--emit", emit, "--exec-mode", mode];
            assert!(refusal(&args).contains("`--exec-mode` has no effect here"), "{args:?}");
        }
    }
    for flags in [&["--target-cpu", "x86-64"][..], &["--bounds", "unchecked"], &["--strict-order"]] {
        let said = refusal(&[&["compile", MODEL, "-o", "/dev/null", "--emit", "bytecode"], flags].concat());
        assert!(said.contains("writes no kernels"), "{said}");
        let said = refusal(&[&["run", MODEL, "--exec-mode", "reference"], flags].concat());
        assert!(said.contains("kernels are interpreted"), "{said}");
    }
    for target in [&[][..], &["--target", "cuda:sm_75"]] {
        let said = refusal(&[&["compile", MODEL, "-o", "/dev/null", "--allow-tf32"], target].concat());
        assert!(said.contains("`--allow-tf32` has no effect here: only GPUs from sm_80 on multiply tf32"), "{said}");
    }
    for flags in [&["--time-passes"][..], &["--dump-dir", "."], &["--print-after", "all"], &["--verify-each"]] {
        assert!(refusal(&[&["opt", MODEL, "--passes", ""], flags].concat()).contains("no pass runs"), "{flags:?}");
    }
    let said = refusal(&["opt", MODEL, "--passes", "LegalizeOps", "--print-after", "Normalize"]);
    assert!(said.contains("pass `Normalize` does not run"), "{said}");
}

#[test]
fn modules_for_other_devices_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.py");
    let head = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n";
    let placed = |device: &str| {
        format!(
            "{head}    I.module_global_infos({{\"vdevice\": [{device}]}})\n    @R.function\n    \
            def main(x: R.Tensor((2,), \"float32\")):\n        z = R.exp(x)\n        return z\n"
        )
    };
    let kernel = format!(
        "{head}    @T.prim_func\n    def k(A: T.Buffer((2,), \"float32\")):\n        \
        T.func_attr({{\"target\": T.target(\"cuda\")}})\n        A[0] = T.float32(1)\n    @R.function\n    \
        def main(x: R.Tensor((2,), \"float32\")):\n        return x\n"
    );
    for (text, kind) in [
        (placed("I.vdevice(\"cuda\")"), "cuda"),
        (placed("I.vdevice(\"llvm\"), I.vdevice({\"kind\": \"vulkan\"}, 1)"), "vulkan"),
        (kernel, "cuda"),
    ] {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let run = ["run", path, "--arg", "[0, 1]:float32"];
        for args in
            [&run[..], &[&run[..], &["--exec-mode", "reference"]].concat(), &["compile", path, "-o", "/dev/null"]]
        {
            let said = refusal(args);
            let why = match kind {
                "cuda" => "and it is compiled for the CPU\n",
                _ => "which Hammock cannot generate code for\n",
            };
            assert!(said.contains(&format!("`{kind}`, {why}")), "{said}");
            assert_eq!(said.contains("add `--target cuda`"), kind == "cuda", "{said}");
        }
        let for_gpu = ["compile", path, "-o", "/dev/null", "--target", "cuda"];
        match kind {
            "cuda" => _ = accepted(&for_gpu),
            _ => assert!(refusal(&for_gpu).contains("which Hammock cannot generate code for\n")),
        }
        // The text form is accepted.
        let check = Command::new(env!("CARGO_BIN_EXE_hammock")).args(["check", path]).status().unwrap();
        assert!(check.success());
    }
}

#[test]
fn files_of_other_kinds_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let bytecode = folder.path().join("code.bin");
    let bytecode = bytecode.to_str().unwrap();
    let mut compile = Command::new(env!("CARGO_BIN_EXE_hammock"));
    compile.args(["compile", MODEL, "--emit", "bytecode", "-o", bytecode]).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(compile.status().unwrap().success());
    for command in ["run", "bench", "check", "opt"] {
        assert!(refusal(&[command, bytecode]).contains("is bytecode without kernels"), "{command}");
        for tensors in ["weights.safetensors", "test.npz"] {
            let said = refusal(&[command, &format!("ir-examples/digits/{tensors}")]);
            assert!(said.contains("holds tensors, not a model"), "{said}");
        }
    }
}

//! The kernel cache on disk: a second compilation of the same kernels compiles none and emits identical bytes, even if
//! cache files are damaged.

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};
use tempfile::TempDir;

const MODEL: &str = r#"
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def pick(A: T.Buffer((T.int64(8),), "float32"), at: T.Buffer((T.int64(4),), "int64"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("pick"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[at[v]]

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 40), "float32")) -> R.Tensor((4, 40), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.softmax(y)
            R.output(z)
        return z

    @R.function
    def picked(x: R.Tensor((8,), "float32"), at: R.Tensor((4,), "int64")) -> R.Tensor((4,), "float32"):
        cls = Module
        return R.call_tir(cls.pick, (x, at), out_sinfo=R.Tensor((4,), "float32"))
"#;

struct Project(TempDir);

impl Project {
    /// Creates a folder with a model and no cache.
    fn new() -> Project {
        let project = Project(tempfile::tempdir().unwrap());
        fs::write(project.path("model.py"), MODEL).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn hammock(&self, args: &[&str]) -> Output {
        self.hammock_with("cache", args)
    }

    fn hammock_with(&self, cache: &str, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
        command.args(args).current_dir(self.0.path()).env("HAMMOCK_CACHE", cache).env_remove("HAMMOCK_CACHE_SIZE");
        command.output().unwrap()
    }

    /// Compiles a model; returns the number of compiled kernels, and the output file.
    fn compile_with(&self, cache: &str, model: &str, flags: &[&str]) -> (u64, Vec<u8>) {
        let threads: &[&str] = if flags.contains(&"--threads") { &[] } else { &["--threads", "2"] };
        let args = [&["compile", model, "-o", "out.so", "--stats", "--json"], threads, flags].concat();
        let output = self.hammock_with(cache, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{flags:?}: {said}");
        let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
        (stats["compiled"].as_u64().unwrap(), fs::read(self.path("out.so")).unwrap())
    }

    fn compile(&self, flags: &[&str]) -> (u64, Vec<u8>) {
        self.compile_with("cache", "model.py", flags)
    }

    fn cached_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.path("cache")).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files
    }

    fn usage(&self, flags: &[&str]) -> Value {
        let output = self.hammock(&[&["cache", "--json"], flags].concat());
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn compiled_kernels_are_cached() {
    let project = Project::new();
    let emitted = ["tvm", "obj", "llvm", "asm"].map(|what| ["--emit", what]);
    let emitted = emitted.iter().map(|flags| &flags[..]);
    for flags in emitted.chain([&[][..], &["-O1"], &["--exec-mode", "compiled"]]) {
        let (none, without) = project.compile(&[flags, &["--no-cache"]].concat());
        let (first, cold) = project.compile(flags);
        let (second, warm) = project.compile(flags);
        assert!(none >= 2 && second == 0, "{flags:?}: {none}, {first}, {second}");
        assert!(without == cold && cold == warm, "{flags:?}: the same bytes");
    }
    let usage = project.usage(&[]);
    assert_eq!(usage["kernels"], project.cached_files().len());
    let call = ["model.py", "--threads", "2", "--arg", "ones(4,8):float32", "--arg", "ones(8,40):float32"];
    let run = project.hammock(&[&["run"], &call[..]].concat());
    let bench = project.hammock(&[&["bench", "--min-time", "0.01"], &call[..]].concat());
    assert!(run.status.success() && bench.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(project.usage(&[])["kernels"], usage["kernels"], "`run` and `bench` use the entries of `compile`");
}

#[test]
fn cache_keys_depend_on_everything_that_affects_code() {
    let project = Project::new();
    let (all, _) = project.compile(&[]);
    for flags in [
        &["-O1"][..],
        &["-O3"],
        &["--target-cpu", "x86-64"],
        &["--target-cpu", "x86-64-v3"],
        &["--strict-order"],
        &["--bounds", "unchecked"],
        &["--threads", "3"],
        &["--emit", "tvm"],
    ] {
        assert!(project.compile(flags).0 >= 1, "{flags:?}");
        assert_eq!(project.compile(flags).0, 0, "{flags:?}");
    }
    let plans = project.hammock(&["opt", "model.py", "--print-plans"]);
    let plans = String::from_utf8(plans.stdout).unwrap();
    let edited: String = plans.replace("v_ax0 by 4,", "v_ax0 by 2,");
    fs::write(project.path("plan.txt"), &edited).unwrap();
    assert_ne!(plans, edited);
    let (planned, _) = project.compile(&["--plan", "plan.txt"]);
    assert!(planned >= 1 && planned <= all, "{planned}");
    assert_eq!(project.compile(&["--plan", "plan.txt"]).0, 0);
    assert_eq!(project.compile(&[]).0, 0, "no entry was replaced");
}

/// Cache keys do not depend on names of kernels, buffers and variables, nor on positions in the text. Kernels whose
/// messages contain names are an exception.
#[test]
fn names_are_part_of_keys_only_if_messages_contain_them() {
    let project = Project::new();
    project.compile(&[]);
    let other = MODEL.replace("pick", "select").replace("A[", "Source[").replace("A:", "Source:");
    let other = format!("\n\n{other}").replace("y =", "product =").replace("(y)", "(product)").replace("x,", "data,");
    let other = other.replace("x:", "data:");
    fs::write(project.path("other.py"), other).unwrap();
    let (compiled, warm) = project.compile_with("cache", "other.py", &[]);
    assert_eq!(compiled, 1, "only the kernel with a check, whose message has names and a line");
    let (_, cold) = project.compile_with("cache", "other.py", &["--no-cache"]);
    assert!(warm == cold);
    let fails = |model: &str| {
        let args = ["--threads", "2", "--func", if model == "model.py" { "picked" } else { "selected" }];
        let args = [&["run", model], &args[..], &["--arg", "ones(8):float32", "--arg", "[0, 1, 2, 9]:int64"]].concat();
        let output = project.hammock(&args);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    for _ in 0..2 {
        let (one, two) = (fails("model.py"), fails("other.py"));
        assert!(one.contains("pick: ") && one.contains("`A`") && one.contains("model.py:11"), "{one}");
        assert!(two.contains("select: ") && two.contains("`Source`") && two.contains("other.py:13"), "{two}");
    }
}

#[test]
fn damaged_entries_are_recompiled() {
    let project = Project::new();
    let (all, whole) = project.compile(&[]);
    let files = project.cached_files();
    let contents: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let again = |what: &str| {
        let (compiled, bytes) = project.compile(&[]);
        assert!(bytes == whole, "{what}");
        assert_eq!(compiled, all, "{what}");
        assert_eq!(project.compile(&[]).0, 0, "{what}: the damaged entry was replaced");
    };
    let damage = |change: &dyn Fn(usize, &Path, &[u8])| {
        files.iter().zip(&contents).enumerate().for_each(|(n, (file, bytes))| change(n, file, bytes));
    };
    let write = |file: &Path, bytes: &[u8]| fs::write(file, bytes).unwrap();
    for at in [0usize, 16, 50, 200, usize::MAX] {
        damage(&|_, file, bytes| {
            let mut changed = bytes.to_vec();
            changed[at.min(bytes.len() - 1)] ^= 1;
            write(file, &changed);
        });
        again(&format!("byte {at}"));
    }
    damage(&|_, file, bytes| write(file, &bytes[..bytes.len() / 2]));
    again("half of it");
    damage(&|_, file, _| write(file, b""));
    again("nothing");
    damage(&|n, file, _| write(file, &contents[(n + 1) % contents.len()]));
    again("another's code");
    damage(&|_, file, _| {
        fs::remove_file(file).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    });
    again("a pipe that nobody writes to");
}

#[test]
fn unusable_cache_folders_are_ignored() {
    let project = Project::new();
    fs::write(project.path("file"), b"").unwrap();
    fs::create_dir(project.path("open")).unwrap();
    fs::set_permissions(project.path("open"), PermissionsExt::from_mode(0o777)).unwrap();
    let (all, whole) = project.compile(&["--no-cache"]);
    for folder in ["file", "file/below", "/proc/nosuch", "open", "off"] {
        for _ in 0..2 {
            let (compiled, bytes) = project.compile_with(folder, "model.py", &[]);
            assert!(compiled == all && bytes == whole, "{folder}");
        }
        let said = project.hammock_with(folder, &["cache"]);
        assert!(said.status.success());
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.starts_with("the cache is off: ") && said.contains(folder), "{said}");
    }
    assert_eq!(fs::read_dir(project.path("open")).unwrap().count(), 0);
}

#[test]
fn the_cache_is_shown_limited_and_cleared() {
    let project = Project::new();
    project.compile(&[]);
    let usage = project.usage(&[]);
    let (kernels, bytes) = (usage["kernels"].as_u64().unwrap(), usage["bytes"].as_u64().unwrap());
    assert!(kernels >= 2 && bytes > 1000, "{usage}");
    assert_eq!(usage["limit"], 1 << 30);
    let limit = (bytes * 5 / 4).to_string();
    project.compile(&["-O1", "--cache-size", &limit]);
    let smaller = project.usage(&["--cache-size", &limit]);
    assert!(smaller["bytes"].as_u64().unwrap() <= bytes * 5 / 4, "{smaller}");
    assert_eq!(project.compile(&["-O1"]).0, 0, "the oldest entries are evicted first");
    fs::write(project.path("cache/notes.txt"), b"").unwrap();
    let cleared = project.usage(&["--clear"]);
    assert!(cleared["removed"]["kernels"].as_u64().unwrap() >= 1 && cleared["kernels"] == 0, "{cleared}");
    assert_eq!(project.cached_files(), [project.path("cache/notes.txt")], "foreign files are preserved");
}

#[test]
fn many_processes_share_a_cache() {
    let project = Project::new();
    let (_, whole) = project.compile(&["--no-cache"]);
    thread::scope(|scope| {
        for number in 0..6 {
            let (project, whole) = (&project, &whole);
            scope.spawn(move || {
                for round in 0..3 {
                    let file = format!("{number}.so");
                    let args = ["compile", "model.py", "-o", &file, "--threads", "2", "--cache-size", "20000"];
                    let output = project.hammock(&args);
                    assert!(output.status.success() && output.stderr.is_empty());
                    assert!(fs::read(project.path(&file)).unwrap() == *whole);
                    if number == 0 && round == 1 {
                        assert!(project.hammock(&["cache", "--clear"]).status.success());
                    }
                }
            });
        }
    });
}

//! Device placement of constants: round trip through text, and in the executable.

use crate::support::{hammock, stdout};

const MODEL: &str = r#"
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm", "keys": ["cpu"], "mtriple": "x86_64-linux-gnu"}, 0, "global.texture"), I.vdevice("llvm")]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0")):
        y = R.add(x, R.const([1.0, 2.0], R.Tensor((2,), "float32", vdevice="llvm:0")))
        z = (y, R.const([1.0, 2.0], "float32"), R.const([1.0, 2.0], R.Tensor((2,), "float32", vdevice="llvm:1")), R.const(3.0, R.Tensor((), "float32", vdevice="llvm:0")))
        return z
"#;

#[test]
fn memory_scopes_of_constants_reach_the_executable() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.py"), MODEL).unwrap();
    let printed = stdout(hammock(folder, &["opt", "model.py"]));
    assert!(
        printed.contains(r#"y: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global.texture") = R.add("#),
        "{printed}"
    );
    std::fs::write(folder.join("printed.py"), &printed).unwrap();
    stdout(hammock(folder, &["opt", "printed.py", "--same-as", "model.py"]));
    for model in ["model.py", "printed.py"] {
        stdout(hammock(folder, &["compile", model, "-o", "model.so"]));
        let listing = stdout(hammock(folder, &["inspect", "model.so", "--listing"]));
        let of_tensors = |line: &&str| line.starts_with("scope") || line.contains(" = tensor ");
        let lines: Vec<&str> = listing.lines().filter(of_tensors).collect();
        let expected = [
            "c6 = tensor float32(2) [1.0, 2.0]",
            "c7 = tensor float32(2) [1.0, 2.0]",
            "c8 = tensor float32(2) [1.0, 2.0]",
            "c9 = tensor float32() [3.0]",
            "scope c6 \"global.texture\"",
            "scope c8 \"global\"",
            "scope c9 \"global.texture\"",
        ];
        assert_eq!(lines, expected, "{model}");
    }
}

//! How kernels are computed: the plans of a module with every class of them, for processors with wide and narrow vectors.
#![cfg(feature = "llvm")]

use std::process::Command;

const MODEL: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((64, 96), \"float32\"),
        w: R.Tensor((96, 200), \"float32\"),
        v: R.Tensor((200, 96), \"float32\"),
        image: R.Tensor((1, 3, 32, 32), \"float32\"),
        taps: R.Tensor((16, 3, 3, 3), \"float32\"),
        s: R.Tensor((\"n\", 96), \"float32\"),
        q: R.Tensor((1, 48, 2, 32), \"float32\"),
    ):
        with R.dataflow():
            product = R.nn.relu(R.matmul(x, w))
            across = R.matmul(x, R.permute_dims(v))
            one_row = R.matmul(R.strided_slice(x, axes=[0], begin=[0], end=[1]), R.permute_dims(v))
            soft = R.nn.softmax(x, axis=-1)
            columns = R.sum(x, axis=[0])
            rows = R.max(x, axis=[1])
            turned = R.exp(R.permute_dims(x))
            chain = R.tanh(R.add(s, s))
            window = R.nn.conv2d(image, taps, strides=(2, 2), padding=(1, 1))
            heads = R.nn.attention(q, q, q)
            R.output(product, across, one_row, soft, columns, rows, turned, chain, window, heads)
        return (product, across, one_row, soft, columns, rows, turned, chain, window, heads)
";

fn plans(target: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.py");
    std::fs::write(&path, MODEL).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    let output = command.args(["opt", path.to_str().unwrap(), "--print-plans", "--target", target]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_class_has_a_plan_that_reads_well() {
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("wide", plans("x86-64-v4"));
        insta::assert_snapshot!("narrow", plans("x86-64-v2"));
    });
}

//! How kernels are computed: the plans of a module with every class of them, for processors with wide and narrow vectors.
#![cfg(feature = "llvm")]

mod networks;

#[allow(dead_code)]
mod support;

use hammock_compiler::PRIMITIVES;
use networks::Network;
use support::{hammock, stdout};
use tempfile::TempDir;

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
        each: R.Tensor((3, 1, 3, 3), \"float32\"),
        wide: R.Tensor((3, 1, 7, 7), \"float32\"),
        up: R.Tensor((3, 4, 3, 4), \"float32\"),
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
            alone = R.nn.conv2d(image, each, padding=(1, 1), groups=3)
            large = R.nn.conv2d(image, wide, padding=(3, 3), groups=3)
            patches = R.permute_dims(R.nn.conv2d(image, taps, strides=(4, 4)), axes=[0, 2, 3, 1])
            flat = R.reshape(R.nn.gelu(R.reshape(v, R.shape([1, 10, 20, 96]))), R.shape([200, 96]))
            spread = R.nn.conv2d_transpose(image, up, strides=(2, 2), padding=(1, 1), output_padding=(1, 0))
            made = (product, across, one_row, soft, columns, rows, turned, chain, window, heads, alone)
            more = (large, patches, flat, spread)
            R.output(made, more)
        return (made, more)
";

/// A folder with the model.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), MODEL).unwrap();
    folder
}

fn plans(folder: &TempDir, target: &str) -> String {
    stdout(hammock(folder.path(), &["opt", "model.py", "--print-plans", "--target", target]))
}

#[test]
fn every_class_has_a_plan_that_reads_well() {
    let folder = folder();
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("wide", plans(&folder, "x86-64-v4"));
        insta::assert_snapshot!("narrow", plans(&folder, "x86-64-v2"));
    });
}

#[test]
fn printed_plans_read_as_what_they_are() {
    let folder = folder();
    for flags in [&["--target", "x86-64-v4"][..], &["--target", "x86-64"], &["-O0"], &["-O3", "--strict-order"]] {
        let printed = stdout(hammock(folder.path(), &[&["opt", "model.py", "--print-plans"], flags].concat()));
        std::fs::write(folder.path().join("plan.txt"), &printed).unwrap();
        let read = hammock(folder.path(), &[&["opt", "model.py", "--plan", "plan.txt"], flags].concat());
        assert_eq!(stdout(read), printed);
    }
}

/// Attention over a cache of keys and values, whose heads several heads of queries share.
const CACHE: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor((\"b\", 4, \"s\", 16), \"float32\"),
        old: R.Tensor((\"b\", 2, \"p\", 16), \"float32\"),
        new: R.Tensor((\"b\", 2, \"s\", 16), \"float32\"),
        last: R.Tensor((16, 40), \"float32\"),
    ):
        b = T.int64()
        s = T.int64()
        p = T.int64()
        with R.dataflow():
            all = R.concat((old, new), axis=2)
            each = R.broadcast_to(R.reshape(all, (b, 2, 1, p + s, 16)), (b, 2, 2, p + s, 16))
            heads = R.reshape(each, (b, 4, p + s, 16))
            found = R.matmul(q, R.permute_dims(heads, [0, 1, 3, 2]))
            mixed = R.matmul(R.nn.softmax(found), heads)
            end = R.matmul(mixed, last)
            R.output(all, end)
        return (all, end)
";

#[test]
fn kernels_over_a_cache_have_plans() {
    let folder = folder();
    std::fs::write(folder.path().join("model.py"), CACHE).unwrap();
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("cache", plans(&folder, "x86-64-v4"));
    });
}

/// The cache may be empty, and rows may be one.
#[test]
fn kernels_over_a_cache_compute_what_the_reference_does() {
    let folder = folder();
    std::fs::write(folder.path().join("model.py"), CACHE).unwrap();
    stdout(hammock(&folder, &["compile", "model.py", "-o", "model.so"]));
    for (b, s, p) in [(1, 1, 0), (1, 1, 7), (2, 5, 3), (1, 0, 3)] {
        let tensor = |heads: i64, rows: i64| format!("random({b},{heads},{rows},16):float32");
        let [q, old, new] = [tensor(4, s), tensor(2, p), tensor(2, s)];
        let args = ["--arg", &q, "--arg", &old, "--arg", &new, "--arg", "random(16,40):float32"];
        let run = |start: &[&str]| stdout(hammock(&folder, &[&["run"], start, &args[..]].concat()));
        run(&["model.py", "--exec-mode", "reference", "--output", "expected.npz"]);
        run(&["model.so", "--expect", "expected.npz"]);
    }
}

const NARROW: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((64, 98), \"uint8\"),
        w: R.Tensor((98, 200), \"int8\"),
        a: R.Tensor((24, 64), \"bfloat16\"),
        b: R.Tensor((64, 200), \"bfloat16\"),
        image: R.Tensor((1, 30, 30, 16), \"int8\"),
        taps: R.Tensor((3, 3, 16, 40), \"int8\"),
    ):
        with R.dataflow():
            bytes = R.matmul(x, w, out_dtype=\"int32\")
            bfloats = R.matmul(a, b, out_dtype=\"float32\")
            window = R.nn.conv2d(image, taps, data_layout=\"NHWC\", kernel_layout=\"HWIO\", out_dtype=\"int32\")
            R.output(bytes, bfloats, window)
        return (bytes, bfloats, window)
";

/// Products of narrow numbers, for processors with dot products and without.
#[test]
fn narrow_products_have_dot_products() {
    let folder = folder();
    std::fs::write(folder.path().join("model.py"), NARROW).unwrap();
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("dots_wide", plans(&folder, "znver4"));
        insta::assert_snapshot!("dots_narrow", plans(&folder, "x86-64-v3"));
    });
    let printed = plans(&folder, "znver4");
    let read = |plan: &str, flags: &[&str]| {
        std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
        hammock(folder.path(), &[&["opt", "model.py", "--target", "znver4", "--plan", "plan.txt"], flags].concat())
    };
    assert_eq!(stdout(read(&printed, &["--print-plans"])), printed);
    let mut all = String::new();
    for (what, by, flags) in [
        ("as [v_k by 4, v_ax1]", "as [v_k, v_ax1]", &[][..]),
        ("as [v_k by 4, v_ax1]", "as [v_k by 2, v_ax1]", &[]),
        ("v_k by 4, v_ax0 unrolled", "v_k by 2, v_ax0 unrolled", &[]),
        ("v_k dot", "v_ax1 dot", &[]),
        (", v_k dot", "", &[]),
        ("dot-product: v_ax1 by 64", "dot-product: v_k by 32, v_ax1 by 64", &[]),
        ("copy of x2 as [v_k by 4, v_ax1] (elementwise: v_k, v_ax1 by 32, v_ax1 vector), ", "", &[]),
        ("copy of x2 as", "copy of factor as", &[]),
        ("dot-product", "dot-product", &["--strict-order"]),
    ] {
        assert!(printed.contains(what), "{what}\n{printed}");
        let output = read(&printed.replacen(what, by, 1), flags);
        assert_eq!(output.status.code(), Some(1), "{what}");
        all += &String::from_utf8(output.stderr).unwrap();
    }
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("dots_refused", all);
    });
}

const WEIGHTS: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 256), \"float32\"), y: R.Tensor((64, 256), \"float32\")):
        with R.dataflow():
            w = R.broadcast_to(R.const([3], \"int8\"), (256, 256))
            few = R.matmul(x, R.dequantize(w, R.const(0.5, \"float32\"), R.const(1, \"int8\"), axis=-1))
            turned = R.permute_dims(R.dequantize(w, R.const(0.5, \"float32\"), R.const(2, \"int8\"), axis=-1))
            many = R.matmul(y, turned)
            other = R.sum(R.dequantize(w, R.const(0.5, \"float32\"), R.const(3, \"int8\"), axis=-1))
            R.output(few, many, other)
        return (few, many, other)
";

/// Weights of few bits become no constants of many for products, which read them as they are; others do.
#[test]
fn products_read_weights_as_they_are_kept() {
    let folder = folder();
    std::fs::write(folder.path().join("model.py"), WEIGHTS).unwrap();
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("weights", plans(&folder, "x86-64-v4"));
    });
}

/// The kernels of whole networks.
/// Attention of heads that lie side by side, over any number of tokens.
const TOKENS: &str = "\
b = TypeVar(\"b\")
m = TypeVar(\"m\")
@I.ir_module
class Module:
    @R.function
    def main(tokens: R.Tensor((b, m, 64), \"float32\")):
        with R.dataflow():
            split = R.permute_dims(R.reshape(tokens, R.shape([b, m, 2, 32])), axes=[0, 2, 1, 3])
            scores = R.divide(R.matmul(split, R.permute_dims(split, axes=[0, 1, 3, 2])), R.const(5.6, \"float32\"))
            mixed = R.permute_dims(R.matmul(R.nn.softmax(scores), split), axes=[0, 2, 1, 3])
            joined = R.reshape(mixed, R.shape([b, m, 64]))
            R.output(joined)
        return joined
";

#[test]
fn heads_of_tokens_are_found_where_they_lie() {
    let folder = folder();
    std::fs::write(folder.path().join("model.py"), TOKENS).unwrap();
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("tokens", plans(&folder, "x86-64-v4"));
    });
}

#[test]
fn plans_of_networks_read_well() {
    let folder = folder();
    let plans = |network: Network| {
        std::fs::write(folder.path().join("model.py"), network.text()).unwrap();
        std::fs::write(folder.path().join("w.safetensors"), network.weights()).unwrap();
        let of_cpu =
            ["opt", "model.py", "--params", "w.safetensors", "--print-plans", "--target", "znver5", "--threads", "2"];
        stdout(hammock(folder.path(), &of_cpu))
    };
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("resnet18", plans(networks::resnet18()));
        insta::assert_snapshot!("minilm", plans(networks::minilm()));
    });
}

/// A kernel with a plan from the file is computed as it says, at every command that compiles.
#[test]
fn kernels_follow_the_plans_of_a_file() {
    let folder = folder();
    let plan = "
# Only this kernel; rules choose for the others.
fused_matmul_relu:
    outer-product: v_ax0 by 2 parallel 7, v_ax1 by 40, v_k, v_ax0 unrolled, v_ax1 vector  # by hand
";
    std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
    let target = ["--target", "x86-64-v3"];
    let read = stdout(hammock(folder.path(), &[&["opt", "model.py", "--plan", "plan.txt"], &target[..]].concat()));
    let own = plan.lines().nth(3).unwrap().split("  #").next().unwrap();
    assert!(read.contains(own) && read.contains("\nsoftmax:\n"), "{read}");
    let assembly = |flags: &[&str]| {
        let compile = ["compile", "model.py", "-o", "-", "--emit", "asm"];
        stdout(hammock(folder.path(), &[&compile, &target[..], flags].concat()))
    };
    assert_ne!(assembly(&[]), assembly(&["--plan", "plan.txt"]));
    let shapes =
        ["64,96", "96,200", "200,96", "1,3,32,32", "16,3,3,3", "5,96", "1,48,2,32", "3,1,3,3", "3,1,7,7", "3,4,3,4"];
    let args: Vec<String> =
        shapes.iter().flat_map(|shape| ["--arg".into(), format!("random({shape}):float32")]).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    stdout(hammock(folder.path(), &[&["run", "model.py", "--output", "of_rules.npz"], &args[..]].concat()));
    let planned = ["run", "model.py", "--plan", "plan.txt", "--expect", "of_rules.npz"];
    stdout(hammock(folder.path(), &[&planned, &args[..]].concat()));
}

/// Plans that are given as changes to others.
const CHANGES: &str = "\
matmul:
    outer-product: v_ax0, v_ax1, v_k
        split v_ax0 by 4
        split v_ax1 by 16
        reorder v_ax1 by 16, v_ax0 by 4, v_k, v_ax0, v_ax1
        unroll v_ax0
        vectorize v_ax1
        parallel v_ax1 by 16
        pack x2
---
matmul:
    planned
        serial v_ax1 by 16
        resplit v_ax1 by 16 to 32    # the copy is for as many
        parallel v_ax0 by 6 grain 2
---
matmul:
    planned
        split v_ax1 by 16 by 64
        attach x2 at v_ax1 by 64
        fuse v_ax1 by 64, v_ax1 by 16
---
matmul:
    planned
        attach x2 at root
---
matmul:
    planned by outer-product
        cache_read x1 as [v_ax0, v_k]
---
matmul:
    outer-product: v_k by 32, v_ax0, v_ax1, v_k
        serial v_ax1
---
matmul:
    outer-product: v_k by 32, v_ax0, v_ax1, v_k
        cache_write
---
matmul:
    planned
        inline x2
        unroll v_ax1
---
max:
    chains: v_ax0, v_k1
        rfactor v_k1 by 32
        parallel v_ax0 grain 4
---
softmax:
    rows, 4 at a time:
        planned
        planned
            resplit v_ax1 by 16 to 32
        planned by chains
        planned
            invert_divisor
---
softmax:
    planned
---
fused_add_tir_tanh:
    planned
        split v_ax0_ax1 by 16 by 512
---
matmul:
    outer-product: v_ax0, v_ax1, v_k
        split v_k by 24
        reorder v_k by 24, v_ax0, v_ax1
---
matmul:
    planned
        pad x2 along v_ax1 to 8
        pad x2 along v_k to 5
        pad x2 along v_ax1 to 1
";

/// The same for products of narrow numbers.
const NARROW_CHANGES: &str = "\
matmul:
    outer-product: v_ax0, v_ax1, v_k
        tensorize v_k
        split v_ax1 by 64
        split v_ax0 by 4
        reorder v_ax1 by 64, v_ax0 by 4, v_k by 4, v_ax0, v_ax1
        vectorize v_ax1
        unroll v_ax0
        pack x2
---
matmul1:
    planned
        fuse v_k by 2, v_k
        inline x2
";

/// Primitives change what a plan begins with, as the plan that comes of it shows.
#[test]
fn primitives_change_plans() {
    let folder = folder();
    let mut all = String::new();
    for (model, changes, target) in [(MODEL, CHANGES, "x86-64-v3"), (NARROW, NARROW_CHANGES, "znver4")] {
        std::fs::write(folder.path().join("model.py"), model).unwrap();
        for plan in changes.split("---\n") {
            std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
            let read = hammock(folder.path(), &["opt", "model.py", "--target", target, "--plan", "plan.txt"]);
            let (kernel, _) = plan.split_once('\n').unwrap();
            let printed = format!("\n{}", stdout(read));
            let (_, after) = printed.split_once(&format!("\n{kernel}\n")).unwrap();
            let lines = after.lines().take_while(|line| line.starts_with(' ')).filter(|line| !line.contains('#'));
            let lines: String = lines.map(|line| format!("{line}\n")).collect();
            all += &format!("{plan}# becomes\n{lines}\n");
        }
    }
    for primitive in PRIMITIVES {
        assert!(all.contains(&format!("        {}", primitive.name)), "{} is not tested", primitive.name);
    }
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("primitives", all);
    });
}

/// What primitives need, and what is said where it does not hold.
#[test]
fn primitives_are_refused_where_they_cannot_hold() {
    let folder = folder();
    let refused = |plan: &str, flags: &[&str]| {
        std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
        let output = hammock(folder.path(), &[&["opt", "model.py", "--plan", "plan.txt"], flags].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{plan}\n{said}");
        assert!(said.contains("error[E0311]") && said.contains("plan.txt:"), "{plan}\n{said}");
        said
    };
    let target = ["--target", "x86-64-v3"];
    let mut all = String::new();
    for change in [
        "splitt v_ax0 by 4",
        "elementwise: v_ax0",
        "split v_ax9 by 4",
        "split v_ax0",
        "split v_ax0 by 1",
        "split v_ax0 by 6 by 65",
        "split v_ax1 by 64 by 4",
        "resplit v_k to 8",
        "resplit v_ax1 by 16 to 400",
        "fuse v_ax0 by 6, v_ax1 by 16",
        "fuse v_k, v_k",
        "reorder v_k, v_ax0 by 6",
        "reorder v_k, v_k",
        "vectorize v_ax0",
        "vectorize v_ax0 by 6",
        "unroll v_ax1 by 16",
        "split v_k by 4 by 2",
        "parallel v_k",
        "rfactor v_ax0 by 2",
        "rfactor v_k by 8",
        "tensorize v_k",
        "cache_read x2",
        "cache_read matmul",
        "cache_read x1 as [v_ax1]",
        "cache_read x1 at v_k",
        "attach x1 at root",
        "inline x1",
        "attach x2",
        "invert_divisor",
        "cache_write",
        "cache_write matmul",
        "pad v_ax0 by 8",
        "pad x1 along v_k to 8",
        "pad x2 along v_ax0 to 8",
        "pad x2 along v_k to 8192",
    ] {
        all += &refused(&format!("matmul:\n    planned\n        {change}\n"), &target);
    }
    for plan in [
        "matmul:\n    planned by nosuch\n",
        "matmul:\n    planned by tiles\n",
        "softmax:\n    planned\n        split v_ax0 by 4\n",
        "softmax:\n    rows, 8 at a time:\n        planned\n            parallel v_ax0\n        planned\n        planned\n        planned\n",
        "max:\n    chains: v_ax0, v_k1\n        rfactor v_k1 by 24\n",
        "max:\n    planned\n        cache_read x at root\n        pad x along v_k1 to 16\n",
    ] {
        all += &refused(plan, &target);
    }
    let strict = ["--target", "x86-64-v3", "--strict-order"];
    for change in ["rfactor v_k1 by 8", "vectorize v_k1"] {
        all += &refused(&format!("max:\n    planned\n        {change}\n"), &strict);
    }
    std::fs::write(folder.path().join("model.py"), NARROW).unwrap();
    all += &refused("matmul1:\n    outer-product: v_ax0, v_ax1, v_k\n        tensorize v_k\n", &target);
    all += &refused("matmul:\n    outer-product: v_ax0, v_ax1, v_k\n        tensorize v_k\n", &target);
    all += &refused("matmul:\n    planned\n        pad x2 along v_k to 8\n", &target);
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("primitives_refused", all);
    });
}

/// Edits of printed plans, and what is said about each.
#[test]
fn impossible_plans_are_refused() {
    let folder = folder();
    let printed = plans(&folder, "x86-64-v3");
    let refused = |plan: &str, flags: &[&str]| {
        std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
        let opt = ["opt", "model.py", "--target", "x86-64-v3", "--plan", "plan.txt"];
        let output = hammock(folder.path(), &[&opt, flags].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{plan}\n{said}");
        assert!(said.contains("error[E0311]") && said.contains("plan.txt:"), "{plan}\n{said}");
        said
    };
    let mut all = String::new();
    for (kernel, plan) in [
        ("matmul", "outer-product: v_ax0, v_ax1 by 16, v_k, v_ax2 vector"),
        ("matmul", "outer-prodct: v_ax0, v_ax1 by 16, v_k, v_ax1 vector"),
        ("matmul", "outer-product: v_ax0, v_ax1 by 16, v_k"),
        ("matmul", "outer-product: v_ax0, v_ax1"),
        ("matmul", "outer-product: v_ax0, v_k, v_ax1"),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k parallel 2"),
        ("matmul", "outer-product: v_ax0 parallel 2, v_ax1 parallel 2, v_k"),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k unrolled, v_k"),
        (
            "fused_matmul_relu",
            "outer-product: v_ax0 by 7, v_ax0 by 5, v_ax1 by 77, v_k unrolled, v_ax0 unrolled, v_ax1 unrolled",
        ),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k by 8, v_k by 2, v_k"),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k by 8, v_k vector"),
        ("max", "chains: v_ax0, v_k1 by 8, v_k1"),
        ("matmul", "inner-product: v_k by 64, v_k by 4, v_ax0, v_ax1, v_k vector"),
        ("matmul", "outer-product: v_ax1, v_ax0 by 8, v_k, v_ax0 vector"),
        ("matmul", "outer-product: v_ax0, v_ax1 by 8, v_k, v_ax1 by 2 vector"),
        ("matmul", "outer-product: v_ax0, v_ax1 by 8, v_ax1 by 16, v_k, v_ax1 vector"),
        ("matmul", "outer-product: v_ax1, v_k, v_ax0 unrolled, v_ax1 vector, v_ax1"),
        ("matmul", "outer-product: v_ax0 by 64, v_ax1 by 100, v_k, v_ax0 unrolled, v_ax1 unrolled"),
        ("matmul", "packed-product: v_ax1, v_ax0, copy of x3 as [v_k] (elementwise: v_k), v_k"),
        ("matmul", "packed-product: v_ax1 by 8, copy of x2 as [v_k] (elementwise: v_k), v_ax0, v_k, v_ax1 vector"),
        ("matmul", "packed-product: v_ax1, copy of x2 as [v_k, v_ax0] (elementwise: v_k, v_ax0), v_ax0, v_k"),
        ("matmul", "packed-product: v_ax1, copy of x2 as [v_k] (elementwise: v_k parallel 2), v_ax0, v_k"),
        ("matmul", "packed-product: v_ax1, v_ax0, v_k, copy of x2 as [] (elementwise:)"),
        ("matmul", "outer-product: v_ax0 by 0, v_ax0, v_ax1, v_k"),
        ("matmul", "outer-product: v_ax0 twice, v_ax1, v_k"),
        ("matmul", "outer-product v_ax0, v_ax1, v_k"),
        ("matmul", "as written"),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k\n    as written"),
        ("sum", "lanes-of-results: v_ax0 by 8, v_k0, v_ax0 vector, divisor inverted"),
        ("transpose", "tiles: v_ax0, v_ax1 by 8, v_ax1 vector"),
        ("fused_add_tir_tanh", "elementwise: v_ax1, v_ax0 unrolled"),
        ("shape_func", "elementwise: i\n    as written"),
        ("softmax", "rows, 8 at a time:\n        elementwise: v_ax0"),
        ("matmull", "as written"),
        ("attention", "rows, 8 at a time, v_ax1 parallel 1:"),
    ] {
        all += &refused(&format!("# edited\n{kernel}:\n    {plan}\n"), &[]);
    }
    all += &refused(&printed.replace("rows, 8 at a time", "rows, 7 at a time"), &[]);
    all += &refused(&printed, &["--strict-order"]);
    all += &refused("matmul:\n    outer-product: v_ax0, v_ax1, v_k by 8, v_k\n", &["--strict-order"]);
    all += &refused("matmul\n", &[]);
    all += &refused("sum:\n    as written\nsum:\n    as written\n", &[]);
    all += &refused("attention:\n    copy of key as [v_d] for stage 1 (elementwise: v_d)\n", &[]);
    insta::with_settings!({ snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("refused", all);
    });
}

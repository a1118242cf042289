//! Plan files: they override the rules' plans; invalid ones are rejected.

use super::{CLASSES, Model, NARROW};
use crate::support::{snapshot, stdout};
use hammock_compiler::PRIMITIVES;

/// Plans as edits of other plans.
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
    unrolled-reduction: v_ax0, v_k1
        rfactor v_k1 by 32
        parallel v_ax0 grain 4
---
softmax:
    rows, 4 at a time:
        planned
        planned
            resplit v_ax1 by 16 to 32
        planned by unrolled-reduction
        planned
            hoist_reciprocal
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

/// The same for matmuls of narrow types.
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

/// Every command that compiles applies the plans of a file.
#[test]
fn plans_of_a_file_are_applied() {
    let model = Model::new(CLASSES);
    let plan = "
# Only this kernel; rules choose for the others.
fused_matmul_relu:
    outer-product: v_ax0 by 2 parallel 7, v_ax1 by 40, v_k, v_ax0 unrolled, v_ax1 vector  # by hand
";
    let target = ["--target-cpu", "x86-64-v3"];
    let read = stdout(model.planned(plan, &target));
    let own = plan.lines().nth(3).unwrap().split("  #").next().unwrap();
    assert!(read.contains(own) && read.contains("\nsoftmax:\n"), "{read}");
    let assembly = |flags: &[&str]| {
        let compile = ["compile", "model.py", "-o", "-", "--emit", "asm"];
        stdout(model.hammock(&[&compile, &target, flags]))
    };
    assert_ne!(assembly(&[]), assembly(&["--plan", "plan.txt"]));
    let shapes =
        ["64,96", "96,200", "200,96", "1,3,32,32", "16,3,3,3", "5,96", "1,48,2,32", "3,1,3,3", "3,1,7,7", "3,4,3,4"];
    let args: Vec<String> =
        shapes.iter().flat_map(|shape| ["--arg".into(), format!("random({shape}):float32")]).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    stdout(model.hammock(&[&["run", "model.py", "--output", "of_rules.npz"], &args]));
    stdout(model.hammock(&[&["run", "model.py", "--plan", "plan.txt", "--expect", "of_rules.npz"], &args]));
}

/// Primitives edit the rule's plan, as the printed plan shows.
#[test]
fn primitives_edit_plans() {
    let mut all = String::new();
    for (text, changes, target) in [(CLASSES, CHANGES, "x86-64-v3"), (NARROW, NARROW_CHANGES, "znver4")] {
        let model = Model::new(text);
        for plan in changes.split("---\n") {
            let (kernel, _) = plan.split_once('\n').unwrap();
            let printed = format!("\n{}", stdout(model.planned(plan, &["--target-cpu", target])));
            let (_, after) = printed.split_once(&format!("\n{kernel}\n")).unwrap();
            let lines = after.lines().take_while(|line| line.starts_with(' ')).filter(|line| !line.contains('#'));
            let lines: String = lines.map(|line| format!("{line}\n")).collect();
            all += &format!("{plan}# becomes\n{lines}\n");
        }
    }
    for primitive in PRIMITIVES {
        assert!(all.contains(&format!("        {}", primitive.name)), "{} is not tested", primitive.name);
    }
    snapshot("plans", "primitives", &all);
}

/// Preconditions of primitives, and the messages if they do not hold.
#[test]
fn invalid_primitives_are_rejected() {
    let model = Model::new(CLASSES);
    let target = ["--target-cpu", "x86-64-v3"];
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
        "hoist_reciprocal",
        "cache_write",
        "cache_write matmul",
        "pad v_ax0 by 8",
        "pad x1 along v_k to 8",
        "pad x2 along v_ax0 to 8",
        "pad x2 along v_k to 8192",
    ] {
        all += &model.refused(&format!("matmul:\n    planned\n        {change}\n"), &target);
    }
    for plan in [
        "matmul:\n    planned by nosuch\n",
        "matmul:\n    planned by transpose\n",
        "softmax:\n    planned\n        split v_ax0 by 4\n",
        "softmax:\n    rows, 8 at a time:\n        planned\n            parallel v_ax0\n        planned\n        planned\n        planned\n",
        "max:\n    unrolled-reduction: v_ax0, v_k1\n        rfactor v_k1 by 24\n",
        "max:\n    planned\n        cache_read x at root\n        pad x along v_k1 to 16\n",
    ] {
        all += &model.refused(plan, &target);
    }
    let strict = ["--target-cpu", "x86-64-v3", "--strict-order"];
    for change in ["rfactor v_k1 by 8", "vectorize v_k1"] {
        all += &model.refused(&format!("max:\n    planned\n        {change}\n"), &strict);
    }
    let model = Model::new(NARROW);
    all += &model.refused("matmul1:\n    outer-product: v_ax0, v_ax1, v_k\n        tensorize v_k\n", &target);
    all += &model.refused("matmul:\n    outer-product: v_ax0, v_ax1, v_k\n        tensorize v_k\n", &target);
    all += &model.refused("matmul:\n    planned\n        pad x2 along v_k to 8\n", &target);
    snapshot("plans", "primitives_refused", &all);
}

/// Invalid edits of printed plans, with their messages.
#[test]
fn invalid_plans_are_rejected() {
    let model = Model::new(CLASSES);
    let printed = model.plans("x86-64-v3");
    let target = ["--target-cpu", "x86-64-v3"];
    let strict = ["--target-cpu", "x86-64-v3", "--strict-order"];
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
        ("matmul", "outer-product: v_ax1 by 8, v_ax0 by 4 prefetch, v_k, v_ax0 unrolled, v_ax1 vector"),
        ("max", "unrolled-reduction: v_ax0, v_k1 by 8, v_k1"),
        ("matmul", "inner-product: v_k by 64, v_k by 4, v_ax0, v_ax1, v_k vector"),
        ("matmul", "outer-product: v_ax1, v_ax0 by 8, v_k, v_ax0 vector"),
        ("matmul", "outer-product: v_ax0, v_ax1 by 8, v_k, v_ax1 by 2 vector"),
        ("matmul", "outer-product: v_ax0, v_ax1 by 8, v_ax1 by 16, v_k, v_ax1 vector"),
        ("matmul", "outer-product: v_ax1, v_k, v_ax0 unrolled, v_ax1 vector, v_ax1"),
        ("matmul", "outer-product: v_ax0 by 64, v_ax1 by 100, v_k, v_ax0 unrolled, v_ax1 unrolled"),
        ("matmul", "packed-outer-product: v_ax1, v_ax0, copy of x3 as [v_k] (elementwise: v_k), v_k"),
        (
            "matmul",
            "packed-outer-product: v_ax1 by 8, copy of x2 as [v_k] (elementwise: v_k), v_ax0, v_k, v_ax1 vector",
        ),
        ("matmul", "packed-outer-product: v_ax1, copy of x2 as [v_k, v_ax0] (elementwise: v_k, v_ax0), v_ax0, v_k"),
        ("matmul", "packed-outer-product: v_ax1, copy of x2 as [v_k] (elementwise: v_k parallel 2), v_ax0, v_k"),
        ("matmul", "packed-outer-product: v_ax1, v_ax0, v_k, copy of x2 as [] (elementwise:)"),
        ("matmul", "outer-product: v_ax0 by 0, v_ax0, v_ax1, v_k"),
        ("matmul", "outer-product: v_ax0 twice, v_ax1, v_k"),
        ("matmul", "outer-product v_ax0, v_ax1, v_k"),
        ("matmul", "opaque"),
        ("matmul", "outer-product: v_ax0, v_ax1, v_k\n    opaque"),
        ("sum", "vertical-reduction: v_ax0 by 8, v_k0, v_ax0 vector, reciprocal hoisted"),
        ("transpose", "transpose: v_ax0, v_ax1 by 8, v_ax1 vector"),
        ("fused_add_tir_tanh", "elementwise: v_ax1, v_ax0 unrolled"),
        ("shape_func", "elementwise: i\n    opaque"),
        ("softmax", "rows, 8 at a time:\n        elementwise: v_ax0"),
        ("matmull", "opaque"),
        ("attention", "rows, 8 at a time, v_ax1 parallel 1:"),
    ] {
        all += &model.refused(&format!("# edited\n{kernel}:\n    {plan}\n"), &target);
    }
    all += &model.refused(&printed.replace("rows, 8 at a time", "rows, 7 at a time"), &target);
    all += &model.refused(&printed, &strict);
    all += &model.refused("matmul:\n    outer-product: v_ax0, v_ax1, v_k by 8, v_k\n", &strict);
    all += &model.refused("matmul\n", &target);
    all += &model.refused("sum:\n    opaque\nsum:\n    opaque\n", &target);
    all += &model.refused("attention:\n    copy of key as [v_d] for stage 1 (elementwise: v_d)\n", &target);
    snapshot("plans", "refused", &all);
}

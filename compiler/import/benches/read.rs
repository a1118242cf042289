//! Throughput of reading, verifying and printing: ten megabytes of graphs and kernels in one module.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hammock_diagnostics::SourceFile;
use hammock_import::{ReadOptions, read_module};
use hammock_ir::{print::module_text, verify};
use hammock_ops::Table;
use hammock_syntax::parse;
use std::fmt::Write;

const SIZE: usize = 10_000_000;

/// One kernel and one graph that calls it, numbered.
fn functions(i: usize) -> String {
    format!(
        r#"
    @T.prim_func(private=True, s_tir=True)
    def smooth{i}(signal: T.Buffer((n, T.int64(64)), "float32"), smoothed: T.Buffer((n, T.int64(64)), "float32")):
        T.func_attr({{"tirx.noalias": True}})
        total = T.sblock_alloc_buffer((n, T.int64(64)))
        for i, j, k in T.grid(n, T.int64(64), T.int64(3)):
            with T.sblock("total"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(signal[vi, T.max(vj - vk, T.int64(0))])
                T.writes(total[vi, vj])
                with T.init():
                    total[vi, vj] = T.float32(0.0)
                total[vi, vj] = total[vi, vj] + signal[vi, T.max(vj - vk, T.int64(0))]
        for i, j in T.grid(n, T.int64(64)):
            with T.sblock("smoothed"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(total[vi, vj])
                T.writes(smoothed[vi, vj])
                smoothed[vi, vj] = T.if_then_else(total[vi, vj] < T.float32(0.0), T.exp(total[vi, vj]), total[vi, vj] / T.float32(3.0))

    @R.function
    def graph{i}(x: R.Tensor((n, 64), dtype="float32"), w: R.Tensor((64, 32), dtype="float32"), b: R.Tensor((32,), dtype="float32")) -> R.Tensor((n, 32), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.smooth{i}, (x,), out_ty=R.Tensor((n, 64), dtype="float32"))
            lv1: R.Tensor((n, 32), dtype="float32") = R.matmul(lv, w, out_dtype=None)
            lv2: R.Tensor((n, 32), dtype="float32") = R.add(lv1, b)
            lv3: R.Tensor((n, 32), dtype="float32") = R.nn.softmax(lv2, axis=-1)
            lv4: R.Tensor((n, 32), dtype="float32") = R.multiply(lv3, R.const(0.5, "float32"))
            gv: R.Tensor((n, 32), dtype="float32") = R.nn.relu(lv4)
            R.output(gv)
        return gv
"#
    )
}

fn text() -> String {
    let mut text = String::from("n = TypeVar(\"n\")\n@I.ir_module\nclass Module:");
    let mut i = 0;
    while text.len() < SIZE {
        text.write_str(&functions(i)).expect("strings take all text");
        i += 1;
    }
    text
}

fn read_and_print(criterion: &mut Criterion) {
    let file = SourceFile::new("module.py", text()).expect("the text is short");
    if let Some(path) = std::env::var_os("HAMMOCK_BENCH_TEXT") {
        std::fs::write(path, file.text()).expect("the text is written, for others to read");
    }
    let options = ReadOptions::default();
    let module = read_module(&file, &options).expect("the text is a module");
    let mut group = criterion.benchmark_group("ten megabytes");
    group.sample_size(10).throughput(Throughput::Bytes(file.text().len() as u64));
    group.bench_function("to a tree", |b| b.iter_with_large_drop(|| parse(&file)));
    group.bench_function("to a module", |b| b.iter_with_large_drop(|| read_module(&file, &options)));
    group.bench_function("to a verified module", |b| {
        b.iter_with_large_drop(|| {
            let module = read_module(&file, &options).expect("the text is a module");
            assert!(verify::module(&module, &Table).is_empty());
            module
        });
    });
    group.bench_function("to text", |b| b.iter_with_large_drop(|| module_text(&module, &Default::default())));
    group.finish();
}

criterion_group!(benches, read_and_print);
criterion_main!(benches);

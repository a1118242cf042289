//! Throughput of parsing: 10 MB of modules, copies of the test examples.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hammock_diagnostics::SourceFile;
use hammock_syntax::parse;

const EXAMPLES: [&str; 2] = [include_str!("../tests/examples/loops.py"), include_str!("../tests/examples/linear.py")];
const SIZE: usize = 10_000_000;

fn modules() -> SourceFile {
    let text: String = EXAMPLES.concat().repeat(SIZE / EXAMPLES.concat().len() + 1);
    SourceFile::new("modules.py", text).expect("the text is short")
}

fn parse_modules(criterion: &mut Criterion) {
    let file = modules();
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10).throughput(Throughput::Bytes(file.text().len() as u64));
    group.bench_function("tree", |bencher| bencher.iter_with_large_drop(|| parse(&file)));
    group.bench_function("tree and drop", |bencher| bencher.iter(|| parse(&file)));
    group.bench_function("lines", |bencher| bencher.iter(|| SourceFile::new("modules.py", file.text())));
    group.finish();
}

criterion_group!(benches, parse_modules);
criterion_main!(benches);

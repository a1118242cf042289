//! Growth of the compiler's work with its input, measured in allocated bytes, which are reproducible.
//!
//! Each input is compiled at sizes n, 2n and 4n. Where work is linear, the step from 2n to 4n allocates twice as much
//! as the step from n to 2n; constant costs cancel. Scans without allocations and LLVM's memory are not covered:
//! `GROWTH=8` multiplies all sizes by 8 and also prints the growth of CPU time, without a limit.

#[path = "linear_growth/onnx.rs"]
mod onnx;
#[path = "linear_growth/texts.rs"]
mod texts;

use hammock_compiler::{Emit, Evaluator, Failure, Options, ReadOptions, compile, lower, read_text};
use hammock_diagnostics::SourceFile;
use hammock_onnx::{Data, ImportOptions};
use hammock_passes::pipeline;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Maximum growth, in multiples of linear growth.
const MAX_GROWTH: f64 = 1.3;

/// Inputs: name, n, and generator. Each is compiled at sizes n, 2n and 4n.
const INPUTS: &[(&str, usize, Make)] = &[
    ("a tensor split into rows", 16, Text(texts::split)),
    ("concat of many inputs", 16, Text(texts::concat)),
    ("matmuls of one input", 16, Text(texts::matmuls)),
    ("broadcasts of the same operands", 4, Text(texts::joint_sizes)),
    ("equal bindings", 64, Text(texts::equal_bindings)),
    ("stores in one kernel", 1024, Text(texts::stores)),
    ("private functions that call each other", 64, Text(texts::chained_functions)),
    ("steps of a GRU", 8, Text(texts::gru)),
    ("ONNX functions that call each other", 256, Onnx(onnx::chained_functions)),
];

/// Generator of inputs by size.
enum Make {
    Text(fn(usize) -> String),
    Onnx(fn(usize) -> Vec<u8>),
}
use Make::{Onnx, Text};

/// Input of the compiler.
enum Input {
    Text(String),
    Onnx(Vec<u8>),
}

impl Make {
    fn input(&self, size: usize) -> Input {
        match self {
            Text(text) => Input::Text(text(size)),
            Onnx(model) => Input::Onnx(model(size)),
        }
    }
}

/// System allocator that counts the bytes requested by all threads.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

/// Compiles an input; returns the error if there is one.
fn compiled(input: Input) -> Result<(), Failure> {
    let (mut module, source) = match input {
        Input::Text(text) => {
            let source = SourceFile::new("growth.py", text).unwrap();
            (read_text(&source, &ReadOptions::default())?, source)
        }
        Input::Onnx(model) => {
            let imported =
                hammock_onnx::import(Data::Bytes(Arc::new(model)), "growth.onnx", None, &ImportOptions::default());
            let imported = imported.map_err(|errors| Failure::from(errors.diagnostics))?;
            (imported.module, imported.source)
        }
    };
    let (options, evaluator) = (Options { threads: 1, ..Options::default() }, Evaluator::new());
    let environment = options.environment(&evaluator);
    lower(&mut module, &source, &pipeline(options.level), &environment, &mut Default::default())?;
    compile(&module, &source, &options, Emit::Lib).map(drop)
}

/// Cost of a compilation.
struct Work {
    bytes: f64,
    /// CPU time in nanoseconds.
    time: f64,
}

/// Measures the cost of `f`.
fn work<T>(f: impl FnOnce() -> T) -> (T, Work) {
    let (bytes, time) = (BYTES.load(Relaxed), cpu_time());
    let result = f();
    let work = Work { bytes: (BYTES.load(Relaxed) - bytes) as f64, time: cpu_time() - time };
    (result, work)
}

/// Returns the CPU time of this thread in nanoseconds.
fn cpu_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0.0)
}

/// Computes growth in multiples of linear growth, from values at n, 2n and 4n.
fn growth(sizes: &[Work; 3], of: impl Fn(&Work) -> f64) -> f64 {
    let [a, b, c] = sizes.each_ref().map(of);
    (c - b) / (b - a) / 2.0
}

#[test]
fn work_grows_linearly() {
    let factor = std::env::var("GROWTH").ok().map(|factor| factor.parse::<usize>().unwrap());
    // The first compilation creates tables that later ones reuse.
    compiled(Input::Text(texts::split(2))).unwrap();
    let mut failed = Vec::new();
    for (name, size, make) in INPUTS {
        let size = size * factor.unwrap_or(1);
        let sizes = [1, 2, 4].map(|step| {
            let input = make.input(size * step);
            let (result, work) = work(|| compiled(input));
            result.unwrap_or_else(|failure| panic!("{name}: {}", failure.render(false)));
            work
        });
        let bytes = growth(&sizes, |work| work.bytes);
        println!("{name}, n = {size}: bytes {:?}, {bytes:.2} times linear", sizes.each_ref().map(|work| work.bytes));
        if factor.is_some() {
            let milliseconds = sizes.each_ref().map(|work| (work.time / 1e6).round());
            println!("    milliseconds {milliseconds:?}, {:.2} times linear", growth(&sizes, |work| work.time));
        }
        if bytes > MAX_GROWTH {
            failed.push(format!("{name} {bytes:.2}"));
        }
    }
    assert!(failed.is_empty(), "these grow faster than {MAX_GROWTH} times linear: {failed:?}");
    // In the same test, since bytes are counted per process.
    nested_unrolled_loops_do_not_multiply();
}

/// Extents of nested loops multiply, so unrolling them all is exponential in the text: outer loops stay loops.
fn nested_unrolled_loops_do_not_multiply() {
    let [shallow, deep] = [3, 5].map(|depth| work(|| compiled(Input::Text(texts::unrolled(depth))).unwrap()).1.bytes);
    assert!(deep < 2.0 * shallow, "{shallow} bytes for 3 nested unrolled loops, {deep} for 5");
}

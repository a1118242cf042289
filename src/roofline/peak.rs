//! The machine's peak, measured with kernels written for it.

use crate::failure::{input_failure, tool_failure};
use hammock_compiler::{Build, Dump, Emit, Failure, Model, Options, Silent, Target, target};
use hammock_diagnostics::SourceFile;
use hammock_tools::{CallSpec, RunOptions, sample};
use std::time::Duration;

/// Duration of each measurement.
const PROBE: Duration = Duration::from_millis(150);
/// Number of independent accumulators: more than latency times throughput of a multiply-add.
const CHAINS: i64 = 12;
/// Number of multiply-adds of each accumulator.
const FMAS: i64 = 100_000;

/// The machine's peak.
pub struct Peak {
    /// Floating-point operations (float32) in a second.
    pub flops: f64,
    /// Bytes from and to memory in a second.
    pub memory: f64,
    /// The same from and to caches, of no more bytes than `in_cache`.
    pub cache: f64,
    in_cache: f64,
    /// Number of threads.
    pub threads: usize,
}

impl Peak {
    /// Measures it on the threads that kernels run on.
    ///
    /// # Errors
    /// If a kernel cannot be compiled or run.
    pub fn measure(run: &RunOptions) -> Result<Peak, Failure> {
        let threads = run.threads.unwrap_or(Options::default().threads);
        let machine = target("native").unwrap_or_else(Target::host);
        let flops = (2 * CHAINS * FMAS * i64::from(machine.vector_bytes / 4)) as f64 * threads as f64;
        let last = machine.caches.l3.max(machine.caches.l2).clamp(16 << 20, 64 << 20) as i64;
        let flops = flops / seconds(&multiply_adds(&machine, threads), run)?;
        let near = (machine.caches.l2 / 16) as i64;
        let rate = |count: i64| Ok::<f64, Failure>((2 * count * 4) as f64 / seconds(&stream(count), run)?);
        Ok(Peak { flops, memory: rate(last)?, cache: rate(near)?, in_cache: machine.caches.l2 as f64, threads })
    }

    /// Peak bandwidth in bytes per second for a kernel that reads and writes `bytes` bytes.
    pub fn bytes(&self, bytes: f64) -> f64 {
        if bytes <= self.in_cache { self.cache } else { self.memory }
    }
}

/// `acc = acc * x + x`, many times over, in registers.
fn multiply_adds(machine: &Target, threads: usize) -> String {
    let lanes = machine.vector_bytes / 4;
    let fma = if machine.fma { "T.fma(acc[AT], x[v], x[v])" } else { "acc[AT] * x[v] + x[v]" };
    let all = CHAINS * i64::from(lanes);
    let at = format!("u * T.int64({lanes}) + v");
    let vectors = |indent: &str, statement: &str| {
        format!("{indent}for u in T.unroll(T.int64({CHAINS})):\n{indent}    for v in T.vectorized(T.int64({lanes})):\n{indent}        {statement}\n")
            .replace("AT", &at)
    };
    format!(
        "from tvm.script import tirx as T\n\n@T.prim_func\ndef main(x: T.Buffer((T.int64({lanes}),), \"float32\"), \
         y: T.Buffer((T.int64({threads}), T.int64({all})), \"float32\")):\n    for t in T.parallel(T.int64({threads})):\n        \
         acc = T.alloc_buffer((T.int64({all}),), \"float32\", scope=\"local\")\n{}        \
         for k in range(T.int64({FMAS})):\n{}{}",
        vectors("        ", "acc[AT] = x[v]"),
        vectors("            ", &format!("acc[AT] = {fma}")),
        vectors("        ", "y[t, AT] = acc[AT]"),
    )
}

/// A copy of `count` numbers.
fn stream(count: i64) -> String {
    format!(
        "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef main(x: T.Buffer((T.int64({count}),), \"float32\"), \
         y: T.Buffer((T.int64({count}),), \"float32\")):\n    for i in range(T.int64({count})):\n        \
         with T.sblock(\"copy\"):\n            v = T.axis.spatial(T.int64({count}), i)\n            y[v] = x[v]\n"
    )
}

/// Minimum time of a kernel on zeros, in seconds.
fn seconds(text: &str, run: &RunOptions) -> Result<f64, Failure> {
    let source = SourceFile::new("<the machine's peak>", text)?;
    let model = Model::from_text(source)?;
    let options = Options { threads: run.threads.unwrap_or(Options::default().threads), ..Options::default() };
    let mut progress = Silent;
    let mut build = Build::new(model, options, &mut progress);
    build.lower(&build.options().pipeline(), &mut Dump::default())?;
    let arguments = build.keep_kernel("main")?.arguments(&[])?;
    let artifact = build.compile(Emit::Lib)?;
    // What limits the user's program does not limit this.
    let run = RunOptions { limits: Default::default(), ..run.clone() };
    let session = artifact.load(&run).map_err(tool_failure)?;
    let spec = CallSpec { func: "main", args: &arguments, weights: None };
    let args = session.arguments(&spec).map_err(input_failure)?;
    let samples = sample(PROBE, || session.call("main", &args).map(drop)).map_err(|e| tool_failure(e.into()))?;
    Ok(samples.quantile(0.0).max(1.0) / 1e9)
}

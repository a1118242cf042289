//! What the machine can do, measured by kernels of our own.

use crate::failure::{input_failure, tool_failure};
use hammock_compiler::{
    Emit, Evaluator, Failure, Options, ReadOptions, Target, compile, keep_kernel, lower, read_text, target,
};
use hammock_diagnostics::SourceFile;
use hammock_passes::pipeline;
use hammock_runtime::tools::{CallSpec, RunOptions, Session, sample};
use std::time::Duration;

/// How long each rate is measured.
const PROBE: Duration = Duration::from_millis(150);
/// Sums of products side by side: more than the latency of one times what is done in a cycle.
const CHAINS: i64 = 12;
/// Products in each chain.
const PRODUCTS: i64 = 100_000;

/// What the machine can do.
pub struct Peak {
    /// Floating-point operations (float32) in a second.
    pub flops: f64,
    /// Bytes from and to memory in a second.
    pub memory: f64,
    /// The same from and to caches, of no more bytes than `in_cache`.
    pub cache: f64,
    in_cache: f64,
    /// On how many threads.
    pub threads: usize,
}

impl Peak {
    /// Measures it, on as many threads as kernels run on.
    ///
    /// # Errors
    /// When the kernels that measure do not run.
    pub fn measure(how: &RunOptions) -> Result<Peak, Failure> {
        let threads = how.threads.unwrap_or(Options::default().threads);
        let machine = target("native").unwrap_or_else(Target::host);
        let flops = (2 * CHAINS * PRODUCTS * i64::from(machine.vector_bytes / 4)) as f64 * threads as f64;
        let last = machine.caches.l3.max(machine.caches.l2).clamp(16 << 20, 64 << 20) as i64;
        let flops = flops / seconds(&products(&machine, threads), how)?;
        let near = (machine.caches.l2 / 16) as i64;
        let rate = |count: i64| Ok::<f64, Failure>((2 * count * 4) as f64 / seconds(&stream(count), how)?);
        Ok(Peak { flops, memory: rate(last)?, cache: rate(near)?, in_cache: machine.caches.l2 as f64, threads })
    }

    /// The bytes in a second that a kernel can have that reads and writes so many.
    pub fn bytes(&self, bytes: f64) -> f64 {
        if bytes <= self.in_cache { self.cache } else { self.memory }
    }
}

/// `acc = acc * x + x`, many times over, in registers.
fn products(machine: &Target, threads: usize) -> String {
    let lanes = machine.vector_bytes / 4;
    let product = if machine.fma { "T.fma(acc[AT], x[v], x[v])" } else { "acc[AT] * x[v] + x[v]" };
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
         for k in range(T.int64({PRODUCTS})):\n{}{}",
        vectors("        ", "acc[AT] = x[v]"),
        vectors("            ", &format!("acc[AT] = {product}")),
        vectors("        ", "y[t, AT] = acc[AT]"),
    )
}

/// A copy of so many numbers.
fn stream(count: i64) -> String {
    format!(
        "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef main(x: T.Buffer((T.int64({count}),), \"float32\"), \
         y: T.Buffer((T.int64({count}),), \"float32\")):\n    for i in range(T.int64({count})):\n        \
         with T.sblock(\"copy\"):\n            v = T.axis.spatial(T.int64({count}), i)\n            y[v] = x[v]\n"
    )
}

/// The least time that a kernel takes, on zeros.
fn seconds(text: &str, how: &RunOptions) -> Result<f64, Failure> {
    let source = SourceFile::new("<the machine's peak>", text)?;
    let mut module = read_text(&source, &ReadOptions::default())?;
    let arguments = keep_kernel(&mut module, "main")?.arguments(&[])?;
    let options = Options { threads: how.threads.unwrap_or(Options::default().threads), ..Options::default() };
    let evaluator = Evaluator::new();
    lower(&mut module, &source, &pipeline(2), &options.environment(&evaluator), &mut Default::default())?;
    let artifact = compile(&module, &source, &options, Emit::Lib)?;
    // What limits the user's program does not limit this.
    let how = RunOptions { limits: Default::default(), ..how.clone() };
    let session = Session::from_bytes(artifact.file.into_bytes(), &how).map_err(tool_failure)?;
    let spec = CallSpec { func: "main", args: &arguments, weights: None };
    let args = session.arguments(&spec).map_err(input_failure)?;
    let samples = sample(PROBE, || session.call("main", &args).map(drop)).map_err(|e| tool_failure(e.into()))?;
    Ok(samples.quantile(0.0).max(1.0) / 1e9)
}

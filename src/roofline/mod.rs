//! `hammock bench --roofline`: kernels compared with the machine's peak.
//!
//! The peak is measured with two kernels: multiply-adds in registers, and a copy that exceeds the caches. The lower bound of a
//! kernel's time is the maximum of its operations at the one rate and its bytes at the other.

mod counter;
mod peak;
mod svg;

use crate::failure::{input_failure, tool_failure};
use counter::Counter;
use hammock_compiler::{Failure, Flops};
use hammock_runtime::{profile::Profiler, vm::instrument::CalleeKind};
use hammock_tools::{CallSpec, Session};
pub use peak::Peak;
use serde_json::{Value, json};
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

/// A kernel as it ran.
struct Kernel {
    name: String,
    calls: u64,
    /// Minimum time of a call in seconds.
    time: f64,
    flops: Option<f64>,
    bytes: f64,
}

/// The kernels of a function, next to the machine's peak.
pub struct Roofline {
    peak: Peak,
    kernels: Vec<Kernel>,
    /// Number of measured calls of the function.
    runs: u64,
}

/// A kernel next to the machine's peak.
pub struct Row<'a> {
    pub name: &'a str,
    /// Calls of the kernel in a call of the function.
    pub calls: f64,
    /// Minimum time of a call in seconds.
    pub time: f64,
    /// Operations in a second, where they are known.
    pub flops: Option<f64>,
    /// Bytes of its tensors in a second.
    pub bytes: f64,
    /// Lower bound of its time over its time, and what the bound is: arithmetic or memory.
    pub share: f64,
    pub limit: &'static str,
}

impl Roofline {
    /// Calls a function for at least `min_time`, and at least once after a warm-up call.
    ///
    /// # Errors
    /// When the arguments do not fit, or the function fails.
    pub fn measure(
        session: &Session,
        spec: &CallSpec,
        min_time: Duration,
        work: Vec<(String, Option<Flops>)>,
        peak: Peak,
    ) -> Result<Roofline, Failure> {
        let args = session.arguments(spec).map_err(input_failure)?;
        let call = || session.call(spec.func, &args).map(drop).map_err(|e| tool_failure(e.into()));
        let counter = Counter::new(work);
        session.vm().set_instrument(Some(counter.clone()));
        let first = call();
        session.vm().set_instrument(None);
        first?;
        let profiler = Profiler::new();
        session.vm().set_instrument(Some(profiler.clone()));
        let start = Instant::now();
        let (mut result, mut runs) = (call(), 1);
        while result.is_ok() && start.elapsed() < min_time {
            (result, runs) = (call(), runs + 1);
        }
        session.vm().set_instrument(None);
        result?;
        let rows = profiler.profile().rows().into_iter().filter(|row| row.kind == CalleeKind::Kernel);
        let kernel = |row: hammock_runtime::profile::Row| Kernel {
            calls: row.count,
            time: row.min.as_secs_f64().max(1e-9),
            flops: counter.of(&row.name),
            bytes: row.bytes as f64 / row.count.max(1) as f64,
            name: row.name,
        };
        Ok(Roofline { peak, kernels: rows.map(kernel).collect(), runs })
    }

    /// The kernel's share of the peak, and whether arithmetic or memory limits it.
    fn share(&self, kernel: &Kernel) -> (f64, &'static str) {
        let (arithmetic, memory) =
            (kernel.flops.unwrap_or(0.0) / self.peak.flops, kernel.bytes / self.peak.bytes(kernel.bytes));
        let (bound, limit) = if arithmetic > memory { (arithmetic, "arithmetic") } else { (memory, "memory") };
        (bound / kernel.time, limit)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.peak.threads
    }

    /// The kernels, those first that take the longest in a call of the function.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let row = |kernel| {
            let (share, limit) = self.share(kernel);
            let Kernel { name, calls, time, flops, bytes } = kernel;
            let calls = *calls as f64 / self.runs as f64;
            Row { name, calls, time: *time, flops: flops.map(|flops| flops / time), bytes: bytes / time, share, limit }
        };
        let mut rows: Vec<Row> = self.kernels.iter().map(row).collect();
        rows.sort_by(|a, b| (b.calls * b.time).total_cmp(&(a.calls * a.time)));
        rows
    }

    /// For people.
    pub fn table(&self) -> String {
        let Peak { flops, memory, cache, threads, .. } = &self.peak;
        let width = self.kernels.iter().map(|kernel| kernel.name.chars().count()).max().unwrap_or(0).max(12);
        let mut text = format!(
            "peak, measured on {threads} threads: {:.1} GFLOP/s of float32, {:.1} GB/s from caches, {:.1} GB/s from memory\n\n{:<width$} {:>8} {:>12} {:>10} {:>8} {:>7}  limit\n",
            flops / 1e9,
            cache / 1e9,
            memory / 1e9,
            "kernel",
            "calls",
            "time",
            "GFLOP/s",
            "GB/s",
            "share",
        );
        for kernel in &self.kernels {
            let (share, limit) = self.share(kernel);
            let flops = kernel.flops.map_or("-".to_owned(), |flops| format!("{:.2}", flops / kernel.time / 1e9));
            let _ = writeln!(
                text,
                "{:<width$} {:>8} {:>9.2} us {flops:>10} {:>8.2} {:>5.0} %  {limit}",
                kernel.name,
                kernel.calls,
                kernel.time * 1e6,
                kernel.bytes / kernel.time / 1e9,
                share * 100.0,
            );
        }
        if let Some(remark) = self.remark() {
            let _ = writeln!(text, "\n{remark}");
        }
        text
    }

    /// An explanation of shares above 100 %, if there are any.
    fn remark(&self) -> Option<&'static str> {
        self.kernels.iter().any(|kernel| self.share(kernel).0 > 1.0).then_some(
            "Above 100 %: the tensors fit in the L1 cache, or the kernel reads only parts of them; bytes count whole tensors.",
        )
    }

    /// For programs: one object.
    pub fn json(&self) -> String {
        let kernel = |kernel: &Kernel| {
            let (share, limit) = self.share(kernel);
            json!({
                "name": kernel.name,
                "calls": kernel.calls,
                "min_ns": kernel.time * 1e9,
                "flops": kernel.flops,
                "bytes": kernel.bytes,
                "gflops": kernel.flops.map(|flops| flops / kernel.time / 1e9),
                "gbs": kernel.bytes / kernel.time / 1e9,
                "share": share,
                "limit": limit,
            })
        };
        let kernels: Vec<Value> = self.kernels.iter().map(kernel).collect();
        let Peak { flops, memory, cache, threads, .. } = &self.peak;
        let peak = json!({ "gflops": flops / 1e9, "gbs": memory / 1e9, "cache_gbs": cache / 1e9, "threads": threads });
        format!("{:#}\n", json!({ "peak": peak, "kernels": kernels }))
    }

    /// A drawing.
    pub fn svg(&self) -> String {
        svg::svg(self)
    }
}

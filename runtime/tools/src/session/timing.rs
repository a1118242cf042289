//! Timing repeated calls.

use std::time::{Duration, Instant};

/// Sorted samples of repeated calls, in nanoseconds per call.
pub struct Samples(Vec<f64>);

/// Minimum duration of a sample, so that reading the clock is negligible: short calls are timed in batches.
const SAMPLE: Duration = Duration::from_micros(200);

/// Calls `f` until `min_time` has passed, after one warm-up call, and returns the times.
///
/// # Errors
/// The first error of `f`.
pub fn sample<E>(min_time: Duration, mut f: impl FnMut() -> Result<(), E>) -> Result<Samples, E> {
    let start = Instant::now();
    f()?;
    let once = start.elapsed().max(Duration::from_nanos(1));
    let batch = (SAMPLE.as_nanos() / once.as_nanos()).clamp(1, 100_000) as u32;
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < min_time || times.is_empty() {
        let begin = Instant::now();
        for _ in 0..batch {
            f()?;
        }
        times.push(begin.elapsed().as_nanos() as f64 / f64::from(batch));
    }
    times.sort_by(f64::total_cmp);
    Ok(Samples(times))
}

impl Samples {
    /// The quantile of the samples for `share`.
    pub fn quantile(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share).round() as usize]
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The JSON object that `bench --json` prints.
    pub fn json(&self, threads: usize, peak_bytes: usize) -> String {
        format!(
            "{{\"median_ns\":{:.1},\"p90_ns\":{:.1},\"min_ns\":{:.1},\"samples\":{},\"threads\":{threads},\"peak_bytes\":{peak_bytes}}}",
            self.median(),
            self.quantile(0.9),
            self.quantile(0.0),
            self.count(),
        )
    }

    /// A one-line summary.
    pub fn text(&self, threads: usize, peak_bytes: usize) -> String {
        format!(
            "median {}   p90 {}   min {}   ({} samples, {threads} threads, peak {:.1} MiB)",
            duration_text(self.median()),
            duration_text(self.quantile(0.9)),
            duration_text(self.quantile(0.0)),
            self.count(),
            peak_bytes as f64 / f64::from(1 << 20),
        )
    }
}

/// A duration in nanoseconds with a unit: `1.23 us`.
pub fn duration_text(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

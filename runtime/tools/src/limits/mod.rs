//! Flags that limit what a model may use.

pub(crate) mod watchdog;

use clap::Args;
use hammock_runtime::{Error, memory::within_limit, vm::Options};
use std::time::{Duration, Instant};
use watchdog::Bounds;

/// The heading of these flags in `--help`. (`next_help_heading` would hold for flags after them, too.)
const LIMITS: &str = "Limits";

/// Memory and time limits of a command.
#[derive(Args, Clone, Debug, Default)]
pub struct BudgetFlags {
    /// Maximum memory for tensors: while the model is compiled, and on each device while it runs, including the model and
    /// its arguments; in bytes, or as 64M or 2G [default: while it runs, 7/8 of the memory of the machine or of its control
    /// group, and all memory of a GPU]
    #[arg(long, value_name = "BYTES", help_heading = LIMITS, value_parser = parse_bytes)]
    pub max_memory: Option<usize>,
    /// Maximum time for reading and compiling together, and then for a call, including reading its arguments and writing its
    /// result
    #[arg(long, value_name = "SECONDS", help_heading = LIMITS, value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// Limits of a model.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitFlags {
    /// Memory and time limits.
    #[command(flatten)]
    pub budget: BudgetFlags,
    /// Maximum depth of nested function calls
    #[arg(long, value_name = "N", help_heading = LIMITS, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_depth: Option<u32>,
}

/// Memory for small tensors that a compiler creates in addition to those of a model.
const SMALL_TENSORS: usize = 1 << 20;

impl BudgetFlags {
    /// Reads and compiles a model within the limits. Exceeding the tensor memory is an error. A command that takes too
    /// long, or whose process takes much more memory than the limit, exits with status 1.
    ///
    /// # Errors
    /// If the watchdog cannot be started.
    pub fn compiling<R>(&self, work: impl FnOnce() -> R) -> Result<R, Error> {
        let counted = || match self.max_memory {
            Some(limit) => within_limit(limit.max(SMALL_TENSORS), work),
            None => Ok(work()),
        };
        let end = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        watchdog::bounded(Bounds { end, memory: self.max_memory.map(most_resident), what: COMPILING }, counted)?
    }
}

/// Name of the work in the watchdog's message.
const COMPILING: &str = "reading and compiling";

/// Memory limit of the process while it compiles with a limit for tensors: passes and code generators take some memory
/// on each thread, whatever the model.
fn most_resident(limit: usize) -> usize {
    const FOR_PASSES: usize = 256 << 20;
    const FOR_EACH_THREAD: usize = 64 << 20;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    limit.saturating_add(FOR_PASSES).saturating_add(FOR_EACH_THREAD.saturating_mul(threads))
}

impl LimitFlags {
    /// Sets the limits that are given.
    pub(crate) fn apply(&self, options: &mut Options) {
        options.memory_limit = self.budget.max_memory.or(options.memory_limit);
        options.max_depth = self.max_depth.map_or(options.max_depth, |depth| depth as usize);
        options.timeout = self.budget.timeout.or(options.timeout);
    }
}

/// Parses a memory size: a number of bytes, or with a unit such as `64M` and `2G`.
///
/// # Errors
/// If it is invalid.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let shift = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("not a number of bytes: write 1000000, 64M or 2G".to_owned()),
    };
    let number: Option<usize> = text[..text.len() - unit.len()].parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "not a number of bytes: write 1000000, 64M or 2G".to_owned())
}

/// Parses a positive time in seconds.
///
/// # Errors
/// If it is invalid.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "not a time in seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_bytes("123"), Ok(123));
        assert_eq!((parse_bytes("64M"), parse_bytes("2GiB"), parse_bytes("1k")), (Ok(64 << 20), Ok(2 << 30), Ok(1024)));
        for wrong in ["", "M", "1x", "-1", "1.5G", "99999999999T", "64 M"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(["0", "-1", "x", "inf", "nan"].iter().all(|text| parse_seconds(text).is_err()));
    }
}

//! Spills large constants: results computed from memory-mapped constants go to unnamed temporary files, and pages of either
//! are released while the other is worked on.

use hammock_runtime::{DType, Device, Tensor, value::TensorError};
use std::{fs, sync::mpsc, thread, time::Duration};

/// Minimum size in bytes of a tensor that is spilled.
const LARGE: usize = 128 << 20;

/// Maximum bytes of mapped files in memory while a kernel runs.
const MOST: usize = 128 << 20;

/// Interval between checks of the memory in use.
const EACH: Duration = Duration::from_millis(5);

/// An output tensor. Elements that the kernel does not write have a deterministic value.
pub fn output(dtype: DType, shape: &[i64]) -> Result<Tensor, TensorError> {
    let count = shape.iter().try_fold(1usize, |all, size| all.checked_mul(usize::try_from(*size).ok()?));
    let is_large = count.and_then(|count| dtype.storage_bytes(count)).is_some_and(|bytes| bytes >= LARGE);
    let in_file = || Tensor::in_scratch(dtype, shape, &tempfile::tempfile().ok()?).ok();
    if let Some(tensor) = is_large.then(in_file).flatten() {
        return Ok(tensor);
    }
    let mut tensor = Tensor::empty(dtype, shape, Device::CPU)?;
    tensor.as_bytes_mut()?.fill(0xff);
    Ok(tensor)
}

/// Runs `work`, which reads and writes these tensors. Their pages are released at the end; those of large tensors also
/// while it runs.
pub fn during<T>(tensors: &[Tensor], work: impl FnOnce() -> T) -> T {
    let evict = || tensors.iter().for_each(Tensor::evict);
    let result = if tensors.iter().any(|tensor| tensor.nbytes() >= LARGE) {
        thread::scope(|scope| {
            let (finished, waits) = mpsc::channel::<()>();
            scope.spawn(move || {
                while waits.recv_timeout(EACH) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if mapped().is_none_or(|bytes| bytes > MOST) {
                        evict();
                    }
                }
            });
            let result = work();
            drop(finished);
            result
        })
    } else {
        work()
    };
    evict();
    result
}

/// Bytes of mapped files in the process's memory, if the system reports them.
fn mapped() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |line: &str| Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10);
    status.lines().filter(|line| line.starts_with("RssFile:") || line.starts_with("RssShmem:")).map(bytes).sum()
}

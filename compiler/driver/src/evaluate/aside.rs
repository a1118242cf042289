//! Keeps large constants out of memory: what is computed of them goes to a file without a name, as what it is computed of
//! lies in one, and either leaves memory while the other is worked on.

use hammock_runtime::{DType, Device, Tensor, value::TensorError};
use std::{fs, sync::mpsc, thread, time::Duration};

/// Bytes from which a tensor is large: smaller ones stay in memory, where they are faster.
const LARGE: usize = 128 << 20;

/// Bytes of mapped files that may be in memory meanwhile.
const MOST: usize = 128 << 20;

/// How often it is looked: a few pages more are used in that time.
const EACH: Duration = Duration::from_millis(5);

/// A tensor that a kernel can write. What it leaves unwritten is the same each time.
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

/// Runs `work`, which reads and writes these tensors. In the end they are set aside, since others are worked on next;
/// large ones are also set aside on the way.
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

/// Bytes of mapped files that are in the process's memory, if the system tells.
fn mapped() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |line: &str| Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10);
    status.lines().filter(|line| line.starts_with("RssFile:") || line.starts_with("RssShmem:")).map(bytes).sum()
}

//! `Model.bench` and the class `Timing`: the time of repeated calls.
use crate::{html, signals};
use hammock_runtime::{Vm, parallel};
use hammock_tools::{Samples, sample};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;

/// Maximum duration of a measurement.
const MAX_SECONDS: f64 = 86_400.0;

/// Times of repeated calls of a function, in seconds per call.
///
/// `str(timing)` is a line with the median, the 90th percentile, the minimum, the number of samples, and the memory.
#[pyclass(frozen, module = "hammock")]
pub struct Timing {
    samples: Samples,
    threads: usize,
    peak_bytes: usize,
}

#[pymethods]
impl Timing {
    /// The median, in seconds.
    #[getter]
    fn median(&self) -> f64 {
        self.samples.median() / 1e9
    }

    /// The 90th percentile, in seconds.
    #[getter]
    fn p90(&self) -> f64 {
        self.samples.quantile(0.9) / 1e9
    }

    /// The fastest sample, in seconds.
    #[getter]
    fn min(&self) -> f64 {
        self.samples.quantile(0.0) / 1e9
    }

    /// The slowest sample, in seconds.
    #[getter]
    fn max(&self) -> f64 {
        self.samples.quantile(1.0) / 1e9
    }

    /// The number of samples. A sample is a batch of calls that takes 0.2 ms or more.
    #[getter]
    fn samples(&self) -> usize {
        self.samples.count()
    }

    /// The number of threads that the model ran on.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// The maximum memory that the model has used so far, in bytes.
    #[getter]
    fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// The quantile `share`, from 0 to 1, in seconds.
    fn quantile(&self, share: f64) -> PyResult<f64> {
        if !(0.0..=1.0).contains(&share) {
            return Err(PyValueError::new_err(format!("`share` is from 0 to 1, not {share}")));
        }
        Ok(self.samples.quantile(share) / 1e9)
    }

    /// The numbers as JSON, as `hammock bench --json` prints them.
    fn json(&self) -> String {
        self.samples.json(self.threads, self.peak_bytes)
    }

    fn __str__(&self) -> String {
        self.samples.text(self.threads, self.peak_bytes)
    }

    fn __repr__(&self) -> String {
        format!("<hammock.Timing {}>", self.__str__())
    }

    fn _repr_html_(&self) -> String {
        let figures = [("median", 0.5), ("p90", 0.9), ("min", 0.0), ("max", 1.0)];
        let time = |share| html::microseconds(self.samples.quantile(share) / 1e3);
        let mut rows: Vec<Vec<String>> = figures.map(|(name, share)| vec![name.to_owned(), time(share)]).into();
        rows.push(vec!["samples".to_owned(), self.samples.count().to_string()]);
        rows.push(vec!["threads".to_owned(), self.threads.to_string()]);
        html::table(&["figure", "per call"], &rows)
    }
}

/// Makes a call repeatedly for about `min_time` seconds.
///
/// # Errors
/// If the time is not positive, or the call fails; the exception of a signal's handler.
pub fn bench(
    py: Python<'_>,
    vm: &Vm,
    min_time: f64,
    call: impl Fn() -> PyResult<()> + Send + Sync,
) -> PyResult<Timing> {
    let time = Duration::try_from_secs_f64(min_time).ok().filter(|_| min_time > 0.0 && min_time <= MAX_SECONDS);
    let time = time.ok_or_else(|| {
        PyValueError::new_err(format!("`min_time` is a number of seconds from 0 to {MAX_SECONDS}, not {min_time}"))
    })?;
    let samples = signals::released(py, || sample(time, call))?;
    Ok(Timing { samples, threads: parallel::threads(), peak_bytes: vm.memory().charged_peak })
}

//! Measurements of calls: `Model.bench` and the class `Timing`, `Model.profile` and the class `Profile`.
use crate::html;
use hammock_runtime::{
    Vm, parallel, printable,
    profile::{Profile as Data, Profiler, Row},
};
use hammock_tools::{Samples, sample};
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Maximum duration of a measurement.
const MAX_SECONDS: f64 = 86_400.0;
/// Maximum number of individual calls in a profile.
const MAX_EVENTS: usize = 1_000_000;
/// Time between two checks for signals, such as Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

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
        let time = |share| microseconds(self.samples.quantile(share) / 1e3);
        let mut rows: Vec<Vec<String>> = figures.map(|(name, share)| vec![name.to_owned(), time(share)]).into();
        rows.push(vec!["samples".to_owned(), self.samples.count().to_string()]);
        rows.push(vec!["threads".to_owned(), self.threads.to_string()]);
        html::table(&["figure", "per call"], &rows)
    }
}

fn microseconds(time: f64) -> String {
    format!("{time:.2} µs")
}

/// Makes a call repeatedly for about `min_time` seconds.
///
/// # Errors
/// If the time is not positive, or the call fails; the exception of a signal's handler.
pub fn bench(py: Python<'_>, vm: &Vm, min_time: f64, call: impl Fn() -> PyResult<()> + Sync) -> PyResult<Timing> {
    let time = Duration::try_from_secs_f64(min_time).ok().filter(|_| min_time > 0.0 && min_time <= MAX_SECONDS);
    let time = time.ok_or_else(|| {
        PyValueError::new_err(format!("`min_time` is a number of seconds from 0 to {MAX_SECONDS}, not {min_time}"))
    })?;
    let samples = py.detach(|| {
        let mut checked = Instant::now();
        sample(time, || call().and_then(|()| check_signals(&mut checked)))
    })?;
    Ok(Timing { samples, threads: parallel::threads(), peak_bytes: vm.memory().charged_peak })
}

/// Runs the handlers of signals that came, if the last check was a while ago.
fn check_signals(checked: &mut Instant) -> PyResult<()> {
    if checked.elapsed() < SIGNAL_INTERVAL {
        return Ok(());
    }
    let result = Python::attach(|py| py.check_signals());
    *checked = Instant::now();
    result
}

/// Where a function spends its time: a tree of the calls that it made.
///
/// `str(profile)` and notebooks show it as a table; `flame_graph()` draws it.
#[pyclass(frozen, module = "hammock")]
pub struct Profile(Data);

#[pymethods]
impl Profile {
    /// The time of all calls, in seconds.
    #[getter]
    fn total(&self) -> f64 {
        self.0.total().as_secs_f64()
    }

    /// The functions and kernels, those with the most own time first.
    #[getter]
    fn rows(&self) -> Vec<ProfileRow> {
        self.0.rows().into_iter().map(ProfileRow).collect()
    }

    /// The table.
    fn table(&self) -> String {
        printable(&self.0.table()).into_owned()
    }

    /// The rows as JSON, as `hammock run --profile=json` prints them.
    fn json(&self) -> String {
        self.0.json()
    }

    /// Every single call, in the Trace Event Format, which ui.perfetto.dev and chrome://tracing show.
    fn trace(&self) -> String {
        self.0.trace()
    }

    /// The flame graph. Notebooks draw it.
    fn flame_graph(&self) -> FlameGraph {
        FlameGraph(printable(&self.0.flame_graph()).into_owned())
    }

    /// Writes the profile to a file: the flame graph if its name ends in `.svg`, the trace if it ends in `.trace.json`, the JSON
    /// if it ends in `.json`, the table otherwise.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let name = path.to_string_lossy();
        let text = match () {
            () if name.ends_with(".svg") => self.flame_graph().0,
            () if name.ends_with(".trace.json") => self.trace(),
            () if name.ends_with(".json") => self.json(),
            () => self.table(),
        };
        write(&path, &text)
    }

    fn __str__(&self) -> String {
        self.table()
    }

    fn __repr__(&self) -> String {
        let (rows, total) = (self.0.rows().len(), self.0.total().as_secs_f64() * 1e6);
        format!("<hammock.Profile of {rows} functions and kernels, {}>", microseconds(total))
    }

    fn _repr_html_(&self) -> String {
        let header = ["name", "kind", "count", "own", "share", "total"];
        let row = |row: Row| {
            let (own, total) = (row.own.as_secs_f64() * 1e6, row.total.as_secs_f64() * 1e6);
            let share = format!("{:.1} %", row.share * 100.0);
            vec![row.name, row.kind.to_string(), row.count.to_string(), microseconds(own), share, microseconds(total)]
        };
        let rows: Vec<Vec<String>> = self.0.rows().into_iter().map(row).collect();
        html::table(&header, &rows) + &self.flame_graph().0
    }
}

/// A function or kernel in a profile, over all places that call it.
#[pyclass(frozen, module = "hammock")]
pub struct ProfileRow(Row);

#[pymethods]
impl ProfileRow {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its kind: `"function"`, `"kernel"`, `"builtin"` or `"registered"`.
    #[getter]
    fn kind(&self) -> String {
        self.0.kind.to_string()
    }

    /// The number of calls.
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    /// The time of all calls without their callees, in seconds.
    #[getter]
    fn own(&self) -> f64 {
        self.0.own.as_secs_f64()
    }

    /// The time of all calls with their callees, in seconds.
    #[getter]
    fn total(&self) -> f64 {
        self.0.total.as_secs_f64()
    }

    /// The mean time of a call with its callees, in seconds.
    #[getter]
    fn mean(&self) -> f64 {
        self.0.mean().as_secs_f64()
    }

    /// The shortest call with its callees, in seconds.
    #[getter]
    fn min(&self) -> f64 {
        self.0.min.as_secs_f64()
    }

    /// The longest call with its callees, in seconds.
    #[getter]
    fn max(&self) -> f64 {
        self.0.max.as_secs_f64()
    }

    /// The own time relative to the time of all calls, from 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.0.share
    }

    /// Bytes of the tensors that the calls read and wrote.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// The lines of the model that call it, as `file:line`.
    #[getter]
    fn sources(&self) -> Vec<String> {
        self.0.sources.iter().map(|source| source.file_line()).collect()
    }

    fn __repr__(&self) -> String {
        let own = microseconds(self.0.own.as_secs_f64() * 1e6);
        format!("<hammock.ProfileRow {} ({}): {} calls, {own}>", self.0.name, self.0.kind, self.0.count)
    }
}

/// A flame graph, as the text of an SVG file.
#[pyclass(frozen, module = "hammock")]
pub struct FlameGraph(String);

#[pymethods]
impl FlameGraph {
    /// Writes the SVG file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        write(&path, &self.0)
    }

    fn __str__(&self) -> &str {
        &self.0
    }

    fn __repr__(&self) -> String {
        format!("<hammock.FlameGraph of {} bytes>", self.0.len())
    }

    fn _repr_svg_(&self) -> &str {
        &self.0
    }
}

fn write(path: &PathBuf, text: &str) -> PyResult<()> {
    fs::write(path, text).map_err(|error| PyOSError::new_err(format!("cannot write {}: {error}", path.display())))
}

/// Makes a call `number` times, after one that warms up, and records where the time goes.
///
/// # Errors
/// If `number` is 0, or a call fails; the exception of a signal's handler.
pub fn profile(py: Python<'_>, vm: &Vm, number: usize, call: impl Fn() -> PyResult<()> + Sync) -> PyResult<Profile> {
    if number == 0 {
        return Err(PyValueError::new_err("`number` is the number of calls, at least 1"));
    }
    let profiler = Profiler::with_events(MAX_EVENTS);
    py.detach(|| {
        call()?;
        vm.set_instrument(Some(profiler.clone()));
        let mut checked = Instant::now();
        let result = (0..number).try_for_each(|_| call().and_then(|()| check_signals(&mut checked)));
        vm.set_instrument(None);
        result
    })?;
    Ok(Profile(profiler.profile()))
}

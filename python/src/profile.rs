//! `Model.profile` and the class `Profile`: where calls spend their time.
use crate::{html, signals};
use hammock_runtime::{
    Vm, printable,
    profile::{Profile as Data, Profiler, Row},
};
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};
use std::{fs, path::PathBuf};

/// Maximum number of individual calls in a profile.
const MAX_EVENTS: usize = 1_000_000;

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

    /// Writes the profile to a file: the flame graph if its name ends in `.svg`, the trace if it ends in `.trace.json`,
    /// the JSON if it ends in `.json`, the table otherwise.
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
        format!("<hammock.Profile of {rows} functions and kernels, {}>", html::microseconds(total))
    }

    fn _repr_html_(&self) -> String {
        let header = ["name", "kind", "count", "own", "share", "total"];
        let row = |row: Row| {
            let (own, total) = (row.own.as_secs_f64() * 1e6, row.total.as_secs_f64() * 1e6);
            let share = format!("{:.1} %", row.share * 100.0);
            vec![
                row.name,
                row.kind.to_string(),
                row.count.to_string(),
                html::microseconds(own),
                share,
                html::microseconds(total),
            ]
        };
        let rows: Vec<Vec<String>> = self.0.rows().into_iter().map(row).collect();
        html::table(&header, &rows) + &self.flame_graph().0
    }
}

/// A function or kernel in a profile, over all call sites.
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

    /// The time of its work on a GPU, in seconds; 0 on the CPU.
    #[getter]
    fn device(&self) -> f64 {
        self.0.device.as_secs_f64()
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
        let own = html::microseconds(self.0.own.as_secs_f64() * 1e6);
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
pub fn profile(
    py: Python<'_>,
    vm: &Vm,
    number: usize,
    call: impl Fn() -> PyResult<()> + Send + Sync,
) -> PyResult<Profile> {
    if number == 0 {
        return Err(PyValueError::new_err("`number` is the number of calls, at least 1"));
    }
    let profiler = Profiler::with_events(MAX_EVENTS);
    signals::released(py, || {
        call()?;
        vm.set_instrument(Some(profiler.clone()));
        let result = (0..number).try_for_each(|_| call());
        vm.set_instrument(None);
        result
    })?;
    Ok(Profile(profiler.profile()))
}

//! Calls of the runtime with the interpreter released, and the signals that arrive meanwhile.
//!
//! Python handles signals, such as Ctrl-C, on its main thread, which cannot do so while it runs a model. So its calls
//! run within a [`HostCheck`]: a thread requests the check every [`PERIOD`], and the virtual machine makes it before
//! the next kernel. A handler that raises an exception, such as KeyboardInterrupt, thereby ends the call.
//!
//! The thread starts with the first call, and parks if the main thread has made none for a while. It never attaches to
//! the interpreter. A call of the main thread costs about 50 ns more for it, one of another thread nothing.
use crate::error::from_exception;
use hammock_runtime::{Error, vm::HostCheck};
use pyo3::prelude::*;
use std::{
    cell::Cell,
    ptr::null_mut,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst},
    thread::{self, Thread},
    time::Duration,
};

/// Time between two checks.
const PERIOD: Duration = Duration::from_millis(50);

/// Number of periods without a call after which the thread parks.
const MAX_IDLE_PERIODS: u32 = 20;

static CHECK: HostCheck = HostCheck::new(check_signals);

/// True while the main thread is in a call.
static IS_BUSY: AtomicBool = AtomicBool::new(false);

/// True if the thread that requests checks is parked, or does not run.
static IS_PARKED: AtomicBool = AtomicBool::new(true);

/// That thread; null if it does not run.
static REQUESTER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());

/// Number of forks between the program's first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// True if this is the main thread, with the number of forks at which that was determined.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Runs `body` with the interpreter released. Calls of models in it handle signals, if this is the main thread.
pub fn released<R: Send>(py: Python<'_>, body: impl FnOnce() -> R + Send) -> R {
    if !is_main_thread(py) {
        return py.detach(body);
    }
    let _busy = Busy::enter();
    py.detach(|| CHECK.within(body))
}

/// Handles pending signals; an exception of a handler becomes the error of the call.
fn check_signals() -> Result<(), Error> {
    let checked = Python::try_attach(|py| py.check_signals().map_err(|exception| from_exception(py, exception)));
    // While Python shuts down, nobody handles signals any more.
    checked.unwrap_or(Ok(()))
}

fn is_main_thread(py: Python<'_>) -> bool {
    let forks = FORKS.load(SeqCst);
    if let Some((known_at, is_main)) = IS_MAIN.get()
        && known_at == forks
    {
        return is_main;
    }
    let is_main = determine_main_thread(py).unwrap_or(false);
    IS_MAIN.set(Some((forks, is_main)));
    is_main
}

#[cold]
fn determine_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Says that the main thread is in a call, until it is dropped.
struct Busy {
    /// True if the call is within another one.
    is_nested: bool,
}

impl Busy {
    fn enter() -> Busy {
        let is_nested = IS_BUSY.swap(true, SeqCst);
        // Either this thread sees here that the other one is parked, or that one sees that this one is busy.
        if IS_PARKED.load(SeqCst) {
            wake();
        }
        Busy { is_nested }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        IS_BUSY.store(self.is_nested, SeqCst);
    }
}

/// Wakes or starts the thread that requests checks. Only the main thread does this.
#[cold]
fn wake() {
    let requester = REQUESTER.load(SeqCst);
    // SAFETY: the thread's handle is never freed.
    if let Some(requester) = unsafe { requester.as_ref() } {
        return requester.unpark();
    }
    // Without the thread, signals are handled when the call returns.
    if let Ok(handle) = thread::Builder::new().name("hammock-signals".into()).spawn(request_checks) {
        REQUESTER.store(Box::into_raw(Box::new(handle.thread().clone())), SeqCst);
    }
}

fn request_checks() {
    loop {
        IS_PARKED.store(false, SeqCst);
        let mut idle_periods = 0;
        while idle_periods < MAX_IDLE_PERIODS {
            thread::sleep(PERIOD);
            let is_busy = IS_BUSY.load(SeqCst);
            if is_busy {
                CHECK.request();
            }
            idle_periods = if is_busy { 0 } else { idle_periods + 1 };
        }
        IS_PARKED.store(true, SeqCst);
        while !IS_BUSY.load(SeqCst) {
            thread::park();
        }
    }
}

/// Prepares a forked child, whose only thread is its main thread.
#[pyfunction]
fn after_fork() {
    FORKS.fetch_add(1, SeqCst);
    REQUESTER.store(null_mut(), SeqCst);
    IS_PARKED.store(true, SeqCst);
    IS_BUSY.store(false, SeqCst);
}

/// Has Python call [`after_fork`] in forked children.
///
/// # Errors
/// If Python refuses.
pub fn register_at_fork(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let how = pyo3::types::PyDict::new(py);
    how.set_item("after_in_child", wrap_pyfunction!(after_fork, module)?)?;
    os.call_method("register_at_fork", (), Some(&how)).map(drop)
}

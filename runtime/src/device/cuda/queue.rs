//! Launches of a thread that it has not waited for, and the errors that they report.
//!
//! A device function that fails writes the error record of the thread that launched it. The thread reads the record
//! when it waits for the device. The token in the record is the number of the launch in the thread's queue.
use super::driver::Driver;
use super::functions::DeviceFunction;
use super::graph::{Collected, CudaGraph, ExecutableGraph};
use super::limits::Extents;
use super::record::Record;
use super::{Cuda, driver};
use crate::device::Graph;
use crate::device::launch::{CallSite, Launch};
use crate::ffi::Error;
use cudarc::driver::sys::{self, CUresult};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;

/// Maximum number of launches that a thread queues before it waits for them.
const MAX_QUEUED: usize = 1 << 16;
/// Number of device functions that the message of a failure names.
const MAX_NAMES: usize = 4;

thread_local! {
    static QUEUES: RefCell<Vec<Queue>> = const { RefCell::new(Vec::new()) };
}

/// A thread's launches on a device since it waited for the device.
struct Queue {
    cuda: &'static Cuda,
    record: Record,
    launches: Vec<Queued>,
    /// True if it has work other than launches.
    has_other_work: bool,
    /// True if one of the launches may report an error.
    reports_errors: bool,
    /// Addresses of a launch's arguments.
    args: Vec<*mut c_void>,
    /// The last launches, if they are collected and not queued yet.
    collected: Option<Vec<Collected>>,
}

struct Queued {
    function: Arc<DeviceFunction>,
    site: Option<CallSite>,
}

impl Cuda {
    /// Queues a launch.
    ///
    /// # Safety
    /// As for [`crate::device::DeviceApi::launch`].
    pub(super) unsafe fn queue_launch(&'static self, launch: &Launch, site: Option<CallSite>) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        let kernel = unsafe { &*launch.kernel };
        // SAFETY: as above.
        let function = unsafe { self.function(kernel) }?;
        let refused = |what| Error::value(format!("{}: cannot launch `{}` with {what}", self.device, function.text()));
        let Some(extents) = self.limits.check(launch, kernel).map_err(refused)? else { return Ok(()) };
        let _entered = self.enter()?;
        self.reserve_shared(&function, extents.shared)?;
        QUEUES.with_borrow_mut(|queues| {
            let queue = Queue::of(queues, self)?;
            if queue.launches.len() >= MAX_QUEUED {
                queue.finish()?;
            }
            // SAFETY: as the caller promises.
            unsafe { queue.launch(launch, extents, function, site) }
        })
    }

    /// Collects the launches of this thread from now on; returns false if that is not possible.
    pub(super) fn collect_launches(&'static self) -> Result<bool, Error> {
        if !Driver::get()?.has_graphs() {
            return Ok(false);
        }
        let _entered = self.enter()?;
        QUEUES.with_borrow_mut(|queues| {
            let queue = Queue::of(queues, self)?;
            let is_free = queue.collected.is_none();
            queue.collected.get_or_insert_default();
            Ok(is_free)
        })
    }

    /// Queues the launches that this thread collected by a graph, if it fits, and collects no more.
    pub(super) fn queue_collected(&'static self, graph: &mut Graph) -> Result<(), Error> {
        let _entered = self.enter()?;
        QUEUES.with_borrow_mut(|queues| Queue::of(queues, self)?.queue_collected(graph))
    }

    /// Queues the launches that this thread collected, before other work, and collects no more.
    pub(super) fn stop_collecting(&self) -> Result<(), Error> {
        // A thread that ends frees memory when its queues are gone.
        let stopped = QUEUES.try_with(|queues| {
            let mut queues = queues.borrow_mut();
            queues.iter_mut().find(|queue| std::ptr::eq(queue.cuda, self)).map_or(Ok(()), Queue::stop_collecting)
        });
        stopped.unwrap_or(Ok(()))
    }

    /// Prepares for work of this thread other than launches: queues the launches that it collected, and notes that it must
    /// be waited for.
    pub(super) fn queue_other_work(&'static self) -> Result<(), Error> {
        QUEUES.with_borrow_mut(|queues| {
            let queue = Queue::of(queues, self)?;
            queue.has_other_work = true;
            queue.stop_collecting()
        })
    }

    /// Waits until the stream's work is done, and returns an error that this thread's launches reported.
    pub(super) fn wait_for_work(&'static self) -> Result<(), Error> {
        let _entered = self.enter()?;
        QUEUES.with_borrow_mut(|queues| match queues.iter_mut().find(|queue| std::ptr::eq(queue.cuda, self)) {
            Some(queue) => queue.finish(),
            None => {
                // SAFETY: the stream is the device's.
                let status = unsafe { sys::cuStreamSynchronize(self.stream) };
                self.check(status, || "finish its work".to_owned())
            }
        })
    }

    /// Like [`wait_for_work`](Cuda::wait_for_work), if this thread queued anything since it waited.
    pub(super) fn finish(&'static self) -> Result<(), Error> {
        let is_busy =
            QUEUES.with_borrow(|queues| queues.iter().any(|queue| std::ptr::eq(queue.cuda, self) && queue.is_busy()));
        if is_busy { self.wait_for_work() } else { Ok(()) }
    }
}

impl Queue {
    /// This thread's queue of a device.
    fn of<'a>(queues: &'a mut Vec<Queue>, cuda: &'static Cuda) -> Result<&'a mut Queue, Error> {
        let known = queues.iter().position(|queue| std::ptr::eq(queue.cuda, cuda));
        let index = match known {
            Some(index) => index,
            None => {
                let record = Record::take(cuda)?;
                let (launches, has_other_work, reports_errors, args, collected) = Default::default();
                queues.push(Queue { cuda, record, launches, has_other_work, reports_errors, args, collected });
                queues.len() - 1
            }
        };
        Ok(&mut queues[index])
    }

    /// Returns true if there is work that was not waited for.
    fn is_busy(&self) -> bool {
        self.has_other_work || !self.launches.is_empty()
    }

    /// # Safety
    /// As for [`Cuda::queue_launch`].
    unsafe fn launch(
        &mut self,
        launch: &Launch,
        extents: Extents,
        function: Arc<DeviceFunction>,
        site: Option<CallSite>,
    ) -> Result<(), Error> {
        let (record, token) = (self.record.address(), self.launches.len() as u64);
        self.args.clear();
        if launch.arg_count > 0 {
            // SAFETY: as the caller promises.
            let args = unsafe { std::slice::from_raw_parts(launch.args, launch.arg_count as usize) };
            self.args.extend(args.iter().map(|arg| arg.cast_mut()));
        }
        if function.reports_errors() {
            let own: [*const c_void; 2] = [(&raw const record).cast(), (&raw const token).cast()];
            self.args.extend(own.map(<*const c_void>::cast_mut));
        }
        // SAFETY: as the caller promises.
        unsafe {
            match self.collected.is_some().then(|| function.copy_args(&self.args)).flatten() {
                Some(args) => {
                    self.collected.get_or_insert_default().push(Collected { function: function.clone(), extents, args })
                }
                None => {
                    self.stop_collecting()?;
                    let args = self.args.as_mut_ptr();
                    self.queue(&function, extents, args)?;
                }
            }
        }
        self.reports_errors |= function.reports_errors();
        self.launches.push(Queued { function, site });
        Ok(())
    }

    /// Queues a launch.
    ///
    /// # Safety
    /// The arguments are addresses of values for the function's parameters.
    unsafe fn queue(
        &mut self,
        function: &DeviceFunction,
        extents: Extents,
        args: *mut *mut c_void,
    ) -> Result<(), Error> {
        let (Extents { grid: [gx, gy, gz], block: [bx, by, bz], shared }, stream) = (extents, self.cuda.stream);
        // SAFETY: as the caller promises; the driver copies the arguments' values.
        let status = unsafe {
            sys::cuLaunchKernel(function.function, gx, gy, gz, bx, by, bz, shared, stream, args, std::ptr::null_mut())
        };
        self.queued(status, || {
            let name = function.text();
            format!("launch `{name}` with ({gx}, {gy}, {gz}) blocks of ({bx}, {by}, {bz}) threads")
        })
    }

    /// The error for the status of a launch.
    fn queued(&mut self, status: CUresult, action: impl FnOnce() -> String) -> Result<(), Error> {
        if driver::is_sticky(status) {
            let launches = std::mem::take(&mut self.launches);
            return Err(self.failure(status, &launches));
        }
        self.cuda.check(status, action)
    }

    /// Queues the collected launches one by one, and collects no more.
    fn stop_collecting(&mut self) -> Result<(), Error> {
        let Some(collected) = self.collected.take() else { return Ok(()) };
        let mut pointers = Vec::new();
        collected.into_iter().try_for_each(|mut launch| {
            let args = launch.pointers(&mut pointers);
            // SAFETY: the values were copied from the launch's arguments.
            unsafe { self.queue(&launch.function, launch.extents, args) }
        })
    }

    /// Queues the collected launches by a graph, if it fits, and collects no more.
    fn queue_collected(&mut self, graph: &mut Graph) -> Result<(), Error> {
        // Other work may have queued them, and a graph of one launch saves nothing.
        let Some(launches) = self.collected.take_if(|launches| launches.len() > 1) else {
            return self.stop_collecting();
        };
        let known = graph.0.take().and_then(|graph| graph.downcast::<CudaGraph>().ok());
        let executable = match known.filter(|known| known.fits(&launches)).map(|known| *known) {
            None => {
                let functions = launches.iter().map(|launch| launch.function.clone()).collect();
                graph.0 = Some(Box::new(CudaGraph::Seen(functions)));
                self.collected = Some(launches);
                return self.stop_collecting();
            }
            Some(CudaGraph::Seen(_)) => ExecutableGraph::new(self.cuda, launches)?,
            Some(CudaGraph::Made(mut executable)) => {
                executable.update(launches)?;
                executable
            }
        };
        let (status, count) = (executable.launch(), executable.len());
        graph.0 = Some(Box::new(CudaGraph::Made(executable)));
        self.queued(status, || format!("launch a graph of {count} launches"))
    }

    /// Waits for the launches, and returns the error of one.
    fn finish(&mut self) -> Result<(), Error> {
        self.stop_collecting()?;
        let read = if self.reports_errors { self.record.queue_read() } else { Ok(()) };
        // SAFETY: the stream is the device's.
        let status = unsafe { sys::cuStreamSynchronize(self.cuda.stream) };
        let (launches, reports_errors) = (std::mem::take(&mut self.launches), std::mem::take(&mut self.reports_errors));
        self.has_other_work = false;
        if status != CUresult::CUDA_SUCCESS {
            return Err(self.failure(status, &launches));
        }
        read?;
        let reported = if reports_errors { self.record.reported()? } else { None };
        let failed = reported.and_then(|record| Some((record, launches.get(record.kernel as usize)?)));
        let result = failed.map_or(Ok(()), |(record, launch)| Err(launch.at_site(launch.function.error(&record))));
        // The list's memory is reused.
        self.launches = launches;
        self.launches.clear();
        result
    }

    /// The error for work that failed, which the device does not survive.
    fn failure(&self, status: CUresult, launches: &[Queued]) -> Error {
        let cause = driver::describe(status);
        let names: BTreeSet<_> = launches.iter().map(|launch| launch.function.text()).collect();
        let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
        let more =
            if names.len() > MAX_NAMES { format!(" and {} more", names.len() - MAX_NAMES) } else { String::new() };
        let what = match launches {
            [] => "work on the device".to_owned(),
            [_] => format!("device function {}", shown[0]),
            _ => format!("one of {} launches of {}{more}", launches.len(), shown.join(", ")),
        };
        let message = format!("{what} failed with {cause}");
        if driver::is_sticky(status) {
            self.cuda.failure.get_or_init(|| message.clone());
        }
        let error = Error::new(driver::error_kind(status), format!("{}: {message}", self.cuda.device));
        match launches {
            [launch] => launch.at_site(error),
            _ => error,
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Otherwise work that may write the record is queued.
        if self.launches.is_empty() {
            self.record.give_back();
        }
    }
}

impl Queued {
    /// The error with the call of the kernel that launched the function.
    fn at_site(&self, mut error: Error) -> Error {
        if let Some(entry) = self.site.and_then(|site| (site.describe)(&site)) {
            error.push_trace(entry);
        }
        error
    }
}

//! Launches by the host functions of kernels, and their workspaces in device memory.
//!
//! Host functions do not know their device: the caller of a kernel sets the thread's current one.
use super::{Error, raise, status};
use crate::device::launch::{CallSite, Launch};
use crate::device::matmul::Matmul;
use crate::device::{self, DeviceApi, Event, Graph, Stream};
use crate::fork::Table;
use crate::memory::{Allocator, AllocatorKind, Block};
use crate::value::{Any, Device, Function};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    static SITE: Cell<Option<CallSite>> = const { Cell::new(None) };
    /// Workspaces of the kernels in progress on this thread, with their addresses.
    static WORKSPACES: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
    /// Released workspaces that launches which are not queued yet may use, while launches are collected for a graph.
    static HELD: RefCell<Option<Vec<Block>>> = const { RefCell::new(None) };
    /// Set while launches are timed.
    static IS_TIMED: Cell<bool> = const { Cell::new(false) };
    static TIMER: RefCell<Option<LaunchTimer>> = const { RefCell::new(None) };
}

/// The device of the kernel in progress.
#[derive(Clone, Copy)]
struct Current {
    api: &'static dyn DeviceApi,
    /// The allocator of its workspaces; null for one without a limit.
    allocator: *const Allocator,
}

/// Runs `kernel` with `api` as the thread's current device. Its workspaces come from the allocator, if one is given.
fn on_device<R>(api: &'static dyn DeviceApi, allocator: Option<&Allocator>, kernel: impl FnOnce() -> R) -> R {
    struct Restore(Option<Current>, usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
            // A kernel that fails may leave some.
            let left = WORKSPACES
                .with_borrow_mut(|workspaces| (workspaces.len() > self.1).then(|| workspaces.split_off(self.1)));
            left.into_iter().for_each(release);
        }
    }
    let current = Current { api, allocator: allocator.map_or(std::ptr::null(), |allocator| &raw const *allocator) };
    let _restore = Restore(CURRENT.replace(Some(current)), WORKSPACES.with_borrow(Vec::len));
    kernel()
}

/// The device that a kernel with these arguments runs on: that of its first tensor, or `default` if it has none.
pub(crate) fn device_of(args: &[Any], default: Device) -> Device {
    args.iter().find_map(Any::as_dl_tensor).map_or(default, |tensor| tensor.device)
}

/// Calls a kernel on a device. Workspaces come from the allocator of the device among `allocators`.
pub(crate) fn call_on_device(
    kernel: &Function,
    args: &[Any],
    device: Device,
    allocators: &[Arc<Allocator>],
) -> Result<Any, Error> {
    let allocator = allocators.iter().find(|allocator| allocator.device() == device);
    on_device(device::find(device)?, allocator.map(|allocator| &**allocator), || kernel.call(args))
}

/// Sets the call that the thread's next kernels are called at; returns the previous one.
#[inline]
pub(crate) fn set_site(site: Option<CallSite>) -> Option<CallSite> {
    SITE.replace(site)
}

/// Runs `call`; what it launches on a device is queued at its end, by `graph` if that has its functions.
pub(crate) fn by_graph<R>(
    device: Device,
    graph: &mut Graph,
    call: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    let api = device::find(device)?;
    if !api.begin_graph()? {
        return call();
    }
    let outer = HELD.replace(Some(Vec::new()));
    let result = call();
    // After an error, what was launched before it is queued nevertheless, but is not the graph's sequence.
    let queued = match &result {
        Ok(_) => api.end_graph(graph),
        Err(_) => api.end_graph(&mut Graph::default()),
    };
    let held = HELD.replace(outer);
    release(held.unwrap_or_default());
    result.and_then(|result| queued.map(|()| result))
}

/// Releases workspaces, which launches that are collected may use until these are queued.
fn release(workspaces: impl IntoIterator<Item = Block>) {
    HELD.with_borrow_mut(|held| match held {
        Some(held) => held.extend(workspaces),
        None => workspaces.into_iter().for_each(drop),
    });
}

/// A released workspace of about this size.
fn held(device: Device, bytes: usize) -> Option<Block> {
    HELD.with_borrow_mut(|held| {
        let held = held.as_mut()?;
        let fits =
            |block: &Block| block.device() == device && (bytes..=bytes.saturating_mul(2)).contains(&block.size());
        held.iter().position(fits).map(|found| held.remove(found))
    })
}

/// Times the launches of a call, from before the first one to after the last one.
pub(crate) struct LaunchTimer {
    stream: Box<dyn Stream>,
    begin: Box<dyn Event>,
    end: Box<dyn Event>,
}

impl LaunchTimer {
    fn start(api: &dyn DeviceApi) -> Result<LaunchTimer, Error> {
        let mut timer =
            LaunchTimer { stream: api.create_stream()?, begin: api.create_event()?, end: api.create_event()? };
        timer.stream.record(&mut *timer.begin)?;
        Ok(timer)
    }

    /// Waits for the launches and returns their time.
    pub(crate) fn elapsed(self) -> Result<Duration, Error> {
        self.end.elapsed_since(&*self.begin)
    }
}

/// Runs `call`, and times its launches on the first device that it launches on, if there are any.
pub(crate) fn timed<R>(call: impl FnOnce() -> R) -> (R, Option<LaunchTimer>) {
    let outer = (IS_TIMED.replace(true), TIMER.take());
    let result = call();
    IS_TIMED.set(outer.0);
    (result, TIMER.replace(outer.1))
}

/// Queues work on a device, between the events of the thread's timer if launches are timed.
fn queue(api: &dyn DeviceApi, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    if !IS_TIMED.get() {
        return work();
    }
    let mut timer = match TIMER.take() {
        Some(timer) => timer,
        None => LaunchTimer::start(api)?,
    };
    work()?;
    timer.stream.record(&mut *timer.end)?;
    TIMER.set(Some(timer));
    Ok(())
}

/// Queues a batch of matmuls on a device.
///
/// # Safety
/// As for [`DeviceApi::matmul`].
pub(crate) unsafe fn queue_matmul(api: &dyn DeviceApi, matmul: &Matmul) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    queue(api, || unsafe { api.matmul(matmul) })
}

/// Launches a device function on the thread's current device. Returns 0, or -1 after raising an error.
///
/// # Safety
/// The launch and what it points to are as their types document, and the arguments are those of the function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_launch(launch: *const Launch) -> i32 {
    status(|| {
        let current = CURRENT.get().ok_or_else(no_device)?;
        // SAFETY: as the caller promises.
        queue(current.api, || unsafe { current.api.launch(&*launch, SITE.get()) })
    })
}

/// Allocates a workspace on the thread's current device, aligned to 256 bytes; null after raising an error.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_device_workspace_alloc(bytes: u64) -> *mut c_void {
    match allocate(bytes) {
        Ok(workspace) => {
            let address = workspace.as_ptr();
            WORKSPACES.with_borrow_mut(|workspaces| workspaces.push(workspace));
            address.cast()
        }
        Err(error) => {
            raise(error);
            null_mut()
        }
    }
}

/// Releases a workspace. Launches that were queued before may still use it: whoever gets its memory next queues work
/// behind theirs.
///
/// # Safety
/// `workspace` came from [`hammock_device_workspace_alloc`] on this thread, during the same call of a kernel, and was
/// not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_device_workspace_free(workspace: *mut c_void) {
    WORKSPACES.with_borrow_mut(|workspaces| {
        let last = workspaces.iter().rposition(|block| block.as_ptr() == workspace.cast());
        release(last.map(|last| workspaces.remove(last)));
    });
}

fn allocate(bytes: u64) -> Result<Block, Error> {
    let current = CURRENT.get().ok_or_else(no_device)?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if let Some(held) = held(current.api.device(), bytes) {
        return Ok(held);
    }
    // SAFETY: `on_device` sets the address only while it borrows the allocator.
    match unsafe { current.allocator.as_ref() } {
        Some(allocator) => allocator.alloc(bytes),
        None => own_allocator(current.api.device())?.alloc(bytes),
    }
}

/// The allocator for kernels that are called outside of programs.
fn own_allocator(device: Device) -> Result<Arc<Allocator>, Error> {
    static ALLOCATORS: Table<Option<HashMap<Device, Arc<Allocator>>>> = Table::new(None);
    if let Some(known) = ALLOCATORS.read().as_ref().and_then(|known| known.get(&device)) {
        return Ok(known.clone());
    }
    let new = Allocator::new(device, AllocatorKind::Pooled, usize::MAX)?;
    Ok(ALLOCATORS.write().get_or_insert_default().entry(device).or_insert(new).clone())
}

fn no_device() -> Error {
    Error::runtime("a kernel for another device than the host was called without a device")
}

#[cfg(test)]
mod tests {
    use super::super::take_raised;
    use super::*;

    #[test]
    fn launches_need_a_device_that_runs_device_functions() {
        let launch = Launch {
            kernel: std::ptr::null(),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            args: std::ptr::null(),
            arg_count: 0,
        };
        // SAFETY: the launch is refused before anything it points to is read.
        assert_eq!(unsafe { hammock_launch(&launch) }, -1);
        assert!(take_raised().message().contains("without a device"));
        assert!(hammock_device_workspace_alloc(8).is_null());
        assert!(take_raised().message().contains("without a device"));
        // SAFETY: as above.
        let status = on_device(device::find(Device::CPU).unwrap(), None, || unsafe { hammock_launch(&launch) });
        assert_eq!((status, take_raised().message()), (-1, "cpu:0 runs no device functions"));
    }

    #[test]
    fn workspaces_come_from_the_allocator_of_the_call() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 4096).unwrap();
        let host = device::find(Device::CPU).unwrap();
        on_device(host, Some(&allocator), || {
            let first = hammock_device_workspace_alloc(1024);
            let second = hammock_device_workspace_alloc(1024);
            assert_eq!(allocator.stats().used, 2048);
            assert!(hammock_device_workspace_alloc(4096).is_null());
            assert_eq!(take_raised().kind(), "MemoryError");
            // SAFETY: both were just allocated.
            unsafe { hammock_device_workspace_free(first) };
            assert_eq!(allocator.stats().used, 1024);
            assert!(!second.is_null());
        });
        assert_eq!(allocator.stats().used, 0, "what a kernel left is released");
        on_device(host, None, || assert!(!hammock_device_workspace_alloc(64).is_null()));
    }
}

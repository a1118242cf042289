//! Calls of kernels by a program that uses other devices than the host: what a kernel queued there may fail after it
//! returned.
use super::decode::Body;
use super::program::{Program, Programs};
use crate::device::launch::CallSite;
use crate::ffi::{Error, TraceEntry, launch};

/// Sets the call that launches of the thread belong to.
#[inline]
pub(super) fn set(program: &Program, body: &Body, pc: usize) {
    let (function, instruction) = (body.function, body.origins[pc]);
    launch::set_site(Some(CallSite { program: program.id, function, instruction, describe }));
}

/// Runs a call from outside. It ends when the devices have done its work, so that an error of that work is its own.
pub(super) fn within<R>(program: &Program, call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    if !program.is_on_device {
        return call();
    }
    let outer = launch::set_site(None);
    let result = call();
    // An error of the devices comes first: it may be why the call failed.
    let result = program.synchronize().and(result);
    launch::set_site(outer);
    result
}

fn describe(site: &CallSite) -> Option<TraceEntry> {
    let program = Programs::find(site.program)?;
    let location = program.image.sources.locate(site.instruction as usize);
    Some(TraceEntry { function: program.name(site.function).to_owned(), location })
}

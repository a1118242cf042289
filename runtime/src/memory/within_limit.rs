//! A memory limit for work outside of programs.
use super::meter::Account;
use super::{Allocator, AllocatorKind};
use crate::ffi::Error;
use crate::parallel::ProgramWork;
use crate::value::Device;
use std::sync::atomic::AtomicU8;

/// Runs work outside of any program; host memory that this thread allocates for tensors counts towards a limit of its
/// own.
///
/// # Errors
/// If there is no host device.
pub fn within_limit<R>(limit: usize, work: impl FnOnce() -> R) -> Result<R, Error> {
    let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, limit)?;
    let flag = AtomicU8::default();
    // SAFETY: allocator and flag outlive the work, and the accounts that it enters are left before.
    let _work = unsafe { ProgramWork::enter(Account::new(&allocator, &flag)) };
    Ok(work())
}

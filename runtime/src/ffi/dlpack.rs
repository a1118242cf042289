//! DLPack: exchange of tensors with other frameworks, without a copy.
//!
//! A managed tensor is a `DLTensor` with a deleter. The consumer calls the deleter once, when done, from any thread.
//! There are two layouts: the plain one, and the *versioned* one, which can also mark the elements as read-only.
//!
//! Exported tensors hold a reference to the runtime's tensor; imported ones are views of the producer's memory, whose
//! deleter is called when the last reference to them is dropped.
use super::Error;
use crate::device;
use crate::value::{DLTensor, Lender, Nested, Tensor};
use std::ffi::c_void;
use std::ptr::NonNull;

/// DLPack's plain managed tensor.
#[repr(C)]
pub struct ManagedTensor {
    /// The tensor.
    pub tensor: DLTensor,
    /// Data of the deleter.
    pub context: *mut c_void,
    /// Releases the tensor; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// A version of the versioned layout. Equal major versions have the same layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Version of the layout.
    pub major: u32,
    /// Version of the codes and flags.
    pub minor: u32,
}

/// The version that the runtime writes.
pub const VERSION: Version = Version { major: 1, minor: 2 };

/// Flag: the elements must not be written.
pub const READ_ONLY: u64 = 1;
/// Flag: the tensor is a copy made for the export.
pub const IS_COPIED: u64 = 1 << 1;
/// Flag: elements of less than a byte take a byte each.
pub const SUBBYTE_PADDED: u64 = 1 << 2;

/// DLPack's versioned managed tensor.
#[repr(C)]
pub struct ManagedTensorVersioned {
    /// Version of this structure. With another major version, only context and deleter may be used.
    pub version: Version,
    /// Data of the deleter.
    pub context: *mut c_void,
    /// Releases the tensor; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    /// [`READ_ONLY`], …
    pub flags: u64,
    /// The tensor.
    pub tensor: DLTensor,
}

/// Interface to both layouts.
trait Managed: Sized + 'static {
    /// Creates a managed tensor.
    fn lend(tensor: DLTensor, flags: u64, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn tensor(&self) -> &DLTensor;
    fn flags(&self) -> u64;
}

impl Managed for ManagedTensor {
    fn lend(tensor: DLTensor, _: u64, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        ManagedTensor { tensor, context, deleter: Some(deleter) }
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn tensor(&self) -> &DLTensor {
        &self.tensor
    }

    fn flags(&self) -> u64 {
        0
    }
}

impl Managed for ManagedTensorVersioned {
    fn lend(tensor: DLTensor, flags: u64, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        ManagedTensorVersioned { version: VERSION, context, deleter: Some(deleter), flags, tensor }
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn tensor(&self) -> &DLTensor {
        &self.tensor
    }

    fn flags(&self) -> u64 {
        self.flags
    }
}

impl Tensor {
    /// Exports the tensor in the plain layout. Read-only tensors are rejected, because it cannot mark them.
    pub fn to_dlpack(&self) -> Result<NonNull<ManagedTensor>, Error> {
        if self.is_read_only() {
            let message = "the tensor must not be written, which only the versioned form of DLPack can say";
            return Err(Error::value(message));
        }
        lend(self, 0)
    }

    /// Exports the tensor in the versioned layout.
    ///
    /// # Errors
    /// Those of work on the tensor's device, which is waited for: the consumer's need not come after it.
    pub fn to_dlpack_versioned(&self) -> Result<NonNull<ManagedTensorVersioned>, Error> {
        lend(self, if self.is_read_only() { READ_ONLY } else { 0 })
    }

    /// Takes ownership of a tensor in the plain layout. After an error it still belongs to the caller.
    ///
    /// # Safety
    /// `managed` is null, or valid until its deleter is called, which any thread may do.
    pub unsafe fn from_dlpack(managed: *mut ManagedTensor) -> Result<Tensor, Error> {
        let managed = NonNull::new(managed).ok_or_else(no_tensor)?;
        // SAFETY: as the caller promises.
        unsafe { borrow(managed) }
    }

    /// Takes ownership of a tensor in the versioned layout. After an error it still belongs to the caller.
    ///
    /// # Safety
    /// As for [`Tensor::from_dlpack`].
    pub unsafe fn from_dlpack_versioned(managed: *mut ManagedTensorVersioned) -> Result<Tensor, Error> {
        let managed = NonNull::new(managed).ok_or_else(no_tensor)?;
        // SAFETY: as the caller promises; every version of the structure begins with the version.
        let Version { major, minor } = unsafe { (*managed.as_ptr()).version };
        if major != VERSION.major {
            let known = VERSION.major;
            return Err(Error::value(format!("DLPack {major}.{minor} is not supported, only {known}.x")));
        }
        // SAFETY: as the caller promises.
        unsafe { borrow(managed) }
    }
}

fn no_tensor() -> Error {
    Error::value("the DLPack tensor is null")
}

fn lend<M: Managed>(tensor: &Tensor, flags: u64) -> Result<NonNull<M>, Error> {
    let device = tensor.device();
    if !device.is_host()
        && let Ok(device) = device::find(device)
    {
        device.create_stream()?.synchronize()?;
    }
    // The reference in `context` keeps the shape and strides of the `DLTensor` alive.
    let context = Box::into_raw(Box::new(tensor.clone()));
    let managed = M::lend(*tensor.as_dl(), flags, context.cast(), end_loan::<M>);
    Ok(NonNull::from(Box::leak(Box::new(managed))))
}

unsafe extern "C" fn end_loan<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: only `lend` pairs this function with a tensor, so both were boxed there; it is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        // The tensor may itself be an imported one, and so on.
        drop(Nested::new(*Box::from_raw(managed.context().cast::<Tensor>())));
    }
}

/// An imported managed tensor.
struct Loan<M: Managed> {
    managed: NonNull<M>,
    read_only: bool,
}

// SAFETY: the producer promises that any thread may call the deleter; nothing else is done with it.
unsafe impl<M: Managed> Send for Loan<M> {}
// SAFETY: as above.
unsafe impl<M: Managed> Sync for Loan<M> {}

impl<M: Managed> Lender for Loan<M> {
    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl<M: Managed> Drop for Loan<M> {
    fn drop(&mut self) {
        // SAFETY: we own the managed tensor, and it is dropped once.
        unsafe {
            if let Some(deleter) = self.managed.as_ref().deleter() {
                deleter(self.managed.as_ptr());
            }
        }
    }
}

/// # Safety
/// `managed` is valid until its deleter is called.
unsafe fn borrow<M: Managed>(managed: NonNull<M>) -> Result<Tensor, Error> {
    // SAFETY: as the caller promises.
    let loan = unsafe { managed.as_ref() };
    let (tensor, flags) = (loan.tensor(), loan.flags());
    if flags & SUBBYTE_PADDED != 0 && tensor.dtype.bits < 8 {
        return Err(Error::value(format!("elements of {} with a byte each are not understood", tensor.dtype)));
    }
    // SAFETY: as the caller promises.
    let tensor = unsafe { Tensor::borrow(tensor, || Box::new(Loan { managed, read_only: flags & READ_ONLY != 0 })) };
    Ok(tensor?)
}

#[cfg(test)]
#[path = "dlpack_tests.rs"]
mod tests;

//! Tensors: a reference-counted `DLTensor` with the owner of its data.
//!
//! Cloning shares; data is never copied unless a method says so. Safe code can read a tensor's data, and can write it
//! only through the only reference to the tensor and its memory ([`Tensor::as_mut_slice`]). Kernels write through
//! [`Tensor::data_ptr`], and the code generator promises that they write only their outputs.
mod borrow;
mod copy;
mod error;
mod plan;
mod storage;
mod view;

pub use borrow::MAX_NDIM;
pub use error::TensorError;

use super::element::{Element, bytes_of};
use super::object::{Cell, Ref};
use super::shape::write_sizes;
use super::{DType, Device, Storage, index};
use crate::memory::{ALIGNMENT, Buffer, MappedFile, Reservation, ScratchFile, meter};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// DLPack's description of a tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    /// Base address of the memory.
    pub data: *mut u8,
    /// Device of the memory.
    pub device: Device,
    /// Number of dimensions.
    pub ndim: i32,
    /// Dtype.
    pub dtype: DType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` strides in elements, or null for a contiguous tensor.
    pub strides: *mut i64,
    /// Offset of the first element from `data`, in bytes.
    pub byte_offset: u64,
}

impl DLTensor {
    /// Its `ndim` sizes.
    pub(crate) fn sizes(&self) -> &[i64] {
        // SAFETY: `shape` points to `ndim` sizes.
        unsafe { counted(self.shape, self.ndim) }
    }

    /// Its strides in elements; empty for a contiguous tensor without explicit strides.
    pub(crate) fn steps(&self) -> &[i64] {
        // SAFETY: as above.
        unsafe { counted(self.strides, self.ndim) }
    }
}

// SAFETY: tvm-ffi fixes this layout for index 70; the cell is never written after construction.
unsafe impl Cell for DLTensor {
    const TYPE_INDEX: i32 = index::TENSOR;
}

/// Memory that a tensor may borrow: a mapped file, a section of an executable.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Owner of borrowed memory; dropping it ends the loan, on any thread.
pub trait Lender: Send + Sync {
    /// Returns true if the memory must not be written.
    fn is_read_only(&self) -> bool;
}

/// Owner of a tensor's memory.
#[expect(dead_code, reason = "most are held for their drop")]
pub(super) enum Owner {
    Buffer(Buffer),
    /// A buffer that was allocated by a running program, whose limit it counts towards.
    Counted(Box<(Buffer, Reservation)>),
    Storage(Storage),
    /// A storage of its own, allocated by this plan of a program.
    Planned(Storage, u64),
    /// A tensor that owns the memory itself, not a view.
    Tensor(Tensor),
    /// A tensor that owns the memory, which must not be written.
    Constant(Tensor),
    Shared(SharedBytes),
    /// A mapped file that nobody writes to.
    Mapped(Arc<MappedFile>),
    /// A scratch file.
    Scratch(ScratchFile),
    Lent(Box<dyn Lender>),
    Nobody,
}

/// A tensor. Cheap to clone.
#[derive(Clone)]
#[repr(transparent)]
pub struct Tensor(pub(super) Ref<DLTensor>);

impl Tensor {
    /// Creates a tensor of zeroes in host memory.
    pub fn empty(dtype: DType, shape: &[i64], device: Device) -> Result<Tensor, TensorError> {
        if !device.is_host() {
            return Err(TensorError::NotOnHost(device));
        }
        let bytes = byte_size(dtype, shape)?;
        let counted = meter::reserve(bytes).map_err(|error| TensorError::OverLimit(error.message().to_owned()))?;
        let buffer = Buffer::new(bytes).ok_or(TensorError::OutOfMemory { bytes, device })?;
        let data = buffer.as_ptr();
        Ok(Tensor::assemble(data, device, dtype, shape, None, || match counted {
            Some(reservation) => Owner::Counted(Box::new((buffer, reservation))),
            None => Owner::Buffer(buffer),
        }))
    }

    /// Creates a host tensor with a copy of `bytes`.
    pub fn from_bytes(dtype: DType, shape: &[i64], bytes: &[u8]) -> Result<Tensor, TensorError> {
        check_size(dtype, shape, bytes.len())?;
        let tensor = Tensor::empty(dtype, shape, Device::CPU)?;
        // SAFETY: the tensor is new, so nobody else accesses its memory, which is as long as `bytes`.
        unsafe { tensor.data_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(tensor)
    }

    /// Creates a host tensor with a copy of `values`.
    pub fn from_slice<T: Element>(shape: &[i64], values: &[T]) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(T::DTYPE, shape, bytes_of(values))
    }

    /// Creates a tensor of rank 0 with the given element.
    pub fn scalar<T: Element>(value: T) -> Result<Tensor, TensorError> {
        Tensor::from_slice(&[], &[value])
    }

    /// Creates a read-only tensor over a range of memory that `owner` keeps alive; nothing is copied.
    pub fn from_shared(
        dtype: DType,
        shape: &[i64],
        owner: SharedBytes,
        range: Range<usize>,
    ) -> Result<Tensor, TensorError> {
        let data = part((*owner).as_ref(), range, dtype, shape)?;
        Ok(Tensor::assemble(data, Device::CPU, dtype, shape, None, || Owner::Shared(owner)))
    }

    /// Creates a read-only tensor over a range of a mapped file, which can be [evicted](Tensor::evict) from memory.
    pub fn from_mapped(
        dtype: DType,
        shape: &[i64],
        file: Arc<MappedFile>,
        range: Range<usize>,
    ) -> Result<Tensor, TensorError> {
        let data = part(&file, range, dtype, shape)?;
        Ok(Tensor::assemble(data, Device::CPU, dtype, shape, None, || Owner::Mapped(file)))
    }

    /// Creates a tensor of zeroes in an empty scratch file; it can be [evicted](Tensor::evict) from memory, too.
    ///
    /// # Errors
    /// Those of the system, and invalid shapes.
    pub fn in_scratch(dtype: DType, shape: &[i64], file: &File) -> io::Result<Tensor> {
        let scratch = ScratchFile::new(file, byte_size(dtype, shape).map_err(io::Error::other)?)?;
        Ok(Tensor::assemble(scratch.as_ptr(), Device::CPU, dtype, shape, None, || Owner::Scratch(scratch)))
    }

    // Inlined into its callers, so that arguments stay in registers and the owner is constructed in place.
    #[inline(always)]
    pub(super) fn assemble(
        data: *mut u8,
        device: Device,
        dtype: DType,
        shape: &[i64],
        strides: Option<&[i64]>,
        owner: impl FnOnce() -> Owner,
    ) -> Tensor {
        let ndim = shape.len();
        Tensor(Ref::allocate::<Owner, i64>(2 * ndim, |tail| {
            let own_strides = tail.wrapping_add(ndim);
            let mut dense = 1i64;
            for (i, size) in shape.iter().enumerate().rev() {
                let stride = strides.and_then(|strides| strides.get(i).copied()).unwrap_or(dense);
                // SAFETY: the tail has space for shape and strides, `ndim` values each.
                unsafe {
                    tail.add(i).write(*size);
                    own_strides.add(i).write(stride);
                }
                dense = dense.wrapping_mul(*size);
            }
            let (shape, strides) = (tail, own_strides);
            (DLTensor { data, device, ndim: ndim as i32, dtype, shape, strides, byte_offset: 0 }, owner())
        }))
    }

    /// Dtype.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Shape.
    pub fn shape(&self) -> &[i64] {
        self.0.sizes()
    }

    /// Strides in elements; empty for a contiguous tensor of other code without explicit strides.
    pub fn strides(&self) -> &[i64] {
        self.0.steps()
    }

    /// Device of the data.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Number of elements.
    pub fn element_count(&self) -> usize {
        element_count(self.shape()).unwrap_or(0)
    }

    /// Size of all elements in bytes, stored contiguously.
    pub fn nbytes(&self) -> usize {
        byte_size(self.dtype(), self.shape()).unwrap_or(0)
    }

    /// Returns true if the elements are contiguous in row-major order. Dimensions of size 1 may have any stride.
    pub fn is_contiguous(&self) -> bool {
        is_dense(self.shape(), self.strides())
    }

    /// Address of the first element. Writers must ensure that nobody reads the tensor at the same time.
    pub fn data_ptr(&self) -> *mut u8 {
        self.0.data.wrapping_add(self.0.byte_offset as usize)
    }

    /// Returns true if the first element is aligned to 64 bytes.
    pub fn is_aligned(&self) -> bool {
        self.data_ptr().addr().is_multiple_of(ALIGNMENT)
    }

    /// The `DLTensor`.
    pub fn as_dl(&self) -> &DLTensor {
        &self.0
    }

    /// Returns true if both refer to the same object.
    pub fn ptr_eq(&self, other: &Tensor) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// The bytes of a contiguous host tensor.
    pub fn as_bytes(&self) -> Result<&[u8], TensorError> {
        self.check_dense_on_host()?;
        match self.nbytes() {
            0 => Ok(&[]),
            // SAFETY: a contiguous host tensor has this many initialized bytes at its address.
            len => Ok(unsafe { std::slice::from_raw_parts(self.data_ptr(), len) }),
        }
    }

    /// The elements of a contiguous host tensor, in row-major order.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.check_type::<T>()?;
        let bytes = self.as_bytes()?;
        if !T::is_valid(bytes) || !bytes.as_ptr().cast::<T>().is_aligned() && !bytes.is_empty() {
            return Err(TensorError::BadValues(T::DTYPE));
        }
        match bytes.len() / size_of::<T>() {
            0 => Ok(&[]),
            // SAFETY: aligned, valid and long enough, as checked.
            len => Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), len) }),
        }
    }

    /// The elements for writing, if this is the only reference to the tensor and its memory.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.check_owned()?;
        let (data, len) = (self.data_ptr().cast(), self.as_slice::<T>()?.len());
        // SAFETY: `as_slice` checked the range; the tensor owns the memory and nobody else refers to either.
        Ok(unsafe { std::slice::from_raw_parts_mut(data, len) })
    }

    /// The bytes for writing, if this is the only reference to the tensor and its memory.
    pub fn as_bytes_mut(&mut self) -> Result<&mut [u8], TensorError> {
        self.check_owned()?;
        let len = self.as_bytes()?.len();
        // SAFETY: `as_bytes` checked the range; the tensor owns the memory and nobody else refers to either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data_ptr(), len) })
    }

    /// Evicts the data of a mapped file from the process's memory; the next access loads it again. Other tensors are
    /// unchanged.
    pub fn evict(&self) {
        match self.owner() {
            Some(Owner::Mapped(file)) => {
                let begin = self.data_ptr().addr() - file.as_ptr().addr();
                file.evict(begin..begin + self.nbytes());
            }
            Some(Owner::Scratch(file)) => file.evict(),
            _ => {}
        }
    }

    /// Returns true if the memory must not be written, because it is a constant's or was borrowed on that condition.
    pub fn is_read_only(&self) -> bool {
        match self.owner() {
            Some(Owner::Shared(_) | Owner::Mapped(_) | Owner::Constant(_)) => true,
            Some(Owner::Lent(lender)) => lender.is_read_only(),
            Some(Owner::Tensor(tensor)) => tensor.is_read_only(),
            _ => false,
        }
    }

    /// Returns true if this is the only reference to the tensor and its memory, which it owns.
    pub(crate) fn is_sole_owner(&self) -> bool {
        self.0.is_unique()
            && match self.owner() {
                Some(Owner::Buffer(_) | Owner::Counted(_)) => true,
                Some(Owner::Storage(storage)) => storage.ref_count() == 1,
                _ => false,
            }
    }

    fn check_owned(&self) -> Result<(), TensorError> {
        let owns_memory = matches!(self.owner(), Some(Owner::Buffer(_) | Owner::Counted(_)));
        if owns_memory && self.0.is_unique() { Ok(()) } else { Err(TensorError::Shared) }
    }

    /// Owner of the memory; `None` for tensors that other code created.
    pub(super) fn owner(&self) -> Option<&Owner> {
        // SAFETY: only `assemble` creates our tensors.
        self.0.is_ours().then(|| unsafe { self.0.extra::<Owner>() })
    }

    fn check_type<T: Element>(&self) -> Result<(), TensorError> {
        let (expected, actual) = (T::DTYPE, self.dtype());
        if expected == actual { Ok(()) } else { Err(TensorError::WrongDType { expected, actual }) }
    }

    fn check_dense_on_host(&self) -> Result<(), TensorError> {
        if !self.device().is_host() {
            return Err(TensorError::NotOnHost(self.device()));
        }
        if self.is_contiguous() { Ok(()) } else { Err(TensorError::NotContiguous) }
    }
}

/// The product of the sizes that are not zero, and whether one is zero; `None` if a size is negative or the product
/// overflows.
#[inline]
fn extent(sizes: impl Iterator<Item = i64>) -> Option<(usize, bool)> {
    let (mut product, mut signs, mut overflows, mut is_empty) = (1i64, 0, false, false);
    for size in sizes {
        let (next, overflow) = product.overflowing_mul(size + i64::from(size == 0));
        (product, signs, overflows) = (next, signs | size, overflows | overflow);
        is_empty |= size == 0;
    }
    (signs >= 0 && !overflows).then_some((product as usize, is_empty))
}

/// The number of elements; `None` if a size is negative or the number too large.
#[inline]
pub(super) fn element_count(shape: &[i64]) -> Option<usize> {
    extent(shape.iter().copied()).map(|(product, is_empty)| if is_empty { 0 } else { product })
}

/// Size of a contiguous tensor in bytes.
///
/// # Errors
/// If a size is negative, or the total overflows.
#[inline]
pub fn byte_size(dtype: DType, shape: &[i64]) -> Result<usize, TensorError> {
    byte_size_of(dtype, shape.iter().copied()).ok_or_else(|| TensorError::BadShape(shape.to_vec()))
}

/// Computes every size in bytes: elements of less than a byte are packed, and the total is rounded up. `None` if a size
/// is negative or the total overflows.
///
/// The sizes other than zero must not overflow even if another one is zero, so no partial product of a tensor's sizes
/// overflows, in elements, bits or bytes.
#[inline]
pub(super) fn byte_size_of(dtype: DType, sizes: impl Iterator<Item = i64>) -> Option<usize> {
    let (product, is_empty) = extent(sizes)?;
    let bytes = dtype.storage_bytes(product).filter(|bytes| isize::try_from(*bytes).is_ok())?;
    Some(if is_empty { 0 } else { bytes })
}

fn check_size(dtype: DType, shape: &[i64], actual: usize) -> Result<(), TensorError> {
    match byte_size(dtype, shape)? {
        expected if expected == actual => Ok(()),
        expected => Err(TensorError::WrongSize { dtype, shape: shape.to_vec(), expected, actual }),
    }
}

/// Start of the range of `bytes` that a tensor fills.
fn part(bytes: &[u8], range: Range<usize>, dtype: DType, shape: &[i64]) -> Result<*mut u8, TensorError> {
    let out = TensorError::OutOfBounds { begin: range.start, end: range.end, available: bytes.len() };
    let part = bytes.get(range).ok_or(out)?;
    check_size(dtype, shape, part.len())?;
    Ok(part.as_ptr().cast_mut())
}

/// Row-major strides in elements.
pub(super) fn fill_dense_strides(shape: &[i64], strides: &mut [i64]) {
    let mut stride = 1i64;
    for (size, out) in shape.iter().zip(strides).rev() {
        *out = stride;
        stride = stride.wrapping_mul(*size);
    }
}

pub(crate) fn is_dense(shape: &[i64], strides: &[i64]) -> bool {
    if strides.is_empty() || shape.contains(&0) {
        return true;
    }
    let mut expected = 1i64;
    shape.iter().zip(strides).rev().all(|(size, stride)| {
        let fits = *size == 1 || *stride == expected;
        expected = size.wrapping_mul(expected);
        fits
    })
}

/// A slice of `len` values; empty for a null pointer.
///
/// # Safety
/// `values` is null or points to `len` values that do not change for `'a`.
pub(super) unsafe fn counted<'a>(values: *const i64, len: i32) -> &'a [i64] {
    match usize::try_from(len) {
        // SAFETY: as the caller promises.
        Ok(len) if len > 0 && !values.is_null() => unsafe { std::slice::from_raw_parts(values, len) },
        _ => &[],
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tensor(")?;
        write_sizes(self.shape(), f)?;
        write!(f, ", {}, {})", self.dtype(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_values_of_every_element_type() {
        fn check<T: Element + PartialEq + fmt::Debug>(values: &[T]) {
            let tensor = Tensor::from_slice(&[values.len() as i64], values).unwrap();
            assert_eq!(tensor.as_slice::<T>().unwrap(), values);
            assert_eq!(tensor.dtype(), T::DTYPE);
            assert!(tensor.is_aligned() && tensor.is_contiguous());
        }
        check(&[1u8, 2, 3]);
        check(&[-1i64, i64::MAX]);
        check(&[half::f16::from_f32(1.5)]);
        check(&[half::bf16::from_f32(-2.0)]);
        check(&[true, false, true]);
        check::<f64>(&[]);
    }

    #[test]
    fn refuses_bad_reads() {
        let tensor = Tensor::from_bytes(DType::UINT8, &[2], &[1, 2]).unwrap();
        assert!(matches!(tensor.as_slice::<i8>(), Err(TensorError::WrongDType { .. })));
        let bools = Tensor::from_bytes(DType::BOOL, &[2], &[1, 2]).unwrap();
        assert_eq!(bools.as_slice::<bool>(), Err(TensorError::BadValues(DType::BOOL)));
        assert!(matches!(
            Tensor::from_bytes(DType::INT32, &[2], &[0; 7]),
            Err(TensorError::WrongSize { expected: 8, .. })
        ));
        for shape in [&[-1][..], &[i64::MAX, i64::MAX], &[i64::MAX]] {
            assert!(matches!(Tensor::empty(DType::INT32, shape, Device::CPU), Err(TensorError::BadShape(_))));
        }
    }

    #[test]
    fn writes_only_what_it_owns_alone() {
        let mut tensor = Tensor::empty(DType::FLOAT32, &[2, 2], Device::CPU).unwrap();
        tensor.as_mut_slice::<f32>().unwrap()[3] = 4.0;
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.0, 0.0, 0.0, 4.0]);
        let other = tensor.clone();
        assert_eq!(tensor.as_mut_slice::<f32>(), Err(TensorError::Shared));
        drop(other);
        assert!(tensor.as_mut_slice::<f32>().is_ok());
        assert_eq!(tensor.reshape(&[4]).unwrap().as_mut_slice::<f32>(), Err(TensorError::Shared));
    }

    #[test]
    fn borrows_shared_memory() {
        let owner: SharedBytes = Arc::new(vec![0u8, 1, 2, 3, 4]);
        let tensor = Tensor::from_shared(DType::UINT8, &[2, 2], owner.clone(), 1..5).unwrap();
        assert_eq!(tensor.as_slice::<u8>().unwrap(), [1, 2, 3, 4]);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(tensor);
        assert_eq!(Arc::strong_count(&owner), 1);
        assert!(Tensor::from_shared(DType::UINT8, &[5], owner, 1..6).is_err());
    }
}

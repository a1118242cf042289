//! A dynamically typed value: 16 bytes, a tag and a payload, in tvm-ffi's layout.
//!
//! An `Any` owns the object that it refers to. The three *borrowed* kinds (`RAW_STR`, `BYTE_ARRAY_PTR`,
//! `DL_TENSOR_PTR`) and `OBJECT_RVALUE_REF` only occur among the arguments of a call from other code, which keeps the
//! referent alive for the call; cloning such an argument creates an owned value.
use super::object::{Cell, Header, Ref, release, retain};
use super::string::valid_prefix;
use super::{ByteArray, Bytes, DLTensor, DType, Device, Str, Tensor, index};
use crate::ffi::Error;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The eight bytes after the tag.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union Payload {
    pub(super) int: i64,
    pub(super) float: f64,
    pub(super) ptr: *mut c_void,
    pub(super) object: Option<NonNull<Header>>,
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) bytes: [u8; 8],
}

/// A dynamically typed value.
#[repr(C)]
pub struct Any {
    type_index: i32,
    /// Length of a small string, otherwise zero.
    small_len: u32,
    payload: Payload,
}

// SAFETY: objects are shared between threads by atomic counts and never written after construction; addresses
// are plain numbers until unsafe code follows them.
unsafe impl Send for Any {}
// SAFETY: as above.
unsafe impl Sync for Any {}

const _: () = assert!(size_of::<Any>() == 16);

/// Offset of a value's payload in bytes; the tag comes first.
pub(crate) const PAYLOAD: usize = std::mem::offset_of!(Any, payload);

impl Any {
    /// The none value.
    pub const NONE: Any = Any::plain(index::NONE, Payload { int: 0 });

    pub(super) const fn plain(type_index: i32, payload: Payload) -> Any {
        Any { type_index, small_len: 0, payload }
    }

    /// An address that the runtime does not interpret.
    pub fn opaque(address: *mut c_void) -> Any {
        Any::plain(index::OPAQUE_PTR, Payload { ptr: address })
    }

    /// A string: inline up to seven bytes, otherwise a string object.
    pub fn str(text: &str) -> Any {
        if text.len() > 7 {
            return Any::object(Str::new(text).0);
        }
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Any { type_index: index::SMALL_STR, small_len: text.len() as u32, payload: Payload { bytes } }
    }

    pub(super) fn object<C: Cell>(object: Ref<C>) -> Any {
        Any::plain(C::TYPE_INDEX, Payload { object: Some(object.into_header()) })
    }

    /// The tag.
    #[inline]
    pub fn type_index(&self) -> i32 {
        self.type_index
    }

    /// Name of the kind of value in messages.
    pub fn type_name(&self) -> &'static str {
        index::name(self.type_index)
    }

    /// Returns true for the none value.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.type_index == index::NONE
    }

    /// Returns true for heap objects.
    #[inline]
    pub fn is_object(&self) -> bool {
        self.type_index >= index::OBJECT_BEGIN
    }

    /// Returns true if it refers to memory that the other side of a call keeps alive.
    #[inline]
    pub fn is_borrowed(&self) -> bool {
        (index::DL_TENSOR_PTR..=index::OBJECT_RVALUE_REF).contains(&self.type_index)
    }

    /// The payload; the tag determines which of its fields is valid.
    pub(super) fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The address of a value of kind `OPAQUE_PTR`.
    pub fn as_opaque(&self) -> Option<*mut c_void> {
        match self.type_index {
            // SAFETY: the tag says that the payload is an address.
            index::OPAQUE_PTR => Some(unsafe { self.payload.ptr }),
            _ => None,
        }
    }

    /// The `DLTensor` of a tensor: an object's own, or one that the other side of a call passes.
    pub fn as_dl_tensor(&self) -> Option<&DLTensor> {
        match self.type_index {
            // SAFETY: the tag says what the address points to, and the value's creator keeps it alive.
            index::DL_TENSOR_PTR => unsafe { self.payload.ptr.cast::<DLTensor>().as_ref() },
            _ => self.get::<&Tensor>().map(Tensor::as_dl),
        }
    }

    /// The text of a string of any of the three kinds.
    pub fn as_str(&self) -> Option<&str> {
        // SAFETY: the tag says which field of the payload is set, and the value's creator keeps its bytes alive.
        unsafe {
            match self.type_index {
                index::SMALL_STR => Some(valid_prefix(&self.payload.bytes[..(self.small_len as usize).min(7)])),
                index::STR => {
                    let text: &Str = &*(&raw const self.payload).cast();
                    Some(text.as_str())
                }
                index::RAW_STR if !self.payload.ptr.is_null() => {
                    Some(valid_prefix(CStr::from_ptr(self.payload.ptr as *const c_char).to_bytes()))
                }
                _ => None,
            }
        }
    }

    /// The bytes of a byte string of any of the three kinds.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        // SAFETY: the tag says which field of the payload is set, and the value's creator keeps its bytes alive.
        unsafe {
            match self.type_index {
                index::SMALL_BYTES => Some(&self.payload.bytes[..(self.small_len as usize).min(7)]),
                index::BYTES => {
                    let bytes: &Bytes = &*(&raw const self.payload).cast();
                    Some(bytes.as_slice())
                }
                index::BYTE_ARRAY_PTR => self.payload.ptr.cast::<ByteArray>().as_ref().map(|bytes| bytes.as_slice()),
                _ => None,
            }
        }
    }

    /// The address of the object, if it is one: equal for values that share it.
    pub fn address(&self) -> Option<usize> {
        // SAFETY: the tag says that the payload is an address.
        self.is_object().then(|| unsafe { self.payload.ptr }.addr())
    }

    /// A bitwise copy that does not count as a reference: for argument lists.
    ///
    /// # Safety
    /// The copy must not be dropped, and must not outlive `self`'s reference.
    #[inline]
    pub unsafe fn alias(&self) -> ManuallyDrop<Any> {
        ManuallyDrop::new(Any { type_index: self.type_index, small_len: self.small_len, payload: self.payload })
    }

    /// Validates a value from other code as far as possible: borrowed pointers are not null, and tensors are
    /// consistent.
    pub fn check(&self) -> Result<(), Error> {
        let missing = || Error::value("the value has a reference kind, but its pointer is null");
        // SAFETY: the tag says that the payload is an address; other code describes its tensors and strings correctly,
        // beyond what is checked here.
        unsafe {
            match self.type_index {
                index::DL_TENSOR_PTR => {
                    self.payload.ptr.cast::<DLTensor>().as_ref().ok_or_else(missing)?.check()?;
                }
                index::BYTE_ARRAY_PTR => {
                    let bytes = self.payload.ptr.cast::<ByteArray>().as_ref().ok_or_else(missing)?;
                    if bytes.data.is_null() && bytes.len > 0 || isize::try_from(bytes.len).is_err() {
                        return Err(Error::value(format!("a byte array of {} bytes is not valid", bytes.len)));
                    }
                }
                index::RAW_STR | index::OBJECT_RVALUE_REF | index::OBJECT_BEGIN.. if self.payload.ptr.is_null() => {
                    return Err(missing());
                }
                index::TENSOR => {
                    let tensor = self.get::<&Tensor>().filter(|tensor| !tensor.0.is_ours());
                    tensor.map(|tensor| tensor.as_dl().check()).transpose()?;
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// An owned value: borrowed data is copied, if possible.
    #[cold]
    pub fn owned(&self) -> Result<Any, Error> {
        self.check()?;
        match self.type_index {
            // SAFETY: the tag says what the address points to, which is not null, and the value's creator keeps it
            // alive.
            index::DL_TENSOR_PTR => Ok(unsafe { Tensor::copy_of(&*self.payload.ptr.cast::<DLTensor>()) }?.into()),
            _ => Ok(self.clone()),
        }
    }

    fn clone_borrowed(&self) -> Any {
        // SAFETY: the tag says what the address points to, and the caller that passed it keeps it alive.
        unsafe {
            match self.type_index {
                index::RAW_STR => self.as_str().map_or(Any::NONE, Any::str),
                index::BYTE_ARRAY_PTR => {
                    let bytes = self.payload.ptr.cast::<ByteArray>().as_ref();
                    bytes.map_or(Any::NONE, |bytes| Any::object(Bytes::new(bytes.as_slice()).0))
                }
                index::DL_TENSOR_PTR => {
                    let tensor = self.payload.ptr.cast::<DLTensor>().as_ref();
                    tensor.and_then(|tensor| Tensor::copy_of(tensor).ok()).map_or(Any::NONE, |t| Any::object(t.0))
                }
                _ => match self.payload.ptr.cast::<Option<NonNull<Header>>>().as_ref() {
                    Some(Some(object)) => {
                        retain(*object);
                        Any::plain(object.as_ref().type_index(), Payload { object: Some(*object) })
                    }
                    _ => Any::NONE,
                },
            }
        }
    }
}

impl Clone for Any {
    #[inline]
    fn clone(&self) -> Any {
        match self.type_index {
            index::DL_TENSOR_PTR..=index::OBJECT_RVALUE_REF => return self.clone_borrowed(),
            // SAFETY: the tag says that the payload is an object, alive as long as `self`.
            index::OBJECT_BEGIN.. => unsafe {
                if let Some(object) = self.payload.object {
                    retain(object);
                }
            },
            _ => (),
        }
        // SAFETY: a reference to the object was added above, so the copy may be dropped.
        ManuallyDrop::into_inner(unsafe { self.alias() })
    }
}

impl Drop for Any {
    #[inline]
    fn drop(&mut self) {
        if self.is_object() {
            // SAFETY: the tag says that the payload is an object, and this value holds one reference to it.
            unsafe {
                if let Some(object) = self.payload.object {
                    release(object);
                }
            }
        }
    }
}

impl Default for Any {
    fn default() -> Any {
        Any::NONE
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::MAX_NDIM;

    /// The error for an invalid `DLTensor` of two floats.
    fn refused(change: impl FnOnce(&mut DLTensor)) -> String {
        let (mut data, mut shape, mut strides) = ([1f32, 2.0], [2i64], [1i64]);
        let (data, shape, strides) = (data.as_mut_ptr().cast(), shape.as_mut_ptr(), strides.as_mut_ptr());
        let mut tensor =
            DLTensor { data, device: Device::CPU, ndim: 1, dtype: DType::FLOAT32, shape, strides, byte_offset: 0 };
        change(&mut tensor);
        let value = Any::plain(index::DL_TENSOR_PTR, Payload { ptr: (&raw mut tensor).cast() });
        let error = value.check().unwrap_err();
        assert_eq!(value.owned().unwrap_err().message(), error.message());
        error.message().to_owned()
    }

    #[test]
    fn views_by_other_code_are_looked_at() {
        assert!(refused(|tensor| tensor.data = std::ptr::null_mut()).contains("null address"));
        assert!(refused(|tensor| tensor.byte_offset = u64::MAX).contains("offset"));
        // SAFETY: the stride belongs to the test.
        assert!(refused(|tensor| unsafe { *tensor.strides = i64::MAX }).contains("strides"));
        assert!(refused(|tensor| tensor.ndim = 100_000).contains("100000 dimensions"));
        assert!(refused(|tensor| tensor.ndim = MAX_NDIM as i32 + 1).contains("dimensions"));
        assert!(refused(|tensor| tensor.ndim = -1).contains("-1 dimensions"));
        assert!(refused(|tensor| tensor.shape = std::ptr::null_mut()).contains("no shape"));
        assert!(refused(|tensor| tensor.dtype = DType::VOID).contains("elements of void"));
        assert!(refused(|tensor| tensor.dtype.lanes = 0xFFFE).contains("elements of"));
        // SAFETY: the size belongs to the test.
        assert!(refused(|tensor| unsafe { *tensor.shape = -3 }).contains("shape"));
    }

    #[test]
    fn values_that_refer_to_nothing_are_refused() {
        for kind in
            [index::DL_TENSOR_PTR, index::RAW_STR, index::BYTE_ARRAY_PTR, index::OBJECT_RVALUE_REF, index::TENSOR]
        {
            let value = ManuallyDrop::new(Any::plain(kind, Payload { ptr: std::ptr::null_mut() }));
            assert!(value.check().unwrap_err().message().contains("null"), "{kind}");
        }
        assert!(
            [Any::NONE, 1i64.into(), "text".into(), "a longer text".into()].iter().all(|value| value.check().is_ok())
        );
    }
}

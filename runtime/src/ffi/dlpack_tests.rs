use super::*;
use crate::value::{DType, Device, SharedBytes, device_kind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn iota(shape: &[i64]) -> Tensor {
    let values: Vec<i32> = (0..shape.iter().product::<i64>() as i32).collect();
    Tensor::from_slice(shape, &values).unwrap()
}

/// A tensor of another framework: an array of bytes, and the number of calls of its deleter.
struct Foreign {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    bytes: Vec<u8>,
    ended: Arc<AtomicUsize>,
}

impl Foreign {
    fn new(sizes: &[i64], strides: &[i64], bytes: usize) -> (Box<Foreign>, Arc<AtomicUsize>) {
        let ended = Arc::new(AtomicUsize::new(0));
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        (Box::new(Foreign { sizes, strides, bytes: (0..bytes as u8).collect(), ended: ended.clone() }), ended)
    }

    fn describe(&mut self, dtype: DType) -> DLTensor {
        DLTensor {
            data: self.bytes.as_mut_ptr(),
            device: Device::CPU,
            ndim: self.sizes.len() as i32,
            dtype,
            shape: self.sizes.as_mut_ptr(),
            strides: if self.strides.is_empty() { std::ptr::null_mut() } else { self.strides.as_mut_ptr() },
            byte_offset: 0,
        }
    }
}

unsafe extern "C" fn end_foreign<M: Managed>(managed: *mut M) {
    // SAFETY: the tests pair this function with a boxed `Foreign` and a boxed structure.
    unsafe {
        let managed = Box::from_raw(managed);
        let foreign = Box::from_raw(managed.context().cast::<Foreign>());
        foreign.ended.fetch_add(1, Relaxed);
    }
}

fn managed<M: Managed>(mut foreign: Box<Foreign>, change: impl FnOnce(&mut DLTensor), flags: u64) -> *mut M {
    let mut tensor = foreign.describe(DType::UINT8);
    change(&mut tensor);
    Box::into_raw(Box::new(M::lend(tensor, flags, Box::into_raw(foreign).cast(), end_foreign::<M>)))
}

#[test]
fn loans_keep_the_tensor_alive_and_share_its_memory() {
    let tensor = iota(&[4, 3]);
    let (plain, versioned) = (tensor.to_dlpack().unwrap(), tensor.to_dlpack_versioned().unwrap());
    let address = tensor.data_ptr();
    drop(tensor);
    // SAFETY: the managed tensors are alive.
    let (one, other) = unsafe { (&plain.as_ref().tensor, &versioned.as_ref().tensor) };
    assert_eq!((one.data, other.data, one.ndim), (address, address, 2));
    // SAFETY: the tensor has two strides.
    assert_eq!(unsafe { std::slice::from_raw_parts(other.strides, 2) }, [3, 1]);
    // SAFETY: both managed tensors are imported, once each.
    let back = unsafe { Tensor::from_dlpack(plain.as_ptr()) }.unwrap();
    // SAFETY: as above.
    drop(unsafe { Tensor::from_dlpack_versioned(versioned.as_ptr()) }.unwrap());
    assert_eq!((back.data_ptr(), back.as_slice::<i32>().unwrap()[11]), (address, 11));
}

#[test]
fn loans_end_once_when_the_last_view_goes() {
    let (foreign, ended) = Foreign::new(&[2, 3], &[], 6);
    // SAFETY: the managed tensor is valid.
    let tensor = unsafe { Tensor::from_dlpack(managed(foreign, |_| (), 0)) }.unwrap();
    let view = tensor.view(DType::UINT8, &[2], 4).unwrap();
    let copy = tensor.clone();
    drop(tensor);
    std::thread::spawn(move || drop(copy)).join().unwrap();
    assert_eq!((view.as_slice::<u8>().unwrap(), ended.load(Relaxed)), (&[4, 5][..], 0));
    drop(view);
    assert_eq!(ended.load(Relaxed), 1);
}

#[test]
fn strides_and_offsets_are_preserved() {
    let (foreign, _) = Foreign::new(&[2, 2], &[1, 3], 8);
    // SAFETY: the managed tensor is valid.
    let tensor = unsafe { Tensor::from_dlpack(managed(foreign, |tensor| tensor.byte_offset = 2, 0)) }.unwrap();
    assert_eq!((tensor.strides(), tensor.is_contiguous()), (&[1, 3][..], false));
    assert_eq!(tensor.to_contiguous().unwrap().as_slice::<u8>().unwrap(), [2, 5, 3, 6]);
    let (foreign, _) = Foreign::new(&[3], &[-2], 8);
    // SAFETY: as above.
    let backwards = unsafe { Tensor::from_dlpack(managed(foreign, |tensor| tensor.byte_offset = 5, 0)) }.unwrap();
    assert_eq!(backwards.to_contiguous().unwrap().as_slice::<u8>().unwrap(), [5, 3, 1]);
}

#[test]
fn read_only_tensors_are_exported_as_such() {
    let constant: SharedBytes = Arc::new(vec![0u8; 8]);
    let tensor = Tensor::from_shared(DType::UINT8, &[8], constant, 0..8).unwrap().reshape(&[2, 4]).unwrap();
    assert!(tensor.to_dlpack().is_err_and(|error| error.to_string().contains("versioned")));
    let loan = tensor.to_dlpack_versioned().unwrap();
    // SAFETY: the managed tensor is alive, and then imported.
    let back = unsafe {
        assert_eq!(loan.as_ref().flags, READ_ONLY);
        Tensor::from_dlpack_versioned(loan.as_ptr()).unwrap()
    };
    assert!(back.is_read_only() && back.reshape(&[8]).unwrap().is_read_only());
    assert!(!iota(&[2]).is_read_only());
}

#[test]
fn other_devices_keep_their_addresses() {
    let (foreign, _) = Foreign::new(&[2], &[], 2);
    let elsewhere = Device { kind: device_kind::VULKAN, id: 3 };
    // SAFETY: nothing accesses the memory.
    let tensor = unsafe { Tensor::from_dlpack(managed(foreign, |tensor| tensor.device = elsewhere, 0)) }.unwrap();
    assert_eq!(tensor.device(), elsewhere);
    assert!(tensor.as_bytes().is_err() && tensor.to_device(Device::CPU).is_err());
    // SAFETY: the managed tensor is released at once.
    unsafe { end_loan(tensor.to_dlpack_versioned().unwrap().as_ptr()) };
}

#[test]
fn bad_descriptions_are_refused_and_stay_the_callers() {
    let refused = |change: fn(&mut DLTensor), flags| {
        let (foreign, ended) = Foreign::new(&[2, 3], &[3, 1], 6);
        let loan: *mut ManagedTensorVersioned = managed(foreign, change, flags);
        // SAFETY: errors are found before the memory is accessed; the managed tensor is released here.
        unsafe {
            let error = Tensor::from_dlpack_versioned(loan).unwrap_err().to_string();
            assert_eq!(ended.load(Relaxed), 0);
            end_foreign(loan);
            error
        }
    };
    assert!(refused(|tensor| tensor.ndim = -1, 0).contains("-1 dimensions"));
    assert!(refused(|tensor| tensor.shape = std::ptr::null_mut(), 0).contains("shape"));
    assert!(refused(|tensor| tensor.data = std::ptr::null_mut(), 0).contains("null"));
    assert!(refused(|tensor| tensor.byte_offset = u64::MAX, 0).contains("offset"));
    assert!(refused(|tensor| tensor.dtype = DType::VOID, 0).contains("void"));
    // SAFETY: the tensor has two sizes and strides.
    assert!(refused(|tensor| unsafe { *tensor.shape = -2 }, 0).contains("(-2, 3)"));
    // SAFETY: as above.
    assert!(refused(|tensor| unsafe { *tensor.strides = i64::MAX }, 0).contains("strides"));
    assert!(refused(|tensor| tensor.dtype = DType::INT4, SUBBYTE_PADDED).contains("int4"));
    let small = |tensor: &mut DLTensor| {
        tensor.dtype = DType::INT4;
        // SAFETY: the tensor has two sizes and strides.
        unsafe { *tensor.strides = 5 };
    };
    assert!(refused(small, 0).contains("strides"));
    // SAFETY: null is allowed.
    assert!(unsafe { Tensor::from_dlpack(std::ptr::null_mut()) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { Tensor::from_dlpack_versioned(std::ptr::null_mut()) }.is_err());
}

#[test]
fn other_versions_are_refused() {
    let loan = iota(&[1]).to_dlpack_versioned().unwrap();
    // SAFETY: the managed tensor is alive, and released at the end.
    unsafe {
        (*loan.as_ptr()).version = Version { major: 2, minor: 0 };
        let error = Tensor::from_dlpack_versioned(loan.as_ptr()).unwrap_err();
        assert_eq!(error.to_string(), "ValueError: DLPack 2.0 is not supported, only 1.x");
        (*loan.as_ptr()).version = Version { major: 1, minor: 99 };
        assert!(Tensor::from_dlpack_versioned(loan.as_ptr()).is_ok());
    }
}

#[test]
fn loans_without_a_deleter_and_empty_ones_are_fine() {
    let mut sizes = [0i64, 5];
    let (data, strides) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (device, dtype, shape) = (Device::CPU, DType::FLOAT32, sizes.as_mut_ptr());
    let tensor = DLTensor { data, device, ndim: 2, dtype, shape, strides, byte_offset: 0 };
    let mut managed = ManagedTensor { tensor, context: std::ptr::null_mut(), deleter: None };
    // SAFETY: the managed tensor outlives the tensor.
    let tensor = unsafe { Tensor::from_dlpack(&mut managed) }.unwrap();
    assert_eq!((tensor.shape(), tensor.as_slice::<f32>().unwrap().len()), (&[0, 5][..], 0));
}

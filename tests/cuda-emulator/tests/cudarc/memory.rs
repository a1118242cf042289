//! Allocations and copies: what is synchronous, and what is wrong with memory.
use crate::{driver::*, emulated, in_any_order};
use cudarc::driver::sys::CUresult;
use std::ptr::null_mut;

#[test]
fn copies_and_fills() {
    in_any_order("memory::copies_and_fills", || {
        primary(0);
        let stream = non_blocking();
        let (a, b) = (allocate(64).unwrap(), allocate_async(64, stream).unwrap());
        upload_async(a, &[1; 64], stream).unwrap();
        fill_async(a + 8, 2, 16, stream).unwrap();
        fill_words(a + 32, 0x0403_0201, 2, stream).unwrap();
        copy_async(b, a, 64, stream).unwrap();
        let expected = [[1; 8].as_slice(), &[2; 16], &[1; 8], &[1, 2, 3, 4, 1, 2, 3, 4], &[1; 24]].concat();
        assert_eq!(contents(b, 64), expected);
        fill(a, 9, 64).unwrap();
        copy(b, a, 64).unwrap();
        assert_eq!(contents(b, 64), [9; 64]);
        free(a).unwrap();
        free_async(b, stream).unwrap();
        synchronize_stream(stream).unwrap();
        destroy_stream(stream).unwrap();
        release_primary(0).unwrap();
    });
}

#[test]
fn wrong_addresses_are_refused() {
    emulated("memory::wrong_addresses_are_refused", &[], || {
        primary(0);
        let address = allocate(16).unwrap();
        let invalid = Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(upload(address + 1, &[0; 16]), invalid);
        assert_eq!(upload(address - 1, &[0; 1]), invalid);
        assert_eq!(upload(0, &[0; 1]), invalid);
        assert_eq!(fill_words(address + 2, 0, 1, null_mut()), invalid);
        assert_eq!(free(address + 8), invalid);
        assert_eq!(allocate(0).map(|_| ()), invalid);
        assert_eq!(free(0), Ok(()));
    });
}

#[test]
fn unwritten_bytes_are_an_error() {
    let output = emulated("memory::unwritten_bytes_are_an_error", &[], || {
        primary(0);
        let address = allocate(16).unwrap();
        upload(address, &[1; 12]).unwrap();
        assert_eq!(download(&mut [0; 16], address), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        assert_eq!(allocate(16), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("read of unwritten memory at offset 12 of an allocation of 16 bytes"), "{output}");
}

#[test]
fn double_free_is_an_error() {
    let output = emulated("memory::double_free_is_an_error", &[], || {
        primary(0);
        let stream = non_blocking();
        let (a, b) = (allocate(16).unwrap(), allocate_async(16, stream).unwrap());
        free(a).unwrap();
        assert_eq!(free(a), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        free_async(b, stream).unwrap();
        assert_eq!(free_async(b, stream), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
    });
    assert_eq!(output.matches("is freed twice").count(), 2, "{output}");
}

#[test]
fn memory_is_freed_while_work_uses_it() {
    let output = emulated("memory::memory_is_freed_while_work_uses_it", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(16).unwrap();
        fill_async(address, 1, 16, stream).unwrap();
        free(address).unwrap();
        assert_eq!(synchronize_stream(stream), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which was freed; in a queued memset"), "{output}");
}

#[test]
fn memory_is_used_after_its_stream_freed_it() {
    let output = emulated("memory::memory_is_used_after_its_stream_freed_it", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate_async(16, stream).unwrap();
        fill_async(address, 1, 16, stream).unwrap();
        free_async(address, stream).unwrap();
        fill_async(address, 2, 16, stream).unwrap();
        assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which was freed"), "{output}");
}

#[test]
fn another_stream_uses_memory_before_it_is_allocated() {
    let output = emulated("memory::another_stream_uses_memory_before_it_is_allocated", &[], || {
        primary(0);
        let (first, second) = (non_blocking(), non_blocking());
        let address = allocate_async(16, first).unwrap();
        fill_async(address, 1, 16, second).unwrap();
        assert_eq!(synchronize_stream(second), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which its stream has not allocated yet"), "{output}");
}

#[test]
fn a_pinned_buffer_is_reused_too_early() {
    emulated("memory::a_pinned_buffer_is_reused_too_early", &[], || {
        primary(0);
        let stream = non_blocking();
        let (address, buffer) = (allocate(16).unwrap(), pinned(16));
        buffer.fill(1);
        upload_async(address, buffer, stream).unwrap();
        buffer.fill(2);
        assert_eq!(contents(address, 16), [2; 16], "the copy reads the buffer when it runs");
        buffer.fill(3);
        upload_async(address, buffer, stream).unwrap();
        synchronize_stream(stream).unwrap();
        buffer.fill(4);
        assert_eq!(contents(address, 16), [3; 16]);
    });
}

#[test]
fn a_pinned_buffer_is_freed_too_early() {
    let output = emulated("memory::a_pinned_buffer_is_freed_too_early", &[], || {
        primary(0);
        let stream = non_blocking();
        let (address, buffer) = (allocate(16).unwrap(), allocate_host(16).unwrap());
        // SAFETY: the buffer has that many bytes.
        upload_async(address, unsafe { std::slice::from_raw_parts(buffer.cast(), 16) }, stream).unwrap();
        free_host(buffer).unwrap();
        assert_eq!(synchronize_stream(stream), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("access of pinned host memory"), "{output}");
}

#[test]
fn pageable_memory_is_read_at_once_and_written_late() {
    in_any_order("memory::pageable_memory_is_read_at_once_and_written_late", || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(16).unwrap();
        let mut data = vec![1; 16];
        upload_async(address, &data, stream).unwrap();
        data.fill(2);
        download_async(&mut data, address, stream).unwrap();
        assert_ne!(data, [1; 16]);
        synchronize_stream(stream).unwrap();
        assert_eq!(data, [1; 16]);
    });
}

#[test]
fn a_synchronous_upload_is_not_ordered_before_other_streams() {
    emulated("memory::a_synchronous_upload_is_not_ordered_before_other_streams", &[], || {
        primary(0);
        let (blocking, other) = (stream(0).unwrap(), non_blocking());
        let (a, b) = (allocate(16).unwrap(), allocate(16).unwrap());
        fill_async(a, 1, 16, blocking).unwrap();
        fill_async(b, 9, 16, other).unwrap();
        synchronize().unwrap();
        upload(a, &[2; 16]).unwrap();
        copy_async(b, a, 16, other).unwrap();
        synchronize_stream(other).unwrap();
        assert_eq!(contents(b, 16), [1; 16], "the transfer may still run");
        upload(a, &[3; 16]).unwrap();
        copy_async(b, a, 16, blocking).unwrap();
        synchronize_stream(blocking).unwrap();
        assert_eq!(contents(b, 16), [3; 16], "blocking streams wait for the default stream");
    });
}

#[test]
fn peers_copy_without_access() {
    emulated("memory::peers_copy_without_access", &[], || {
        let second = primary(1);
        let b = allocate(16).unwrap();
        let first = primary(0);
        let a = allocate(16).unwrap();
        let stream = non_blocking();
        upload_async(a, &[5; 16], stream).unwrap();
        copy_peer((b, second), (a, first), 16, stream).unwrap();
        synchronize_stream(stream).unwrap();
        assert_eq!(contents(b, 16), [5; 16]);
        assert_eq!(
            copy_peer((a, second), (b, first), 16, stream),
            Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            "the contexts are swapped"
        );
        enable_peer(second).unwrap();
        assert_eq!(enable_peer(second), Err(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
    });
}

#[test]
fn allocations_fail_on_request() {
    emulated("memory::allocations_fail_on_request", &[("FAIL_ALLOC", "3")], || {
        primary(0);
        let stream = non_blocking();
        allocate(16).unwrap();
        allocate_async(16, stream).unwrap();
        assert_eq!(allocate_async(16, stream), Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        allocate(16).unwrap();
        synchronize().unwrap();
    });
}

//! Streams and events: work runs as late as the API allows.
use crate::{driver::*, emulated, in_any_order};
use cudarc::driver::sys::CUresult;
use std::{
    ffi::c_void,
    ptr::null_mut,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

#[test]
fn nothing_runs_until_it_is_waited_for() {
    emulated("streams::nothing_runs_until_it_is_waited_for", &[], || {
        primary(0);
        let stream = non_blocking();
        let (address, buffer) = (allocate(1).unwrap(), pinned(1));
        buffer[0] = 7;
        fill_async(address, 1, 1, stream).unwrap();
        download_async(buffer, address, stream).unwrap();
        assert_eq!(buffer[0], 7);
        assert_eq!(query_stream(stream), Err(CUresult::CUDA_ERROR_NOT_READY));
        assert_eq!(query_stream(stream), Err(CUresult::CUDA_ERROR_NOT_READY));
        assert_eq!(query_stream(stream), Ok(()), "a program that polls must get on");
        assert_eq!(buffer[0], 1);
    });
}

#[test]
fn a_missing_wait_between_streams() {
    emulated("streams::a_missing_wait_between_streams", &[], || {
        primary(0);
        let (writer, reader) = (non_blocking(), non_blocking());
        let (address, result) = (allocate(4).unwrap(), allocate(4).unwrap());
        upload_async(address, &[1; 4], writer).unwrap();
        synchronize().unwrap();
        upload_async(address, &[2; 4], writer).unwrap();
        copy_async(result, address, 4, reader).unwrap();
        assert_eq!(contents(result, 4), [1; 4], "the reader may run first");
        let event = event().unwrap();
        upload_async(address, &[3; 4], writer).unwrap();
        record(event, writer).unwrap();
        wait(reader, event).unwrap();
        copy_async(result, address, 4, reader).unwrap();
        synchronize_stream(reader).unwrap();
        assert_eq!(contents(result, 4), [3; 4]);
    });
}

#[test]
fn an_event_recorded_too_early() {
    emulated("streams::an_event_recorded_too_early", &[], || {
        primary(0);
        let (writer, reader) = (non_blocking(), non_blocking());
        let (address, result, event) = (allocate(4).unwrap(), allocate(4).unwrap(), event().unwrap());
        upload_async(address, &[1; 4], writer).unwrap();
        record(event, writer).unwrap();
        upload_async(address, &[2; 4], writer).unwrap();
        wait(reader, event).unwrap();
        copy_async(result, address, 4, reader).unwrap();
        synchronize_stream(reader).unwrap();
        assert_eq!(contents(result, 4), [1; 4]);
    });
}

#[test]
fn waits_order_streams_whatever_the_order() {
    in_any_order("streams::waits_order_streams_whatever_the_order", || {
        primary(0);
        let (first, second) = (non_blocking(), non_blocking());
        let (address, event) = (allocate(4).unwrap(), event().unwrap());
        for round in 0..20 {
            for (from, to) in [(first, second), (second, first)] {
                fill_async(address, round, 4, from).unwrap();
                record(event, from).unwrap();
                wait(to, event).unwrap();
            }
        }
        synchronize_event(event).unwrap();
        assert_eq!(query_event(event), Ok(()));
        synchronize_stream(first).unwrap();
        let mut data = [0; 4];
        download(&mut data, address).unwrap();
        assert_eq!(data, [19; 4]);
    });
}

#[test]
fn a_wait_refers_to_the_record_before_it() {
    emulated("streams::a_wait_refers_to_the_record_before_it", &[], || {
        primary(0);
        let (first, second) = (non_blocking(), non_blocking());
        let (address, event) = (allocate(4).unwrap(), event().unwrap());
        wait(second, event).unwrap();
        fill_async(address, 1, 4, first).unwrap();
        record(event, first).unwrap();
        wait(second, event).unwrap();
        fill_async(address, 2, 4, second).unwrap();
        record(event, second).unwrap();
        destroy_event(event).unwrap();
        synchronize_stream(second).unwrap();
        assert_eq!(contents(address, 4), [2; 4]);
    });
}

#[test]
fn blocking_streams_wait_for_the_default_stream() {
    in_any_order("streams::blocking_streams_wait_for_the_default_stream", || {
        primary(0);
        let (first, second) = (stream(0).unwrap(), stream(0).unwrap());
        let address = allocate(4).unwrap();
        fill_async(address, 1, 4, first).unwrap();
        fill_async(address, 2, 4, null_mut()).unwrap();
        destroy_stream(first).unwrap();
        fill_async(address, 3, 4, second).unwrap();
        destroy_stream(second).unwrap();
        let mut data = [0; 4];
        download(&mut data, address).unwrap();
        assert_eq!(data, [3; 4], "the default stream waits for streams that were destroyed");
    });
}

#[test]
fn events_measure_time() {
    emulated("streams::events_measure_time", &[], || {
        primary(0);
        let (stream, start, end) = (non_blocking(), event().unwrap(), event().unwrap());
        let address = allocate(4).unwrap();
        assert_eq!(elapsed(start, end), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        record(start, stream).unwrap();
        fill_async(address, 1, 4, stream).unwrap();
        record(end, stream).unwrap();
        assert_eq!(elapsed(start, end), Err(CUresult::CUDA_ERROR_NOT_READY));
        synchronize_event(end).unwrap();
        assert!(elapsed(start, end).unwrap() > 0.0);
        let other = primary(1);
        assert!(!other.is_null());
        assert_eq!(record(start, non_blocking()), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    });
}

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: *mut c_void) {
    assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_NOT_PERMITTED));
    CALLS.fetch_add(1, Relaxed);
}

#[test]
fn functions_of_the_program_run_in_order() {
    emulated("streams::functions_of_the_program_run_in_order", &[], || {
        primary(0);
        let stream = non_blocking();
        host_function(stream, count, null_mut()).unwrap();
        assert_eq!(CALLS.load(Relaxed), 0);
        synchronize_stream(stream).unwrap();
        assert_eq!(CALLS.load(Relaxed), 1);
    });
}

#[test]
fn threads_share_a_context() {
    emulated("streams::threads_share_a_context", &[("SEED", "9")], || {
        let context = primary(0) as usize;
        std::thread::scope(|scope| {
            for value in 1..5 {
                scope.spawn(move || {
                    set_current(context as _).unwrap();
                    let stream = non_blocking();
                    for _ in 0..50 {
                        let address = allocate_async(16, stream).unwrap();
                        fill_async(address, value, 16, stream).unwrap();
                        let mut data = [0; 16];
                        download_async(&mut data, address, stream).unwrap();
                        free_async(address, stream).unwrap();
                        synchronize_stream(stream).unwrap();
                        assert_eq!(data, [value; 16]);
                    }
                });
            }
        });
    });
}

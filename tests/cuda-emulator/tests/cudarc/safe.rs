//! The safe layer of cudarc. It relies on copies to pageable memory being complete, which drivers before 12.0 promise.
use crate::{emulated, kernels};
use cudarc::driver::{CudaContext, DriverError, sys};
use std::sync::Arc;

const OLD: &[(&str, &str)] = &[("DRIVER_VERSION", "11080"), ("SEED", "3")];

fn stream() -> Result<(Arc<CudaContext>, Arc<cudarc::driver::CudaStream>), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    Ok((context, stream))
}

#[test]
fn slices_are_copied_and_freed() {
    emulated("safe::slices_are_copied_and_freed", OLD, || {
        let (context, stream) = stream().unwrap();
        let other = context.new_stream().unwrap();
        let a = stream.clone_htod(&[1.0f32, 2.0, 3.0]).unwrap();
        let b = other.clone_dtod(&a).unwrap();
        assert_eq!(other.clone_dtoh(&b).unwrap(), [1.0, 2.0, 3.0]);
        let mut c = stream.alloc_zeros::<u32>(5).unwrap();
        stream.memcpy_htod(&[7, 8], &mut c.slice_mut(1..3)).unwrap();
        assert_eq!(context.default_stream().clone_dtoh(&c).unwrap(), [0, 7, 8, 0, 0]);
        assert!(stream.null::<u8>().unwrap().is_empty());
        // SAFETY: the buffer is written before it is read.
        let mut pinned = unsafe { context.alloc_pinned::<u32>(5) }.unwrap();
        stream.memcpy_dtoh(&c, &mut pinned).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [0, 7, 8, 0, 0]);
        drop((a, b, c, pinned));
        context.check_err().unwrap();
    });
}

#[test]
fn nothing_leaks() {
    let output = emulated("safe::nothing_leaks", &[], || {
        let (context, stream) = stream().unwrap();
        drop(stream.clone_htod(&[1u8; 100]).unwrap());
        context.check_err().unwrap();
        drop((stream, context));
    });
    assert!(!output.contains("cuda emulator"), "{output}");
}

#[test]
fn devices_exchange_memory() {
    emulated("safe::devices_exchange_memory", OLD, || {
        let (first, second) = (CudaContext::new(0).unwrap(), CudaContext::new(1).unwrap());
        let a = first.new_stream().unwrap().clone_htod(&[1u64, 2, 3]).unwrap();
        // With default streams, cudarc 0.19 submits the copy to the wrong one: it drops an event, which changes the
        // current context, just before.
        let stream = second.new_stream().unwrap();
        let b = stream.clone_dtod(&a).unwrap();
        assert_eq!(stream.clone_dtoh(&b).unwrap(), [1, 2, 3]);
    });
}

#[test]
fn graphs_run_again() {
    emulated("safe::graphs_run_again", OLD, || {
        let (context, stream) = stream().unwrap();
        // SAFETY: all work is in one stream.
        unsafe { context.disable_event_tracking() };
        let mut data = stream.clone_htod(&[1u32; 4]).unwrap();
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        stream.memset_zeros(&mut data).unwrap();
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
        for _ in 0..2 {
            graph.upload().unwrap();
            graph.launch().unwrap();
            assert_eq!(stream.clone_dtoh(&data).unwrap(), [0; 4]);
            stream.memcpy_htod(&[2u32; 4], &mut data).unwrap();
        }
    });
}

#[test]
fn a_kernel_faults() {
    emulated("safe::a_kernel_faults", &[], || {
        let (context, stream) = stream().unwrap();
        let stop = kernels::kernel(c"stop");
        crate::driver::launch(stop, 1, 1, 0, stream.cu_stream(), &[]).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert_eq!(error.0, sys::CUresult::CUDA_ERROR_LAUNCH_FAILED);
        assert!(context.synchronize().is_err());
    });
}

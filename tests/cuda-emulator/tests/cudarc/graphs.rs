//! Stream capture and graphs.
use crate::{driver::*, emulated, in_any_order};
use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode as Mode};
use std::ptr::null_mut;

const GLOBAL: Mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const RELAXED: Mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;

#[test]
fn a_graph_runs_with_forks_and_joins() {
    in_any_order("graphs::a_graph_runs_with_forks_and_joins", || {
        primary(0);
        let (main, side) = (non_blocking(), non_blocking());
        let (fork, join) = (event().unwrap(), event().unwrap());
        let (a, b, input) = (allocate(4).unwrap(), allocate(8).unwrap(), pinned(4));
        begin_capture(main, GLOBAL).unwrap();
        upload_async(a, input, main).unwrap();
        record(fork, main).unwrap();
        wait(side, fork).unwrap();
        copy_async(b, a, 4, main).unwrap();
        copy_async(b + 4, a, 4, side).unwrap();
        record(join, side).unwrap();
        wait(main, join).unwrap();
        copy_async(a, b + 4, 4, main).unwrap();
        let graph = end_capture(main).unwrap();
        let exec = instantiate(graph).unwrap();
        destroy_graph(graph).unwrap();
        for value in 1..4 {
            input.fill(value);
            launch_graph(exec, main).unwrap();
            synchronize_stream(main).unwrap();
            assert_eq!(contents(b, 8), [value; 8]);
        }
        destroy_exec(exec).unwrap();
        assert_eq!(launch_graph(exec, main), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        let mut nodes = 0;
        // SAFETY: the count is valid; the graph is destroyed, which the driver notices.
        let code = unsafe { sys::cuGraphGetNodes(graph, null_mut(), &mut nodes) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn capturing_runs_nothing() {
    emulated("graphs::capturing_runs_nothing", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(4).unwrap();
        upload(address, &[1; 4]).unwrap();
        begin_capture(stream, RELAXED).unwrap();
        fill_async(address, 2, 4, stream).unwrap();
        let graph = end_capture(stream).unwrap();
        assert_eq!(contents(address, 4), [1; 4]);
        let exec = instantiate(graph).unwrap();
        launch_graph(exec, stream).unwrap();
        assert_eq!(contents(address, 4), [2; 4]);
    });
}

#[test]
fn a_stale_graph_uses_freed_memory() {
    let output = emulated("graphs::a_stale_graph_uses_freed_memory", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(4).unwrap();
        begin_capture(stream, GLOBAL).unwrap();
        fill_async(address, 2, 4, stream).unwrap();
        let exec = instantiate(end_capture(stream).unwrap()).unwrap();
        launch_graph(exec, stream).unwrap();
        synchronize_stream(stream).unwrap();
        free(address).unwrap();
        allocate(4).unwrap();
        launch_graph(exec, stream).unwrap();
        assert_eq!(synchronize_stream(stream), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which was freed"), "{output}");
}

#[test]
fn waiting_during_a_capture_invalidates_it() {
    emulated("graphs::waiting_during_a_capture_invalidates_it", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(4).unwrap();
        let wrong: [fn(sys::CUstream) -> Result; 5] = [
            synchronize_stream,
            query_stream,
            |_| synchronize(),
            |_| allocate(4).map(|_| ()),
            |_| upload(allocate_async(4, non_blocking())?, &[0; 4]),
        ];
        for call in wrong {
            begin_capture(stream, GLOBAL).unwrap();
            fill_async(address, 2, 4, stream).unwrap();
            assert_eq!(call(stream), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
            assert_eq!(fill_async(address, 2, 4, stream), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
            assert_eq!(end_capture(stream), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
        }
        begin_capture(stream, RELAXED).unwrap();
        allocate(4).unwrap();
        end_capture(stream).unwrap();
    });
}

#[test]
fn captures_are_isolated() {
    emulated("graphs::captures_are_isolated", &[], || {
        primary(0);
        let (first, second, event) = (non_blocking(), non_blocking(), event().unwrap());
        let address = allocate(4).unwrap();
        record(event, second).unwrap();
        begin_capture(first, GLOBAL).unwrap();
        assert_eq!(wait(first, event), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
        assert_eq!(end_capture(first), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));

        begin_capture(first, GLOBAL).unwrap();
        record(event, first).unwrap();
        wait(second, event).unwrap();
        fill_async(address, 1, 4, second).unwrap();
        assert_eq!(end_capture(second), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
        assert_eq!(end_capture(first), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));

        begin_capture(first, GLOBAL).unwrap();
        record(event, first).unwrap();
        wait(second, event).unwrap();
        fill_async(address, 1, 4, second).unwrap();
        assert_eq!(end_capture(first), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
        assert_eq!(synchronize_event(event), Err(CUresult::CUDA_ERROR_CAPTURED_EVENT));
        fill_async(address, 1, 4, second).unwrap();
        assert_eq!(contents(address, 4), [1; 4], "streams that joined are free again");
    });
}

#[test]
fn the_default_stream_and_captures() {
    emulated("graphs::the_default_stream_and_captures", &[], || {
        primary(0);
        let (blocking, other) = (stream(0).unwrap(), non_blocking());
        let address = allocate(4).unwrap();
        assert_eq!(begin_capture(null_mut(), GLOBAL), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
        begin_capture(other, GLOBAL).unwrap();
        fill_async(address, 1, 4, null_mut()).unwrap();
        end_capture(other).unwrap();
        begin_capture(blocking, GLOBAL).unwrap();
        assert_eq!(fill_async(address, 1, 4, null_mut()), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
        assert_eq!(end_capture(blocking), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
        assert_eq!(end_capture(blocking), Err(CUresult::CUDA_ERROR_ILLEGAL_STATE));
        begin_capture(blocking, GLOBAL).unwrap();
        destroy_stream(blocking).unwrap();
        allocate(4).unwrap();
    });
}

#[test]
fn an_executable_takes_over_a_graph_of_the_same_form() {
    emulated("graphs::an_executable_takes_over_a_graph_of_the_same_form", &[], || {
        primary(0);
        let stream = non_blocking();
        let address = allocate(4).unwrap();
        let capture = |value: u8, twice: bool| {
            begin_capture(stream, GLOBAL).unwrap();
            fill_async(address, value, 4, stream).unwrap();
            if twice {
                fill_async(address, value, 4, stream).unwrap();
            }
            end_capture(stream).unwrap()
        };
        let exec = instantiate(capture(1, false)).unwrap();
        let update = |graph| {
            // SAFETY: zero is a valid state of the result.
            let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
            // SAFETY: all arguments are valid.
            let code = unsafe { sys::cuGraphExecUpdate_v2(exec, graph, &mut info) };
            (code, info.result as u32)
        };
        assert_eq!(update(capture(2, false)), (CUresult::CUDA_SUCCESS, 0));
        assert_eq!(update(capture(3, true)), (CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 2));
        launch_graph(exec, stream).unwrap();
        assert_eq!(contents(address, 4), [2; 4]);
    });
}

//! Streams and stream capture.
use super::{Out, abi, initialized};
use crate::driver::{Driver, Handle, Result, capture::Mode};

abi! {
    functions by initialized;

    fn cuStreamCreate(stream: Out<Handle>, flags: u32) |driver| { stream.fill(|| driver.create_stream(flags, 0)) }
    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) |driver| {
        stream.fill(|| driver.create_stream(flags, priority))
    }
    fn cuStreamDestroy_v2(stream: Handle) |driver| { driver.destroy_stream(stream) }
    fn cuStreamSynchronize(stream: Handle) |driver| { driver.synchronize_stream(stream) }
    fn cuStreamQuery(stream: Handle) |driver| { driver.query_stream(stream) }
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) |driver| { driver.wait_event(stream, event, flags) }
    fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) |driver| { context.fill(|| driver.stream_context(stream)) }
    fn cuStreamGetFlags(stream: Handle, flags: Out<u32>) |driver| { flags.fill(|| driver.stream_flags(stream)) }
    fn cuStreamGetPriority(stream: Handle, priority: Out<i32>) |driver| {
        priority.fill(|| driver.stream_priority(stream))
    }
    fn cuStreamGetId(stream: Handle, id: Out<u64>) |driver| { id.fill(|| driver.resolve(stream).map(|id| id as u64)) }
    fn cuLaunchHostFunc(stream: Handle, function: usize, data: usize) |driver| {
        driver.launch_host_function(stream, function, data)
    }
    fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) |driver| {
        driver.begin_capture(stream, Mode::from_number(mode)?)
    }
    fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) |driver| {
        graph.store(0);
        graph.fill(|| driver.end_capture(stream))
    }
    fn cuStreamIsCapturing(stream: Handle, status: Out<u32>) |driver| {
        status.fill(|| driver.capture_info(stream).map(|info| info.status))
    }
    fn cuStreamGetCaptureInfo_v2(
        stream: Handle,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<Handle>,
        nodes: Out<usize>,
        count: Out<usize>,
    ) |driver| {
        store_capture_info(driver, stream, (status, id, graph), (nodes, count))
    }
    fn cuStreamGetCaptureInfo_v3(
        stream: Handle,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<Handle>,
        nodes: Out<usize>,
        edges: Out<usize>,
        count: Out<usize>,
    ) |driver| {
        // No edge has data.
        edges.store(0);
        store_capture_info(driver, stream, (status, id, graph), (nodes, count))
    }
    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) |driver| {
        let new = Mode::from_number(super::In(mode.0.cast_const()).get()?)?;
        mode.fill(|| Ok(driver.exchange_capture_mode(new) as u32))
    }
}

fn store_capture_info(
    driver: &mut Driver,
    stream: Handle,
    (status, id, graph): (Out<u32>, Out<u64>, Out<Handle>),
    (nodes, count): (Out<usize>, Out<usize>),
) -> Result {
    let info = driver.capture_info(stream)?;
    status.fill(|| Ok(info.status))?;
    id.store(info.id);
    graph.store(info.graph);
    driver.returned_nodes = info.nodes;
    nodes.store(driver.returned_nodes.as_ptr() as usize);
    count.store(driver.returned_nodes.len());
    Ok(())
}

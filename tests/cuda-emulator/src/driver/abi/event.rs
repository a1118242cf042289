//! Events.
use super::{Out, abi, initialized};
use crate::driver::{Code, Handle};

abi! {
    functions by initialized;

    fn cuEventCreate(event: Out<Handle>, flags: u32) |driver| { event.fill(|| driver.create_event(flags)) }
    fn cuEventDestroy_v2(event: Handle) |driver| { driver.destroy_event(event) }
    fn cuEventRecord(event: Handle, stream: Handle) |driver| { driver.record_event(event, stream) }
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) |driver| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        driver.record_event(event, stream)
    }
    fn cuEventSynchronize(event: Handle) |driver| { driver.synchronize_event(event) }
    fn cuEventQuery(event: Handle) |driver| { driver.query_event(event) }
    fn cuEventElapsedTime(time: Out<f32>, start: Handle, end: Handle) |driver| {
        time.fill(|| driver.elapsed(start, end))
    }
    fn cuEventElapsedTime_v2(time: Out<f32>, start: Handle, end: Handle) |driver| {
        time.fill(|| driver.elapsed(start, end))
    }
}

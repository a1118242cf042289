//! Random programs that wait wherever they must: whatever the order of unordered work, results are those of one thread
//! that does one thing after the other.
use crate::{driver::*, in_any_order};
use cudarc::driver::sys::{CUevent, CUstream, CUstreamCaptureMode as Mode};
use std::ptr::null_mut;

const BYTES: usize = 8;
const BUFFERS: usize = 4;

/// A program, and what its buffers must have.
struct Program {
    random: fastrand::Rng,
    streams: Vec<CUstream>,
    event: CUevent,
    buffers: Vec<Buffer>,
}

/// A buffer with the stream that used it last.
struct Buffer {
    address: u64,
    stream: CUstream,
    expected: [u8; BYTES],
}

impl Program {
    fn new(seed: u64) -> Self {
        let streams = vec![non_blocking(), non_blocking(), stream(0).unwrap(), null_mut()];
        let buffer = |_| {
            let address = allocate_async(BYTES, streams[0]).unwrap();
            fill_async(address, 0, BYTES, streams[0]).unwrap();
            Buffer { address, stream: streams[0], expected: [0; BYTES] }
        };
        let buffers = (0..BUFFERS).map(buffer).collect();
        Self { random: fastrand::Rng::with_seed(seed), event: event().unwrap(), streams, buffers }
    }

    /// Makes a stream wait for what used a buffer last.
    fn acquire(&mut self, buffer: usize, stream: CUstream) {
        let last = std::mem::replace(&mut self.buffers[buffer].stream, stream);
        if last != stream {
            record(self.event, last).unwrap();
            wait(stream, self.event).unwrap();
        }
    }

    fn step(&mut self) {
        let stream = self.streams[self.random.usize(..self.streams.len())];
        let (a, b) = (self.random.usize(..BUFFERS), self.random.usize(..BUFFERS));
        self.acquire(a, stream);
        self.acquire(b, stream);
        let (from, to) = (self.buffers[a].address, self.buffers[b].address);
        let value = self.random.u8(..);
        match self.random.u8(..8) {
            0 => self.capture(a, b, value, stream),
            1 => self.replace(b, value, stream),
            2 => {
                let mut data = [0; BYTES];
                download_async(&mut data, from, stream).unwrap();
                synchronize_stream(stream).unwrap();
                assert_eq!(data, self.buffers[a].expected);
            }
            3 | 4 if a != b => {
                copy_async(to, from, BYTES, stream).unwrap();
                self.buffers[b].expected = self.buffers[a].expected;
            }
            5 => {
                upload_async(to, &[value; BYTES], stream).unwrap();
                self.buffers[b].expected = [value; BYTES];
            }
            _ => {
                let offset = self.random.usize(..BYTES);
                fill_async(to + offset as u64, value, BYTES - offset, stream).unwrap();
                self.buffers[b].expected[offset..].fill(value);
            }
        }
    }

    /// Frees a buffer and allocates another, in the order of a stream.
    fn replace(&mut self, buffer: usize, value: u8, stream: CUstream) {
        free_async(self.buffers[buffer].address, stream).unwrap();
        let address = allocate_async(BYTES, stream).unwrap();
        fill_async(address, value, BYTES, stream).unwrap();
        self.buffers[buffer] = Buffer { address, stream, expected: [value; BYTES] };
    }

    /// Launches a graph that forks: one branch fills half of `b`, the other copies half of `a`.
    fn capture(&mut self, a: usize, b: usize, value: u8, stream: CUstream) {
        let (from, to, half) = (self.buffers[a].address, self.buffers[b].address, BYTES / 2);
        let (main, side) = (non_blocking(), non_blocking());
        begin_capture(main, Mode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        record(self.event, main).unwrap();
        wait(side, self.event).unwrap();
        fill_async(to, value, half, main).unwrap();
        copy_async(to + half as u64, from + half as u64, half, side).unwrap();
        record(self.event, side).unwrap();
        wait(main, self.event).unwrap();
        let exec = instantiate(end_capture(main).unwrap()).unwrap();
        launch_graph(exec, stream).unwrap();
        destroy_exec(exec).unwrap();
        destroy_stream(main).unwrap();
        destroy_stream(side).unwrap();
        let upper = self.buffers[a].expected;
        self.buffers[b].expected[..half].fill(value);
        self.buffers[b].expected[half..].copy_from_slice(&upper[half..]);
    }
}

#[test]
fn programs_that_wait_are_deterministic() {
    in_any_order("random::programs_that_wait_are_deterministic", || {
        primary(0);
        for seed in 0..100 {
            let mut program = Program::new(seed);
            (0..100).for_each(|_| program.step());
            for buffer in &program.buffers {
                assert_eq!(contents(buffer.address, BYTES), buffer.expected, "program {seed}");
            }
        }
    });
}

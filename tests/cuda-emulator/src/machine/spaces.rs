//! The memories that threads access, by their state space.
use super::{Grid, Outcome, Stop, block::Block, stop};
use crate::{
    fault::FaultKind,
    ptx::op::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Space},
    shadow::{AccessKind, Clocks, Shadow, ShadowError, ThreadId},
};

/// The bits of a generic address that choose the window.
const WINDOW: u64 = 0xff << 56;

/// Finds the state space of a generic address, and the address in it.
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    match (space, address & WINDOW) {
        (Space::Generic, SHARED_WINDOW) => (Space::Shared, address & !WINDOW),
        (Space::Generic, LOCAL_WINDOW) => (Space::Local, address & !WINDOW),
        (Space::Generic, PARAM_WINDOW) => (Space::Param, address & !WINDOW),
        (Space::Generic, _) => (Space::Global, address),
        _ => (space, address),
    }
}

/// The shared memory of a block.
pub(super) struct SharedMemory {
    data: Vec<u8>,
    shadow: Shadow,
}

impl SharedMemory {
    pub fn new(bytes: u32) -> SharedMemory {
        SharedMemory { data: vec![0; bytes as usize], shadow: Shadow::of_shared() }
    }

    pub fn size(&self) -> u32 {
        self.data.len() as u32
    }

    /// Checks bounds, alignment, races and that what is read was written, and records the access.
    pub fn check(
        &mut self,
        clocks: &Clocks,
        thread: ThreadId,
        kind: AccessKind,
        (offset, bytes): (u64, u32),
        line: u32,
    ) -> Result<(), FaultKind> {
        if offset.checked_add(bytes.into()).is_none_or(|end| end > self.data.len() as u64) {
            return Err(FaultKind::SharedOutOfBounds { offset, bytes, size: self.size() });
        }
        if !offset.is_multiple_of(bytes.into()) {
            return Err(FaultKind::Misaligned { address: offset, bytes });
        }
        self.shadow.access(clocks, thread, kind, offset, bytes, line).map_err(FaultKind::from)
    }

    /// An asynchronous write of the thread is done.
    pub fn complete(&mut self, clocks: &Clocks, thread: ThreadId, offset: u64, data: &[u8]) {
        self.shadow.complete_async(clocks, thread, offset, data.len() as u32);
        self.bytes_mut(offset, data.len() as u32).copy_from_slice(data);
    }

    /// Bytes that a check has accepted.
    pub fn bytes(&self, offset: u64, bytes: u32) -> &[u8] {
        &self.data[offset as usize..][..bytes as usize]
    }

    /// Bytes that a check has accepted.
    pub fn bytes_mut(&mut self, offset: u64, bytes: u32) -> &mut [u8] {
        &mut self.data[offset as usize..][..bytes as usize]
    }
}

impl From<ShadowError> for FaultKind {
    fn from(error: ShadowError) -> FaultKind {
        match error {
            ShadowError::Race(race) => FaultKind::Race(race.to_string()),
            ShadowError::Unwritten(offset) => FaultKind::Unwritten(offset),
        }
    }
}

/// The local memories of a block's threads.
pub(super) struct LocalMemory {
    /// Bytes of a thread.
    size: u32,
    data: Vec<u8>,
    written: Vec<bool>,
}

impl LocalMemory {
    pub fn new(threads: u32, size: u32) -> LocalMemory {
        let bytes = threads as usize * size as usize;
        LocalMemory { size, data: vec![0; bytes], written: vec![false; bytes] }
    }

    /// Index of a thread's bytes, which must be in bounds and aligned.
    fn locate(&self, thread: u32, offset: u64, bytes: u32) -> Result<usize, FaultKind> {
        let size = self.size;
        if offset.checked_add(bytes.into()).is_none_or(|end| end > size.into()) {
            return Err(FaultKind::OutOfBounds { space: "local", offset, bytes, size });
        }
        if !offset.is_multiple_of(bytes.into()) {
            return Err(FaultKind::Misaligned { address: offset, bytes });
        }
        Ok(thread as usize * size as usize + offset as usize)
    }

    pub fn read(&self, thread: u32, offset: u64, into: &mut [u8]) -> Result<(), FaultKind> {
        let at = self.locate(thread, offset, into.len() as u32)?;
        if let Some(index) = self.written[at..at + into.len()].iter().position(|written| !written) {
            return Err(FaultKind::UnwrittenLocal(offset + index as u64));
        }
        into.copy_from_slice(&self.data[at..at + into.len()]);
        Ok(())
    }

    pub fn write(&mut self, thread: u32, offset: u64, from: &[u8]) -> Result<(), FaultKind> {
        let at = self.locate(thread, offset, from.len() as u32)?;
        self.data[at..at + from.len()].copy_from_slice(from);
        self.written[at..at + from.len()].fill(true);
        Ok(())
    }

    /// Copies parameters of a call, with what is unwritten of them.
    pub fn copy(&mut self, thread: u32, from: u32, to: u32, bytes: u32) {
        let base = thread as usize * self.size as usize;
        let (from, to) = (base + from as usize, base + to as usize);
        self.data.copy_within(from..from + bytes as usize, to);
        self.written.copy_within(from..from + bytes as usize, to);
    }
}

/// A thread's access of bytes.
#[derive(Clone, Copy)]
pub(super) struct ThreadAccess {
    pub thread: ThreadId,
    pub lane: usize,
    pub kind: AccessKind,
    pub line: u32,
}

impl Grid<'_> {
    /// Reads bytes for a thread.
    pub(super) fn load(
        &mut self,
        block: &mut Block,
        access: ThreadAccess,
        space: Space,
        address: u64,
        into: &mut [u8],
    ) -> Outcome<()> {
        let (bytes, ThreadAccess { thread, kind, line, .. }) = (into.len() as u32, access);
        let result = match space {
            Space::Global | Space::Generic => self.load_global(access, address, into),
            Space::Const => self.load_constant(address, into),
            Space::Shared => block.shared.check(&self.clocks, thread, kind, (address, bytes), line).and_then(|()| {
                block.mbarriers.check_apart(address, bytes)?;
                into.copy_from_slice(block.shared.bytes(address, bytes));
                Ok(())
            }),
            Space::Local => block.local.read(thread.thread, address, into),
            Space::Param => self.load_param(address, into),
        };
        result.map_err(|kind| Stop { kind: Box::new(kind), lane: access.lane })
    }

    fn load_constant(&self, address: u64, into: &mut [u8]) -> Result<(), FaultKind> {
        if self.constant_at(address).is_none_or(|bytes| bytes < into.len() as u64) {
            return Err(FaultKind::ReadOnly(format!(
                "no variable in `.const` has {} bytes at {address:#x}",
                into.len()
            )));
        }
        self.check_global(address, into.len() as u32)?;
        Ok(self.memory.read(address, into)?)
    }

    fn check_global(&self, address: u64, bytes: u32) -> Result<(), FaultKind> {
        Ok(self.memory.check(address, bytes.into(), bytes.into())?)
    }

    fn load_global(&mut self, access: ThreadAccess, address: u64, into: &mut [u8]) -> Result<(), FaultKind> {
        let bytes = into.len() as u32;
        self.check_global(address, bytes)?;
        self.memory.read(address, into)?;
        Ok(self.shadow.access(&self.clocks, access.thread, access.kind, address, bytes, access.line)?)
    }

    fn load_param(&self, offset: u64, into: &mut [u8]) -> Result<(), FaultKind> {
        let (bytes, size) = (into.len() as u32, self.kernel.param_bytes);
        if offset.checked_add(bytes.into()).is_none_or(|end| end > size.into()) {
            return Err(FaultKind::OutOfBounds { space: "param", offset, bytes, size });
        }
        if !offset.is_multiple_of(bytes.into()) {
            return Err(FaultKind::Misaligned { address: offset, bytes });
        }
        into.copy_from_slice(&self.launch.params[offset as usize..][..bytes as usize]);
        Ok(())
    }

    /// Writes bytes for a thread.
    pub(super) fn store(
        &mut self,
        block: &mut Block,
        access: ThreadAccess,
        space: Space,
        address: u64,
        from: &[u8],
    ) -> Outcome<()> {
        let (bytes, ThreadAccess { thread, kind, line, .. }) = (from.len() as u32, access);
        let result = match space {
            Space::Global | Space::Generic => self.store_global(access, address, from),
            Space::Shared => block.shared.check(&self.clocks, thread, kind, (address, bytes), line).and_then(|()| {
                block.mbarriers.check_apart(address, bytes)?;
                block.shared.bytes_mut(address, bytes).copy_from_slice(from);
                Ok(())
            }),
            Space::Local => block.local.write(thread.thread, address, from),
            Space::Const | Space::Param => Err(FaultKind::Trap("a write of read-only memory".into())),
        };
        result.map_err(|kind| Stop { kind: Box::new(kind), lane: access.lane })
    }

    fn store_global(&mut self, access: ThreadAccess, address: u64, from: &[u8]) -> Result<(), FaultKind> {
        let bytes = from.len() as u32;
        self.check_global(address, bytes)?;
        self.check_writable(address, bytes)?;
        self.shadow.access(&self.clocks, access.thread, access.kind, address, bytes, access.line)?;
        Ok(self.memory.write(address, from)?)
    }

    /// Fails for a lane.
    pub(super) fn trap<T>(&self, lane: usize, message: impl Into<String>) -> Outcome<T> {
        stop(lane, FaultKind::Trap(message.into()))
    }
}

//! Memory of the program: pinned ranges, and reads and writes through its pointers.
use super::{
    Code, Driver, Handle, Result,
    work::{Failure, Location},
};
use std::{cell::Cell, collections::BTreeMap, ffi::c_void};

/// Bytes of a page, to which pinned memory is aligned.
const PAGE: usize = 4096;

/// A page of pinned memory.
#[derive(Debug, Clone)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "the program accesses it by address")] [u8; PAGE]);

/// A range of pinned memory.
#[derive(Debug)]
pub(super) struct Pinned {
    /// Its number, never reused.
    number: u64,
    pub(super) bytes: usize,
    pub(super) flags: u32,
    pub(super) context: Handle,
    /// The memory, if the driver allocated it.
    pages: Option<Vec<Page>>,
}

impl Pinned {
    /// Returns its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if the driver allocated it.
    pub(super) fn is_allocated(&self) -> bool {
        self.pages.is_some()
    }
}

/// Pinned memory by address.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    ranges: BTreeMap<usize, Pinned>,
    last: u64,
}

impl HostMemory {
    /// Returns the pinned range that has an address, with its first address.
    pub(super) fn find(&self, pointer: usize) -> Option<(usize, &Pinned)> {
        let (&begin, range) = self.ranges.range(..=pointer).next_back()?;
        (pointer - begin < range.bytes).then_some((begin, range))
    }

    /// Returns the location of memory of the program, pinned if all of it is.
    pub(super) fn locate(&self, pointer: usize, bytes: usize) -> Location {
        let range = self.find(pointer).filter(|(begin, range)| pointer - begin + bytes <= range.bytes);
        Location::Host(pointer, range.map(|(_, range)| range.number))
    }

    /// Checks that pinned memory has not been freed.
    pub(super) fn check_alive(&self, location: &Location) -> std::result::Result<(), Failure> {
        let Location::Host(pointer, Some(number)) = location else { return Ok(()) };
        if self.find(*pointer).is_some_and(|(_, range)| range.number == *number) {
            return Ok(());
        }
        let text = format!("access of pinned host memory at {pointer:#x}, which was freed");
        Err(Failure { code: Code::ILLEGAL_ADDRESS, text })
    }

    /// Returns the ranges of a context.
    pub(super) fn of_context(&self, context: Handle) -> impl Iterator<Item = (usize, &Pinned)> {
        self.ranges.iter().filter(move |(_, range)| range.context == context).map(|(&begin, range)| (begin, range))
    }

    /// Forgets the ranges of a context.
    pub(super) fn remove_context(&mut self, context: Handle) {
        self.ranges.retain(|_, range| range.context != context);
    }
}

impl Driver {
    /// Allocates pinned memory. Its bytes are not zero, so that a program that relies on it fails.
    ///
    /// # Errors
    /// If the size is 0, the flags ask for write-combined or mapped memory beyond hints, or it fails on request.
    pub fn allocate_host(&mut self, bytes: usize, flags: u32) -> Result<usize> {
        let context = self.current()?;
        self.refuse_unsafe()?;
        // PORTABLE, DEVICEMAP and WRITECOMBINED; with unified addressing memory is mapped in any case.
        if bytes == 0 || flags & !7 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.count_allocation()?;
        let count = bytes.div_ceil(PAGE);
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).map_err(|_| Code::OUT_OF_MEMORY)?;
        pages.resize(count, Page([0xa5; PAGE]));
        let pointer = pages.as_mut_ptr() as usize;
        self.pin(pointer, bytes, flags, context, Some(pages));
        Ok(pointer)
    }

    /// Frees pinned memory. Queued copies do not hold this up: if they use it, they fail.
    ///
    /// # Errors
    /// If no pinned memory that the driver allocated begins there.
    pub fn free_host(&mut self, pointer: usize) -> Result {
        self.current()?;
        self.refuse_unsafe()?;
        self.host.ranges.get(&pointer).filter(|range| range.is_allocated()).ok_or(Code::INVALID_VALUE)?;
        self.host.ranges.remove(&pointer);
        Ok(())
    }

    /// Pins memory of the program.
    ///
    /// # Errors
    /// If it is empty, or some of it is pinned already.
    pub fn register_host(&mut self, pointer: usize, bytes: usize, flags: u32) -> Result {
        let context = self.current()?;
        self.refuse_unsafe()?;
        if bytes == 0 || pointer == 0 || flags & !3 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let end = pointer.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        let before = self.host.ranges.range(..end).next_back();
        if before.is_some_and(|(begin, range)| begin + range.bytes > pointer) {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.pin(pointer, bytes, flags, context, None);
        Ok(())
    }

    /// Takes back what `register_host` did.
    ///
    /// # Errors
    /// If no registered memory begins there.
    pub fn unregister_host(&mut self, pointer: usize) -> Result {
        self.current()?;
        self.refuse_unsafe()?;
        let range = self.host.ranges.get(&pointer).filter(|range| !range.is_allocated());
        range.ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
        self.host.ranges.remove(&pointer);
        Ok(())
    }

    /// Returns the flags with which pinned memory was allocated.
    ///
    /// # Errors
    /// If it is not pinned.
    pub fn host_flags(&mut self, pointer: usize) -> Result<u32> {
        self.current()?;
        self.host.find(pointer).map(|(_, range)| range.flags).ok_or(Code::INVALID_VALUE)
    }

    fn pin(&mut self, pointer: usize, bytes: usize, flags: u32, context: Handle, pages: Option<Vec<Page>>) {
        self.host.last += 1;
        let number = self.host.last;
        self.host.ranges.insert(pointer, Pinned { number, bytes, flags, context, pages });
    }
}

/// Reads the program's memory.
pub(super) fn read(pointer: usize, bytes: usize) -> Vec<u8> {
    // SAFETY: the program passed a range of memory that it keeps readable until the copy has run.
    unsafe { std::slice::from_raw_parts(pointer as *const u8, bytes) }.to_vec()
}

/// Reads the program's memory.
pub(super) fn read_into(pointer: usize, into: &mut [u8]) {
    // SAFETY: the program passed the address of that many readable bytes.
    unsafe { std::ptr::copy(pointer as *const u8, into.as_mut_ptr(), into.len()) }
}

/// Reads a word of the program's memory.
pub(super) fn read_word(pointer: usize) -> usize {
    // SAFETY: the program passed the address of an array with this word.
    unsafe { (pointer as *const usize).read_unaligned() }
}

/// Writes the program's memory.
pub(super) fn write(pointer: usize, from: &[u8]) {
    // SAFETY: the program passed a range of memory that it keeps writable until the copy has run.
    unsafe { std::ptr::copy(from.as_ptr(), pointer as *mut u8, from.len()) }
}

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Returns true while this thread runs a function that was queued, which may call no function of the driver.
pub(super) fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Calls a function that the program queued.
pub(super) fn call(function: usize, data: usize) {
    // SAFETY: the program passed the address of a function of this type, which it keeps loaded.
    let function: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(function) };
    IN_CALLBACK.set(true);
    function(data as *mut c_void);
    IN_CALLBACK.set(false);
}

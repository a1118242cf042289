//! A library's code in memory: its segments are mapped and relocated here, as `dlopen` would do it. So programs that are
//! linked statically, which have no dynamic loader, can load libraries too.
//!
//! Segments are mapped from an anonymous file in memory, a copy that nobody else can write to, and the system loads
//! them lazily. Where such files are not available or not executable, memory is written and then made executable.
use super::elf::{Elf, PF_W, PF_X, Relocation, Segment, Symbol};
use super::imports;
use crate::arch::{Arch, Host};
use libc::{MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, PROT_EXEC, PROT_NONE, PROT_READ, PROT_WRITE};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::{NonNull, null_mut};

/// A mapped library.
pub(super) struct SharedLibrary {
    memory: Memory,
    /// Addresses of the symbols, relative to the memory's start.
    symbols: HashMap<Box<str>, usize>,
}

/// The bytes that segments are mapped from.
enum Pages<'a> {
    File(File),
    /// Bytes to copy, without those in the range.
    Copied(&'a [u8], &'a Range<usize>),
}

impl SharedLibrary {
    /// Maps a library from its verified bytes, without `unused`.
    ///
    /// # Safety
    /// A linker made the code for this machine.
    pub(super) unsafe fn load(bytes: &[u8], unused: &Range<usize>) -> Result<SharedLibrary, String> {
        let mapped = file_in_memory(bytes, unused).map_err(|error| error.to_string());
        // SAFETY: as the caller promises.
        let mapped = mapped.and_then(|file| unsafe { SharedLibrary::map(bytes, &Pages::File(file)) });
        mapped.or_else(|why| {
            // SAFETY: as the caller promises.
            let copied = unsafe { SharedLibrary::load_copied(bytes, unused) };
            copied.map_err(|error| format!("{error}; from a file in memory: {why}"))
        })
    }

    /// Like [`load`](SharedLibrary::load), without a file.
    ///
    /// # Safety
    /// As for `load`.
    pub(super) unsafe fn load_copied(bytes: &[u8], unused: &Range<usize>) -> Result<SharedLibrary, String> {
        // SAFETY: as the caller promises.
        unsafe { SharedLibrary::map(bytes, &Pages::Copied(bytes, unused)) }
    }

    unsafe fn map(bytes: &[u8], pages: &Pages) -> Result<SharedLibrary, String> {
        let elf = Elf::read(bytes).map_err(|error| error.to_string())?;
        let memory = Memory::for_segments(elf.segments())?;
        for segment in elf.segments() {
            memory.fill(segment, pages).map_err(|error| format!("a segment cannot be mapped: {error}"))?;
        }
        for relocation in elf.relocations() {
            memory.relocate(&relocation.map_err(|error| error.to_string())?, elf.segments())?;
        }
        memory.protect_all(&elf, pages).map_err(|error| format!("memory cannot be made executable: {error}"))?;
        let symbol = |symbol: Symbol| (symbol.name.into(), symbol.address as usize);
        Ok(SharedLibrary { memory, symbols: elf.defined().map(symbol).collect() })
    }

    /// The address of a function or variable.
    pub(super) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let address = *self.symbols.get(name)?;
        (address < self.memory.len).then(|| NonNull::new(self.memory.start.wrapping_add(address).cast()))?
    }
}

/// An anonymous file in memory with these bytes, and a hole for `unused`.
fn file_in_memory(bytes: &[u8], unused: &Range<usize>) -> io::Result<File> {
    // SAFETY: a plain system call; the name is a C string.
    let descriptor: c_int = unsafe { libc::memfd_create(c"hammock".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(&bytes[..unused.start], 0)?;
    file.write_all_at(&bytes[unused.end..], unused.end as u64)?;
    Ok(file)
}

/// The pages of a library, unmapped when dropped.
struct Memory {
    start: *mut u8,
    len: usize,
    /// Size of a page.
    page: usize,
}

// SAFETY: only `SharedLibrary::map` writes to the memory, before anyone else knows of it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the pages are ours, and whoever uses the code in them keeps the library.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

impl Memory {
    /// Reserves addresses for these segments.
    fn for_segments(segments: &[Segment]) -> Result<Memory, String> {
        // SAFETY: a plain system call.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let end = segments.iter().map(|segment| segment.address + segment.memory_len).max().unwrap_or(0);
        let len = usize::try_from(end).ok().and_then(|end| end.checked_next_multiple_of(page)).filter(|len| *len > 0);
        let len = len.ok_or("the segments do not fit in memory")?;
        let kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(null_mut(), len, PROT_NONE, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(format!("{len} bytes of addresses: {}", io::Error::last_os_error()));
        }
        Ok(Memory { start: start.cast(), len, page })
    }

    /// The whole pages that contain a range of addresses, which [`for_segments`](Memory::for_segments) reserved.
    fn pages(&self, range: Range<u64>) -> Range<usize> {
        let (begin, end) = (range.start as usize, range.end as usize);
        begin / self.page * self.page..end.next_multiple_of(self.page)
    }

    /// Maps a segment, writable if its bytes are copied.
    fn fill(&self, segment: &Segment, pages: &Pages) -> io::Result<()> {
        let end = segment.address + segment.memory_len;
        let all = self.pages(segment.address..end);
        if !segment.address.wrapping_sub(segment.offset).is_multiple_of(self.page as u64) {
            return Err(io::Error::other(format!("it was made for pages of less than {} bytes", self.page)));
        }
        match pages {
            Pages::File(file) => {
                let of_file = self.pages(segment.address..segment.address + segment.len);
                let offset = segment.offset as usize / self.page * self.page;
                let (rights, is_written) = (rights(segment), segment.flags & PF_W != 0);
                self.map(of_file.clone(), rights, MAP_PRIVATE, file.as_raw_fd(), offset)?;
                self.map(of_file.end..all.end.max(of_file.end), rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)?;
                let zeros = (segment.address + segment.len) as usize..of_file.end.min(end as usize);
                if is_written && !zeros.is_empty() {
                    // SAFETY: these bytes were just mapped for writing.
                    unsafe { self.start.add(zeros.start).write_bytes(0, zeros.len()) };
                }
            }
            Pages::Copied(bytes, unused) => {
                self.protect(all, PROT_READ | PROT_WRITE)?;
                let of_file = segment.offset as usize..(segment.offset + segment.len) as usize;
                for part in [of_file.start..of_file.end.min(unused.start), of_file.start.max(unused.end)..of_file.end] {
                    let part = part.start..part.end.max(part.start);
                    let at = segment.address as usize + (part.start - of_file.start);
                    // SAFETY: the segment's pages are writable, and its bytes in the file fit in them.
                    unsafe { self.start.add(at).copy_from_nonoverlapping(bytes[part.clone()].as_ptr(), part.len()) };
                }
            }
        }
        Ok(())
    }

    /// Maps some of the reserved pages.
    fn map(&self, pages: Range<usize>, rights: c_int, kind: c_int, file: c_int, offset: usize) -> io::Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        // SAFETY: the pages are ours, and nothing refers to them yet.
        let mapped = unsafe {
            let at = self.start.add(pages.start).cast();
            libc::mmap(at, pages.len(), rights, kind | MAP_FIXED, file, offset as libc::off_t)
        };
        if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn protect(&self, pages: Range<usize>, rights: c_int) -> io::Result<()> {
        // SAFETY: the pages are ours, and nothing refers to them yet.
        match unsafe { libc::mprotect(self.start.add(pages.start).cast(), pages.len(), rights) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn relocate(&self, relocation: &Relocation, segments: &[Segment]) -> Result<(), String> {
        let Relocation { address, kind, ref symbol, addend } = *relocation;
        let base = self.start.expose_provenance() as u64;
        let value = match symbol {
            None if kind == Host::RELATIVE_RELOCATION => base,
            Some(symbol) if kind == Host::SYMBOL_RELOCATION => match imports::address(symbol.name) {
                _ if symbol.is_defined => base.wrapping_add(symbol.address),
                Some(function) => function.as_ptr().expose_provenance() as u64,
                None if symbol.is_weak => 0,
                None => return Err(format!("kernels may not use the function `{}`", symbol.name)),
            },
            _ => return Err(format!("the runtime does not know relocations of kind {kind}")),
        };
        let is_inside = |s: &Segment| {
            s.flags & PF_W != 0
                && s.address <= address
                && address.checked_add(8).is_some_and(|end| end <= s.address + s.memory_len)
        };
        if !segments.iter().any(is_inside) {
            return Err(format!("a relocation at {address:#x} is outside of the data"));
        }
        // SAFETY: the field is in a segment that was mapped for writing.
        unsafe { self.start.add(address as usize).cast::<u64>().write_unaligned(value.wrapping_add(addend)) };
        Ok(())
    }

    /// Withdraws the right to write where it is not needed any more, and gives copies of code the right to run.
    fn protect_all(&self, elf: &Elf, pages: &Pages) -> io::Result<()> {
        if let Pages::Copied(..) = pages {
            for segment in elf.segments() {
                self.protect(self.pages(segment.address..segment.address + segment.memory_len), rights(segment))?;
            }
        }
        match elf.relro().map(|relro| self.pages(relro)).filter(|pages| !pages.is_empty() && pages.end <= self.len) {
            Some(pages) => self.protect(pages, PROT_READ),
            None => Ok(()),
        }
    }
}

fn rights(segment: &Segment) -> c_int {
    let write = if segment.flags & PF_W != 0 { PROT_WRITE } else { 0 };
    PROT_READ | write | if segment.flags & PF_X != 0 { PROT_EXEC } else { 0 }
}

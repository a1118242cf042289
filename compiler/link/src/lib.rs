//! Objects and an executable's image into one shared library, with no linker on the machine.
//!
//! In go relocatable ELF64 objects for x86-64 (kernels) and blobs (the executable's image); out come the bytes of a
//! shared library that `dlopen` loads, and that `readelf`, `objdump` and `nm` understand. The same input makes the same
//! bytes.
//!
//! - Every global symbol of default visibility is exported; hidden ones join objects only.
//! - `__hammock_runtime` ([`RUNTIME_TABLE`]) is the one pointer through which kernels reach the runtime: eight zero
//!   bytes, exported, which whoever loads the library fills in. Objects refer to it as an undefined symbol.
//! - Blobs are mapped read-only and lazily, each at the start of a page, under names of their own; beside each stands
//!   its length, a 64-bit number named like the blob with `_size` appended.
//! - What no object defines is bound to libc or libm when those define it (all at load, none lazily); anything else
//!   undefined is an error here, not when the library is loaded.
//!
//! Not supported, with an error that says so: thread-local storage, constructors, code that is not
//! position-independent.
#![forbid(unsafe_code)]

mod elf;
mod error;
mod imports;
mod input;
mod layout;
mod relocate;
mod resolve;
mod write;

pub use error::LinkError;

use input::{Chunk, Inputs};
use layout::{PAGE, Place};
use resolve::{Resolved, Slots};

/// The exported pointer through which kernels reach the runtime.
pub const RUNTIME_TABLE: &str = "__hammock_runtime";

/// Data to carry along.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a> {
    /// The name it is exported under.
    pub symbol: &'a str,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Links objects and blobs into the bytes of a shared library.
///
/// # Errors
/// When an object is damaged or needs what a kernel library has not, and when symbols clash or are missing.
pub fn link(objects: &[&[u8]], blobs: &[Blob<'_>]) -> Result<Vec<u8>, LinkError> {
    let sizes: Vec<(String, [u8; 8])> =
        blobs.iter().map(|b| (format!("{}_size", b.symbol), (b.bytes.len() as u64).to_le_bytes())).collect();
    let mut inputs = Inputs::read(objects)?;
    let own = |place, name, align, data, size| Chunk { place, align, size, data, object: objects.len(), name };
    inputs.add(RUNTIME_TABLE, own(Place::Bss, RUNTIME_TABLE, 8, &[], 8));
    for (blob, (size_name, size)) in blobs.iter().zip(&sizes) {
        inputs.add(blob.symbol, own(Place::Image, blob.symbol, PAGE, blob.bytes, blob.bytes.len() as u64));
        inputs.add(size_name, own(Place::ReadOnly, size_name, 8, size, 8));
    }
    let resolved = Resolved::new(&inputs.symbols)?;
    let (slots, stored) = Slots::scan(&inputs, &resolved.targets)?;
    write::write(&inputs, &resolved, &slots, &stored)
}

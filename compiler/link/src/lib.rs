//! Objects and an executable's image into one shared library, with no linker on the machine.
//!
//! In go relocatable ELF64 objects for x86-64 (kernels) and an executable's image; out come the bytes of a shared library
//! that the runtime and `dlopen` load, and that `readelf`, `objdump` and `nm` understand. The same input makes the same
//! bytes.
//!
//! - Every global symbol of default visibility is exported; hidden ones join objects only.
//! - [`RUNTIME_SYMBOL`] is the one pointer through which kernels reach the runtime: eight zero bytes, exported, which
//!   whoever loads the library fills in. Objects refer to it as an undefined symbol.
//! - The image is mapped read-only and lazily, at the start of a page, under the name [`image::SYMBOL`].
//! - What no object defines is bound to libc or libm when those define it (all at load, none lazily); anything else
//!   undefined is an error here, not when the library is loaded.
//! - The file ends with the runtime's seal ([`seal`]).
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

use hammock_runtime::{
    image,
    library::{RUNTIME_SYMBOL, seal},
};
use input::{Chunk, Inputs};
use layout::{PAGE, Place};
use resolve::{Resolved, Slots};

/// Links objects and an image ([`image::Image::save`]) into the bytes of a sealed shared library. With an empty image the
/// library holds kernels only.
///
/// # Errors
/// When an object is damaged or needs what a kernel library has not, and when symbols clash or are missing.
pub fn link(objects: &[&[u8]], image: &[u8]) -> Result<Vec<u8>, LinkError> {
    let mut inputs = Inputs::read(objects)?;
    let own = |place, name, align, data, size| Chunk { place, align, size, data, object: objects.len(), name };
    inputs.add(RUNTIME_SYMBOL, own(Place::Bss, RUNTIME_SYMBOL, 8, &[], 8));
    if !image.is_empty() {
        inputs.add(image::SYMBOL, own(Place::Image, image::SYMBOL, PAGE, image, image.len() as u64));
    }
    let resolved = Resolved::new(&inputs.symbols)?;
    let (slots, stored) = Slots::scan(&inputs, &resolved.targets)?;
    let mut bytes = write::write(&inputs, &resolved, &slots, &stored)?;
    seal::seal(&mut bytes);
    Ok(bytes)
}

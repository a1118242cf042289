//! Linker: combines objects and an executable's image into one shared library, without a system linker.
//!
//! The input is relocatable ELF64 objects (kernels) for one processor family, and an executable's image; the output is a
//! shared library that the runtime and `dlopen` load, and that `readelf`, `objdump` and `nm` understand. The output is
//! deterministic.
//!
//! - Every global symbol of default visibility is exported; hidden ones are only visible to other objects.
//! - [`RUNTIME_SYMBOL`] is the pointer through which kernels call the runtime: eight exported zero bytes, which the
//!   loader of the library fills in. Objects refer to it as an undefined symbol.
//! - The image is mapped read-only and lazily, at the start of a page, under the name [`image::SYMBOL`].
//! - Undefined symbols are bound to libc or libm if those define them (at load, not lazily); any other undefined symbol
//!   is a link error.
//! - The file ends with the runtime's seal ([`seal`]).
//!
//! Not supported, with an error that says so: thread-local storage, constructors, code that is not
//! position-independent.
#![forbid(unsafe_code)]

mod arch;
mod elf;
mod error;
mod input;
mod layout;
mod relocate;
mod resolve;
mod sections;
mod write;

pub use error::LinkError;

use hammock_runtime::{
    executable::ConstantData,
    image,
    library::{RUNTIME_SYMBOL, seal, tvm},
};
use input::{Binding, Chunk, Inputs, Value};
use resolve::{Resolved, Slots};
use sections::SectionId;

/// An object to link.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    /// Its contents.
    pub bytes: &'a [u8],
    /// Renamed symbols: their names in the object and in the library.
    pub renamed: &'a [(String, String)],
}

impl<'a> Object<'a> {
    /// Returns an object whose symbols keep their names.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Object { bytes, renamed: &[] }
    }
}

/// Links objects and an image ([`image::Image::save`]) into the bytes of a sealed shared library. With an empty image
/// the library holds kernels only.
///
/// # Errors
/// When an object is malformed or needs an unsupported feature, and when symbols clash or are missing.
pub fn link(objects: &[&[u8]], image: &[u8]) -> Result<Vec<u8>, LinkError> {
    finish(with_runtime(&plain(objects))?, objects.len(), image::SYMBOL, image)
}

fn plain<'a>(objects: &[&'a [u8]]) -> Vec<Object<'a>> {
    objects.iter().copied().map(Object::plain).collect()
}

/// Like [`link`], for an image in two parts ([`image::Image::save_in_parts`]): constants are not copied.
///
/// # Errors
/// As [`link`].
pub fn link_apart(objects: &[Object], image: &[u8], constants: ConstantData) -> Result<Linked, LinkError> {
    let mut inputs = with_runtime(objects)?;
    let size = (image.len() + constants.len()) as u64;
    let (id, object, name, align) = (SectionId::Image, objects.len(), image::SYMBOL, inputs.arch.page_size());
    inputs.add(name, Chunk { section: id, align, size, data: image, object, name });
    let (mut before, offset) = write_all(&inputs)?;
    let after = before.split_off(offset + image.len() + constants.len());
    before.truncate(offset + image.len());
    let seal = seal::seal_around(&before, &constants, &after);
    Ok(Linked { before, constants, after: [after, seal].concat() })
}

/// A sealed shared library whose constants were not copied.
pub struct Linked {
    before: Vec<u8>,
    constants: ConstantData,
    after: Vec<u8>,
}

impl Linked {
    /// Calls `f` on the library's bytes, piece by piece.
    ///
    /// # Errors
    /// The first error of `f`.
    pub fn try_each<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        f(&self.before)?;
        self.constants.try_each(&mut f)?;
        f(&self.after)
    }

    /// Returns the bytes before the constants, the constants, and the bytes after them.
    pub fn parts(&self) -> (&[u8], &ConstantData, &[u8]) {
        (&self.before, &self.constants, &self.after)
    }

    /// Returns the library's bytes, constants included.
    pub fn into_bytes(self) -> Vec<u8> {
        let Linked { before: mut bytes, constants, after } = self;
        bytes.reserve_exact(constants.len() + after.len());
        constants.append_to(&mut bytes);
        bytes.extend(after);
        bytes
    }
}

/// Returns the names of the exported functions and data of an object.
///
/// # Errors
/// When it is not a relocatable object, or is malformed.
pub fn exports(object: &[u8]) -> Result<Vec<&str>, LinkError> {
    let inputs = Inputs::read(&[Object::plain(object)])?;
    let is_visible = |binding| matches!(binding, Binding::Global | Binding::Weak);
    let symbols = inputs.symbols.iter().filter(|symbol| is_visible(symbol.binding));
    let defined = symbols.filter(|symbol| !matches!(symbol.value, Value::Undefined { .. }));
    Ok(defined.map(|symbol| symbol.name).collect())
}

/// Reads objects, and adds the pointer through which they call the runtime.
fn with_runtime<'a>(objects: &[Object<'a>]) -> Result<Inputs<'a>, LinkError> {
    let mut inputs = Inputs::read(objects)?;
    let runtime =
        Chunk { section: SectionId::Bss, align: 8, size: 8, data: &[], object: objects.len(), name: RUNTIME_SYMBOL };
    inputs.add(RUNTIME_SYMBOL, runtime);
    Ok(inputs)
}

/// Like [`link`], for TVM's runtime: kernels compiled for it ([`tvm`]), and the modules they belong to
/// ([`tvm::modules`]).
///
/// # Errors
/// As [`link`].
pub fn link_for_tvm(objects: &[&[u8]], modules: &[u8]) -> Result<Vec<u8>, LinkError> {
    finish(Inputs::read(&plain(objects))?, objects.len(), tvm::SYMBOL, modules)
}

/// Adds the data that goes with the kernels, under a symbol, and writes the library.
fn finish<'a>(mut inputs: Inputs<'a>, object: usize, name: &'a str, data: &'a [u8]) -> Result<Vec<u8>, LinkError> {
    if !data.is_empty() {
        let (size, align) = (data.len() as u64, inputs.arch.page_size());
        inputs.add(name, Chunk { section: SectionId::Image, align, size, data, object, name });
    }
    let (mut bytes, _) = write_all(&inputs)?;
    seal::seal(&mut bytes);
    Ok(bytes)
}

/// Returns the library's bytes without a seal, and the offset of the image.
fn write_all(inputs: &Inputs<'_>) -> Result<(Vec<u8>, usize), LinkError> {
    let resolved = Resolved::new(&inputs.symbols)?;
    let (slots, stored) = Slots::scan(inputs, &resolved.targets)?;
    write::write(inputs, &resolved, &slots, &stored)
}

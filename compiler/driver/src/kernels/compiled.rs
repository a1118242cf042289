//! A compiled kernel, which is linked into a library or loaded.

use hammock_codegen::llvm::raw_symbol;
use hammock_kernels::Accesses;
use hammock_runtime::image::{DeviceFunction, KernelSignature, versions::symbol};
#[cfg(feature = "native")]
use hammock_runtime::{Function, Image, Library, image::Integrity};
#[cfg(feature = "native")]
use std::sync::Arc;

/// Symbol of every kernel for Hammock's runtime in its object; the linker renames it. It is not a valid name in programs, so
/// it collides with none.
pub const SYMBOL: &str = "*";

/// A compiled kernel.
pub struct Compiled {
    /// The kernel's name.
    pub name: String,
    /// Object file that defines [`SYMBOL`] if it is for Hammock's runtime, otherwise the kernel's name.
    pub object: Vec<u8>,
    /// Its parameters.
    pub signature: KernelSignature,
    /// Number of accesses that were proved to be in bounds, and that are checked.
    pub accesses: Accesses,
    /// Device functions, if it is for a GPU.
    pub device: Vec<DeviceFunction>,
    /// Maximum bytes of temporaries that a call allocates at once.
    pub temporary_bytes: u64,
    /// True if it was taken from the cache.
    pub is_cached: bool,
}

impl Compiled {
    /// Symbols in the object, each with its name in a library that holds several versions of the kernel. Only the raw entry
    /// of version 0 is called by name.
    pub fn renamed(&self, version: usize) -> Vec<(String, String)> {
        let raw = raw_symbol(&self.name);
        let raw = if version == 0 { raw } else { format!("{raw}{version}") };
        vec![(raw_symbol(SYMBOL), raw), (symbol(SYMBOL, 0), symbol(&self.name, version))]
    }

    /// Loads a kernel whose symbol is [`SYMBOL`].
    ///
    /// # Errors
    /// If it cannot be loaded.
    #[cfg(feature = "native")]
    pub fn load(self) -> Result<Function, String> {
        let image = Image { kernels: vec![self.signature], ..Image::default() };
        let library = hammock_link::link(&[&self.object], &image.save()).map_err(|e| e.to_string())?;
        let library = Library::from_bytes(Arc::new(library), Integrity::Trust).map_err(|e| e.to_string())?;
        let kernel = library.kernel(SYMBOL).map_err(|e| e.to_string())?;
        kernel.ok_or_else(|| "its code is missing".to_owned())
    }
}

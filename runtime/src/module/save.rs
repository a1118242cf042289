//! Serialization of modules with everything they import.
//!
//! Little-endian: magic, number of modules, then each module, imports first: kind, contents (each a length and bytes),
//! and the indices of its imports. A module that is imported twice is stored once.
use super::Module;
use super::nodes::{EXECUTABLE, LIBRARY};
use crate::bytes::{Put, Reader, Truncated};
use crate::ffi::Error;
use crate::fork::Table;
use crate::image::{Image, Integrity};
use crate::library::Library;
use crate::sorted_map::SortedMap;
use std::collections::HashMap;
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"hmodtree");

/// Creates a module from the contents that its node saved and from its imports.
pub type Loader = fn(contents: Vec<u8>, imports: Vec<Module>) -> Result<Module, Error>;

static LOADERS: Table<SortedMap<String, Loader>> = Table::new(SortedMap::new());

/// Registers the loader of a kind of modules; returns the previous one. The runtime's own kinds cannot be replaced.
pub fn register_loader(kind: &str, loader: Loader) -> Option<Loader> {
    LOADERS.write().insert(kind.to_owned(), loader)
}

fn loader(kind: &str) -> Option<Loader> {
    match kind {
        EXECUTABLE => Some(load_executable),
        LIBRARY => Some(load_library),
        _ => LOADERS.read().get(kind).copied(),
    }
}

fn load_executable(contents: Vec<u8>, imports: Vec<Module>) -> Result<Module, Error> {
    let image = Image::from_bytes(contents).map_err(|error| Error::value(error.to_string()))?;
    Ok(Module::from_image(Arc::new(image), imports))
}

fn load_library(contents: Vec<u8>, _: Vec<Module>) -> Result<Module, Error> {
    let library = Library::from_bytes(Arc::new(contents), Integrity::Check);
    Ok(Module::from_kernels(Arc::new(library.map_err(|error| Error::value(error.to_string()))?)))
}

impl Module {
    /// Serializes the module and all its imports, for [`load`].
    pub fn save(&self) -> Result<Vec<u8>, Error> {
        let order = in_order(self);
        let numbers: HashMap<_, _> = order.iter().enumerate().map(|(i, m)| (m.address(), i as i64)).collect();
        let mut out = Vec::new();
        out.put_u64(MAGIC);
        out.put_u64(order.len() as u64);
        for module in &order {
            out.put_blob(module.kind().as_bytes());
            out.put_blob(&module.contents()?);
            let imports: Vec<_> = module.imports().iter().map(|import| numbers[&import.address()]).collect();
            out.put_i64s(&imports);
        }
        Ok(out)
    }

    fn address(&self) -> usize {
        self.0.as_header().addr().get()
    }
}

/// A module and all its imports, imports first, each once.
fn in_order(root: &Module) -> Vec<&Module> {
    let (mut order, mut seen) = (Vec::new(), HashMap::new());
    let mut steps = vec![(root, false)];
    while let Some((module, imports_done)) = steps.pop() {
        if imports_done {
            order.push(module);
        } else if seen.insert(module.address(), ()).is_none() {
            steps.push((module, true));
            steps.extend(module.imports().iter().rev().map(|import| (import, false)));
        }
    }
    order
}

/// Loads a module that [`Module::save`] serialized.
pub fn load(bytes: &[u8]) -> Result<Module, Error> {
    let damaged = |_| Error::value("the bytes are not saved modules, or they are damaged");
    let mut reader = Reader::new(bytes);
    let count = read_header(&mut reader).map_err(damaged)?;
    let mut modules: Vec<Module> = Vec::new();
    for _ in 0..count {
        let (kind, contents, imports) = read_module(&mut reader).map_err(damaged)?;
        let import = |number: i64| usize::try_from(number).ok().and_then(|number| modules.get(number)).cloned();
        let imports: Option<Vec<_>> = imports.into_iter().map(import).collect();
        let imports = imports.ok_or(Truncated).map_err(damaged)?;
        let loader = loader(kind).ok_or_else(|| Error::value(format!("modules of kind `{kind}` cannot be loaded")))?;
        modules.push(loader(contents.to_vec(), imports)?);
    }
    match reader.remaining() {
        0 => modules.pop().ok_or(Truncated).map_err(damaged),
        _ => Err(damaged(Truncated)),
    }
}

fn read_header(reader: &mut Reader<'_>) -> Result<usize, Truncated> {
    if reader.u64()? == MAGIC { reader.count(24) } else { Err(Truncated) }
}

fn read_module<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, &'a [u8], Vec<i64>), Truncated> {
    let kind = std::str::from_utf8(reader.blob()?).map_err(|_| Truncated)?;
    Ok((kind, reader.blob()?, reader.i64s()?))
}

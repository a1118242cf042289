//! The kinds of modules that the runtime provides.
use super::{Module, Node, RUNNABLE, SERIALIZABLE};
use crate::ffi::{Args, Error};
use crate::image::Image;
use crate::library::Library;
use crate::memory::AllocatorKind;
use crate::sorted_map::SortedMap;
use crate::value::{Any, Device, Function};
use crate::vm::{Options, Vm};
use std::sync::Arc;

/// Kind of linked libraries.
pub(super) const LIBRARY: &str = "library";
/// Kind of executables.
pub(super) const EXECUTABLE: &str = "relax.VMExecutable";

struct LibraryNode(Arc<Library>);

struct ExecutableNode(Arc<Image>);

struct VmNode(Vm);

struct HostNode {
    kind: String,
    functions: SortedMap<String, Function>,
}

impl Module {
    /// A linked model: an executable that imports the library with its kernels.
    pub fn from_library(library: Arc<Library>) -> Module {
        let image = library.image().clone();
        Module::from_image(image, vec![Module::from_kernels(library)])
    }

    /// The kernels of a linked model.
    pub fn from_kernels(library: Arc<Library>) -> Module {
        Module::new(LibraryNode(library), Vec::new())
    }

    /// An executable. A virtual machine created from it gets its kernels from the imports.
    pub fn from_image(image: Arc<Image>, imports: Vec<Module>) -> Module {
        Module::new(ExecutableNode(image), imports)
    }

    /// The functions of a virtual machine's program.
    pub fn from_vm(vm: Vm) -> Module {
        Module::new(VmNode(vm), Vec::new())
    }

    /// Functions of the host program.
    pub fn host<S: Into<String>>(functions: impl IntoIterator<Item = (S, Function)>) -> Module {
        Module::host_of_kind("host", functions)
    }

    /// Like [`host`](Module::host), with a kind of its own.
    pub fn host_of_kind<S: Into<String>>(kind: &str, functions: impl IntoIterator<Item = (S, Function)>) -> Module {
        let functions = functions.into_iter().map(|(name, function)| (name.into(), function)).collect();
        Module::new(HostNode { kind: kind.to_owned(), functions }, Vec::new())
    }
}

impl Node for LibraryNode {
    fn kind(&self) -> &str {
        LIBRARY
    }

    fn properties(&self) -> u32 {
        SERIALIZABLE | RUNNABLE
    }

    fn names(&self) -> Vec<String> {
        self.0.kernels().to_vec()
    }

    fn function(&self, _: &Module, name: &str) -> Result<Option<Function>, Error> {
        self.0.kernel(name).map_err(|error| Error::runtime(error.to_string()))
    }

    fn save(&self) -> Result<Vec<u8>, Error> {
        Ok(self.0.to_bytes().into_owned())
    }
}

/// Functions of an executable that return it as text.
const VIEWS: [(&str, fn(&Image) -> String); 3] = [
    ("as_text", |image| image.executable.as_text()),
    ("as_python", |image| image.executable.as_python()),
    ("stats", |image| image.executable.stats()),
];
const HAS_FUNCTION: &str = "has_function";
const LOAD: &str = "vm_load_executable";

impl Node for ExecutableNode {
    fn kind(&self) -> &str {
        EXECUTABLE
    }

    fn properties(&self) -> u32 {
        SERIALIZABLE
    }

    fn names(&self) -> Vec<String> {
        VIEWS.iter().map(|(name, _)| *name).chain([HAS_FUNCTION, LOAD]).map(str::to_owned).collect()
    }

    fn function(&self, module: &Module, name: &str) -> Result<Option<Function>, Error> {
        let image = self.0.clone();
        if let Some((_, view)) = VIEWS.iter().find(|(known, _)| *known == name) {
            return Ok(Some(Function::new(move |_| Ok(Any::str(&view(&image))))));
        }
        Ok(match name {
            HAS_FUNCTION => Some(Function::new(move |values| {
                let name: &str = Args::new(HAS_FUNCTION, values).get(0)?;
                Ok(image.executable.function(name).is_some().into())
            })),
            // It captures the imports, not the module, which would be a cycle: the module caches the function.
            LOAD => {
                let imports = module.imports().to_vec();
                Some(Function::new(move |values| load(&image, &imports, &Args::new(LOAD, values))))
            }
            _ => None,
        })
    }

    fn save(&self) -> Result<Vec<u8>, Error> {
        Ok(self.0.save())
    }
}

/// Creates a virtual machine. The arguments are those of TVM's `vm_initialization`: device kind, number, and allocator
/// (1 naive, 2 pooled) for each device; without arguments, the defaults.
fn load(image: &Arc<Image>, imports: &[Module], args: &Args<'_>) -> Result<Any, Error> {
    let mut options = Options::default();
    if args.len() > 0 {
        options.devices.clear();
        options.allocator = if args.get::<i64>(2)? == 1 { AllocatorKind::Naive } else { AllocatorKind::Pooled };
    }
    for first in (0..args.len()).step_by(3) {
        let number = |at| Ok::<_, Error>(args.get::<i64>(at)?.try_into().unwrap_or(-1));
        args.slice(first..first + 3)?;
        options.devices.push(Device { kind: number(first)?, id: number(first + 1)? });
    }
    let kernel = |name: &str| {
        let found = imports.iter().map(|import| import.find(name)).find(|found| !matches!(found, Ok(None)));
        found.unwrap_or(Ok(None))
    };
    Ok(Module::from_vm(Vm::new(image.clone(), options, kernel)?).into())
}

impl Node for VmNode {
    fn kind(&self) -> &str {
        "relax.VirtualMachine"
    }

    fn properties(&self) -> u32 {
        RUNNABLE
    }

    fn names(&self) -> Vec<String> {
        self.0.functions().map(str::to_owned).collect()
    }

    fn function(&self, _: &Module, name: &str) -> Result<Option<Function>, Error> {
        Ok(self.0.function(name))
    }
}

impl Node for HostNode {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn properties(&self) -> u32 {
        RUNNABLE
    }

    fn names(&self) -> Vec<String> {
        self.functions.keys().cloned().collect()
    }

    fn function(&self, _: &Module, name: &str) -> Result<Option<Function>, Error> {
        Ok(self.functions.get(name).cloned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A node without functions.
    pub(in crate::module) fn empty() -> impl Node {
        HostNode { kind: "host".to_owned(), functions: SortedMap::new() }
    }
}

//! Modules: PTX that is loaded, its variables and kernels.
use super::{Code, Driver, Handle, Result};
use crate::ptx::{Kernel, Module};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Newest PTX version that a driver accepts: driver version, major, minor.
const PTX_VERSIONS: &[(u32, u32, u32)] = &[
    (11000, 7, 0),
    (11010, 7, 1),
    (11020, 7, 2),
    (11030, 7, 3),
    (11040, 7, 4),
    (11050, 7, 5),
    (11060, 7, 6),
    (11070, 7, 7),
    (11080, 7, 8),
    (12000, 8, 0),
    (12010, 8, 1),
    (12020, 8, 2),
    (12030, 8, 3),
    (12040, 8, 4),
    (12050, 8, 5),
    (12070, 8, 6),
    (12080, 8, 7),
    (12090, 8, 8),
    (13000, 9, 0),
];

/// Bytes of static shared memory of a kernel.
const MAX_STATIC_SHARED: u32 = 48 << 10;
/// Bytes of all constants of a module.
const MAX_CONSTANTS: u64 = 64 << 10;
/// Bytes of a kernel's parameters, and from PTX 8.1 on.
const MAX_PARAMS: (u32, u32) = (4096, 32764);

/// A loaded module.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) context: Handle,
    pub(super) module: Module,
    /// Addresses of its variables, in order.
    pub(super) variables: Vec<u64>,
    functions: FxHashMap<String, Handle>,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) module: Handle,
    pub(super) image: Arc<Image>,
    pub(super) kernel: Arc<str>,
    /// Bytes of dynamic shared memory that a launch can have.
    pub(super) max_dynamic_shared: u32,
    carveout: i32,
}

impl Function {
    /// Returns the kernel's declaration.
    pub(super) fn declaration(&self) -> Result<&Kernel> {
        self.image.module.kernels.get(&*self.kernel).ok_or(Code::NOT_FOUND)
    }
}

/// Returns the threads of a block that a kernel allows.
pub(super) fn max_threads(kernel: &Kernel) -> u32 {
    kernel.required_block.or(kernel.max_block).map_or(1024, |block| block.iter().product())
}

/// Why an image cannot be loaded: the code, and the compiler's log.
pub type LoadError = (Code, String);

impl Driver {
    /// Loads an image into the current context.
    ///
    /// # Errors
    /// If it is no PTX, or PTX that the driver, the device or the emulator does not support.
    pub fn load_module(&mut self, image: &[u8]) -> std::result::Result<Handle, LoadError> {
        let silent = |code| (code, String::new());
        let context = self.current().map_err(silent)?;
        self.refuse_unsafe().map_err(silent)?;
        if image.starts_with(b"\x7fELF") || image.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
            return Err((Code::NO_BINARY_FOR_GPU, "the emulator loads PTX, no machine code".to_owned()));
        }
        let invalid = |text: String| (Code::INVALID_PTX, text);
        let text = std::str::from_utf8(image).map_err(|error| invalid(error.to_string()))?;
        let module = Module::parse(text).map_err(|error| invalid(error.to_string()))?;
        self.check_module(&module)?;
        self.install(context, module).map_err(silent)
    }

    fn check_module(&self, module: &Module) -> std::result::Result<(), LoadError> {
        let newest = PTX_VERSIONS.iter().rev().find(|row| row.0 <= self.config.driver_version);
        let newest = newest.map_or((6, 5), |row| (row.1, row.2));
        let (major, minor) = module.version;
        if module.version > newest {
            let text = format!("Unsupported .version {major}.{minor}; current version is '{}.{}'", newest.0, newest.1);
            return Err((Code::UNSUPPORTED_PTX_VERSION, text));
        }
        let capability = self.config.capability.0 * 10 + self.config.capability.1;
        let invalid = |text: String| Err((Code::INVALID_PTX, text));
        if module.target > capability || module.arch_specific && module.target != capability {
            return invalid(format!(
                "SM version specified by .target is higher than default SM version assumed: sm_{} for sm_{capability}",
                module.target
            ));
        }
        let constants: u64 = module.variables.iter().filter(|var| var.is_const).map(|var| var.bytes).sum();
        if constants > MAX_CONSTANTS {
            return invalid(format!("{constants} bytes of constants; at most {MAX_CONSTANTS}"));
        }
        let max_params = if module.version >= (8, 1) { MAX_PARAMS.1 } else { MAX_PARAMS.0 };
        for kernel in module.kernels.values() {
            if kernel.shared_bytes > MAX_STATIC_SHARED {
                return invalid(format!("`{}` uses too much shared data: {} bytes", kernel.name, kernel.shared_bytes));
            }
            if kernel.param_bytes > max_params {
                return invalid(format!("`{}` has {} bytes of parameters", kernel.name, kernel.param_bytes));
            }
        }
        Ok(())
    }

    fn install(&mut self, context: Handle, module: Module) -> Result<Handle> {
        let handle = self.new_handle();
        let variables = self.allocate_variables(context, handle, &module)?;
        let functions: FxHashMap<String, Handle> =
            module.kernels.keys().map(|name| (name.clone(), self.new_handle())).collect();
        let image = Arc::new(Image { context, module, variables, functions });
        for (name, &function) in &image.functions {
            let shared = image.module.kernels[name].shared_bytes;
            let object = Function {
                module: handle,
                image: image.clone(),
                kernel: name.as_str().into(),
                max_dynamic_shared: MAX_STATIC_SHARED - shared,
                carveout: -1,
            };
            self.functions.insert(function, object);
        }
        self.modules.insert(handle, image);
        Ok(handle)
    }

    fn allocate_variables(&mut self, context: Handle, handle: Handle, module: &Module) -> Result<Vec<u64>> {
        let mut addresses = Vec::with_capacity(module.variables.len());
        for variable in &module.variables {
            let address = self.reserve(context, variable.bytes, None, Some(handle))?;
            self.activate(address);
            addresses.push(address);
        }
        for (variable, &address) in module.variables.iter().zip(&addresses) {
            let mut bytes = variable.init.clone();
            bytes.resize(variable.bytes as usize, 0);
            for &(offset, target, addend) in &variable.relocations {
                let target = addresses.get(target).ok_or(Code::INVALID_PTX)?;
                let slot = bytes.get_mut(offset as usize..offset as usize + 8).ok_or(Code::INVALID_PTX)?;
                slot.copy_from_slice(&target.wrapping_add_signed(addend).to_le_bytes());
            }
            self.memory.write(address, &bytes).map_err(|_| Code::OUT_OF_MEMORY)?;
        }
        Ok(addresses)
    }

    /// Unloads a module. Launches of its kernels that are still queued fail.
    ///
    /// The driver's reference leaves open if this waits for them.
    ///
    /// # Errors
    /// If there is no such module.
    pub fn unload_module(&mut self, module: Handle) -> Result {
        self.current()?;
        self.refuse_unsafe()?;
        let image = self.modules.remove(module)?;
        self.functions.retain(|function| function.module != module);
        for &address in &image.variables {
            if let Some(owner) = self.owners.get(&address).cloned() {
                self.release(address, &owner);
            }
        }
        Ok(())
    }

    /// Returns a kernel of a module.
    ///
    /// # Errors
    /// If there is no such module or kernel.
    pub fn function(&mut self, module: Handle, name: &str) -> Result<Handle> {
        self.current()?;
        self.modules.get(module)?.functions.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    /// Returns the number of kernels of a module.
    ///
    /// # Errors
    /// If there is no such module.
    pub fn function_count(&self, module: Handle) -> Result<u32> {
        self.modules.get(module).map(|image| image.functions.len() as u32)
    }

    /// Returns the module of a kernel.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn function_module(&self, function: Handle) -> Result<Handle> {
        self.functions.get(function).map(|function| function.module)
    }

    /// Returns offset and bytes of a kernel's parameter.
    ///
    /// # Errors
    /// If there is no such kernel or parameter.
    pub fn param_info(&self, function: Handle, index: usize) -> Result<(usize, usize)> {
        let params = &self.functions.get(function)?.declaration()?.params;
        params.get(index).map(|param| (param.offset as usize, param.bytes as usize)).ok_or(Code::INVALID_VALUE)
    }

    /// Returns address and bytes of a module's variable, which must be `.visible`.
    ///
    /// # Errors
    /// If there is no such module or variable.
    pub fn global(&mut self, module: Handle, name: &str) -> Result<(u64, usize)> {
        self.current()?;
        let image = self.modules.get(module)?;
        let mut all = image.module.variables.iter().zip(&image.variables);
        let (variable, &address) =
            all.find(|(variable, _)| variable.is_visible && variable.name == name).ok_or(Code::NOT_FOUND)?;
        Ok((address, variable.bytes as usize))
    }

    /// Returns an attribute of a kernel (`CUfunction_attribute`). Registers are those that the PTX declares, up to 255.
    ///
    /// # Errors
    /// If there is no such kernel or attribute.
    pub fn function_attribute(&mut self, function: Handle, attribute: u32) -> Result<i32> {
        let object = self.functions.get(function)?;
        let (module, kernel) = (&object.image.module, object.declaration()?);
        let constants: u64 = module.variables.iter().filter(|var| var.is_const).map(|var| var.bytes).sum();
        let (major, minor) = self.config.capability;
        Ok(match attribute {
            0 => max_threads(kernel) as i32,
            1 => kernel.shared_bytes as i32,
            2 => constants as i32,
            3 => kernel.local_bytes as i32,
            4 => kernel.registers.min(255) as i32,
            5 => (module.version.0 * 10 + module.version.1) as i32,
            6 => (major * 10 + minor) as i32,
            7 => 0,
            8 => object.max_dynamic_shared as i32,
            9 => object.carveout,
            // Attributes of clusters, which the emulator lacks.
            10..=15 => 0,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Sets an attribute of a kernel: bytes of dynamic shared memory (8), or the share of the cache (9).
    ///
    /// # Errors
    /// If there is no such kernel or attribute, or the attribute cannot have the value.
    pub fn set_function_attribute(&mut self, function: Handle, attribute: u32, value: i32) -> Result {
        self.current()?;
        let limit = self.limits().shared_opt_in;
        let object = self.functions.get_mut(function)?;
        let shared = object.declaration()?.shared_bytes;
        match (attribute, u32::try_from(value)) {
            (8, Ok(bytes)) if bytes.saturating_add(shared) <= limit => object.max_dynamic_shared = bytes,
            (9, _) if (-1..=100).contains(&value) => object.carveout = value,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }
}

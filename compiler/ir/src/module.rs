//! Modules: tables of global functions.

use crate::{Attrs, DeviceMesh, Name, VDevice, relax, tir};
use hammock_diagnostics::Span;
use indexmap::IndexMap;
use std::sync::Arc;

/// A module: global functions by name, in order of insertion, with attributes and device declarations.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The class's name in the text; the printer always writes `Module`.
    pub name: Option<Name>,
    /// Global functions by name.
    pub functions: IndexMap<Name, Function>,
    /// `I.module_attrs({…})`.
    pub attrs: Attrs,
    /// `I.module_global_infos({…})`: named lists of devices and meshes.
    pub global_infos: IndexMap<Name, Vec<GlobalInfo>>,
    /// True if the text was a single function without a class; it is printed that way.
    pub bare: bool,
}

/// A global function.
#[derive(Clone, Debug)]
pub enum Function {
    /// A graph of tensor operations.
    Relax(relax::Function),
    /// Loops over buffers.
    Tir(tir::PrimFunc),
    /// A function found by name at run time.
    Extern(ExternFunc),
}

/// `f = R.ExternFunc("symbol")` in a module.
#[derive(Clone, Debug)]
pub struct ExternFunc {
    /// The name to look up at run time.
    pub symbol: Name,
    /// Its type, if declared.
    pub ty: Option<crate::Type>,
    /// Source location.
    pub span: Span,
}

/// An entry of `I.module_global_infos`.
#[derive(Clone, Debug)]
pub enum GlobalInfo {
    /// `I.vdevice(target, index, scope)`.
    VDevice(Arc<VDevice>),
    /// `R.device_mesh(shape, ids)`.
    DeviceMesh(Arc<DeviceMesh>),
    /// `I.dummy_global_info()`.
    Dummy,
}

impl Module {
    /// An empty module.
    pub fn new() -> Self {
        Self::default()
    }

    /// The Relax function of that name.
    pub fn relax(&self, name: &str) -> Option<&relax::Function> {
        match self.functions.get(name)? {
            Function::Relax(f) => Some(f),
            _ => None,
        }
    }

    /// The TIR function of that name.
    pub fn tir(&self, name: &str) -> Option<&tir::PrimFunc> {
        match self.functions.get(name)? {
            Function::Tir(f) => Some(f),
            _ => None,
        }
    }

    /// Adds a function under `wanted` or, if that is taken, with the first free suffix: `f1`, `f2`.
    pub fn add_unique(&mut self, wanted: &str, function: Function) -> Name {
        let name = self.free_name(wanted);
        self.functions.insert(name.clone(), function);
        name
    }

    /// `wanted` or, if that is taken, `wanted` with the first free suffix.
    pub fn free_name(&self, wanted: &str) -> Name {
        let mut name = Name::from(wanted);
        let mut n = 0;
        while self.functions.contains_key(&name) {
            n += 1;
            name = Name::from(format!("{wanted}{n}"));
        }
        name
    }

    /// Relax functions with their names.
    pub fn relax_functions(&self) -> impl Iterator<Item = (&Name, &relax::Function)> {
        self.functions.iter().filter_map(|(n, f)| match f {
            Function::Relax(f) => Some((n, f)),
            _ => None,
        })
    }

    /// Mutable Relax functions with their names.
    pub fn relax_functions_mut(&mut self) -> impl Iterator<Item = (&Name, &mut relax::Function)> {
        self.functions.iter_mut().filter_map(|(n, f)| match f {
            Function::Relax(f) => Some((n, f)),
            _ => None,
        })
    }

    /// The devices that the module declares.
    pub fn vdevices(&self) -> impl Iterator<Item = &Arc<VDevice>> {
        self.global_infos.values().flatten().filter_map(|info| match info {
            GlobalInfo::VDevice(device) => Some(device),
            _ => None,
        })
    }

    /// The name of a device in the module: its kind, and its position among the devices of the kind.
    pub fn vdevice_name(&self, device: &Arc<VDevice>) -> String {
        let same_kind = self.vdevices().filter(|other| other.kind() == device.kind());
        let index = same_kind.take_while(|other| !Arc::ptr_eq(other, device)).count();
        format!("{}:{index}", device.kind())
    }

    /// TIR functions with their names.
    pub fn tir_functions(&self) -> impl Iterator<Item = (&Name, &tir::PrimFunc)> {
        self.functions.iter().filter_map(|(n, f)| match f {
            Function::Tir(f) => Some((n, f)),
            _ => None,
        })
    }
}

impl Function {
    /// The function's attributes; an external function has none.
    pub fn attrs(&self) -> Option<&Attrs> {
        match self {
            Function::Relax(f) => Some(&f.lambda.attrs),
            Function::Tir(f) => Some(&f.attrs),
            Function::Extern(_) => None,
        }
    }

    /// The symbol under which others may call it: its `global_symbol`; private functions have none.
    pub fn global_symbol(&self) -> Option<&str> {
        match self {
            Function::Extern(e) => Some(&e.symbol),
            f => f.attrs()?.get("global_symbol")?.as_str(),
        }
    }
}

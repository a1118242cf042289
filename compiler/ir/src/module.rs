//! Modules: tables of global functions.

use crate::{AttrValue, Attrs, Name, relax, tir};
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

/// A device that tensors can be placed on.
#[derive(Clone, Debug)]
pub struct VDevice {
    /// The target's dictionary; its `kind` names the device type.
    pub target: Vec<(AttrValue, AttrValue)>,
    /// The device's index among those of its kind.
    pub index: i64,
    /// The memory scope, `"global"` by default.
    pub scope: Name,
}

impl VDevice {
    /// The target's kind: `llvm`, `cuda`, ….
    pub fn kind(&self) -> &str {
        self.target.iter().find(|(k, _)| k.as_str() == Some("kind")).and_then(|(_, v)| v.as_str()).unwrap_or("llvm")
    }

    /// DLPack's device type of that kind; CPUs are 1.
    pub fn device_type(&self) -> i64 {
        match self.kind() {
            "cuda" | "nvptx" => 2,
            "opencl" => 4,
            "vulkan" => 7,
            "metal" => 8,
            "rocm" => 10,
            "ext_dev" => 12,
            "webgpu" => 15,
            "hexagon" => 16,
            _ => 1,
        }
    }

    /// Parses a target's text, `cuda -arch=sm_80`, to its dictionary.
    pub fn target_of_text(text: &str) -> Vec<(AttrValue, AttrValue)> {
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or("llvm");
        let keys: &[&str] = match kind {
            "cuda" | "rocm" | "vulkan" | "metal" | "opencl" | "webgpu" => &[kind, "gpu"],
            _ => &["cpu"],
        };
        let mut pairs: Vec<(AttrValue, AttrValue)> = vec![("kind".into(), kind.into()), ("tag".into(), "".into())];
        let mut own_keys = None;
        for (key, value) in words.filter_map(|w| w.trim_start_matches('-').split_once('=')) {
            let list = || AttrValue::List(value.split(',').map(AttrValue::from).collect());
            match key {
                "keys" => own_keys = Some(list()),
                "mattr" | "libs" => pairs.push((key.into(), list())),
                _ => pairs.push((key.into(), value.parse::<i64>().map_or_else(|_| value.into(), AttrValue::Int))),
            }
        }
        let keys = own_keys.unwrap_or_else(|| AttrValue::List(keys.iter().map(|k| AttrValue::from(*k)).collect()));
        pairs.insert(0, ("keys".into(), keys));
        pairs
    }
}

/// A grid of devices for distributed tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMesh {
    /// The grid's shape.
    pub shape: Vec<i64>,
    /// Device numbers, row by row.
    pub ids: Vec<i64>,
    /// The range `I.Range(a, b)` that the ids were given as, if they were.
    pub range: Option<(i64, i64)>,
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

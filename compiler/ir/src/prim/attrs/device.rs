//! Devices that a module names; the target of a device is a dictionary of attributes.

use super::{AttrValue, Attrs};
use crate::Name;

/// Kinds of targets that are the CPU.
pub const HOST_KINDS: [&str; 3] = ["llvm", "c", "cpu"];

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
        kind(&self.target).unwrap_or("llvm")
    }

    /// Returns true if it is the CPU.
    pub fn is_host(&self) -> bool {
        HOST_KINDS.contains(&self.kind())
    }

    /// The device's number in a compiled program: its index, or -1 for the host.
    pub fn number(&self) -> i64 {
        if self.is_host() { -1 } else { self.index }
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

impl Attrs {
    /// The kind of a function's `target`: `llvm`, `cuda`, ….
    pub fn target_kind(&self) -> Option<&str> {
        match self.get("target")? {
            AttrValue::Target(target) => kind(target),
            _ => None,
        }
    }

    /// Returns true if a function's `target` is the CPU.
    pub fn targets_host(&self) -> bool {
        self.target_kind().is_some_and(|kind| HOST_KINDS.contains(&kind))
    }
}

fn kind(target: &[(AttrValue, AttrValue)]) -> Option<&str> {
    target.iter().find(|(key, _)| key.as_str() == Some("kind")).and_then(|(_, kind)| kind.as_str())
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

//! Devices that a module names; the target of a device is a dictionary of attributes.

use super::AttrValue;
use crate::Name;

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

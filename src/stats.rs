//! Statistics of a compiled model and the memory of its calls: `hammock compile --stats`.

use hammock_compiler::{Artifact, Build, Failure};
use hammock_diagnostics::count;
use hammock_ir::{Name, print::constants};
use hammock_passes::{MemoryPlan, peaks};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::{collections::HashMap, path::Path};

/// Numbers of a module and its functions.
pub struct Stats {
    kernels: usize,
    compiled: usize,
    /// Folder of the kernel cache.
    cache: Option<String>,
    constant_bytes: usize,
    temporary_bytes: u64,
    functions: Vec<FunctionStats>,
}

/// Numbers of a function.
pub struct FunctionStats {
    pub name: Name,
    pub instructions: usize,
    tensors: usize,
    pub storages: usize,
    pub planned_bytes: u64,
    /// Bytes in use at once, at most.
    pub peak_bytes: u64,
    /// Sizes of storages that depend on the arguments.
    symbolic: Vec<String>,
}

impl Stats {
    /// Numbers of a compiled model, and of its functions from their memory plans.
    pub fn of(build: &Build, mut plans: IndexMap<Name, MemoryPlan>, artifact: &Artifact) -> Stats {
        let module = &build.model().module;
        crate::memory_plan::add_temporaries(&mut plans, &artifact.temporaries);
        let peaks = peaks(&plans);
        let instructions: HashMap<&str, usize> =
            artifact.instructions.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let function = |(name, plan): (&Name, &MemoryPlan)| {
            let symbol = module.functions.get(name).and_then(|f| f.global_symbol()).unwrap_or(name);
            FunctionStats {
                name: name.clone(),
                instructions: instructions.get(symbol).copied().unwrap_or(0),
                tensors: plan.buffers.len(),
                storages: plan.storages.len(),
                planned_bytes: plan.planned_bytes(),
                peak_bytes: peaks[name],
                symbolic: plan.symbolic().into_iter().collect(),
            }
        };
        Stats {
            kernels: artifact.kernels,
            compiled: artifact.compiled + build.constant_kernels(),
            cache: build.options().cache.as_ref().map(|cache| cache.folder().display().to_string()),
            constant_bytes: constants(module).iter().map(|tensor| tensor.nbytes()).sum(),
            temporary_bytes: artifact.temporaries.values().copied().max().unwrap_or(0),
            functions: plans.iter().map(function).collect(),
        }
    }

    fn instructions(&self) -> usize {
        self.functions.iter().map(|function| function.instructions).sum()
    }

    /// Bytes of constants.
    pub fn constant_bytes(&self) -> usize {
        self.constant_bytes
    }

    /// Numbers of the functions.
    pub fn functions(&self) -> &[FunctionStats] {
        &self.functions
    }

    fn peak_bytes(&self) -> u64 {
        self.functions.iter().map(|function| function.peak_bytes).max().unwrap_or(0)
    }

    /// In a line: kernels, memory of a call, and the size of the file.
    pub fn summary(&self, file: &Path) -> String {
        let kernels = format!("{} ({} compiled)", count(self.kernels, "kernel"), self.compiled);
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let peak = match self.peak_bytes() {
            bytes if bytes < 100 << 10 => format!("{bytes} B"),
            bytes => mib(bytes),
        };
        let symbolic: Vec<&str> = self.functions.iter().flat_map(|f| &f.symbolic).map(String::as_str).collect();
        let symbolic = match &symbolic[..] {
            [] => String::new(),
            [size] => format!(" + {size}"),
            _ => " + symbolic sizes".to_owned(),
        };
        let size = std::fs::metadata(file).ok().filter(|known| known.is_file());
        let size = size.map(|known| format!(", {} file", mib(known.len()))).unwrap_or_default();
        format!("{kernels}, peak memory {peak}{symbolic}{size}")
    }

    /// For people.
    pub fn text(&self) -> String {
        let compiled = match self.cache {
            Some(_) => {
                "kernels compiled, including those that compute constants; the others were cached (`hammock cache`)"
            }
            None => "kernels compiled, including those that compute constants; the cache is off (`hammock cache`)",
        };
        let summary = [
            (self.kernels as u64, "kernels"),
            (self.compiled as u64, compiled),
            (self.instructions() as u64, "instructions of bytecode"),
            (self.constant_bytes as u64, "bytes of constants"),
            (self.peak_bytes(), "bytes in use at once, at most: tensors, and temporaries of kernels"),
            (self.temporary_bytes, "bytes of temporaries in a kernel, at most"),
        ];
        let mut text: String = summary.iter().map(|(number, what)| format!("{number:>12} {what}\n")).collect();
        text += "\ninstructions   tensors  storages   planned bytes     at once  function\n";
        for function in &self.functions {
            let FunctionStats { name, instructions, tensors, storages, planned_bytes, peak_bytes, symbolic } = function;
            let more: String = symbolic.iter().map(|size| format!(", and {size}")).collect();
            text += &format!(
                "{instructions:>12}{tensors:>10}{storages:>10}{planned_bytes:>16}{peak_bytes:>12}  {name}{more}\n"
            );
        }
        text
    }

    /// For tools.
    pub fn json(&self) -> Value {
        let function = |function: &FunctionStats| {
            json!({
                "name": &*function.name, "instructions": function.instructions, "tensors": function.tensors,
                "storages": function.storages, "planned_bytes": function.planned_bytes,
                "peak_bytes": function.peak_bytes, "symbolic": function.symbolic,
            })
        };
        json!({
            "kernels": self.kernels, "compiled": self.compiled, "cache": self.cache, "instructions": self.instructions(), "constant_bytes": self.constant_bytes,
            "peak_bytes": self.peak_bytes(), "temporary_bytes": self.temporary_bytes,
            "functions": self.functions.iter().map(function).collect::<Vec<_>>(),
        })
    }
}

/// Prints them.
pub fn report(stats: &Stats, as_json: bool) -> Result<(), Failure> {
    crate::print(&if as_json { format!("{}\n", stats.json()) } else { stats.text() })
}

//! Builtins, one file per family. Each is declared once: name, typed parameters, documentation, body.
mod check;
mod collective;
mod control;
#[cfg(feature = "cuda")]
mod cublas;
mod cuda_graph;
mod data;
#[cfg(feature = "text")]
mod debug;
#[cfg(feature = "detection")]
mod detection;
mod inspect;
#[cfg(feature = "kv-cache")]
mod kv_cache;
#[cfg(feature = "kv-cache")]
mod kv_pages;
mod memory;
#[cfg(feature = "modules")]
mod module;
mod order;
mod prepared;
#[cfg(feature = "sampling")]
mod sampling;
#[cfg(feature = "sets")]
mod set;
mod shape;
mod slice;
#[cfg(feature = "sorting")]
mod sort;
#[cfg(feature = "tensor-cache")]
mod tensor_cache;
#[cfg(feature = "text")]
mod text;

use super::builtin::Builtin;
use crate::registry;
use crate::sort::sort;

/// The families, in the order they are listed.
static FAMILIES: &[&[Builtin]] = &[
    shape::TABLE,
    check::TABLE,
    memory::TABLE,
    control::TABLE,
    data::TABLE,
    #[cfg(feature = "sequences")]
    data::sequence::TABLE,
    #[cfg(feature = "strings")]
    data::strings::TABLE,
    #[cfg(feature = "sets")]
    set::TABLE,
    slice::TABLE,
    #[cfg(feature = "sorting")]
    sort::TABLE,
    cuda_graph::TABLE,
    #[cfg(feature = "cuda")]
    cublas::TABLE,
    #[cfg(feature = "kv-cache")]
    kv_cache::TABLE,
    #[cfg(feature = "kv-cache")]
    kv_pages::TABLE,
    #[cfg(feature = "sampling")]
    sampling::TABLE,
    #[cfg(feature = "tensor-cache")]
    tensor_cache::TABLE,
    prepared::TABLE,
    #[cfg(feature = "modules")]
    module::TABLE,
    #[cfg(feature = "detection")]
    detection::TABLE,
    inspect::TABLE,
    collective::TABLE,
    #[cfg(feature = "text")]
    debug::TABLE,
    #[cfg(feature = "text")]
    text::TABLE,
];

/// Builtins that belong to a feature of the runtime.
struct Optional {
    feature: &'static str,
    is_included: bool,
    /// What their names begin with.
    prefixes: &'static [&'static str],
}

macro_rules! optional {
    ($($feature:literal: $prefixes:expr,)*) => {
        [$(Optional { feature: $feature, is_included: cfg!(feature = $feature), prefixes: &$prefixes }),*]
    };
}

static OPTIONAL: [Optional; 11] = optional! {
    "cuda": ["hammock.cublas."],
    "detection": ["vm.builtin.all_class_non_max_suppression"],
    "kv-cache": ["vm.builtin.attention_kv_cache_", "hammock.kv_pages."],
    "modules": ["ffi.Module", "vm.builtin.module_imports"],
    "sampling": ["vm.builtin.sample_", "vm.builtin.multinomial_", "vm.builtin.apply_", "hammock.random."],
    "sequences": ["hammock.sequence.", "hammock.has_value"],
    "sets": ["relax.run.unique", "relax.run.nonzero"],
    "sorting": ["tvm.contrib.sort."],
    "strings": ["hammock.strings."],
    "tensor-cache": ["vm.builtin.tensor_cache.", "vm.builtin.param_"],
    "text": ["hammock.text.", "relax.run.print", "relax.run.assert_op", "vm.builtin.debug_", "vm.builtin.invoke_debug_"],
};

/// The feature of the runtime that the builtin `name` belongs to, if this build leaves it out.
pub(super) fn missing_feature(name: &str) -> Option<&'static str> {
    let has = |family: &&Optional| family.prefixes.iter().any(|prefix| name.starts_with(prefix));
    OPTIONAL.iter().filter(|family| !family.is_included).find(has).map(|family| family.feature)
}

/// Every builtin.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// The names of all global functions, registered ones and builtins, sorted.
pub fn global_names() -> Vec<String> {
    let mut names = registry::names();
    names.extend(all().map(|builtin| builtin.name.to_owned()));
    sort(&mut names);
    names.dedup();
    names
}

/// The builtin `name`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    all().find(|builtin| builtin.name == name)
}

#[cfg(all(test, feature = "full"))]
mod tests;

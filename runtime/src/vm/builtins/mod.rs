//! Builtins, one file per family. Each is declared once: name, typed parameters, documentation, body.
mod check;
mod collective;
mod control;
mod cublas;
mod cuda_graph;
mod data;
mod debug;
mod detection;
mod inspect;
mod kv_cache;
mod kv_pages;
mod memory;
mod module;
mod order;
mod prepared;
mod sampling;
mod set;
mod shape;
mod slice;
mod sort;
mod tensor_cache;
mod text;

use super::builtin::Builtin;

/// The families, in the order they are listed.
static FAMILIES: [&[Builtin]; 23] = [
    shape::TABLE,
    check::TABLE,
    memory::TABLE,
    control::TABLE,
    data::TABLE,
    data::sequence::TABLE,
    data::strings::TABLE,
    set::TABLE,
    slice::TABLE,
    sort::TABLE,
    cuda_graph::TABLE,
    cublas::TABLE,
    kv_cache::TABLE,
    kv_pages::TABLE,
    sampling::TABLE,
    tensor_cache::TABLE,
    prepared::TABLE,
    module::TABLE,
    detection::TABLE,
    inspect::TABLE,
    collective::TABLE,
    debug::TABLE,
    text::TABLE,
];

/// Every builtin.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// The builtin `name`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    all().find(|builtin| builtin.name == name)
}

#[cfg(test)]
mod tests;

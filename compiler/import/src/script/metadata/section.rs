//! The objects of a metadata section.

use hammock_ir::{AttrValue, DType, Name, Tensor, VDevice};
use indexmap::IndexMap;
use std::sync::Arc;

/// Arrays of objects, by type key.
pub(super) type Section = IndexMap<String, Arc<[Entry]>>;

/// The entries of the section, by type key.
#[derive(Default)]
pub(crate) struct Metadata {
    pub(super) section: Option<Section>,
}

/// One object.
#[derive(Clone)]
pub(super) enum Entry {
    Tensor(Tensor),
    /// A constant on a device.
    Placed(Tensor, Arc<VDevice>),
    Str(Name),
    DType(DType),
    Other(AttrValue),
}

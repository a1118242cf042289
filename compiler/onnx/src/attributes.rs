//! Attributes of a node.

use crate::schema::{AttributeProto, GraphProto, TensorProto};
use hammock_ir::relax::InferError;

type Result<T> = std::result::Result<T, InferError>;

/// Attributes of a node; references to attributes of the enclosing function are resolved to the values of its call.
#[derive(Clone, Default)]
pub struct Attributes<'m>(pub Vec<(&'m str, &'m AttributeProto)>);

/// Values of `AttributeProto.AttributeType`.
mod kind {
    pub const FLOAT: i32 = 1;
    pub const INT: i32 = 2;
    pub const STRING: i32 = 3;
    pub const FLOATS: i32 = 6;
    pub const INTS: i32 = 7;
    pub const STRINGS: i32 = 8;
}

impl<'m> Attributes<'m> {
    /// Returns the attribute with this name.
    pub fn get(&self, name: &str) -> Option<&'m AttributeProto> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, attribute)| *attribute)
    }

    /// Returns true if the attribute is present.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the attribute with this name and kind. Old files omit the kind.
    fn of_kind(&self, name: &str, kind: i32, what: &str) -> Result<Option<&'m AttributeProto>> {
        match self.get(name) {
            Some(attribute) if attribute.r#type != kind && attribute.r#type != 0 => {
                Err(InferError::new(format!("its attribute `{name}` has to be {what}")))
            }
            attribute => Ok(attribute),
        }
    }

    /// Returns an integer attribute.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.of_kind(name, kind::INT, "an integer")?.map(|a| a.i))
    }

    /// Returns an integer attribute, or its default.
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// Returns true if an integer attribute is present and nonzero.
    pub fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int_or(name, 0)? != 0)
    }

    /// Returns a float attribute.
    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.of_kind(name, kind::FLOAT, "a float")?.map(|a| f64::from(a.f)))
    }

    /// Returns a float attribute, or its default.
    pub fn float_or(&self, name: &str, default: f32) -> Result<f64> {
        Ok(self.float(name)?.unwrap_or(f64::from(default)))
    }

    /// Returns a list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(self.of_kind(name, kind::INTS, "a list of integers")?.map(|a| a.ints.clone()))
    }

    /// Returns a list of integers, or none if it is missing.
    pub fn ints_or_empty(&self, name: &str) -> Result<Vec<i64>> {
        Ok(self.ints(name)?.unwrap_or_default())
    }

    /// Returns a list of floats.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let floats = self.of_kind(name, kind::FLOATS, "a list of floats")?;
        Ok(floats.map(|a| a.floats.iter().map(|v| f64::from(*v)).collect()))
    }

    /// Returns a string attribute, or its default.
    pub fn str_or(&self, name: &str, default: &'static str) -> Result<&'m str> {
        let Some(attribute) = self.of_kind(name, kind::STRING, "a string")? else { return Ok(default) };
        std::str::from_utf8(&attribute.s)
            .map_err(|_| InferError::new(format!("its attribute `{name}` is not valid UTF-8")))
    }

    /// Returns a list of strings.
    pub fn strings(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(attribute) = self.of_kind(name, kind::STRINGS, "a list of strings")? else { return Ok(None) };
        let strings = attribute.strings.iter().map(|s| std::str::from_utf8(s).map(str::to_owned));
        let strings = strings.collect::<std::result::Result<_, _>>();
        strings.map(Some).map_err(|_| InferError::new(format!("its attribute `{name}` is not valid UTF-8")))
    }

    /// Returns a tensor attribute.
    pub fn tensor(&self, name: &str) -> Option<&'m TensorProto> {
        self.get(name)?.t.as_ref()
    }

    /// Returns a subgraph.
    pub fn graph(&self, name: &str) -> Result<&'m GraphProto> {
        let graph = self.get(name).and_then(|attribute| attribute.g.as_ref());
        graph.ok_or_else(|| InferError::new(format!("its attribute `{name}` is missing")))
    }
}

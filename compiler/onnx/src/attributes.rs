//! Attributes of a node.

use crate::{
    node::Result,
    schema::{AttributeProto, GraphProto, TensorProto},
};
use hammock_ir::relax::InferError;

/// The attributes of a node, those that refer to a function's replaced by what its call gives.
#[derive(Clone, Default)]
pub struct Attributes<'m>(pub Vec<(&'m str, &'m AttributeProto)>);

/// Numbers of kinds in `AttributeProto.AttributeType`.
mod kind {
    pub const FLOAT: i32 = 1;
    pub const INT: i32 = 2;
    pub const STRING: i32 = 3;
    pub const FLOATS: i32 = 6;
    pub const INTS: i32 = 7;
}

impl<'m> Attributes<'m> {
    /// The attribute of that name.
    pub fn get(&self, name: &str) -> Option<&'m AttributeProto> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, attribute)| *attribute)
    }

    /// Returns true if there is one of that name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The attribute of that name and kind. Old files leave the kind out.
    fn of_kind(&self, name: &str, kind: i32, what: &str) -> Result<Option<&'m AttributeProto>> {
        match self.get(name) {
            Some(attribute) if attribute.r#type != kind && attribute.r#type != 0 => {
                Err(InferError::new(format!("its attribute `{name}` has to be {what}")))
            }
            attribute => Ok(attribute),
        }
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.of_kind(name, kind::INT, "an integer")?.map(|a| a.i))
    }

    /// An integer, or what it is when it is left out.
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// Returns true if an integer is there and not zero.
    pub fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int_or(name, 0)? != 0)
    }

    /// A float.
    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.of_kind(name, kind::FLOAT, "a float")?.map(|a| f64::from(a.f)))
    }

    /// A float, or what it is when it is left out.
    pub fn float_or(&self, name: &str, default: f32) -> Result<f64> {
        Ok(self.float(name)?.unwrap_or(f64::from(default)))
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(self.of_kind(name, kind::INTS, "a list of integers")?.map(|a| a.ints.clone()))
    }

    /// A list of floats.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let floats = self.of_kind(name, kind::FLOATS, "a list of floats")?;
        Ok(floats.map(|a| a.floats.iter().map(|v| f64::from(*v)).collect()))
    }

    /// A string, or what it is when it is left out.
    pub fn str_or(&self, name: &str, default: &'static str) -> Result<&'m str> {
        let Some(attribute) = self.of_kind(name, kind::STRING, "a string")? else { return Ok(default) };
        std::str::from_utf8(&attribute.s).map_err(|_| InferError::new(format!("its attribute `{name}` is no text")))
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Option<&'m TensorProto> {
        self.get(name)?.t.as_ref()
    }

    /// A graph.
    pub fn graph(&self, name: &str) -> Result<&'m GraphProto> {
        let graph = self.get(name).and_then(|attribute| attribute.g.as_ref());
        graph.ok_or_else(|| InferError::new(format!("its attribute `{name}` is missing")))
    }
}

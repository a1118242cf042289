//! The metadata section: objects without a notation in the text, by type and index.
//!
//! `metadata = tvm.ir.load_json("""{…}""")` names a graph of objects whose root is a map from type keys to arrays;
//! `metadata["ir.GenericConst"][0]` is one of them. Texts printed without the section get their constants from
//! [`Constants`].

mod error;
mod graph;
mod legacy;
mod section;
mod tensor;

pub(crate) use section::Metadata;

use super::{
    context::{Context, Read, Reported},
    value::Value,
};
use crate::Constants;
use error::{MetadataError, brief};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    AttrValue, GlobalInfo, Tensor, VDevice,
    relax::{Constant, Operand},
};
use section::{Entry, Section};
use std::sync::Arc;

/// Maximum total size of opaque objects as JSON: each has a graph of its own.
const MAX_OPAQUE_BYTES: usize = 16 << 20;

/// Type keys of constants, over all versions.
const CONSTANTS: [&str; 2] = ["ir.GenericConst", "relax.expr.Constant"];

impl Context<'_> {
    /// Reads the section.
    pub fn load_metadata(&mut self, json: &str, span: Span) -> Read<()> {
        let section = serde_json::from_str(json).map_err(|e| MetadataError::of_json(&e)).and_then(|document| {
            if legacy::is_legacy(&document) { legacy::section(&document) } else { graph::section(&document) }
        });
        match section {
            Ok(section) => {
                self.metadata.section = Some(section);
                Ok(())
            }
            Err(damage) => {
                let message = format!("the metadata section cannot be read: {damage}");
                let span = damage.span(json, span, self.source).unwrap_or(span);
                Err(self.error(codes::BAD_METADATA, span, message, ""))
            }
        }
    }

    /// `metadata[key][index]`
    pub fn metadata_value(&mut self, key: &str, index: i64, span: Span) -> Read<Value> {
        let Some(section) = &self.metadata.section else { return self.omitted(key, index, span) };
        // Constants have had several type keys; the index is relative to the key in the text.
        let entries = section
            .get(key)
            .or_else(|| CONSTANTS.contains(&key).then(|| CONSTANTS.iter().find_map(|k| section.get(*k))).flatten());
        match entries.and_then(|entries| entries.get(usize::try_from(index).ok()?)) {
            Some(Entry::Placed(tensor, device)) => {
                let vdevice = Some(self.declared(device));
                Ok(Value::Operand(Operand::Const(Constant { vdevice, ..Constant::new(tensor.clone()) })))
            }
            Some(entry) => Ok(entry.value()),
            None if entries.is_none() && CONSTANTS.contains(&key) => self.omitted(key, index, span),
            None => {
                let message = format!("the metadata section holds no entry {index} of type `{key}`");
                Err(self.error(codes::BAD_METADATA, span, message, ""))
            }
        }
    }

    /// The module's declaration of the device, or the device itself if there is none.
    fn declared(&self, device: &Arc<VDevice>) -> Arc<VDevice> {
        let identity = |device: &VDevice| (device.kind().to_owned(), device.index, device.scope.clone());
        let declared = self.module.global_infos.values().flatten().find_map(|info| match info {
            GlobalInfo::VDevice(declared) if identity(declared) == identity(device) => Some(declared),
            _ => None,
        });
        declared.unwrap_or(device).clone()
    }

    /// A constant that the text refers to but omits.
    fn omitted(&mut self, key: &str, index: i64, span: Span) -> Read<Value> {
        let tensor = match &self.options.constants {
            Constants::Missing => None,
            Constants::Zeros => return Ok(Value::Omitted(index)),
            Constants::Tensors(tensors) => {
                let numbered = tensors.iter().find(|(name, _)| name.parse() == Ok(index));
                let by_number = tensors.iter().any(|(name, _)| name.parse::<u32>().is_ok());
                let at = if by_number { None } else { usize::try_from(index).ok().and_then(|at| tensors.get(at)) };
                numbered.or(at).map(|(_, tensor)| tensor.clone())
            }
        };
        match tensor.filter(|_| CONSTANTS.contains(&key)) {
            Some(tensor) => Ok(constant(tensor)),
            None => Err(self.no_constant(key, index, span)),
        }
    }

    fn no_constant(&mut self, key: &str, index: i64, span: Span) -> Reported {
        let message = format!("the text does not contain `metadata[\"{key}\"][{index}]`");
        let diagnostic =
            Diagnostic::error(codes::MISSING_METADATA, message).label(span, "its metadata section was left out");
        self.report(match &self.options.constants {
            Constants::Tensors(tensors) => {
                diagnostic.help(format!("the parameter file has {} tensors, none for number {index}", tensors.len()))
            }
            _ => diagnostic.help(
                "print the module with `script(show_meta=True)`, or give its constants: `--params weights.safetensors`",
            ),
        })
    }
}

impl Entry {
    fn value(&self) -> Value {
        match self {
            Entry::Tensor(tensor) | Entry::Placed(tensor, _) => constant(tensor.clone()),
            Entry::Str(text) => Value::Str(text.clone()),
            Entry::DType(dtype) => Value::Operand(Operand::DType(*dtype)),
            Entry::Other(AttrValue::Int(value)) => Value::Int(i128::from(*value)),
            Entry::Other(AttrValue::Float(value)) => Value::Float(*value),
            Entry::Other(AttrValue::Bool(value)) => Value::Bool(*value),
            Entry::Other(AttrValue::Expr(value)) => Value::Scalar(value.clone()),
            Entry::Other(value) => Value::Attr(value.clone()),
        }
    }
}

fn constant(tensor: Tensor) -> Value {
    Value::Operand(constant_operand(tensor))
}

/// A tensor as a Relax constant.
pub(crate) fn constant_operand(tensor: Tensor) -> Operand {
    Operand::Const(Constant::new(tensor))
}

//! Prints constants, tensors and strings: by value if possible, otherwise by reference to the metadata.

use super::{
    literal,
    metadata::{CONSTANT, Identity, Object},
    printer::Printer,
};
use crate::{DType, Name, Tensor, relax::Constant};
use std::sync::Arc;

const TENSOR: &str = "ffi.Tensor";
const STRING: &str = "ffi.String";
const SCALAR_STRING: &str = "ir.StringImm";

impl Printer<'_> {
    /// Appends a constant of a graph: a scalar by value; others, and those on a device, by reference to metadata.
    pub fn constant(&mut self, constant: &Constant) {
        let tensor = &constant.tensor;
        match (scalar_text(tensor).filter(|_| constant.vdevice.is_none()), &constant.distributed) {
            (value, Some(ty)) => {
                self.relax("dist.const(");
                match value {
                    Some(value) => self.push(&value),
                    None => self.constant_reference(constant),
                }
                self.push(", ");
                self.dtensor_type(ty);
                self.push(")");
            }
            (Some(value), None) => {
                self.relax("const(");
                self.push(&value);
                self.push(", ");
                self.quote(&tensor.dtype().to_string());
                self.push(")");
            }
            (None, None) => self.constant_reference(constant),
        }
    }

    fn constant_reference(&mut self, constant: &Constant) {
        let (tensor, vdevice) = (&constant.tensor, &constant.vdevice);
        let key = Name::from(CONSTANT);
        let identity =
            Identity::Constant(address(tensor), vdevice.as_ref().map_or(0, |device| Arc::as_ptr(device).addr()));
        let index = self.metadata.add(&key, identity, Object::Constant(tensor.clone(), vdevice.clone()));
        self.reference(&key, index);
    }

    /// Appends a reference to a tensor.
    pub fn tensor(&mut self, tensor: &Tensor) {
        let key = Name::from(TENSOR);
        let identity = Identity::Address(key.clone(), address(tensor));
        let index = self.metadata.add(&key, identity, Object::Tensor(tensor.clone()));
        self.reference(&key, index);
    }

    /// Appends a string; multi-line ones by reference.
    pub fn string(&mut self, text: &Name) {
        self.string_of(STRING, text, Object::Str);
    }

    /// Appends a string that is an operand of a scalar expression.
    pub fn scalar_string(&mut self, text: &Name) {
        self.string_of(SCALAR_STRING, text, Object::ScalarStr);
    }

    /// Appends a reference to an unparsed object.
    pub fn opaque(&mut self, key: &Name, json: &Arc<str>) {
        let identity = Identity::Text(key.clone(), Name::from(json.clone()));
        let index = self.metadata.add(key, identity, Object::Opaque(json.clone()));
        self.reference(key, index);
    }

    fn string_of(&mut self, key: &str, text: &Name, object: fn(Name) -> Object) {
        if !text.contains('\n') {
            return self.quote(text);
        }
        let key = Name::from(key);
        // Clones of one string are one object; equal strings of different origin are two.
        let identity = Identity::Address(key.clone(), text.as_ptr() as usize);
        let index = self.metadata.add(&key, identity, object(text.clone()));
        self.reference(&key, index);
    }

    fn reference(&mut self, key: &str, index: usize) {
        self.push("metadata[");
        self.quote(key);
        self.show(format_args!("][{index}]"));
    }
}

fn address(tensor: &Tensor) -> usize {
    std::ptr::from_ref(tensor.as_dl()) as usize
}

/// The value of a scalar of a common dtype.
fn scalar_text(tensor: &Tensor) -> Option<String> {
    if !tensor.shape().is_empty() {
        return None;
    }
    let bytes = tensor.as_bytes().ok()?;
    let mut text = String::new();
    match tensor.dtype() {
        DType::INT8 => text = i8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::INT16 => text = i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::INT32 => text = i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::INT64 => text = i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::BOOL => text.push_str(if bytes.first() == Some(&0) { "False" } else { "True" }),
        DType::FLOAT16 => literal::float(&mut text, half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64()),
        DType::FLOAT32 => literal::float(&mut text, f32::from_le_bytes(bytes.try_into().ok()?).into()),
        DType::FLOAT64 => literal::float(&mut text, f64::from_le_bytes(bytes.try_into().ok()?)),
        _ => return None,
    }
    Some(text)
}

//! Modules: functions, declarations, constants, and shared function attributes.

use super::{
    Function, Ty, Value,
    name::{escaped, global_name},
};
use std::{collections::BTreeMap, fmt::Write};

/// A module under construction.
#[derive(Default)]
pub struct Module {
    data_layout: &'static str,
    triple: &'static str,
    declarations: BTreeMap<String, String>,
    constants: Vec<String>,
    /// Finished functions with their quoted names.
    functions: Vec<(String, String)>,
    attributes: String,
}

impl Module {
    /// Starts an empty module for a target's data layout and triple, whose functions all have these LLVM attributes.
    pub fn new(data_layout: &'static str, triple: &'static str, attributes: String) -> Self {
        Module { data_layout, triple, attributes, ..Module::default() }
    }

    /// Declares an external function once; returns its address.
    pub fn declare(&mut self, name: &str, ret: Ty, params: &[Ty]) -> Value {
        let params: Vec<String> = params.iter().map(Ty::to_string).collect();
        let text = format!("declare {ret} {}({})", global_name(name), params.join(", "));
        self.declarations.entry(name.to_owned()).or_insert(text);
        Value::global(name)
    }

    /// Declares an external function that returns a structure of `count` fields of a type once; returns its address.
    pub fn declare_fields(&mut self, name: &str, (field, count): (Ty, usize), params: &[Ty]) -> Value {
        let params: Vec<String> = params.iter().map(Ty::to_string).collect();
        let ret = super::function::structure(field, count);
        let text = format!("declare {ret} {}({})", global_name(name), params.join(", "));
        self.declarations.entry(name.to_owned()).or_insert(text);
        Value::global(name)
    }

    /// Declares an external variable once; returns its address.
    pub fn declare_variable(&mut self, name: &str, ty: Ty) -> Value {
        let text = format!("{} = external dso_local global {ty}", global_name(name));
        self.declarations.entry(name.to_owned()).or_insert(text);
        Value::global(name)
    }

    /// Defines a pointer that the loader of the library fills, once; returns its address. Objects of a library share
    /// it.
    pub fn define_slot(&mut self, name: &str) -> Value {
        let text = format!("{} = weak global ptr null, align 8", global_name(name));
        self.declarations.entry(name.to_owned()).or_insert(text);
        Value::global(name)
    }

    /// Adds a variable of the device, in an address space; returns its address. `definition` follows `@name =`.
    pub fn define_in_space(&mut self, name: &str, space: u8, definition: &str) -> Value {
        let text = format!("{} = {definition}", global_name(name));
        self.declarations.entry(name.to_owned()).or_insert(text);
        Value::named(global_name(name), Ty::pointer_to(space))
    }

    /// Adds constant bytes, aligned to 8; equal constants are shared.
    pub fn bytes(&mut self, bytes: &[u8]) -> Value {
        self.constant(&format!("[{} x i8] c\"{}\"", bytes.len(), escaped(bytes)))
    }

    /// Adds a constant structure of `size` bytes with fields at these offsets, in ascending order; the bytes between
    /// them are zero.
    pub fn record(&mut self, size: usize, fields: &[(usize, Value)]) -> Value {
        let mut parts = Vec::new();
        let mut end = 0;
        let padding = |bytes: usize| (format!("[{bytes} x i8]"), format!("[{bytes} x i8] zeroinitializer"));
        for (offset, value) in fields {
            parts.extend((*offset > end).then(|| padding(offset - end)));
            parts.push((value.ty.to_string(), value.typed().to_string()));
            end = offset + value.ty.lane_bytes() as usize;
        }
        parts.extend((size > end).then(|| padding(size - end)));
        let (types, values): (Vec<String>, Vec<String>) = parts.into_iter().unzip();
        self.constant(&format!("<{{ {} }}> <{{ {} }}>", types.join(", "), values.join(", ")))
    }

    /// Adds a constant aligned to 8, by its type and value; equal constants are shared.
    fn constant(&mut self, typed: &str) -> Value {
        let text = format!("private unnamed_addr constant {typed}, align 8");
        let number = self.constants.iter().position(|c| *c == text).unwrap_or_else(|| {
            self.constants.push(text);
            self.constants.len() - 1
        });
        Value::named(format!("@data.{number}"), Ty::PTR)
    }

    /// Adds a C string.
    pub fn string(&mut self, text: &str) -> Value {
        let mut bytes: Vec<u8> = text.bytes().filter(|b| *b != 0).collect();
        bytes.push(0);
        self.bytes(&bytes)
    }

    /// Adds a finished function.
    pub fn add(&mut self, function: Function) {
        self.functions.push(function.finish());
    }

    /// Returns the text of the module.
    pub fn finish(self) -> String {
        let (layout, triple) = (self.data_layout, self.triple);
        let mut out = format!("target datalayout = \"{layout}\"\ntarget triple = \"{triple}\"\n");
        for (number, constant) in self.constants.iter().enumerate() {
            let _ = writeln!(out, "@data.{number} = {constant}");
        }
        for (_, text) in &self.functions {
            out.push('\n');
            out.push_str(text);
        }
        out.push('\n');
        let is_defined = |name: &str| self.functions.iter().any(|(defined, _)| defined == name);
        for (_, declaration) in self.declarations.iter().filter(|(name, _)| !is_defined(name)) {
            let _ = writeln!(out, "{declaration}");
        }
        let _ = writeln!(out, "\nattributes #0 = {{ {} }}", self.attributes);
        out
    }
}

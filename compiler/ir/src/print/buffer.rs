//! Prints buffers: declarations, allocations, parameters.

use super::{
    names::Entity,
    printer::{Printer, hint},
};
use crate::{
    AttrValue, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, DEFAULT_ALIGN, MatchBuffer},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Context of a buffer's declaration, which decides how it is printed.
pub(super) enum DeclContext<'s> {
    /// As a parameter.
    Param(&'s Signature<'s>),
    /// In a statement that declares it.
    Statement,
    /// In a statement that declares it over existing memory, with the additional keyword.
    Match,
}

/// Decides which dimensions of a parameter are quoted.
pub(super) struct Signature<'s> {
    /// Symbolic variables with a `TypeVar` line: expressions over them are quoted.
    pub type_vars: &'s FxHashSet<Var>,
    /// Variables that parameters to the left define; the first expression over another is quoted and defines it.
    pub bound: &'s FxHashSet<Var>,
}

impl Printer<'_> {
    /// The name of a buffer; an undefined one gets a new name.
    pub fn buffer_name(&mut self, buffer: &Buffer) -> Rc<str> {
        match self.names.get(&Entity::Buffer(buffer.clone())) {
            Some(name) => name,
            None => self.declare_buffer(buffer),
        }
    }

    /// Names a buffer that nothing has declared yet, by a line before the statement.
    fn declare_buffer(&mut self, buffer: &Buffer) -> Rc<str> {
        let name = self.define_buffer(buffer);
        if !self.frames.is_empty() {
            let line = self.capture(|p| {
                p.push(&name);
                p.push(" = ");
                p.tir("Buffer(");
                p.buffer_args(buffer, &DeclContext::Statement, false);
                p.push(")");
            });
            self.whole_line(&line);
        }
        name
    }

    /// Names a buffer that is declared as a scalar variable: its name alone is its one element.
    pub fn define_scalar_buffer(&mut self, buffer: &Buffer) -> Rc<str> {
        self.scalars.insert(buffer.clone());
        self.define_buffer(buffer)
    }

    /// Returns true if an element is written by the buffer's name alone.
    pub fn is_scalar_variable(&self, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
        matches!(indices, [index] if index.as_int() == Some(0)) && self.scalars.contains(buffer)
    }

    /// Names a buffer, and its pointer after it, in the innermost scope.
    pub fn define_buffer(&mut self, buffer: &Buffer) -> Rc<str> {
        let name = self.names.define(Entity::Buffer(buffer.clone()), hint(&buffer.name, "buffer"));
        let data = Entity::Scalar(buffer.data.clone());
        if self.names.get(&data).is_none() {
            let object = if self.scalars.contains(buffer) { ".source" } else { "" };
            let scope = self.names.depth();
            self.names.alias_in(scope, data, Rc::from(format!("{name}{object}.data")));
        }
        name
    }

    /// Prints `name = T.method(shape, …)` for a buffer that lives from here on.
    pub fn alloc_line(&mut self, method: &str, buffer: &Buffer, extra: &crate::Attrs) {
        let name = self.define_buffer(buffer);
        self.push(&name);
        self.push(" = ");
        self.tir(method);
        self.push("(");
        self.buffer_args(
            buffer,
            &DeclContext::Statement,
            method.starts_with("alloc_local") || method == "alloc_shared",
        );
        if !extra.is_empty() {
            self.push(", annotations=");
            self.attr_dict(extra, |_, _| false);
        }
        self.push(")");
        self.end_line();
    }

    /// Prints a declaration of a buffer over existing memory.
    pub fn decl_line(&mut self, buffer: &Buffer) {
        let data = self.names.get(&Entity::Scalar(buffer.data.clone()));
        self.decl_over(buffer, data);
    }

    /// The same, over the address of an inline expression.
    pub fn decl_at(&mut self, buffer: &Buffer, address: &PrimExpr) {
        let data = self.capture(|p| p.expr(address));
        self.decl_over(buffer, Some(data.into()));
    }

    fn decl_over(&mut self, buffer: &Buffer, data: Option<Rc<str>>) {
        let is_scalar = buffer.is_local_scalar();
        if is_scalar {
            self.scalars.insert(buffer.clone());
        }
        let name = self.names.get(&Entity::Buffer(buffer.clone())).unwrap_or_else(|| self.define_buffer(buffer));
        self.push(&name);
        self.push(" = ");
        if is_scalar {
            self.decl_scalar(buffer, data);
            return self.end_line();
        }
        self.tir("decl_buffer(");
        self.shape_and_dtype(buffer, &DeclContext::Statement);
        if let Some(data) = data {
            self.push(", data=");
            self.push(&data);
        }
        self.buffer_keywords(buffer, &DeclContext::Statement, false);
        self.push(")");
        self.end_line();
    }

    fn decl_scalar(&mut self, buffer: &Buffer, data: Option<Rc<str>>) {
        self.tir("decl_scalar(");
        self.tir(&buffer.dtype.to_string());
        if let Some(data) = data {
            self.push(", data=");
            self.push(&data);
        }
        self.push(", elem_offset=");
        match &buffer.elem_offset {
            Some(offset) => self.expr(offset),
            None => self.push("0"),
        }
        self.push(", scope=");
        self.quote(&buffer.scope);
        self.push(")");
    }

    /// Prints `B = T.match_buffer(A[0:4], …)` in a block.
    pub fn match_line(&mut self, matched: &MatchBuffer) {
        let name = self.define_buffer(&matched.buffer);
        let text = self.capture(|p| {
            p.push(&name);
            p.push(" = ");
            p.tir("match_buffer(");
            p.region(&matched.source);
            p.push(", ");
            p.buffer_args(&matched.buffer, &DeclContext::Match, false);
            p.push(")");
        });
        self.whole_line(&text);
    }

    /// Appends the type of a parameter: `T.Buffer((n, 4), "float32")`.
    pub fn buffer_type(&mut self, buffer: &Buffer, signature: &Signature) {
        self.tir("Buffer(");
        self.buffer_args(buffer, &DeclContext::Param(signature), false);
        self.push(")");
    }

    fn buffer_args(&mut self, buffer: &Buffer, context: &DeclContext, scope_is_said: bool) {
        self.shape_and_dtype(buffer, context);
        self.buffer_keywords(buffer, context, scope_is_said);
    }

    fn shape_and_dtype(&mut self, buffer: &Buffer, context: &DeclContext) {
        let mut defined = FxHashSet::default();
        self.tuple(&buffer.shape, |p, dim| p.size(dim, context, &mut defined));
        if buffer.dtype != DType::FLOAT32 || matches!(context, DeclContext::Param(_)) {
            self.push(", ");
            self.quote(&buffer.dtype.to_string());
        }
    }

    /// Appends a size, a stride or an offset.
    fn size(&mut self, size: &PrimExpr, context: &DeclContext, defined: &mut FxHashSet<Var>) {
        match context {
            DeclContext::Param(signature) => self.param_dim(size, signature, defined),
            _ => self.expr(size),
        }
    }

    /// Appends a dimension of a parameter. `defined` collects the variables that quoted dimensions of the same buffer
    /// define.
    fn param_dim(&mut self, dim: &PrimExpr, signature: &Signature, defined: &mut FxHashSet<Var>) {
        let mut quoted = false;
        dim.each_var(&mut |v| {
            quoted |= match signature.type_vars.contains(v) {
                true => dim.as_var().is_none(),
                false => !signature.bound.contains(v) && !defined.contains(v),
            };
        });
        dim.each_var(&mut |v| {
            defined.insert(v.clone());
        });
        let text = self.capture(|p| p.expr(dim));
        if quoted { self.quote(&text) } else { self.push(&text) }
    }

    fn buffer_keywords(&mut self, buffer: &Buffer, context: &DeclContext, scope_is_said: bool) {
        let inline = if matches!(context, DeclContext::Statement) { FxHashMap::default() } else { uses(buffer) };
        // The variables that quoted strides and unnamed offsets read back as.
        let index = buffer.shape.first().map_or(DType::INT32, PrimExpr::dtype);
        let new = |p: &Self, e: &PrimExpr| {
            let var = e.as_var().filter(|v| inline.get(v) == Some(&1)).cloned();
            var.filter(|v| p.names.get(&Entity::Scalar(v.clone())).is_none())
        };
        if !buffer.strides.is_empty() {
            self.push(", strides=");
            self.tuple(buffer.strides.iter().enumerate(), |p, (i, stride)| {
                match new(p, stride).filter(|v| v.dtype() == index) {
                    Some(v) => {
                        p.name_part(buffer, &v, &format!(".strides[{i}]"));
                        p.quote(v.name());
                    }
                    None => p.size(stride, context, &mut FxHashSet::default()),
                }
            });
        }
        let mut factor_is_said = buffer.offset_multiple() > 1;
        match &buffer.elem_offset {
            Some(offset) => match new(self, offset) {
                Some(v) => {
                    self.name_part(buffer, &v, ".elem_offset");
                    factor_is_said |= v.dtype() == index;
                    if v.dtype() != index {
                        self.push(", elem_offset=");
                        self.creation(v.ty());
                    }
                }
                None => {
                    self.push(", elem_offset=");
                    self.size(offset, context, &mut FxHashSet::default());
                }
            },
            // An offset factor alone would imply an offset.
            None if factor_is_said => self.push(", elem_offset=0"),
            None => {}
        }
        if buffer.scope != "global" && !scope_is_said {
            self.push(", scope=");
            self.quote(&buffer.scope);
        }
        if buffer.alignment() != DEFAULT_ALIGN {
            self.show(format_args!(", align={}", buffer.align));
        }
        if factor_is_said {
            self.show(format_args!(", offset_factor={}", buffer.offset_multiple()));
        }
        if !buffer.axis_separators.is_empty() {
            self.push(", axis_separators=[");
            self.list(&buffer.axis_separators, |p, at| p.show(format_args!("{at}")));
            self.push("]");
        }
        match &buffer.layout {
            Some(AttrValue::None) if self.s_tir => {}
            Some(layout) if !buffer.has_default_layout(self.s_tir) => {
                self.push(", layout=");
                self.attr(layout);
            }
            _ => {}
        }
    }

    /// Prints a variable that a buffer defines as a part of the buffer.
    fn name_part(&mut self, buffer: &Buffer, var: &Var, part: &str) {
        let name = self.buffer_name(buffer);
        let scope = self.names.depth();
        self.names.alias_in(scope, Entity::Scalar(var.clone()), Rc::from(format!("{name}{part}")));
    }
}

/// The expressions that the text of a parameter names: sizes, and strides and an offset, except variables that occur
/// once, which are parts of the buffer.
pub(super) fn named_sizes(buffer: &Buffer) -> Vec<PrimExpr> {
    let counts = uses(buffer);
    let once = |e: &PrimExpr| e.as_var().is_some_and(|v| counts.get(v) == Some(&1));
    let parts = buffer.strides.iter().chain(&buffer.elem_offset).filter(|e| !once(e));
    buffer.shape.iter().chain(parts).cloned().collect()
}

/// Number of occurrences of each variable in a buffer's type.
fn uses(buffer: &Buffer) -> FxHashMap<Var, usize> {
    let mut counts = FxHashMap::default();
    buffer.each_expr(&mut |e| e.each_var(&mut |v| *counts.entry(v.clone()).or_insert(0) += 1));
    counts
}

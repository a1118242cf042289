//! Prints attributes.

use super::{
    literal,
    names::Entity,
    printer::{Dialect, Printer},
};
use crate::{
    AttrValue, Attrs, Name, VDevice,
    prim::{IndexMap, IterKind, IterVar, Reducer, Var},
    tir::Buffer,
};

impl Printer<'_> {
    /// Appends an attribute's value.
    pub fn attr(&mut self, value: &AttrValue) {
        match value {
            AttrValue::None => self.push("None"),
            AttrValue::Bool(v) => self.push(if *v { "True" } else { "False" }),
            AttrValue::Int(v) => self.show(v),
            // A bare quoted dtype would read back as a string.
            AttrValue::Float(v) if !v.is_finite() => {
                self.line.push_str("float(");
                literal::float(&mut self.line, *v);
                self.line.push(')');
            }
            AttrValue::Float(v) => literal::float(&mut self.line, *v),
            AttrValue::Str(text) => self.string(text),
            AttrValue::DType(dtype) if dtype.is_void() => self.push("None"),
            AttrValue::DType(dtype) => self.quote(&dtype.to_string()),
            AttrValue::Expr(e) => self.expr(e),
            AttrValue::List(items) => self.attr_list(items),
            AttrValue::Tuple(items) => self.tuple(items, |p, v| p.attr(v)),
            AttrValue::Dict(entries) => self.dict(entries),
            AttrValue::Type(ty) => self.ty(ty),
            AttrValue::Tensor(tensor) => self.tensor(tensor),
            AttrValue::Target(entries) => {
                self.tir("target(");
                self.dict(entries);
                self.push(")");
            }
            AttrValue::IndexMap(map) => self.index_map(map),
            AttrValue::Reducer(reducer) => self.reducer(reducer),
            AttrValue::IterVar(iter) => self.iter_var(iter),
            AttrValue::Buffer(buffer) => self.buffer(buffer),
            AttrValue::Global(name) => self.global(name),
            AttrValue::VDevice(device) => self.vdevice(device),
            AttrValue::DeviceMesh(mesh) => self.mesh(mesh),
            AttrValue::Placement(text) => self.quote(text),
            AttrValue::Opaque(key, json) => self.opaque(key, json),
        }
    }

    /// Appends attributes as a dictionary, sorted by name, without those that `hidden` names.
    pub fn attr_dict(&mut self, attrs: &Attrs, hidden: impl Fn(&Name, &AttrValue) -> bool) {
        let mut entries: Vec<_> = attrs.iter().filter(|(n, v)| !hidden(n, v)).collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        self.push("{");
        self.list(entries, |p, (name, value)| {
            p.quote(name);
            p.push(": ");
            p.attr(value);
        });
        self.push("}");
    }

    /// Appends attributes as keyword arguments.
    pub fn attr_keywords<'v>(&mut self, attrs: impl IntoIterator<Item = (&'v Name, &'v AttrValue)>) {
        for (name, value) in attrs {
            self.comma();
            self.push(name);
            self.push("=");
            self.attr(value);
        }
    }

    /// Appends a dictionary; keys that are all strings are sorted.
    pub fn dict(&mut self, entries: &[(AttrValue, AttrValue)]) {
        let mut order: Vec<&(AttrValue, AttrValue)> = entries.iter().collect();
        if entries.iter().all(|(k, _)| k.as_str().is_some()) {
            order.sort_by_key(|(k, _)| k.as_str());
        }
        self.push("{");
        self.list(order, |p, (key, value)| {
            p.attr(key);
            p.push(": ");
            p.attr(value);
        });
        self.push("}");
    }

    /// Appends a virtual device in full.
    pub fn vdevice(&mut self, device: &VDevice) {
        self.ir("vdevice(");
        self.dict(&device.target);
        self.show(format_args!(", {}, ", device.index));
        self.quote(&device.scope);
        self.push(")");
    }

    /// Appends a combiner: `T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])`.
    pub fn reducer(&mut self, reducer: &Reducer) {
        self.tir("comm_reducer(");
        self.names.enter();
        self.lambda_head(reducer.lhs.iter().chain(&reducer.rhs));
        match &reducer.result[..] {
            [one] => self.expr(one),
            many => self.tuple(many, |p, e| p.expr(e)),
        }
        self.names.leave();
        self.push(", [");
        self.list(&reducer.identity, |p, e| p.expr(e));
        self.push("])");
    }

    /// Appends an axis: `T.iter_var(i, T.Range(0, 4), "DataPar", "")`.
    pub fn iter_var(&mut self, iter: &IterVar) {
        self.tir("iter_var(");
        self.scalar(&iter.var);
        self.push(", ");
        match &iter.dom {
            None => self.push("None"),
            Some((min, extent)) => {
                match self.dialect {
                    Dialect::Relax => self.relax("Range("),
                    Dialect::Tir => self.tir("Range("),
                    Dialect::Module => self.ir("Range("),
                }
                self.expr(min);
                self.push(", ");
                self.expr(&end(min, extent));
                self.push(")");
            }
        }
        self.push(", ");
        self.quote(match iter.kind {
            IterKind::Spatial => "DataPar",
            IterKind::Reduce => "CommReduce",
            IterKind::Scan => "Ordered",
            IterKind::Opaque => "Opaque",
            IterKind::ThreadIndex => "ThreadIndex",
        });
        self.push(", ");
        self.quote(&iter.thread);
        self.push(")");
    }

    /// Appends a buffer's name; `x.source` for a scalar variable, whose name alone denotes its element.
    pub fn buffer(&mut self, buffer: &Buffer) {
        let name = self.buffer_name(buffer);
        self.push(&name);
        if self.scalars.contains(buffer) {
            self.push(".source");
        }
    }

    /// Appends a function of the module: `cls.f` in graphs, `Module.f` in kernels.
    pub fn global(&mut self, name: &Name) {
        let in_module = self.module.is_some_and(|m| !m.bare && m.functions.contains_key(name));
        match self.dialect {
            _ if !in_module => {}
            Dialect::Relax => {
                self.declare_alias();
                self.push("cls.");
            }
            _ => self.push("Module."),
        }
        self.push(name);
    }

    /// Makes the function's body start with `cls = Module`.
    fn declare_alias(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && !frame.alias
        {
            frame.alias = true;
            self.preamble_line("cls = Module");
        }
    }

    fn attr_list(&mut self, items: &[AttrValue]) {
        self.push("[");
        self.list(items, |p, v| p.attr(v));
        self.push("]");
    }

    fn index_map(&mut self, map: &IndexMap) {
        self.tir("index_map(");
        self.index_lambda(map);
        if let Some(inverse) = &map.inverse {
            self.push(", inverse_index_map=");
            self.index_lambda(inverse);
        }
        self.push(")");
    }

    fn index_lambda(&mut self, map: &IndexMap) {
        self.names.enter();
        self.lambda_head(&map.params);
        self.tuple(&map.results, |p, e| p.expr(e));
        self.names.leave();
    }

    /// Appends `lambda x, y: ` and names the parameters.
    fn lambda_head<'v>(&mut self, params: impl IntoIterator<Item = &'v Var>) {
        self.push("lambda ");
        self.list(params, |p, v| {
            let name = p.names.define(Entity::Scalar(v.clone()), super::printer::hint(v.name(), "v"));
            p.push(&name);
        });
        self.push(": ");
    }
}

/// The exclusive end of a range; if the extent is a difference `end - min`, that end.
pub(super) fn end(min: &crate::PrimExpr, extent: &crate::PrimExpr) -> crate::PrimExpr {
    if let crate::prim::PrimKind::Binary(crate::prim::BinaryOp::Sub, end, start) = extent.kind()
        && crate::equal::exprs(start, min)
    {
        return end.clone();
    }
    crate::arith::binary(crate::prim::BinaryOp::Add, min.clone(), extent.clone())
}

//! Programs as sequences of tokens.

use crate::{
    AttrValue, Attrs, DType, Name, PrimExpr, Tensor, VDevice,
    prim::{IndexMap, IterVar, PrimType, Reducer, Var},
    relax,
    tir::Buffer,
};
use rustc_hash::FxHashMap;

/// One token.
#[derive(Clone, Debug)]
pub(crate) enum Token<'a> {
    /// Begin of the part of that name.
    Enter(&'a str),
    /// Begin of the part's element of that index.
    Element(usize),
    /// End of the innermost part or element.
    Leave,
    /// Kind of a node.
    Kind(&'static str),
    /// An integer of a node.
    Int(i64),
    /// A float, by its bits.
    Float(u64),
    /// A dtype.
    DType(DType),
    /// A name that is part of the structure.
    Text(&'a str),
    /// A variable or buffer, numbered by first occurrence.
    Var(usize),
    /// A constant.
    Tensor(&'a Tensor),
}

/// A consumer of tokens.
pub(crate) trait Sink<'a> {
    /// Consumes the next token.
    fn token(&mut self, token: Token<'a>);
}

/// Emits the tokens of a program.
pub(crate) struct Walker<'s, S> {
    sink: &'s mut S,
    scalars: FxHashMap<Var, usize>,
    buffers: FxHashMap<Buffer, usize>,
    graph_vars: FxHashMap<relax::Var, usize>,
}

impl<'a, S: Sink<'a>> Walker<'_, S> {
    pub fn new(sink: &mut S) -> Walker<'_, S> {
        Walker { sink, scalars: FxHashMap::default(), buffers: FxHashMap::default(), graph_vars: FxHashMap::default() }
    }

    /// Forgets the variables of the function that ended.
    pub fn forget(&mut self) {
        self.scalars.clear();
        self.buffers.clear();
        self.graph_vars.clear();
    }

    pub fn kind(&mut self, kind: &'static str) {
        self.sink.token(Token::Kind(kind));
    }

    pub fn int(&mut self, value: i64) {
        self.sink.token(Token::Int(value));
    }

    pub fn text(&mut self, text: &'a str) {
        self.sink.token(Token::Text(text));
    }

    pub fn dtype(&mut self, dtype: DType) {
        self.sink.token(Token::DType(dtype));
    }

    pub fn tensor(&mut self, tensor: &'a Tensor) {
        self.sink.token(Token::Tensor(tensor));
    }

    pub fn float(&mut self, value: f64) {
        self.sink.token(Token::Float(value.to_bits()));
    }

    /// A part with a name.
    pub fn part(&mut self, name: &'a str, walk: impl FnOnce(&mut Self)) {
        self.sink.token(Token::Enter(name));
        walk(self);
        self.sink.token(Token::Leave);
    }

    /// A list: its length, then each element.
    pub fn list<T>(&mut self, elements: &'a [T], mut walk: impl FnMut(&mut Self, &'a T)) {
        self.int(elements.len() as i64);
        for (i, element) in elements.iter().enumerate() {
            self.sink.token(Token::Element(i));
            walk(self, element);
            self.sink.token(Token::Leave);
        }
    }

    /// An optional part.
    pub fn option<T>(&mut self, value: Option<&'a T>, walk: impl FnOnce(&mut Self, &'a T)) {
        match value {
            Some(value) => walk(self, value),
            None => self.kind("nothing"),
        }
    }

    pub fn scalar(&mut self, var: &'a Var) {
        let next = self.scalars.len();
        let number = *self.scalars.entry(var.clone()).or_insert(next);
        self.sink.token(Token::Var(number));
        if number == next {
            self.prim_type(var.ty());
        }
    }

    pub fn graph_var(&mut self, var: relax::Var) {
        let next = self.graph_vars.len();
        let number = *self.graph_vars.entry(var).or_insert(next);
        self.sink.token(Token::Var(number));
    }

    pub fn buffer(&mut self, buffer: &'a Buffer) {
        let next = self.buffers.len();
        let number = *self.buffers.entry(buffer.clone()).or_insert(next);
        self.sink.token(Token::Var(number));
        if number == next {
            self.buffer_type(buffer);
        }
    }

    fn buffer_type(&mut self, buffer: &'a Buffer) {
        self.scalar(&buffer.data);
        self.dtype(buffer.dtype);
        self.part("shape", |w| w.list(&buffer.shape, |w, e| w.expr(e)));
        self.part("strides", |w| w.list(&buffer.strides, |w, e| w.expr(e)));
        self.part("elem_offset", |w| w.option(buffer.elem_offset.as_ref(), |w, e| w.expr(e)));
        self.part("scope", |w| w.text(&buffer.scope));
        self.int(buffer.alignment());
        self.int(buffer.offset_multiple());
        self.list(&buffer.axis_separators, |w, v| w.int(*v));
        self.option(buffer.layout.as_ref(), |w, v| w.attr(v));
    }

    pub fn prim_type(&mut self, ty: &'a PrimType) {
        match ty {
            PrimType::Scalar(dtype) => self.dtype(*dtype),
            PrimType::Pointer(element, scope) => {
                self.kind("pointer");
                self.option(element.as_ref(), |w, t| w.dtype(*t));
                self.text(scope);
            }
        }
    }

    pub fn attrs(&mut self, attrs: &'a Attrs) {
        let mut entries: Vec<_> = attrs.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        self.int(entries.len() as i64);
        for (name, value) in entries {
            self.text(name);
            self.part(name, |w| w.attr(value));
        }
    }

    pub fn attr(&mut self, value: &'a AttrValue) {
        match value {
            AttrValue::None => self.kind("None"),
            AttrValue::Bool(v) => self.kind(if *v { "True" } else { "False" }),
            AttrValue::Int(v) => self.int(*v),
            AttrValue::Float(v) => self.float(*v),
            AttrValue::Str(text) => self.text(text),
            AttrValue::DType(dtype) => self.dtype(*dtype),
            AttrValue::Expr(e) => self.expr(e),
            AttrValue::List(items) | AttrValue::Tuple(items) => {
                self.kind("list");
                self.list(items, |w, v| w.attr(v));
            }
            AttrValue::Dict(entries) => self.dict("dict", entries),
            AttrValue::Target(entries) => self.dict("target", entries),
            AttrValue::Type(ty) => self.ty(ty),
            AttrValue::Tensor(tensor) => self.tensor(tensor),
            AttrValue::IndexMap(map) => self.index_map(map),
            AttrValue::Reducer(reducer) => self.reducer(reducer),
            AttrValue::IterVar(iter) => self.iter_var(iter),
            AttrValue::Buffer(buffer) => self.buffer(buffer),
            AttrValue::Global(name) => self.named("global", name),
            AttrValue::VDevice(device) => self.vdevice(device),
            AttrValue::DeviceMesh(mesh) => {
                self.kind("mesh");
                self.list(&mesh.shape, |w, v| w.int(*v));
                self.list(&mesh.ids, |w, v| w.int(*v));
            }
            AttrValue::Placement(text) => self.named("placement", text),
            AttrValue::Opaque(key, json) => {
                self.named("object", key);
                self.text(json);
            }
        }
    }

    fn named(&mut self, kind: &'static str, name: &'a Name) {
        self.kind(kind);
        self.text(name);
    }

    fn dict(&mut self, kind: &'static str, entries: &'a [(AttrValue, AttrValue)]) {
        self.kind(kind);
        let mut order: Vec<&(AttrValue, AttrValue)> = entries.iter().collect();
        if entries.iter().all(|(k, _)| k.as_str().is_some()) {
            order.sort_by_key(|(k, _)| k.as_str());
        }
        self.int(order.len() as i64);
        for (key, value) in order {
            self.attr(key);
            self.part(key.as_str().unwrap_or("value"), |w| w.attr(value));
        }
    }

    pub fn vdevice(&mut self, device: &'a VDevice) {
        self.dict("vdevice", &device.target);
        self.int(device.index);
        self.text(&device.scope);
    }

    fn index_map(&mut self, map: &'a IndexMap) {
        self.kind("index_map");
        self.list(&map.params, |w, v| w.scalar(v));
        self.list(&map.results, |w, e| w.expr(e));
        match &map.inverse {
            Some(inverse) => self.index_map(inverse),
            None => self.kind("nothing"),
        }
    }

    pub fn reducer(&mut self, reducer: &'a Reducer) {
        self.kind("comm_reducer");
        self.list(&reducer.lhs, |w, v| w.scalar(v));
        self.list(&reducer.rhs, |w, v| w.scalar(v));
        self.list(&reducer.result, |w, e| w.expr(e));
        self.list(&reducer.identity, |w, e| w.expr(e));
    }

    pub fn iter_var(&mut self, iter: &'a IterVar) {
        self.kind(iter.kind.name());
        self.scalar(&iter.var);
        self.text(&iter.thread);
        self.option(iter.dom.as_ref(), |w, dom| w.range(dom));
    }

    pub fn range(&mut self, (min, extent): &'a (PrimExpr, PrimExpr)) {
        self.part("min", |w| w.expr(min));
        self.part("extent", |w| w.expr(extent));
    }
}

//! Layouts of buffers (pointer, offset and strides), and the flat buffer of each memory.

use crate::error::Reason;
use hammock_ir::{
    Attrs, PrimExpr,
    prim::{Substitution, Var},
    tir::{Buffer, BufferNode, MatchBuffer, Stmt, StmtKind},
};
use hammock_loopnest::index::{Poly, Simplifier};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum size in bytes of a temporary buffer on the stack.
const MAX_STACK_BYTES: i64 = 16 << 10;

/// State of flattening.
#[derive(Default)]
pub struct Flattener {
    pub simplifier: Simplifier,
    views: FxHashMap<Buffer, View>,
    /// Flat buffers, by pointer.
    flat: FxHashMap<Var, Vec<Buffer>>,
    /// Pointers that have memory.
    known: FxHashSet<Var>,
    /// Values of variables.
    pub values: Substitution,
    scopes: Scopes,
}

/// Memory scopes of allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scopes {
    /// `local`, the stack, for small buffers of constant size; `global`, the runtime's workspace, for all others.
    #[default]
    BySize,
    /// As they are declared.
    Declared,
}

/// Layout of a buffer.
#[derive(Clone)]
pub struct View {
    /// Pointer to its memory.
    pub data: Var,
    /// Offset of its first element from the pointer, in elements of its dtype.
    pub offset: Poly,
    /// Stride of each dimension.
    pub strides: Vec<Poly>,
}

impl Flattener {
    /// Starts with the values of symbolic sizes.
    pub fn new(values: Substitution, scopes: Scopes) -> Self {
        Flattener { values, scopes, ..Flattener::default() }
    }

    /// Adds a buffer of the caller, whose pointer is the address of its first element.
    pub fn add_param(&mut self, buffer: &Buffer) {
        for size in &buffer.shape {
            if let Some(var) = size.substitute(&self.values).as_var() {
                self.simplifier.at_least(var, 0);
            }
        }
        self.add_pointer(&buffer.data);
        self.add_view(buffer, buffer.data.clone(), Poly::zero());
        self.flat(buffer, &buffer.data);
    }

    /// Adds a pointer that has memory.
    pub fn add_pointer(&mut self, data: &Var) {
        self.known.insert(data.clone());
    }

    /// Returns the flat buffer of an allocation, in a scope by [`Scopes`].
    pub fn allocate(&mut self, buffer: &Buffer) -> Buffer {
        self.add_pointer(&buffer.data);
        self.add_view(buffer, buffer.data.clone(), self.offset(buffer));
        if self.scopes == Scopes::Declared {
            return self.flat(buffer, &buffer.data);
        }
        let elements = self.extent(buffer).as_constant();
        let bytes = elements.and_then(|n| n.checked_mul(buffer.dtype.element().bytes() as i64));
        let scope = if bytes.is_some_and(|b| b <= MAX_STACK_BYTES) { "local" } else { "global" };
        self.flat(&buffer.change(|b| b.scope = scope.into()), &buffer.data)
    }

    /// Declares a buffer. It allocates memory if its pointer has none.
    pub fn declare(&mut self, buffer: &Buffer) -> Option<Stmt> {
        let data = self.pointer(&buffer.data);
        if self.known.contains(&data) {
            let offset = self.offset(buffer);
            self.add_view(buffer, data, offset);
            return None;
        }
        Some(Stmt::new(StmtKind::Alloc(self.allocate(buffer), Attrs::new())))
    }

    /// Adds a match region: an offset into the memory of its source, with the same strides.
    pub fn match_buffer(&mut self, matched: &MatchBuffer) -> Result<(), Reason> {
        let (buffer, source) = (&matched.buffer, self.view(&matched.source.buffer)?);
        let ranges = &matched.source.ranges;
        let corner = ranges
            .iter()
            .zip(&source.strides)
            .fold(source.offset.clone(), |sum, ((min, _), stride)| &sum + &(&self.poly(min) * stride));
        let skip = ranges.len().saturating_sub(buffer.ndim());
        let strides = source.strides.get(skip..).unwrap_or_default().to_vec();
        for (size, (_, extent)) in buffer.shape.iter().zip(&ranges[skip..]) {
            self.assign(size, self.poly(extent));
        }
        for (declared, actual) in buffer.strides.iter().zip(&strides) {
            self.assign(declared, actual.clone());
        }
        if let Some(offset) = &buffer.elem_offset {
            self.assign(offset, corner.clone());
        }
        self.values.insert(buffer.data.clone(), source.data.expr());
        let strides = if strides.len() == buffer.ndim() { strides } else { self.compact_strides(buffer) };
        self.views.insert(buffer.clone(), View { data: source.data, offset: corner, strides });
        Ok(())
    }

    /// Assigns a value to a size that is a variable.
    fn assign(&mut self, size: &PrimExpr, value: Poly) {
        if let Some(var) = size.as_var() {
            self.values.entry(var.clone()).or_insert_with(|| value.to_expr().cast(var.dtype()));
        }
    }

    /// Records the range of a loop variable or axis.
    pub fn learn(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        self.simplifier.learn(var, min, extent);
    }

    /// Returns the declarations of all flat buffers over a pointer.
    pub fn declarations<'a>(&'a self, data: &'a Var) -> impl Iterator<Item = Stmt> + 'a {
        self.flat.get(data).into_iter().flatten().map(|b| Stmt::new(StmtKind::Decl(b.clone())))
    }

    fn offset(&self, buffer: &Buffer) -> Poly {
        buffer.elem_offset.as_ref().map_or(Poly::zero(), |e| self.poly(e))
    }

    /// Returns the polynomial of an index expression, with known values substituted.
    pub fn poly(&self, e: &PrimExpr) -> Poly {
        self.simplifier.poly(&e.substitute(&self.values))
    }

    fn add_view(&mut self, buffer: &Buffer, data: Var, offset: Poly) {
        let strides = match buffer.strides.as_slice() {
            [] => self.compact_strides(buffer),
            strides => strides.iter().map(|s| self.poly(s)).collect(),
        };
        self.views.insert(buffer.clone(), View { data, offset, strides });
    }

    fn compact_strides(&self, buffer: &Buffer) -> Vec<Poly> {
        let mut strides = vec![Poly::constant(1); buffer.ndim()];
        for axis in (1..buffer.ndim()).rev() {
            strides[axis - 1] = &strides[axis] * &self.poly(&buffer.shape[axis]);
        }
        strides
    }

    /// Returns the layout of a buffer; one that was never declared has the layout of its own fields.
    pub fn view(&mut self, buffer: &Buffer) -> Result<View, Reason> {
        if !self.views.contains_key(buffer) {
            let data = self.pointer(&buffer.data);
            if !self.known.contains(&data) {
                return Err(Reason::NoMemory(buffer.name.clone()));
            }
            let offset = self.offset(buffer);
            self.add_view(buffer, data, offset);
        }
        Ok(self.views[buffer].clone())
    }

    /// Resolves a pointer variable.
    fn pointer(&self, data: &Var) -> Var {
        self.values.get(data).and_then(PrimExpr::as_var).unwrap_or(data).clone()
    }

    /// Returns the flat buffer over a pointer.
    pub fn flat(&mut self, like: &Buffer, data: &Var) -> Buffer {
        let dtype = like.dtype.element();
        if let Some(known) = self.flat.get(data).into_iter().flatten().find(|b| b.dtype == dtype) {
            return known.clone();
        }
        let extent = self.extent(like);
        let flat = Buffer::from(BufferNode {
            name: like.name.clone(),
            data: data.clone(),
            dtype,
            shape: vec![extent.to_expr()],
            strides: Vec::new(),
            elem_offset: None,
            scope: like.scope.clone(),
            align: like.align,
            offset_factor: 0,
            axis_separators: Vec::new(),
            layout: None,
        });
        self.flat.entry(data.clone()).or_default().push(flat.clone());
        flat
    }

    /// Number of elements that a buffer spans.
    fn extent(&self, buffer: &Buffer) -> Poly {
        let lanes = i64::from(buffer.dtype.lanes);
        if buffer.strides.is_empty() {
            let product = buffer.shape.iter().fold(Poly::constant(lanes), |n, e| &n * &self.poly(e));
            return &product + &self.offset(buffer).scale(lanes);
        }
        let steps = buffer.shape.iter().zip(&buffer.strides);
        let last = steps.fold(Poly::constant(1), |sum, (extent, stride)| {
            &sum + &(&(&self.poly(extent) - &Poly::constant(1)) * &self.poly(stride))
        });
        (&last + &self.offset(buffer)).scale(lanes)
    }
}

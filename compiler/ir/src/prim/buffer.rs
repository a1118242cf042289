//! Buffers and regions of them.

use super::{AttrValue, PrimExpr, PrimKind, PrimType, Var};
use crate::{DType, Name};
use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// The layout string of an explicit default layout, needed where it is not implied, as for a scalar declared by `x:
/// T.int32 = 0`.
pub const DEFAULT_LAYOUT: &str = "default";

/// Default alignment of data, in bytes.
pub const DEFAULT_ALIGN: i64 = 64;

/// A buffer: a typed view of memory, compared by identity: equal only to itself and its clones.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<BufferNode>);

/// Properties of a buffer.
#[derive(Clone, Debug)]
pub struct BufferNode {
    /// Its name in the text; the printer makes names unique.
    pub name: Name,
    /// The pointer to its first element.
    pub data: Var,
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension, in elements.
    pub shape: Vec<PrimExpr>,
    /// Stride of each dimension, in elements; empty for compact row-major buffers.
    pub strides: Vec<PrimExpr>,
    /// Offset of the first element, in elements; `None` for zero.
    pub elem_offset: Option<PrimExpr>,
    /// Memory scope: `global`, `shared`, `local`, ….
    pub scope: Name,
    /// Alignment of the data pointer in bytes; 0 for the default (64).
    pub align: i64,
    /// Factor of `elem_offset`, in elements; 0 if not given, equivalent to 1.
    pub offset_factor: i64,
    /// Axes at which flattening to N dimensions splits.
    pub axis_separators: Vec<i64>,
    /// The tile layout. `None` is the implied one: no layout in kernels with blocks (`s_tir=True`), the default one
    /// (row-major) in others. `Some(AttrValue::None)` is explicitly none, [`DEFAULT_LAYOUT`] explicitly the default
    /// one.
    pub layout: Option<AttrValue>,
}

impl Buffer {
    /// A compact row-major buffer in global memory.
    pub fn new(name: impl Into<Name>, shape: Vec<PrimExpr>, dtype: DType) -> Self {
        Buffer::scoped(name, shape, dtype, "global")
    }

    /// A compact row-major buffer in a memory scope.
    pub fn scoped(name: impl Into<Name>, shape: Vec<PrimExpr>, dtype: DType, scope: impl Into<Name>) -> Self {
        let (name, scope) = (name.into(), scope.into());
        let data = Var::new(name.clone(), PrimType::Pointer(Some(dtype), scope.clone()));
        Buffer::from(BufferNode {
            name,
            data,
            dtype,
            shape,
            strides: Vec::new(),
            elem_offset: None,
            scope,
            align: 0,
            offset_factor: 0,
            axis_separators: Vec::new(),
            layout: None,
        })
    }

    /// A local scalar, `x: T.int32 = …`: a buffer of one element that the text reads and assigns without an index.
    pub fn local_scalar(name: impl Into<Name>, dtype: DType) -> Self {
        let (one, layout) = (vec![PrimExpr::int32(1)], AttrValue::Opaque(SCALAR_LAYOUT.into(), "S[1]".into()));
        Buffer::scoped(name, one, dtype, "local").change(|b| b.layout = Some(layout))
    }

    /// Returns true if it is a local scalar. Only its layout distinguishes it from an array of one element.
    pub fn is_local_scalar(&self) -> bool {
        matches!(&self.layout, Some(AttrValue::Opaque(key, text)) if key == SCALAR_LAYOUT && &**text == "S[1]")
    }

    /// Size in bytes of a compact buffer of constant shape.
    pub fn constant_bytes(&self) -> Option<i64> {
        if !self.strides.is_empty() {
            return None;
        }
        let mut elements = 1i64;
        for size in &self.shape {
            elements = elements.checked_mul(size.as_int()?)?;
        }
        let offset = self.elem_offset.as_ref().map_or(Some(0), PrimExpr::as_int)?;
        elements.checked_add(offset)?.checked_mul(self.dtype.bytes() as i64)
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.0.shape.len()
    }

    /// A key for tables while the buffer is alive.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns true if it has the default layout, in a kernel with or without blocks.
    pub fn has_default_layout(&self, s_tir: bool) -> bool {
        match &self.0.layout {
            None => !s_tir,
            Some(layout) => layout.as_str() == Some(DEFAULT_LAYOUT),
        }
    }

    /// Alignment of the data pointer in bytes.
    pub fn alignment(&self) -> i64 {
        if self.align == 0 { DEFAULT_ALIGN } else { self.align }
    }

    /// Factor of `elem_offset`, in elements.
    pub fn offset_multiple(&self) -> i64 {
        self.offset_factor.max(1)
    }

    /// Returns true if it is one element that the text prints as a scalar variable: its name alone is the element, in
    /// loads and stores, and `x.source` is the buffer. Depends on whether the kernel is of the dialect with blocks.
    pub fn is_scalar(&self, s_tir: bool) -> bool {
        let node = &self.0;
        node.shape.len() == 1
            && node.shape[0].as_int() == Some(1)
            && node.strides.is_empty()
            && node.elem_offset.as_ref().is_none_or(|e| e.as_int() == Some(0))
            && self.alignment() == DEFAULT_ALIGN
            && self.offset_multiple() == 1
            && (self.has_default_layout(s_tir) || self.is_local_scalar())
    }

    /// The first size, stride or offset of a parameter's buffer that a call's arguments do not determine. `var` and
    /// `element` return true for variables and buffer elements that they do determine.
    pub fn undetermined_size(
        &self,
        mut var: impl FnMut(&Var) -> bool,
        mut element: impl FnMut(&Buffer) -> bool,
    ) -> Option<&PrimExpr> {
        let mut untold = |e: &PrimExpr| match e.kind() {
            PrimKind::Var(v) => !var(v),
            PrimKind::Load(buffer, ..) => !element(buffer),
            PrimKind::Let(..) | PrimKind::Reduce(_) => true,
            _ => false,
        };
        let mut found = None;
        self.each_expr(&mut |size| found = found.or_else(|| size.any(&mut untold).then_some(size)));
        found
    }

    /// A changed copy: a different buffer.
    pub fn change(&self, f: impl FnOnce(&mut BufferNode)) -> Buffer {
        let mut node = (*self.0).clone();
        f(&mut node);
        Buffer::from(node)
    }
}

impl From<BufferNode> for Buffer {
    fn from(node: BufferNode) -> Self {
        Buffer(Arc::new(node))
    }
}

impl Deref for Buffer {
    type Target = BufferNode;
    fn deref(&self) -> &BufferNode {
        &self.0
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Buffer {}

impl Hash for Buffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state)
    }
}

/// The type key of the layout that marks a local scalar.
const SCALAR_LAYOUT: &str = "tirx.TileLayout";

/// A box of a buffer: first index and extent in each dimension.
#[derive(Clone, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: Buffer,
    /// First index and number of indices, by dimension.
    pub ranges: Vec<(PrimExpr, PrimExpr)>,
}

impl Region {
    /// One element.
    pub fn point(buffer: &Buffer, indices: impl IntoIterator<Item = PrimExpr>) -> Self {
        let ranges = indices.into_iter().map(|i| (i.clone(), PrimExpr::int(1, i.dtype()))).collect();
        Region { buffer: buffer.clone(), ranges }
    }

    /// The whole buffer.
    pub fn full(buffer: &Buffer) -> Self {
        let ranges = buffer.shape.iter().map(|e| (PrimExpr::int(0, e.dtype()), e.clone())).collect();
        Region { buffer: buffer.clone(), ranges }
    }
}

//! Pointers into buffers, and the size of the memory behind them.

use super::{Checker, checked};
use crate::error::Reason;
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimCall, PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind, call::Description},
};

impl Checker<'_> {
    /// Binds a pointer: records the size of the memory behind it, while the operands of the pointer are unchanged.
    pub fn bind_pointer(&mut self, var: &Var, value: &PrimExpr) {
        let Some(rest) = self.bytes_behind(value) else {
            if self.is_foreign(value) {
                self.foreign.insert(var.clone());
            }
            return;
        };
        let bytes = Var::int64(format!("{}_bytes", var.name()));
        self.depths.insert(bytes.clone(), self.frames.len());
        self.memory.insert(var.clone(), bytes.expr());
        self.scope.bind(&bytes, &rest);
        self.before.push(Stmt::new(StmtKind::Bind(bytes, rest)).at(self.span));
    }

    /// Returns the number of bytes behind a pointer, if known; that of a foreign pointer is not.
    fn bytes_behind(&self, pointer: &PrimExpr) -> Option<PrimExpr> {
        match pointer.kind() {
            PrimKind::Var(v) => self.memory.get(v).cloned(),
            PrimKind::Int(_) => Some(PrimExpr::int64(0)),
            PrimKind::Cast(inner) => self.bytes_behind(inner),
            PrimKind::Call(call) => match &call.args[..] {
                [element] if pointer.as_intrin("address_of").is_some() => match element.kind() {
                    PrimKind::Load(buffer, indices, _) => {
                        let all = self.memory.get(&buffer.data)?;
                        Some(all - bytes_of(position(buffer, indices), buffer.dtype))
                    }
                    _ => None,
                },
                [of, data, offset, _, _] if pointer.as_intrin("tvm_access_ptr").is_some() => {
                    Some(self.bytes_behind(data)? - bytes_of(offset.clone().cast(DType::INT64), of.dtype()))
                }
                [data, bytes] if pointer.as_intrin("handle_add_byte_offset").is_some() => {
                    Some(self.bytes_behind(data)? - bytes.clone().cast(DType::INT64))
                }
                [inner] if pointer.as_intrin("reinterpret").is_some() => self.bytes_behind(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns true if a pointer is derived from a pointer of the caller. One that is loaded from memory, or returned
    /// by another function, may point anywhere, so no buffer can be declared over it.
    fn is_foreign(&self, pointer: &PrimExpr) -> bool {
        match pointer.kind() {
            PrimKind::Var(v) => self.foreign.contains(v),
            PrimKind::Cast(inner) => self.is_foreign(inner),
            PrimKind::Call(call) => match &call.args[..] {
                [_, data, _, _, _] if pointer.as_intrin("tvm_access_ptr").is_some() => self.is_foreign(data),
                [data, ..]
                    if ["handle_add_byte_offset", "reinterpret"].iter().any(|n| pointer.as_intrin(n).is_some()) =>
                {
                    self.is_foreign(data)
                }
                [element] if pointer.as_intrin("address_of").is_some() => match element.kind() {
                    PrimKind::Load(buffer, ..) => self.foreign.contains(&buffer.data),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    /// `call_packed("f", …)`: checks that tensor descriptors (`tvm_stack_make_array`) are inside of existing memory.
    pub fn descriptions(&mut self, call: &PrimCall) {
        for arg in &call.args {
            let Some(given) = Description::of(arg) else { continue };
            let name = given.data.as_var().map_or_else(|| "tensor".into(), |v| v.name().clone());
            if self.conditional {
                self.failed.get_or_insert(Reason::PackedPlace);
            }
            let buffer = Buffer::new(name.clone(), given.shape.to_vec(), given.dtype).change(|b| {
                b.strides = given.strides.unwrap_or_default().to_vec();
                b.elem_offset = Some(given.offset.clone());
            });
            self.reject_mutable_sizes(&buffer);
            match self.bytes_behind(given.data) {
                Some(memory) => self.reaches(&buffer, &memory, &format!("what describes `{name}`")),
                None if self.is_foreign(given.data) => {}
                None => _ = self.failed.get_or_insert(Reason::NoMemory(name)),
            }
        }
    }

    /// `tvm_access_ptr(type, data, offset, extent, mode)`: checks that the accessed range is inside of the memory.
    pub fn access_ptr(&mut self, e: &PrimExpr, call: &PrimCall) -> PrimExpr {
        let e = e.map_children(&mut |c| self.expr(c));
        let [of, data, offset, extent, _] = &call.args[..] else { return e };
        let Some(memory) = self.bytes_behind(data) else { return e };
        let size = PrimExpr::int64(of.dtype().bytes().max(1) as i64);
        let limit = memory.floordiv(size) + PrimExpr::int64(1);
        let wide = |e: &PrimExpr| e.clone().cast(DType::INT64);
        let end = wide(offset) + wide(extent);
        let inside = |e: &PrimExpr| self.scope.is_inside(e, &limit);
        if inside(&wide(offset)) && inside(&end) {
            return e;
        }
        let texts =
            |what: &str| [format!("a pointer {what} element "), " of memory that ends before ".into(), self.line()];
        let end = checked(end, limit.clone(), &texts("reaches to"), None);
        let offset = checked(end - wide(extent), limit, &texts("begins at"), None);
        let mut call = call.clone();
        call.args[2] = offset;
        PrimExpr::call(call.callee, call.args, call.attrs, e.ty().clone())
    }

    /// `handle_add_byte_offset(data, bytes)`.
    pub fn byte_offset(&mut self, e: &PrimExpr, data: &PrimExpr, bytes: &PrimExpr) -> PrimExpr {
        let (pointer, bytes) = (self.expr(data), self.expr(bytes));
        let limit = self.bytes_behind(data).map(|memory| memory + PrimExpr::int64(1));
        let bytes = match limit {
            Some(limit) if !self.scope.is_inside(&bytes, &limit) => {
                let texts =
                    ["a pointer moves by ".to_owned(), " bytes in memory that ends before ".into(), self.line()];
                checked(bytes, limit, &texts, None)
            }
            _ => bytes,
        };
        PrimExpr::intrin("handle_add_byte_offset", vec![pointer, bytes], e.ty().clone())
    }
}

/// Returns the offset of an element from the start of its memory, in elements.
fn position(buffer: &Buffer, indices: &[PrimExpr]) -> PrimExpr {
    let wide = |e: &PrimExpr| e.clone().cast(DType::INT64);
    let start = buffer.elem_offset.as_ref().map_or(PrimExpr::int64(0), wide);
    if buffer.strides.is_empty() {
        let inner = indices.iter().zip(&buffer.shape);
        return start + inner.fold(PrimExpr::int64(0), |at, (i, n)| at * wide(n) + wide(i));
    }
    indices.iter().zip(&buffer.strides).fold(start, |at, (i, s)| at + wide(i) * wide(s))
}

fn bytes_of(elements: PrimExpr, dtype: DType) -> PrimExpr {
    elements * PrimExpr::int64(dtype.bytes() as i64)
}

//! Attributes and methods of buffers: `A.data`, `A.shape`, `A.vload(…)`.

use super::TirEval;
use crate::script::{
    args::{Arg, Args},
    context::{Read, Reported},
    suggest,
    value::{Index, Value},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, PrimExpr, arith,
    prim::{BinaryOp, PrimType},
    tir::{Buffer, StmtKind},
};
use hammock_syntax::ast;

const ATTRIBUTES: [&str; 11] =
    ["data", "shape", "strides", "elem_offset", "dtype", "vload", "vstore", "access_ptr", "scope", "view", "astype"];

impl TirEval<'_, '_> {
    /// `A.data`, `A.shape`, `x.dtype`, `T.handle().ty`
    pub(super) fn buffer_attribute(&mut self, on: &Arg, name: &ast::Ident) -> Read<Value> {
        match (&on.value, name.as_str()) {
            (Value::Buffer(b), "data") => Ok(Value::Scalar(b.data.expr())),
            // The buffer of a scalar.
            (Value::Buffer(_), "source") => Ok(on.value.clone()),
            (Value::Buffer(b), "shape") => Ok(scalars(&b.shape)),
            (Value::Buffer(b), "strides") => Ok(scalars(&b.strides)),
            (Value::Buffer(b), "elem_offset") => {
                let zero = || PrimExpr::int(0, b.shape.first().map_or(DType::INT32, PrimExpr::dtype));
                Ok(Value::Scalar(b.elem_offset.clone().unwrap_or_else(zero)))
            }
            (Value::Buffer(b), "dtype") => Ok(Value::str(&b.dtype.to_string())),
            (Value::Scalar(e), "dtype") => Ok(Value::str(&e.dtype().to_string())),
            (Value::Scalar(e), "ty") => Ok(Value::PrimType(e.ty().clone())),
            (Value::PrimType(ty), "ty") => Ok(Value::PrimType(ty.clone())),
            (Value::IterVar(axis), "var") => Ok(Value::Scalar(axis.var.expr())),
            _ => Err(self.no_attribute(on, name)),
        }
    }

    fn no_attribute(&mut self, on: &Arg, name: &ast::Ident) -> Reported {
        let message = format!("{} has no attribute `{}`", on.value.describe(), name.name);
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION, message).label(name.span, "");
        if let (Value::Buffer(_), Some(near)) = (&on.value, suggest::nearest(&name.name, ATTRIBUTES)) {
            diagnostic = diagnostic.did_you_mean(name.span, near);
        }
        self.cx.report(diagnostic)
    }

    pub(super) fn buffer_method(&mut self, on: &Arg, name: &ast::Ident, args: Args) -> Read<Value> {
        let buffer = match &on.value {
            Value::Buffer(buffer) => buffer.clone(),
            Value::Scalar(e) if name.as_str() == "astype" => {
                let e = e.clone();
                let dtype = self.first(args)?;
                let dtype = self.to_dtype(&dtype)?;
                return Ok(Value::Scalar(arith::cast(e, dtype)));
            }
            _ => return Err(self.no_attribute(on, name)),
        };
        match name.as_str() {
            "vload" => self.vload(&buffer, args),
            "vstore" => self.vstore(&buffer, args),
            "access_ptr" => self.access_ptr(&buffer, args),
            "view" => self.view(&buffer, args),
            "scope" => {
                args.finish(self.cx)?;
                Ok(Value::Str(buffer.scope.clone()))
            }
            _ => Err(self.no_attribute(on, name)),
        }
    }

    /// `A.vload([i, T.Ramp(0, 1, 4)], predicate=…)`
    fn vload(&mut self, buffer: &Buffer, mut args: Args) -> Read<Value> {
        let begin = args.need(self.cx, "begin")?;
        let dtype = args.take("dtype").filter(|arg| !matches!(arg.value, Value::None));
        let predicate = args.take("predicate").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let mut indices = self.to_scalars(&begin)?;
        if let Some(dtype) = dtype {
            let lanes = self.to_dtype(&dtype)?.lanes;
            if let Some(last) = indices.last_mut().filter(|i| i.dtype().is_scalar() && lanes > 1) {
                let one = PrimExpr::int(1, last.dtype());
                *last = PrimExpr::ramp(last.clone(), one, lanes);
            }
        }
        let predicate = predicate.map(|arg| self.to_scalar(&arg)).transpose()?;
        Ok(Value::Scalar(PrimExpr::load_masked(buffer, indices, predicate)))
    }

    /// `A.vstore([i], value, predicate=…)`
    fn vstore(&mut self, buffer: &Buffer, mut args: Args) -> Read<Value> {
        let span = args.span;
        let begin = args.need(self.cx, "begin")?;
        let value = args.need(self.cx, "value")?;
        let predicate = args.take("predicate").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let indices: Vec<Index> = self.to_scalars(&begin)?.into_iter().map(Index::At).collect();
        let predicate = predicate.map(|arg| self.to_scalar(&arg)).transpose()?;
        self.store(buffer, &indices, &value, predicate, span)?;
        Ok(Value::None)
    }

    /// `A.access_ptr("r", offset=4, extent=8)`
    fn access_ptr(&mut self, buffer: &Buffer, mut args: Args) -> Read<Value> {
        let mask = args.need(self.cx, "access_mask")?;
        let pointee = args.take("ptr_type");
        let lanes = args.take("content_lanes");
        let offset = args.take("offset");
        let extent = args.take("extent");
        args.finish(self.cx)?;
        if let Some(arg) = pointee.filter(|arg| !matches!(&arg.value, Value::Str(t) if t == "handle")) {
            return Err(self.unsupported(arg.span, "pointers to other types than the buffer's are not supported"));
        }
        let mask = match &mask.value {
            Value::Str(text) => i32::from(text.contains('r')) | i32::from(text.contains('w')) << 1,
            _ => self.to_int(&mask)? as i32,
        };
        let lanes = lanes.map_or(Ok(1), |arg| self.to_int(&arg))?.clamp(1, i64::from(i16::MAX)) as u16;
        let element = buffer.dtype.with_lanes(buffer.dtype.lanes * lanes);
        let index = buffer.shape.first().map_or(DType::INT32, PrimExpr::dtype);
        let zero = || PrimExpr::int(0, index);
        let offset = offset.map_or(Ok(zero()), |arg| self.to_scalar(&arg))?;
        let base = buffer.elem_offset.clone().unwrap_or_else(zero);
        let whole = || {
            let one = PrimExpr::int(1, index);
            let size = buffer.shape.iter().fold(one, |n, e| arith::binary(BinaryOp::Mul, n, e.clone()));
            arith::binary(BinaryOp::Sub, size, offset.clone())
        };
        let extent = match extent {
            Some(arg) if !matches!(arg.value, Value::None) => self.to_scalar(&arg)?,
            _ => whole(),
        };
        let offset = arith::binary(BinaryOp::Add, base, offset);
        let pointer = PrimType::Pointer(Some(element), buffer.scope.clone());
        let annotation = PrimExpr::intrin("type_annotation", Vec::new(), element);
        let parts = vec![annotation, buffer.data.expr(), offset, extent, PrimExpr::int32(mask)];
        Ok(Value::Scalar(PrimExpr::intrin("tvm_access_ptr", parts, pointer)))
    }

    /// `A.view(4096)`: the same memory with another shape; `A.view("int64")`: as elements of another dtype.
    fn view(&mut self, buffer: &Buffer, mut args: Args) -> Read<Value> {
        let span = args.span;
        let layout = args.keyword("layout");
        let (mut shape, mut dtype) = (Vec::new(), buffer.dtype);
        while let Some(arg) = args.positional.pop_front() {
            match &arg.value {
                Value::Str(_) => {
                    dtype = self.to_dtype(&arg)?;
                    shape = recast(buffer, dtype);
                }
                _ => shape.extend(self.to_scalars(&arg)?),
            }
        }
        args.finish(self.cx)?;
        let layout = layout.map(|arg| self.to_attr(&arg)).transpose()?;
        let name = self.name_for("view");
        let view = buffer.change(|b| {
            b.name = name;
            b.shape = shape;
            b.dtype = dtype;
            b.strides = Vec::new();
            b.layout = layout;
        });
        self.emit(StmtKind::Decl(view.clone()), span);
        Ok(Value::Buffer(view))
    }
}

/// The shape of a buffer whose last axis is read as elements of another dtype.
fn recast(buffer: &Buffer, dtype: DType) -> Vec<PrimExpr> {
    let mut shape = buffer.shape.clone();
    if let Some(last) = shape.last_mut() {
        let bits = |t: DType| PrimExpr::int(i64::from(t.bits) * i64::from(t.lanes.max(1)), last.dtype());
        let all = arith::binary(BinaryOp::Mul, last.clone(), bits(buffer.dtype));
        *last = arith::binary(BinaryOp::FloorDiv, all, bits(dtype));
    }
    shape
}

fn scalars(items: &[PrimExpr]) -> Value {
    Value::Tuple(items.iter().cloned().map(Value::Scalar).collect())
}

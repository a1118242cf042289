//! Elements and regions of buffers: `A[i, j]`, `A[0:4]`, stores to them.

use super::TirEval;
use crate::script::{
    args::{Arg, Args},
    context::Read,
    dtypes,
    path::{Path, Space},
    value::{Index, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use hammock_ir::{
    DType, PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, PrimType},
    tir::{Buffer, StmtKind},
};
use hammock_syntax::ast;

/// The value of a local scalar.
pub(super) fn load_scalar(buffer: &Buffer) -> PrimExpr {
    PrimExpr::load(buffer, vec![PrimExpr::int32(0)])
}

/// The vector that a slice of constant length denotes.
pub(super) fn vector_load(buffer: &Buffer, indices: &[Index]) -> Option<PrimExpr> {
    Some(PrimExpr::load(buffer, element_indices(indices)?))
}

/// Indices of elements; a range becomes a vector of indices. `None` when its length is not known.
fn element_indices(indices: &[Index]) -> Option<Vec<PrimExpr>> {
    indices.iter().map(element_index).collect()
}

fn element_index(index: &Index) -> Option<PrimExpr> {
    let (begin, end, step) = match index {
        Index::At(i) => return Some(i.clone()),
        Index::Range(begin, end, step) => (begin, end, step),
    };
    let step = step.clone().unwrap_or_else(|| PrimExpr::int(1, begin.dtype()));
    let extent = match (begin.as_int(), end.as_int()) {
        (Some(b), Some(e)) => e.checked_sub(b)?,
        _ => Analyzer::new().difference(end, begin)?,
    };
    let stride = step.as_int().filter(|s| *s > 0)?;
    match extent.checked_add(stride - 1)? / stride {
        1 => Some(begin.clone()),
        lanes if (2..=i64::from(i16::MAX)).contains(&lanes) => Some(PrimExpr::ramp(begin.clone(), step, lanes as u16)),
        _ => None,
    }
}

impl TirEval<'_, '_> {
    /// A subscript: of a buffer, or of a type (`T.Buffer[(16,), "float32"]`, `T.let[T.int32]`, `T.float32[4]`).
    pub(super) fn element(&mut self, on: &Arg, indices: &[ast::Index], span: Span) -> Read<Value> {
        match &on.value {
            Value::Buffer(buffer) => {
                let buffer = buffer.clone();
                let indices = self.indices(&buffer, indices, span)?;
                Ok(self.slice_or_element(buffer, indices))
            }
            Value::Path(path) if path.space == Space::Tir => self.type_subscript(path, indices, span),
            Value::Scalar(e) if matches!(e.kind(), PrimKind::Load(..)) => {
                let message = format!("`{}` is one element, which has no elements", self.cx.source.slice(on.span));
                Err(self.cx.error(codes::WRONG_INDEX_COUNT, span, message, "drop the second pair of brackets"))
            }
            _ => Err(self.expected(on, "a buffer to take an element of")),
        }
    }

    fn slice_or_element(&mut self, buffer: Buffer, indices: Vec<Index>) -> Value {
        let points: Option<Vec<PrimExpr>> = indices
            .iter()
            .map(|index| match index {
                Index::At(i) => Some(i.clone()),
                Index::Range(..) => None,
            })
            .collect();
        match points {
            Some(points) => Value::Scalar(PrimExpr::load(&buffer, points)),
            None => Value::Slice(buffer, indices),
        }
    }

    fn type_subscript(&mut self, path: &Path, indices: &[ast::Index], span: Span) -> Read<Value> {
        let mut args = Args::new(path.to_string(), span);
        for index in indices {
            match index {
                ast::Index::Expr(e) => args.positional.push_back(self.arg(e)),
                ast::Index::Slice(slice) => return Err(self.unsupported(slice.span, "a slice is not allowed here")),
            }
        }
        match &*path.name {
            "Buffer" => self.buffer_type(args),
            "let" => {
                let ty = self.first(args)?;
                self.to_prim_type(&ty).map(|ty| Value::Let(Some(ty)))
            }
            _ => match self.as_prim_type(&Value::Path(path.clone())) {
                Some(ty) => {
                    let items = args.positional.into_iter().map(|arg| arg.value).collect();
                    let shape = self.to_scalars(&Arg { value: Value::Tuple(items), span })?;
                    Ok(Value::LocalArray(ty, shape))
                }
                None => Err(self.unsupported(span, format!("`{path}` takes no `[…]`"))),
            },
        }
    }

    /// The indices of a subscript of a buffer, one per dimension.
    pub(super) fn indices(&mut self, buffer: &Buffer, indices: &[ast::Index], span: Span) -> Read<Vec<Index>> {
        let (mut found, mut several) = (Vec::new(), None);
        for (axis, index) in indices.iter().enumerate() {
            match index {
                ast::Index::Expr(e) => match &e.kind {
                    // `A[()]`: the element of a buffer without dimensions.
                    ast::ExprKind::Tuple(items) if items.is_empty() && indices.len() == 1 => {}
                    ast::ExprKind::Starred(inner) => {
                        let spread = self.arg(inner);
                        found.extend(self.to_scalars(&spread)?.into_iter().map(Index::At));
                    }
                    _ => {
                        let index = self.arg(e);
                        found.push(match &index.value {
                            Value::Tuple(_) | Value::List(_) => {
                                let scalars = self.to_scalars(&index)?;
                                several = Some((self.cx.source.slice(index.span).to_owned(), scalars.len()));
                                found.extend(scalars.into_iter().map(Index::At));
                                continue;
                            }
                            Value::Range(min, extent) => {
                                Index::Range(min.clone(), add(min.clone(), extent.clone()), None)
                            }
                            _ => Index::At(self.to_index_of(buffer, &index)?),
                        });
                    }
                },
                ast::Index::Slice(slice) => found.push(self.slice(buffer, axis, slice)?),
            }
        }
        if found.is_empty() && buffer.ndim() == 1 && buffer.shape[0].as_int() == Some(1) {
            found.push(Index::At(PrimExpr::int32(0)));
        }
        if found.len() != buffer.ndim() {
            let dims = count(buffer.ndim(), "dimension");
            let message = format!("`{}` has {dims}, but {} given", buffer.name, are(found.len()));
            let rest = &self.cx.source.text()[span.end as usize..];
            let help = match (one_subscript(self.cx.source.slice(span), rest), shape_text(buffer)) {
                (Some(text), _) => format!("put all indices in one pair of brackets: `{text}`"),
                (None, _) if let Some((text, count)) = &several => {
                    format!("`{text}` is a tuple of {count} indices: name each of them where it is bound")
                }
                (None, shape) if found.len() > buffer.ndim() => format!("its shape is {shape}"),
                (None, shape) => format!("its shape is {shape}; `:` selects a whole dimension"),
            };
            let diagnostic = Diagnostic::error(codes::WRONG_INDEX_COUNT, message).label(span, "");
            return Err(self.cx.report(diagnostic.help(help)));
        }
        Ok(found)
    }

    fn to_index_of(&mut self, buffer: &Buffer, arg: &Arg) -> Read<PrimExpr> {
        let index = self.to_scalar(arg)?;
        self.checked_index(buffer, index, arg.span)
    }

    fn checked_index(&mut self, buffer: &Buffer, index: PrimExpr, span: Span) -> Read<PrimExpr> {
        if !dtypes::is_index_dtype(index.dtype()) {
            let message = format!("an index of `{}` is {}, which is not an integer", buffer.name, index.dtype());
            let diagnostic = Diagnostic::error(codes::KERNEL_TYPES, message).label(span, "");
            return Err(self.cx.report(diagnostic.help("convert it: `T.Cast(\"int32\", …)`")));
        }
        Ok(index)
    }

    fn slice(&mut self, buffer: &Buffer, axis: usize, slice: &ast::Slice) -> Read<Index> {
        let size = buffer.shape.get(axis).cloned().unwrap_or_else(|| PrimExpr::int32(0));
        let mut side = |e: &Option<ast::Expr>, otherwise: PrimExpr| match e {
            Some(e) => {
                let arg = self.arg(e);
                let plain = arg.value.number().is_some();
                Ok((self.to_index_of(buffer, &arg)?, plain))
            }
            None => Ok((otherwise, true)),
        };
        let (begin, plain_begin) = side(&slice.start, PrimExpr::int(0, size.dtype()))?;
        let (end, plain_end) = side(&slice.end, size)?;
        let (begin, end) = match (plain_begin, plain_end) {
            (true, false) => (arith::cast(begin, end.dtype()), end),
            (false, true) => (begin.clone(), arith::cast(end, begin.dtype())),
            _ => arith::match_types(begin, end),
        };
        let step = match &slice.step {
            Some(e) => {
                let arg = self.arg(e);
                let step = self.to_scalar_like(&arg, begin.dtype())?;
                Some(self.checked_index(buffer, step, arg.span)?)
            }
            None => None,
        };
        Ok(Index::Range(begin, end, step))
    }

    /// `buffer[indices] = value`
    pub(super) fn store(
        &mut self,
        buffer: &Buffer,
        indices: &[Index],
        value: &Arg,
        predicate: Option<PrimExpr>,
        span: Span,
    ) -> Read<()> {
        let Some(indices) = element_indices(indices) else {
            return Err(self.cx.error(codes::WRONG_VALUE, span, "the length of the slice must be a constant", ""));
        };
        let lanes = indices.last().map_or(1, |i| i.dtype().lanes);
        let wanted = buffer.dtype.with_lanes(buffer.dtype.lanes * lanes);
        let value = self.value_of(value, wanted)?;
        self.emit(StmtKind::Store { buffer: buffer.clone(), indices, value, predicate }, span);
        Ok(())
    }

    /// A value converted to the dtype it is stored in, as by assignments.
    pub(super) fn value_of(&mut self, arg: &Arg, dtype: DType) -> Read<PrimExpr> {
        let value = self.to_scalar_like(arg, dtype)?;
        if value.dtype() == dtype {
            return Ok(value);
        }
        let number = |t: DType| !t.is_handle() && !t.is_void();
        let lanes = value.dtype().lanes;
        if matches!(value.ty(), PrimType::Scalar(t) if number(*t))
            && number(dtype)
            && (lanes == 1 || lanes == dtype.lanes)
        {
            return Ok(arith::cast(value, dtype));
        }
        let message = format!("a value of type {} cannot be stored as {dtype}", value.dtype());
        Err(self.cx.error(codes::SCALAR_MISMATCH, arg.span, message, ""))
    }

    /// `T.buffer_store(A, value, [i, j])`
    pub(super) fn buffer_store(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let buffer = args.need(self.cx, "buffer")?;
        let value = args.need(self.cx, "value")?;
        let indices = args.need(self.cx, "indices")?;
        let predicate = args.take("predicate");
        args.finish(self.cx)?;
        let buffer = self.to_buffer(&buffer)?;
        let indices: Vec<Index> = self.to_scalars(&indices)?.into_iter().map(Index::At).collect();
        let predicate = predicate.map(|arg| self.to_scalar(&arg)).transpose()?;
        self.store(&buffer, &indices, &value, predicate, span)?;
        Ok(Value::None)
    }
}

/// `1 index is`, `2 indices are`.
fn are(indices: usize) -> String {
    let verb = if indices == 1 { "is" } else { "are" };
    format!("{} {verb}", count(indices, "index"))
}

/// `A[i, 0]`, where `rest` begins with the second subscript of `A[i][0]`.
fn one_subscript(first: &str, rest: &str) -> Option<String> {
    let first = first.strip_suffix(']')?;
    let second = rest.strip_prefix('[')?.split_once(']')?.0;
    (!second.contains(['[', '\n'])).then(|| format!("{first}, {second}]"))
}

fn shape_text(buffer: &Buffer) -> String {
    let dims: Vec<String> = buffer.shape.iter().map(|d| d.to_string()).collect();
    format!("({})", dims.join(", "))
}

fn add(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Add, a, b)
}

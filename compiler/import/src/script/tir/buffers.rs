//! Buffers: as types of parameters, matched, allocated, declared over memory.

use super::TirEval;
use crate::script::{
    args::{Arg, Args},
    context::Read,
    suggest,
    value::{Index, Value},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, Attrs, DType, MAX_RANK, Name, PrimExpr,
    arith::Analyzer,
    equal::dims,
    prim::{PrimKind, PrimType, Var},
    tir::{Buffer, BufferNode, MatchBuffer, Region, StmtKind},
};

/// The arguments common to all kinds of buffers, in order.
struct BufferArgs {
    shape: Option<Arg>,
    dtype: Option<Arg>,
    data: Option<Arg>,
    strides: Option<Arg>,
    elem_offset: Option<Arg>,
    byte_offset: Option<Arg>,
    scope: Option<Arg>,
    align: Option<Arg>,
    offset_factor: Option<Arg>,
    layout: Option<Arg>,
    axis_separators: Option<Arg>,
}

impl BufferArgs {
    /// Takes them; `byte_offset` may be given by position in some calls only.
    fn take(args: &mut Args, byte_offset_by_position: bool) -> BufferArgs {
        let mut some = |name, by_position: bool| {
            let arg: Option<Arg> = if by_position { args.take(name) } else { args.keyword(name) };
            arg.filter(|arg| !matches!(arg.value, Value::None))
        };
        let mut spec = BufferArgs {
            shape: some("shape", true),
            dtype: some("dtype", true),
            data: some("data", true),
            strides: some("strides", true),
            elem_offset: some("elem_offset", true),
            byte_offset: some("byte_offset", byte_offset_by_position),
            scope: some("scope", true),
            align: some("align", true),
            offset_factor: some("offset_factor", true),
            layout: None,
            axis_separators: some("axis_separators", false),
        };
        // Here `None` is significant: no layout at all.
        spec.layout = args.take("layout");
        args.keyword("buffer_type");
        spec
    }
}

/// Memory scopes, up to the first dot.
const SCOPES: [&str; 9] = ["global", "shared", "local", "warp", "wmma", "mma", "texture", "metal", "tmem"];

impl TirEval<'_, '_> {
    fn build(&mut self, spec: BufferArgs, args: Args, name: Name, default_scope: &str) -> Read<Buffer> {
        let (span, args_callee) = (args.span, args.callee.clone());
        args.finish(self.cx)?;
        let Some(shape) = spec.shape else {
            let message = format!("`{}` needs a shape", args_callee);
            return Err(self.cx.error(codes::WRONG_ARGUMENTS, span, message, "such as `(16, 4)`"));
        };
        if matches!(&shape.value, Value::Str(text) if text.parse::<DType>().is_ok()) {
            return Err(self.expected(&shape, "a shape, such as `(16,)`"));
        }
        let shape = self.sizes(&shape, DType::INT32)?;
        if shape.len() > MAX_RANK {
            let message = format!("a buffer of {} dimensions, more than {MAX_RANK}", shape.len());
            return Err(self.cx.error(codes::BAD_TYPE, span, message, ""));
        }
        let index = shape.first().map_or(DType::INT32, PrimExpr::dtype);
        let dtype = spec.dtype.map_or(Ok(DType::FLOAT32), |arg| self.to_dtype(&arg))?;
        let strides = spec.strides.map_or(Ok(Vec::new()), |arg| self.sizes(&arg, index))?;
        let offset_factor = spec.offset_factor.map_or(Ok(0), |arg| self.offset_factor(&arg))?;
        // Any offset is a multiple of 1: the factor only states that there is an offset.
        let offset_factor = if offset_factor == 1 && spec.elem_offset.is_some() { 0 } else { offset_factor };
        let elem_offset = match (spec.elem_offset, spec.byte_offset) {
            (Some(arg), _) => self.offset(&arg, index)?,
            (None, Some(arg)) => {
                let bytes = self.to_scalar(&arg)?;
                let size = PrimExpr::int(dtype.bytes().max(1) as i64, bytes.dtype());
                Some(hammock_ir::arith::binary(hammock_ir::prim::BinaryOp::FloorDiv, bytes, size))
            }
            (None, None) if offset_factor != 0 => Some(Var::new("elem_offset", index).expr()),
            (None, None) => None,
        };
        let scope = spec.scope.map_or(Ok(default_scope.into()), |arg| self.to_scope(&arg))?;
        let align = spec.align.map_or(Ok(0), |arg| self.to_int(&arg))?.max(0);
        let axis_separators = spec.axis_separators.map_or(Ok(Vec::new()), |arg| self.to_ints(&arg))?;
        let layout = spec.layout.map_or(Ok(None), |arg| self.layout(&arg))?;
        let data = match spec.data {
            Some(arg) => self.pointer_var(&arg, &name)?,
            None => Var::new(name.clone(), PrimType::Pointer(Some(dtype), scope.clone())),
        };
        let scope = match data.ty() {
            PrimType::Pointer(_, scope) => scope.clone(),
            PrimType::Scalar(_) => scope,
        };
        Ok(Buffer::from(BufferNode {
            name,
            data,
            dtype,
            shape,
            strides,
            elem_offset: elem_offset.filter(|e| e.as_int() != Some(0)),
            scope,
            align,
            offset_factor,
            axis_separators,
            layout,
        }))
    }

    /// A memory scope: `"global"`, `"shared.dyn"`. Targets have scopes of their own; a misspelt one is rejected.
    fn to_scope(&mut self, arg: &Arg) -> Read<Name> {
        let scope = self.to_str(arg)?;
        let root = scope.split('.').next().unwrap_or(&scope);
        match suggest::nearest(root, SCOPES).filter(|_| !SCOPES.contains(&root)) {
            None => Ok(scope),
            Some(near) => {
                let diagnostic = Diagnostic::error(codes::WRONG_VALUE, format!("there is no scope `{scope}`"));
                let meant = format!("\"{near}{}\"", &scope[root.len()..]);
                Err(self.cx.report(diagnostic.label(arg.span, "").did_you_mean(arg.span, meant)))
            }
        }
    }

    /// Sizes or strides; those in quotes may name new variables.
    fn sizes(&mut self, arg: &Arg, quoted: DType) -> Read<Vec<PrimExpr>> {
        if arg.value.elements().is_none() {
            return Ok(vec![self.size(arg, quoted)?]);
        }
        let items = self.elements(arg)?;
        items.into_iter().map(|value| self.size(&Arg { value, span: arg.span }, quoted)).collect()
    }

    fn size(&mut self, arg: &Arg, quoted: DType) -> Read<PrimExpr> {
        let size = self.quoted(arg, quoted)?;
        if size.dtype().is_integer() && size.dtype().is_scalar() {
            return Ok(size);
        }
        let message = format!("a dimension is an integer, not a {}", size.dtype());
        Err(self.cx.error(codes::BAD_TYPE, arg.span, message, ""))
    }

    /// An element offset: an expression, a new variable in quotes, or `T.int32()` for one without a name.
    fn offset(&mut self, arg: &Arg, index: DType) -> Read<Option<PrimExpr>> {
        match &arg.value {
            Value::PrimType(ty) => Ok(Some(Var::new("elem_offset", ty.clone()).expr())),
            _ => self.quoted(arg, index).map(Some),
        }
    }

    /// Factor of an offset.
    fn offset_factor(&mut self, arg: &Arg) -> Read<i64> {
        let factor = self.to_int(arg)?;
        if factor >= 0 {
            return Ok(factor);
        }
        let label = "an offset is a multiple of a number of elements, such as 4";
        Err(self.cx.error(codes::WRONG_VALUE, arg.span, format!("there are no multiples of {factor}"), label))
    }

    /// A layout. Without block semantics buffers have one by default, and `None` is explicitly none.
    fn layout(&mut self, arg: &Arg) -> Read<Option<AttrValue>> {
        Ok(match &arg.value {
            Value::None if self.dialect.s_tir => None,
            Value::None => Some(AttrValue::None),
            Value::Str(text) if text == "default" => None,
            _ => Some(self.to_attr(arg)?),
        })
    }

    /// The variable of a buffer's address; an inline expression gets a variable with the buffer's name.
    fn pointer_var(&mut self, arg: &Arg, name: &Name) -> Read<Var> {
        match &arg.value {
            Value::Buffer(buffer) => Ok(buffer.data.clone()),
            Value::Scalar(e) if e.dtype().is_handle() => match e.as_var() {
                Some(var) => Ok(var.clone()),
                None => {
                    let var = Var::new(name.clone(), e.ty().clone());
                    self.emit(StmtKind::Bind(var.clone(), e.clone()), arg.span);
                    Ok(var)
                }
            },
            _ => Err(self.expected(arg, "a pointer")),
        }
    }

    /// `T.Buffer((n,), "float32")`: in a header the type of a parameter, in a body a buffer over `data`, or one that is
    /// named before it is declared.
    pub(super) fn buffer_type(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let spec = BufferArgs::take(&mut args, true);
        let declares = spec.data.is_some();
        let name = self.name_for("buffer");
        let buffer = self.build(spec, args, name, "global")?;
        match (self.dialect.header, declares) {
            (true, _) => {}
            (false, true) => self.emit(StmtKind::Decl(buffer.clone()), span),
            (false, false) => self.dialect.undeclared.push(buffer.clone()),
        }
        Ok(Value::Buffer(buffer))
    }

    /// `T.match_buffer(a, (n,), "float32")` for a handle, `T.match_buffer(A[0:4], (4,))` for a region.
    pub(super) fn match_buffer(&mut self, mut args: Args) -> Read<Value> {
        let source = args.need(self.cx, "param")?;
        let mut spec = BufferArgs::take(&mut args, false);
        let name = self.name_for("buffer");
        if let Value::Scalar(e) = &source.value
            && let PrimKind::Var(handle) = e.kind()
        {
            let handle = handle.clone();
            if !handle.dtype().is_handle() {
                return Err(self.expected(&source, "a parameter of type `T.handle`"));
            }
            let span = args.span;
            let buffer = self.build(spec, args, name, "global")?;
            let Some(at) = self.dialect.params.iter().position(|p| p.var == handle) else {
                return Err(self.expected(&source, "a parameter of type `T.handle`"));
            };
            self.check_sizes_determined(&buffer, at, span)?;
            // The parameter is the buffer from here on: its bare name is the data pointer.
            self.scope.define(handle.name().clone(), Value::Scalar(buffer.data.expr()));
            self.dialect.params[at].buffer = Some(buffer.clone());
            return Ok(Value::Buffer(buffer));
        }
        let span = args.span;
        let region = self.to_region(&source)?;
        if spec.shape.is_none() {
            let extents = region.ranges.iter().map(|(_, extent)| Value::Scalar(extent.clone())).collect();
            spec.shape = Some(Arg { value: Value::Tuple(extents), span: source.span });
            spec.dtype =
                spec.dtype.or(Some(Arg { value: Value::str(&region.buffer.dtype.to_string()), span: source.span }));
        }
        let buffer = self.build(spec, args, name, &region.buffer.scope)?;
        let matched = MatchBuffer { buffer: buffer.clone(), source: region };
        self.parts("a part of a buffer that is matched", span)?.match_buffers.push(matched);
        Ok(Value::Buffer(buffer))
    }

    /// `T.sblock_alloc_buffer((16,), scope="local")`: lives as long as the enclosing block.
    pub(super) fn sblock_alloc_buffer(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let spec = BufferArgs::take(&mut args, false);
        let name = self.name_for("buffer");
        let buffer = self.build(spec, args, name, "global")?;
        let mut sizes = Vec::new();
        buffer.each_expr(&mut |e| sizes.push(e.clone()));
        self.check_block_scope(&sizes, span)?;
        if let Some(block) = self.dialect.blocks.last_mut() {
            block.alloc_buffers.push(buffer.clone());
        }
        Ok(Value::Buffer(buffer))
    }

    /// `T.alloc_buffer((16,), "float32")`: lives to the end of the scope.
    pub(super) fn alloc_buffer(&mut self, scope: &str, mut args: Args) -> Read<Value> {
        let span = args.span;
        let annotations = args.keyword("annotations");
        let spec = BufferArgs::take(&mut args, true);
        let annotations = annotations.map_or(Ok(Attrs::new()), |arg| self.to_attrs(&arg))?;
        let name = self.name_for("buffer");
        let mut buffer = self.build(spec, args, name, scope)?;
        if self.is_scalar_by_default(&buffer) && annotations.is_empty() {
            buffer = Buffer::local_scalar(buffer.name.clone(), buffer.dtype);
        }
        self.emit(StmtKind::Alloc(buffer.clone(), annotations), span);
        Ok(Value::Buffer(buffer))
    }

    /// Without block semantics, an array of one element has the layout of a local scalar.
    fn is_scalar_by_default(&self, buffer: &Buffer) -> bool {
        let one = matches!(buffer.shape.as_slice(), [n] if n.as_int() == Some(1) && n.dtype() == DType::INT32);
        let plain = buffer.layout.is_none() && buffer.align == 0 && buffer.elem_offset.is_none();
        !self.dialect.s_tir && one && plain && buffer.scope == "local"
    }

    /// `T.alloc_scalar("int32", "local")`
    pub(super) fn alloc_scalar(&mut self, function: &str, mut args: Args) -> Read<Value> {
        let span = args.span;
        let dtype = args.take("dtype");
        let scope = if function == "alloc_scalar" { args.take("scope") } else { None };
        args.finish(self.cx)?;
        let dtype = dtype.map_or(Ok(DType::FLOAT32), |arg| self.to_dtype(&arg))?;
        let default = match function {
            "local_scalar" => "local",
            "shared_scalar" => "shared",
            _ => "global",
        };
        let scope = scope.map_or(Ok(default.into()), |arg| self.to_str(&arg))?;
        let name = self.name_for("scalar");
        let data = Var::new(name.clone(), PrimType::Pointer(Some(dtype), scope.clone()));
        let buffer = Buffer::local_scalar(name, dtype).change(|b| (b.data, b.scope) = (data, scope));
        self.emit(StmtKind::Alloc(buffer.clone(), Attrs::new()), span);
        Ok(Value::Buffer(buffer))
    }

    /// `T.decl_scalar("int32", data=A.data, scope="global", elem_offset=2)`: a scalar variable over existing memory.
    pub(super) fn decl_scalar(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let dtype = args.need(self.cx, "dtype")?;
        let data = args.need(self.cx, "data")?;
        args.take("scope");
        let elem_offset = args.take("elem_offset").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let dtype = self.to_dtype(&dtype)?;
        let name = self.name_for("scalar");
        let data = self.pointer_var(&data, &name)?;
        let elem_offset = elem_offset.map(|arg| self.to_scalar(&arg)).transpose()?.filter(|e| e.as_int() != Some(0));
        let scope = match data.ty() {
            PrimType::Pointer(_, scope) => scope.clone(),
            PrimType::Scalar(_) => "global".into(),
        };
        let buffer = Buffer::local_scalar(name, dtype);
        let buffer = buffer.change(|b| (b.data, b.scope, b.elem_offset) = (data, scope, elem_offset));
        self.emit(StmtKind::Decl(buffer.clone()), span);
        Ok(Value::Buffer(buffer))
    }

    /// `T.decl_buffer((n,), "float32", data=A.data)`; without `data`, an allocation.
    pub(super) fn decl_buffer(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let spec = BufferArgs::take(&mut args, true);
        let over = spec.data.is_some();
        let name = self.name_for("buffer");
        let built = self.build(spec, args, name, "global")?;
        let buffer = self.named_before(&built).unwrap_or(built);
        let kind = if over { StmtKind::Decl(buffer.clone()) } else { StmtKind::Alloc(buffer.clone(), Attrs::new()) };
        self.emit(kind, span);
        Ok(Value::Buffer(buffer))
    }

    /// The earlier named buffer that a declaration over a computed address declares.
    fn named_before(&mut self, built: &Buffer) -> Option<Buffer> {
        let StmtKind::Bind(address, _) = &mut self.dialect.out.last_mut()?.kind else { return None };
        let same = |b: &Buffer| b.name == built.name && b.dtype == built.dtype && dims(&b.shape, &built.shape);
        let at = self.dialect.undeclared.iter().position(same).filter(|_| *address == built.data)?;
        let buffer = self.dialect.undeclared.swap_remove(at);
        *address = buffer.data.clone();
        Some(buffer)
    }

    /// `T.allocate([n], "float32", "global")`, as texts before 0.24 have it: a pointer to new memory.
    pub(super) fn allocate(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let extents = args.need(self.cx, "extents")?;
        let dtype = args.need(self.cx, "dtype")?;
        let scope = args.take("scope");
        let condition = args.take("condition").filter(|arg| !matches!(arg.value, Value::None | Value::Bool(true)));
        let annotations = args.keyword("annotations");
        args.finish(self.cx)?;
        if let Some(arg) = condition {
            return Err(self.unsupported(arg.span, "allocations under a condition are not supported"));
        }
        let (shape, dtype) = (self.to_scalars(&extents)?, self.to_dtype(&dtype)?);
        let scope = scope.map_or(Ok("global".into()), |arg| self.to_str(&arg))?;
        let annotations = annotations.map_or(Ok(Attrs::new()), |arg| self.to_attrs(&arg))?;
        let buffer = Buffer::scoped(self.name_for("buffer"), shape, dtype, scope);
        self.emit(StmtKind::Alloc(buffer.clone(), annotations), span);
        Ok(Value::Scalar(buffer.data.expr()))
    }

    /// A region of a buffer: a slice, an element, or the whole buffer.
    pub(super) fn to_region(&mut self, arg: &Arg) -> Read<Region> {
        match &arg.value {
            Value::Buffer(buffer) => Ok(Region::full(buffer)),
            Value::Slice(buffer, indices) => {
                let ranges = indices.iter().map(|index| match index {
                    Index::At(i) => Ok((i.clone(), PrimExpr::int(1, i.dtype()))),
                    Index::Range(begin, end, _) => {
                        let extent = self.difference(end.clone(), begin, arg.span)?;
                        Ok((begin.clone(), Analyzer::new().simplify(&extent)))
                    }
                });
                Ok(Region { buffer: buffer.clone(), ranges: ranges.collect::<Read<_>>()? })
            }
            Value::Scalar(e) => match e.kind() {
                PrimKind::Load(buffer, indices, _) => Ok(Region::point(buffer, indices.iter().cloned())),
                _ => Err(self.expected(arg, "a region of a buffer")),
            },
            _ => Err(self.expected(arg, "a region of a buffer")),
        }
    }
}

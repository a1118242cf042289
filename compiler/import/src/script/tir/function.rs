//! Headers and bodies of TIR functions.

use super::{Tir, TirEval, scope::BlockParts};
use crate::script::{
    args::Arg,
    context::{Context, Read},
    decoration::TirFlags,
    dtypes,
    eval::Eval,
    path::Space,
    scope::Scope,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    DType, Name, PrimExpr,
    prim::{self, PrimType},
    tir::{Block, Buffer, Param, PrimFunc, Stmt, StmtKind, regions},
};
use hammock_syntax::ast::{self, Expr, ExprKind};
use rustc_hash::FxHashMap;

/// A function's header, with the state that its body needs.
pub(crate) struct Header {
    state: Tir,
    scope: Scope,
    symbols: FxHashMap<Name, prim::Var>,
    span: Span,
}

/// Reads a function's header.
pub(crate) fn header(cx: &mut Context, def: &ast::FunctionDef, flags: TirFlags) -> Read<Header> {
    let old = uses_old_blocks(&def.body);
    let state =
        Tir { header: true, s_tir: flags.s_tir || old, old, blocks: vec![BlockParts::default()], ..Tir::default() };
    let mut ev = Eval::new(cx, state);
    ev.type_params(&def.type_params)?;
    ev.declare_scalars(&def.params);
    def.params.iter().for_each(|param| ev.param(param));
    if let Some(returns) = def.returns.as_ref().filter(|e| !matches!(e.kind, ExprKind::None)) {
        let ty = ev.arg(returns);
        ev.dialect.ret_ty = ev.to_prim_type(&ty).ok();
    }
    if !flags.private {
        ev.dialect.attrs.set("global_symbol", Name::from(def.name.name.clone()));
    }
    let Eval { scope, symbols, dialect, .. } = ev;
    Ok(Header { state: dialect, scope, symbols, span: def.name.span })
}

impl Header {
    /// The function's declaration, before its body is read.
    pub fn signature(&self) -> PrimFunc {
        PrimFunc {
            params: self.state.params.clone(),
            ret_ty: self.state.ret_ty.clone(),
            body: Stmt::nop(),
            attrs: self.state.attrs.clone(),
            s_tir: self.state.s_tir,
            span: self.span,
        }
    }
}

/// Reads a function's body.
pub(crate) fn body(cx: &mut Context, header: Header, def: &ast::FunctionDef) -> PrimFunc {
    let mut ev = Eval {
        cx,
        scope: header.scope,
        symbols: header.symbols,
        define_missing: None,
        in_type: false,
        dialect: header.state,
    };
    ev.dialect.header = false;
    ev.scope.push();
    ev.dialect.blocks[0].depth = ev.scope.depth();
    ev.statements(&def.body);
    let body = ev.close_scope();
    let mut state = ev.dialect;
    let root = state.blocks.swap_remove(0);
    let body = with_root(root, body, header.span);
    let s_tir = state.s_tir || contains_block(&body);
    let mut func =
        PrimFunc { params: state.params, ret_ty: state.ret_ty, body, attrs: state.attrs, s_tir, span: header.span };
    regions::fill(&mut func);
    func.with_data_marked().unwrap_or(func)
}

/// The body in a root block, if it needs one: if the function allocates buffers, or contains blocks and is not itself a
/// block without axes.
fn with_root(root: BlockParts, body: Stmt, span: Span) -> Stmt {
    let needed = match &body.kind {
        _ if !root.alloc_buffers.is_empty() || !root.annotations.is_empty() => true,
        StmtKind::Block(block) => !block.axes.is_empty(),
        _ => contains_block(&body),
    };
    if !needed {
        return body;
    }
    let block = Block { annotations: root.annotations, ..Block::root(root.alloc_buffers, body) };
    Stmt::from(block).at(span)
}

fn contains_block(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= matches!(s.kind, StmtKind::Block(_)));
    found
}

/// Returns true if the text is from before blocks were named `T.sblock`.
fn uses_old_blocks(body: &[ast::Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        ast::StmtKind::With(with) => with.items.iter().any(|(e, _)| is_old_block(e)) || uses_old_blocks(&with.body),
        ast::StmtKind::For(each) => uses_old_blocks(&each.body),
        ast::StmtKind::While(repeat) => uses_old_blocks(&repeat.body),
        ast::StmtKind::If(choice) => uses_old_blocks(&choice.then) || uses_old_blocks(&choice.orelse),
        _ => false,
    })
}

fn is_old_block(item: &Expr) -> bool {
    let ExprKind::Call(call) = &item.kind else { return false };
    matches!(&call.func.kind, ExprKind::Attribute(a) if a.name.as_str() == "block")
}

impl TirEval<'_, '_> {
    /// Scalar parameters may be used in the shapes of parameters before them.
    fn declare_scalars(&mut self, params: &[ast::Param]) {
        for param in params {
            let path = param.annotation.as_ref().and_then(|a| self.path_of(a)).filter(|p| p.space == Space::Tir);
            if let Some(dtype) = path.and_then(|path| dtypes::of_name(&path.name)) {
                let name = Name::from(param.name.name.clone());
                self.symbols.insert(name.clone(), prim::Var::new(name, dtype));
            }
        }
    }

    /// Reads a parameter. An erroneous one is `Broken`, and any argument is accepted for it.
    fn param(&mut self, param: &ast::Param) {
        let name = Name::from(param.name.name.clone());
        if self.typed_param(param, &name).is_err() {
            self.scope.define(name.clone(), Value::Broken);
            self.dialect.params.push(Param::scalar(prim::Var::new(name, DType::HANDLE)));
        }
    }

    fn typed_param(&mut self, param: &ast::Param, name: &Name) -> Read<()> {
        let Some(annotation) = &param.annotation else {
            let message = format!("the parameter `{name}` needs a type");
            let help = "such as `T.Buffer((16,), \"float32\")` or `T.int64`";
            return Err(self.cx.error(codes::BAD_FUNCTION, param.name.span, message, help));
        };
        self.dialect.hints = vec![name.clone()];
        let ty = self.type_arg(annotation);
        self.dialect.hints.clear();
        let (param, value) = match ty {
            Arg { value: Value::Buffer(buffer), span } => {
                self.check_sizes_determined(&buffer, self.dialect.params.len(), span)?;
                (Param::buffer(buffer.clone()), Value::Buffer(buffer))
            }
            ty => {
                if matches!(ty.value, Value::Type(_)) {
                    let message = "a kernel takes buffers, handles and scalars";
                    let label = "write `T.Buffer((16,), \"float32\")`, `T.handle` or `T.int64`";
                    return Err(self.cx.error(codes::BAD_FUNCTION, ty.span, message, label));
                }
                let ty = self.to_prim_type(&ty)?;
                let var = self.scalar_param(name, ty);
                (Param::scalar(var.clone()), Value::Scalar(var.expr()))
            }
        };
        self.dialect.params.push(param);
        self.scope.define(name.clone(), value);
        Ok(())
    }

    /// The variable of a scalar parameter: that of earlier shapes, if any.
    fn scalar_param(&mut self, name: &Name, ty: PrimType) -> prim::Var {
        match self.symbols.get(name) {
            Some(var) if *var.ty() == ty => var.clone(),
            _ => prim::Var::new(name.clone(), ty),
        }
    }

    /// Checks that a call's arguments determine the sizes of a parameter's buffer.
    pub(super) fn check_sizes_determined(&mut self, buffer: &Buffer, number: usize, span: Span) -> Read<()> {
        let (params, symbols) = (&self.dialect.params, &self.symbols);
        // An offset without a name in the text is the buffer's own.
        let own = buffer.elem_offset.as_ref().and_then(PrimExpr::as_var);
        let symbol = |var: &prim::Var| symbols.get(var.name()) == Some(var) || own == Some(var);
        let size = buffer.undetermined_size(
            |var| symbol(var) || params.iter().any(|p| p.var == *var),
            |from| params[..number].iter().any(|p| p.buffer.as_ref() == Some(from)),
        );
        let Some(size) = size else { return Ok(()) };
        let message = format!("a call does not tell the size `{size}` of parameter `{}`", buffer.name);
        let diagnostic = Diagnostic::error(codes::KERNEL_STRUCTURE, message).label(span, "");
        Err(self.cx.report(diagnostic.help(
            "sizes of parameters are made of numbers, symbolic variables, scalar parameters and elements of parameters \
             to the left",
        )))
    }
}

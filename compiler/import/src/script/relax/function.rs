//! Headers and bodies of functions, nested ones included.

use super::{Relax, RelaxEval};
use crate::script::{
    args::Arg,
    context::{Context, Read},
    decoration::{Decoration, RelaxFlags, decoration, plain_params},
    dtypes,
    eval::Eval,
    path::Space,
    scope::{ClosedScope, Scope},
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    CallableType, DType, Name, Type, prim,
    relax::{Binding, Body, Function, Lambda, Operand, Value as IrValue, Var},
};
use hammock_syntax::ast::{self, Expr, ExprKind};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A function's header, with the state that its body needs.
pub(crate) struct Header {
    state: Relax,
    scope: Scope,
    symbols: FxHashMap<Name, prim::Var>,
    signature: Signature,
    flags: RelaxFlags,
    span: Span,
}

/// Parameters, and the result type if declared.
#[derive(Clone)]
struct Signature {
    params: Vec<Var>,
    ret: Option<Type>,
}

/// Reads a function's header.
pub(crate) fn header(cx: &mut Context, def: &ast::FunctionDef, flags: RelaxFlags) -> Read<Header> {
    let mut ev = Eval::new(cx, Relax::new());
    let signature = ev.signature(def)?;
    if !flags.private {
        ev.dialect.attrs.set("global_symbol", Name::from(def.name.name.clone()));
    }
    let Eval { scope, symbols, dialect, .. } = ev;
    Ok(Header { state: dialect, scope, symbols, signature, flags, span: def.name.span })
}

impl Header {
    /// The function's declaration, before its body is read.
    pub fn signature(&self) -> Function {
        let lambda = Lambda {
            params: self.signature.params.clone(),
            ret_ty: self.signature.ret.clone().unwrap_or(Type::Any),
            pure: self.flags.pure,
            attrs: self.state.attrs.clone(),
            body: Body::of(Operand::Tuple(Vec::new())),
            span: self.span,
        };
        Function { vars: self.state.function.vars.clone(), lambda }
    }
}

/// Reads a function's body.
pub(crate) fn body(cx: &mut Context, header: Header, def: &ast::FunctionDef) -> Read<Function> {
    let Header { state, scope, symbols, signature, flags, span } = header;
    let mut ev = Eval { cx, scope, symbols, define_missing: None, in_type: false, dialect: state };
    let lambda = ev.lambda(def, signature, flags, span)?;
    Ok(Function { vars: ev.dialect.function.vars, lambda })
}

impl RelaxEval<'_, '_> {
    /// Reads type parameters, parameters and the result's type, and defines the names.
    fn signature(&mut self, def: &ast::FunctionDef) -> Read<Signature> {
        self.type_params(&def.type_params)?;
        self.declare_prelude(&def.body);
        self.declare_scalars(&def.params);
        let params = def.params.iter().map(|param| self.param(param)).collect();
        let ret = def.returns.as_ref().map(|e| self.type_expr(e).unwrap_or(Type::Error));
        Ok(Signature { params, ret })
    }

    /// `n = T.int64()` at the start of a body, by which older texts declare the dimensions of signatures.
    fn declare_prelude(&mut self, body: &[ast::Stmt]) {
        for stmt in body {
            let ast::StmtKind::Assign(assign) = &stmt.kind else { continue };
            let [Expr { kind: ExprKind::Name(name), .. }] = assign.targets.as_slice() else { continue };
            if let Some(dtype) = self.symbol_declaration(&assign.value) {
                self.symbol(name, dtype);
            }
        }
    }

    /// The dtype in `T.int64()`, if an expression declares a symbolic variable by it, or by `TypeVar("n")`, as nested
    /// functions do.
    pub(super) fn symbol_declaration(&self, value: &Expr) -> Option<DType> {
        let (path, call) = self.callee_of(value)?;
        if path.space == Space::Python && &*path.name == "TypeVar" {
            return Some(DType::INT64);
        }
        let declares = path.space == Space::Tir && call.args.is_empty();
        if declares { dtypes::of_name(&path.name) } else { None }
    }

    /// Scalar parameters may be used in the shapes of parameters before them.
    fn declare_scalars(&mut self, params: &[ast::Param]) {
        for param in params {
            let path = param.annotation.as_ref().and_then(|a| self.path_of(a)).filter(|p| p.space == Space::Tir);
            if let Some(dtype) = path.and_then(|path| dtypes::of_name(&path.name)) {
                self.symbol(&param.name.name, dtype);
            }
        }
    }

    fn param(&mut self, param: &ast::Param) -> Var {
        let name = Name::from(param.name.name.clone());
        let Ok((ty, annotation)) = self.param_type(param, &name) else {
            self.scope.define(name.clone(), Value::Broken);
            return self.dialect.function.new_var(name, Type::Error, false, param.name.span);
        };
        let var = self.dialect.function.new_var(name.clone(), ty.clone(), false, param.name.span);
        if let Type::Prim(dtype) = ty {
            // The dimension of that name, or of the name in `R.Prim(value="n")`, is the parameter.
            let named = self.symbols.get(&name).filter(|v| v.dtype() == dtype).cloned();
            let valued = match &annotation.value {
                Value::Scalar(e) => e.as_var().cloned(),
                _ => None,
            };
            if let Some(scalar) = valued.or(named) {
                self.dialect.function.vars[var].scalar = Some(scalar);
            }
        }
        self.scope.define(name, Value::Operand(Operand::Var(var)));
        var
    }

    /// The type of a parameter, and its annotation.
    fn param_type(&mut self, param: &ast::Param, name: &Name) -> Read<(Type, Arg)> {
        let Some(annotation) = &param.annotation else {
            let message = format!("the parameter `{name}` needs a type");
            let help = match &**name {
                "self" => "functions of a module take no `self`",
                _ => "such as `R.Tensor((n, 4), dtype=\"float32\")`",
            };
            return Err(self.cx.error(codes::BAD_FUNCTION, param.name.span, message, help));
        };
        let annotation = self.type_arg(annotation);
        Ok((self.to_type(&annotation)?, annotation))
    }

    /// A type annotation.
    pub(super) fn type_expr(&mut self, e: &Expr) -> Read<Type> {
        let arg = self.type_arg(e);
        self.to_type(&arg)
    }

    /// Returns true if an insufficiently indented `return` follows the function, which was reported.
    fn is_followed_by_return(&self, def: &ast::FunctionDef) -> bool {
        let end = def.body.last().map_or(def.name.span, |stmt| stmt.span).end;
        let between = |stray: Span| self.cx.source.text().get(end as usize..stray.start as usize);
        self.cx.report_stray_return.and_then(between).is_some_and(|text| text.trim().is_empty())
    }

    /// Reads the body of a function whose signature is read.
    fn lambda(&mut self, def: &ast::FunctionDef, signature: Signature, flags: RelaxFlags, span: Span) -> Read<Lambda> {
        let errors = self.cx.diagnostics.len();
        self.scope.push();
        self.statements(&def.body);
        self.scope.pop(ClosedScope::Function);
        let result = match self.dialect.result.take() {
            Some(result) => result,
            None => {
                if self.cx.diagnostics.len() == errors && !returns(&def.body) && !self.is_followed_by_return(def) {
                    let message = format!("the function `{}` returns nothing", def.name.name);
                    self.cx.error(codes::BAD_FUNCTION, def.name.span, message, "it needs a `return`");
                }
                Operand::Var(self.erroneous(span)?)
            }
        };
        let mut filled = IrValue::Operand(result.clone());
        self.replace_placeholders(&mut filled, signature.ret.as_ref())?;
        self.report_unbound_constants(errors)?;
        let result = if let IrValue::Operand(filled) = filled { filled } else { result };
        let ret_ty = match signature.ret {
            Some(ty) => ty,
            None => self.result_type(&result, &signature.params),
        };
        let attrs = std::mem::take(&mut self.dialect.attrs);
        let body = Body { blocks: std::mem::take(&mut self.dialect.blocks), result };
        Ok(Lambda { params: signature.params, ret_ty, pure: flags.pure, attrs, body, span })
    }

    /// The type of a result for callers, to whom dimensions that no parameter defines are unknown.
    fn result_type(&self, result: &Operand, params: &[Var]) -> Type {
        self.type_of(result).closed(&self.dialect.function.sizes_of(params))
    }

    /// `@R.function` inside a body: a closure bound to its name, which may be recursive.
    pub(super) fn nested(&mut self, def: &ast::FunctionDef, span: Span) -> Read<()> {
        plain_params(self.cx, def)?;
        let Decoration::Relax(flags) = decoration(self.cx, def)? else {
            let message = "a TIR function cannot be nested in a Relax function";
            return Err(self.cx.error(codes::BAD_FUNCTION, def.name.span, message, "move it to the module"));
        };
        let outer_symbols = self.symbols.clone();
        self.scope.push();
        let outer = self.enter();
        let read = self.nested_lambda(def, flags, &outer);
        self.leave(outer);
        self.scope.pop(ClosedScope::Function);
        self.symbols = outer_symbols;
        let (var, lambda) = read?;
        let ty = self.dialect.function.lambda_ty(&lambda);
        self.dialect.function.vars[var].ty = Type::Callable(Arc::new(ty));
        self.push(Binding { var, value: IrValue::Function(Box::new(lambda)), span });
        self.scope.define(def.name.name.clone(), Value::Operand(Operand::Var(var)));
        Ok(())
    }

    fn nested_lambda(&mut self, def: &ast::FunctionDef, flags: RelaxFlags, outer: &Outer) -> Read<(Var, Lambda)> {
        let signature = self.signature(def)?;
        let params = signature.params.iter().map(|p| self.dialect.function.ty(*p).clone()).collect();
        let ret = signature.ret.clone().unwrap_or(Type::Any);
        let ty = Type::Callable(Arc::new(CallableType { params: Some(params), ret, pure: flags.pure, derive: None }));
        let span = def.name.span;
        let var = self.dialect.function.new_var(&*def.name.name, ty, outer.dataflow, span);
        if def.params.iter().all(|p| p.name.name != def.name.name) {
            self.scope.define(def.name.name.clone(), Value::Operand(Operand::Var(var)));
        }
        let lambda = self.lambda(def, signature, flags, span)?;
        Ok((var, lambda))
    }

    /// Saves the state of the outer function while a nested one is read.
    fn enter(&mut self) -> Outer {
        Outer {
            blocks: std::mem::take(&mut self.dialect.blocks),
            dataflow: std::mem::take(&mut self.dialect.dataflow),
            outputs: std::mem::take(&mut self.dialect.outputs),
            branch: std::mem::take(&mut self.dialect.branch),
            result: self.dialect.result.take(),
            attrs: std::mem::take(&mut self.dialect.attrs),
        }
    }

    fn leave(&mut self, outer: Outer) {
        self.dialect.blocks = outer.blocks;
        self.dialect.dataflow = outer.dataflow;
        self.dialect.outputs = outer.outputs;
        self.dialect.branch = outer.branch;
        self.dialect.result = outer.result;
        self.dialect.attrs = outer.attrs;
    }
}

/// Saved state of the outer function of a nested one.
struct Outer {
    blocks: Vec<hammock_ir::relax::Block>,
    dataflow: bool,
    outputs: Vec<Var>,
    branch: bool,
    result: Option<Operand>,
    attrs: hammock_ir::Attrs,
}

/// Returns true if a body ends with `return`, so that there is a result or a reported error.
fn returns(body: &[ast::Stmt]) -> bool {
    body.iter().any(|stmt| matches!(stmt.kind, ast::StmtKind::Return(_)))
}

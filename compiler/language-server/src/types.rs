//! Types of variables and expressions, from the importer's module.

use crate::names::{Definition, Function, Names, SymbolId, SymbolKind};
use hammock_diagnostics::Span;
use hammock_ir::{
    Module, Type,
    module::Function as IrFunction,
    prim::{PrimType, Var},
    print::{expr_text, type_text, type_text_in},
    relax,
    tir::{AttrNode, Buffer, PrimFunc, Stmt, StmtKind},
};

/// Types of the module of a text.
pub struct Types<'m> {
    module: &'m Module,
    names: &'m Names,
}

impl<'m> Types<'m> {
    /// The types of a module that was read from the text with these names.
    pub fn new(module: &'m Module, names: &'m Names) -> Self {
        Types { module, names }
    }

    /// The type of a symbol at one of its definitions.
    pub fn of_symbol(&self, id: SymbolId, definition: Option<Definition>) -> Option<String> {
        let symbol = self.names.symbol(id);
        if symbol.kind == SymbolKind::Size {
            return Some("T.int64".to_owned());
        }
        let function = &self.names.functions[symbol.function?];
        let definition = definition.or_else(|| symbol.definitions.first().copied())?;
        match self.module.functions.get(&*function.name)? {
            IrFunction::Relax(graph) => of_graph_variable(graph, &symbol.name, definition),
            IrFunction::Tir(kernel) => of_kernel_variable(kernel, &symbol.name, definition),
            IrFunction::Extern(_) => None,
        }
    }

    /// The type of an expression of a graph that has a variable of its own, such as a nested call.
    pub fn of_expression(&self, function: &Function, span: Span) -> Option<String> {
        let graph = self.module.relax(&function.name)?;
        let info = graph.vars.values().find(|info| info.span == span)?;
        shown(&info.ty, graph)
    }

    /// The header of a function of the module.
    pub fn signature(&self, name: &str) -> Option<String> {
        let (params, ret) = match self.module.functions.get(name)? {
            IrFunction::Relax(graph) => {
                let param = |var: &relax::Var| {
                    let info = &graph.vars[*var];
                    format!("{}: {}", info.name, type_text_in(&info.ty, graph))
                };
                let lambda = &graph.lambda;
                (lambda.params.iter().map(param).collect(), Some(type_text_in(&lambda.ret_ty, graph)))
            }
            IrFunction::Tir(kernel) => {
                let param = |param: &hammock_ir::tir::Param| match &param.buffer {
                    Some(buffer) => format!("{}: {}", buffer.name, buffer_type(buffer)),
                    None => format!("{}: {}", param.var.name(), scalar_type(param.var.ty())),
                };
                (kernel.params.iter().map(param).collect(), kernel.ret_ty.as_ref().map(scalar_type))
            }
            IrFunction::Extern(function) => {
                let ty = function.ty.as_ref().map_or(String::new(), |ty| format!(", {}", type_text(ty)));
                return Some(format!("{name} = R.ExternFunc(\"{}\"{ty})", function.symbol));
            }
        };
        Some(header(name, params, ret))
    }
}

/// A header on one line, or with a line for each parameter.
fn header(name: &str, params: Vec<String>, ret: Option<String>) -> String {
    let ret = ret.map_or(String::new(), |ret| format!(" -> {ret}"));
    let line = format!("def {name}({}){ret}", params.join(", "));
    if line.len() <= 100 {
        return line;
    }
    let lines: String = params.iter().map(|param| format!("    {param},\n")).collect();
    format!("def {name}(\n{lines}){ret}")
}

fn shown(ty: &Type, graph: &relax::Function) -> Option<String> {
    (!ty.is_erroneous()).then(|| type_text_in(ty, graph))
}

/// The variable of a graph that a definition binds. That of a branch has a suffix.
fn of_graph_variable(graph: &relax::Function, name: &str, definition: Definition) -> Option<String> {
    let is_it = |info: &&relax::VarInfo| {
        let suffix = info.name.strip_prefix(name);
        info.span.start == definition.statement.start && matches!(suffix, Some("" | "_then" | "_else"))
    };
    let info = graph.vars.values().find(is_it)?;
    shown(&info.ty, graph)
}

/// The innermost variable or buffer of that name around a definition, or the parameter.
fn of_kernel_variable(kernel: &PrimFunc, name: &str, definition: Definition) -> Option<String> {
    let mut best: Option<(u32, String)> = None;
    let at = definition.name.start;
    kernel.body.walk(&mut |stmt: &Stmt| {
        let contains = stmt.span.is_none() || (stmt.span.start..stmt.span.end.max(1)).contains(&at);
        let size = if stmt.span.is_none() || !contains { u32::MAX } else { stmt.span.len() };
        if best.as_ref().is_some_and(|(known, _)| *known <= size) {
            return;
        }
        best = declared(stmt, name).map(|ty| (size, ty)).or(best.take());
    });
    let param = || {
        kernel.params.iter().find_map(|param| match &param.buffer {
            Some(buffer) if *buffer.name == *name => Some(buffer_type(buffer)),
            _ if **param.var.name() == *name => Some(scalar_type(param.var.ty())),
            _ => None,
        })
    };
    best.map(|(_, ty)| ty).or_else(param)
}

/// The type of the variable or buffer of that name that a statement declares.
fn declared(stmt: &Stmt, name: &str) -> Option<String> {
    let scalar = |var: &Var| (**var.name() == *name).then(|| scalar_type(var.ty()));
    let memory = |buffer: &Buffer| (*buffer.name == *name).then(|| buffer_type(buffer));
    match &stmt.kind {
        StmtKind::For(each) => scalar(&each.var),
        StmtKind::Bind(var, _) => scalar(var),
        StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => memory(buffer),
        StmtKind::Attr { node: AttrNode::Thread(axis), .. } => scalar(&axis.var),
        StmtKind::Block(block) => {
            let axes = block.axes.iter().find_map(|axis| scalar(&axis.var));
            let matched = block.match_buffers.iter().map(|matched| &matched.buffer);
            axes.or_else(|| block.alloc_buffers.iter().chain(matched).find_map(memory))
        }
        _ => None,
    }
}

fn buffer_type(buffer: &Buffer) -> String {
    let dims: Vec<String> = buffer.shape.iter().map(expr_text).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let scope = if *buffer.scope == *"global" { String::new() } else { format!(", scope=\"{}\"", buffer.scope) };
    if buffer.is_local_scalar() {
        return format!("T.{}", buffer.dtype);
    }
    format!("T.Buffer(({}{comma}), \"{}\"{scope})", dims.join(", "), buffer.dtype)
}

fn scalar_type(ty: &PrimType) -> String {
    match ty {
        PrimType::Scalar(dtype) => format!("T.{dtype}"),
        PrimType::Pointer(Some(dtype), scope) => format!("T.handle(\"{dtype}\", \"{scope}\")"),
        PrimType::Pointer(None, _) => "T.handle".to_owned(),
    }
}

//! Walks a file: imports, sizes, classes and the headers of functions.

use super::{Definition, Function, Names, Occurrence, Role, Symbol, SymbolId, SymbolKind, quoted_name};
use hammock_diagnostics::{SourceFile, Span};
use hammock_syntax::ast::{self, Expr, ExprKind, Ident, Stmt, StmtKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Resolves the names of a tree.
pub fn resolve(source: &SourceFile, tree: &ast::Module) -> Names {
    let mut resolver = Resolver::new(source);
    tree.body.iter().for_each(|stmt| resolver.file_statement(stmt));
    let mut names = resolver.names;
    names.occurrences.sort_by_key(|occurrence| (occurrence.span.start, occurrence.span.end));
    names.occurrences.dedup_by_key(|occurrence| occurrence.span);
    names
}

/// Names of one scope.
#[derive(Default)]
pub(super) struct Frame {
    pub names: FxHashMap<ast::Name, SymbolId>,
    /// True for the outermost scope of a function: assignments inside it do not refer to names outside it.
    pub is_function: bool,
}

/// The walk's state.
pub(super) struct Resolver<'t> {
    pub source: &'t SourceFile,
    pub names: Names,
    /// Scopes, innermost last.
    pub frames: Vec<Frame>,
    /// The functions of each class, by name.
    members: FxHashMap<(usize, ast::Name), SymbolId>,
    /// The outermost function being walked, and whether it is a kernel.
    pub function: Option<usize>,
    pub is_kernel: bool,
    /// The definitions that a use of each symbol refers to here.
    pub current: FxHashMap<SymbolId, SmallVec<[Definition; 1]>>,
    /// Replaced entries of `current`, so that a branch can be undone.
    pub replaced: Vec<(SymbolId, Option<SmallVec<[Definition; 1]>>)>,
}

impl<'t> Resolver<'t> {
    fn new(source: &'t SourceFile) -> Self {
        Resolver {
            source,
            names: Names::default(),
            frames: vec![Frame::default()],
            members: FxHashMap::default(),
            function: None,
            is_kernel: false,
            current: FxHashMap::default(),
            replaced: Vec::new(),
        }
    }

    /// The visible symbol of a name.
    pub fn lookup(&self, name: &str) -> Option<SymbolId> {
        self.frames.iter().rev().find_map(|frame| frame.names.get(name)).copied()
    }

    /// The visible symbol of a name in the innermost function.
    pub fn lookup_local(&self, name: &str) -> Option<SymbolId> {
        let outermost = self.frames.iter().rposition(|frame| frame.is_function).unwrap_or(0);
        self.frames[outermost..].iter().rev().find_map(|frame| frame.names.get(name)).copied()
    }

    /// A new symbol in the innermost scope.
    pub fn declare(&mut self, name: &ast::Name, kind: SymbolKind) -> SymbolId {
        let id = self.new_symbol(name, kind, self.function);
        if let Some(frame) = self.frames.last_mut() {
            frame.names.insert(name.clone(), id);
        }
        id
    }

    fn new_symbol(&mut self, name: &ast::Name, kind: SymbolKind, function: Option<usize>) -> SymbolId {
        let id = SymbolId(self.names.symbols.len() as u32);
        self.names.symbols.push(Symbol {
            name: name.clone(),
            kind,
            function,
            is_member: false,
            definitions: Vec::new(),
        });
        id
    }

    /// Records a definition.
    pub fn define(&mut self, id: SymbolId, name: Span, statement: Span) {
        let definition = Definition { name, statement };
        self.names.symbols[id.0 as usize].definitions.push(definition);
        let before = self.current.insert(id, SmallVec::from_elem(definition, 1));
        self.replaced.push((id, before));
        self.occur(id, name, Role::Definition);
    }

    /// Records an occurrence.
    pub fn occur(&mut self, symbol: SymbolId, span: Span, role: Role) {
        let reaching = match role {
            Role::Use => self.current.get(&symbol).cloned().unwrap_or_default(),
            _ => SmallVec::new(),
        };
        self.names.occurrences.push(Occurrence { span, symbol, role, reaching });
    }

    fn file_statement(&mut self, stmt: &'t Stmt) {
        match &stmt.kind {
            StmtKind::Import(imports) => imports.iter().for_each(|import| self.import("", import, stmt.span)),
            StmtKind::FromImport(from) => {
                let prefix = format!("{}.", from.path);
                from.names.iter().for_each(|import| self.import(&prefix, import, stmt.span));
            }
            StmtKind::ClassDef(class) => self.class(class, stmt.span),
            StmtKind::FunctionDef(def) => {
                let id = self.declare(&def.name.name, SymbolKind::Function);
                self.define(id, def.name.span, def.name.span);
                self.global_function(def, stmt.span);
            }
            StmtKind::Assign(assign) => self.file_assignment(assign, stmt.span),
            _ => stmt.each_expr(&mut |expr| self.expr(expr)),
        }
    }

    /// `a.b as c`, after a prefix of `from`.
    fn import(&mut self, prefix: &str, import: &ast::Import, statement: Span) {
        let imported = format!("{prefix}{}", import.path);
        let last = |span: Span, name: &str| Span::new(span.end - name.len() as u32, span.end);
        let (ident, path) = match &import.alias {
            Some(alias) => (alias.clone(), imported),
            None if prefix.is_empty() => {
                let root = import.path.split('.').next().unwrap_or_default();
                let span = Span::new(import.span.start, import.span.start + root.len() as u32);
                (Ident { name: root.into(), span }, root.to_owned())
            }
            None => (Ident { name: import.path.clone(), span: last(import.span, &import.path) }, imported),
        };
        if &*ident.name != "*" && self.source.slice(ident.span) == &*ident.name {
            let id = self.declare(&ident.name, SymbolKind::Import(path));
            self.define(id, ident.span, statement);
        }
    }

    fn file_assignment(&mut self, assign: &'t ast::Assign, statement: Span) {
        self.expr(&assign.value);
        for target in &assign.targets {
            let ExprKind::Name(name) = &target.kind else { continue };
            let kind = if self.is_type_var(&assign.value) { SymbolKind::Size } else { SymbolKind::Variable };
            let is_size = kind == SymbolKind::Size;
            let id = self.lookup_local(name).unwrap_or_else(|| self.declare(name, kind));
            self.define(id, target.span, statement);
            if is_size {
                self.type_var_name(id, &assign.value);
            }
        }
    }

    /// Returns true for `TypeVar("n")`.
    pub fn is_type_var(&self, value: &Expr) -> bool {
        let ExprKind::Call(call) = &value.kind else { return false };
        match &call.func.kind {
            ExprKind::Name(name) => &**name == "TypeVar",
            ExprKind::Attribute(attribute) => attribute.name.as_str() == "TypeVar",
            _ => false,
        }
    }

    /// The name in `TypeVar("n")`.
    pub fn type_var_name(&mut self, id: SymbolId, value: &Expr) {
        if let ExprKind::Call(call) = &value.kind
            && let Some(ast::Arg { value: Expr { kind: ExprKind::Str(text), span, .. }, .. }) = call.args.first()
            && *text == self.names.symbol(id).name
        {
            match quoted_name(self.source, *span, text) {
                Some(inner) => self.occur(id, inner, Role::Use),
                None => self.names.inexact.push(*span),
            }
        }
    }

    fn class(&mut self, class: &'t ast::ClassDef, statement: Span) {
        let index = self.names.members.len();
        self.names.members.push(Vec::new());
        class.decorators.iter().chain(class.args.iter().map(|arg| &arg.value)).for_each(|expr| self.expr(expr));
        let id = self.declare(&class.name.name, SymbolKind::Module(index));
        self.define(id, class.name.span, statement);
        // All functions first: bodies refer to later ones.
        class.body.iter().for_each(|stmt| self.member(index, stmt));
        for stmt in &class.body {
            match &stmt.kind {
                StmtKind::FunctionDef(def) => self.global_function(def, stmt.span),
                StmtKind::Assign(assign) => self.expr(&assign.value),
                _ => stmt.each_expr(&mut |expr| self.expr(expr)),
            }
        }
    }

    /// Declares a function of a module: `def f…` or `f = R.ExternFunc("symbol")`.
    fn member(&mut self, class: usize, stmt: &'t Stmt) {
        let (ident, statement) = match &stmt.kind {
            StmtKind::FunctionDef(def) => (def.name.clone(), def.name.span),
            StmtKind::Assign(assign) => match assign.targets.as_slice() {
                [Expr { kind: ExprKind::Name(name), span, .. }] => {
                    (Ident { name: name.clone(), span: *span }, stmt.span)
                }
                _ => return,
            },
            _ => return,
        };
        let id = self.new_symbol(&ident.name, SymbolKind::Function, None);
        self.names.members[class].push(id);
        self.names.symbols[id.0 as usize].is_member = true;
        self.members.entry((class, ident.name.clone())).or_insert(id);
        self.define(id, ident.span, statement);
    }

    /// The function of a class that has a name.
    pub fn member_of(&self, class: usize, name: &ast::Name) -> Option<SymbolId> {
        self.members.get(&(class, name.clone())).copied()
    }

    fn global_function(&mut self, def: &'t ast::FunctionDef, statement: Span) {
        let start = def.decorators.first().map_or(statement.start, |first| first.span.start.min(statement.start));
        let span = Span::new(start, statement.end.max(def.name.span.end));
        self.function = Some(self.names.functions.len());
        self.is_kernel = def.decorators.iter().any(|decorator| self.is_kernel_decorator(decorator));
        self.names.functions.push(Function { name: def.name.name.clone(), span });
        self.walk_function(def);
        self.function = None;
        self.replaced.clear();
    }

    fn is_kernel_decorator(&self, decorator: &Expr) -> bool {
        self.source.slice(decorator.span).contains("prim_func")
    }
}

//! Pattern files: assignments, and the list of patterns.

use super::{
    error::{Read, wrong},
    reader::Reader,
};
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};
use hammock_ir::relax::pattern::{NamedPattern, NodeId, Pattern};
use hammock_syntax::ast::{Assign, Expr, ExprKind, Module, Stmt, StmtKind};
use std::sync::Arc;

/// The name of the list of patterns.
const LIST: &str = "patterns";

/// Reads a file.
///
/// # Errors
/// The first error in each of its statements.
pub fn read(source: &SourceFile, tree: &Module) -> Result<Vec<NamedPattern>, Vec<Diagnostic>> {
    let (mut reader, mut named, mut errors) = (Reader::default(), None, Vec::new());
    for statement in &tree.body {
        let read = match &statement.kind {
            StmtKind::Assign(assign) => reader.assign(assign, &mut named),
            StmtKind::Import(_) | StmtKind::FromImport(_) | StmtKind::Pass => Ok(()),
            _ => Err(other_statement(statement)),
        };
        errors.extend(read.err());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let Some(named) = named else {
        let message = format!("`{}` has no list of patterns", source.name());
        return Err(vec![Diagnostic::error(codes::BAD_PATTERN, message).help(LIST_HELP)]);
    };
    let nodes = Arc::new(reader.nodes);
    let pattern = |root| Pattern { nodes: nodes.clone(), root };
    Ok(named.into_iter().map(|(name, root)| NamedPattern { name, pattern: pattern(root) }).collect())
}

/// Reads an expression.
///
/// # Errors
/// The first error in it.
pub fn expression(source: &SourceFile, tree: &Module) -> Read<Pattern> {
    let mut reader = Reader::default();
    let [Stmt { kind: StmtKind::Expr(e), .. }] = tree.body.as_slice() else {
        let whole = Span::new(0, source.text().len() as u32);
        return Err(wrong(whole, "expected one pattern").help("write `R.nn.relu(_)`; more goes into a file"));
    };
    let root = reader.whole(e)?;
    Ok(Pattern { nodes: Arc::new(reader.nodes), root })
}

const LIST_HELP: &str = "end the file with `patterns = [(\"backend.name\", pattern), …]`";

fn other_statement(statement: &Stmt) -> Diagnostic {
    wrong(statement.span, "a pattern file contains only assignments")
        .help("write `name = pattern` for parts, and `patterns = [(\"backend.name\", pattern), …]` at the end")
}

impl Reader {
    fn assign(&mut self, assign: &Assign, named: &mut Option<Vec<(String, NodeId)>>) -> Read<()> {
        let [target] = assign.targets.as_slice() else {
            return Err(wrong(assign.value.span, "one name is assigned at a time"));
        };
        match (&target.kind, &assign.value.kind) {
            (ExprKind::Name(name), value) if **name == *LIST => {
                if named.is_some() {
                    return Err(wrong(target.span, "the list `patterns` is already defined"));
                }
                *named = Some(self.list(value, &assign.value)?);
                Ok(())
            }
            (ExprKind::Name(name), _) => {
                let node = self.pattern(&assign.value)?;
                self.define(name, target, node)
            }
            (ExprKind::Tuple(names), ExprKind::Tuple(values)) if names.len() == values.len() => {
                let nodes: Vec<NodeId> = values.iter().map(|value| self.pattern(value)).collect::<Read<_>>()?;
                names.iter().zip(nodes).try_for_each(|(target, node)| match &target.kind {
                    ExprKind::Name(name) => self.define(name, target, node),
                    _ => Err(wrong(target.span, "a pattern is assigned to a name")),
                })
            }
            _ => Err(wrong(target.span, "a pattern is assigned to a name")),
        }
    }

    fn list(&mut self, kind: &ExprKind, whole: &Expr) -> Read<Vec<(String, NodeId)>> {
        match kind {
            ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().map(|item| self.entry(item)).collect(),
            ExprKind::Dict(entries) => entries.iter().map(|(name, pattern)| self.named(name, pattern)).collect(),
            _ => Err(wrong(whole.span, "`patterns` is no list").help(LIST_HELP)),
        }
    }

    fn entry(&mut self, item: &Expr) -> Read<(String, NodeId)> {
        match &item.kind {
            ExprKind::Tuple(pair) | ExprKind::List(pair) if pair.len() == 2 => self.named(&pair[0], &pair[1]),
            _ => Err(wrong(item.span, "an entry of `patterns` is a pair").help("write `(\"backend.name\", pattern)`")),
        }
    }

    fn named(&mut self, name: &Expr, pattern: &Expr) -> Read<(String, NodeId)> {
        let ExprKind::Str(text) = &name.kind else {
            return Err(wrong(name.span, "the name of a pattern is a string"));
        };
        if text.split('.').next().is_none_or(str::is_empty) {
            return Err(wrong(name.span, "the name of a pattern begins with that of its code generator")
                .help("write `\"backend.name\"`"));
        }
        Ok((text.to_string(), self.whole(pattern)?))
    }
}

//! Expressions in patterns.

use super::{
    error::{Read, wrong},
    values::{index, number},
};
use hammock_diagnostics::{Diagnostic, Span};
use hammock_ir::relax::pattern::{NodeId, PatternNode, PatternNodes};
use hammock_runtime::suggest::nearest;
use hammock_syntax::ast::{BinaryOp, Expr, ExprKind, Index, UnaryOp};
use rustc_hash::FxHashMap;

/// Maximum depth of a pattern: matching recurses.
const MAX_DEPTH: u32 = 256;

/// Reads expressions, with a table of named patterns.
#[derive(Default)]
pub struct Reader {
    /// The nodes so far.
    pub nodes: PatternNodes,
    depths: FxHashMap<NodeId, u32>,
    names: FxHashMap<String, NodeId>,
}

impl Reader {
    /// Names a pattern.
    ///
    /// # Errors
    /// When the name is reserved.
    pub fn define(&mut self, name: &str, target: &Expr, node: NodeId) -> Read<()> {
        if ["R", "relax", "_"].contains(&name) {
            return Err(wrong(target.span, format!("`{name}` cannot be the name of a pattern")));
        }
        self.names.insert(name.to_owned(), node);
        Ok(())
    }

    /// A whole pattern, which must match calls, the ends of groups.
    ///
    /// # Errors
    /// When it is invalid, or may match something else.
    pub fn whole(&mut self, e: &Expr) -> Read<NodeId> {
        let node = self.pattern(e)?;
        if !self.is_call(node) {
            return Err(wrong(e.span, "a pattern as a whole is a call of an operator or function")
                .help("write `R.nn.relu(…)`, or alternatives of such"));
        }
        Ok(node)
    }

    /// Returns true if it matches calls only.
    pub fn is_call(&self, node: NodeId) -> bool {
        match &self.nodes[node] {
            PatternNode::Call(_) => true,
            PatternNode::Either(a, b) => self.is_call(*a) && self.is_call(*b),
            PatternNode::Both(a, b) => self.is_call(*a) || self.is_call(*b),
            PatternNode::Tensor(inner, _) | PatternNode::Related(inner, ..) => self.is_call(*inner),
            _ => false,
        }
    }

    /// Adds a node with its source location.
    ///
    /// # Errors
    /// When the pattern gets too deep.
    pub fn add(&mut self, node: PatternNode, span: Span) -> Read<NodeId> {
        let depth = parts(&node).iter().map(|part| self.depths[part]).max().map_or(0, |depth| depth + 1);
        if depth > MAX_DEPTH {
            return Err(wrong(span, format!("a pattern has at most {MAX_DEPTH} levels")));
        }
        let id = self.nodes.push(node);
        self.depths.insert(id, depth);
        Ok(id)
    }

    /// Reads an expression as a pattern.
    ///
    /// # Errors
    /// The first error in it.
    pub fn pattern(&mut self, e: &Expr) -> Read<NodeId> {
        let node = match &e.kind {
            ExprKind::Name(name) if &**name == "_" => PatternNode::Any,
            ExprKind::Name(name) => return self.name(name, e.span),
            ExprKind::Tuple(members) | ExprKind::List(members) => {
                PatternNode::Tuple { members: self.patterns(members)?, ordered: true }
            }
            ExprKind::Unary(UnaryOp::Invert, inner) => PatternNode::Not(self.pattern(inner)?),
            ExprKind::Binary(binary) => {
                let mut first = self.pattern(&binary.first)?;
                for (op, second) in &binary.rest {
                    let second = self.pattern(second)?;
                    let node = match op {
                        BinaryOp::Or => PatternNode::Either(first, second),
                        BinaryOp::And => PatternNode::Both(first, second),
                        op => return Err(no_operator(op.symbol(), e.span)),
                    };
                    first = self.add(node, e.span)?;
                }
                return Ok(first);
            }
            ExprKind::Subscript(subscript) => match subscript.indices.as_slice() {
                [Index::Expr(at)] => PatternNode::Member(self.pattern(&subscript.value)?, Some(index(at)?)),
                _ => return Err(wrong(e.span, "a member of a tuple is `tuple[0]`")),
            },
            ExprKind::Call(call) => return self.call(call, e),
            _ => match number(e) {
                Some(value) => PatternNode::Number(value),
                None => return Err(no_pattern(e.span)),
            },
        };
        self.add(node, e.span)
    }

    /// Reads expressions as patterns.
    ///
    /// # Errors
    /// The first error in them.
    pub fn patterns(&mut self, list: &[Expr]) -> Read<Vec<NodeId>> {
        list.iter().map(|e| self.pattern(e)).collect()
    }

    fn name(&self, name: &str, span: Span) -> Read<NodeId> {
        if let Some(node) = self.names.get(name) {
            return Ok(*node);
        }
        let error = wrong(span, format!("`{name}` is not assigned before"));
        let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        names.sort_unstable();
        Err(match nearest(name, names) {
            Some(near) => error.did_you_mean(span, near),
            None => error.help(format!("anything is `_`; to use it twice, assign `{name} = wildcard()`")),
        })
    }
}

fn no_pattern(span: Span) -> Diagnostic {
    wrong(span, "this is no pattern").help("`hammock explain E0308` shows what patterns look like")
}

fn no_operator(symbol: &str, span: Span) -> Diagnostic {
    wrong(span, format!("patterns are joined by `|` and `&`, not by `{symbol}`"))
        .help("an operator of graphs is written as a call: `R.add(x, y)`")
}

/// The nodes below a node.
fn parts(node: &PatternNode) -> Vec<NodeId> {
    match node {
        PatternNode::Call(call) => call.args.clone(),
        PatternNode::Tuple { members, .. } => members.clone(),
        PatternNode::Either(a, b) | PatternNode::Both(a, b) => vec![*a, *b],
        PatternNode::Related(inner, _, other) => vec![*inner, *other],
        PatternNode::Member(inner, _) | PatternNode::Not(inner) | PatternNode::Tensor(inner, _) => vec![*inner],
        _ => Vec::new(),
    }
}

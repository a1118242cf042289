//! Value numbering: equal expressions and their uses.

use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Structure of an expression over the classes of its operands.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Var(Var),
    Int(i64, DType),
    Float(u64, DType),
    Binary(BinaryOp, usize, usize),
    Not(usize),
    Select(usize, usize, usize),
    Cast(usize, DType),
    Ramp(usize, usize, u16),
    Broadcast(usize, u16),
    /// Equal to itself only.
    Other(usize),
}

/// Equal expressions.
struct Class {
    /// A representative.
    expr: PrimExpr,
    /// True if it neither loads nor calls.
    is_arithmetic: bool,
    /// True if it may divide by zero.
    may_fail: bool,
    uses: Option<Uses>,
}

/// Uses of an expression that may become a variable.
struct Uses {
    count: usize,
    /// Depth of the expression, over its counted operands.
    depth: usize,
    /// Scope around all uses.
    scope: usize,
    /// Scope of the first use.
    first_scope: usize,
    /// Index of the statement of the first use.
    first_stmt: usize,
    /// True if the first use is evaluated whenever its statement runs.
    is_certain: bool,
    /// Classes of its operands, with multiplicity.
    operands: Vec<usize>,
}

/// The body of a loop, or a side of a branch.
struct Scope {
    outer: usize,
    depth: usize,
    /// Index of the loop or branch.
    stmt: usize,
}

/// All expressions of a kernel.
pub(super) struct Table {
    classes: Vec<Class>,
    by_key: FxHashMap<Key, usize>,
    /// Classes by node; the expression keeps its node alive.
    by_node: FxHashMap<usize, (PrimExpr, usize)>,
    /// Classes in order of first use.
    order: Vec<usize>,
    scopes: Vec<Scope>,
    scope: usize,
    stmts: usize,
    stmt: usize,
    /// Number of enclosing `let` expressions, whose variables are local.
    lets: usize,
    /// Number of enclosing conditional expressions.
    choices: usize,
}

impl Table {
    pub fn of(body: &Stmt) -> Self {
        let mut table = Table {
            classes: Vec::new(),
            by_key: FxHashMap::default(),
            by_node: FxHashMap::default(),
            order: Vec::new(),
            scopes: vec![Scope { outer: 0, depth: 0, stmt: 0 }],
            scope: 0,
            stmts: 0,
            stmt: 0,
            lets: 0,
            choices: 0,
        };
        table.stmt(body);
        table
    }

    /// Returns the class of an expression.
    pub fn class(&self, e: &PrimExpr) -> Option<usize> {
        self.by_node.get(&e.node_id()).map(|(_, class)| *class)
    }

    /// Returns the expression of a class.
    pub fn value(&self, class: usize) -> PrimExpr {
        self.classes[class].expr.clone()
    }

    /// Returns the classes that become variables, with the statements before which they are declared, simple ones
    /// first.
    pub fn planned(&self) -> Vec<(usize, usize)> {
        let mut consumed: FxHashMap<usize, usize> = FxHashMap::default();
        let used = |class: &usize| self.classes[*class].uses.as_ref().map(|uses| (*class, uses));
        for (_, uses) in self.order.iter().filter_map(used) {
            for operand in &uses.operands {
                *consumed.entry(*operand).or_default() += uses.count - 1;
            }
        }
        let mut found: Vec<(usize, &Uses)> = self.order.iter().filter_map(used).collect();
        found.sort_by_key(|(_, uses)| uses.depth);
        let twice = |(class, uses): &(usize, &Uses)| {
            uses.count >= 2 + consumed.get(class).copied().unwrap_or(0)
                && (!self.classes[*class].may_fail || uses.is_certain && uses.scope == uses.first_scope)
        };
        found.into_iter().filter(twice).map(|(class, uses)| (class, self.declaration_point(uses))).collect()
    }

    /// Returns the statement before which it is declared.
    fn declaration_point(&self, uses: &Uses) -> usize {
        if uses.first_scope == uses.scope {
            return uses.first_stmt;
        }
        let mut scope = uses.first_scope;
        while self.scopes[scope].outer != uses.scope {
            scope = self.scopes[scope].outer;
        }
        self.scopes[scope].stmt
    }

    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.scopes[a].depth >= self.scopes[b].depth {
                a = self.scopes[a].outer;
            } else {
                b = self.scopes[b].outer;
            }
        }
        a
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let number = self.stmts;
        self.stmts += 1;
        self.stmt = number;
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                for stmt in stmts {
                    // declarations of a nested sequence are local to it
                    if matches!(stmt.kind, StmtKind::Seq(_)) { self.inside(stmt, self.stmts) } else { self.stmt(stmt) }
                }
                return;
            }
            StmtKind::Store { indices, value, predicate, .. } => {
                self.expr(value);
                indices.iter().chain(predicate).for_each(|e| _ = self.expr(e));
            }
            _ => stmt.each_expr(&mut |e| _ = self.expr(e)),
        }
        stmt.each_child(&mut |child| self.inside(child, number));
    }

    /// Visits a statement in its own scope, which another statement opens.
    fn inside(&mut self, stmt: &Stmt, by: usize) {
        let outer = self.scope;
        self.scopes.push(Scope { outer, depth: self.scopes[outer].depth + 1, stmt: by });
        self.scope = self.scopes.len() - 1;
        self.stmt(stmt);
        self.scope = outer;
    }

    /// Records a use of an expression, after those of its operands; returns its class.
    fn expr(&mut self, e: &PrimExpr) -> usize {
        let mut operands = Vec::new();
        match e.kind() {
            PrimKind::Let(_, value, body) => {
                operands.push(self.expr(value));
                self.lets += 1;
                operands.push(self.expr(body));
                self.lets -= 1;
            }
            PrimKind::Call(call) if e.as_intrin("if_then_else").is_some() => {
                for (i, arg) in call.args.iter().enumerate() {
                    self.choices += usize::from(i > 0);
                    operands.push(self.expr(arg));
                    self.choices -= usize::from(i > 0);
                }
            }
            PrimKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                operands.push(self.expr(a));
                self.choices += 1;
                operands.push(self.expr(b));
                self.choices -= 1;
            }
            _ => e.each_child(&mut |child| operands.push(self.expr(child))),
        }
        let class = self.intern(e, &operands);
        if self.may_be_variable(e, class) && self.lets == 0 {
            self.note(class, operands);
        }
        class
    }

    fn intern(&mut self, e: &PrimExpr, operands: &[usize]) -> usize {
        if let Some((_, class)) = self.by_node.get(&e.node_id()) {
            return *class;
        }
        let key = match (e.kind(), operands) {
            (PrimKind::Var(var), _) => Key::Var(var.clone()),
            (PrimKind::Int(v), _) => Key::Int(*v, e.dtype()),
            (PrimKind::Float(v), _) => Key::Float(v.to_bits(), e.dtype()),
            (PrimKind::Binary(op, ..), [a, b]) => Key::Binary(*op, *a, *b),
            (PrimKind::Not(_), [a]) => Key::Not(*a),
            (PrimKind::Select(..), [a, b, c]) => Key::Select(*a, *b, *c),
            (PrimKind::Cast(_), [a]) => Key::Cast(*a, e.dtype()),
            (PrimKind::Ramp(..), [a, b]) => Key::Ramp(*a, *b, e.dtype().lanes),
            (PrimKind::Broadcast(_), [a]) => Key::Broadcast(*a, e.dtype().lanes),
            _ => Key::Other(e.node_id()),
        };
        let next = self.classes.len();
        let class = *self.by_key.entry(key).or_insert(next);
        if class == next {
            let of = |f: fn(&Class) -> bool| operands.iter().map(|class| &self.classes[*class]).any(f);
            let own = !matches!(e.kind(), PrimKind::Load(..) | PrimKind::Call(_) | PrimKind::Reduce(_));
            let is_arithmetic = own && !of(|class| !class.is_arithmetic);
            let may_fail = super::super::may_divide_by_zero(e) || of(|class| class.may_fail);
            self.classes.push(Class { expr: e.clone(), is_arithmetic, may_fail, uses: None });
        }
        self.by_node.insert(e.node_id(), (e.clone(), class));
        class
    }

    fn may_be_variable(&self, e: &PrimExpr, class: usize) -> bool {
        let computes =
            matches!(e.kind(), PrimKind::Binary(..) | PrimKind::Not(_) | PrimKind::Cast(_) | PrimKind::Select(..));
        computes && !e.dtype().is_bool() && self.classes[class].is_arithmetic
    }

    fn note(&mut self, class: usize, operands: Vec<usize>) {
        let scope = self.scope;
        if let Some(mut uses) = self.classes[class].uses.take() {
            uses.scope = self.common(uses.scope, scope);
            uses.count += 1;
            self.classes[class].uses = Some(uses);
            return;
        }
        let counted: Vec<usize> =
            operands.into_iter().filter(|operand| self.classes[*operand].uses.is_some()).collect();
        let depths = counted.iter().filter_map(|operand| self.classes[*operand].uses.as_ref()).map(|uses| uses.depth);
        let uses = Uses {
            count: 1,
            depth: 1 + depths.max().unwrap_or(0),
            scope,
            first_scope: scope,
            first_stmt: self.stmt,
            is_certain: self.choices == 0,
            operands: counted,
        };
        self.order.push(class);
        self.classes[class].uses = Some(uses);
    }
}

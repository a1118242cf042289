//! The shape heap: slots for symbolic variables and expressions, and the functions that fill them.
//!
//! An expression is computed as soon as its variables are known, but no earlier than in the branch that uses it: if
//! the branch does not run, a failing expression (a division by zero) is not an error.

use crate::analysis::symbolic;
use hammock_ir::{
    DType, PrimExpr, Span, Type,
    prim::{Substitution, Var},
    relax::{Body, Function, Value},
    tir::{Buffer, Param, PrimFunc, Stmt, StmtKind},
};
use indexmap::IndexMap;
use std::collections::HashSet;

/// Heap slots of one function.
pub struct Heap {
    /// Every expression with a slot, by key; its index is its slot.
    slots: IndexMap<String, Slot>,
    /// Keys of the expressions that are used on all paths from here on.
    needed: HashSet<String>,
}

/// State outside a branch, to restore.
pub struct SavedState {
    known: Vec<bool>,
    needed: HashSet<String>,
}

struct Slot {
    expr: PrimExpr,
    /// True if its value is in the heap.
    known: bool,
}

impl Heap {
    /// Assigns slots for a function: variables of its parameters' types first, then in order of appearance.
    pub fn of(function: &Function) -> Heap {
        let mut heap = Heap { slots: IndexMap::new(), needed: needed(&function.lambda.body) };
        for param in &function.lambda.params {
            heap.add_type(function.ty(*param));
        }
        symbolic::each_expr(&function.lambda.body, &mut |e| heap.add(e));
        heap.add_type(&function.lambda.ret_ty);
        heap
    }

    /// Enters a branch. Values computed there are unknown elsewhere.
    pub fn enter(&mut self, branch: &Body) -> SavedState {
        let known = self.slots.values().map(|slot| slot.known).collect();
        let outside = SavedState { known, needed: self.needed.clone() };
        self.needed.extend(needed(branch));
        outside
    }

    /// Leaves a branch.
    pub fn leave(&mut self, outside: SavedState) {
        self.needed = outside.needed;
        self.slots.values_mut().zip(outside.known).for_each(|(slot, known)| slot.known = known);
    }

    /// Adds the dimensions of a parameter's or the result's type.
    fn add_type(&mut self, ty: &Type) {
        symbolic::each_dim(ty, &mut |d| {
            self.needed.insert(symbolic::key(d));
            self.add(d);
        });
    }

    fn add(&mut self, expr: &PrimExpr) {
        if expr.as_int().is_some() || expr.as_float().is_some() {
            return;
        }
        for var in symbolic::vars(expr) {
            self.insert(&var.expr());
        }
        self.insert(expr);
    }

    fn insert(&mut self, expr: &PrimExpr) {
        let slot = || Slot { expr: expr.clone(), known: false };
        self.slots.entry(symbolic::key(expr)).or_insert_with(slot);
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if there are no slots.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the slot of an expression; every expression of the function has one.
    pub fn slot(&self, expr: &PrimExpr) -> i64 {
        self.slots.get_index_of(&symbolic::key(expr)).map_or(-1, |i| i as i64)
    }

    /// Returns true if the expression has a slot.
    pub fn contains(&self, expr: &PrimExpr) -> bool {
        self.slots.contains_key(&symbolic::key(expr))
    }

    /// Returns true if the expression's value is in the heap.
    pub fn is_known(&self, expr: &PrimExpr) -> bool {
        self.slots.get(&symbolic::key(expr)).is_some_and(|s| s.known)
    }

    /// Records that the expression's value is in the heap from now on.
    pub fn learn(&mut self, expr: &PrimExpr) {
        if let Some(slot) = self.slots.get_mut(&symbolic::key(expr)) {
            slot.known = true;
        }
    }

    /// Returns a TIR function that computes every needed expression whose variables are known, and marks them as
    /// known; `None` if there is none.
    pub fn shape_func(&mut self) -> Option<PrimFunc> {
        let mut ready: Vec<PrimExpr> = self
            .slots
            .iter()
            .filter(|(key, s)| !s.known && self.needed.contains(*key) && self.ready(&s.expr))
            .map(|(_, s)| s.expr.clone())
            .collect();
        if ready.is_empty() {
            return None;
        }
        // Subexpressions first, so that an error names the smallest failing expression.
        ready.sort_by_key(|e| {
            let mut nodes = 0;
            e.walk(&mut |_| nodes += 1);
            nodes
        });
        let buffer = Buffer::new("H", vec![PrimExpr::int64(self.len() as i64)], DType::INT64);
        let mut used: Vec<Var> = Vec::new();
        ready.iter().flat_map(symbolic::vars).for_each(|v| {
            if !used.contains(&v) {
                used.push(v);
            }
        });
        // Named as in the source, for errors.
        let named: Vec<(Var, Var)> = used.into_iter().map(|v| (v.clone(), v.fresh())).collect();
        let names = named.iter().map(|(v, name)| Stmt::new(StmtKind::Bind(name.clone(), self.load(&buffer, v))));
        let values: Substitution = named.iter().map(|(v, name)| (v.clone(), name.expr())).collect();
        let stores = ready.iter().map(|e| {
            let value = e.substitute(&values).cast(DType::INT64);
            Stmt::store(&buffer, vec![PrimExpr::int64(self.slot(e))], value)
        });
        let body = Stmt::seq(names.chain(stores).collect::<Vec<_>>());
        ready.iter().for_each(|e| self.learn(e));
        Some(PrimFunc {
            params: vec![Param::buffer(buffer)],
            ret_ty: None,
            body,
            attrs: symbolic::size_function(),
            s_tir: true,
            span: Span::default(),
        })
    }

    fn ready(&self, expr: &PrimExpr) -> bool {
        expr.as_var().is_none() && symbolic::vars(expr).iter().all(|v| self.is_known(&v.expr()))
    }

    fn load(&self, buffer: &Buffer, var: &Var) -> PrimExpr {
        PrimExpr::load(buffer, vec![PrimExpr::int64(self.slot(&var.expr()))]).cast(var.dtype())
    }
}

/// Returns the keys of the expressions that a body uses on all paths.
fn needed(body: &Body) -> HashSet<String> {
    let mut all = HashSet::new();
    symbolic::each_own_expr(body, &mut |e| _ = all.insert(symbolic::key(e)));
    for binding in body.bindings() {
        match &binding.value {
            Value::If { then, otherwise, .. } => {
                let (then, otherwise) = (needed(then), needed(otherwise));
                all.extend(then.into_iter().filter(|key| otherwise.contains(key)));
            }
            Value::Function(lambda) => all.extend(needed(&lambda.body)),
            _ => {}
        }
    }
    all
}

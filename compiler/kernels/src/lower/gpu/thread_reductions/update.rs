//! What a block of a reduction does with its accumulators: it combines each with an element, by an operation or a
//! select.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{Block, Buffer, Stmt, StmtKind},
};
use hammock_loopnest::index::same_expr;

/// Updates of a block's results.
pub struct Updates {
    /// The operation, if there is one result.
    pub op: Option<BinaryOp>,
    /// First values of the results.
    pub starts: Vec<PrimExpr>,
    updates: Vec<Update>,
}

/// An update of one result.
struct Update {
    buffer: Buffer,
    indices: Vec<PrimExpr>,
    /// New value, in terms of the previous one and `new`.
    value: PrimExpr,
    /// The element that the result is combined with.
    new: PrimExpr,
}

impl Update {
    fn old(&self) -> PrimExpr {
        PrimExpr::load(&self.buffer, self.indices.clone())
    }
}

impl Updates {
    /// Returns the updates of a block; `None` if they have another form.
    pub fn of(block: &Block) -> Option<Updates> {
        let starts = stores(block.init.as_ref()?)?;
        let found = stores(&block.body)?;
        let mut op = None;
        let updates: Vec<Update> = found
            .iter()
            .map(|(buffer, indices, value)| {
                let old = PrimExpr::load(buffer, indices.clone());
                let new = match value.kind() {
                    PrimKind::Binary(found, a, b) if is_combiner(*found) => {
                        op = Some(*found);
                        if same_expr(a, &old) {
                            b
                        } else if same_expr(b, &old) {
                            a
                        } else {
                            return None;
                        }
                    }
                    _ => selected(value, &old)?,
                };
                Some(Update {
                    buffer: buffer.clone(),
                    indices: indices.clone(),
                    value: value.clone(),
                    new: new.clone(),
                })
            })
            .collect::<Option<_>>()?;
        let op = op.filter(|_| updates.len() == 1);
        let start = |update: &Update| {
            let is_own = |(buffer, indices, _): &&(Buffer, Vec<PrimExpr>, PrimExpr)| {
                *buffer == update.buffer && indices.iter().zip(&update.indices).all(|(a, b)| same_expr(a, b))
            };
            starts.iter().find(is_own).map(|(_, _, value)| value.clone())
        };
        let starts = updates.iter().map(start).collect::<Option<_>>()?;
        let all = Updates { op, starts, updates };
        all.combines_accumulators(block).then_some(all)
    }

    /// Returns true if what combines two elements depends on nothing else than these.
    fn combines_accumulators(&self, block: &Block) -> bool {
        let parts: Vec<PrimExpr> =
            self.updates.iter().map(|update| Var::data("part", update.new.dtype()).expr()).collect();
        self.updates.iter().all(|update| {
            let value = self.replaced(&update.value, &parts, Some(&parts));
            let is_open = |e: &PrimExpr| match e.kind() {
                PrimKind::Load(..) => true,
                PrimKind::Var(var) => block.axes.iter().any(|axis| axis.var == *var),
                _ => false,
            };
            let reads_own = |e: &PrimExpr| {
                self.updates.iter().any(|own| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer == own.buffer))
            };
            !value.any(&mut |e| is_open(e)) && !update.new.any(&mut |e| reads_own(e))
        })
    }

    /// Returns a value with the previous results replaced, and the new elements if there are others for them.
    fn replaced(&self, value: &PrimExpr, old: &[PrimExpr], new: Option<&[PrimExpr]>) -> PrimExpr {
        for (number, update) in self.updates.iter().enumerate() {
            if let Some(new) = new
                && same_expr(value, &update.new)
            {
                return new[number].clone();
            }
            if same_expr(value, &update.old()) {
                return old[number].clone();
            }
        }
        value.map_children(&mut |child| self.replaced(child, old, new))
    }

    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.updates.iter().map(|update| &update.buffer)
    }

    /// Returns a new buffer of `size` elements for each result.
    pub fn accumulators(&self, scope: &'static str, size: PrimExpr) -> Vec<Buffer> {
        let name =
            |update: &Update| format!("{}_{}", update.buffer.name, if scope == "local" { "part" } else { "parts" });
        let new = |update: &Update| Buffer::scoped(name(update), vec![size.clone()], update.buffer.dtype, scope);
        self.updates.iter().map(new).collect()
    }

    /// Combines accumulators with the block's elements.
    pub fn accumulate(&self, own: &[Buffer]) -> Stmt {
        self.stored(own, None)
    }

    /// Combines accumulators with other elements.
    pub fn combine(&self, own: &[Buffer], others: &[PrimExpr]) -> Stmt {
        self.stored(own, Some(others))
    }

    fn stored(&self, own: &[Buffer], new: Option<&[PrimExpr]>) -> Stmt {
        let zero = || vec![PrimExpr::int64(0)];
        let old: Vec<PrimExpr> = own.iter().map(|own| PrimExpr::load(own, zero())).collect();
        let value = |update: &Update| self.replaced(&update.value, &old, new);
        if let ([update], [own]) = (&self.updates[..], own) {
            return Stmt::store(own, zero(), value(update));
        }
        // All values come from the previous results.
        let vars: Vec<Var> = own.iter().map(|own| Var::data("next", own.dtype)).collect();
        let bound = vars.iter().zip(&self.updates);
        let bound = bound.map(|(var, update)| Stmt::new(StmtKind::Bind(var.clone(), value(update))));
        let stores = vars.iter().zip(own).map(|(var, own)| Stmt::store(own, zero(), var.expr()));
        Stmt::seq(bound.chain(stores).collect::<Vec<_>>())
    }

    /// Stores the accumulators to the results.
    pub fn results(&self, own: &[Buffer]) -> Stmt {
        let store = |(update, own): (&Update, &Buffer)| {
            Stmt::store(&update.buffer, update.indices.clone(), PrimExpr::load(own, vec![PrimExpr::int64(0)]))
        };
        Stmt::seq(self.updates.iter().zip(own).map(store).collect::<Vec<_>>())
    }
}

fn is_combiner(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max)
}

/// Returns the element that a select has beside the previous result.
fn selected<'e>(value: &'e PrimExpr, old: &PrimExpr) -> Option<&'e PrimExpr> {
    let (a, b) = match value.kind() {
        PrimKind::Select(_, a, b) => (a, b),
        _ => match value.as_intrin("if_then_else")?.args.as_slice() {
            [_, a, b] => (a, b),
            _ => return None,
        },
    };
    match (same_expr(a, old), same_expr(b, old)) {
        (false, true) => Some(a),
        (true, false) => Some(b),
        _ => None,
    }
}

/// Returns the stores of a body that otherwise only binds values.
fn stores(stmt: &Stmt) -> Option<Vec<(Buffer, Vec<PrimExpr>, PrimExpr)>> {
    let stmts = match &stmt.kind {
        StmtKind::Seq(stmts) => stmts.as_slice(),
        _ => std::slice::from_ref(stmt),
    };
    let (mut names, mut found) = (Substitution::default(), Vec::new());
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Bind(var, value) if found.is_empty() => {
                names.insert(var.clone(), value.substitute(&names));
            }
            StmtKind::Store { buffer, indices, value, predicate: None } => {
                found.push((buffer.clone(), indices.clone(), value.substitute(&names)));
            }
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}

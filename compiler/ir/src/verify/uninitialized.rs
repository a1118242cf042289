//! Finds loads of kernels that certainly or possibly read uninitialized memory.
//!
//! Memory is uninitialized where a kernel allocates it, and where `R.call_tir` passes it for a new output. A load is
//! reported as an error if no store to the same memory can precede it: none precedes it in the text, and if the load is
//! under a condition (or in a loop that may not run), so are all stores, so that the load comes first. Operands that
//! may not be evaluated are not checked. Of the remaining loads, those that [`initialization`] cannot prove to follow a
//! write are possible reads.

use crate::{
    Name, PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Var},
    tir::{Block, Buffer, Loop, PrimFunc, Stmt, StmtKind, initialization},
};
use hammock_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A load from uninitialized memory.
pub(super) struct Uninitialized {
    /// The reading statement.
    pub span: Span,
    /// The buffer read.
    pub buffer: Buffer,
    /// The pointer to that memory: the buffer's, or that of the buffer it matches.
    pub memory: Var,
    /// The reduction axis that indexes it, where `T.init` writes only the element of its first value.
    pub axis: Option<Var>,
    pub certainty: Certainty,
}

/// Certainty that a load reads uninitialized memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Always: an error.
    Certain,
    /// Possibly: the kernel is compiled to zero-initialize the memory.
    Possible,
}

impl Uninitialized {
    pub fn message(&self) -> String {
        let name = &self.buffer.name;
        match &self.axis {
            Some(axis) => format!(
                "`{name}` is read before it is written: `T.init` runs for the first value of reduction axis `{}` only",
                axis.name()
            ),
            None if self.certainty == Certainty::Possible => {
                format!("`{name}` may be read before it is written, and holds zeros then")
            }
            None => format!("`{name}` is read before anything is written to it"),
        }
    }

    pub fn advice(&self) -> String {
        let name = &self.buffer.name;
        match &self.axis {
            Some(axis) => format!("`{}` indexes `{name}`, so it is a spatial axis: `T.axis.spatial`", axis.name()),
            None if self.certainty == Certainty::Possible => {
                format!("write each element of `{name}` first, that of a reduction in `T.init()`")
            }
            None => format!("fresh memory holds no values: write `{name}` first, that of a reduction in `T.init()`"),
        }
    }
}

/// The loads of uninitialized memory, one per allocation: of memory that the kernel allocates, and of parameters that
/// are passed such memory. Possible reads are searched only if `warns`.
pub(super) fn reads<'a>(
    func: &'a PrimFunc,
    outputs: impl Iterator<Item = &'a Buffer> + Clone,
    kernel: &dyn Fn(&Name) -> Option<&'a PrimFunc>,
    warns: bool,
) -> Vec<Uninitialized> {
    let mut found = certain(func, outputs.clone());
    if !warns {
        return found;
    }
    for read in initialization::possible_reads(func, outputs, kernel) {
        if found.iter().all(|certain| certain.memory != read.memory) {
            let initialization::PossibleRead { span, buffer, memory } = read;
            found.push(Uninitialized { span, buffer, memory, axis: None, certainty: Certainty::Possible });
        }
    }
    found
}

fn certain<'a>(func: &'a PrimFunc, outputs: impl Iterator<Item = &'a Buffer>) -> Vec<Uninitialized> {
    let mut checker = LoadChecker {
        func,
        memory: func.buffers().map(|b| (b.data.clone(), b.data.clone())).collect(),
        unwritten: outputs.map(|b| b.data.clone()).collect(),
        started: Vec::new(),
        varying: FxHashSet::default(),
        region: None,
        span: func.span,
        found: Vec::new(),
    };
    checker.stmt(&func.body);
    checker.found
}

struct LoadChecker<'a> {
    func: &'a PrimFunc,
    /// The memory that pointers point into: their own, or that of the buffer they match.
    memory: FxHashMap<Var, Var>,
    /// Memory that is not written yet.
    unwritten: FxHashSet<Var>,
    /// Memory in which `T.init` has written only the elements at the first value of a reduction axis.
    started: Vec<(Var, Var)>,
    /// Variables whose values differ between iterations.
    varying: FxHashSet<Var>,
    /// The innermost enclosing statements that may not run.
    region: Option<&'a [Stmt]>,
    span: Span,
    found: Vec<Uninitialized>,
}

impl<'a> LoadChecker<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => self.sequence(stmts),
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => {
                self.expr(condition);
                self.conditional(body);
            }
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition);
                let before = self.unwritten.clone();
                self.conditional(then);
                let after = std::mem::replace(&mut self.unwritten, before);
                otherwise.iter().for_each(|s| self.conditional(s));
                self.unwritten.retain(|data| after.contains(data));
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                indices.iter().chain([value]).chain(predicate).for_each(|e| self.expr(e));
                self.write(&buffer.data);
            }
            StmtKind::Alloc(buffer, _) => self.allocate(buffer),
            StmtKind::Decl(buffer)
                if !self.memory.contains_key(&buffer.data) && buffer.data.ty().dtype().is_handle() =>
            {
                self.memory.insert(buffer.data.clone(), buffer.data.clone());
            }
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.varying.insert(var.clone());
            }
            StmtKind::Attr { value, body, .. } => {
                self.expr(value);
                self.stmt(body);
            }
            StmtKind::Evaluate(e) | StmtKind::Assert(e, ..) | StmtKind::Return(e) => self.expr(e),
            StmtKind::Decl(_) | StmtKind::Break | StmtKind::Continue => {}
        }
        self.span = outside;
    }

    /// Statements after one that may leave the sequence may not run.
    fn sequence(&mut self, stmts: &'a [Stmt]) {
        let outside = self.region;
        for (number, stmt) in stmts.iter().enumerate() {
            self.stmt(stmt);
            if may_skip_rest(stmt) {
                self.region = stmts.get(number + 1..);
            }
        }
        self.region = outside;
    }

    /// A statement that may not run.
    fn conditional(&mut self, stmt: &'a Stmt) {
        let outside = self.region.replace(std::slice::from_ref(stmt));
        self.stmt(stmt);
        self.region = outside;
    }

    fn for_loop(&mut self, l: &'a Loop) {
        [&l.min, &l.extent].into_iter().chain(&l.step).for_each(|e| self.expr(e));
        self.varying.insert(l.var.clone());
        let runs = match l.extent.as_int() {
            Some(extent) => extent > 0,
            // Sizes are assumed to be positive.
            None => !l.extent.is_data() && !l.extent.any(&mut |e| e.as_var().is_some_and(|v| self.varying.contains(v))),
        };
        if runs {
            self.stmt(&l.body);
        } else {
            self.conditional(&l.body);
        }
    }

    fn block(&mut self, block: &'a Block) {
        for axis in &block.axes {
            self.expr(&axis.binding);
            self.varying.insert(axis.var.clone());
        }
        let outside = self.region;
        if let Some(predicate) = &block.predicate {
            self.expr(predicate);
            self.region = Some(std::slice::from_ref(&block.body));
        }
        block.alloc_buffers.iter().for_each(|b| self.allocate(b));
        for matched in &block.match_buffers {
            let memory = self.memory_of(&matched.source.buffer.data);
            self.memory.insert(matched.buffer.data.clone(), memory);
        }
        let started = self.started.len();
        if let Some(init) = &block.init {
            self.init(block, init);
        }
        self.stmt(&block.body);
        self.started.truncate(started);
        self.region = outside;
    }

    /// Checks a block's `init`, which runs only for the first value of each reduction axis.
    fn init(&mut self, block: &Block, init: &'a Stmt) {
        let is_reduced = |v: &Var| {
            block.axes.iter().any(|a| a.var == *v && a.kind == IterKind::Reduce && a.dom.1.as_int() != Some(1))
        };
        let mut started = Vec::new();
        init.walk(&mut |s| {
            if let StmtKind::Store { buffer, indices, .. } = &s.kind {
                let memory = self.memory_of(&buffer.data);
                let mut axes = Vec::new();
                indices.iter().for_each(|e| e.each_var(&mut |v| axes.extend(is_reduced(v).then(|| v.clone()))));
                started
                    .extend(axes.into_iter().filter(|_| self.unwritten.contains(&memory)).map(|v| (memory.clone(), v)));
            }
        });
        self.stmt(init);
        self.started.extend(started);
    }

    fn allocate(&mut self, buffer: &Buffer) {
        self.memory.insert(buffer.data.clone(), buffer.data.clone());
        self.unwritten.insert(buffer.data.clone());
    }

    fn memory_of(&self, data: &Var) -> Var {
        self.memory.get(data).unwrap_or(data).clone()
    }

    fn write(&mut self, data: &Var) {
        let memory = self.memory_of(data);
        self.unwritten.remove(&memory);
    }

    /// The loads of an expression that are certainly evaluated when it is.
    fn expr(&mut self, e: &PrimExpr) {
        let lazy = match e.kind() {
            PrimKind::Load(buffer, _, None) => {
                e.each_child(&mut |c| self.expr(c));
                return self.read(buffer, e);
            }
            PrimKind::Load(..) | PrimKind::Reduce(_) => return,
            PrimKind::Call(call) if !call.is_pure() => {
                let mut reached = Vec::new();
                e.walk(&mut |e| reached.extend(pointer(e)));
                return reached.into_iter().for_each(|data| self.write(data));
            }
            PrimKind::Select(..) | PrimKind::Binary(BinaryOp::And | BinaryOp::Or, ..) => true,
            _ => e.as_intrin("if_then_else").is_some(),
        };
        let mut first = true;
        e.each_child(&mut |c| {
            if first || !lazy {
                self.expr(c);
            }
            first = false;
        });
    }

    fn read(&mut self, buffer: &Buffer, load: &PrimExpr) {
        let memory = self.memory_of(&buffer.data);
        let axis = self.started.iter().find(|(data, axis)| *data == memory && load.uses(axis)).map(|(_, v)| v.clone());
        if !self.unwritten.contains(&memory) && axis.is_none() {
            return;
        }
        let all = self.writes(std::slice::from_ref(&self.func.body), &memory);
        if self.region.is_none_or(|region| self.writes(region, &memory) == all) {
            self.unwritten.remove(&memory);
            self.started.retain(|(data, _)| *data != memory);
            self.found.push(Uninitialized {
                span: self.span,
                buffer: buffer.clone(),
                memory,
                axis,
                certainty: Certainty::Certain,
            });
        }
    }

    /// Number of times that statements write to memory, or pass it to a function that may.
    fn writes(&self, stmts: &[Stmt], memory: &Var) -> usize {
        let mut count = 0;
        let is_memory = |data: &Var| self.memory_of(data) == *memory;
        for stmt in stmts {
            stmt.walk(&mut |s| {
                if let StmtKind::Store { buffer, .. } = &s.kind {
                    count += usize::from(is_memory(&buffer.data));
                }
                s.each_expr(&mut |e| {
                    e.walk(&mut |e| {
                        if matches!(e.kind(), PrimKind::Call(call) if !call.is_pure()) {
                            e.walk(&mut |e| count += usize::from(pointer(e).is_some_and(is_memory)));
                        }
                    });
                });
            });
        }
        count
    }
}

/// The pointer that an expression is or loads from.
fn pointer(e: &PrimExpr) -> Option<&Var> {
    match e.kind() {
        PrimKind::Var(var) => Some(var),
        PrimKind::Load(buffer, ..) => Some(&buffer.data),
        _ => None,
    }
}

/// Returns true if the statement may skip those after it.
fn may_skip_rest(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= matches!(s.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)));
    found
}

//! TIR statements.

use super::{Buffer, Region};
use crate::{
    AttrValue, Attrs, Name, PrimExpr,
    prim::{IterKind, IterVar, Var},
};
use hammock_diagnostics::Span;

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Kind of the statement.
    pub kind: StmtKind,
    /// Source location.
    pub span: Span,
}

/// Kind of a statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Statements in order; the empty sequence does nothing.
    Seq(Vec<Stmt>),
    /// A loop.
    For(Box<Loop>),
    /// Runs the body while the condition holds.
    While(PrimExpr, Box<Stmt>),
    /// If-then-else.
    If(PrimExpr, Box<Stmt>, Option<Box<Stmt>>),
    /// A block.
    Block(Box<Block>),
    /// `buffer[indices] = value`, under an optional mask.
    Store {
        /// Buffer stored to.
        buffer: Buffer,
        /// One index a dimension; the last may be a vector.
        indices: Vec<PrimExpr>,
        /// Stored value.
        value: PrimExpr,
        /// Mask of active lanes.
        predicate: Option<PrimExpr>,
    },
    /// Evaluates an expression for its effect.
    Evaluate(PrimExpr),
    /// Binds a variable to a value for the statements after it: `x: T.let[T.int32] = …`.
    Bind(Var, PrimExpr),
    /// Allocates a buffer for the statements after it.
    Alloc(Buffer, Attrs),
    /// Declares a buffer over existing memory for the statements after it.
    Decl(Buffer),
    /// An attribute over a body; `None` for one that holds for the rest of its sequence.
    Attr {
        /// The node that it applies to.
        node: AttrNode,
        /// Its name.
        key: Name,
        /// Its value.
        value: PrimExpr,
        /// The body that it applies to.
        body: Box<Stmt>,
    },
    /// Stops with an error of that kind and message parts when the condition is false.
    Assert(PrimExpr, Name, Vec<Name>),
    /// Breaks out of the innermost loop.
    Break,
    /// Continues with the innermost loop's next iteration.
    Continue,
    /// Returns from the function with a value.
    Return(PrimExpr),
}

/// The node that an attribute applies to.
#[derive(Clone, Debug)]
pub enum AttrNode {
    /// Nothing in particular.
    None,
    /// A thread axis: `T.launch_thread`, with key `thread_extent`.
    Thread(IterVar),
    /// Any other value.
    Value(AttrValue),
}

/// A counted loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The loop variable.
    pub var: Var,
    /// Its first value.
    pub min: PrimExpr,
    /// The number of iterations, before division by `step`.
    pub extent: PrimExpr,
    /// The loop's step; `None` for 1.
    pub step: Option<PrimExpr>,
    /// Kind of the loop.
    pub kind: ForKind,
    /// `annotations={…}`.
    pub annotations: Attrs,
    /// Body.
    pub body: Stmt,
}

/// Kind of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForKind {
    /// Serial.
    Serial,
    /// Parallel: on the threads of the pool, in any order.
    Parallel,
    /// Vectorized.
    Vectorized,
    /// Unrolled.
    Unrolled,
    /// On GPU threads: the thread axis's name.
    ThreadBinding(Name),
}

/// The annotation of a summation block with the approximate number of partial accumulators, for the accuracy that these
/// give. Summing in order is allowed as well.
pub const SUM_PARTS: &str = "sum_parts";

/// A block: a computation over axes that a schedule may reorder (`T.sblock`).
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name.
    pub name: Name,
    /// Axes with the values they are bound to.
    pub axes: Vec<BlockAxis>,
    /// Predicate of iterations: `T.where`.
    pub predicate: Option<PrimExpr>,
    /// Regions read; `None` if they are to be inferred.
    pub reads: Option<Vec<Region>>,
    /// Regions written.
    pub writes: Option<Vec<Region>>,
    /// `T.sblock_attr({…})`.
    pub annotations: Attrs,
    /// Buffers that live as long as the block.
    pub alloc_buffers: Vec<Buffer>,
    /// Buffers that alias regions of others.
    pub match_buffers: Vec<MatchBuffer>,
    /// Run before the body in the first iteration of the reduce axes.
    pub init: Option<Stmt>,
    /// Body.
    pub body: Stmt,
    /// True if it is written without axis bindings (`no_realize=True`).
    pub no_realize: bool,
}

/// An axis of a block.
#[derive(Clone, Debug)]
pub struct BlockAxis {
    /// The axis's variable.
    pub var: Var,
    /// First value and number of values.
    pub dom: (PrimExpr, PrimExpr),
    /// Kind of axis.
    pub kind: IterKind,
    /// The value that it is bound to, in terms of the enclosing loops.
    pub binding: PrimExpr,
}

/// `B = T.match_buffer(A[0:4], …)` in a block.
#[derive(Clone, Debug)]
pub struct MatchBuffer {
    /// The alias.
    pub buffer: Buffer,
    /// The aliased region.
    pub source: Region,
}

impl Stmt {
    /// A statement without a source location.
    pub fn new(kind: StmtKind) -> Self {
        Stmt { kind, span: Span::default() }
    }

    /// Sets the source location.
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Does nothing.
    pub fn nop() -> Self {
        Stmt::new(StmtKind::Seq(Vec::new()))
    }

    /// Statements in order; nested sequences without declarations are flattened, a single statement is returned as is.
    pub fn seq(stmts: impl IntoIterator<Item = Stmt>) -> Self {
        let mut all = Vec::new();
        for s in stmts {
            match s.kind {
                StmtKind::Seq(inner) if !inner.iter().any(Stmt::declares) => all.extend(inner),
                _ => all.push(s),
            }
        }
        if all.len() == 1 { all.remove(0) } else { Stmt::new(StmtKind::Seq(all)) }
    }

    /// Returns true if it declares something for the statements after it.
    pub fn declares(&self) -> bool {
        matches!(self.kind, StmtKind::Bind(..) | StmtKind::Alloc(..) | StmtKind::Decl(..))
    }

    /// Returns true if it does nothing.
    pub fn is_nop(&self) -> bool {
        matches!(&self.kind, StmtKind::Seq(s) if s.is_empty())
    }

    /// Returns true if this loop body contains a `break` or `continue` of its loop.
    pub fn jumps(&self) -> bool {
        match &self.kind {
            StmtKind::Break | StmtKind::Continue => true,
            StmtKind::For(_) | StmtKind::While(..) => false,
            _ => {
                let mut found = false;
                self.each_child(&mut |stmt| found |= stmt.jumps());
                found
            }
        }
    }

    /// `buffer[indices] = value`.
    pub fn store(buffer: &Buffer, indices: Vec<PrimExpr>, value: PrimExpr) -> Self {
        Stmt::new(StmtKind::Store { buffer: buffer.clone(), indices, value, predicate: None })
    }

    /// A serial loop from zero.
    pub fn serial(var: Var, extent: PrimExpr, body: Stmt) -> Self {
        Stmt::for_kind(var, extent, ForKind::Serial, body)
    }

    /// A loop from zero of any kind.
    pub fn for_kind(var: Var, extent: PrimExpr, kind: ForKind, body: Stmt) -> Self {
        let min = PrimExpr::int(0, var.dtype());
        let annotations = Attrs::new();
        Stmt::new(StmtKind::For(Box::new(Loop { var, min, extent, step: None, kind, annotations, body })))
    }
}

impl Block {
    /// A block without axes around a body: the root of a function.
    pub fn root(alloc_buffers: Vec<Buffer>, body: Stmt) -> Self {
        Block {
            name: "root".into(),
            axes: Vec::new(),
            predicate: None,
            reads: Some(Vec::new()),
            writes: Some(Vec::new()),
            annotations: Attrs::new(),
            alloc_buffers,
            match_buffers: Vec::new(),
            init: None,
            body,
            no_realize: false,
        }
    }
}

impl From<Block> for Stmt {
    fn from(block: Block) -> Self {
        Stmt::new(StmtKind::Block(Box::new(block)))
    }
}

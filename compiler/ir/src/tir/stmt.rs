//! Statements.

use super::{Buffer, Region, fresh};
use crate::{
    AttrValue, Attrs, Name, PrimExpr, arith,
    prim::{BinaryOp, IterKind, IterVar, Substitution, Var},
};
use hammock_diagnostics::Span;

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands in the text.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Statements in order; the empty sequence does nothing.
    Seq(Vec<Stmt>),
    /// A loop.
    For(Box<Loop>),
    /// Runs the body while the condition holds.
    While(PrimExpr, Box<Stmt>),
    /// Runs one of two.
    If(PrimExpr, Box<Stmt>, Option<Box<Stmt>>),
    /// A block.
    Block(Box<Block>),
    /// `buffer[indices] = value`, under an optional mask.
    Store {
        /// Where to.
        buffer: Buffer,
        /// One index a dimension; the last may be a vector.
        indices: Vec<PrimExpr>,
        /// What.
        value: PrimExpr,
        /// Which lanes.
        predicate: Option<PrimExpr>,
    },
    /// Evaluates an expression for its effect.
    Evaluate(PrimExpr),
    /// Names a value for the statements after it: `x: T.let[T.int32] = …`.
    Bind(Var, PrimExpr),
    /// Allocates a buffer for the statements after it.
    Alloc(Buffer, Attrs),
    /// Declares a buffer over existing memory for the statements after it.
    Decl(Buffer),
    /// An attribute over a body; `None` for one that holds for the rest of its sequence.
    Attr {
        /// What it is about.
        node: AttrNode,
        /// Its name.
        key: Name,
        /// Its value.
        value: PrimExpr,
        /// What it holds for.
        body: Box<Stmt>,
    },
    /// Stops with an error of that kind and message parts when the condition is false.
    Assert(PrimExpr, Name, Vec<Name>),
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the innermost loop's next iteration.
    Continue,
    /// Leaves the function with a value.
    Return(PrimExpr),
}

/// What an attribute is about.
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
    /// The distance between values; `None` for 1.
    pub step: Option<PrimExpr>,
    /// How iterations run.
    pub kind: ForKind,
    /// `annotations={…}`.
    pub annotations: Attrs,
    /// What each iteration does.
    pub body: Stmt,
}

/// How a loop's iterations run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForKind {
    /// One after the other.
    Serial,
    /// On the threads of the pool, in any order.
    Parallel,
    /// As lanes of vectors.
    Vectorized,
    /// Written out.
    Unrolled,
    /// On GPU threads: the thread axis's name.
    ThreadBinding(Name),
}

/// A block: a computation over axes that a schedule may reorder (`T.sblock`).
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name.
    pub name: Name,
    /// Axes with the values they are bound to.
    pub axes: Vec<BlockAxis>,
    /// Which iterations take part: `T.where`.
    pub predicate: Option<PrimExpr>,
    /// What it reads; `None` where the text leaves it to be inferred.
    pub reads: Option<Vec<Region>>,
    /// What it writes.
    pub writes: Option<Vec<Region>>,
    /// `T.sblock_attr({…})`.
    pub annotations: Attrs,
    /// Buffers that live as long as the block.
    pub alloc_buffers: Vec<Buffer>,
    /// Buffers that name regions of others.
    pub match_buffers: Vec<MatchBuffer>,
    /// Run before the body in the first iteration of the reduce axes.
    pub init: Option<Stmt>,
    /// What it does.
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
    /// What the axis means.
    pub kind: IterKind,
    /// Its value, from the loops around the block.
    pub binding: PrimExpr,
}

/// `B = T.match_buffer(A[0:4], …)` in a block.
#[derive(Clone, Debug)]
pub struct MatchBuffer {
    /// The new name.
    pub buffer: Buffer,
    /// What it names.
    pub source: Region,
}

impl Stmt {
    /// A statement that stands nowhere in a text.
    pub fn new(kind: StmtKind) -> Self {
        Stmt { kind, span: Span::default() }
    }

    /// The same statement with its place in a text.
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Does nothing.
    pub fn nop() -> Self {
        Stmt::new(StmtKind::Seq(Vec::new()))
    }

    /// Statements in order; nested sequences without declarations are flattened, a single one stands alone.
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

    /// Returns true if a `break` or `continue` of the loop whose body this is stands in it.
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

impl Loop {
    /// Its first `iterations` one after the other, each with variables of its own.
    pub fn unrolled(&self, iterations: i64) -> Stmt {
        let dtype = self.var.dtype();
        let constant = |v| PrimExpr::int(v, dtype);
        let value = |i: i64| {
            let moved = match &self.step {
                Some(step) => arith::binary(BinaryOp::Mul, step.clone(), constant(i)),
                None => constant(i),
            };
            arith::binary(BinaryOp::Add, self.min.clone(), moved)
        };
        let copy = |i| fresh::copy(&self.body, Substitution::from_iter([(self.var.clone(), value(i))]));
        Stmt::seq((0..iterations).map(copy))
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

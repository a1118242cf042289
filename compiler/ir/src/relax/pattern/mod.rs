//! Patterns of values: "the sum of a constant and a product, of which one factor is a parameter".
//!
//! A pattern is a graph of [`PatternNode`]s below its root. A node that stands at several places matches one value, the
//! same at all of them. Operands are looked at through aliases: where `y = x`, `y` is `x`. What a node other than a call
//! or member matches may be computed anywhere; calls and members are those of the root's block.
//!
//! What a value is related to ([`Relation`]) is a part of the match as well: if no operand leads to what uses a value, it is
//! looked for among the calls that do. A shape is compared with those of values that are in the match.
//!
//! Matching is greedy: of two alternatives, the first that fits is taken, whatever follows. The operands of `add` and
//! `multiply` are tried in both orders.

mod matcher;

use crate::{AttrValue, DType, Name, Type};
use cranelift_entity::{PrimaryMap, entity_impl};
use std::sync::Arc;

pub use matcher::TooManyWays;

/// A node of patterns, by its number in their [`PatternNodes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(u32);
entity_impl!(NodeId, "p");

/// The nodes of patterns that share some.
pub type PatternNodes = PrimaryMap<NodeId, PatternNode>;

/// What a value is to look like.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its nodes, and perhaps those of others.
    pub nodes: Arc<PatternNodes>,
    /// The node that stands for the value itself.
    pub root: NodeId,
}

/// A pattern for a code generator.
#[derive(Clone, Debug)]
pub struct NamedPattern {
    /// The name of the code generator, a dot, and what the values are that the pattern fits.
    pub name: String,
    /// The pattern.
    pub pattern: Pattern,
}

/// What a part of a value is to look like.
#[derive(Clone, Debug)]
pub enum PatternNode {
    /// Anything.
    Any,
    /// A constant tensor.
    Constant,
    /// A variable that nothing binds: a parameter. Of that name, when one is given.
    Parameter(Option<Name>),
    /// A scalar of that value.
    Number(f64),
    /// A shape of these sizes; `None` is any.
    Shape(Vec<Option<i64>>),
    /// A global function whose name contains this.
    Global(Name),
    /// An external function; of that name, when one is given.
    Extern(Option<Name>),
    /// A call.
    Call(CallPattern),
    /// A member of a tuple; any one, when no number is given.
    Member(NodeId, Option<usize>),
    /// A tuple of these members.
    Tuple {
        /// One for each member.
        members: Vec<NodeId>,
        /// True if they come in this order.
        ordered: bool,
    },
    /// Either of two.
    Either(NodeId, NodeId),
    /// Both of two.
    Both(NodeId, NodeId),
    /// Not this.
    Not(NodeId),
    /// A tensor of that kind.
    Tensor(NodeId, TensorPattern),
    /// The first, where it is related to what the second stands for.
    Related(NodeId, Relation, NodeId),
}

/// How two values of a match are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both are tensors of certainly the same shape.
    SameShape,
    /// The first is an operand of the second, a call.
    UsedBy {
        /// The operand's number; `None` is any.
        operand: Option<usize>,
        /// True if nothing else uses the first.
        only: bool,
    },
}

/// What a call is to look like.
#[derive(Clone, Debug)]
pub struct CallPattern {
    /// What is called.
    pub callee: CalleePattern,
    /// Its operands.
    pub args: Vec<NodeId>,
    /// True if more operands may follow.
    pub open: bool,
    /// Values of some of its attributes: plain ones, and lists of such.
    pub attrs: Vec<(Name, AttrValue)>,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum CalleePattern {
    /// The operator of that name.
    Op(&'static str),
    /// A global function whose name contains this.
    Global(Name),
    /// The function found by that name at run time.
    Extern(Name),
}

/// What is asked of a tensor.
#[derive(Clone, Debug, Default)]
pub struct TensorPattern {
    /// Its dtype.
    pub dtype: Option<DType>,
    /// Its rank.
    pub rank: Option<usize>,
    /// Its sizes, as many as it has dimensions; `None` is any.
    pub sizes: Option<Vec<Option<i64>>>,
}

impl TensorPattern {
    fn accepts(&self, ty: &Type) -> bool {
        let Some(tensor) = ty.as_tensor() else { return false };
        let sizes = |wanted: &Vec<Option<i64>>| {
            tensor.dims().is_some_and(|dims| {
                dims.len() == wanted.len()
                    && dims.iter().zip(wanted).all(|(dim, wanted)| wanted.is_none_or(|size| dim.as_int() == Some(size)))
            })
        };
        self.dtype.is_none_or(|dtype| tensor.dtype == Some(dtype))
            && self.rank.is_none_or(|rank| tensor.ndim() == Some(rank))
            && self.sizes.as_ref().is_none_or(sizes)
    }
}

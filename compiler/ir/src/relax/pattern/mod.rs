//! Patterns of values, such as "a constant added to a multiplication by a parameter".
//!
//! A pattern is a graph of [`PatternNode`]s below its root. A node that occurs several times matches the same value at
//! each occurrence. Aliases are resolved: after `y = x`, `y` is `x`. Calls and tuple members match only in the root's
//! block; values that other nodes match may be computed anywhere.
//!
//! Related values ([`Relation`]) are part of the match as well: a user that no operand leads to is searched among the
//! value's users. Shapes are compared with those of values in the match.
//!
//! Matching is greedy: the first alternative that matches is taken, regardless of what follows. The operands of `add`
//! and `multiply` are tried in both orders.

mod matcher;

use crate::{AttrValue, DType, Name, Type};
use cranelift_entity::{PrimaryMap, entity_impl};
use std::sync::Arc;

pub use matcher::TooManyMatches;

/// Index of a pattern node in its [`PatternNodes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(u32);
entity_impl!(NodeId, "p");

/// The nodes of patterns, which may be shared.
pub type PatternNodes = PrimaryMap<NodeId, PatternNode>;

/// A pattern of a value.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Nodes of this pattern, and perhaps of others.
    pub nodes: Arc<PatternNodes>,
    /// The node that matches the value itself.
    pub root: NodeId,
}

/// A pattern for a code generator.
#[derive(Clone, Debug)]
pub struct NamedPattern {
    /// Name of the code generator and of the pattern, separated by a dot.
    pub name: String,
    /// The pattern.
    pub pattern: Pattern,
}

/// A node of a pattern.
#[derive(Clone, Debug)]
pub enum PatternNode {
    /// Anything.
    Any,
    /// A constant tensor.
    Constant,
    /// A parameter, with that name if one is given.
    Parameter(Option<Name>),
    /// A scalar of that value.
    Number(f64),
    /// A shape of these sizes; `None` is any.
    Shape(Vec<Option<i64>>),
    /// A global function whose name contains this.
    Global(Name),
    /// An external function, with that name if one is given.
    Extern(Option<Name>),
    /// A call.
    Call(CallPattern),
    /// A member of a tuple; any member if no index is given.
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
    /// A tensor with these properties.
    Tensor(NodeId, TensorPattern),
    /// The first, related to the value that the second matches.
    Related(NodeId, Relation, NodeId),
}

/// Relation between two matched values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both are tensors of certainly the same shape.
    SameShape,
    /// The first is an operand of the second, a call.
    UsedBy {
        /// The operand's index; `None` is any.
        operand: Option<usize>,
        /// True if nothing else uses the first.
        only: bool,
    },
}

/// A pattern of a call.
#[derive(Clone, Debug)]
pub struct CallPattern {
    /// Callee.
    pub callee: CalleePattern,
    /// Its operands.
    pub args: Vec<NodeId>,
    /// True if more operands may follow.
    pub open: bool,
    /// Values of some of its attributes: plain ones, and lists of such.
    pub attrs: Vec<(Name, AttrValue)>,
}

/// Callee.
#[derive(Clone, Debug)]
pub enum CalleePattern {
    /// The operator of that name.
    Op(&'static str),
    /// A global function whose name contains this.
    Global(Name),
    /// The function found by that name at run time.
    Extern(Name),
}

/// Required properties of a tensor.
#[derive(Clone, Debug, Default)]
pub struct TensorPattern {
    /// Its dtype.
    pub dtype: Option<DType>,
    /// Its rank.
    pub rank: Option<usize>,
    /// Its sizes, one per dimension; `None` is any.
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

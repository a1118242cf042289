//! Layout rules: calls whose operands have other layouts.
//!
//! A tensor's [layout](Layout) has the position of each axis of the program. `ConvertLayout` tracks one per variable
//! and applies the rule of each operator, declared with it ([`crate::Op::layouts`]), which returns the operands'
//! required layouts, the result's layout, and the changed arguments. The call computes the same elements at other
//! positions. An operator without a rule takes its operands in the program's layout.
//!
//! Shapes, ranks and attributes in rules are those of the program.

mod axes;
mod elementwise;
mod shape;
mod window;

pub use axes::{
    along, channels_and_axes, concatenation, expansion, normalized, padded, parts, permutation, reduction, repeated,
    slices, squeezed, stacked, tiled, with_parameters,
};
pub use elementwise::{broadcast, elementwise, gather, in_parts, same_for_all};
pub use shape::{batch_norm, gather_elements, prelu, scatter_elements, scatter_nd};
pub use window::{convolution, pooling, resizing};

use crate::{CallContext, layout::Layout};
use hammock_ir::{
    AttrValue, PrimExpr,
    relax::{InferError, Operand},
};

/// The layout of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// The program's, for any value.
    #[default]
    AsWritten,
    /// Another layout of a tensor.
    Tensor(Layout),
    /// The layouts of a tuple's members, not all of them the program's.
    Tuple(Vec<Arrangement>),
}

impl From<Layout> for Arrangement {
    fn from(layout: Layout) -> Self {
        if layout.is_as_written() { Arrangement::AsWritten } else { Arrangement::Tensor(layout) }
    }
}

impl Arrangement {
    /// The layout of a tuple with members in these layouts.
    pub fn tuple(members: Vec<Arrangement>) -> Self {
        match members.iter().all(|m| *m == Arrangement::AsWritten) {
            true => Arrangement::AsWritten,
            false => Arrangement::Tuple(members),
        }
    }

    /// The layout of the tensor at a path in nested tuples; `None` for the program's.
    pub fn at(&self, position: &[usize]) -> Option<&Layout> {
        match (self, position) {
            (Arrangement::Tensor(layout), []) => Some(layout),
            (Arrangement::Tuple(members), [first, rest @ ..]) => members.get(*first)?.at(rest),
            _ => None,
        }
    }

    /// The layout of one member of a tuple.
    pub fn member(&self, index: usize) -> Arrangement {
        match self {
            Arrangement::Tuple(members) => members.get(index).cloned().unwrap_or_default(),
            _ => Arrangement::AsWritten,
        }
    }
}

/// A rule: `None` if the call must not change.
pub type LayoutRule = Box<dyn Fn(&Relayout) -> Result<Option<LayoutChange>, InferError> + Send + Sync>;

/// The view of a call with operands in other layouts, for rules.
pub struct Relayout<'a> {
    /// The program's call. All its tensors have a known rank.
    pub cx: CallContext<'a>,
    /// The current layout of an operand.
    pub current: &'a dyn Fn(&Operand) -> Arrangement,
    /// The layouts that the user requests for this operator.
    pub desired: Option<&'a [Layout]>,
}

/// A call in new layouts.
#[derive(Debug)]
pub struct LayoutChange {
    /// Layouts of its first operands; the others keep the program's.
    pub operands: Vec<Arrangement>,
    /// Layout of its result.
    pub result: Arrangement,
    /// Attributes that change.
    pub attrs: Vec<(&'static str, AttrValue)>,
    /// Operands that are replaced.
    pub replaced: Vec<(usize, Operand)>,
}

impl LayoutChange {
    /// A call with unchanged arguments.
    pub fn new(operands: impl IntoIterator<Item = Arrangement>, result: impl Into<Arrangement>) -> Self {
        let operands = operands.into_iter().collect();
        LayoutChange { operands, result: result.into(), attrs: Vec::new(), replaced: Vec::new() }
    }

    /// Changes an attribute.
    pub fn attr(mut self, name: &'static str, value: impl Into<AttrValue>) -> Self {
        self.attrs.push((name, value.into()));
        self
    }
}

/// Result of a rule.
pub type RuleResult = Result<Option<LayoutChange>, InferError>;

impl Relayout<'_> {
    /// The number of dimensions of a tensor operand.
    ///
    /// # Errors
    /// When the operand is no tensor of known rank.
    pub fn ndim(&self, param: &str) -> Result<usize, InferError> {
        self.cx
            .tensor(param)?
            .ndim()
            .ok_or_else(|| self.cx.error_at(param, format!("the rank of `{param}` is unknown")))
    }

    /// The layout of the program for that many axes.
    ///
    /// # Errors
    /// When there are too many axes to name.
    pub fn as_written(&self, ndim: usize) -> Result<Layout, InferError> {
        Layout::as_written(ndim).ok_or_else(|| self.cx.error(format_args!("{ndim} dimensions have no layout")))
    }

    /// The layout of a tensor operand.
    ///
    /// # Errors
    /// When the operand is no tensor of known rank.
    pub fn layout(&self, param: &str) -> Result<Layout, InferError> {
        match (self.current)(self.cx.operand(param)?) {
            Arrangement::Tensor(layout) => Ok(layout),
            _ => self.as_written(self.ndim(param)?),
        }
    }

    /// The same, with the program's layout instead of a blocked one.
    ///
    /// # Errors
    /// As for [`Relayout::layout`].
    pub fn unblocked(&self, param: &str) -> Result<Layout, InferError> {
        match self.layout(param)? {
            layout if layout.has_blocks() => self.as_written(layout.primal_ndim()),
            layout => Ok(layout),
        }
    }

    /// The current layout of an operand.
    ///
    /// # Errors
    /// When it is not given.
    pub fn arrangement(&self, param: &str) -> Result<Arrangement, InferError> {
        Ok((self.current)(self.cx.operand(param)?))
    }

    /// Returns true if a tensor operand needs no padding in a layout.
    ///
    /// # Errors
    /// When the operand is no tensor.
    pub fn fits(&self, param: &str, layout: &Layout) -> Result<bool, InferError> {
        let ty = self.cx.tensor(param)?;
        Ok(layout.fits(ty.dims()))
    }

    /// The sizes of the call's result, if it is a tensor of known shape.
    ///
    /// # Errors
    /// When the call has no type.
    pub fn result_dims(&self) -> Result<Option<Vec<PrimExpr>>, InferError> {
        let ty = self.cx.result_ty()?;
        Ok(ty.as_tensor().and_then(|t| t.dims()).map(<[_]>::to_vec))
    }
}

/// A list of positions as an attribute.
fn ints(positions: impl IntoIterator<Item = usize>) -> AttrValue {
    positions.into_iter().map(|p| p as i64).collect::<Vec<_>>().into()
}

/// A position as an attribute.
fn int(position: usize) -> AttrValue {
    AttrValue::Int(position as i64)
}

//! Layout rules of element-wise operators.

use super::{Arrangement, LayoutChange, Relayout, RuleResult};
use crate::layout::Layout;
use hammock_ir::relax::InferError;

/// One tensor, element by element.
pub fn elementwise(call: &Relayout) -> RuleResult {
    let layout: Arrangement = call.layout(call.cx.op.params[0].name)?.into();
    Ok(Some(LayoutChange::new([layout.clone()], layout)))
}

/// One tensor whose shards are concatenated along the first axis.
pub fn gather(call: &Relayout) -> RuleResult {
    let layout = call.layout(call.cx.op.params[0].name)?;
    let stays = layout.axis_position(0) == 0 && layout.block_of(0).is_none();
    if stays { elementwise(call) } else { Ok(None) }
}

/// Like [`elementwise`], for operators with several results like the operand.
pub fn in_parts(call: &Relayout) -> RuleResult {
    let layout: Arrangement = call.layout(call.cx.op.params[0].name)?.into();
    let members = call.cx.result_ty()?.as_tuple().map_or(0, <[_]>::len);
    Ok(Some(LayoutChange::new([layout.clone()], Arrangement::tuple(vec![layout; members]))))
}

/// Several tensors of one shape, element by element: in the layout of the second and third if these agree.
pub fn same_for_all(call: &Relayout) -> RuleResult {
    let names: Vec<&str> = call.cx.op.operands().map(|p| p.name).collect();
    let layouts = names.iter().map(|name| call.layout(name)).collect::<Result<Vec<_>, _>>()?;
    let agreed = if layouts[1] == layouts[2] { &layouts[1] } else { &layouts[0] };
    let fits = names.iter().map(|name| call.fits(name, agreed)).collect::<Result<Vec<_>, _>>()?;
    let layout: Arrangement = match fits.iter().all(|fits| *fits) {
        true => agreed.clone().into(),
        false => Arrangement::AsWritten,
    };
    Ok(Some(LayoutChange::new(vec![layout.clone(); names.len()], layout)))
}

/// Two tensors that broadcast: the layout of one determines the other's.
pub fn broadcast(call: &Relayout) -> RuleResult {
    let (x, y) = (Side::of(call, "x1")?, Side::of(call, "x2")?);
    if (x.layout.has_blocks() || y.layout.has_blocks()) && x.ndim == y.ndim {
        let (leads, follows) = if x.layout.ndim() >= y.layout.ndim() { (&x, &y) } else { (&y, &x) };
        if call.fits_or_scalar(follows.param, &leads.layout)? {
            return both(leads.layout.clone(), leads.layout.clone(), &leads.layout);
        }
    }
    let first_is_smaller = x.ndim <= y.ndim;
    let (small, large) = if first_is_smaller { (&x, &y) } else { (&y, &x) };
    let (to_small, to_large) = match small.ndim {
        0 => (small.layout.clone(), large.layout.clone()),
        _ if !small.layout.has_blocks() => (small.layout.clone(), call.among(&small.layout, large.ndim)?),
        n if n == large.ndim && !large.layout.has_blocks() => (large.layout.clone(), large.layout.clone()),
        n => (call.as_written(n)?, call.as_written(large.ndim)?),
    };
    let result = to_large.clone();
    if first_is_smaller { both(to_small, to_large, &result) } else { both(to_large, to_small, &result) }
}

fn both(x: Layout, y: Layout, result: &Layout) -> RuleResult {
    Ok(Some(LayoutChange::new([x.into(), y.into()], result.clone())))
}

/// One of two operands; scalars have no axes.
struct Side {
    param: &'static str,
    ndim: usize,
    layout: Layout,
}

impl Side {
    fn of(call: &Relayout, param: &'static str) -> Result<Side, InferError> {
        let ndim = call.cx.tensor_or_scalar(param)?.ndim().unwrap_or(0);
        let layout = match call.arrangement(param)? {
            Arrangement::Tensor(layout) => layout,
            _ => call.as_written(ndim)?,
        };
        Ok(Side { param, ndim, layout })
    }
}

impl Relayout<'_> {
    fn fits_or_scalar(&self, param: &str, layout: &Layout) -> Result<bool, InferError> {
        let ty = self.cx.tensor_or_scalar(param)?;
        Ok(layout.fits(ty.dims()))
    }

    /// The layout of a tensor of higher rank whose last axes have this layout.
    pub(super) fn among(&self, layout: &Layout, ndim: usize) -> Result<Layout, InferError> {
        self.as_written(ndim)?;
        let lead = ndim - layout.primal_ndim();
        let own = layout.axes().map(|(axis, block)| (axis + lead, block));
        Ok(Layout::of_axes((0..lead).map(|axis| (axis, None)).chain(own)))
    }
}

//! Layout rules of operators with layout attributes: convolutions, poolings, resizing.

use super::{Arrangement, LayoutChange, Relayout, RuleResult};
use crate::layout::Layout;
use hammock_ir::{AttrValue, relax::InferError};

/// The rule of convolutions over those spatial axes; `channels` are the kernel's first axes. They use the requested
/// layouts. If sizes are not multiples of the blocks, they use the program's layouts, and without a request, the
/// operands' current ones.
pub fn convolution(spatial: &'static str, channels: &'static str) -> impl Fn(&Relayout) -> RuleResult + Send + Sync {
    let (primal, kernel) = (format!("NC{spatial}"), format!("{channels}{spatial}"));
    move |call| {
        let own = [
            call.attribute("data_layout", &primal)?,
            call.attribute("kernel_layout", &kernel)?,
            call.attribute("out_layout", &primal)?,
        ];
        let [Some(data), Some(weight), Some(out)] = own else { return Ok(None) };
        let written = call.as_written(primal.len())?;
        let [x, k] = match call.desired {
            Some([d, w, rest @ ..]) => {
                let goals = [d, w, rest.first().unwrap_or(d)];
                let positions = [(&data, goals[0]), (&weight, goals[1]), (&out, goals[2])];
                if let [Some(x), Some(k), Some(y)] = positions.map(|(own, goal)| written.like(own, goal))
                    && call.fits("data", &x)?
                    && call.fits("weight", &k)?
                    && y.fits(call.result_dims()?.as_deref())
                {
                    return Ok(Some(in_layouts([x, k], y, goals.map(Layout::to_string))));
                }
                [written.clone(), written.clone()]
            }
            _ => [call.unblocked("data")?, call.unblocked("weight")?],
        };
        let moved = [data.like(&written, &x), weight.like(&written, &k), out.like(&written, &x)];
        let [Some(data), Some(weight), Some(out)] = moved else { return Ok(None) };
        Ok(Some(in_layouts([x.clone(), k], x, [data, weight, out].map(|layout| layout.to_string()))))
    }
}

fn in_layouts([data, weight]: [Layout; 2], out: Layout, names: [String; 3]) -> LayoutChange {
    let [data_layout, kernel_layout, out_layout] = names.map(|name| AttrValue::Str(name.into()));
    LayoutChange::new([data.into(), weight.into()], out)
        .attr("data_layout", data_layout)
        .attr("kernel_layout", kernel_layout)
        .attr("out_layout", out_layout)
}

/// The rule of poolings over those spatial axes: they use the operand's current layout.
pub fn pooling(spatial: &'static str) -> impl Fn(&Relayout) -> RuleResult + Send + Sync {
    let primal = format!("NC{spatial}");
    move |call| {
        let own = (call.attribute("layout", &primal)?, call.attribute("out_layout", &primal)?);
        let (Some(own), Some(out)) = own else { return Ok(None) };
        let written = call.as_written(primal.len())?;
        let layouts = |layout: &Layout| Some((own.like(&written, layout)?, out.like(&written, layout)?));
        let suit = |(own, out): &(Layout, Layout)| own.is_layout_of(&primal) && out.is_layout_of(&primal);
        let current = call.layout("data")?;
        let fits = current.fits(call.result_dims()?.as_deref());
        let (layout, moved) = match layouts(&current).filter(|moved| fits && suit(moved)) {
            Some(moved) => (current, moved),
            None => (written, (own, out)),
        };
        let [own, out] = [moved.0, moved.1].map(|layout| AttrValue::Str(layout.to_string().into()));
        let layout: Arrangement = layout.into();
        Ok(Some(LayoutChange::new([layout.clone()], layout).attr("layout", own).attr("out_layout", out)))
    }
}

/// The rule of resizing over those spatial axes: the requested layout, or the operand's.
pub fn resizing(spatial: &'static str) -> impl Fn(&Relayout) -> RuleResult + Send + Sync {
    let primal = format!("NC{spatial}");
    move |call| {
        let Some(own) = call.attribute("layout", &primal)? else { return Ok(None) };
        let written = call.as_written(primal.len())?;
        let layout = match call.desired {
            Some([goal, ..]) => written.like(&own, goal).filter(|layout| !layout.has_blocks()),
            _ => None,
        };
        let layout = layout.map_or_else(|| call.unblocked("data"), Ok)?;
        let moved = own.like(&written, &layout);
        let layout: Arrangement = layout.into();
        let relaid = LayoutChange::new([layout.clone()], layout);
        Ok(moved.map(|moved| relaid.attr("layout", AttrValue::Str(moved.to_string().into()))))
    }
}

impl Relayout<'_> {
    /// The layout in the call's attribute, if it has no blocks.
    fn attribute(&self, name: &str, primal: &str) -> Result<Option<Layout>, InferError> {
        let layout = self.cx.optional_str(name)?.and_then(Layout::parse);
        Ok(layout.filter(|layout| layout.holds(primal) && !layout.has_blocks()))
    }
}

//! Splits the results' channels of grouped convolutions into groups and the channels of a group.
//!
//! All channels of a group read the same data, but along all channels the data vary:
//!
//! ```text
//! y[n, o, i] = Σ x[n, o // 16 * 8 + k, i + u] * w[o, k, u]        o: 64
//! y[n, g * 16 + c, i] = Σ x[n, g * 8 + k, i + u] * w[g * 16 + c, k, u]        g: 4, c: 16
//! ```
//!
//! Then the data are invariant along `c`, so that channels share loaded data, as without groups. Only of constant
//! extents, and if a group has several channels.

use super::{Transform, rewrite_stages};
use crate::{Axis, Epilogue, Stage, access::contraction_operands, index::Simplifier};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "split-group-axes",
    doc: "Splits the channels of grouped convolutions into groups and the channels of a group",
    may_alias: true,
    suits_gpus: false,
    run: |kernel, _| rewrite_stages(kernel, |stage| *stage = split(stage)),
};

/// Minimum number of channels of a group.
const MIN_CHANNELS: i64 = 4;

/// Returns a stage with its groups split, if it has any.
pub fn split(stage: &Stage) -> Stage {
    let groups = (0..stage.axes.len()).find_map(|axis| Groups::of(stage, axis));
    groups.map_or_else(|| stage.clone(), |groups| groups.split(stage))
}

/// An axis of channels that is split.
struct Groups {
    axis: usize,
    var: Var,
    group: Axis,
    channel: Axis,
    /// The position on the axis in terms of the two new ones.
    positions: Substitution,
    simplifier: Simplifier,
}

impl Groups {
    /// Returns the groups of an axis, if one operand of a contraction is the same for all channels of a group, and the
    /// other one is not.
    fn of(stage: &Stage, axis: usize) -> Option<Groups> {
        let (a, b) = contraction_operands(stage)?;
        let Axis { var, extent, reduce: false } = &stage.axes[axis] else { return None };
        let extent = extent.as_int()?;
        let size = divisors(a, var).chain(divisors(b, var)).find(|size| {
            let is_uneven = *size < MIN_CHANNELS || *size >= extent || extent % size != 0;
            let varies = |e: &PrimExpr, groups: &Groups| groups.rewrite(e).uses(&groups.channel.var);
            let of_group = |e: &PrimExpr, groups: &Groups| e.uses(var) && !varies(e, groups);
            !is_uneven && {
                let groups = Groups::new(axis, var, extent, *size);
                of_group(a, &groups) && varies(b, &groups) || of_group(b, &groups) && varies(a, &groups)
            }
        })?;
        Some(Groups::new(axis, var, extent, size))
    }

    fn new(axis: usize, var: &Var, extent: i64, size: i64) -> Groups {
        let group = Axis::spatial(Var::int64(format!("{}_group", var.name())), (extent / size).into());
        let channel = Axis::spatial(Var::int64(var.name().clone()), size.into());
        let position = group.var.expr() * PrimExpr::int64(size) + channel.var.expr();
        let positions = Substitution::from_iter([(var.clone(), position.cast(var.dtype()))]);
        let mut simplifier = Simplifier::default();
        for axis in [&group, &channel] {
            simplifier.learn(&axis.var, &0i64.into(), &axis.extent);
        }
        Groups { axis, var: var.clone(), group, channel, positions, simplifier }
    }

    /// Replaces the axis by the two new ones.
    fn rewrite(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            _ if !e.uses(&self.var) => e.clone(),
            PrimKind::Load(buffer, indices, None) => PrimExpr::load(buffer, self.indices(indices)),
            PrimKind::Var(_) => e.substitute(&self.positions),
            _ => e.map_children(&mut |child| self.rewrite(child)),
        }
    }

    fn indices(&self, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let rewrite = |index: &PrimExpr| match index.uses(&self.var) {
            true => self.simplifier.index(&index.substitute(&self.positions)),
            false => index.clone(),
        };
        indices.iter().map(rewrite).collect()
    }

    fn split(&self, stage: &Stage) -> Stage {
        let mut stage = stage.map_values(|value| self.rewrite(value));
        stage.axes.splice(self.axis..=self.axis, [self.group.clone(), self.channel.clone()]);
        stage.indices = self.indices(&stage.indices);
        let epilogue = stage.epilogue.take();
        stage.epilogue = epilogue.map(|epilogue| Epilogue { indices: self.indices(&epilogue.indices), ..epilogue });
        stage
    }
}

/// Returns the constants that an axis is divided by.
fn divisors(e: &PrimExpr, var: &Var) -> impl Iterator<Item = i64> {
    let mut found = Vec::new();
    e.walk(&mut |e| {
        if let PrimKind::Binary(BinaryOp::FloorDiv, position, size) = e.kind()
            && position.as_var() == Some(var)
        {
            found.extend(size.as_int());
        }
    });
    found.into_iter()
}

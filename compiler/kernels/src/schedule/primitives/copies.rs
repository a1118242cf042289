//! Primitives that change copies.

use super::{
    EditResult, Rejection,
    edit::{Copy, Edit, reject},
};
use crate::schedule::Staged;
use hammock_loopnest::access::{can_be_copied, loads, parts};

impl Edit<'_> {
    fn part(&self, part: usize) -> String {
        self.parts[part].clone()
    }

    fn copy(&self, part: usize) -> Option<usize> {
        self.plan.staged.iter().position(|staged| staged.load == part)
    }

    pub(in crate::schedule) fn cache_read(
        &mut self,
        part: usize,
        axes: Option<Vec<usize>>,
        inside: usize,
    ) -> EditResult {
        if part >= loads(self.stage).len() {
            let message = format!("`{}` is computed, not read", self.part(part));
            return reject(message, format!("`pack {}` copies what is computed", self.part(part)));
        }
        self.add(part, axes, inside)
    }

    /// Packs an operand inside the innermost loop outside the tile that it varies along.
    pub(in crate::schedule) fn pack(&mut self, part: usize) -> EditResult {
        let e = parts(self.stage)[part];
        let outer = &self.plan.loops[..self.plan.tile(self.stage)];
        let changes = |axis: usize| e.uses(&self.stage.axes[axis].var);
        let inside = outer.iter().rposition(|l| changes(l.axis)).map_or(0, |last| last + 1);
        self.add(part, None, inside)
    }

    fn add(&mut self, part: usize, axes: Option<Vec<usize>>, inside: usize) -> EditResult {
        let e = parts(self.stage)[part];
        if self.copy(part).is_some() {
            let message = format!("`{}` is copied already", self.part(part));
            return reject(message, "`attach` moves a copy, and `inline` leaves it out");
        }
        if !can_be_copied(self.stage, e) {
            let message = format!("loads of `{}` are conditional, or their indices are not affine", self.part(part));
            return reject(message, "leave it out");
        }
        let axes = axes.unwrap_or_else(|| self.plan.in_tile_order(self.stage, e, inside));
        // It is scheduled once all other loops are known.
        self.plan.staged.push(Staged::new(part, inside, axes));
        self.copies.push(Copy { change: Some(self.now), sizes: None });
        Ok(())
    }

    pub(in crate::schedule) fn attach(&mut self, part: usize, inside: usize) -> EditResult {
        let copy = self.copied(part)?;
        self.plan.staged[copy].inside = inside;
        self.copies[copy].change = Some(self.now);
        Ok(())
    }

    /// Pads a copy along axes.
    pub(in crate::schedule) fn pad(&mut self, part: usize, axes: &[usize], to: i64) -> EditResult {
        let copy = self.copied(part)?;
        let staged = &mut self.plan.staged[copy];
        if let Some(axis) = axes.iter().find(|axis| !staged.axes.contains(axis)) {
            let message = format!("the copy of `{}` has no dimension along `{}`", self.parts[part], self.axes[*axis]);
            return reject(message, "name an axis that it changes along where it is made");
        }
        for axis in axes {
            match to {
                1 => staged.padded.remove(axis),
                _ => staged.padded.insert(*axis, to),
            };
        }
        self.copies[copy].change = Some(self.now);
        Ok(())
    }

    pub(in crate::schedule) fn inline(&mut self, part: usize) -> EditResult {
        let copy = self.copied(part)?;
        self.plan.staged.remove(copy);
        self.copies.remove(copy);
        Ok(())
    }

    fn copied(&self, part: usize) -> Result<usize, Rejection> {
        self.copy(part).ok_or_else(|| {
            Rejection::new(
                format!("there is no copy of `{}`", self.part(part)),
                "`cache_read` and `pack` make one; stages are fused before they are scheduled",
            )
        })
    }
}

//! Binds the rows of a GPU's block: one row, or a tile of an online softmax.

use super::{Base, BindRows, Result, explicit_loops};
use crate::schedule::{
    OnlinePlan, PlanError, RowsPlan, StagePlan,
    gpu::online,
    read::{At, OnlineText, RowsText, StageText},
};

/// Maximum rows and elements of a tile on tensor cores.
const MAX_FRAGMENT_TILE: i64 = 128;

impl BindRows<'_> {
    /// Checks how an online softmax takes the elements of a row, and returns it.
    pub(super) fn online(&self, text: &OnlineText) -> Result<OnlinePlan> {
        let ctx = self.how.ctx;
        let found = match ctx.gpu {
            Some(_) => self.rows.online(),
            None => self.rows.online_form().map(|(_, online)| online),
        };
        let Some(found) = found.filter(|_| !ctx.strict_order && text.elements.value > 0) else {
            let message = "these rows cannot run as an online softmax";
            let help = "only those around a softmax can, without --strict-order; leave out `online`";
            return Err(PlanError::new(text.elements.span, message).help(help));
        };
        let range = 1..=online::MAX_SPLITS;
        let of_gpus = text.splits.as_ref().map(|splits| splits.span).or(text.tensor_cores);
        if let Some(span) = of_gpus.filter(|_| ctx.gpu.is_none()) {
            let message = "splits and tensor cores are for GPUs";
            return Err(PlanError::new(span, message).help("leave them out"));
        }
        let is_wrong = |splits: &&At<i64>| !range.contains(&splits.value) || !found.can_be_split();
        if let Some(splits) = text.splits.as_ref().filter(is_wrong) {
            let message = format!("rows have up to {} splits, and nothing is computed before them", online::MAX_SPLITS);
            return Err(PlanError::new(splits.span, message).help("leave out `in N splits`, or choose fewer"));
        }
        let splits = text.splits.as_ref().map_or(1, |splits| splits.value);
        Ok(OnlinePlan {
            elements: text.elements.value,
            splits,
            tensor_cores: text.tensor_cores.is_some(),
            clamps: ctx.gpu.is_some(),
        })
    }

    /// Checks that a block of a GPU has one row, or a tile of an online softmax that fits.
    pub(super) fn check_block_rows(&self, text: &RowsText) -> Result<()> {
        let is_plain = text.copied.is_empty() && text.parallel.is_none();
        match (&text.tiles[..], text.online.as_ref().zip(self.rows.online())) {
            ([(count, _)], Some((own, online))) if is_plain && count.value > 0 && own.elements.value > 0 => {
                let tile = (count.value, own.elements.value);
                let limit = self.how.ctx.gpu.map_or(0, |gpu| i64::from(gpu.max_static_shared));
                let is_small = |size: i64| size <= MAX_FRAGMENT_TILE && size % 16 == 0;
                let fits = match own.tensor_cores {
                    Some(_) => is_small(tile.0) && is_small(tile.1),
                    None => self.rows.online_bytes(&online, tile).is_some_and(|bytes| bytes <= limit),
                };
                if fits {
                    return Ok(());
                }
                let message = match own.tensor_cores {
                    Some(_) => format!(
                        "a tile on tensor cores has up to {MAX_FRAGMENT_TILE} rows and elements, multiples of 16"
                    ),
                    None => format!("the tile does not fit into {limit} bytes of shared memory"),
                };
                Err(PlanError::new(count.span, message).help("choose other numbers of rows or elements"))
            }
            ([(count, _)], None) if count.value == 1 && is_plain => Ok(()),
            _ => Err(PlanError::new(text.span, "a block of a GPU computes one row")
                .help("write `rows, 1 at a time:` with a line for each stage")),
        }
    }

    /// Binds the plans of the stages of a tile on tensor cores, which are given.
    pub(super) fn fragments(&self, number: &At<i64>, texts: &[StageText], plan: &RowsPlan) -> Result<Vec<StagePlan>> {
        let stages = plan.sample(self.rows, number.value);
        let own = online::fragment_plans(self.rows, plan, number.value, self.how.ctx);
        let Some(own) = own.filter(|own| own.len() == texts.len()) else {
            let message = "tensor cores do not compute these rows";
            let help =
                "they multiply float16 or bfloat16 with sums of float32, in registers; leave out `on tensor cores`";
            return Err(PlanError::new(number.span, message).help(help));
        };
        for ((text, stage), own) in texts.iter().zip(&stages).zip(&own) {
            let is_own = match &text.base {
                Base::Planned(None) => true,
                Base::Planned(Some(_)) => false,
                Base::Explicit(text) => {
                    let is_plain = text.copies.is_empty() && text.hoists_reciprocal.is_none();
                    is_plain && explicit_loops(text, &self.how.naming.axes(stage))? == own.loops
                }
            };
            if !is_own || !text.changes.is_empty() {
                let message = "on tensor cores, the loops of this stage are fixed";
                let help = "write `planned`, or leave out `on tensor cores`";
                return Err(PlanError::new(text.span, message).help(help));
            }
        }
        Ok(own)
    }
}

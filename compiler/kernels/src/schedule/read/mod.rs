//! Parses the text of plans. Names are resolved later, by [`bind`](super::bind).
//!
//! ```text
//! kernel:                                        a kernel, then its parts, indented
//!     opaque, 2 loops parallel 5                 opaque statements; perhaps with outermost loops parallel
//!     rule: a by 4 parallel 2, b, a unrolled     a stage: loops, outermost first
//!     rule: k by 64, a by 4 prefetch, k, a       tiles that prefetch what the next iteration of `k by 64` reads
//!     rule: a, copy of x as [b] (rule: b), b     the same with a copy of a loaded operand
//!     rule: a, copy of x as [k by 4, a] (rule: k, a), k by 4, a vector, k dot
//!                                                    dot instructions; the copy is packed in groups of 4
//!     rule: a, copy of x as [b padded 8] (rule: b), b
//!                                                    a copy padded to a multiple of 8
//!     rule: a, copy of x as [b] in 3 stages (rule: b), b
//!                                                    copies that run ahead of their use
//!     copy of x as [b] for stage 1 (rule: b)     row-tiled stages: copies before the tiles,
//!     rows, 8 at a time, a parallel 1:           the rows of a tile,
//!         rule: b                                and a line for each stage; the same for `rows left`
//!     rows, 32 at a time, online 64:             the rows of a tile, or of a GPU's block, and the elements of a row
//!         rule: b                                that an online softmax takes at a time
//!     planned                                    the choice of the rules, or of one rule by `planned by RULE`,
//!         split a by 64                          and below any stage's line primitives that change it
//! ```
//!
//! A `#` after a space or at the beginning of a line starts a remark.

mod lines;
mod primitives;
mod stages;

use super::{
    LoopKind,
    names::{self, Naming},
};
use hammock_ir::Span;
use hammock_runtime::suggest::nearest;
use lines::{Line, lines};
pub(super) use primitives::{ArgsText, ChangeText, LoopName};
use stages::parts;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Error in a plan.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}")]
pub struct PlanError {
    /// Location in the text of plans.
    pub span: Span,
    /// Description of the error.
    pub message: String,
    /// Suggested fix.
    pub help: Option<String>,
}

impl PlanError {
    /// Creates an error without a suggestion.
    pub fn new(span: Span, message: impl Into<String>) -> PlanError {
        PlanError { span, message: message.into(), help: None }
    }

    /// Adds a suggestion.
    pub fn help(self, help: impl Into<String>) -> PlanError {
        PlanError { help: Some(help.into()), ..self }
    }
}

type Result<T> = std::result::Result<T, PlanError>;

/// A file of plans.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// Plans by kernel name, as written.
    kernels: BTreeMap<String, ParsedPlan>,
}

/// Parsed plan of a kernel.
#[derive(Clone, Debug)]
pub struct ParsedPlan {
    /// Location of the kernel's name.
    pub span: Span,
    /// Naming of axes and buffers.
    pub(super) naming: Naming,
    /// The parts.
    pub(super) parts: Vec<PartText>,
}

#[derive(Clone, Debug)]
pub(super) enum PartText {
    Opaque(Span, Option<(At<i64>, At<i64>)>),
    Stage(StageText),
    Rows(RowsText),
}

/// A value with its location.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub value: T,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(super) struct RowsText {
    pub span: Span,
    pub copied: Vec<(At<usize>, CopyText)>,
    pub parallel: Option<(At<String>, At<i64>)>,
    pub online: Option<OnlineText>,
    pub tiles: Vec<(At<i64>, Vec<StageText>)>,
}

/// How an online softmax takes the elements of a row.
#[derive(Clone, Debug)]
pub(super) struct OnlineText {
    pub elements: At<i64>,
    pub splits: Option<At<i64>>,
    pub tensor_cores: Option<Span>,
}

#[derive(Clone, Debug)]
pub(super) struct StageText {
    pub span: Span,
    pub base: Base,
    /// Primitives that change it.
    pub changes: Vec<ChangeText>,
}

/// Initial plan of a stage, before primitives.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// Choice of the first rule that matches, or of this one.
    Planned(Option<At<String>>),
    /// Explicit loops.
    Explicit(ExplicitText),
}

#[derive(Clone, Debug)]
pub(super) struct ExplicitText {
    pub span: Span,
    pub rule: At<String>,
    pub loops: Vec<LoopText>,
    pub copies: Vec<CopyText>,
    pub hoists_reciprocal: Option<Span>,
}

#[derive(Clone, Debug)]
pub(super) struct LoopText {
    pub span: Span,
    pub axis: At<String>,
    pub step: i64,
    pub kind: LoopKind,
}

#[derive(Clone, Debug)]
pub(super) struct CopyText {
    pub span: Span,
    pub load: At<String>,
    pub inside: usize,
    pub axes: Vec<At<String>>,
    /// Group size of each axis that is packed.
    pub groups: Vec<Option<At<i64>>>,
    /// Multiple that each padded axis is padded to.
    pub padded: Vec<Option<At<i64>>>,
    /// Number of tiles that the copies of a GPU are ahead.
    pub stages: Option<At<i64>>,
    pub copy: StageText,
}

impl ParsedPlan {
    /// Returns true if it names axes and buffers rather than numbering them.
    pub fn has_names(&self) -> bool {
        self.naming == Naming::Own
    }
}

impl Plans {
    /// Parses a text.
    ///
    /// # Errors
    /// If the text is malformed.
    pub fn read(text: &str) -> Result<Plans> {
        Plans::read_named(text, Naming::Own)
    }

    /// Parses a text in which axes and buffers are numbered.
    ///
    /// # Errors
    /// If the text is malformed.
    pub fn read_numbered(text: &str) -> Result<Plans> {
        Plans::read_named(text, Naming::Numbers)
    }

    /// Returns the kernels' names and their locations.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, Span)> {
        self.kernels.iter().map(|(name, written)| (name.as_str(), written.span))
    }

    fn read_named(text: &str, naming: Naming) -> Result<Plans> {
        let lines: Vec<Line> = lines(text);
        let (mut plans, mut at) = (Plans::default(), 0);
        while let Some(line) = lines.get(at) {
            let name = line.name()?;
            let indented = lines[at + 1..].iter().take_while(|line| line.indent > 0).count();
            let parts = parts(&lines[at + 1..=at + indented])?;
            if plans.kernels.insert(name.to_owned(), ParsedPlan { span: line.span(), naming, parts }).is_some() {
                return Err(PlanError::new(line.span(), format!("there are two plans for kernel `{name}`")));
            }
            at += 1 + indented;
        }
        Ok(plans)
    }

    /// Returns the plan of a kernel.
    pub fn of(&self, kernel: &str) -> Option<&ParsedPlan> {
        self.kernels.get(&names::kernel(kernel))
    }

    /// Returns the plans restricted to one kernel.
    pub fn only(&self, kernel: &str) -> Plans {
        let key = names::kernel(kernel);
        let own = self.kernels.get(&key).map(|written| (key, written.clone()));
        Plans { kernels: own.into_iter().collect() }
    }

    /// Returns the plans with a kernel renamed.
    pub fn renamed(&self, from: &str, to: &str) -> Plans {
        let (from, to) = (names::kernel(from), names::kernel(to));
        let own = |key: &String| if *key == from { to.clone() } else { key.clone() };
        Plans { kernels: self.kernels.iter().map(|(key, written)| (own(key), written.clone())).collect() }
    }

    /// Reports the first plan that is for none of these kernels.
    ///
    /// # Errors
    /// If there is one.
    pub fn check_kernels(&self, kernels: &[&str]) -> Result<()> {
        let keys: BTreeSet<String> = kernels.iter().map(|name| names::kernel(name)).collect();
        let others = self.kernels.iter().filter(|(name, _)| !keys.contains(*name));
        let Some((name, written)) = others.min_by_key(|(_, written)| written.span.start) else { return Ok(()) };
        let error = PlanError::new(written.span, format!("the module has no kernel `{name}`"));
        Err(error.help(match nearest(name, keys.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hammock opt --print-plans` with the same flags lists those that it has; if `--params` makes all \
                     inputs of a kernel constant, it runs at compile time and needs no plan: remove its lines"
                .to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests;

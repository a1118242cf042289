//! The text of plans, read: names are not known here, only where they stand. [`bind`](super::bind) finds what they name.
//!
//! ```text
//! kernel:                                        a kernel, then its parts, indented
//!     as written, 2 loops parallel 5             a part that is no stage; perhaps with threads for the outermost loops
//!     rule: a by 4 parallel 2, b, a unrolled     a stage: loops, outermost first
//!     rule: a, copy of x as [b] (rule: b), b     the same with a copy of what a load reads
//!     rule: a, copy of x as [k by 4, a] (rule: k, a), k by 4, a vector, k dot
//!                                                    dot products, whose copies are in words of 4 terms
//!     rule: a, copy of x as [b padded 8] (rule: b), b
//!                                                    a copy with room for a multiple of 8 values
//!     copy of x as [b] for stage 1 (rule: b)     stages that share rows: what is copied before them,
//!     rows, 8 at a time, a parallel 1:           how many rows run together,
//!         rule: b                                and a line for each stage; so again for the `rows left`
//!     planned                                    what rules choose, or with `planned by RULE` what this one does,
//!         split a by 64                          and below any stage's line primitives that change it
//! ```
//!
//! A `#` after a space or at the beginning of a line begins a remark.

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

/// Why a plan cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}")]
pub struct PlanError {
    /// Where in the text of plans.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl PlanError {
    /// An error without advice.
    pub fn new(span: Span, message: impl Into<String>) -> PlanError {
        PlanError { span, message: message.into(), help: None }
    }

    /// With advice.
    pub fn help(self, help: impl Into<String>) -> PlanError {
        PlanError { help: Some(help.into()), ..self }
    }
}

type Result<T> = std::result::Result<T, PlanError>;

/// A file of plans.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// By the kernels' names, as they are written.
    kernels: BTreeMap<String, Written>,
}

/// A kernel's plan, as written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where the kernel's name stands.
    pub span: Span,
    /// What axes and buffers are called.
    pub(super) naming: Naming,
    /// The parts.
    pub(super) parts: Vec<PartText>,
}

#[derive(Clone, Debug)]
pub(super) enum PartText {
    AsWritten(Span, Option<(At<i64>, At<i64>)>),
    Stage(StageText),
    Rows(RowsText),
}

/// Something with its place.
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
    pub tiles: Vec<(At<i64>, Vec<StageText>)>,
}

#[derive(Clone, Debug)]
pub(super) struct StageText {
    pub span: Span,
    pub base: Base,
    /// What is done to it afterwards.
    pub changes: Vec<ChangeText>,
}

/// What the plan of a stage begins with.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// What the first rule chooses that is for the stage, or this one.
    Planned(Option<At<String>>),
    /// Loops.
    Written(WrittenText),
}

#[derive(Clone, Debug)]
pub(super) struct WrittenText {
    pub span: Span,
    pub rule: At<String>,
    pub loops: Vec<LoopText>,
    pub copies: Vec<CopyText>,
    pub inverts: Option<Span>,
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
    /// For each axis how many terms a word of it has, where it is in words.
    pub words: Vec<Option<At<i64>>>,
    /// For each axis up to a multiple of which number there is room.
    pub padded: Vec<Option<At<i64>>>,
    pub copy: StageText,
}

impl Written {
    /// Returns true if it names axes and buffers of one kernel, not numbers of any.
    pub fn has_names(&self) -> bool {
        self.naming == Naming::Own
    }
}

impl Plans {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is not the text of plans.
    pub fn read(text: &str) -> Result<Plans> {
        Plans::read_named(text, Naming::Own)
    }

    /// Reads a text in which axes and buffers are called by their numbers.
    ///
    /// # Errors
    /// When it is not the text of plans.
    pub fn read_numbered(text: &str) -> Result<Plans> {
        Plans::read_named(text, Naming::Numbers)
    }

    /// The kernels' names, and where they stand.
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
            if plans.kernels.insert(name.to_owned(), Written { span: line.span(), naming, parts }).is_some() {
                return Err(PlanError::new(line.span(), format!("there are two plans for kernel `{name}`")));
            }
            at += 1 + indented;
        }
        Ok(plans)
    }

    /// The plan of a kernel.
    pub fn of(&self, kernel: &str) -> Option<&Written> {
        self.kernels.get(&names::kernel(kernel))
    }

    /// The same with the plan of one kernel only.
    pub fn only(&self, kernel: &str) -> Plans {
        let key = names::kernel(kernel);
        let own = self.kernels.get(&key).map(|written| (key, written.clone()));
        Plans { kernels: own.into_iter().collect() }
    }

    /// The same, where a kernel has another name now.
    pub fn renamed(&self, from: &str, to: &str) -> Plans {
        let (from, to) = (names::kernel(from), names::kernel(to));
        let own = |key: &String| if *key == from { to.clone() } else { key.clone() };
        Plans { kernels: self.kernels.iter().map(|(key, written)| (own(key), written.clone())).collect() }
    }

    /// The first plan that is for none of these kernels.
    ///
    /// # Errors
    /// When there is one.
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

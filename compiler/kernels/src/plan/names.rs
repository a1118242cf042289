//! What axes and buffers are called in the text of plans: as in the program, with a number where names repeat.

use crate::stage::{Stage, access, row_tiling::Rows};
use hammock_ir::prim::PrimKind;

/// What axes and buffers are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As in the program: see [`axes`], [`parts`], [`rows`].
    Own,
    /// By their numbers, so that kernels that differ by names only have plans in common.
    Numbers,
}

impl Naming {
    /// The names of a stage's axes.
    pub fn axes(self, stage: &Stage) -> Vec<String> {
        if self == Naming::Own { axes(stage) } else { numbers("axis", stage.axes.len()) }
    }

    /// The names of what may be copied of a stage.
    pub fn parts(self, stage: &Stage) -> Vec<String> {
        if self == Naming::Own { parts(stage) } else { numbers("part", access::parts(stage).len()) }
    }

    /// The names of the axes that stages share.
    pub fn rows(self, shared: &Rows) -> Vec<String> {
        if self == Naming::Own { rows(shared) } else { numbers("row", shared.vars().count()) }
    }
}

fn numbers(kind: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{kind}{number}")).collect()
}

/// The names of a stage's axes: those of its variables.
pub fn axes(stage: &Stage) -> Vec<String> {
    distinct(stage.axes.iter().map(|axis| axis.var.name().as_str()))
}

/// The names of a stage's loads: of the buffers that they read.
pub fn loads(stage: &Stage) -> Vec<String> {
    let name = |load: &hammock_ir::PrimExpr| match load.kind() {
        PrimKind::Load(buffer, ..) => buffer.name.to_string(),
        _ => String::new(),
    };
    let names: Vec<String> = access::loads(stage).into_iter().map(name).collect();
    distinct(names.iter().map(String::as_str))
}

/// The names of what may be copied of a stage: of the buffers that loads read, and `factor` or `value` for what is computed.
pub fn parts(stage: &Stage) -> Vec<String> {
    let made = if stage.reduces() { "factor" } else { "value" };
    let name = |part: &hammock_ir::PrimExpr| match part.kind() {
        PrimKind::Load(buffer, ..) => buffer.name.to_string(),
        _ => made.to_owned(),
    };
    let names: Vec<String> = access::parts(stage).into_iter().map(name).collect();
    distinct(names.iter().map(String::as_str))
}

/// The names of the axes that stages share.
pub fn rows(rows: &Rows) -> Vec<String> {
    distinct(rows.vars().map(|var| var.name().as_str()))
}

/// How a kernel's name stands at the beginning of its plan.
pub fn kernel(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { format!("{name:?}") }
}

/// Names as words that differ.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for name in names {
        let word: String =
            name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '_' | '.') { c } else { '_' }).collect();
        let word = if word.is_empty() { "_".to_owned() } else { word };
        let before = words.iter().filter(|other| **other == word).count();
        found.push(if before == 0 { word.clone() } else { format!("{word}#{}", before + 1) });
        words.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_that_differ() {
        assert_eq!(distinct(["a", "b", "a", "a b", "", "a_b"].into_iter()), ["a", "b", "a#2", "a_b", "_", "a_b#2"]);
        assert_eq!([kernel("f_1"), kernel("a: b"), kernel("")], ["f_1", "\"a: b\"", "\"\""]);
    }
}

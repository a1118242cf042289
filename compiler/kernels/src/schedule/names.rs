//! Names of axes and buffers in the text of plans: as in the program, with a number appended to duplicates.

use hammock_ir::prim::PrimKind;
use hammock_loopnest::{Stage, access, row_tiling::Rows};

/// Naming of axes and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As in the program: see [`axes`], [`parts`], [`rows`].
    Own,
    /// By index, so that kernels that differ in names only have the same plans.
    Numbers,
}

impl Naming {
    /// Returns the names of a stage's axes.
    pub fn axes(self, stage: &Stage) -> Vec<String> {
        if self == Naming::Own { axes(stage) } else { numbers("axis", stage.axes.len()) }
    }

    /// Returns the names of a stage's copy candidates.
    pub fn parts(self, stage: &Stage) -> Vec<String> {
        if self == Naming::Own { parts(stage) } else { numbers("part", access::parts(stage).len()) }
    }

    /// Returns the names of row axes.
    pub fn rows(self, shared: &Rows) -> Vec<String> {
        if self == Naming::Own { rows(shared) } else { numbers("row", shared.vars().count()) }
    }
}

fn numbers(kind: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{kind}{number}")).collect()
}

/// Returns the names of a stage's axes: those of its variables.
pub fn axes(stage: &Stage) -> Vec<String> {
    distinct(stage.axes.iter().map(|axis| axis.var.name().as_str()))
}

/// Returns the names of a stage's loads: of the buffers that they read.
pub fn loads(stage: &Stage) -> Vec<String> {
    let name = |load: &hammock_ir::PrimExpr| match load.kind() {
        PrimKind::Load(buffer, ..) => buffer.name.to_string(),
        _ => String::new(),
    };
    let names: Vec<String> = access::loads(stage).into_iter().map(name).collect();
    distinct(names.iter().map(String::as_str))
}

/// Returns the names of a stage's copy candidates: of loaded buffers, and `operand` or `value` for computed ones.
pub fn parts(stage: &Stage) -> Vec<String> {
    let made = if stage.reduces() { "operand" } else { "value" };
    let name = |part: &hammock_ir::PrimExpr| match part.kind() {
        PrimKind::Load(buffer, ..) => buffer.name.to_string(),
        _ => made.to_owned(),
    };
    let names: Vec<String> = access::parts(stage).into_iter().map(name).collect();
    distinct(names.iter().map(String::as_str))
}

/// Returns the names of row axes.
pub fn rows(rows: &Rows) -> Vec<String> {
    distinct(rows.vars().map(|var| var.name().as_str()))
}

/// Returns a kernel's name as written in a plan's header.
pub fn kernel(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { format!("{name:?}") }
}

/// Makes names unique identifiers.
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

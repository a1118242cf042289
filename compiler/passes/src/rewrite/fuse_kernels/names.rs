//! Unique names of blocks in a kernel, which schedules rely on.

use hammock_ir::{
    Name,
    tir::{Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Renames blocks whose names are taken: `add`, `add1`, `add2`.
pub fn make_unique(stmt: &mut Stmt, taken: &mut FxHashSet<Name>) {
    if let StmtKind::Block(block) = &mut stmt.kind {
        block.name = unique(&block.name, taken);
    }
    stmt.each_child_mut(&mut |child| make_unique(child, taken));
}

fn unique(name: &Name, taken: &mut FxHashSet<Name>) -> Name {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let first = name[base.len()..].parse::<u32>().map_or(1, |number| number.saturating_add(1));
    let mut candidates = (first..=u32::MAX).map(|number| Name::from(format!("{base}{number}")));
    let mut candidate = name.clone();
    while !taken.insert(candidate.clone()) {
        match candidates.next() {
            Some(next) => candidate = next,
            None => return name.clone(),
        }
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_on() {
        let mut taken = FxHashSet::default();
        let mut give = |name: &str| unique(&Name::from(name), &mut taken).to_string();
        assert_eq!(
            ["T_add", "T_add", "T_add", "T_add1", "T_add_1", "T_add_1"].map(&mut give),
            ["T_add", "T_add1", "T_add2", "T_add3", "T_add_1", "T_add_2"]
        );
    }
}

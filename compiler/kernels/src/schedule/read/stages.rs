//! Parses the parts of a kernel's plan: loops and copies.

use super::{
    At, Base, CopyText, ExplicitText, LoopText, OnlineText, PartText, PlanError, Result, RowsText, StageText,
    lines::{Cursor, Line},
    primitives::changes,
};
use crate::schedule::LoopKind;

/// Maximum nesting depth of copies.
const MAX_DEPTH: usize = 8;

/// Parses the parts of a kernel.
pub fn parts(lines: &[Line]) -> Result<Vec<PartText>> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(line) = lines.get(at) {
        let mut cursor = line.cursor();
        if cursor.takes(&["opaque"]) {
            let parallel = cursor.spread()?;
            cursor.end()?;
            parts.push(PartText::Opaque(line.span(), parallel));
            at += 1;
        } else if cursor.begins(&["copy", "of"]) || cursor.begins(&["rows"]) {
            let (rows, count) = rows(&lines[at..])?;
            parts.push(PartText::Rows(rows));
            at += count;
        } else {
            let (stage, count) = stage(&lines[at..])?;
            parts.push(PartText::Stage(stage));
            at += count;
        }
    }
    Ok(parts)
}

/// Parses a stage with its primitives. Also returns the number of lines.
fn stage(lines: &[Line]) -> Result<(StageText, usize)> {
    let mut cursor = lines[0].cursor();
    let mut stage = cursor.stage()?;
    cursor.end()?;
    stage.changes = changes(&lines[1..], lines[0].indent)?;
    let count = 1 + stage.changes.len();
    Ok((stage, count))
}

/// Parses row-tiled stages. Also returns the number of lines.
fn rows(lines: &[Line]) -> Result<(RowsText, usize)> {
    let mut rows =
        RowsText { span: lines[0].span(), copied: Vec::new(), parallel: None, online: None, tiles: Vec::new() };
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let mut cursor = line.cursor();
        let left = cursor.begins(&["rows", "left"]);
        if cursor.begins(&["copy", "of"]) && rows.tiles.is_empty() {
            rows.copied.push(cursor.copy_for_stage()?);
            at += 1;
        } else if cursor.takes(&["rows"]) && left != rows.tiles.is_empty() {
            let count = cursor.rows(left, &mut rows)?;
            let inside = lines[at + 1..].iter().take_while(|inner| inner.indent > line.indent).count();
            let (mut stages, end) = (Vec::new(), at + 1 + inside);
            at += 1;
            while at < end {
                let (stage, count) = stage(&lines[at..end])?;
                stages.push(stage);
                at += count;
            }
            rows.tiles.push((count, stages));
        } else if rows.tiles.is_empty() {
            let error = PlanError::new(line.span(), "expected `rows, N at a time:`");
            return Err(error.help("`rows left` follows other rows, and `copy of` stands before rows"));
        } else {
            break;
        }
    }
    if rows.tiles.is_empty() {
        return Err(PlanError::new(rows.span, "no `rows, N at a time:` follows this copy"));
    }
    Ok((rows, at))
}

impl Cursor<'_> {
    /// Parses the number of parallel loops around opaque statements, and the minimum iterations for a thread.
    fn spread(&mut self) -> Result<Option<(At<i64>, At<i64>)>> {
        if !self.takes(&[","]) {
            return Ok(None);
        }
        let loops = self.number("the number of parallel loops")?;
        if !self.takes(&[if loops.value == 1 { "loop" } else { "loops" }, "parallel"]) {
            return self.expected("`loops parallel N`");
        }
        Ok(Some((loops, self.number("the minimum iterations for a thread")?)))
    }

    /// Parses `rule: loops and copies`, or `planned`.
    fn stage(&mut self) -> Result<StageText> {
        let first = self.next;
        let base = match self.takes(&["planned"]) {
            true if self.takes(&["by"]) => Base::Planned(Some(self.word("the name of a rule")?)),
            true => Base::Planned(None),
            false => Base::Explicit(self.explicit()?),
        };
        Ok(StageText { span: self.since(first), base, changes: Vec::new() })
    }

    fn explicit(&mut self) -> Result<ExplicitText> {
        let first = self.next;
        let rule = self.word("the name of a rule")?;
        self.expect(":")?;
        let mut stage =
            ExplicitText { span: rule.span, rule, loops: Vec::new(), copies: Vec::new(), hoists_reciprocal: None };
        while self.next < self.tokens.len() && !self.begins(&[")"]) {
            if !stage.loops.is_empty() || !stage.copies.is_empty() || stage.hoists_reciprocal.is_some() {
                self.expect(",")?;
            }
            if self.begins(&["copy", "of"]) {
                let copy = self.copy(stage.loops.len(), &mut |cursor| cursor.expect("("))?;
                stage.copies.push(copy);
            } else if self.takes(&["reciprocal", "hoisted"]) {
                stage.hoists_reciprocal = Some(self.since(self.next - 2));
            } else {
                stage.loops.push(self.one_loop()?);
            }
        }
        stage.span = self.since(first);
        Ok(stage)
    }

    /// Parses `axis by 4 parallel 2`.
    fn one_loop(&mut self) -> Result<LoopText> {
        let first = self.next;
        let axis = self.word("an axis")?;
        let step = if self.takes(&["by"]) { self.number("a step")?.value } else { 1 };
        let kind = match () {
            () if self.takes(&["prefetch"]) => LoopKind::Prefetch,
            () if self.takes(&["unrolled"]) => LoopKind::Unrolled,
            () if self.takes(&["vector"]) => LoopKind::Vector,
            () if self.takes(&["dot"]) => LoopKind::Dot,
            () if self.takes(&["grid"]) => LoopKind::Grid(self.number("the threads of a block")?.value),
            () if self.takes(&["block"]) => LoopKind::Block,
            () if self.takes(&["thread"]) => LoopKind::Thread,
            () if self.takes(&["warp"]) => LoopKind::Warp,
            () if self.takes(&["mma"]) => LoopKind::Mma,
            () if self.takes(&["parallel"]) => {
                LoopKind::Parallel(self.number("the minimum iterations for a thread")?.value)
            }
            () => LoopKind::Serial,
        };
        if !(self.next == self.tokens.len() || self.begins(&[","]) || self.begins(&[")"])) {
            return self.expected("`by N`, `parallel N`, `prefetch`, `unrolled`, `vector`, `dot` or `,`");
        }
        Ok(LoopText { span: self.since(first), axis, step, kind })
    }

    /// Parses `copy of buffer as [axes] (stage)`; `before` parses what precedes the stage.
    fn copy(&mut self, inside: usize, before: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<CopyText> {
        let first = self.next;
        self.next += 2;
        let load = self.word("the name of a buffer")?;
        self.expect("as")?;
        self.expect("[")?;
        let (mut axes, mut groups, mut padded) = (Vec::new(), Vec::new(), Vec::new());
        while !self.takes(&["]"]) {
            if !axes.is_empty() {
                self.expect(",")?;
            }
            axes.push(self.word("an axis")?);
            groups.push(if self.takes(&["by"]) { Some(self.number("the size of packed groups")?) } else { None });
            let room = "the multiple to pad to";
            padded.push(if self.takes(&["padded"]) { Some(self.number(room)?) } else { None });
        }
        let stages = if self.takes(&["in"]) { Some(self.number("the number of stages")?) } else { None };
        if stages.is_some() {
            self.expect("stages")?;
        }
        before(self)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PlanError::new(self.since(first), format!("copies are in copies more than {MAX_DEPTH} deep")));
        }
        let copy = self.stage()?;
        self.depth -= 1;
        self.expect(")")?;
        Ok(CopyText { span: self.since(first), load, inside, axes, groups, padded, stages, copy })
    }

    /// Parses `copy of buffer as [axes] for stage 1 (stage)`.
    fn copy_for_stage(&mut self) -> Result<(At<usize>, CopyText)> {
        let mut number = None;
        let copy = self.copy(0, &mut |cursor| {
            cursor.expect("for")?;
            cursor.expect("stage")?;
            number = Some(cursor.number("the stage's number")?);
            cursor.expect("(")
        })?;
        self.end()?;
        match number {
            Some(At { value, span }) => {
                Ok((At { value: usize::try_from(value - 1).unwrap_or(usize::MAX), span }, copy))
            }
            None => self.expected("`for stage`"),
        }
    }

    /// Parses what follows `rows`: the tile size, the parallel axis, and the elements of an online softmax.
    fn rows(&mut self, left: bool, rows: &mut RowsText) -> Result<At<i64>> {
        if left {
            self.expect("left")?;
        }
        self.expect(",")?;
        let count = self.number("the rows of a tile")?;
        ["at", "a", "time"].into_iter().try_for_each(|word| self.expect(word))?;
        if !left && !self.begins(&[",", "online"]) && self.takes(&[","]) {
            let axis = self.word("an axis of the rows")?;
            self.expect("parallel")?;
            rows.parallel = Some((axis, self.number("the minimum iterations for a thread")?));
        }
        if !left && self.takes(&[",", "online"]) {
            let elements = self.number("the elements of a row at a time")?;
            let splits = if self.takes(&["in"]) { Some(self.number("the number of splits")?) } else { None };
            if splits.is_some() {
                self.expect("splits")?;
            }
            let first = self.next;
            let tensor_cores = self.takes(&["on", "tensor", "cores"]).then(|| self.since(first));
            rows.online = Some(OnlineText { elements, splits, tensor_cores });
        }
        self.expect(":")?;
        self.end().map(|()| count)
    }
}

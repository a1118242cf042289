//! The text of plans, read: names are not known here, only where they stand. [`bind`](super::bind) finds what they name.
//!
//! ```text
//! kernel:                                        a kernel, then its parts, indented
//!     as written                                 a part that is no stage
//!     rule: a by 4 parallel 2, b, a unrolled     a stage: loops, outermost first
//!     rule: a, copy of x as [b] (rule: b), b     the same with a copy of what a load reads
//!     rule: a, copy of x as [k by 4, a] (rule: k, a), k by 4, a vector, k dot
//!                                                    dot products, whose copies are in words of 4 terms
//!     copy of x as [b] for stage 1 (rule: b)     stages that share rows: what is copied before them,
//!     rows, 8 at a time, a parallel 1:           how many rows run together,
//!         rule: b                                and a line for each stage; so again for the `rows left`
//! ```
//!
//! A `#` after a space or at the beginning of a line begins a remark.

use super::{
    LoopKind,
    names::{self, Naming},
};
use hammock_ir::Span;
use hammock_runtime::near::nearest;
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
    AsWritten(Span),
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
    pub copy: StageText,
}

/// The largest number.
const MOST: i64 = 1 << 30;
/// The deepest that copies stand in copies.
const DEPTH: usize = 8;

impl Written {
    /// Whether it names axes and buffers of one kernel, not numbers of any.
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
            None => "`hammock opt --print-plans`, with the same flags, prints those that it has".to_owned(),
        }))
    }
}

/// A line that is not empty, without its remark.
struct Line<'a> {
    start: usize,
    indent: usize,
    text: &'a str,
    tokens: Vec<Token<'a>>,
}

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    start: usize,
}

impl Token<'_> {
    fn span(self) -> Span {
        span(self.start, self.start + self.text.len())
    }
}

fn span(start: usize, end: usize) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX - 1);
    Span::new(offset(start), offset(end))
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        let own = without_remark(line);
        let indent = own.len() - own.trim_start().len();
        let own = own.trim();
        if !own.is_empty() {
            lines.push(Line { start: start + indent, indent, text: own, tokens: tokens(own, start + indent) });
        }
        start += line.len() + 1;
    }
    lines
}

/// A line up to its remark. Names in quotes may have anything in them, so their lines have none.
fn without_remark(line: &str) -> &str {
    if line.starts_with('"') {
        return line;
    }
    let mut blank = true;
    for (at, c) in line.char_indices() {
        if c == '#' && blank {
            return &line[..at];
        }
        blank = c.is_whitespace();
    }
    line
}

/// The words and signs of a line.
fn tokens(line: &str, start: usize) -> Vec<Token<'_>> {
    let is_sign = |c: char| matches!(c, ',' | ':' | '(' | ')' | '[' | ']');
    let mut tokens = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return tokens };
        let word = rest.find(|c: char| c.is_whitespace() || is_sign(c)).unwrap_or(rest.len());
        let (text, after) = rest.split_at(if is_sign(first) { 1 } else { word });
        tokens.push(Token { text, start: start + line.len() - rest.len() });
        rest = after;
    }
}

impl<'a> Line<'a> {
    fn span(&self) -> Span {
        span(self.start, self.start + self.text.len())
    }

    /// The kernel that begins here.
    fn name(&self) -> Result<&'a str> {
        let name = self.text.strip_suffix(':').map(str::trim_end).filter(|name| self.indent == 0 && !name.is_empty());
        name.ok_or_else(|| {
            PlanError::new(self.span(), "expected the name of a kernel, followed by `:`, at the beginning of the line")
                .help("the parts of its plan follow, each on an indented line")
        })
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor { tokens: &self.tokens, next: 0, end: self.start + self.text.len(), depth: 0 }
    }
}

/// The parts of a kernel.
fn parts(lines: &[Line]) -> Result<Vec<PartText>> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(line) = lines.get(at) {
        let mut cursor = line.cursor();
        if cursor.takes(&["as", "written"]) {
            cursor.end()?;
            parts.push(PartText::AsWritten(line.span()));
            at += 1;
        } else if cursor.begins(&["copy", "of"]) || cursor.begins(&["rows"]) {
            let (rows, count) = rows(&lines[at..])?;
            parts.push(PartText::Rows(rows));
            at += count;
        } else {
            let stage = cursor.stage()?;
            cursor.end()?;
            parts.push(PartText::Stage(stage));
            at += 1;
        }
    }
    Ok(parts)
}

/// Stages that share rows, and how many lines they take.
fn rows(lines: &[Line]) -> Result<(RowsText, usize)> {
    let mut rows = RowsText { span: lines[0].span(), copied: Vec::new(), parallel: None, tiles: Vec::new() };
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let mut cursor = line.cursor();
        let left = cursor.begins(&["rows", "left"]);
        if cursor.begins(&["copy", "of"]) && rows.tiles.is_empty() {
            rows.copied.push(cursor.copy_for_stage()?);
            at += 1;
        } else if cursor.takes(&["rows"]) && left != rows.tiles.is_empty() {
            let count = cursor.rows(left, &mut rows.parallel)?;
            let inside = lines[at + 1..].iter().take_while(|inner| inner.indent > line.indent).count();
            let stages = lines[at + 1..=at + inside].iter().map(|line| {
                let mut cursor = line.cursor();
                let stage = cursor.stage()?;
                cursor.end().map(|()| stage)
            });
            rows.tiles.push((count, stages.collect::<Result<_>>()?));
            at += 1 + inside;
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

/// Where reading is in a line.
struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    next: usize,
    /// Where the line ends.
    end: usize,
    depth: usize,
}

impl Cursor<'_> {
    fn begins(&self, words: &[&str]) -> bool {
        let rest = &self.tokens[self.next..];
        rest.len() >= words.len() && rest.iter().zip(words).all(|(token, word)| token.text == *word)
    }

    fn takes(&mut self, words: &[&str]) -> bool {
        let begins = self.begins(words);
        self.next += if begins { words.len() } else { 0 };
        begins
    }

    /// Where the next token is.
    fn here(&self) -> Span {
        self.tokens.get(self.next).map_or(span(self.end, self.end), |token| token.span())
    }

    /// From a token to the last one taken.
    fn since(&self, first: usize) -> Span {
        let last = self.tokens[..self.next].last().map_or(span(self.end, self.end), |token| token.span());
        self.tokens.get(first).map_or(last, |token| token.span().join(last))
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.tokens.get(self.next) {
            Some(token) => format!("found `{}`", token.text),
            None => "the line ends".to_owned(),
        };
        Err(PlanError::new(self.here(), format!("expected {what}, but {found}")))
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.takes(&[word]) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn end(&self) -> Result<()> {
        if self.next == self.tokens.len() { Ok(()) } else { self.expected("the end of the line") }
    }

    fn word(&mut self, what: &str) -> Result<At<String>> {
        match self.tokens.get(self.next) {
            Some(token) if !matches!(token.text, "," | ":" | "(" | ")" | "[" | "]") => {
                self.next += 1;
                Ok(At { value: token.text.to_owned(), span: token.span() })
            }
            _ => self.expected(what),
        }
    }

    /// A number from 1 on, of a size that counts something.
    fn number(&mut self, what: &str) -> Result<At<i64>> {
        let number =
            self.tokens.get(self.next).and_then(|token| token.text.parse().ok()).filter(|n| (1..=MOST).contains(n));
        let Some(value) = number else { return self.expected(&format!("{what}, a number from 1 to {MOST}")) };
        self.next += 1;
        Ok(At { value, span: self.since(self.next - 1) })
    }

    /// `rule: loops and copies`.
    fn stage(&mut self) -> Result<StageText> {
        let first = self.next;
        let rule = self.word("the name of a rule")?;
        self.expect(":")?;
        let mut stage = StageText { span: rule.span, rule, loops: Vec::new(), copies: Vec::new(), inverts: None };
        while self.next < self.tokens.len() && !self.begins(&[")"]) {
            if !stage.loops.is_empty() || !stage.copies.is_empty() || stage.inverts.is_some() {
                self.expect(",")?;
            }
            if self.begins(&["copy", "of"]) {
                let copy = self.copy(stage.loops.len(), &mut |cursor| cursor.expect("("))?;
                stage.copies.push(copy);
            } else if self.takes(&["divisor", "inverted"]) {
                stage.inverts = Some(self.since(self.next - 2));
            } else {
                stage.loops.push(self.one_loop()?);
            }
        }
        stage.span = self.since(first);
        Ok(stage)
    }

    /// `axis by 4 parallel 2`.
    fn one_loop(&mut self) -> Result<LoopText> {
        let first = self.next;
        let axis = self.word("an axis")?;
        let step = if self.takes(&["by"]) { self.number("a step")?.value } else { 1 };
        let kind = match () {
            () if self.takes(&["unrolled"]) => LoopKind::Unrolled,
            () if self.takes(&["vector"]) => LoopKind::Vector,
            () if self.takes(&["dot"]) => LoopKind::Dot,
            () if self.takes(&["parallel"]) => {
                LoopKind::Parallel(self.number("how many iterations are worth a thread")?.value)
            }
            () => LoopKind::Serial,
        };
        if !(self.next == self.tokens.len() || self.begins(&[","]) || self.begins(&[")"])) {
            return self.expected("`by N`, `parallel N`, `unrolled`, `vector`, `dot` or `,`");
        }
        Ok(LoopText { span: self.since(first), axis, step, kind })
    }

    /// `copy of buffer as [axes] (stage)`, with what stands before the stage.
    fn copy(&mut self, inside: usize, before: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<CopyText> {
        let first = self.next;
        self.next += 2;
        let load = self.word("the name of a buffer")?;
        self.expect("as")?;
        self.expect("[")?;
        let (mut axes, mut words) = (Vec::new(), Vec::new());
        while !self.takes(&["]"]) {
            if !axes.is_empty() {
                self.expect(",")?;
            }
            axes.push(self.word("an axis")?);
            words.push(if self.takes(&["by"]) { Some(self.number("how many terms a word has")?) } else { None });
        }
        before(self)?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(PlanError::new(self.since(first), format!("copies are in copies more than {DEPTH} deep")));
        }
        let copy = self.stage()?;
        self.depth -= 1;
        self.expect(")")?;
        Ok(CopyText { span: self.since(first), load, inside, axes, words, copy })
    }

    /// `copy of buffer as [axes] for stage 1 (stage)`.
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

    /// What follows `rows`: how many at a time, and on which axis there are threads.
    fn rows(&mut self, left: bool, parallel: &mut Option<(At<String>, At<i64>)>) -> Result<At<i64>> {
        if left {
            self.expect("left")?;
        }
        self.expect(",")?;
        let count = self.number("how many rows run together")?;
        ["at", "a", "time"].into_iter().try_for_each(|word| self.expect(word))?;
        if !left && self.takes(&[","]) {
            let axis = self.word("an axis of the rows")?;
            self.expect("parallel")?;
            *parallel = Some((axis, self.number("how many iterations are worth a thread")?));
        }
        self.expect(":")?;
        self.end().map(|()| count)
    }
}

#[cfg(test)]
mod tests;

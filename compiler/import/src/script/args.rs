//! The arguments of a call, consumed in order by position or name.

use super::{
    context::{Context, Read, Reported},
    suggest,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::Name;
use std::collections::VecDeque;

/// An evaluated argument.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub value: Value,
    pub span: Span,
}

/// A keyword argument.
#[derive(Clone, Debug)]
pub(crate) struct Keyword {
    pub name: Name,
    pub name_span: Span,
    pub arg: Arg,
}

/// The arguments of one call that are not consumed yet.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    /// Name of the callee in messages: `R.add`.
    pub callee: String,
    /// The whole call.
    pub span: Span,
    /// Span of the callee's name.
    pub callee_span: Span,
    pub positional: VecDeque<Arg>,
    pub keywords: Vec<Keyword>,
    /// Parameters requested so far, for messages.
    known: Vec<&'static str>,
    /// Those of them that may be positional.
    placed: Vec<&'static str>,
    /// Keywords common to all calls of a kind, which messages mention only if one is misspelt.
    common: Vec<&'static str>,
}

impl Args {
    pub fn new(callee: String, span: Span) -> Self {
        Args {
            callee,
            span,
            callee_span: span,
            positional: VecDeque::new(),
            keywords: Vec::new(),
            known: Vec::new(),
            placed: Vec::new(),
            common: Vec::new(),
        }
    }

    /// The next positional argument, or the keyword of that name.
    pub fn take(&mut self, name: &'static str) -> Option<Arg> {
        self.placed.push(name);
        match self.positional.pop_front() {
            Some(arg) => {
                self.known.push(name);
                Some(arg)
            }
            None => self.keyword(name),
        }
    }

    /// The same, for a required argument.
    pub fn need(&mut self, cx: &mut Context, name: &'static str) -> Read<Arg> {
        self.take(name).ok_or_else(|| {
            if let Some(keyword) = self.keywords.iter().find(|k| suggest::nearest(&k.name, [name]).is_some()) {
                return self.unknown(cx, keyword);
            }
            let message = format!("`{}` needs an argument `{name}`", self.callee);
            cx.error(codes::WRONG_ARGUMENTS, self.span, message, "")
        })
    }

    /// The keyword of that name.
    pub fn keyword(&mut self, name: &'static str) -> Option<Arg> {
        self.known.push(name);
        self.remove(name)
    }

    fn remove(&mut self, name: &'static str) -> Option<Arg> {
        let at = self.keywords.iter().position(|k| k.name == name)?;
        Some(self.keywords.remove(at).arg)
    }

    /// The keyword of any of these names: spellings of several versions.
    pub fn any_keyword(&mut self, names: &[&'static str]) -> Option<Arg> {
        self.common.extend(names);
        names.iter().find_map(|name| self.remove(name))
    }

    /// Checks that every argument was consumed.
    pub fn finish(mut self, cx: &mut Context) -> Read<()> {
        if let Some(extra) = self.positional.pop_front() {
            let message = format!("`{}` takes {}", self.callee, self.count());
            let named = list(&self.named());
            let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, message).label(extra.span, "one too many");
            return Err(cx.report(match named.as_str() {
                "" => diagnostic,
                named => diagnostic.help(format!("{named} must be named")),
            }));
        }
        match self.keywords.first() {
            Some(keyword) => Err(self.unknown(cx, keyword)),
            None => Ok(()),
        }
    }

    /// Parameters whose arguments must be named.
    fn named(&self) -> Vec<&'static str> {
        self.known.iter().filter(|name| !self.placed.contains(name)).copied().collect()
    }

    fn count(&self) -> String {
        let unnamed = if self.named().is_empty() { "" } else { " without a name" };
        match self.placed.len() {
            0 => format!("no arguments{unnamed}"),
            1 => format!("one argument{unnamed}"),
            n => format!("at most {n} arguments{unnamed}"),
        }
    }

    fn unknown(&self, cx: &mut Context, keyword: &Keyword) -> Reported {
        let (callee, name) = (&self.callee, &keyword.name);
        if self.known.iter().chain(&self.common).any(|k| *name == *k) {
            let message = format!("`{callee}` is given `{name}` twice");
            return cx.error(codes::WRONG_ARGUMENTS, keyword.name_span, message, "the second one");
        }
        let message = format!("`{callee}` has no argument `{name}`");
        let mut diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, message).label(keyword.name_span, "");
        if let Some(near) = suggest::nearest(name, self.known.iter().chain(&self.common).copied()) {
            diagnostic = diagnostic.did_you_mean(keyword.name_span, near);
        } else if !self.known.is_empty() {
            diagnostic = diagnostic.help(format!("it has {}", list(&self.known)));
        }
        cx.report(diagnostic)
    }
}

/// `a`, `b` and `c`, without repetition.
pub(crate) fn list(names: &[&str]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for name in names.iter().map(|n| format!("`{n}`")) {
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

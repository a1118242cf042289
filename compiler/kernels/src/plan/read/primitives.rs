//! Primitives, as they are written below what a plan begins with.

use super::{
    At, PlanError, Result,
    lines::{Cursor, Line},
};
use crate::plan::primitives::{Form, PRIMITIVES, Primitive};
use hammock_ir::Span;
use hammock_runtime::suggest::nearest;

/// A primitive with what it is given.
#[derive(Clone, Debug)]
pub struct ChangeText {
    pub span: Span,
    /// Its number in [`PRIMITIVES`].
    pub primitive: usize,
    pub args: ArgsText,
}

/// What a primitive is given.
#[derive(Clone, Debug, Default)]
pub struct ArgsText {
    pub loops: Vec<LoopName>,
    pub number: Option<i64>,
    pub part: Option<At<String>>,
    pub axes: Option<Vec<At<String>>>,
    /// Inside of which loop, or of none.
    pub place: Option<Option<LoopName>>,
}

/// A loop, by its axis and its step.
#[derive(Clone, Debug)]
pub struct LoopName {
    pub span: Span,
    pub axis: At<String>,
    /// That of the innermost loop over the axis, if it is left out.
    pub step: Option<i64>,
}

/// The primitives on lines further to the right than a first one.
pub fn changes(lines: &[Line], indent: usize) -> Result<Vec<ChangeText>> {
    lines.iter().take_while(|line| line.indent > indent).map(|line| line.cursor().change()).collect()
}

impl Cursor<'_> {
    fn change(&mut self) -> Result<ChangeText> {
        let first = self.next;
        let name = self.word("the name of a primitive")?;
        let Some(number) = PRIMITIVES.iter().position(|primitive| primitive.name == name.value) else {
            let error = PlanError::new(name.span, format!("there is no primitive `{}`", name.value));
            return Err(error.help(match nearest(&name.value, PRIMITIVES.iter().map(|primitive| primitive.name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "primitives stand below a stage, further to the right; `hammock rules` lists them".to_owned(),
            }));
        };
        let Primitive { name, form, .. } = &PRIMITIVES[number];
        let args = self.args(*form)?;
        if self.next != self.tokens.len() {
            return self.expected(&format!("the end of `{}`", format!("{name} {}", form.syntax()).trim_end()));
        }
        Ok(ChangeText { span: self.since(first), primitive: number, args })
    }

    fn args(&mut self, form: Form) -> Result<ArgsText> {
        let mut args = ArgsText::default();
        match form {
            Form::Factor => {
                let (name, factor) = self.factor()?;
                (args.loops, args.number) = (vec![name], Some(factor));
            }
            Form::Step => {
                args.loops = vec![self.loop_name()?];
                self.expect("to")?;
                args.number = Some(self.number("a step")?.value);
            }
            Form::Loop | Form::Grain => {
                args.loops = vec![self.loop_name()?];
                if form == Form::Grain && self.takes(&["grain"]) {
                    args.number = Some(self.number("how many iterations are worth a thread")?.value);
                }
            }
            Form::Loops => {
                args.loops.push(self.loop_name()?);
                while self.takes(&[","]) {
                    args.loops.push(self.loop_name()?);
                }
            }
            Form::Copy | Form::Place | Form::Buffer => {
                args.part = Some(self.word("the name of a buffer")?);
                if form == Form::Copy && self.takes(&["as"]) {
                    args.axes = Some(self.axes()?);
                }
                if form == Form::Place || form == Form::Copy && self.begins(&["at"]) {
                    self.expect("at")?;
                    args.place = Some(if self.takes(&["root"]) { None } else { Some(self.loop_name()?) });
                }
            }
            Form::Room => {
                args.part = Some(self.word("the name of a buffer")?);
                self.expect("along")?;
                args.axes = Some(vec![self.word("an axis")?]);
                self.expect("to")?;
                args.number = Some(self.number("up to a multiple of what there is room")?.value);
            }
            Form::Nothing => {}
        }
        Ok(args)
    }

    /// `axis by 4`.
    fn loop_name(&mut self) -> Result<LoopName> {
        let first = self.next;
        let axis = self.word("an axis")?;
        let step = if self.takes(&["by"]) { Some(self.number("a step")?.value) } else { None };
        Ok(LoopName { span: self.since(first), axis, step })
    }

    /// A loop, and the factor after it: `axis by 4`, or for a loop in steps of 32 `axis by 32 by 4`.
    fn factor(&mut self) -> Result<(LoopName, i64)> {
        let axis = self.word("an axis")?;
        let mut name = LoopName { span: axis.span, axis, step: None };
        self.expect("by")?;
        let factor = self.number("a factor")?;
        if !self.takes(&["by"]) {
            return Ok((name, factor.value));
        }
        (name.step, name.span) = (Some(factor.value), name.span.join(factor.span));
        let factor = self.number("a factor")?.value;
        Ok((name, factor))
    }

    /// `[a, b]`.
    fn axes(&mut self) -> Result<Vec<At<String>>> {
        self.expect("[")?;
        let mut axes = Vec::new();
        while !self.takes(&["]"]) {
            if !axes.is_empty() {
                self.expect(",")?;
            }
            axes.push(self.word("an axis")?);
        }
        Ok(axes)
    }
}

//! Parses primitives, the lines below the initial plan of a stage.

use super::{
    At, PlanError, Result,
    lines::{Cursor, Line},
};
use crate::schedule::primitives::{Form, PRIMITIVES, Primitive};
use hammock_ir::Span;
use hammock_runtime::suggest::nearest;

/// A primitive with its arguments.
#[derive(Clone, Debug)]
pub struct ChangeText {
    pub span: Span,
    /// Index in [`PRIMITIVES`].
    pub primitive: usize,
    pub args: ArgsText,
}

/// Arguments of a primitive.
#[derive(Clone, Debug, Default)]
pub struct ArgsText {
    pub loops: Vec<LoopName>,
    pub number: Option<i64>,
    pub part: Option<At<String>>,
    pub axes: Option<Vec<At<String>>>,
    /// Loop to put a copy into, or `None` for the outermost level.
    pub location: Option<Option<LoopName>>,
}

/// A loop, by its axis and its step.
#[derive(Clone, Debug)]
pub struct LoopName {
    pub span: Span,
    pub axis: At<String>,
    /// Its step; `None` for the innermost loop over the axis.
    pub step: Option<i64>,
}

/// Parses primitives on lines with more indentation than `indent`.
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
                None => "primitives are indented below a stage; `hammock rules` lists them".to_owned(),
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
                    args.number = Some(self.number("the minimum iterations for a thread")?.value);
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
                    args.location = Some(if self.takes(&["root"]) { None } else { Some(self.loop_name()?) });
                }
            }
            Form::Padding => {
                args.part = Some(self.word("the name of a buffer")?);
                self.expect("along")?;
                args.axes = Some(vec![self.word("an axis")?]);
                self.expect("to")?;
                args.number = Some(self.number("the multiple to pad to")?.value);
            }
            Form::Nothing => {}
        }
        Ok(args)
    }

    /// Parses `axis by 4`.
    fn loop_name(&mut self) -> Result<LoopName> {
        let first = self.next;
        let axis = self.word("an axis")?;
        let step = if self.takes(&["by"]) { Some(self.number("a step")?.value) } else { None };
        Ok(LoopName { span: self.since(first), axis, step })
    }

    /// Parses a loop followed by a factor: `axis by 4`, or for a loop with step 32 `axis by 32 by 4`.
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

    /// Parses `[a, b]`.
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

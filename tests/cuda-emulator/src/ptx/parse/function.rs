//! Entries and functions: parameters and directives for performance.
use super::{
    super::{
        Param,
        syntax::{FrameSpace, FrameVariable, Function},
    },
    ParseError, Parser, Symbol, Token,
    body::Scope,
};

/// The most bytes of parameters of an entry.
const MAX_PARAM_BYTES: u32 = 32764;

impl<'a> Parser<'a> {
    pub(super) fn function(&mut self, linkage: &str, line: u32) -> Result<(), ParseError> {
        let mut function = Function { is_entry: self.word("a function")? == ".entry", line, ..Function::default() };
        let mut scope = Scope::default();
        if !function.is_entry && self.is('(') {
            function.results = self.params(&mut function, &mut scope)?;
        }
        function.name = self.word("a function's name")?.to_string();
        if self.is('(') {
            function.params = self.params(&mut function, &mut scope)?;
        }
        self.performance(&mut function)?;
        if self.accept(';') {
            self.syntax.functions.push(function);
            return Ok(());
        }
        if linkage == ".extern" {
            return self.error(format!("a body of the `.extern` function `{}`", function.name));
        }
        if self.syntax.functions.iter().any(|other| other.name == function.name && other.has_body) {
            return self.error(format!("a second function `{}`", function.name));
        }
        function.has_body = true;
        self.body(&mut function, scope)?;
        self.syntax.functions.push(function);
        Ok(())
    }

    /// Reads a list of parameters: indices of the function's variables.
    fn params(&mut self, function: &mut Function, scope: &mut Scope<'a>) -> Result<Vec<usize>, ParseError> {
        self.expect('(')?;
        let mut params = Vec::new();
        while !self.accept(')') {
            if !self.accept_word(".param") {
                return self.unexpected("`.param`");
            }
            params.push(self.param(function, scope)?);
            if !self.accept(',') && !self.is(')') {
                return self.unexpected("`,` or `)`");
            }
        }
        Ok(params)
    }

    fn param(&mut self, function: &mut Function, scope: &mut Scope<'a>) -> Result<usize, ParseError> {
        let (align, element, vector, _) = self.variable_type()?;
        self.pointer_attributes()?;
        let name = self.word("a parameter's name")?;
        let Some(bytes) = self.dimensions()?.and_then(|n| u32::try_from(n).ok()?.checked_mul(element * vector)) else {
            return self.error(format!("parameter `{name}` has no size"));
        };
        let index = function.variables.len();
        let mut space = FrameSpace::Param;
        if function.is_entry {
            let offset = function.param_bytes.next_multiple_of(align);
            space = FrameSpace::EntryParam(offset);
            function.param_bytes = offset.saturating_add(bytes);
            if function.param_bytes > MAX_PARAM_BYTES {
                return self.error(format!("more than {MAX_PARAM_BYTES} bytes of parameters"));
            }
            function.kernel_params.push(Param { name: name.to_string(), offset, bytes, align });
        }
        function.variables.push(FrameVariable { bytes, align, space });
        self.define(scope, name, Symbol::Frame(index))?;
        Ok(index)
    }

    /// Skips `.ptr`, a state space and an alignment, which only promise something about what a parameter points to.
    fn pointer_attributes(&mut self) -> Result<(), ParseError> {
        if !self.accept_word(".ptr") {
            return Ok(());
        }
        if let Token::Word(".global" | ".shared" | ".const" | ".local") = self.peek() {
            self.at += 1;
        }
        if self.accept_word(".align") {
            self.number()?;
        }
        Ok(())
    }

    fn performance(&mut self, function: &mut Function) -> Result<(), ParseError> {
        loop {
            match self.peek() {
                Token::Word(".maxntid") => function.max_block = Some(self.extents()?),
                Token::Word(".reqntid") => function.required_block = Some(self.extents()?),
                Token::Word(".minnctapersm") => function.min_blocks = Some(self.extents()?[0]),
                Token::Word(".maxnreg" | ".maxnctapersm") => {
                    self.extents()?;
                }
                Token::Word(".noreturn") => self.at += 1,
                Token::Word(".pragma") => self.skip_pragma()?,
                Token::Punct('{' | ';') => return Ok(()),
                _ => return self.unexpected("a directive for a function"),
            }
        }
    }

    fn extents(&mut self) -> Result<[u32; 3], ParseError> {
        self.at += 1;
        let mut extents = [self.number()?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.accept(',') {
                break;
            }
            *extent = self.number()?;
        }
        Ok(extents)
    }
}

//! Declarations of variables, and their initializers.
use super::{super::syntax::SharedVariable, ParseError, Parser, Symbol, Token, Variable, type_bytes};

/// What a declaration says before its initializer.
pub(super) struct Declaration<'a> {
    pub name: &'a str,
    /// Bytes of an element.
    pub element: u32,
    /// Its bytes; none for an array without a length.
    pub bytes: Option<u64>,
    pub align: u32,
    is_float: bool,
}

impl<'a> Parser<'a> {
    /// Reads `[.align n] [.v2|.v4] .type`: alignment, bytes of an element, and true for a float.
    pub(super) fn variable_type(&mut self) -> Result<(u32, u32, u32, bool), ParseError> {
        let (mut align, mut vector) = (None, 1);
        loop {
            match self.word("a type")? {
                ".align" => {
                    let value = self.number()?;
                    if !value.is_power_of_two() {
                        return self.error(format!("alignment {value} is no power of two"));
                    }
                    align = Some(value);
                }
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                name => {
                    let Some(element) = type_bytes(name) else {
                        return self.error(format!("unsupported type `{name}` of a variable"));
                    };
                    let is_float = name.starts_with(".f") && !name.ends_with("x2");
                    return Ok((align.unwrap_or(element * vector), element, vector, is_float));
                }
            }
        }
    }

    /// Reads the dimensions behind a name: the number of elements, none for `[]`.
    pub(super) fn dimensions(&mut self) -> Result<Option<u64>, ParseError> {
        let mut count = Some(1u64);
        while self.accept('[') {
            if self.accept(']') {
                count = None;
                continue;
            }
            let extent = u64::from(self.number()?);
            count = match count {
                Some(count) => Some(count.checked_mul(extent).map_or_else(|| self.error("an array too large"), Ok)?),
                None => None,
            };
            self.expect(']')?;
        }
        Ok(count)
    }

    /// Reads the declarations behind `space`, with their initializers, and enters them in the module.
    pub(super) fn variables(&mut self, space: &str, linkage: &str) -> Result<Vec<(&'a str, Symbol)>, ParseError> {
        let (align, element, vector, is_float) = self.variable_type()?;
        let mut entered = Vec::new();
        loop {
            let name = self.word("a variable's name")?;
            let bytes = self.dimensions()?.map(|count| count.saturating_mul(u64::from(element * vector)));
            let declaration = Declaration { name, element, bytes, align, is_float };
            let symbol = match space {
                ".shared" => self.shared_variable(&declaration, linkage)?,
                _ => self.memory_variable(&declaration, space == ".const", linkage)?,
            };
            entered.push((name, symbol));
            if !self.accept(',') {
                self.expect(';')?;
                return Ok(entered);
            }
        }
    }

    fn shared_variable(&mut self, declaration: &Declaration<'_>, linkage: &str) -> Result<Symbol, ParseError> {
        let bytes = match declaration.bytes {
            Some(bytes) if bytes > 0 => match u32::try_from(bytes) {
                Ok(bytes) => Some(bytes),
                Err(_) => return self.error(format!("shared variable `{}` is too large", declaration.name)),
            },
            _ if linkage == ".extern" => None,
            _ => return self.error(format!("shared variable `{}` has no size", declaration.name)),
        };
        self.syntax.shared.push(SharedVariable { bytes, align: declaration.align });
        Ok(Symbol::Shared(self.syntax.shared.len() - 1))
    }

    fn memory_variable(&mut self, d: &Declaration<'_>, is_const: bool, linkage: &str) -> Result<Symbol, ParseError> {
        if linkage == ".extern" || linkage == ".common" {
            return self.error(format!("unsupported: `{linkage}` variable `{}`, for there is no linker", d.name));
        }
        let mut variable = Variable {
            name: d.name.to_string(),
            bytes: d.bytes.unwrap_or(0),
            align: u64::from(d.align),
            is_const,
            is_visible: !linkage.is_empty(),
            ..Variable::default()
        };
        if self.accept('=') {
            self.initializer(d, &mut variable)?;
        }
        if d.bytes.is_none() {
            variable.bytes = variable.init.len() as u64;
        }
        if variable.init.len() as u64 > variable.bytes || variable.bytes == 0 {
            return self.error(format!("initializer and size of `{}` disagree", d.name));
        }
        self.syntax.variables.push(variable);
        Ok(Symbol::Variable(self.syntax.variables.len() - 1))
    }

    fn initializer(&mut self, d: &Declaration<'_>, variable: &mut Variable) -> Result<(), ParseError> {
        if !self.accept('{') {
            return self.element(d, variable);
        }
        while !self.accept('}') {
            self.initializer(d, variable)?;
            if !self.accept(',') && !self.is('}') {
                return self.unexpected("`,` or `}`");
            }
        }
        Ok(())
    }

    fn element(&mut self, d: &Declaration<'_>, variable: &mut Variable) -> Result<(), ParseError> {
        let bits = match self.peek() {
            Token::Float32(bits) if d.element == 4 => u64::from(bits),
            Token::Float64(bits) if d.element == 8 => bits,
            Token::Float64(bits) if d.element == 4 && d.is_float => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Token::Int(mask) if self.peek_second() == Token::Punct('(') => {
                return self.masked_address(mask, d, variable);
            }
            Token::Int(_) | Token::Punct('-') => {
                let value = self.signed()? as u64;
                variable.init.extend_from_slice(&value.to_le_bytes()[..d.element as usize]);
                return Ok(());
            }
            Token::Word(_) => {
                let offset = variable.init.len() as u64;
                let (target, addend) = self.address()?;
                if d.element != 8 {
                    return self.error("an address in a variable whose elements do not have 64 bits");
                }
                variable.relocations.push((offset, target, addend));
                0
            }
            _ => return self.unexpected("a value"),
        };
        if !matches!(self.peek(), Token::Punct(_)) {
            self.at += 1;
        }
        variable.init.extend_from_slice(&bits.to_le_bytes()[..d.element as usize]);
        Ok(())
    }

    /// Reads a byte of an address, `0xFF00(name)`: the eight of them follow each other, lowest first.
    fn masked_address(&mut self, mask: u64, d: &Declaration<'_>, variable: &mut Variable) -> Result<(), ParseError> {
        let index = mask.trailing_zeros() / 8;
        if d.element != 1 || mask != 0xff << (8 * index) {
            return self.error(format!("unsupported mask {mask:#x} of an address"));
        }
        self.at += 2;
        let offset = variable.init.len() as u64;
        let (target, addend) = self.address()?;
        self.expect(')')?;
        if index == 0 {
            variable.relocations.push((offset, target, addend));
        } else if variable.relocations.last() != Some(&(offset.wrapping_sub(u64::from(index)), target, addend)) {
            return self.error("bytes of an address out of order");
        }
        variable.init.push(0);
        Ok(())
    }

    /// Reads `name`, `name+4` or `generic(name)+4`: the variable's index, and what is added.
    fn address(&mut self) -> Result<(usize, i64), ParseError> {
        let is_generic = self.peek() == Token::Word("generic") && self.peek_second() == Token::Punct('(');
        self.at += 2 * usize::from(is_generic);
        let name = self.word("a variable's name")?;
        let Some(&Symbol::Variable(target)) = self.symbols.get(name) else {
            return self.error(format!("`{name}` is no variable in `.global` or `.const`"));
        };
        if is_generic {
            self.expect(')')?;
        }
        let addend = match self.peek() {
            Token::Punct('+') => {
                self.at += 1;
                self.signed()?
            }
            Token::Punct('-') => self.signed()?,
            _ => 0,
        };
        Ok((target, addend))
    }
}

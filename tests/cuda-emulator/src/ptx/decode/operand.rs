//! Operands of an instruction that is decoded: registers of the right width, immediates as bits.
use super::{
    super::{
        op::{Address, Guard, PredicateSource, Source, Space},
        syntax::{FrameSpace, Operand, Symbol},
    },
    Decoder,
};
use crate::arith::Type;

impl<'a> Decoder<'a> {
    /// Checks the number of operands.
    pub fn count(&self, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
        let count = self.statement.operands.len();
        if range.contains(&count) {
            return Ok(count);
        }
        Err(format!("`{}` with {count} operands", self.statement.name))
    }

    pub fn operand(&self, index: usize) -> Result<&'a Operand, String> {
        let operand = self.statement.operands.get(index);
        operand.ok_or_else(|| format!("`{}` lacks operand {}", self.statement.name, index + 1))
    }

    pub fn wrong<T>(&self, index: usize, wanted: &str) -> Result<T, String> {
        Err(format!("operand {} of `{}` is not {wanted}", index + 1, self.statement.name))
    }

    fn bits(&self, register: usize) -> u32 {
        self.frame.function.registers[register].bits
    }

    fn register(&self, operand: &Operand, bits: u32, index: usize) -> Result<u32, String> {
        let Operand::Register(register) = *operand else {
            return self.wrong(index, &format!("a register of {bits} bits"));
        };
        if self.bits(register) != bits {
            let wanted = if bits == 1 { "a predicate".into() } else { format!("a register of {bits} bits") };
            return self.wrong(index, &wanted);
        }
        Ok(self.frame.registers[register])
    }

    /// A register that is written.
    pub fn dst(&self, index: usize, bits: u32) -> Result<u32, String> {
        self.register(self.operand(index)?, bits, index)
    }

    /// A register that is written, or `_`.
    pub fn dst_or_sink(&self, index: usize, bits: u32) -> Result<Option<u32>, String> {
        self.operand_or_sink(self.operand(index)?, bits, index)
    }

    pub fn operand_or_sink(&self, operand: &Operand, bits: u32, index: usize) -> Result<Option<u32>, String> {
        match operand {
            Operand::Sink => Ok(None),
            operand => self.register(operand, bits, index).map(Some),
        }
    }

    /// A register and a predicate, `d|p`, or the register alone.
    pub fn dst_and_predicate(&self, index: usize, bits: u32) -> Result<(Option<u32>, Option<u32>), String> {
        match self.operand(index)? {
            Operand::Pair(d, p) => Ok((self.operand_or_sink(d, bits, index)?, self.operand_or_sink(p, 1, index)?)),
            operand => Ok((self.operand_or_sink(operand, bits, index)?, None)),
        }
    }

    /// An operand that is read as a type.
    pub fn src(&self, index: usize, ty: Type) -> Result<Source, String> {
        self.source(self.operand(index)?, ty, index)
    }

    pub fn source(&self, operand: &Operand, ty: Type, index: usize) -> Result<Source, String> {
        let bits = ty.bits();
        match *operand {
            Operand::Register(_) => self.register(operand, bits, index).map(Source::Register),
            Operand::Int(value) if !ty.is_float() => Ok(Source::Immediate(value as u64 & ty.mask())),
            Operand::Float32(value) if bits == 32 && !ty.is_packed() && !ty.is_integer() => {
                Ok(Source::Immediate(value.into()))
            }
            Operand::Float64(value) if bits == 64 && !ty.is_integer() => Ok(Source::Immediate(value)),
            Operand::Float64(value) if ty == Type::F32 => {
                Ok(Source::Immediate((f64::from_bits(value) as f32).to_bits().into()))
            }
            Operand::Special(special) if special.bits() == bits => Ok(Source::Special(special)),
            Operand::Address(symbol, offset) if bits >= 32 => self.symbol(symbol, offset),
            Operand::Name(ref name) => Err(format!("unknown name `{name}`")),
            _ => self.wrong(index, &format!("a value of type `.{}`", ty.name())),
        }
    }

    /// An operand that is read as bits of any width that a register has: `ld`, `st` and `cvt` are free to.
    pub fn src_at_least(&self, operand: &Operand, ty: Type, index: usize) -> Result<Source, String> {
        match *operand {
            Operand::Register(register) if self.bits(register) >= ty.bits().max(16) => {
                Ok(Source::Register(self.frame.registers[register]))
            }
            Operand::Register(_) => self.wrong(index, &format!("a register of {} bits or more", ty.bits().max(16))),
            _ => self.source(operand, ty, index),
        }
    }

    /// A register of at least `bits` bits, and how many it has.
    pub fn dst_at_least(&self, operand: &Operand, bits: u32, index: usize) -> Result<(u32, u32), String> {
        match *operand {
            Operand::Register(register) if self.bits(register) >= bits.max(16) => {
                Ok((self.frame.registers[register], self.bits(register)))
            }
            _ => self.wrong(index, &format!("a register of {} bits or more", bits.max(16))),
        }
    }

    /// A predicate that is written.
    pub fn dst_predicate(&self, index: usize) -> Result<u32, String> {
        self.dst(index, 1)
    }

    /// A predicate that is read: `p`, `!p` or a constant.
    pub fn predicate(&self, index: usize) -> Result<PredicateSource, String> {
        let (operand, is_negated) = match self.operand(index)? {
            Operand::Not(operand) => (&**operand, true),
            operand => (operand, false),
        };
        match operand {
            Operand::Int(value) if !is_negated => Ok(PredicateSource::Constant(*value != 0)),
            operand => {
                let predicate = self.register(operand, 1, index)?;
                Ok(PredicateSource::Register(Guard { predicate, is_negated }))
            }
        }
    }

    /// The operands of a vector; anything else is a vector of one.
    pub fn vector(&self, index: usize) -> Result<&'a [Operand], String> {
        Ok(match self.operand(index)? {
            Operand::Vector(operands) => operands,
            operand => std::slice::from_ref(operand),
        })
    }

    /// An integer that the text has.
    pub fn constant(&self, index: usize) -> Result<i64, String> {
        match *self.operand(index)? {
            Operand::Int(value) => Ok(value),
            _ => self.wrong(index, "a constant"),
        }
    }

    /// A variable's address in its own space.
    fn symbol(&self, symbol: Symbol, offset: i64) -> Result<Source, String> {
        let base = match symbol {
            Symbol::Variable(index) => return Ok(Source::Variable(index as u32, offset)),
            Symbol::Shared(index) => self.context.shared[index],
            Symbol::Frame(index) => self.frame.variables[index],
        };
        Ok(Source::Immediate(i64::from(base).wrapping_add(offset) as u64))
    }

    /// `[base + offset]` in a space. Parameters of functions are in local memory.
    pub fn address(&self, index: usize, space: Space) -> Result<Address, String> {
        let Operand::Memory(base, offset) = self.operand(index)? else { return self.wrong(index, "an address") };
        let is_in_space = match **base {
            Operand::Address(Symbol::Variable(_), _) => [Space::Global, Space::Const].contains(&space),
            Operand::Address(Symbol::Shared(_), _) => space == Space::Shared,
            Operand::Address(Symbol::Frame(variable), _) => match self.frame.function.variables[variable].space {
                FrameSpace::Local => space == Space::Local,
                FrameSpace::EntryParam(_) | FrameSpace::Param => space == Space::Param,
            },
            _ => true,
        };
        // The generic address of a global variable is its address in its own space.
        let is_generic = space == Space::Generic && matches!(**base, Operand::Address(Symbol::Variable(_), _));
        if !is_in_space && !is_generic {
            return self.wrong(index, "an address in the state space");
        }
        let is_frame = |variable: usize| self.frame.function.variables[variable].space == FrameSpace::Param;
        let space = match **base {
            Operand::Address(Symbol::Frame(variable), _) if is_frame(variable) => Space::Local,
            Operand::Address(..) | Operand::Int(_) => space,
            _ if space == Space::Param && !self.frame.is_entry => {
                return Err(format!("unsupported: `{}` by a register in a function", self.statement.name));
            }
            _ => space,
        };
        let (source, is_narrow) = match **base {
            Operand::Register(register) if self.bits(register) == 32 && space != Space::Generic => {
                (Source::Register(self.frame.registers[register]), true)
            }
            Operand::Register(_) | Operand::Address(..) | Operand::Int(_) => {
                (self.source(base, Type::B64, index)?, false)
            }
            Operand::Name(ref name) => return Err(format!("unknown name `{name}`")),
            _ => return self.wrong(index, "an address"),
        };
        Ok(Address { space, base: source, offset: *offset, is_narrow })
    }

    /// The instruction that a label of the function stands for.
    pub fn label(&self, name: &str) -> Result<u32, String> {
        let function = self.frame.function;
        let found = function.find(&function.labels, self.statement.scope, name);
        found.map(|&at| at as u32).ok_or_else(|| format!("unknown label `{name}`"))
    }

    pub fn frame_offset(&self, operand: &Operand, index: usize) -> Result<(u32, u32), String> {
        let Operand::Address(Symbol::Frame(variable), 0) = *operand else {
            return self.wrong(index, "parameters in `.param`");
        };
        let declared = &self.frame.function.variables[variable];
        if declared.space != FrameSpace::Param {
            return self.wrong(index, "parameters of a call");
        }
        Ok((self.frame.variables[variable], declared.bytes))
    }
}

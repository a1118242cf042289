//! The instruction set: four opcodes over a register file, encoded in 64-bit words as TVM encodes them.
//!
//! | opcode | words | meaning |
//! |---|---|---|
//! | Call = 1 | `1, dst, function, count, argument…` | calls a function of the table, result into `dst` |
//! | Ret = 2  | `2, register` | returns the register's value |
//! | Goto = 3 | `3, offset` | jumps by `offset` instructions, possibly back |
//! | If = 4   | `4, register, offset` | nonzero: falls through; zero: jumps by `offset`, which is at least 2 |
//!
//! An argument word has its kind in bits 63–56 and its value, sign-extended, in bits 55–0.
use std::fmt;

const CALL: i64 = 1;
const RET: i64 = 2;
const GOTO: i64 = 3;
const IF: i64 = 4;

const VALUE_BITS: u32 = 56;
const KIND_REGISTER: i64 = 0;
const KIND_IMMEDIATE: i64 = 1;
const KIND_CONSTANT: i64 = 2;
const KIND_FUNCTION: i64 = 3;

/// A register of the current frame, or one of two special ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub i64);

impl Register {
    /// Reads as none; writes are discarded.
    pub const VOID: Register = Register(1 << 54);
    /// Reads as the virtual machine, for builtins that need it.
    pub const VM: Register = Register((1 << 54) + 1);

    /// Index in the frame, unless the register is a special one.
    pub fn index(self) -> Option<usize> {
        usize::try_from(self.0).ok().filter(|_| self < Register::VOID)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Register::VOID => f.write_str("%void"),
            Register::VM => f.write_str("%vm"),
            Register(number) => write!(f, "%{number}"),
        }
    }
}

/// An argument of a Call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arg {
    /// The value of a register.
    Register(Register),
    /// An integer within [`Arg::IMMEDIATES`].
    Immediate(i64),
    /// An entry of the constant pool.
    Constant(i64),
    /// An entry of the function table, as a value.
    Function(i64),
}

impl Arg {
    /// The integers that fit an argument word; others are stored in the constant pool.
    pub const IMMEDIATES: std::ops::RangeInclusive<i64> = -(1 << 55)..=(1 << 55) - 1;

    /// Encodes the argument as a word. Values beyond 56 bits lose their upper bits.
    pub const fn encode(self) -> i64 {
        let (kind, value) = match self {
            Arg::Register(register) => (KIND_REGISTER, register.0),
            Arg::Immediate(value) => (KIND_IMMEDIATE, value),
            Arg::Constant(index) => (KIND_CONSTANT, index),
            Arg::Function(index) => (KIND_FUNCTION, index),
        };
        (kind << VALUE_BITS) | (value & ((1 << VALUE_BITS) - 1))
    }

    /// Decodes a word; `None` if its kind is unknown.
    pub const fn decode(word: i64) -> Option<Arg> {
        let value = (word << (64 - VALUE_BITS)) >> (64 - VALUE_BITS);
        match ((word as u64) >> VALUE_BITS) as i64 {
            KIND_REGISTER => Some(Arg::Register(Register(value))),
            KIND_IMMEDIATE => Some(Arg::Immediate(value)),
            KIND_CONSTANT => Some(Arg::Constant(value)),
            KIND_FUNCTION => Some(Arg::Function(value)),
            _ => None,
        }
    }
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// Calls `function` of the table and writes its result to `dst`.
    Call {
        /// Destination of the result.
        dst: Register,
        /// Index into the function table.
        function: i64,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// Returns from the function.
    Ret {
        /// The returned register.
        value: Register,
    },
    /// Jumps.
    Goto {
        /// Distance in instructions, possibly negative.
        offset: i64,
    },
    /// Falls through if the condition is nonzero, otherwise jumps.
    If {
        /// An integer or boolean.
        condition: Register,
        /// Distance in instructions, at least 2.
        false_offset: i64,
    },
}

impl Instruction {
    fn encode(&self, words: &mut Vec<i64>) {
        match self {
            Instruction::Call { dst, function, args } => {
                words.extend([CALL, dst.0, *function, args.len() as i64]);
                words.extend(args.iter().map(|arg| arg.encode()));
            }
            Instruction::Ret { value } => words.extend([RET, value.0]),
            Instruction::Goto { offset } => words.extend([GOTO, *offset]),
            Instruction::If { condition, false_offset } => words.extend([IF, condition.0, *false_offset]),
        }
    }

    /// Decodes the instruction that fills `words` exactly.
    fn decode(words: &[i64]) -> Option<Instruction> {
        Some(match *words {
            [CALL, dst, function, count, ref args @ ..] if usize::try_from(count) == Ok(args.len()) => {
                let args = args.iter().map(|word| Arg::decode(*word)).collect::<Option<_>>()?;
                Instruction::Call { dst: Register(dst), function, args }
            }
            [RET, value] => Instruction::Ret { value: Register(value) },
            [GOTO, offset] => Instruction::Goto { offset },
            [IF, condition, false_offset] => Instruction::If { condition: Register(condition), false_offset },
            _ => return None,
        })
    }
}

/// The instructions of all functions: their words, and the offset of each instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    offsets: Vec<i64>,
    words: Vec<i64>,
}

impl Code {
    /// Creates code from the two arrays of a file without checking them: [`Code::get`] returns `None` where they are
    /// invalid.
    pub fn from_parts(offsets: Vec<i64>, words: Vec<i64>) -> Code {
        Code { offsets, words }
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns true if there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Offset of each instruction in the words.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// The words.
    pub fn words(&self) -> &[i64] {
        &self.words
    }

    /// Appends an instruction and returns its index.
    pub fn push(&mut self, instruction: &Instruction) -> usize {
        self.offsets.push(self.words.len() as i64);
        instruction.encode(&mut self.words);
        self.offsets.len() - 1
    }

    /// Appends arbitrary words as an instruction.
    pub fn push_words(&mut self, words: &[i64]) {
        self.offsets.push(self.words.len() as i64);
        self.words.extend(words);
    }

    /// The words of instruction `index`; empty if the offsets are invalid.
    pub fn words_of(&self, index: usize) -> &[i64] {
        let begin = self.offsets.get(index).and_then(|offset| usize::try_from(*offset).ok());
        begin.and_then(|begin| self.words.get(begin..self.end_of(index)?)).unwrap_or_default()
    }

    /// Returns true if the instructions fill the words without gaps.
    pub(super) fn is_gapless(&self) -> bool {
        let end = self.words.len() as i64;
        let begins_at = self.offsets.first().copied().unwrap_or(end);
        begins_at == 0 && self.offsets.is_sorted() && self.offsets.last().is_none_or(|last| *last <= end)
    }

    /// Sets the offset of a Goto or If, once it is known.
    pub fn set_jump(&mut self, index: usize, offset: i64) {
        let last_word = self.end_of(index).map(|end| end - 1);
        if let Some(word) = last_word.and_then(|at| self.words.get_mut(at)) {
            *word = offset;
        }
    }

    /// Instruction `index`, if it exists and is valid.
    pub fn get(&self, index: usize) -> Option<Instruction> {
        let begin = usize::try_from(*self.offsets.get(index)?).ok()?;
        Instruction::decode(self.words.get(begin..self.end_of(index)?)?)
    }

    /// End of an instruction's words, which is the start of the next instruction.
    fn end_of(&self, index: usize) -> Option<usize> {
        match self.offsets.get(index + 1) {
            Some(next) => usize::try_from(*next).ok(),
            None => Some(self.words.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arg() -> impl Strategy<Value = Arg> {
        let value = || Arg::IMMEDIATES;
        prop_oneof![
            value().prop_map(|v| Arg::Register(Register(v))),
            value().prop_map(Arg::Immediate),
            value().prop_map(Arg::Constant),
            value().prop_map(Arg::Function),
        ]
    }

    fn instruction() -> impl Strategy<Value = Instruction> {
        let register = || any::<i64>().prop_map(Register);
        prop_oneof![
            (register(), any::<i64>(), prop::collection::vec(arg(), 0..6))
                .prop_map(|(dst, function, args)| Instruction::Call { dst, function, args }),
            register().prop_map(|value| Instruction::Ret { value }),
            any::<i64>().prop_map(|offset| Instruction::Goto { offset }),
            (register(), any::<i64>())
                .prop_map(|(condition, false_offset)| Instruction::If { condition, false_offset }),
        ]
    }

    proptest! {
        #[test]
        fn words_round_trip(arg in arg()) {
            prop_assert_eq!(Arg::decode(arg.encode()), Some(arg));
        }

        #[test]
        fn every_word_decodes_to_what_encodes_to_it_or_to_nothing(word: i64) {
            if let Some(arg) = Arg::decode(word) {
                prop_assert_eq!(arg.encode(), word);
            }
        }

        #[test]
        fn code_round_trips(instructions in prop::collection::vec(instruction(), 0..8)) {
            let mut code = Code::default();
            for instruction in &instructions {
                code.push(instruction);
            }
            let code = Code::from_parts(code.offsets().to_vec(), code.words().to_vec());
            for (i, instruction) in instructions.iter().enumerate() {
                prop_assert_eq!(code.get(i), Some(instruction.clone()));
            }
            prop_assert_eq!(code.get(instructions.len()), None);
        }

        #[test]
        fn nonsense_never_panics(offsets: Vec<i64>, words: Vec<i64>, index in 0usize..10) {
            let _ = Code::from_parts(offsets, words).get(index);
        }
    }

    #[test]
    fn words_are_the_documented_ones() {
        assert_eq!(Arg::Immediate(-1).encode(), 0x01FF_FFFF_FFFF_FFFF);
        assert_eq!(Arg::Constant(3).encode(), 0x0200_0000_0000_0003);
        assert_eq!(Arg::Register(Register::VM).encode(), 0x0040_0000_0000_0001);
        let mut code = Code::default();
        let jump = code.push(&Instruction::If { condition: Register(2), false_offset: 0 });
        code.set_jump(jump, 5);
        assert_eq!(code.words(), [4, 2, 5]);
    }
}

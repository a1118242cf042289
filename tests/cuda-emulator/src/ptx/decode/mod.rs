//! Decodes statements: operands become registers of the machine, names of instructions operations.
mod arithmetic;
mod atomic;
mod barrier;
mod compare;
mod control;
mod copy;
mod kernel;
mod matrix;
mod mbarrier;
mod memory;
mod movement;
mod operand;
mod requirements;
mod warp;

use super::{
    op::{Op, Space},
    syntax::{Function, Statement},
};
use crate::arith::{Modifiers, Type};

pub(super) use kernel::decode_kernel;

/// Decodes the rest of an instruction by its root.
type Decode = fn(&mut Decoder<'_>) -> Result<Op, String>;

/// The instructions by their root: the name up to the first dot.
const ROOTS: &[(&str, Decode)] = &[
    ("abs", arithmetic::unary),
    ("activemask", warp::active_mask),
    ("add", arithmetic::binary),
    ("addc", arithmetic::carry),
    ("and", arithmetic::logic),
    ("atom", atomic::atom),
    ("bar", barrier::bar),
    ("barrier", barrier::barrier),
    ("bfe", arithmetic::ternary),
    ("bfi", arithmetic::bfi),
    ("bfind", arithmetic::bfind),
    ("bra", control::bra),
    ("brev", arithmetic::unary),
    ("brkpt", |_| Ok(Op::Breakpoint)),
    ("brx", control::brx),
    ("call", control::call),
    ("clz", arithmetic::unary),
    ("cnot", arithmetic::unary),
    ("copysign", arithmetic::binary),
    ("cos", arithmetic::unary),
    ("cp", copy::cp),
    ("cvt", movement::cvt),
    ("cvta", movement::cvta),
    ("div", arithmetic::binary),
    ("dp2a", arithmetic::dp2a),
    ("dp4a", arithmetic::dp4a),
    ("elect", warp::elect),
    ("ex2", arithmetic::unary),
    ("exit", |_| Ok(Op::Exit)),
    ("fence", barrier::fence),
    ("fma", arithmetic::ternary),
    ("isspacep", movement::isspacep),
    ("ld", memory::ld),
    ("ldmatrix", matrix::ldmatrix),
    ("ldu", memory::ld),
    ("lg2", arithmetic::unary),
    ("lop3", arithmetic::lop3),
    ("mad", arithmetic::ternary),
    ("mad24", arithmetic::ternary),
    ("madc", arithmetic::carry),
    ("match", warp::match_sync),
    ("max", arithmetic::binary),
    ("mbarrier", mbarrier::mbarrier),
    ("membar", barrier::membar),
    ("min", arithmetic::binary),
    ("mma", matrix::mma),
    ("mov", movement::mov),
    ("movmatrix", matrix::movmatrix),
    ("mul", arithmetic::binary),
    ("mul24", arithmetic::binary),
    ("nanosleep", control::nanosleep),
    ("neg", arithmetic::unary),
    ("not", arithmetic::not),
    ("or", arithmetic::logic),
    ("popc", arithmetic::unary),
    ("prefetch", memory::prefetch),
    ("prefetchu", memory::prefetch),
    ("prmt", arithmetic::prmt),
    ("rcp", arithmetic::unary),
    ("red", atomic::red),
    ("redux", warp::redux),
    ("rem", arithmetic::binary),
    ("ret", control::ret),
    ("rsqrt", arithmetic::unary),
    ("sad", arithmetic::ternary),
    ("selp", compare::selp),
    ("set", compare::set),
    ("setp", compare::setp),
    ("shf", arithmetic::shf),
    ("shfl", warp::shfl),
    ("shl", arithmetic::binary),
    ("shr", arithmetic::binary),
    ("sin", arithmetic::unary),
    ("slct", compare::slct),
    ("sqrt", arithmetic::unary),
    ("st", memory::st),
    ("stmatrix", matrix::stmatrix),
    ("sub", arithmetic::binary),
    ("subc", arithmetic::carry),
    ("tanh", arithmetic::unary),
    ("testp", compare::testp),
    ("trap", |_| Ok(Op::Trap)),
    ("vote", warp::vote),
    ("xor", arithmetic::logic),
];

/// Where a function's registers and variables are in the kernel that is decoded.
pub(super) struct Frame<'a> {
    pub function: &'a Function,
    /// Number of each register among predicates or the others.
    pub registers: Vec<u32>,
    /// Offset of each variable in local memory; of an entry's parameters in theirs.
    pub variables: Vec<u32>,
    /// Index of its first instruction.
    pub first: u32,
    /// True if it is the kernel, not a function that it calls.
    pub is_entry: bool,
}

/// What decoding needs besides a statement.
pub(super) struct Context<'a> {
    /// The module's target and version.
    pub target: u32,
    pub version: (u32, u32),
    /// Offsets of shared variables.
    pub shared: &'a [u32],
    /// Frames of the functions by name, those before the one that is decoded.
    pub callees: &'a [Frame<'a>],
}

/// An instruction while it is decoded.
pub(super) struct Decoder<'a> {
    statement: &'a Statement,
    frame: &'a Frame<'a>,
    context: &'a Context<'a>,
    /// The name's parts; the first is the root.
    parts: Vec<&'a str>,
    /// The part to be read next.
    at: usize,
    /// Operations that must run before or behind the one that is returned.
    pub before: Vec<Op>,
    pub behind: Vec<Op>,
}

impl<'a> Decoder<'a> {
    pub fn new(statement: &'a Statement, frame: &'a Frame<'a>, context: &'a Context<'a>) -> Decoder<'a> {
        let parts = statement.name.split('.').collect();
        Decoder { statement, frame, context, parts, at: 1, before: Vec::new(), behind: Vec::new() }
    }

    /// Decodes the instruction. What its root's function leaves unread is unknown.
    pub fn decode(&mut self) -> Result<Op, String> {
        let root = self.parts[0];
        let Ok(index) = ROOTS.binary_search_by_key(&root, |row| row.0) else {
            return Err(format!("unknown instruction `{}`", self.statement.name));
        };
        requirements::check(&self.parts, self.context.target, self.context.version)?;
        let op = ROOTS[index].1(self)?;
        if self.at != self.parts.len() {
            return Err(format!("unknown modifier `.{}` of `{}`", self.parts[self.at], self.statement.name));
        }
        Ok(op)
    }

    fn peek(&self) -> &'a str {
        self.parts.get(self.at).copied().unwrap_or_default()
    }

    fn accept(&mut self, part: &str) -> bool {
        let found = self.peek() == part;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, part: &str) -> Result<(), String> {
        if self.accept(part) { Ok(()) } else { Err(self.unknown()) }
    }

    /// Reads a part that a table has.
    fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let found = table.iter().find(|row| row.0 == self.peek())?.1;
        self.at += 1;
        Some(found)
    }

    /// Reads a part that the table must have.
    fn required<T: Copy>(&mut self, table: &[(&str, T)]) -> Result<T, String> {
        self.choose(table).ok_or_else(|| self.unknown())
    }

    fn unknown(&self) -> String {
        match self.parts.get(self.at) {
            Some(part) => format!("unknown modifier `.{part}` of `{}`", self.statement.name),
            None => format!("`{}` lacks a modifier", self.statement.name),
        }
    }

    /// Reads a type.
    fn ty(&mut self) -> Result<Type, String> {
        let ty = Type::parse(self.peek()).ok_or_else(|| self.unknown())?;
        self.at += 1;
        Ok(ty)
    }

    /// Reads the modifiers of arithmetic.
    fn modifiers(&mut self) -> Modifiers {
        let mut modifiers = Modifiers::default();
        loop {
            if self.peek() == "xorsign" && self.parts.get(self.at + 1) == Some(&"abs") {
                modifiers.set("xorsign.abs");
                self.at += 2;
            } else if !self.peek().is_empty() && modifiers.set(self.peek()) {
                self.at += 1;
            } else {
                return modifiers;
            }
        }
    }

    /// Reads `.shared` or `.shared::cta`, or nothing: a generic address.
    fn shared_or_generic(&mut self) -> Space {
        if self.accept("shared") || self.accept("shared::cta") { Space::Shared } else { Space::Generic }
    }

    /// Adds the name to what is wrong with an instruction.
    fn named<T>(&self, result: Result<T, String>) -> Result<T, String> {
        result.map_err(|message| format!("`{}`: {message}", self.statement.name))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn roots_are_sorted() {
        assert!(super::ROOTS.is_sorted_by_key(|row| row.0));
    }
}

//! Functions of a module as the text has them: names resolved, instructions not yet decoded.
use super::special::Special;
use std::{collections::HashMap, ops::Range};

/// Width and class of a virtual register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterType {
    /// Its bits; 1 for a predicate.
    pub bits: u32,
}

/// A variable that an operand names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A variable of the module in `.global` or `.const`.
    Variable(usize),
    /// A variable in `.shared`.
    Shared(usize),
    /// A variable of the function: `.local`, its parameters, or parameters of a call.
    Frame(usize),
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A register of the function.
    Register(usize),
    /// A special register.
    Special(Special),
    /// An integer.
    Int(i64),
    /// The bits of a float32.
    Float32(u32),
    /// The bits of a float64.
    Float64(u64),
    /// A variable's address.
    Address(Symbol, i64),
    /// A name that is none of these: a label or function.
    Name(String),
    /// `[base + offset]`.
    Memory(Box<Operand>, i64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)`.
    List(Vec<Operand>),
    /// `a|b`.
    Pair(Box<Operand>, Box<Operand>),
    /// `!a`.
    Not(Box<Operand>),
    /// `_`.
    Sink,
}

/// An instruction as written.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// The guard's register, and true if it is negated.
    pub guard: Option<(usize, bool)>,
    /// Name with modifiers.
    pub name: String,
    pub operands: Vec<Operand>,
    /// The scope that it is in, for its labels.
    pub scope: usize,
    pub line: u32,
    /// Where it is in the text.
    pub span: Range<u32>,
}

/// The kinds of a function's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameSpace {
    Local,
    /// The parameters of an entry, at their offset.
    EntryParam(u32),
    /// Parameters and results of functions, and of calls.
    Param,
}

/// A variable of a function.
#[derive(Debug, Clone)]
pub(crate) struct FrameVariable {
    pub bytes: u32,
    pub align: u32,
    pub space: FrameSpace,
}

/// A variable in `.shared`.
#[derive(Debug, Clone)]
pub(crate) struct SharedVariable {
    /// Its bytes; none for dynamic shared memory.
    pub bytes: Option<u32>,
    pub align: u32,
}

/// A function or entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    pub name: String,
    pub is_entry: bool,
    pub line: u32,
    /// False for a declaration.
    pub has_body: bool,
    /// Indices of the variables that hold parameters and results.
    pub params: Vec<usize>,
    pub results: Vec<usize>,
    pub registers: Vec<RegisterType>,
    pub variables: Vec<FrameVariable>,
    pub statements: Vec<Statement>,
    /// Index of each scope's enclosing one; the first is the body.
    pub scopes: Vec<usize>,
    /// Statement behind each label, by scope and name.
    pub labels: HashMap<(usize, String), usize>,
    /// Targets of `.branchtargets`, by scope and name.
    pub tables: HashMap<(usize, String), Vec<String>>,
    pub max_block: Option<[u32; 3]>,
    pub required_block: Option<[u32; 3]>,
    pub min_blocks: Option<u32>,
    /// For an entry: its parameters as the driver needs them.
    pub kernel_params: Vec<super::Param>,
    pub param_bytes: u32,
}

impl Function {
    /// Finds what `name` means in `scope` or one around it.
    pub fn find<'a, T>(&self, map: &'a HashMap<(usize, String), T>, scope: usize, name: &str) -> Option<&'a T> {
        let mut scope = scope;
        loop {
            if let Some(found) = map.get(&(scope, name.to_string())) {
                return Some(found);
            }
            if scope == 0 {
                return None;
            }
            scope = self.scopes[scope];
        }
    }
}

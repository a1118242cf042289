//! PTX text → kernels as instructions.
//!
//! [`Module::parse`] reads the text once, resolves names, and decodes every instruction; an instruction, modifier or
//! directive that the emulator does not know is an error with its line and full name.
mod decode;
mod lex;
pub(crate) mod op;
mod parse;
pub(crate) mod special;
mod syntax;

use std::{collections::HashMap, sync::Arc};

/// A module: its kernels and variables.
#[derive(Debug, Default)]
pub struct Module {
    /// The text, for messages.
    pub text: Arc<str>,
    /// Version of the PTX ISA: major, minor.
    pub version: (u32, u32),
    /// Compute capability that the text asks for, times ten: 80 for `sm_80`, 90 for `sm_90a`.
    pub target: u32,
    /// True if the target has a suffix that fixes the architecture (`sm_90a`).
    pub arch_specific: bool,
    /// The entries by name.
    pub kernels: HashMap<String, Kernel>,
    /// Variables in `.global` and `.const`, in the text's order.
    pub variables: Vec<Variable>,
}

/// An entry.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters in order.
    pub params: Vec<Param>,
    /// Bytes of all parameters.
    pub param_bytes: u32,
    /// `.maxntid`: maximum threads of a block along x, y and z.
    pub max_block: Option<[u32; 3]>,
    /// `.reqntid`: required threads of a block along x, y and z.
    pub required_block: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Virtual registers that the text declares: an upper bound, not what an assembler would allocate.
    pub registers: u32,
    /// Its decoded instructions.
    pub(crate) code: Arc<op::Code>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Offset in the list of parameters.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Its alignment.
    pub align: u32,
}

/// A variable in `.global` or `.const`. The driver allocates it when it loads the module.
#[derive(Debug, Clone, Default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its alignment.
    pub align: u64,
    /// True if it is in `.const`.
    pub is_const: bool,
    /// True if the text declares it `.visible`.
    pub is_visible: bool,
    /// First bytes; the rest is zero, as is a variable without an initializer.
    pub init: Vec<u8>,
    /// Addresses of variables within the initializer: (offset, index of the variable, addend).
    pub relocations: Vec<(u64, usize, i64)>,
}

/// Text that is no PTX, or beyond what the emulator supports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of PTX: {message}")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// The unexpected token, name or modifier.
    pub message: String,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    /// The first thing that is no PTX or unsupported.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        let syntax = parse::parse(text)?;
        let mut kernels = HashMap::new();
        for entry in syntax.functions.iter().filter(|function| function.is_entry && function.has_body) {
            let (mut kernel, code) = decode::decode_kernel(&syntax, entry)?;
            kernel.code = Arc::new(code);
            kernels.insert(entry.name.clone(), kernel);
        }
        Ok(Module {
            text: text.into(),
            version: syntax.version,
            target: syntax.target,
            arch_specific: syntax.arch_specific,
            kernels,
            variables: syntax.variables,
        })
    }
}

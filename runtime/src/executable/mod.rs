//! Executables: the function table, the constant pool and the bytecode of a compiled model.
//!
//! [`Executable::save`] writes TVM's `relax.VMExecutable` format byte for byte. [`Executable::load`] reads it and
//! rejects everything that the virtual machine could not run safely; see [`verify`] for the rules. [`crate::image`]
//! combines an executable with data that TVM's format cannot hold.
pub mod build;
mod checksum;
pub mod compact;
mod constant_data;
mod error;
mod flow;
mod format;
mod instruction;
#[cfg(feature = "text")]
mod text;
pub mod verify;

pub use constant_data::ConstantData;
pub use error::ExecutableError;
pub use format::is_executable;
pub use instruction::{Arg, Code, Instruction, Register};

pub(crate) use format::{Constants, decode, encode, tensor_from_bytes, tensor_to_bytes};

use crate::value::{Any, DType, Shape, Str, Tensor};

/// Kind of a function in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum FunctionKind {
    /// A kernel, a builtin, or another function that is resolved by name.
    Packed = 0,
    /// Bytecode.
    Bytecode = 1,
    /// Machine code that works on the register file, resolved by name `__vmtir__…`.
    Compiled = 2,
}

/// An entry of the function table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionInfo {
    /// How it runs.
    pub kind: FunctionKind,
    /// Its name.
    pub name: String,
    /// Index of its first instruction.
    pub start: usize,
    /// End of its instructions (exclusive).
    pub end: usize,
    /// Number of parameters, [`FunctionInfo::UNKNOWN_ARITY`] for packed functions.
    pub num_args: i64,
    /// Size of its frame; parameters come first.
    pub register_count: usize,
    /// Names of its parameters.
    pub param_names: Vec<String>,
}

impl FunctionInfo {
    /// `num_args` of packed functions, which check their arguments themselves.
    pub const UNKNOWN_ARITY: i64 = -2;

    /// An entry for a function that is resolved by name.
    pub fn packed(name: impl Into<String>) -> FunctionInfo {
        FunctionInfo {
            kind: FunctionKind::Packed,
            name: name.into(),
            start: 0,
            end: 0,
            num_args: FunctionInfo::UNKNOWN_ARITY,
            register_count: 0,
            param_names: Vec::new(),
        }
    }
}

/// An entry of the constant pool.
#[derive(Debug, Clone)]
pub enum Constant {
    /// A tensor.
    Tensor(Tensor),
    /// A shape.
    Shape(Shape),
    /// A string.
    Str(Str),
    /// An integer beyond the immediates.
    Int(i64),
    /// A float.
    Float(f64),
    /// A data type.
    DType(DType),
}

impl From<&Constant> for Any {
    fn from(constant: &Constant) -> Any {
        match constant {
            Constant::Tensor(tensor) => tensor.clone().into(),
            Constant::Shape(shape) => shape.clone().into(),
            Constant::Str(text) => text.clone().into(),
            Constant::Int(value) => (*value).into(),
            Constant::Float(value) => (*value).into(),
            Constant::DType(dtype) => (*dtype).into(),
        }
    }
}

/// A compiled model without its kernels.
#[derive(Debug, Clone, Default)]
pub struct Executable {
    /// The function table.
    pub functions: Vec<FunctionInfo>,
    /// Memory scopes of tensors of the constant pool, each with the tensor's index, in the file's order.
    pub memory_scopes: Vec<(i64, String)>,
    /// The constant pool.
    pub constants: Vec<Constant>,
    /// The instructions of all functions.
    pub code: Code,
}

impl Executable {
    /// Serializes the executable in TVM's format.
    pub fn save(&self) -> Vec<u8> {
        encode(self, &mut Constants::Inline)
    }

    /// Like [`save`](Executable::save), with a checksum at the end, as in a separate file; TVM reads that as well.
    pub fn save_checked(&self) -> Vec<u8> {
        let mut bytes = self.save();
        checksum::append(&mut bytes);
        bytes
    }

    /// Reads and verifies the output of [`Executable::save`], [`Executable::save_checked`] or TVM.
    pub fn load(bytes: &[u8]) -> Result<Executable, ExecutableError> {
        let executable = decode(checksum::check(bytes)?, &Constants::Inline)?;
        verify::verify(&executable)?;
        Ok(executable)
    }

    /// Names of the callable functions, in the table's order: not those that the compiler generated, whose names begin
    /// with `_`.
    pub fn exported(&self) -> impl Iterator<Item = &str> {
        let functions = self.functions.iter().filter(|f| f.kind != FunctionKind::Packed);
        functions.map(|f| f.name.as_str()).filter(|name| !name.starts_with('_'))
    }

    /// Index of the function `name`, other than kernels and builtins.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|f| f.kind != FunctionKind::Packed && f.name == name)
    }
}

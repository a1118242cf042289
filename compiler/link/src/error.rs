//! Link errors.

use crate::arch;
use thiserror::Error;

/// Link errors. Objects are identified by their index among the inputs, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// An input is not a well-formed ELF file.
    #[error("object {object} cannot be read: {reason}")]
    Malformed {
        /// Index of the input.
        object: usize,
        /// Error of the ELF reader.
        reason: String,
    },
    /// An input is not a relocatable object for this machine.
    #[error("object {object} is no relocatable ELF object for {}", arch::names())]
    WrongKind {
        /// Index of the input.
        object: usize,
    },
    /// A section is unsupported (thread-local storage, constructors), or is aligned beyond a page.
    #[error("object {object} has a section `{section}`, which is not supported")]
    Section {
        /// Index of the input.
        object: usize,
        /// The section.
        section: String,
    },
    /// A symbol is defined twice.
    #[error("symbol `{symbol}` is defined by object {first} and by object {second}")]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// The first definition's object.
        first: usize,
        /// The second definition's object.
        second: usize,
    },
    /// A symbol is used that nothing defines.
    #[error("symbol `{symbol}`, which object {object} uses, is defined neither by an object nor by libc or libm")]
    Undefined {
        /// The symbol.
        symbol: String,
        /// The object that uses it.
        object: usize,
    },
    /// A relocation is of a type that position-independent code does not need.
    #[error(
        "object {object} has a relocation of type {kind} in `{section}`, which is not supported in a shared library"
    )]
    Relocation {
        /// Index of the input.
        object: usize,
        /// The section with the relocation.
        section: String,
        /// Relocation type in the ABI of the processor.
        kind: u32,
    },
    /// A displacement does not fit its field.
    #[error("the distance from `{section}` of object {object} to what it refers to does not fit in 32 bits")]
    OutOfRange {
        /// Index of the input.
        object: usize,
        /// The section with the relocation.
        section: String,
    },
}

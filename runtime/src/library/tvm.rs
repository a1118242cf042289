//! Reader and writer of TVM's library format: kernels in tvm-ffi's calling convention and, under the symbol [`SYMBOL`],
//! the modules they belong to.
//!
//! All numbers are little-endian and 64 bits wide; a *vector* is a count followed by that many numbers, a *blob* a
//! length followed by that many bytes. The symbol's data is
//!
//! - the length of the rest;
//! - the import tree in compressed sparse row form: a vector with the start of each module's imports in the second
//!   vector, and its length at the end, then the vector of imports, each a module's index;
//! - for each module its kind (a blob) and, unless that is `_lib`, its contents (a blob).
//!
//! `_lib` stands for the library's own kernels. The first module is the one that loading the library returns: the
//! executable, which imports the kernels.
use crate::bytes::{Put, Reader, Truncated};

/// The symbol of the modules.
pub const SYMBOL: &str = "__tvm_ffi__library_bin";

const EXECUTABLE: &[u8] = b"relax.VMExecutable";
const KERNELS: &[u8] = b"_lib";

/// Reason why a library's modules cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TvmError {
    /// The input ends too early, or a length in it is wrong.
    #[error("the library's modules are damaged: they end too early")]
    Truncated,
    /// The import tree has indices out of range.
    #[error("the library's modules are damaged: their import tree is inconsistent")]
    Tree,
    /// None of them is bytecode.
    #[error("the library holds kernels for TVM, but no bytecode")]
    NoExecutable,
}

impl From<Truncated> for TvmError {
    fn from(_: Truncated) -> TvmError {
        TvmError::Truncated
    }
}

/// The data of [`SYMBOL`] in a library of an executable (as [`crate::Executable::save`] writes it) and its kernels.
pub fn modules(executable: &[u8]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(executable.len() + 128);
    rest.put_i64s(&[0, 1, 1]);
    rest.put_i64s(&[1]);
    rest.put_blob(EXECUTABLE);
    rest.put_blob(executable);
    rest.put_blob(KERNELS);
    let mut out = Vec::with_capacity(rest.len() + 8);
    out.put_blob(&rest);
    out
}

/// The executable among the modules in [`SYMBOL`]'s data.
pub fn executable(symbol: &[u8]) -> Result<&[u8], TvmError> {
    let mut reader = Reader::new(Reader::new(symbol).blob()?);
    let (begins, imports) = (reader.i64s()?, reader.i64s()?);
    let count = begins.len().checked_sub(1).ok_or(TvmError::Tree)?;
    let sound = begins[0] == 0 && begins.is_sorted() && begins[count] == imports.len() as i64;
    if !sound || !imports.iter().all(|module| (0..count as i64).contains(module)) {
        return Err(TvmError::Tree);
    }
    let mut found = None;
    for _ in 0..count {
        let kind = reader.blob()?;
        let contents = if kind == KERNELS { &[] } else { reader.blob()? };
        if kind == EXECUTABLE {
            found.get_or_insert(contents);
        }
    }
    found.ok_or(TvmError::NoExecutable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_and_reading_round_trips() {
        let bytes = modules(b"an executable");
        assert_eq!(executable(&bytes), Ok(&b"an executable"[..]));
        for len in 0..bytes.len() {
            assert_eq!(executable(&bytes[..len]), Err(TvmError::Truncated));
        }
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                let _ = executable(&damaged);
            }
        }
    }

    #[test]
    fn trees_that_point_outside_are_refused() {
        let tree = |begins: &[i64], imports: &[i64]| {
            let mut rest = Vec::new();
            rest.put_i64s(begins);
            rest.put_i64s(imports);
            rest.put_blob(KERNELS);
            let mut out = Vec::new();
            out.put_blob(&rest);
            executable(&out).map(<[u8]>::len)
        };
        for (begins, imports) in
            [(&[][..], &[][..]), (&[0, 1], &[1]), (&[0, 2], &[0]), (&[1, 1], &[0]), (&[0, -1], &[])]
        {
            assert_eq!(tree(begins, imports), Err(TvmError::Tree), "{begins:?}");
        }
        assert_eq!(tree(&[0, 0], &[]), Err(TvmError::NoExecutable));
    }
}

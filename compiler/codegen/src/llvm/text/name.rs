//! Names of globals, and byte strings.

use std::fmt::Write;

/// Returns the name of a global in LLVM syntax, quoted if necessary.
pub(super) fn global_name(name: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.$-".contains(&b);
    let starts_plain = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if starts_plain && name.bytes().all(is_plain) {
        format!("@{name}")
    } else {
        format!("@\"{}\"", escaped(name.as_bytes()))
    }
}

/// Returns bytes as the contents of a quoted string in LLVM syntax.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &b in bytes {
        if (b' '..0x7f).contains(&b) && b != b'"' && b != b'\\' {
            out.push(b.into());
        } else {
            let _ = write!(out, "\\{b:02X}");
        }
    }
    out
}

//! The table of diagnostic codes, and the page that explains each.
//!
//! One entry a code: a constant to use, the code, a short name, and the page that `hammock explain` prints. Ranges:
//! E01xx syntax, E02xx imports, types and verification, E03xx passes and compilation, E04xx input files and arguments,
//! E05xx run time and executables. The meaning of a released code never changes.

mod compile;
mod input;
mod runtime;
mod semantics;
mod syntax;
mod verify;

pub use {compile::*, input::*, runtime::*, semantics::*, syntax::*, verify::*};

/// One diagnostic code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `E0123`
    pub code: &'static str,
    /// A few words.
    pub name: &'static str,
    /// Explanation and advice, a few paragraphs of Markdown.
    pub page: &'static str,
    /// An example that causes it: a text, or a command after `$ `. Empty if none is short enough.
    pub wrong: &'static str,
    /// The corrected example.
    pub right: &'static str,
}

/// Declares constants and the table of one range of codes:
/// `CONSTANT = "E0123", "short name", "page", wrong "a text", right "a text";`
macro_rules! codes {
    ($($constant:ident = $code:literal, $name:literal, $page:literal $(, wrong $wrong:literal, right $right:literal)?;)*) => {
        $(#[doc = concat!($code, ": ", $name, ".")] pub const $constant: &str = $code;)*
        pub(super) const TABLE: &[super::Code] =
            &[$(super::Code {
                code: $code,
                name: $name,
                page: $page,
                wrong: concat!("" $(, $wrong)?),
                right: concat!("" $(, $right)?),
            }),*];
    };
}
use codes;

/// All codes, in order.
pub fn all() -> impl Iterator<Item = &'static Code> {
    [syntax::TABLE, semantics::TABLE, verify::TABLE, compile::TABLE, input::TABLE, runtime::TABLE].into_iter().flatten()
}

/// The entry of a code: `E0123`, `e0123` and `0123` are the same.
pub fn explain(code: &str) -> Option<&'static Code> {
    let digits = code.trim_start_matches(['E', 'e']);
    all().find(|entry| entry.code[1..] == *digits)
}

/// True if the code says that the command line is wrong, not the program or its input: an unknown pass, target, mode or
/// name, or an option without effect. Commands then exit with status 2.
pub fn is_wrong_usage(code: &str) -> bool {
    [UNKNOWN_PASS, BAD_PASS_OPTIONS, UNSUPPORTED_OPTION, UNKNOWN_NAME].contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_within_their_ranges() {
        let ranges = [
            ("E01", syntax::TABLE),
            ("E02", semantics::TABLE),
            ("E02", verify::TABLE),
            ("E03", compile::TABLE),
            ("E04", input::TABLE),
            ("E05", runtime::TABLE),
        ];
        assert!(all().map(|entry| entry.code).is_sorted());
        for (prefix, table) in ranges {
            assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code), "range {prefix} is out of order");
            assert!(table.iter().all(|entry| entry.code.starts_with(prefix) && entry.code.len() == 5));
            assert!(table.iter().all(|entry| entry.page.len() > 80), "a page is empty");
        }
    }

    #[test]
    fn explain_reads_loose_spellings() {
        assert_eq!(explain("e0101").map(|entry| entry.code), Some("E0101"));
        assert_eq!(explain("0101").map(|entry| entry.code), Some("E0101"));
        assert_eq!(explain("E9999"), None);
    }
}

//! E03xx: passes and compilation.

super::codes! {
    UNKNOWN_PASS = "E0301", "unknown pass", "\
A pass was asked for by a name that no pass has.

`hammock passes` lists the passes and their options; names are written as Apache TVM writes them, for example
`FuseOps` or `LegalizeOps`.";
}

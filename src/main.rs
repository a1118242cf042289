//! The `hammock` command line.
fn main() {}

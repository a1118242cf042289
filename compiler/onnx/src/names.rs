//! Names of the file as names that a text can have.

use rustc_hash::FxHashSet;

/// Words that no parameter may be called: the namespaces of the text, and Python's keywords.
const RESERVED: &[&str] = &[
    "I", "R", "T", "cls", "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// A name with `_` for everything but letters and digits.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// The name of what a node computes: `/layer1/Conv_output_0` is `layer1_Conv_output_0`.
pub fn of_binding(name: &str) -> String {
    let text = identifier(name);
    let bare = text.trim_start_matches('_');
    if bare.starts_with(|c: char| c.is_ascii_alphabetic()) { bare.to_owned() } else { format!("v{text}") }
}

/// Names of parameters: no two are the same.
#[derive(Default)]
pub struct Names(FxHashSet<String>);

impl Names {
    /// The name for a parameter, which no other one gets.
    pub fn of_parameter(&mut self, name: &str) -> String {
        let wanted = identifier(name);
        let mut text = wanted.clone();
        let mut number = 0;
        while RESERVED.contains(&text.as_str()) || !self.0.insert(text.clone()) {
            number += 1;
            text = format!("{wanted}_{number}");
        }
        text
    }
}

//! Names, sizes and texts of a model as C writes them.

use hammock_runtime::image::signature::Size;
use std::{collections::HashSet, fmt::Write};

/// A size as an expression in C, if it consists of these names, numbers, sums, differences and products.
pub fn size_in_c(size: &Size, names: &[(String, String)]) -> Option<String> {
    let text = match size {
        Size::Static(size) => return Some(format!("INT64_C({size})")),
        Size::Symbol(text) => text,
    };
    if let Some((_, name)) = names.iter().find(|(symbol, _)| symbol == text) {
        return Some(name.clone());
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut expression = String::new();
    for word in text.split_inclusive(|c| !is_part(c)) {
        let (word, rest) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        match names.iter().find(|(symbol, _)| symbol == word) {
            Some((_, name)) => expression += name,
            None if word.chars().all(|c| c.is_ascii_digit()) => expression += word,
            None => return None,
        }
        if !rest.chars().all(|c| " +-*()".contains(c)) {
            return None;
        }
        expression += rest;
    }
    Some(expression)
}

/// Returns true for the name of a size, false for an expression.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || "._:".contains(c))
}

/// Words that C or C++ reserve and that models use as names.
const RESERVED: &[&str] = &[
    "and",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "namespace",
    "new",
    "not",
    "operator",
    "or",
    "private",
    "public",
    "register",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "true",
    "try",
    "typedef",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

/// The nearest identifier of C.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if RESERVED.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// A name that is not taken yet, with a number if necessary.
pub fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name);
    taken.insert(free.clone());
    free
}

/// Text that does not end a comment, on one line.
pub fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(['\n', '\r', '\\'], " ")
}

/// A string literal.
pub fn literal(text: &str) -> String {
    let mut literal = "\"".to_owned();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => literal.push(byte.into()),
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_in_c() {
        assert_eq!(
            (identifier("input.1"), identifier("7"), identifier("float")),
            ("input_1".into(), "_7".into(), "float_".into())
        );
        let mut taken = HashSet::new();
        let names = ["a.b", "a_b", "a/b"].map(|name| unique(identifier(name), &mut taken));
        assert_eq!(names, ["a_b", "a_b_2", "a_b_3"]);
        assert_eq!((comment("a */ b\n"), literal("f\"g")), ("a * / b ".to_owned(), "\"f\\042g\"".to_owned()));
    }

    #[test]
    fn sizes_are_expressions_of_known_names() {
        let names = [("n".to_owned(), "n_2".to_owned())];
        let size = |text: &str| size_in_c(&Size::Symbol(text.to_owned()), &names);
        assert_eq!((size("n"), size("n * 2 + 1")), (Some("n_2".to_owned()), Some("n_2 * 2 + 1".to_owned())));
        assert_eq!((size("n // 2"), size("m + 1"), size("T.max(n, 1)")), (None, None, None));
    }
}

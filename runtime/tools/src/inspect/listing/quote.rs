//! Quoting of strings and names.

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A function's name, in quotes if it is not an identifier.
pub(super) fn global(name: &str) -> String {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        true => format!("@{name}"),
        false => format!("@{}", quoted(name)),
    }
}

/// A parameter's name, in quotes if necessary.
pub(super) fn parameter(name: &str) -> String {
    let written = global(name);
    written[1..].to_owned()
}

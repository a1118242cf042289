//! Strings as they are written: reader and writer.

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
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

/// The text that stands in quotes, if its escapes are known.
pub(crate) fn unquoted(quoted: &str) -> Option<String> {
    let mut out = String::with_capacity(quoted.len());
    let mut chars = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            c @ ('"' | '\\') => c,
            'u' => {
                let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                chars = rest.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(out)
}

/// A function's name as it is written: in quotes when it is none that the lexer takes.
pub(crate) fn global(name: &str) -> String {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        true => format!("@{name}"),
        false => format!("@{}", quoted(name)),
    }
}

/// A parameter's name as it is written.
pub(crate) fn parameter(name: &str) -> String {
    let written = global(name);
    written[1..].to_owned()
}

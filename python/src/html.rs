//! Tables as HTML, for notebooks.
use std::fmt::{self, Display, Write};

/// Text with HTML's escapes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            c => f.write_char(c),
        })
    }
}

/// A table; cells after the first two columns are right-aligned.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<table><thead><tr>");
    header.iter().for_each(|cell| _ = write!(out, "<th style=\"text-align:left\">{}</th>", Escaped(cell)));
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let align = if column < 2 { "left" } else { "right" };
            let _ = write!(out, "<td style=\"text-align:{align}\">{}</td>", Escaped(cell));
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table>"
}

/// A time in microseconds as text.
pub fn microseconds(time: f64) -> String {
    format!("{time:.2} µs")
}

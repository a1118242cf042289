//! A profile for programs.
use super::{Profile, Row};
use std::fmt::{self, Write};

/// Text as JSON has it, quotes included.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Profile {
    /// One object: `total_ns`, and `rows` with `name`, `kind`, `count`, `own_ns`, `share`, `total_ns`, `mean_ns`, `min_ns`,
    /// `max_ns`, `bytes` and `source` (a string or null).
    pub fn json(&self) -> String {
        let rows: Vec<String> = self.rows().iter().map(object).collect();
        format!("{{\"total_ns\":{},\"rows\":[\n{}\n]}}\n", self.total().as_nanos(), rows.join(",\n"))
    }
}

fn object(row: &Row) -> String {
    let [own, total, mean, min, max] = [row.own, row.total, row.mean(), row.min, row.max].map(|time| time.as_nanos());
    let source = row.source.as_ref().map_or("null".to_owned(), |source| Quoted(source).to_string());
    format!(
        "{{\"name\":{},\"kind\":\"{}\",\"count\":{},\"own_ns\":{own},\"share\":{:.4},\"total_ns\":{total},\
         \"mean_ns\":{mean},\"min_ns\":{min},\"max_ns\":{max},\"bytes\":{},\"source\":{source}}}",
        Quoted(&row.name),
        row.kind,
        row.count,
        row.share,
        row.bytes,
    )
}

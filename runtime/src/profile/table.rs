//! A profile as a table, for people.
use super::{Profile, Row};
use std::fmt::Write;
use std::time::Duration;

impl Profile {
    /// A table: a line for each function and kernel, and the sum.
    pub fn table(&self) -> String {
        let header =
            ["name", "kind", "count", "own", "share", "total", "mean", "min", "max", "bytes", "GB/s", "source"];
        let mut lines = vec![header.map(str::to_owned)];
        lines.extend(self.rows().iter().map(line));
        let widths: [usize; 12] = std::array::from_fn(|column| widest(&lines, column));
        let mut out = String::new();
        for line in &lines {
            for (column, cell) in line.iter().enumerate() {
                let width = widths[column];
                // Words stand to the left, figures to the right; nothing follows the last column.
                let _ = match column {
                    0 | 1 => write!(out, "{cell:width$}  "),
                    11 => write!(out, "{cell}"),
                    _ => write!(out, "{cell:>width$}  "),
                };
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        let _ = writeln!(out, "{} in calls from outside", time(self.total()));
        out
    }
}

fn widest(lines: &[[String; 12]], column: usize) -> usize {
    lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
}

fn line(row: &Row) -> [String; 12] {
    let source = match row.sources.as_slice() {
        [] => String::new(),
        [source] => source.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    };
    [
        row.name.clone(),
        row.kind.to_string(),
        row.count.to_string(),
        time(row.own),
        format!("{:.1}%", row.share * 100.0),
        time(row.total),
        time(row.mean()),
        time(row.min),
        time(row.max),
        if row.bytes == 0 { String::new() } else { row.bytes.to_string() },
        row.gigabytes_per_second().map(|rate| format!("{rate:.2}")).unwrap_or_default(),
        source,
    ]
}

impl Row {
    /// How many gigabytes of tensors it passes in a second, if it reads or writes any.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        (self.bytes > 0 && !self.total.is_zero()).then(|| self.bytes as f64 / 1e9 / self.total.as_secs_f64())
    }
}

/// Four digits or so.
fn time(time: Duration) -> String {
    match time.as_nanos() as f64 {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

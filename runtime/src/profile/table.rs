//! A profile as a table, for people.
use super::{Profile, Row};
use crate::ffi::Location;
use std::fmt::Write;
use std::time::Duration;

/// Maximum line width: that of a terminal.
const WIDTH: usize = 120;
/// Maximum width of a name; longer ones are abbreviated in the middle.
const NAME_WIDTH: usize = 38;
const COLUMNS: usize = 9;
/// The column of times on devices, which tables without such times leave out.
const DEVICE: usize = 6;

impl Profile {
    /// Renders a table: a line for each function and kernel, and the sum. The last column is the call site, with the
    /// text of its line, which names the node of an ONNX model. [`Profile::json`] has more figures, and full names.
    pub fn table(&self) -> String {
        let header = ["name", "kind", "count", "own", "share", "total", "device", "GB/s", "called at"];
        let mut lines = vec![header.map(str::to_owned)];
        lines.extend(self.rows().iter().map(line));
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| widest(&lines, column));
        let has_device_times = self.nodes.iter().any(|node| !node.device.is_zero());
        let mut out = String::new();
        for line in &lines {
            let start = out.chars().count();
            for (column, cell) in line.iter().enumerate() {
                let width = widths[column];
                // Words are left-aligned, figures right-aligned; the last column is not padded.
                let _ = match column {
                    DEVICE if !has_device_times => Ok(()),
                    0 | 1 => write!(out, "{cell:width$}  "),
                    LAST => write!(out, "{}", cut(cell, (start + WIDTH).saturating_sub(out.chars().count()))),
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

const LAST: usize = COLUMNS - 1;

fn widest(lines: &[[String; COLUMNS]], column: usize) -> usize {
    lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
}

fn line(row: &Row) -> [String; COLUMNS] {
    [
        without_middle(&row.name),
        row.kind.to_string(),
        row.count.to_string(),
        time(row.own),
        format!("{:.1}%", row.share * 100.0),
        time(row.total),
        if row.device.is_zero() { String::new() } else { time(row.device) },
        row.gigabytes_per_second().map(|rate| format!("{rate:.2}")).unwrap_or_default(),
        called_at(&row.sources),
    ]
}

/// `model.py:3 y = R.add(x, w)`, and the number of further locations.
fn called_at(sources: &[Location]) -> String {
    let [first, others @ ..] = sources else { return String::new() };
    let file = first.file.rsplit('/').next().unwrap_or_default();
    let more = if others.is_empty() { String::new() } else { format!(" (+{})", others.len()) };
    format!("{file}:{}{more} {}", first.line, node(&first.text).unwrap_or(first.text.trim()))
}

/// The name of a node, which the listing of an ONNX model has at the end of its line: `y = Conv(x, w)  # node
/// /conv1/Conv`.
fn node(line: &str) -> Option<&str> {
    line.rsplit_once("  # node ").map(|(_, name)| name)
}

/// Truncates a text.
pub(super) fn cut(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Abbreviates a name in the middle if it is longer than the column.
fn without_middle(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME_WIDTH {
        return name.to_owned();
    }
    let (before, after) = (NAME_WIDTH / 2, NAME_WIDTH - NAME_WIDTH / 2 - 1);
    name.chars().take(before).chain(['…']).chain(name.chars().skip(length - after)).collect()
}

impl Row {
    /// Throughput in gigabytes of tensors per second, if it accesses any: on the device, if it works on another one than
    /// the host.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        let time = if self.device.is_zero() { self.total } else { self.device };
        (self.bytes > 0 && !time.is_zero()).then(|| self.bytes as f64 / 1e9 / time.as_secs_f64())
    }
}

/// Formats a time with about four digits.
fn time(time: Duration) -> String {
    match time.as_nanos() as f64 {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

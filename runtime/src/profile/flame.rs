//! A profile as a flame graph (Gregg 2016, "The Flame Graph"): each call is drawn above its caller, with a width
//! proportional to its time.
//!
//! The output is plain SVG without scripts: names where they fit, everything else in tooltips.
use super::{Node, Profile, longest_first, table::cut};
use crate::vm::instrument::CalleeKind;
use std::fmt::{self, Write};
use std::time::Duration;

/// Layout in pixels.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const MARGIN: f64 = 10.0;
/// Average width of a letter of the font.
const LETTER: f64 = 6.6;
/// Minimum width of a call that is drawn.
const NARROWEST: f64 = 0.2;
/// Background, for light and dark ones, and text on the colours of [`color`].
const STYLE: &str = ".bg{fill:#fff}text{fill:#111}@media(prefers-color-scheme:dark){.bg{fill:#0d1117}}";

/// Calls of the same function on the same stack.
struct Flame<'a> {
    name: &'a str,
    kind: CalleeKind,
    time: Duration,
    count: u64,
    /// Time on a device other than the host.
    device: Duration,
    above: Vec<Flame<'a>>,
}

impl Profile {
    /// Renders a flame graph as an SVG file.
    pub fn flame_graph(&self) -> String {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            node.parent.map_or(&mut roots, |parent| &mut children[parent]).push(i);
        }
        let flames = merge(&self.nodes, &children, &roots);
        let total = flames.iter().map(|flame| flame.time).sum::<Duration>().max(Duration::from_nanos(1));
        let depth = flames.iter().map(depth).max().unwrap_or(0);
        let height = 2.0 * MARGIN + ROW * depth as f64;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" font-family=\"monospace\" font-size=\"11\">\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" class=\"bg\"/>\n"
        );
        let scale = (WIDTH - 2.0 * MARGIN) / total.as_secs_f64();
        draw_all(&mut out, &flames, Position { x: MARGIN, y: height - MARGIN - ROW, scale, total });
        out + "</svg>\n"
    }
}

/// Turns nodes and the calls below them into a tree; calls of the same function are merged.
fn merge<'a>(nodes: &'a [Node], children: &[Vec<usize>], these: &[usize]) -> Vec<Flame<'a>> {
    let mut groups: Vec<(&Node, Vec<usize>)> = Vec::new();
    for i in these {
        let node = &nodes[*i];
        match groups.iter_mut().find(|(other, _)| other.name == node.name && other.kind == node.kind) {
            Some((_, members)) => members.push(*i),
            None => groups.push((node, vec![*i])),
        }
    }
    let flame = |(node, members): (&'a Node, Vec<usize>)| {
        let above: Vec<usize> = members.iter().flat_map(|i| children[*i].iter().copied()).collect();
        Flame {
            name: &node.name,
            kind: node.kind,
            time: members.iter().map(|i| nodes[*i].total).sum(),
            count: members.iter().map(|i| nodes[*i].count).sum(),
            device: members.iter().map(|i| nodes[*i].device).sum(),
            above: merge(nodes, children, &above),
        }
    };
    longest_first(groups.into_iter().map(flame).collect(), |flame| flame.time)
}

fn depth(flame: &Flame<'_>) -> usize {
    1 + flame.above.iter().map(depth).max().unwrap_or(0)
}

/// Position of a rectangle, and the scale.
#[derive(Clone, Copy)]
struct Position {
    x: f64,
    y: f64,
    scale: f64,
    total: Duration,
}

fn draw_all(out: &mut String, flames: &[Flame<'_>], mut position: Position) {
    for flame in flames {
        let width = flame.time.as_secs_f64() * position.scale;
        if width >= NARROWEST {
            draw(out, flame, position, width);
            draw_all(out, &flame.above, Position { y: position.y - ROW, ..position });
        }
        position.x += width;
    }
}

fn draw(out: &mut String, flame: &Flame<'_>, Position { x, y, total, .. }: Position, width: f64) {
    let share = 100.0 * flame.time.as_secs_f64() / total.as_secs_f64();
    let (name, kind, count) = (Escaped(flame.name), flame.kind, flame.count);
    let microseconds = flame.time.as_secs_f64() * 1e6;
    let on_device = match flame.device {
        Duration::ZERO => String::new(),
        time => format!(", {:.1} us on the device", time.as_secs_f64() * 1e6),
    };
    let (color, height) = (color(kind), ROW - 1.0);
    let _ = write!(
        out,
        "<g><title>{name} ({kind}): {count} calls, {microseconds:.1} us{on_device}, {share:.1}%</title>\
         <rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{color}\"/>"
    );
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    if room >= 3 {
        let (x, y) = (x + 3.0, y + ROW - 5.5);
        let _ = write!(out, "<text x=\"{x:.2}\" y=\"{y:.2}\">{}</text>", Escaped(&cut(flame.name, room)));
    }
    out.push_str("</g>\n");
}

fn color(kind: CalleeKind) -> &'static str {
    match kind {
        CalleeKind::Function => "#ecd36f",
        CalleeKind::Kernel => "#f5b672",
        CalleeKind::Builtin => "#8ab6e8",
        CalleeKind::Registered => "#93cf8d",
    }
}

/// Text with XML escapes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            c if c < ' ' => f.write_char('?'),
            c => f.write_char(c),
        })
    }
}

//! The drawing: to the left operators, to the right kernels with the operators in each. A click on either shows where its
//! counterpart is.

use super::{
    Graph, Kind,
    layout::{Layout, layout},
};
use crate::pictures::{
    COLORS, document,
    plot::{escaped, shortened},
};
use hammock_diagnostics::count;
use std::fmt::Write;

const MARGIN: f64 = 20.0;
/// Between operators and kernels.
const GAP: f64 = 70.0;
/// Height of a line of text, and of a box's heading.
const LINE: f64 = 15.0;
const HEADING: f64 = 44.0;
/// Average width of a letter.
const LETTER: f64 = 6.3;
/// Longest text in a box, in characters; all of it is in the tooltip.
const MAX_LETTERS: usize = 42;

/// A box's heading and lines.
struct Card {
    heading: String,
    lines: Vec<(String, String)>,
}

impl Card {
    fn size(&self) -> (f64, f64) {
        let lines = self.lines.iter().map(|(text, _)| text);
        let longest = lines.chain([&self.heading]).map(|text| text.chars().count().min(MAX_LETTERS)).max().unwrap_or(0);
        (longest as f64 * LETTER + 20.0, LINE * (self.lines.len() + 1) as f64 + 8.0)
    }
}

/// Draws graphs below one another. `note` says more about a kernel, for instance its time.
pub fn svg(graphs: &[Graph], note: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut body, mut rules, mut width, mut y) = (String::new(), String::new(), 0.0f64, MARGIN);
    for (number, graph) in graphs.iter().enumerate() {
        let drawn = Drawing { graph, number, note }.draw(&mut body, &mut rules, y);
        (width, y) = (width.max(drawn.0), y + drawn.1);
    }
    let style = format!(
        "<style>\na text,a rect{{cursor:pointer}}\n.box:target rect,.op:target rect{{stroke:#cf4446;stroke-width:3}}\n{rules}</style>\n"
    );
    document(width.max(400.0), y, &(style + &body))
}

struct Drawing<'a> {
    graph: &'a Graph,
    /// Number of the function, for names of elements.
    number: usize,
    note: &'a dyn Fn(&str) -> Option<String>,
}

impl Drawing<'_> {
    /// Draws a function from `y` on; returns its width and height.
    fn draw(&self, out: &mut String, rules: &mut String, y: f64) -> (f64, f64) {
        let (graph, number) = (self.graph, self.number);
        let calls = graph.calls();
        let mut call_of = vec![0; graph.nodes.len()];
        for (call, nodes) in calls.iter().enumerate() {
            nodes.iter().for_each(|node| call_of[*node] = call);
        }
        let operators: Vec<Card> = (0..graph.nodes.len()).map(|node| self.operator(node)).collect();
        let kernels: Vec<Card> = calls.iter().map(|nodes| self.kernel(nodes)).collect();
        let before = laid_out(&operators, graph.edges.iter().copied());
        let after = laid_out(&kernels, graph.edges.iter().map(|(from, to)| (call_of[*from], call_of[*to])));
        let right = MARGIN + before.width.max(200.0) + GAP;
        let top = y + HEADING;
        let fused = calls.iter().filter(|nodes| nodes.len() > 1).count();
        let operator_count = graph.nodes.iter().filter(|node| matches!(node.kind, Kind::Operator(_))).count();
        let (unfused, kernel_calls) = (count(operator_count, "operator"), count(graph.kernels.len(), "kernel call"));
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"bold\">{}</text>\
             <text x=\"{MARGIN}\" y=\"{:.1}\" class=\"muted\">{unfused}</text>\
             <text x=\"{right:.1}\" y=\"{:.1}\" class=\"muted\">{kernel_calls}, {fused} of several operators</text>",
            y + 10.0,
            escaped(&graph.name),
            y + 28.0,
            y + 28.0,
        );
        edges(out, &before, (MARGIN, top));
        edges(out, &after, (right, top));
        for (node, card) in operators.iter().enumerate() {
            let call = call_of[node];
            let ids = (operator_id(number, node), format!("op f{number}g{call}"));
            let class = color(&calls[call], call);
            draw_card(out, card, &ids, &class, &call_id(number, call), offset(before.centers[node], (MARGIN, top)));
        }
        for (call, card) in kernels.iter().enumerate() {
            let ids = (call_id(number, call), "box".to_owned());
            let class = color(&calls[call], call);
            draw_card(out, card, &ids, &class, &call_id(number, call), offset(after.centers[call], (right, top)));
            let _ = writeln!(
                rules,
                "svg:has(#{}:target) .f{number}g{call} rect{{stroke:#cf4446;stroke-width:3}}",
                call_id(number, call)
            );
        }
        self.references(out, &before, &operators, (MARGIN, top), operator_id);
        self.references(out, &after, &kernels, (right, top), call_id);
        (right + after.width + MARGIN, HEADING + before.height.max(after.height) + 2.0 * MARGIN)
    }

    fn operator(&self, node: usize) -> Card {
        let node = &self.graph.nodes[node];
        Card { heading: node.label.clone(), lines: vec![(node.ty.clone(), String::new())] }
    }

    /// A call of a kernel, with its operators and the type of its result; or a node that is in none.
    fn kernel(&self, nodes: &[usize]) -> Card {
        let node = |node: &usize| &self.graph.nodes[*node];
        let last = nodes.last().map(node);
        let ty = last.map(|last| (last.ty.clone(), String::new()));
        let Some(kernel) = last.and_then(|last| last.kernel()) else {
            return Card {
                heading: last.map(|last| last.label.clone()).unwrap_or_default(),
                lines: ty.into_iter().collect(),
            };
        };
        let name = &self.graph.kernels[kernel];
        let more = (self.note)(name).map(|note| (note, String::new()));
        let operators = nodes.iter().filter(|_| nodes.len() > 1);
        let operators = operators.map(|n| (format!("· {}", node(n).label), operator_id(self.number, *n)));
        Card { heading: name.to_string(), lines: more.into_iter().chain(operators).chain(ty).collect() }
    }

    /// Names the producers of edges that are too long to be drawn, above their consumers.
    fn references(&self, out: &mut String, layout: &Layout, cards: &[Card], from: (f64, f64), id: Id) {
        let mut count = vec![0; cards.len()];
        for (producer, consumer) in &layout.long {
            let (x, y) = offset(layout.centers[*consumer], from);
            let (width, height) = cards[*consumer].size();
            let _ = writeln!(
                out,
                "<a href=\"#{}\"><text x=\"{:.1}\" y=\"{:.1}\" class=\"muted\">← {}</text></a>",
                id(self.number, *producer),
                x + width / 2.0 + 4.0,
                y - height / 2.0 + 10.0 + 12.0 * f64::from(count[*consumer]),
                escaped(&shortened(&cards[*producer].heading, 20)),
            );
            count[*consumer] += 1;
        }
    }
}

/// The id of a box, by the numbers of its graph and of what it shows.
type Id = fn(usize, usize) -> String;

/// The id of the box of an operator.
fn operator_id(graph: usize, node: usize) -> String {
    format!("f{graph}o{node}")
}

/// The id of the box of a call.
pub fn call_id(graph: usize, call: usize) -> String {
    format!("f{graph}k{call}")
}

fn laid_out(cards: &[Card], edges: impl IntoIterator<Item = (usize, usize)>) -> Layout {
    let sizes: Vec<(f64, f64)> = cards.iter().map(Card::size).collect();
    layout(&sizes, edges)
}

fn offset((x, y): (f64, f64), (left, top): (f64, f64)) -> (f64, f64) {
    (x + left, y + top)
}

/// The colour of a call: one of several for fused operators.
fn color(nodes: &[usize], call: usize) -> String {
    if nodes.len() > 1 { format!("c{}", call % COLORS) } else { "panel".to_owned() }
}

fn edges(out: &mut String, layout: &Layout, from: (f64, f64)) {
    for line in &layout.lines {
        let points: Vec<(f64, f64)> = line.iter().map(|point| offset(*point, from)).collect();
        let (Some((first, rest)), Some(end)) = (points.split_first(), points.last()) else { continue };
        let mut path = format!("M{:.1} {:.1}", first.0, first.1);
        for pair in rest.windows(2) {
            let middle = ((pair[0].0 + pair[1].0) / 2.0, (pair[0].1 + pair[1].1) / 2.0);
            let _ = write!(path, "Q{:.1} {:.1} {:.1} {:.1}", pair[0].0, pair[0].1, middle.0, middle.1);
        }
        let _ = writeln!(
            out,
            "<path d=\"{path}L{:.1} {:.1}\" class=\"edge\"/><path d=\"M{:.1} {:.1}l-3 -6h6z\" class=\"arrow\"/>",
            end.0, end.1, end.0, end.1
        );
    }
}

/// Draws a box around its centre: a link to `target`.
fn draw_card(
    out: &mut String,
    card: &Card,
    (id, class): &(String, String),
    color: &str,
    target: &str,
    (x, y): (f64, f64),
) {
    let (width, height) = card.size();
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let text = if color == "panel" { "" } else { " class=\"on\"" };
    let all: Vec<&str> =
        [card.heading.as_str()].into_iter().chain(card.lines.iter().map(|(text, _)| text.as_str())).collect();
    let _ = write!(
        out,
        "<g id=\"{id}\" class=\"{class}\"><a href=\"#{target}\"><title>{}</title>\
         <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" class=\"{color}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\"{text}>{}</text></a>",
        escaped(&all.join("\n")),
        left + 10.0,
        top + LINE,
        escaped(&shortened(&card.heading, MAX_LETTERS)),
    );
    for (number, (line, link)) in card.lines.iter().enumerate() {
        let line = format!(
            "<text x=\"{:.1}\" y=\"{:.1}\"{text}>{}</text>",
            left + 10.0,
            top + LINE * (number + 2) as f64,
            escaped(&shortened(line, MAX_LETTERS))
        );
        out.push_str(&if link.is_empty() { line } else { format!("<a href=\"#{link}\">{line}</a>") });
    }
    out.push_str("</g>\n");
}

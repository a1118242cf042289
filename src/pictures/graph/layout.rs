//! Positions of boxes in layers, from top to bottom, with dagre's layout (Gansner et al. 1993, "A Technique for Drawing
//! Directed Graphs").

use dagre::{
    EdgeLabel, LayoutOptions, NodeLabel,
    graph::{Graph, GraphOptions},
};
use std::collections::HashSet;

/// Maximum number of layers that an edge spans. The time of a layout grows with the square of what edges span.
const MAX_SPAN: usize = 12;

/// A layout.
pub struct Layout {
    /// Centre of each box.
    pub centers: Vec<(f64, f64)>,
    /// Edges as lines through points.
    pub lines: Vec<Vec<(f64, f64)>>,
    /// Edges that span too many layers to be drawn.
    pub long: Vec<(usize, usize)>,
    pub width: f64,
    pub height: f64,
}

/// Lays out boxes of these widths and heights. Edges lead from a box to one after it.
pub fn layout(sizes: &[(f64, f64)], edges: impl IntoIterator<Item = (usize, usize)>) -> Layout {
    let distinct: HashSet<(usize, usize)> = edges.into_iter().filter(|(from, to)| from != to).collect();
    let mut edges: Vec<(usize, usize)> = distinct.into_iter().collect();
    edges.sort_unstable_by_key(|(from, to)| (*to, *from));
    let layers = layers(sizes.len(), &edges);
    let (long, short): (Vec<_>, Vec<_>) =
        edges.into_iter().partition(|(from, to)| layers[*to] - layers[*from] > MAX_SPAN);
    let mut graph = Graph::with_options(GraphOptions { directed: true, multigraph: false, compound: false });
    for (node, (width, height)) in sizes.iter().enumerate() {
        graph.set_node(node.to_string(), Some(NodeLabel { width: *width, height: *height, ..NodeLabel::default() }));
    }
    for (from, to) in &short {
        graph.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), None);
    }
    let options = LayoutOptions { nodesep: 24.0, ranksep: 28.0, edgesep: 12.0, ..LayoutOptions::default() };
    dagre::layout(&mut graph, Some(options));
    let center = |node: usize| {
        let label = graph.node(&node.to_string());
        label.map_or((0.0, 0.0), |label| (label.x.unwrap_or(0.0), label.y.unwrap_or(0.0)))
    };
    let centers: Vec<(f64, f64)> = (0..sizes.len()).map(center).collect();
    let line = |(from, to): &(usize, usize)| {
        let label = graph.edge(&from.to_string(), &to.to_string(), None);
        label.into_iter().flat_map(|label| &label.points).map(|point| (point.x, point.y)).collect()
    };
    let lines: Vec<Vec<(f64, f64)>> = short.iter().map(line).collect();
    let corners = centers.iter().zip(sizes).map(|((x, y), (width, height))| (x + width / 2.0, y + height / 2.0));
    let (width, height) = corners
        .chain(lines.iter().flatten().copied())
        .fold((0.0, 0.0), |(width, height): (f64, f64), (x, y)| (width.max(x), height.max(y)));
    Layout { centers, lines, long, width, height }
}

/// Layer of each node: the length of the longest path to it.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; count];
    for (from, to) in edges {
        layers[*to] = layers[*to].max(layers[*from] + 1);
    }
    layers
}

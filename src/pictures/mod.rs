//! Drawings as SVG, in one visual style for light and dark backgrounds.
//!
//! - [`plot`]: ticks of axes, and text in drawings.
//! - [`graph`]: the graph of a model before and after fusion.
//!
//! Colours are classes of `style.css`: `c0` to `c5` for series, `hot` for what stands out, with text of class `on` on them;
//! `line`, `grid`, `panel`, `edge` and `limit` for the rest.

pub mod graph;
pub mod plot;

const STYLE: &str = include_str!("style.css");
/// Number of colours for series: classes `c0`, `c1`, ….
pub const COLORS: usize = 6;

/// A drawing of a size in pixels; `body` is SVG without an element around it.
pub fn document(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n<style>\n{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" class=\"bg\"/>\n{body}</svg>\n"
    )
}

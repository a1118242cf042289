//! A roofline as a drawing (Williams, Waterman and Patterson 2009): arithmetic intensity to the right, performance upwards,
//! both logarithmic.

use super::{Kernel, Roofline};
use crate::plot::{escaped, log_ticks, shortened};
use std::fmt::Write;

const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 420.0;
/// Longest name beside a kernel's mark, in characters; all of it is in the tooltip.
const NAME_WIDTH: usize = 32;

/// Range of the axes, as powers of two.
struct Frame {
    intensity: (f64, f64),
    rate: (f64, f64),
}

impl Frame {
    /// All kernels, and the points where the roofs bend.
    fn of(roofline: &Roofline) -> Frame {
        let peak = &roofline.peak;
        let bends = [peak.memory, peak.cache].map(|bytes| (peak.flops / bytes).log2());
        let kernels = || drawn(roofline).map(|(kernel, flops)| (flops / kernel.bytes, flops / kernel.time));
        let intensities = kernels().map(|(intensity, _)| intensity.log2()).chain(bends);
        let rates = kernels().map(|(_, rate)| rate.log2()).chain([peak.flops.log2()]);
        let (low, high) = intensities.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let (least, most) = rates.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        Frame { intensity: (low - 2.0, high + 2.0), rate: (least - 2.0, most + 1.0) }
    }

    fn x(&self, intensity: f64) -> f64 {
        let (low, high) = self.intensity;
        LEFT + (intensity.log2().clamp(low, high) - low) / (high - low) * WIDTH
    }

    fn y(&self, rate: f64) -> f64 {
        let (low, high) = self.rate;
        TOP + (high - rate.log2().clamp(low, high)) / (high - low) * HEIGHT
    }

    /// Ticks at powers of ten with their grid lines, and what the axes show.
    fn axes(&self) -> String {
        let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
        let mut out = format!("<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>\n");
        for tick in log_ticks(self.intensity.0.exp2(), self.intensity.1.exp2()) {
            let x = self.x(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.2} {TOP}V{bottom}\" stroke=\"#eee\"/>\
                 <text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 15.0
            );
        }
        for tick in log_ticks(self.rate.0.exp2(), self.rate.1.exp2()) {
            let y = self.y(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.2}H{right}\" stroke=\"#eee\"/>\
                 <text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                y + 4.0,
                tick / 1e9
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.2}\" y=\"{}\" text-anchor=\"middle\">arithmetic intensity, FLOP per byte</text>\
             <text transform=\"translate(16 {:.2}) rotate(-90)\" text-anchor=\"middle\">performance, GFLOP/s</text>",
            LEFT + WIDTH / 2.0,
            bottom + 32.0,
            TOP + HEIGHT / 2.0,
        );
        out
    }
}

/// The kernels that have a point in the drawing, with their operations.
fn drawn(roofline: &Roofline) -> impl Iterator<Item = (&Kernel, f64)> {
    let known = |kernel: &Kernel| kernel.flops.filter(|flops| *flops > 0.0 && kernel.bytes > 0.0);
    roofline.kernels.iter().filter_map(move |kernel| Some((kernel, known(kernel)?)))
}

/// The drawing.
pub fn svg(roofline: &Roofline) -> String {
    let (frame, peak) = (Frame::of(roofline), &roofline.peak);
    let mut body = frame.axes();
    for (bytes, dashes) in [(peak.memory, "none"), (peak.cache, "4 3")] {
        let points = [frame.intensity.0.exp2(), peak.flops / bytes, frame.intensity.1.exp2()];
        let point =
            |intensity: &f64| format!("{:.2} {:.2}", frame.x(*intensity), frame.y((intensity * bytes).min(peak.flops)));
        let path = points.iter().map(point).collect::<Vec<_>>().join("L");
        let _ = writeln!(body, "<path d=\"M{path}\" fill=\"none\" stroke=\"#e15759\" stroke-dasharray=\"{dashes}\"/>");
    }
    for (kernel, flops) in drawn(roofline) {
        body += &mark(roofline, &frame, kernel, flops);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"505\" viewBox=\"0 0 800 505\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">Roofs, measured on {} threads: {:.1} GFLOP/s of float32; {:.1} GB/s from memory \
         (solid), {:.1} GB/s from the cache (dashed)</text>\n{}{body}</svg>\n",
        peak.threads,
        peak.flops / 1e9,
        peak.memory / 1e9,
        peak.cache / 1e9,
        roofline
            .remark()
            .map(|text| format!("<text x=\"{LEFT}\" y=\"30\" fill=\"#666\">{text}</text>\n"))
            .unwrap_or_default(),
    )
}

/// A kernel's point with its name, on the side where there is room for it.
fn mark(roofline: &Roofline, frame: &Frame, kernel: &Kernel, flops: f64) -> String {
    let (x, y) = (frame.x(flops / kernel.bytes), frame.y(flops / kernel.time));
    let (name, label) = (escaped(&kernel.name), escaped(&shortened(&kernel.name, NAME_WIDTH)));
    let (label_x, anchor) = if x > LEFT + WIDTH / 2.0 { (x - 7.0, "end") } else { (x + 7.0, "start") };
    format!(
        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4\" fill=\"#4e79a7\"><title>{name}: {:.2} GFLOP/s, {:.2} FLOP per byte, \
         {:.0} % of the roofline</title></circle>\
         <text x=\"{label_x:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\">{label}</text>\n",
        flops / kernel.time / 1e9,
        flops / kernel.bytes,
        roofline.share(kernel).0 * 100.0,
        y + 4.0,
    )
}

//! A roofline as a drawing (Williams, Waterman and Patterson 2009): arithmetic intensity to the right, performance upwards,
//! both logarithmic.

use super::{Kernel, Roofline};
use crate::pictures::{
    document,
    plot::{escaped, log_ticks, shortened},
};
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
        let mut out = format!("<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" class=\"line\"/>\n");
        for tick in log_ticks(self.intensity.0.exp2(), self.intensity.1.exp2()) {
            let x = self.x(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.2} {TOP}V{bottom}\" class=\"grid\"/>\
                 <text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 15.0
            );
        }
        for tick in log_ticks(self.rate.0.exp2(), self.rate.1.exp2()) {
            let y = self.y(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.2}H{right}\" class=\"grid\"/>\
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
        let _ = writeln!(body, "<path d=\"M{path}\" class=\"limit\" stroke-dasharray=\"{dashes}\"/>");
    }
    let mut kernels: Vec<(&Kernel, f64)> = drawn(roofline).collect();
    kernels.sort_by(|(a, _), (b, _)| (b.calls as f64 * b.time).total_cmp(&(a.calls as f64 * a.time)));
    let mut labels = Vec::new();
    for (kernel, flops) in kernels {
        body += &mark(roofline, &frame, kernel, flops, &mut labels);
    }
    let heading = format!(
        "<text x=\"{LEFT}\" y=\"16\">Roofs, measured on {} threads: {:.1} GFLOP/s of float32; {:.1} GB/s from memory \
         (solid), {:.1} GB/s from the cache (dashed)</text>\n",
        peak.threads,
        peak.flops / 1e9,
        peak.memory / 1e9,
        peak.cache / 1e9,
    );
    let remark = roofline.remark().map(|text| format!("<text x=\"{LEFT}\" y=\"30\" class=\"muted\">{text}</text>\n"));
    document(800.0, 505.0, &format!("{heading}{}{body}", remark.unwrap_or_default()))
}

/// Width of a label's letter, and height of a label.
const LETTER: f64 = 6.0;
const LABEL: f64 = 12.0;

/// A kernel's point, with its name on the side where there is room for it, unless it would cover one of `labels`: left and
/// right end, and height.
fn mark(roofline: &Roofline, frame: &Frame, kernel: &Kernel, flops: f64, labels: &mut Vec<(f64, f64, f64)>) -> String {
    let (x, y) = (frame.x(flops / kernel.bytes), frame.y(flops / kernel.time));
    let name = escaped(&kernel.name);
    let point = format!(
        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4\" class=\"c0\"><title>{name}: {:.2} GFLOP/s, {:.2} FLOP per byte, \
         {:.0} % of the roofline</title></circle>\n",
        flops / kernel.time / 1e9,
        flops / kernel.bytes,
        roofline.share(kernel).0 * 100.0,
    );
    let label = shortened(&kernel.name, NAME_WIDTH);
    let width = label.chars().count() as f64 * LETTER;
    let (label_x, anchor, left) =
        if x > LEFT + WIDTH / 2.0 { (x - 7.0, "end", x - 7.0 - width) } else { (x + 7.0, "start", x + 7.0) };
    let covers =
        |(first, last, height): &(f64, f64, f64)| *first < left + width && left < *last && (height - y).abs() < LABEL;
    if labels.iter().any(covers) {
        return point;
    }
    labels.push((left, left + width, y));
    let label = escaped(&label);
    format!("{point}<text x=\"{label_x:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\">{label}</text>\n", y + 4.0)
}

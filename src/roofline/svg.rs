//! A roofline as a drawing: operations for each byte to the right, operations in a second upwards, in powers of two.

use super::{Kernel, Roofline};
use std::fmt::Write;

const LEFT: f64 = 60.0;
const TOP: f64 = 24.0;
const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 440.0;

/// What the drawing shows, as powers of two.
struct Frame {
    intensity: (f64, f64),
    rate: (f64, f64),
}

impl Frame {
    /// All kernels, and the places where the roofs bend.
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
}

/// The kernels that have a place in the drawing, with their operations.
fn drawn(roofline: &Roofline) -> impl Iterator<Item = (&Kernel, f64)> {
    let known = |kernel: &Kernel| kernel.flops.filter(|flops| *flops > 0.0 && kernel.bytes > 0.0);
    roofline.kernels.iter().filter_map(move |kernel| Some((kernel, known(kernel)?)))
}

/// The drawing.
pub fn svg(roofline: &Roofline) -> String {
    let (frame, peak) = (Frame::of(roofline), &roofline.peak);
    let mut body = String::new();
    for (bytes, dashes) in [(peak.memory, "none"), (peak.cache, "4 3")] {
        let points = [frame.intensity.0.exp2(), peak.flops / bytes, frame.intensity.1.exp2()];
        let point =
            |intensity: &f64| format!("{:.2} {:.2}", frame.x(*intensity), frame.y((intensity * bytes).min(peak.flops)));
        let path = points.iter().map(point).collect::<Vec<_>>().join("L");
        let _ = writeln!(body, "<path d=\"M{path}\" fill=\"none\" stroke=\"#e15759\" stroke-dasharray=\"{dashes}\"/>");
    }
    for (kernel, flops) in drawn(roofline) {
        let (x, y) = (frame.x(flops / kernel.bytes), frame.y(flops / kernel.time));
        let name = kernel.name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            body,
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4\" fill=\"#4e79a7\"><title>{name}: {:.2} GFLOP/s, {:.2} operations \
             for each byte, {:.0} % of the limit</title></circle><text x=\"{:.2}\" y=\"{y:.2}\">{name}</text>",
            flops / kernel.time / 1e9,
            flops / kernel.bytes,
            roofline.share(kernel).0 * 100.0,
            x + 7.0,
        );
    }
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"500\" viewBox=\"0 0 800 500\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">{:.1} GFLOP/s of float32 on {} threads, {:.1} GB/s from memory, {:.1} from caches \
         (dashed)</text>\n<text x=\"{LEFT}\" y=\"{}\">operations for each byte, to the right; operations in a second, \
         upwards</text>\n{body}</svg>\n",
        peak.flops / 1e9,
        peak.threads,
        peak.memory / 1e9,
        peak.cache / 1e9,
        bottom + 18.0,
    )
}

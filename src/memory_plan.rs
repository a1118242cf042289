//! Drawings of what memory a module's functions use over time: `hammock opt --memory-plan`.
//!
//! Steps go from left to right, addresses from top to bottom, storage under storage, then the temporaries of kernels, whose
//! memory a call keeps; the curve below says how much is in use. A storage whose size depends on the arguments has a row of its own
//! height, with dashed lines.

use hammock_compiler::Temporaries;
use hammock_ir::{Name, print::dim_text};
use hammock_passes::{MemoryPlan, PlannedBuffer, PlannedKernel};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::fmt::Write;

/// Width of the drawing, and of the margin to its left.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 60.0;
/// Height of the storages of known size of a function, of one of symbolic size, and of the curve.
const HEIGHT: f64 = 480.0;
const ROW: f64 = 18.0;
const CURVE: f64 = 80.0;
/// Between parts.
const GAP: f64 = 28.0;
const COLORS: [&str; 6] = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948"];

/// Notes what kernels take for themselves.
pub fn add_temporaries(plans: &mut IndexMap<Name, MemoryPlan>, temporaries: &Temporaries) {
    let of = |symbol: &str| temporaries.get(symbol).copied().unwrap_or(0);
    plans.values_mut().for_each(|plan| plan.add_temporaries(&of));
}

/// The functions that allocate anything.
fn allocating(plans: &IndexMap<Name, MemoryPlan>) -> impl Iterator<Item = (&Name, &MemoryPlan)> {
    plans.iter().filter(|(_, plan)| !plan.storages.is_empty() || plan.temporary_bytes() > 0)
}

/// The kernels that take memory for themselves.
fn taking(plan: &MemoryPlan) -> impl Iterator<Item = &PlannedKernel> {
    plan.kernels.iter().filter(|kernel| kernel.temporaries > 0)
}

/// For tools: a list of functions with their storages, and the tensors in these.
pub fn json_of(plans: &IndexMap<Name, MemoryPlan>) -> Value {
    let bytes = |e: &hammock_ir::PrimExpr| e.as_int().map_or_else(|| Value::from(dim_text(e)), Value::from);
    let function = |(name, plan): (&Name, &MemoryPlan)| {
        let storages = plan.storages.iter().map(|s| json!({"bytes": bytes(&s.bytes), "live": [s.live.0, s.live.1]}));
        let buffers = plan.buffers.iter().map(|b| {
            json!({
                "name": &*b.name, "filled_by": b.filled_by.as_deref(), "storage": b.storage, "offset": b.offset,
                "bytes": bytes(&b.bytes), "live": [b.live.0, b.live.1],
            })
        });
        let temporaries = taking(plan).map(|k| json!({"kernel": &*k.name, "step": k.step, "bytes": k.temporaries}));
        json!({
            "function": &**name, "steps": plan.steps, "peak_bytes": plan.peak(), "planned_bytes": plan.planned_bytes(),
            "temporary_bytes": plan.temporary_bytes(), "storages": storages.collect::<Vec<_>>(),
            "buffers": buffers.collect::<Vec<_>>(), "temporaries": temporaries.collect::<Vec<_>>(),
        })
    };
    allocating(plans).map(function).collect()
}

/// For people.
pub fn svg_of(plans: &IndexMap<Name, MemoryPlan>) -> String {
    let (mut body, mut y) = (String::new(), 0.0);
    for (name, plan) in allocating(plans) {
        y = draw(&mut body, name, plan, y);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{0}\" viewBox=\"0 0 {WIDTH} {0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        y + GAP
    )
}

/// Draws a function from `y` on; returns where the next may begin.
fn draw(out: &mut String, name: &str, plan: &MemoryPlan, y: f64) -> f64 {
    let (planned, temporary, peak) = (plan.planned_bytes(), plan.temporary_bytes(), plan.peak());
    let title = format!(
        "{name}: {planned} bytes in {} storages, {temporary} bytes of temporaries, at most {peak} in use at once",
        plan.storages.len()
    );
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{}</text>", y + 18.0, escaped(&title));
    let scale = Scale {
        step: (WIDTH - LEFT - 20.0) / plan.steps.max(1) as f64,
        byte: HEIGHT / (planned + temporary).max(1) as f64,
    };
    let (mut tops, mut top) = (Vec::with_capacity(plan.storages.len()), y + GAP);
    for storage in &plan.storages {
        let height = storage.known().map_or(ROW, |bytes| bytes as f64 * scale.byte);
        let dashed = if storage.known().is_some() { "" } else { " stroke-dasharray=\"4 3\"" };
        let (x, width) = scale.span(storage.live);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"#eee\" stroke=\"#999\"{dashed}>\
             <title>storage of {} bytes</title></rect>",
            escaped(&dim_text(&storage.bytes))
        );
        tops.push(top);
        top += height + 2.0;
    }
    for (number, buffer) in plan.buffers.iter().enumerate() {
        draw_buffer(out, buffer, tops[buffer.storage], &scale, COLORS[number % COLORS.len()]);
    }
    for PlannedKernel { step, name, temporaries } in taking(plan) {
        let ((x, width), height) = (scale.span((*step, *step)), *temporaries as f64 * scale.byte);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"#e15759\">\
             <title>temporaries of {}: {temporaries} bytes, step {step}</title></rect>",
            escaped(name)
        );
    }
    top += temporary as f64 * scale.byte;
    let in_use: Vec<u64> = plan.in_use().into_iter().map(|bytes| bytes + temporary).collect();
    draw_curve(out, &in_use, peak, top + GAP, &scale);
    top + GAP + CURVE + GAP
}

fn draw_buffer(out: &mut String, buffer: &PlannedBuffer, top: f64, scale: &Scale, color: &str) {
    let (x, width) = scale.span(buffer.live);
    let (y, height) = match buffer.bytes.as_int() {
        Some(bytes) => (top + buffer.offset as f64 * scale.byte, (bytes as f64 * scale.byte).max(0.5)),
        None => (top, ROW),
    };
    let filled_by = buffer.filled_by.as_ref().map(|kernel| format!(" of {kernel}")).unwrap_or_default();
    let title = format!(
        "{}{filled_by}: {} bytes at {}, steps {} to {}",
        buffer.name,
        dim_text(&buffer.bytes),
        buffer.offset,
        buffer.live.0,
        buffer.live.1
    );
    let _ = write!(
        out,
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{color}\" fill-opacity=\"0.8\" \
         stroke=\"white\" stroke-width=\"0.5\"><title>{}</title></rect>",
        escaped(&title)
    );
    let label = buffer.filled_by.as_ref().unwrap_or(&buffer.name);
    if height > 12.0 && width > 7.0 * label.len() as f64 {
        let _ = write!(out, "<text x=\"{:.2}\" y=\"{:.2}\">{}</text>", x + 3.0, y + 11.0, escaped(label));
    }
    out.push('\n');
}

/// How much is in use at each step.
fn draw_curve(out: &mut String, in_use: &[u64], peak: u64, y: f64, scale: &Scale) {
    let mut path = format!("M{LEFT} {:.2}", y + CURVE);
    for (step, bytes) in in_use.iter().enumerate() {
        let (x, width) = scale.span((step, step));
        let height = y + CURVE - *bytes as f64 / peak.max(1) as f64 * CURVE;
        let _ = write!(path, "L{x:.2} {height:.2}H{:.2}", x + width);
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}V{:.2}Z\" fill=\"#4e79a7\" fill-opacity=\"0.3\" stroke=\"#4e79a7\"/>",
        y + CURVE
    );
    let _ = writeln!(out, "<text x=\"4\" y=\"{:.2}\">{peak}</text>", y + 10.0);
}

/// Units of the drawing for a step and a byte.
struct Scale {
    step: f64,
    byte: f64,
}

impl Scale {
    /// Where steps begin, and how wide they are together.
    fn span(&self, (first, last): (usize, usize)) -> (f64, f64) {
        (LEFT + first as f64 * self.step, (last - first + 1) as f64 * self.step)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

//! Drawings of what memory a module's functions use over time: `hammock opt --memory-plan-out`.
//!
//! Steps go from left to right, addresses from top to bottom, storage under storage, then the temporaries of kernels, whose
//! memory a call keeps; the curve below says how much is in use. A storage of symbolic size has a row of fixed height, with
//! dashed lines, and is not part of the curve.

use crate::pictures::{
    COLORS, document,
    plot::{bytes_text, escaped, linear_ticks},
};
use hammock_compiler::Temporaries;
use hammock_diagnostics::count;
use hammock_ir::{Name, PrimExpr, print::dim_text};
use hammock_passes::{MemoryPlan, PlannedBuffer, PlannedKernel};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::fmt::Write;

/// Width of the drawing, and of the margin to its left.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 70.0;
/// Height of the storages of known size of a function, of one of symbolic size, and of the curve.
const HEIGHT: f64 = 480.0;
const ROW: f64 = 18.0;
const CURVE: f64 = 80.0;
/// Between parts.
const GAP: f64 = 28.0;
/// Height of a storage that has room for a label.
const LABEL_HEIGHT: f64 = 12.0;

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
    let bytes = |e: &PrimExpr| e.as_int().map_or_else(|| Value::from(dim_text(e)), Value::from);
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
    document(WIDTH, y + GAP, &body)
}

/// Draws a function from `y` on; returns where the next may begin.
fn draw(out: &mut String, name: &str, plan: &MemoryPlan, y: f64) -> f64 {
    let (planned, temporary, peak) = (plan.planned_bytes(), plan.temporary_bytes(), plan.peak());
    let title = format!("{name}: {}", sizes_text(plan));
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
        let size = escaped(&size_text(&storage.bytes));
        let _ = writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" class=\"panel\"{dashed}>\
             <title>storage of {size}</title></rect>"
        );
        if height >= LABEL_HEIGHT {
            left_label(out, &size, top + 10.0);
        }
        tops.push(top);
        top += height + 2.0;
    }
    for (number, buffer) in plan.buffers.iter().enumerate() {
        draw_buffer(out, buffer, tops[buffer.storage], &scale, number % COLORS);
    }
    for PlannedKernel { step, name, temporaries } in taking(plan) {
        let ((x, width), height) = (scale.span((*step, *step)), *temporaries as f64 * scale.byte);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" class=\"hot\">\
             <title>temporaries of {}: {temporaries} bytes, step {step}</title></rect>",
            escaped(name)
        );
    }
    top += temporary as f64 * scale.byte;
    draw_steps(out, plan.steps, (y + GAP, top), &scale);
    if peak == 0 {
        return top + GAP + GAP;
    }
    let in_use: Vec<u64> = plan.in_use().into_iter().map(|bytes| bytes + temporary).collect();
    draw_curve(out, &in_use, peak, top + GAP + 10.0, &scale);
    top + GAP + 10.0 + CURVE + GAP
}

/// Allocations of a function, and the memory in use over time; storages of symbolic size are labelled by their sizes.
fn sizes_text(plan: &MemoryPlan) -> String {
    let symbolic: Vec<String> = plan.symbolic().into_iter().collect();
    let known = plan.storages.len() - plan.storages.iter().filter(|storage| storage.known().is_none()).count();
    let mut parts = Vec::new();
    if known > 0 {
        parts.push(format!("{} in {}", bytes_text(plan.planned_bytes()), count(known, "storage")));
    }
    if !symbolic.is_empty() {
        let number = count(plan.storages.len() - known, "storage");
        parts.push(format!("{number} of symbolic size ({} bytes)", symbolic.join(", ")));
    }
    if plan.temporary_bytes() > 0 {
        parts.push(format!("{} of temporaries", bytes_text(plan.temporary_bytes())));
    }
    if plan.peak() > 0 {
        let more = if symbolic.is_empty() { "" } else { ", symbolic sizes left out" };
        parts.push(format!("at most {} in use at once{more}", bytes_text(plan.peak())));
    }
    parts.join("; ")
}

/// A size in bytes, as a number or an expression.
fn size_text(bytes: &PrimExpr) -> String {
    match bytes.as_int().and_then(|bytes| u64::try_from(bytes).ok()) {
        Some(bytes) => bytes_text(bytes),
        None => format!("{} bytes", dim_text(bytes)),
    }
}

/// A label of the axis to the left, cut if there is no room for it.
fn left_label(out: &mut String, text: &str, y: f64) {
    let text: String =
        if text.chars().count() > 11 { text.chars().take(10).chain(['…']).collect() } else { text.into() };
    let _ = writeln!(out, "<text x=\"{}\" y=\"{y:.2}\" text-anchor=\"end\">{text}</text>", LEFT - 5.0);
}

/// The axis of steps below the storages, with a line at each tick.
fn draw_steps(out: &mut String, steps: usize, (top, bottom): (f64, f64), scale: &Scale) {
    for tick in linear_ticks(steps as f64, 12) {
        let x = LEFT + tick * scale.step;
        let _ = writeln!(
            out,
            "<path d=\"M{x:.2} {top:.2}V{:.2}\" class=\"grid\"/>\
             <text x=\"{x:.2}\" y=\"{:.2}\" text-anchor=\"middle\">{tick}</text>",
            bottom + 3.0,
            bottom + 14.0,
        );
    }
    let _ = writeln!(out, "<text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">step</text>", LEFT - 12.0, bottom + 14.0);
}

fn draw_buffer(out: &mut String, buffer: &PlannedBuffer, top: f64, scale: &Scale, color: usize) {
    let (x, width) = scale.span(buffer.live);
    let (y, height) = match buffer.bytes.as_int() {
        Some(bytes) => (top + buffer.offset as f64 * scale.byte, (bytes as f64 * scale.byte).max(0.5)),
        None => (top, ROW),
    };
    let filled_by = buffer.filled_by.as_ref().map(|kernel| format!(" of {kernel}")).unwrap_or_default();
    let title = format!(
        "{}{filled_by}: {} at offset {}, steps {} to {}",
        buffer.name,
        size_text(&buffer.bytes),
        buffer.offset,
        buffer.live.0,
        buffer.live.1
    );
    let _ = write!(
        out,
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" class=\"c{color}\"><title>{}</title></rect>",
        escaped(&title)
    );
    let label = buffer.filled_by.as_ref().unwrap_or(&buffer.name);
    if height > 12.0 && width > 7.0 * label.len() as f64 {
        let _ = write!(out, "<text x=\"{:.2}\" y=\"{:.2}\" class=\"on\">{}</text>", x + 3.0, y + 11.0, escaped(label));
    }
    out.push('\n');
}

/// Memory in use at each step.
fn draw_curve(out: &mut String, in_use: &[u64], peak: u64, y: f64, scale: &Scale) {
    let mut path = format!("M{LEFT} {:.2}", y + CURVE);
    for (step, bytes) in in_use.iter().enumerate() {
        let (x, width) = scale.span((step, step));
        let height = y + CURVE - *bytes as f64 / peak.max(1) as f64 * CURVE;
        let _ = write!(path, "L{x:.2} {height:.2}H{:.2}", x + width);
    }
    let _ = writeln!(out, "<path d=\"{path}V{:.2}Z\" class=\"area\"/>", y + CURVE);
    left_label(out, &bytes_text(peak), y + 4.0);
    left_label(out, "in use", y + CURVE / 2.0);
    left_label(out, "0 B", y + CURVE);
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

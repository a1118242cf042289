//! The page: HTML without scripts, with everything in it.

use crate::{
    pictures::{
        graph::{Graph, call_links, svg},
        plot::{bytes_text, escaped},
    },
    roofline::{Roofline, Row},
    stats::{FunctionStats, Stats},
};
use hammock_passes::PREPACKED;
use hammock_runtime::image::{Signature, signature::Role};
use hammock_tools::{Samples, duration_text};
use std::{collections::HashMap, fmt::Write};

const STYLE: &str = include_str!("page.css");

/// The contents of a page.
pub struct Page<'a> {
    pub model: &'a str,
    pub function: &'a str,
    pub signature: Option<&'a Signature>,
    /// Arguments of the measured call, and the symbolic sizes that are assumed to be 1 in it.
    pub arguments: &'a [String],
    pub assumed: &'a [String],
    pub samples: &'a Samples,
    pub roofline: &'a Roofline,
    pub graphs: &'a [Graph],
    /// The memory plan as SVG.
    pub memory: String,
    pub stats: &'a Stats,
    pub file_bytes: usize,
    /// Memory in use at once during calls, with arguments.
    pub peak_bytes: usize,
}

impl Page<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let sections = [
            ("Signature", self.signature()),
            ("Kernels by time", self.kernels()),
            ("Roofline", picture(&self.roofline.svg())),
            ("Graph, before and after fusion", self.graph()),
            ("Memory plan", picture(&self.memory)),
            ("Functions", self.functions()),
        ];
        let sections =
            sections.into_iter().map(|(title, body)| format!("<section>\n<h2>{title}</h2>\n{body}</section>\n"));
        let model = escaped(self.model);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{model}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{model}</h1>\n{}</header>\n{}{}</body>\n</html>\n",
            self.heading(),
            self.numbers(),
            sections.collect::<String>(),
        )
    }

    /// How it was measured.
    fn heading(&self) -> String {
        let (threads, function) = (self.roofline.threads(), escaped(self.function));
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let assumed: String = self.assumed.iter().map(|size| format!(" {} = 1 is assumed.", escaped(size))).collect();
        let arguments = match self.arguments {
            [] => String::new(),
            arguments => format!("<p class=\"muted\">Arguments: {}.{assumed}</p>\n", escaped(&arguments.join(", "))),
        };
        let version = env!("CARGO_PKG_VERSION");
        format!("<p class=\"muted\">Function {function} on {threads}. Hammock {version}.</p>\n{arguments}")
    }

    fn numbers(&self) -> String {
        let numbers = [
            (duration_text(self.samples.median()), "median time of a call"),
            (duration_text(self.samples.quantile(0.9)), "90th percentile"),
            (self.roofline.rows().len().to_string(), "kernels in a call"),
            (bytes_text(self.stats.constant_bytes() as u64), "constants"),
            (bytes_text(self.peak_bytes as u64), "memory of a call, at most"),
            (bytes_text(self.file_bytes as u64), "compiled file"),
        ];
        let number = |(number, label)| format!("<div><b>{number}</b>{label}</div>\n");
        format!("<div class=\"numbers\">\n{}</div>\n", numbers.map(number).concat())
    }

    fn signature(&self) -> String {
        let Some(signature) = self.signature else { return String::new() };
        let row = |role: &str, name: &str, ty: &dyn std::fmt::Display| {
            let ty = escaped(&ty.to_string());
            format!("<tr><td>{role}</td><td class=\"name\">{}</td><td class=\"name\">{ty}</td></tr>\n", escaped(name))
        };
        let shown = signature.params.iter().filter(|param| param.role != Role::Bound).chain(&signature.results);
        let rows: String = shown.map(|param| row(param.role.name(), &param.name, &param.ty)).collect();
        format!("<table>\n<tr><th></th><th>name</th><th>type</th></tr>\n{rows}</table>\n")
    }

    fn kernels(&self) -> String {
        let rows = self.roofline.rows();
        let total = rows.iter().map(in_a_call).sum::<f64>().max(f64::MIN_POSITIVE);
        let links = call_links(self.graphs, self.function);
        let mut out = String::from(
            "<table>\n<tr><th>kernel</th><th class=\"n\">calls</th><th class=\"n\">time of one</th><th class=\"n\">share of time</th>\
             <th class=\"n\">share of limit</th><th>limit</th><th class=\"n\">GFLOP/s</th><th class=\"n\">GB/s</th></tr>\n",
        );
        for row in &rows {
            let name = escaped(row.name);
            let name = links.get(grouped(row.name)).map_or(name.clone(), |id| format!("<a href=\"#{id}\">{name}</a>"));
            let _ = writeln!(
                out,
                "<tr><td class=\"name\">{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}{}<td>{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{:.1}</td></tr>",
                (row.calls * 10.0).round() / 10.0,
                duration_text(row.time * 1e9),
                bar("bar", in_a_call(row) / total),
                bar("limit", row.share),
                row.limit,
                row.flops.map_or("–".to_owned(), |flops| format!("{:.1}", flops / 1e9)),
                row.bytes / 1e9,
            );
        }
        out + "</table>\n<p class=\"muted\">The limit is the larger of two lower bounds: operations at the machine's peak rate, and \
               bytes of tensors at its bandwidth, both measured. Times of kernels are minima.</p>\n"
    }

    fn graph(&self) -> String {
        let times: HashMap<&str, String> =
            self.roofline.rows().into_iter().map(|row| (grouped(row.name), duration_text(row.time * 1e9))).collect();
        let drawing = svg(self.graphs, &|kernel| times.get(kernel).cloned());
        "<p class=\"muted\">A click on an operator or a kernel shows its counterpart.</p>\n".to_owned()
            + &picture(&drawing)
    }

    fn functions(&self) -> String {
        let row = |f: &FunctionStats| {
            format!(
                "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                escaped(&f.name),
                f.instructions,
                f.storages,
                bytes_text(f.planned_bytes),
                bytes_text(f.peak_bytes)
            )
        };
        let rows = self.stats.functions().iter().map(row);
        format!(
            "<table>\n<tr><th>function</th><th class=\"n\">instructions</th><th class=\"n\">storages</th>\
             <th class=\"n\">planned</th><th class=\"n\">at once</th></tr>\n{}</table>\n",
            rows.collect::<String>()
        )
    }
}

/// Seconds that a kernel takes in a call of the function.
fn in_a_call(row: &Row) -> f64 {
    row.calls * row.time
}

/// The name of a kernel in the graph, which is drawn before weights are packed.
fn grouped(kernel: &str) -> &str {
    kernel.strip_suffix(PREPACKED).unwrap_or(kernel)
}

/// A share as a bar in the cell of a table.
fn bar(color: &str, share: f64) -> String {
    let percent = share * 100.0;
    format!("<td class=\"bar\" style=\"--color:var(--{color});--width:{:.1}%\">{percent:.0} %</td>", percent.min(100.0))
}

fn picture(svg: &str) -> String {
    format!("<div class=\"picture\">\n{svg}</div>\n")
}

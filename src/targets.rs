//! `hammock targets`: the CPUs that kernels can be compiled for, and what is known of each.

use clap::Args;
use hammock_compiler::{Failure, Family, Target, target, targets};
use serde_json::{Value, json};

/// Lists the supported CPUs and their features
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock targets
  hammock targets --json
  hammock compile model.py -o model.so --target-cpu x86-64-v3
  hammock opt model.py --print-plans --target-cpu znver4")]
pub struct Targets {
    /// Print a list of objects; sizes are in bytes
    #[arg(long)]
    json: bool,
}

/// Targets with a description: the CPU of this machine, and those that stand for all with certain features.
fn described() -> impl Iterator<Item = (&'static str, &'static str)> {
    let levels = Family::ALL.iter().flat_map(|family| family.levels().iter().copied());
    [("native", "the CPU of this machine")].into_iter().chain(levels)
}

const NOTES: &str = "
vectors: how many vector registers of how many bits; with masks, loads and stores may leave elements out
fma: how many vectors of products a core adds to others in a cycle, which is assumed; `no`: these are two operations
dot: of what dtypes several products are added up in one instruction
caches: the two of a core, and the last; those of `native` are its own, the others are assumed from the vectors
";

impl Targets {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let is_described = |name: &&str| described().any(|(known, _)| known == *name);
        let first = described().map(|(name, _)| name);
        let all: Vec<(&str, Target)> = first
            .chain(targets().filter(|name| !is_described(name)))
            .filter_map(|name| Some((name, target(name)?)))
            .collect();
        if self.json {
            let list: Vec<Value> = all.iter().map(|(name, target)| object(name, target)).collect();
            return crate::print(&format!("{:#}\n", Value::from(list)));
        }
        let head =
            line(["name", "vectors", "masks", "fma", "float16", "dot", "caches", "cores", ""].map(str::to_owned));
        let lines: String = all.iter().map(|(name, target)| line(columns(name, target))).collect();
        crate::print(&format!("{head}{lines}{NOTES}"))
    }
}

/// Description of a target; empty if it has none.
fn about(name: &str, target: &Target) -> String {
    let doc = described().find(|(known, _)| *known == name).map_or("", |(_, doc)| doc);
    if name == "native" { format!("{doc}: {}", target.cpu) } else { doc.to_owned() }
}

/// Number of threads of a target, if it is known.
fn cores(name: &str, target: &Target) -> Option<u32> {
    (name == "native").then_some(target.threads)
}

fn columns(name: &str, target: &Target) -> [String; 9] {
    let yes = |has: bool| if has { "yes" } else { "no" }.to_owned();
    let dot = [("int8", target.int8_dot), ("bfloat16", target.bfloat16_dot)];
    let dot: Vec<&str> = dot.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let caches = [target.caches.l1, target.caches.l2, target.caches.l3].map(size);
    [
        name.to_owned(),
        format!("{} x {}", target.vector_registers, target.vector_bytes * 8),
        yes(target.masks),
        if target.fma { target.fma_ports.to_string() } else { yes(false) },
        yes(target.float16),
        if dot.is_empty() { "-".to_owned() } else { dot.join(" ") },
        caches.join(" "),
        cores(name, target).map_or("-".to_owned(), |cores| cores.to_string()),
        about(name, target),
    ]
}

fn line(columns: [String; 9]) -> String {
    let [name, vectors, masks, fma, float16, dot, caches, cores, about] = columns;
    let line =
        format!("{name:<16} {vectors:<9} {masks:<6} {fma:<4} {float16:<8} {dot:<14} {caches:<14} {cores:<6} {about}");
    format!("{}\n", line.trim_end())
}

/// A size of memory in few letters.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes >= 1 << 10 => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

fn object(name: &str, target: &Target) -> Value {
    json!({
        "name": name,
        "doc": about(name, target),
        "cpu": target.cpu,
        "vector_bits": target.vector_bytes * 8,
        "vector_registers": target.vector_registers,
        "masks": target.masks,
        "fma": target.fma,
        "fma_ports": target.fma_ports,
        "rounds": target.rounds,
        "float16": target.float16,
        "int8_dot": target.int8_dot,
        "bfloat16_dot": target.bfloat16_dot,
        "caches": { "l1": target.caches.l1, "l2": target.caches.l2, "l3": target.caches.l3 },
        "memory_bytes_per_cycle": target.memory_bytes,
        "cores": cores(name, target),
    })
}

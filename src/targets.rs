//! `hammock targets`: the CPUs and GPUs that kernels can be compiled for, and what is known of each.

use clap::Args;
use hammock_compiler::{Failure, Family, Gpu, Target, target, targets};
use serde_json::{Value, json};

/// Lists the supported CPUs and GPUs and their features
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock targets
  hammock targets --json
  hammock compile model.py -o model.so --target-cpu x86-64-v3
  hammock compile model.py -o model.so --target cuda:sm_90
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

const GPU_NOTES: &str = "
GPUs are named by `--target`; `cuda` is cuda:sm_80. A GPU runs the code of its own architecture and of earlier ones
device: the one that stands for the architecture when kernels are planned, with its number of multiprocessors (SMs)
threads, shared: the maximum of a block and of an SM
tensor cores: of what dtypes they multiply operands; float32 is rounded to TF32
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
            let cpus = all.iter().map(|(name, target)| object(name, target));
            let list: Vec<Value> = cpus.chain(Gpu::ALL.iter().map(gpu_object)).collect();
            return crate::print(&format!("{:#}\n", Value::from(list)));
        }
        let head =
            line(["name", "vectors", "masks", "fma", "float16", "dot", "caches", "cores", ""].map(str::to_owned));
        let lines: String = all.iter().map(|(name, target)| line(columns(name, target))).collect();
        let gpus: String = Gpu::ALL.iter().map(gpu_line).collect();
        crate::print(&format!("{head}{lines}{NOTES}\n{}{gpus}{GPU_NOTES}", gpu_head()))
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

fn gpu_columns([name, device, sms, threads, shared, tensor_cores]: [String; 6]) -> String {
    let line = format!("{name:<16} {device:<7} {sms:<5} {threads:<10} {shared:<10} {tensor_cores}");
    format!("{}\n", line.trim_end())
}

fn gpu_head() -> String {
    gpu_columns(["name", "device", "SMs", "threads", "shared", "tensor cores"].map(str::to_owned))
}

fn gpu_line(gpu: &Gpu) -> String {
    gpu_columns([
        gpu.to_string(),
        gpu.assumed_device.to_owned(),
        gpu.sm_count.to_string(),
        format!("{} {}", gpu.max_block_threads, gpu.max_sm_threads),
        format!("{} {}", size(gpu.max_block_shared.into()), size(gpu.sm_shared.into())),
        tensor_cores(gpu).join(" "),
    ])
}

fn tensor_cores(gpu: &Gpu) -> Vec<String> {
    gpu.tensor_core_dtypes.iter().map(ToString::to_string).collect()
}

fn gpu_object(gpu: &Gpu) -> Value {
    let (major, minor) = gpu.capability;
    json!({
        "name": gpu.to_string(),
        "compute_capability": format!("{major}.{minor}"),
        "ptx_version": format!("{}.{}", gpu.ptx_version / 10, gpu.ptx_version % 10),
        "assumed_device": gpu.assumed_device,
        "multiprocessors": gpu.sm_count,
        "l2": gpu.l2_bytes,
        "warp_size": gpu.warp_size,
        "max_threads": { "block": gpu.max_block_threads, "multiprocessor": gpu.max_sm_threads },
        "max_blocks_per_multiprocessor": gpu.max_sm_blocks,
        "shared_memory": {
            "static": gpu.max_static_shared, "block": gpu.max_block_shared, "multiprocessor": gpu.sm_shared,
        },
        "registers": { "thread": gpu.max_thread_registers, "multiprocessor": gpu.sm_registers },
        "tensor_cores": tensor_cores(gpu),
        "async_copy": gpu.has_async_copy,
    })
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

//! `--target` and `--target-cpu`: what kernels are compiled for.

use crate::{output::say, unused_flags::refuse};
use clap::Args;
use hammock_compiler::{Failure, Gpu, Library, Options, architecture, check_cpu, libraries, targets};
use hammock_tools::deprecation_warning;

/// Flags that select what kernels are compiled for.
#[derive(Args)]
pub struct TargetFlags {
    /// What to compile for: the CPU's architecture or its triple (x86_64, x86_64-unknown-linux-gnu), or an NVIDIA GPU: cuda,
    /// cuda:sm_90 (`hammock targets`) [default: x86_64]
    #[arg(long, value_name = "ARCH")]
    target: Option<String>,
    /// The CPU to compile for, or that launches the kernels of a GPU: `native`, or a name such as x86-64-v3 (`hammock targets`)
    /// [default: native]
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    /// Have libraries of the GPU's vendor compute what they can: `cublas` for matmuls
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    libs: Vec<String>,
}

impl TargetFlags {
    /// The flags that select processors, and whether each was given.
    pub fn given(&self) -> [(&'static str, bool); 2] {
        [("--target", self.target.is_some()), ("--target-cpu", self.target_cpu.is_some())]
    }

    /// The flag that changes the passes, and whether it was given.
    pub fn given_libs(&self) -> (&'static str, bool) {
        ("--libs", !self.libs.is_empty())
    }

    /// The libraries that compute what they can.
    pub fn libraries(&self, strict_order: bool) -> Result<Vec<&'static Library>, Failure> {
        libraries(&self.libs, self.gpu()?, strict_order)
    }

    /// The CPU that `--target` names: a deprecated spelling of `--target-cpu`.
    pub fn deprecated_cpu(&self) -> Option<&str> {
        self.target.as_deref().filter(|name| targets().any(|cpu| cpu == *name))
    }

    /// The GPU that `--target` names.
    pub fn gpu(&self) -> Result<Option<Gpu>, Failure> {
        match self.target.as_deref().filter(|_| self.deprecated_cpu().is_none()) {
            Some(name) => architecture(name),
            None => Ok(None),
        }
    }

    /// The GPU that `--target` names; `--allow-tf32` needs one that multiplies tf32.
    pub fn gpu_for(&self, allow_tf32: bool) -> Result<Option<Gpu>, Failure> {
        let gpu = self.gpu()?;
        let is_idle = allow_tf32 && !gpu.is_some_and(|gpu| gpu.has_tf32());
        refuse(&[("--allow-tf32", is_idle)], "only GPUs from sm_80 on multiply tf32, and `--target` names none")?;
        Ok(gpu)
    }

    /// The CPU, one of [`targets`]. Warns about the deprecated spelling.
    pub fn cpu(&self) -> Result<String, Failure> {
        if let Some(cpu) = self.deprecated_cpu() {
            refuse(&[("--target-cpu", self.target_cpu.is_some())], &format!("`--target {cpu}` names the CPU"))?;
            say(&deprecation_warning(&format!("--target {cpu}"), &format!("--target-cpu {cpu}")))?;
            return Ok(cpu.to_owned());
        }
        self.gpu()?;
        let cpu = self.target_cpu.clone().unwrap_or_else(|| Options::default().target);
        check_cpu(&cpu).map(|()| cpu)
    }
}

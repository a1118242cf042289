//! Tuned plans, as text.

use std::fmt;

/// A tuned plan of a kernel.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of a kernel with this plan.
    pub kernel: String,
    /// Key of the kernel.
    pub key: String,
    /// The plan, with numbers for axes and packed operands.
    pub plan: String,
    /// The plan with the kernel's names.
    pub said: String,
    /// Values of dynamic sizes that it was measured at: `n = 1, 16`.
    pub sizes: String,
    /// Number of other plans that were measured.
    pub tried: usize,
    /// Seconds of a call with the rule's plan and with this one.
    pub times: [f64; 2],
}

impl Record {
    /// Speedup over the rule's plan.
    pub fn gain(&self) -> f64 {
        self.times[0] / self.times[1]
    }
}

/// The record as written to a file.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.times.map(|seconds| seconds * 1e3);
        let sizes = if self.sizes.is_empty() { String::new() } else { format!(", at {}", self.sizes) };
        writeln!(f, "# {}: {after:.4} ms, and {before:.4} ms as rules choose{sizes}:", self.kernel)?;
        self.said
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .try_for_each(|line| writeln!(f, "#     {line}"))?;
        writeln!(f, "{}:", self.key)?;
        self.plan.lines().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

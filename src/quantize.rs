//! Flags of quantization.

use clap::{Args, ValueEnum};
use hammock_compiler::Quantization;

/// Dtype and groups of quantized weights.
#[derive(Args)]
pub struct QuantizeFlags {
    /// Quantize the constant weights of matmuls to int8 or int4 (weight-only) and report the accuracy loss
    #[arg(long, value_enum, value_name = "DTYPE")]
    quantize: Option<Bits>,
    /// Number of rows of a matrix that share a scale [default: all with int8, 32 with int4]
    #[arg(long, value_name = "ROWS", requires = "quantize", value_parser = clap::value_parser!(i64).range(1..))]
    quantize_group: Option<i64>,
    /// Quantize the activations of matmuls by quantized weights to int8, at run time: those of `--quantize`, and weights
    /// that the model itself stores in groups of 2, 4 or 8 bits
    #[arg(long)]
    quantize_activations: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Bits {
    Int8,
    Int4,
}

impl QuantizeFlags {
    /// The quantization, if any.
    pub fn quantization(&self) -> Option<Quantization> {
        let dtype = match self.quantize? {
            Bits::Int8 => "int8",
            Bits::Int4 => "int4",
        };
        Some(Quantization { dtype, group: self.quantize_group })
    }

    /// True if activations are quantized as well.
    pub fn activations(&self) -> bool {
        self.quantize_activations
    }

    /// The flags, and whether it was given.
    pub fn given(&self) -> [(&'static str, bool); 2] {
        [("--quantize", self.quantize.is_some()), ("--quantize-activations", self.quantize_activations)]
    }
}

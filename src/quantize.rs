//! Flags of weight-only quantization.

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

    /// The flag, and whether it was given.
    pub fn given(&self) -> (&'static str, bool) {
        ("--quantize", self.quantize.is_some())
    }
}

//! Flags that keep weights in few bits.

use clap::{Args, ValueEnum};
use hammock_passes::{Pipeline, with_quantized_weights};

/// What weights are kept in.
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
    /// The pipeline with what the flags ask for.
    pub fn applied(&self, pipeline: Pipeline) -> Pipeline {
        let Some(bits) = self.quantize else { return pipeline };
        let dtype = match bits {
            Bits::Int8 => "int8",
            Bits::Int4 => "int4",
        };
        with_quantized_weights(pipeline, dtype, self.quantize_group.unwrap_or(0))
    }

    /// The flag, and whether it was given.
    pub fn given(&self) -> (&'static str, bool) {
        ("--quantize", self.quantize.is_some())
    }
}

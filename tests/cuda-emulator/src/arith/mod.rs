//! Arithmetic on bit patterns: rounding, saturation, flush-to-zero, conversions.

//! Matmuls by a library of the device's vendor.

/// A batch of matmuls, `out = activation(lhs · rhs + bias)`, of contiguous row-major matrices.
pub struct Matmul {
    /// Sizes and dtypes.
    pub problem: Problem,
    /// `m × k` elements for each element of the batch.
    pub lhs: *const u8,
    /// `k × n` elements, or `n × k` if transposed; for each element of the batch unless it is shared.
    pub rhs: *const u8,
    /// `n` elements of the result's dtype, which are added to each row; null if nothing is added.
    pub bias: *const u8,
    /// `m × n` elements for each element of the batch.
    pub out: *mut u8,
}

/// Sizes and dtypes of a batch of matmuls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Rows of a result.
    pub m: i64,
    /// Columns of a result.
    pub n: i64,
    /// Reduction extent.
    pub k: i64,
    /// Number of matmuls.
    pub batch: i64,
    /// True if all matmuls of the batch have the same right-hand side.
    pub shares_rhs: bool,
    /// True if rows of `rhs` are columns of the matrix.
    pub transposed: bool,
    /// Dtype of `lhs` and `rhs`.
    pub dtype: MatmulDType,
    /// Dtype of `bias` and `out`.
    pub out_dtype: MatmulDType,
    /// Function of the sums.
    pub activation: Activation,
}

/// A dtype of matrices. Sums are of float32, those of float64 of float64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatmulDType {
    /// IEEE 754's half precision.
    Float16,
    /// The upper half of a float32.
    BFloat16,
    /// Single precision.
    Float32,
    /// Double precision.
    Float64,
}

/// A function that is applied to each element of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The element itself.
    None,
    /// The maximum of the element and zero.
    Relu,
    /// GELU, approximated by a hyperbolic tangent.
    GeluTanh,
}

//! A matmul as cuBLASLt takes it: descriptions of the operation and its matrices, and the algorithm.
//!
//! The library's matrices are column-major. A row-major matrix is the transpose of a column-major one, so it computes
//! `outᵀ = rhsᵀ · lhsᵀ`.
use super::library::{Algorithm, Functions, Heuristic, Object, Status};
use crate::device::matmul::{Activation, Matmul, MatmulDType, Problem};
use cudarc::cublaslt::sys::{
    cublasComputeType_t as Compute, cublasLtEpilogue_t as Epilogue, cublasLtMatmulDescAttributes_t as MatmulAttribute,
    cublasLtMatmulPreferenceAttributes_t as Preference, cublasLtMatrixLayoutAttribute_t as LayoutAttribute,
    cudaDataType_t as DataType,
};
use std::ptr::null_mut;

/// Maximum alignment that the library distinguishes, in bytes.
const MAX_ALIGNMENT: usize = 256;
/// `CUBLAS_OP_N` and `CUBLAS_OP_T`: a matrix as it is, and its transpose.
const OPERATIONS: [u32; 2] = [0, 1];
/// Status of a matmul for which there is no algorithm.
const NOT_SUPPORTED: Status = 15;

/// Properties of a matmul that its algorithm depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) problem: Problem,
    has_bias: bool,
    /// Alignments of `rhs`, `lhs` and `out` in bytes.
    alignments: [u32; 3],
}

impl Key {
    pub(super) fn of(matmul: &Matmul) -> Key {
        let alignment = |address: *const u8| (1 << address.addr().trailing_zeros().min(MAX_ALIGNMENT.ilog2())) as u32;
        Key {
            problem: matmul.problem,
            has_bias: !matmul.bias.is_null(),
            alignments: [matmul.rhs, matmul.lhs, matmul.out].map(alignment),
        }
    }
}

/// The objects of a matmul. They may be used by one thread at a time.
pub(super) struct Plan {
    functions: &'static Functions,
    pub(super) operation: Object,
    pub(super) rhs: Object,
    pub(super) lhs: Object,
    pub(super) out: Object,
    pub(super) algorithm: Algorithm,
    pub(super) workspace_bytes: usize,
}

// SAFETY: any thread may use the library's objects.
unsafe impl Send for Plan {}

impl Plan {
    /// Chooses an algorithm, with a workspace of at most `workspace_bytes`.
    ///
    /// # Errors
    /// The library's status if it has none.
    pub(super) fn new(
        functions: &'static Functions,
        handle: Object,
        key: &Key,
        workspace_bytes: usize,
    ) -> Result<Plan, Status> {
        let mut plan = Plan {
            functions,
            operation: null_mut(),
            rhs: null_mut(),
            lhs: null_mut(),
            out: null_mut(),
            algorithm: Algorithm::default(),
            workspace_bytes: 0,
        };
        plan.describe(key)?;
        plan.choose(handle, key, workspace_bytes)?;
        Ok(plan)
    }

    fn describe(&mut self, key: &Key) -> Result<(), Status> {
        let Problem { m, n, k, batch, shares_rhs, transposed, dtype, out_dtype, .. } = key.problem;
        let (compute, scale) = match dtype {
            MatmulDType::Float64 => (Compute::CUBLAS_COMPUTE_64F, DataType::CUDA_R_64F),
            _ => (Compute::CUBLAS_COMPUTE_32F, DataType::CUDA_R_32F),
        };
        // SAFETY: the address is that of a variable.
        check(unsafe { (self.functions.create_matmul)(&mut self.operation, compute as u32, scale as u32) })?;
        self.set_operation(MatmulAttribute::CUBLASLT_MATMUL_DESC_TRANSA, OPERATIONS[usize::from(transposed)])?;
        let epilogue = epilogue(key.problem.activation, key.has_bias);
        self.set_operation(MatmulAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue as u32)?;
        let rhs_rows = if transposed { [k, n] } else { [n, k] };
        let rhs_offset = if shares_rhs { 0 } else { k * n };
        self.rhs = self.layout(dtype, rhs_rows, (batch, rhs_offset))?;
        self.lhs = self.layout(dtype, [k, m], (batch, m * k))?;
        self.out = self.layout(out_dtype, [n, m], (batch, m * n))?;
        Ok(())
    }

    /// Sets an attribute of the operation.
    pub(super) fn set_operation<T>(&self, attribute: MatmulAttribute, value: T) -> Result<(), Status> {
        let (value, bytes) = ((&raw const value).cast(), size_of::<T>());
        // SAFETY: the object lives, and the address is that of a value of that size.
        check(unsafe { (self.functions.set_matmul)(self.operation, attribute as u32, value, bytes) })
    }

    /// Describes a batch of contiguous column-major matrices, by its size and the distance of matrices in elements.
    fn layout(&self, dtype: MatmulDType, [rows, columns]: [i64; 2], batch: (i64, i64)) -> Result<Object, Status> {
        let mut layout = null_mut();
        let dtype = data_type(dtype) as u32;
        // SAFETY: the address is that of a variable.
        check(unsafe { (self.functions.create_layout)(&mut layout, dtype, rows as u64, columns as u64, rows) })?;
        let count = i32::try_from(batch.0).map_err(|_| NOT_SUPPORTED)?;
        let attributes: [(LayoutAttribute, *const _, usize); 2] = [
            (LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (&raw const count).cast(), size_of::<i32>()),
            (
                LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                (&raw const batch.1).cast(),
                size_of::<i64>(),
            ),
        ];
        for (attribute, value, bytes) in attributes {
            // SAFETY: the object lives, and the address is that of a value of that size.
            check(unsafe { (self.functions.set_layout)(layout, attribute as u32, value, bytes) })?;
        }
        Ok(layout)
    }

    fn choose(&mut self, handle: Object, key: &Key, workspace_bytes: usize) -> Result<(), Status> {
        let mut preference = null_mut();
        // SAFETY: the address is that of a variable.
        check(unsafe { (self.functions.create_preference)(&mut preference) })?;
        let chosen = self.choose_by(handle, preference, key, workspace_bytes);
        // SAFETY: the object was made here and is not used again.
        unsafe { (self.functions.destroy_preference)(preference) };
        let Heuristic { algorithm, workspace_bytes, .. } = chosen?;
        (self.algorithm, self.workspace_bytes) = (algorithm, workspace_bytes);
        Ok(())
    }

    fn choose_by(
        &self,
        handle: Object,
        preference: Object,
        key: &Key,
        workspace_bytes: usize,
    ) -> Result<Heuristic, Status> {
        let set = |attribute: Preference, value: *const _, bytes| {
            // SAFETY: the object lives, and the address is that of a value of that size.
            check(unsafe { (self.functions.set_preference)(preference, attribute as u32, value, bytes) })
        };
        let max_bytes = (&raw const workspace_bytes).cast();
        set(Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, max_bytes, size_of::<usize>())?;
        let [rhs, lhs, out] = key.alignments;
        let alignments = [
            (Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, rhs),
            (Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, lhs),
            (Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out),
            (Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out),
        ];
        for (attribute, alignment) in alignments {
            set(attribute, (&raw const alignment).cast(), size_of::<u32>())?;
        }
        let (mut found, mut count) = (Heuristic::default(), 0);
        let Plan { operation, rhs, lhs, out, .. } = *self;
        // SAFETY: the objects live, and the addresses are those of variables for one result.
        check(unsafe {
            (self.functions.find_algorithm)(
                handle, operation, rhs, lhs, out, out, preference, 1, &mut found, &mut count,
            )
        })?;
        check(if count == 0 { NOT_SUPPORTED } else { found.status })?;
        Ok(found)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the objects were made here and are not used again; queued work does not refer to them.
        unsafe {
            if !self.operation.is_null() {
                (self.functions.destroy_matmul)(self.operation);
            }
            for layout in [self.rhs, self.lhs, self.out].into_iter().filter(|layout| !layout.is_null()) {
                (self.functions.destroy_layout)(layout);
            }
        }
    }
}

pub(super) fn check(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

fn data_type(dtype: MatmulDType) -> DataType {
    match dtype {
        MatmulDType::Float16 => DataType::CUDA_R_16F,
        MatmulDType::BFloat16 => DataType::CUDA_R_16BF,
        MatmulDType::Float32 => DataType::CUDA_R_32F,
        MatmulDType::Float64 => DataType::CUDA_R_64F,
    }
}

fn epilogue(activation: Activation, has_bias: bool) -> Epilogue {
    match (activation, has_bias) {
        (Activation::None, false) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
        (Activation::None, true) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
        (Activation::Relu, false) => Epilogue::CUBLASLT_EPILOGUE_RELU,
        (Activation::Relu, true) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
        (Activation::GeluTanh, false) => Epilogue::CUBLASLT_EPILOGUE_GELU,
        (Activation::GeluTanh, true) => Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
    }
}

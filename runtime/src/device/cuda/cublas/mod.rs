//! Matmuls by cuBLASLt, NVIDIA's library of matrix operations.
mod library;
mod plan;

use super::{Cuda, pointer};
use crate::device::matmul::{Matmul, MatmulDType};
use crate::ffi::Error;
use cudarc::cublaslt::sys::cublasLtMatmulDescAttributes_t as MatmulAttribute;
use cudarc::driver::sys;
use library::{Functions, Object, Status};
use plan::{Key, Plan, check};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Bytes of the workspace that algorithms may use: as many as NVIDIA recommends for its largest GPUs.
const WORKSPACE_BYTES: usize = 32 << 20;
/// Maximum number of plans; when it is reached, all are discarded.
const MAX_PLANS: usize = 256;

/// cuBLASLt on a device.
pub(super) struct Cublas {
    functions: &'static Functions,
    handle: Object,
    /// Memory of `WORKSPACE_BYTES` bytes. All work of the device is in one stream, so it is used once at a time.
    workspace: sys::CUdeviceptr,
    plans: Mutex<HashMap<Key, Plan>>,
}

// SAFETY: any thread may use the library's objects; what is mutable is behind the lock.
unsafe impl Send for Cublas {}
// SAFETY: as above.
unsafe impl Sync for Cublas {}

impl Cuda {
    /// Queues a batch of matmuls.
    ///
    /// # Safety
    /// As for [`crate::device::DeviceApi::matmul`].
    pub(super) unsafe fn queue_matmul(&'static self, matmul: &Matmul) -> Result<(), Error> {
        let problem = &matmul.problem;
        if problem.m == 0 || problem.n == 0 || problem.batch == 0 {
            return Ok(());
        }
        let _entered = self.enter()?;
        self.queue_other_work()?;
        if problem.k == 0 && matmul.bias.is_null() {
            return self.queue_zeros(matmul);
        }
        let cublas = self.cublas()?;
        // SAFETY: as the caller promises.
        unsafe { cublas.queue(matmul, self.stream) }.map_err(|status| {
            let text = format!("{}: cuBLASLt cannot multiply {problem:?}: {}", self.device, library::describe(status));
            Error::runtime(text)
        })
    }

    /// Queues sums of nothing, which every activation leaves at zero.
    fn queue_zeros(&self, matmul: &Matmul) -> Result<(), Error> {
        let problem = &matmul.problem;
        let element = match problem.out_dtype {
            MatmulDType::Float16 | MatmulDType::BFloat16 => 2,
            MatmulDType::Float32 => 4,
            MatmulDType::Float64 => 8,
        };
        let bytes = (problem.batch * problem.m * problem.n) as usize * element;
        // SAFETY: the memory has as many bytes, as the caller of `queue_matmul` promises.
        let status = unsafe { sys::cuMemsetD8Async(pointer(matmul.out), 0, bytes, self.stream) };
        self.check(status, || format!("clear {bytes} bytes"))
    }

    /// cuBLASLt on this device, which is opened at first use. The device's context is current.
    fn cublas(&self) -> Result<&Cublas, Error> {
        let failed = |error: &String| Error::runtime(format!("{}: {error}", self.device));
        self.cublas.get_or_init(|| self.open_cublas()).as_ref().map_err(failed)
    }

    fn open_cublas(&self) -> Result<Cublas, String> {
        let functions = library::functions()?;
        let mut handle = null_mut();
        // SAFETY: the device's context is current, and the address is that of a variable.
        check(unsafe { (functions.create)(&mut handle) })
            .map_err(|status| format!("cuBLASLt cannot be initialized: {}", library::describe(status)))?;
        let mut workspace = 0;
        // SAFETY: as above.
        let status = unsafe { sys::cuMemAlloc_v2(&mut workspace, WORKSPACE_BYTES) };
        self.check(status, || format!("allocate {WORKSPACE_BYTES} bytes for cuBLASLt"))
            .map_err(|error| error.to_string())?;
        Ok(Cublas { functions, handle, workspace, plans: Mutex::default() })
    }
}

impl Cublas {
    /// # Safety
    /// As for [`crate::device::DeviceApi::matmul`]; the stream is the device's.
    unsafe fn queue(&self, matmul: &Matmul, stream: sys::CUstream) -> Result<(), Status> {
        let key = Key::of(matmul);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if !plans.contains_key(&key) {
            if plans.len() >= MAX_PLANS {
                plans.clear();
            }
            plans.insert(key, Plan::new(self.functions, self.handle, &key, WORKSPACE_BYTES)?);
        }
        let plan = &plans[&key];
        if !matmul.bias.is_null() {
            plan.set_operation(MatmulAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, matmul.bias)?;
        }
        let (one, zero, one_f64, zero_f64) = (1f32, 0f32, 1f64, 0f64);
        let (one, zero): (*const c_void, *const c_void) = match matmul.problem.dtype {
            MatmulDType::Float64 => ((&raw const one_f64).cast(), (&raw const zero_f64).cast()),
            _ => ((&raw const one).cast(), (&raw const zero).cast()),
        };
        let (rhs, lhs, out) = (matmul.rhs.cast(), matmul.lhs.cast(), matmul.out.cast::<c_void>());
        let workspace = std::ptr::with_exposed_provenance_mut(self.workspace as usize);
        // SAFETY: the objects live, the matrices are as described, and the library copies the scalars.
        check(unsafe {
            (self.functions.matmul)(
                self.handle,
                plan.operation,
                one,
                rhs,
                plan.rhs,
                lhs,
                plan.lhs,
                zero,
                out.cast_const(),
                plan.out,
                out,
                plan.out,
                &plan.algorithm,
                workspace,
                plan.workspace_bytes,
                stream.cast(),
            )
        })
    }
}

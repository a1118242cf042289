//! The functions of cuBLASLt, for programs that load the emulator under its name too.
use super::{In, Out, exports, lock};
use crate::driver::{Code, Driver, Handle, Result, cublas::Algorithm};

/// Statuses of cuBLASLt.
const NOT_INITIALIZED: u32 = 1;
const ALLOC_FAILED: u32 = 3;
const INVALID_VALUE: u32 = 7;
const EXECUTION_FAILED: u32 = 13;
const NOT_SUPPORTED: u32 = 15;

/// Runs a function of the library, and returns its status.
fn answer(function: impl FnOnce(&mut Driver) -> Result) -> u32 {
    match function(&mut lock()) {
        Ok(()) => 0,
        Err(Code::NOT_INITIALIZED) => NOT_INITIALIZED,
        Err(Code::OUT_OF_MEMORY) => ALLOC_FAILED,
        Err(Code::INVALID_VALUE | Code::INVALID_HANDLE | Code::INVALID_CONTEXT) => INVALID_VALUE,
        Err(Code::NOT_SUPPORTED) => NOT_SUPPORTED,
        Err(_) => EXECUTION_FAILED,
    }
}

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Heuristic {
    algorithm: Algorithm,
    workspace_bytes: usize,
    status: u32,
    waves: f32,
    reserved: [i32; 4],
}

exports! {
    by answer;

    fn cublasLtCreate(object: Out<Handle>) |driver| { object.fill(|| driver.create_library()) }
    fn cublasLtDestroy(object: Handle) |driver| { driver.destroy_object(object) }
    fn cublasLtMatmulDescCreate(object: Out<Handle>, compute: u32, scale: u32) |driver| {
        object.fill(|| driver.create_operation(compute, scale))
    }
    fn cublasLtMatmulDescSetAttribute(object: Handle, attribute: u32, value: In<u8>, bytes: usize) |driver| {
        driver.set_object(object, attribute, &value.list(bytes)?)
    }
    fn cublasLtMatmulDescDestroy(object: Handle) |driver| { driver.destroy_object(object) }
    fn cublasLtMatrixLayoutCreate(object: Out<Handle>, dtype: u32, rows: u64, columns: u64, ld: i64) |driver| {
        object.fill(|| driver.create_layout(dtype, rows, columns, ld))
    }
    fn cublasLtMatrixLayoutSetAttribute(object: Handle, attribute: u32, value: In<u8>, bytes: usize) |driver| {
        driver.set_object(object, attribute, &value.list(bytes)?)
    }
    fn cublasLtMatrixLayoutDestroy(object: Handle) |driver| { driver.destroy_object(object) }
    fn cublasLtMatmulPreferenceCreate(object: Out<Handle>) |driver| { object.fill(|| Ok(driver.create_preference())) }
    fn cublasLtMatmulPreferenceSetAttribute(object: Handle, attribute: u32, value: In<u8>, bytes: usize) |driver| {
        driver.set_object(object, attribute, &value.list(bytes)?)
    }
    fn cublasLtMatmulPreferenceDestroy(object: Handle) |driver| { driver.destroy_object(object) }
    fn cublasLtMatmulAlgoGetHeuristic(
        library: Handle,
        operation: Handle,
        a: Handle,
        b: Handle,
        c: Handle,
        d: Handle,
        preference: Handle,
        requested: i32,
        result: Out<Heuristic>,
        count: Out<i32>,
    ) |driver| {
        if requested < 1 {
            return Err(Code::INVALID_VALUE);
        }
        let (algorithm, workspace_bytes) = driver.find_algorithm(library, (operation, [a, b, c, d]), preference)?;
        result.store(Heuristic { algorithm, workspace_bytes, status: 0, waves: 1.0, reserved: [0; 4] });
        count.store(1);
        Ok(())
    }
    fn cublasLtMatmul(
        library: Handle,
        operation: Handle,
        alpha: In<f32>,
        a: u64,
        a_layout: Handle,
        b: u64,
        b_layout: Handle,
        beta: In<f32>,
        c: u64,
        c_layout: Handle,
        d: u64,
        d_layout: Handle,
        algorithm: In<Algorithm>,
        workspace: u64,
        workspace_bytes: usize,
        stream: Handle,
    ) |driver| {
        let described = (operation, [a_layout, b_layout, c_layout, d_layout]);
        driver.check_scalars(described, [alpha.0 as usize, beta.0 as usize])?;
        let workspace = (workspace, workspace_bytes);
        driver.queue_matmul((library, stream), described, [a, b, c, d], algorithm.get()?, workspace)
    }
}

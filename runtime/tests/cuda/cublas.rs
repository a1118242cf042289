//! Matmuls by cuBLASLt, whose functions the emulator has, too.
use super::kernels::{floats, read};
use super::{emulated, emulated_in};
use half::f16;
use hammock_cuda_emulator::library;
use hammock_runtime::vm::builtins;
use hammock_runtime::{Any, DType, Device, Error, Tensor};

const CUDA: Device = Device::cuda(0);

/// Calls the builtin with `[lhs, rhs]` or `[lhs, rhs, bias]`, and returns the result.
fn matmul(operands: &[&Tensor], transposed: bool, activation: &str, shape: &[i64]) -> Result<Tensor, Error> {
    let out = Tensor::empty(operands[0].dtype(), shape, Device::CPU)?.to_device(operands[0].device())?;
    let mut args: Vec<Any> = operands.iter().map(|tensor| Any::from((*tensor).clone())).collect();
    args.extend([transposed.into(), Any::from(activation), out.clone().into()]);
    builtins::find("hammock.cublas.matmul").unwrap().call(&args)?;
    Ok(out)
}

/// Values -3, -2, …, 3 in turn.
fn tensor(shape: &[i64]) -> Tensor {
    let count: i64 = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| (i * 5 % 7 - 3) as f32).collect();
    floats(&values, CUDA).reshape(shape).unwrap()
}

/// Returns the expected result, for matrices of these extents.
fn expected(lhs: &[f32], rhs: &[f32], [m, n, k]: [usize; 3], transposed: bool) -> Vec<f32> {
    let rhs = |k_at: usize, column: usize| if transposed { rhs[column * k + k_at] } else { rhs[k_at * n + column] };
    let sum = |row: usize, column: usize| (0..k).map(|at| lhs[row * k + at] * rhs(at, column)).sum();
    (0..m * n).map(|at| sum(at / n, at % n)).collect()
}

#[test]
fn matmuls_of_all_forms() {
    emulated_in(library::folder_with_cublas().unwrap(), "cublas::matmuls_of_all_forms", &[], || {
        for transposed in [false, true] {
            let (lhs, rhs) = (tensor(&[2, 3, 5]), tensor(if transposed { &[4, 5] } else { &[5, 4] }));
            let sums = expected(&read(&lhs), &read(&rhs), [6, 4, 5], transposed);
            let result = matmul(&[&lhs, &rhs], transposed, "none", &[2, 3, 4]).unwrap();
            assert_eq!(read(&result), sums, "{transposed}");
            let added = [1.0, -20.0, 3.0, 0.5];
            let bias = floats(&added, CUDA);
            let result = matmul(&[&lhs, &rhs, &bias], transposed, "relu", &[2, 3, 4]).unwrap();
            let biased = sums.iter().zip(added.iter().cycle()).map(|(sum, bias)| (sum + bias).max(0.0));
            assert_eq!(read(&result), biased.collect::<Vec<_>>(), "{transposed}");
        }
        // A batch of right-hand sides, in a view that begins at an odd element.
        let data = tensor(&[1 + 2 * 5 * 4]);
        let rhs = data.view(DType::FLOAT32, &[2, 5, 4], 4).unwrap();
        let lhs = tensor(&[2, 3, 5]);
        let (left, right) = (read(&lhs), read(&rhs));
        let sums = [0, 1].map(|i| expected(&left[i * 15..], &right[i * 20..], [3, 4, 5], false)).concat();
        assert_eq!(read(&matmul(&[&lhs, &rhs], false, "none", &[2, 3, 4]).unwrap()), sums);
    });
}

#[test]
fn matmuls_of_halves_and_of_nothing() {
    emulated_in(library::folder_with_cublas().unwrap(), "cublas::matmuls_of_halves_and_of_nothing", &[], || {
        let half = |values: [f32; 4]| {
            let values = values.map(f16::from_f32);
            Tensor::from_slice(&[2, 2], &values).unwrap().to_device(CUDA).unwrap()
        };
        let (lhs, rhs) = (half([1.0, 2.0, 3.0, 4.0]), half([0.5, 0.0, -1.0, 1.0]));
        let result = matmul(&[&lhs, &rhs], false, "gelu_tanh", &[2, 2]).unwrap().to_device(Device::CPU).unwrap();
        // GELU of -1.5, 2, -2.5 and 4.
        let close = |(value, expected): (&f16, f32)| (value.to_f32() - expected).abs() < 2e-3;
        let expected = [-0.1004, 1.9546, -0.0151, 3.9999];
        assert!(result.as_slice::<f16>().unwrap().iter().zip(expected).all(close), "{result:?}");
        let (none, empty) = (tensor(&[3, 0]), tensor(&[0, 4]));
        assert_eq!(read(&matmul(&[&none, &empty], false, "none", &[3, 4]).unwrap()), [0.0; 12]);
        assert_eq!(read(&matmul(&[&tensor(&[0, 5]), &tensor(&[5, 4])], false, "none", &[0, 4]).unwrap()), []);
    });
}

#[test]
fn operands_that_do_not_fit() {
    emulated_in(library::folder_with_cublas().unwrap(), "cublas::operands_that_do_not_fit", &[], || {
        let message = |operands: &[&Tensor], activation: &str, shape: &[i64]| {
            matmul(operands, false, activation, shape).unwrap_err().to_string()
        };
        let (lhs, rhs) = (tensor(&[3, 5]), tensor(&[5, 4]));
        assert_eq!(
            message(&[&lhs, &rhs], "none", &[4, 3]),
            "TypeError: hammock.cublas.matmul: a tensor of float32 of [3, 5] times one of float32 of [5, 4] cannot be \
             written to one of float32 of [4, 3]"
        );
        assert_eq!(
            message(&[&lhs, &rhs, &lhs], "none", &[3, 4]),
            "TypeError: hammock.cublas.matmul: the bias must be float32 of [4], and is float32 of [3, 5]"
        );
        assert_eq!(
            message(&[&lhs, &rhs], "tanh", &[3, 4]),
            "TypeError: hammock.cublas.matmul: there is no activation `tanh`"
        );
        assert_eq!(
            message(&[&lhs, &rhs.to_device(Device::CPU).unwrap()], "none", &[3, 4]),
            "TypeError: hammock.cublas.matmul: the tensors are on several devices"
        );
        let host = [&lhs, &rhs].map(|tensor| tensor.to_device(Device::CPU).unwrap());
        assert_eq!(
            message(&[&host[0], &host[1]], "none", &[3, 4]),
            "RuntimeError: cuBLASLt multiplies matrices of CUDA devices, and not of cpu:0"
        );
    });
}

#[test]
fn the_library_is_missing() {
    emulated("cublas::the_library_is_missing", &[], || {
        let error = matmul(&[&tensor(&[3, 5]), &tensor(&[5, 4])], false, "none", &[3, 4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "RuntimeError: cuda:0: the library cuBLASLt (libcublasLt.so.12 or .13) is missing; install it with the CUDA \
             toolkit, or compile the model without `--libs cublas`"
        );
        // The device can be used still.
        assert_eq!(read(&tensor(&[2])), [-3.0, 2.0]);
    });
}

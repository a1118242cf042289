//! Kernels whose device functions are written by hand.
use hammock_runtime::device::launch::{DeviceKernel, DeviceMessage, Launch};
use hammock_runtime::ffi::{RUNTIME, take_raised};
use hammock_runtime::image::{Dim, KernelParam, KernelSignature, ParamKind};
use hammock_runtime::{Any, DType, Device, Error, Function, Tensor};
use std::ffi::{CString, c_void};
use std::ptr::null;
use std::sync::OnceLock;

/// `scale`: `y[i] = factor * x[i]`; `gather`: `y[i] = x[indices[i]]`, where an index outside of `0..n` is an error.
const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64

.visible .entry scale(.param .u64 x, .param .u64 y, .param .u64 n, .param .f32 factor)
.maxntid 128, 1, 1
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u64 %rd3, [n];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.wide.u32 %rd4, %r1, 128, 0;
    cvt.u64.u32 %rd5, %r2;
    add.s64 %rd4, %rd4, %rd5;
    setp.ge.s64 %p1, %rd4, %rd3;
    @%p1 bra done;
    shl.b64 %rd6, %rd4, 2;
    cvta.to.global.u64 %rd7, %rd1;
    add.s64 %rd7, %rd7, %rd6;
    ld.global.f32 %f2, [%rd7];
    mul.rn.f32 %f3, %f2, %f1;
    cvta.to.global.u64 %rd8, %rd2;
    add.s64 %rd8, %rd8, %rd6;
    st.global.f32 [%rd8], %f3;
done:
    ret;
}

.visible .entry gather(.param .u64 x, .param .u64 indices, .param .u64 y, .param .u64 n, .param .u64 error, .param .u64 token)
.maxntid 128, 1, 1
{
    .reg .pred %p<4>;
    .reg .b32 %r<4>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<14>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [indices];
    ld.param.u64 %rd3, [y];
    ld.param.u64 %rd4, [n];
    ld.param.u64 %rd5, [error];
    ld.param.u64 %rd6, [token];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd7, %r1;
    setp.ge.s64 %p1, %rd7, %rd4;
    @%p1 bra done;
    shl.b64 %rd8, %rd7, 3;
    cvta.to.global.u64 %rd9, %rd2;
    add.s64 %rd9, %rd9, %rd8;
    ld.global.s64 %rd10, [%rd9];
    setp.lt.s64 %p2, %rd10, 0;
    @%p2 bra failed;
    setp.ge.s64 %p3, %rd10, %rd4;
    @%p3 bra failed;
    shl.b64 %rd11, %rd10, 2;
    cvta.to.global.u64 %rd12, %rd1;
    add.s64 %rd12, %rd12, %rd11;
    ld.global.f32 %f1, [%rd12];
    shl.b64 %rd11, %rd7, 2;
    cvta.to.global.u64 %rd13, %rd3;
    add.s64 %rd13, %rd13, %rd11;
    st.global.f32 [%rd13], %f1;
    bra done;
failed:
    cvta.to.global.u64 %rd12, %rd5;
    atom.global.cas.b32 %r2, [%rd12], 0, 1;
    setp.ne.s32 %p1, %r2, 0;
    @%p1 bra done;
    mov.u32 %r3, 0;
    st.global.u32 [%rd12+4], %r3;
    st.global.u64 [%rd12+8], %rd6;
    st.global.u64 [%rd12+16], %rd10;
    st.global.u64 [%rd12+24], %rd4;
done:
    ret;
}
";

/// A value that lives as long as the process, as constants of libraries do.
fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The record of a device function of [`PTX`], or of `ptx`.
pub fn record(name: &str, ptx: Option<&str>) -> &'static DeviceKernel {
    let text = |text: &str| forever(CString::new(text).unwrap()).as_ptr();
    let parts = [text("kernel `gather`, buffer `x`: index "), text(" is out of bounds for size "), text("")];
    let messages = forever([DeviceMessage { kind: text("IndexError"), texts: parts, values: 2 }]);
    let ptx = forever(ptx.unwrap_or(PTX).to_owned());
    let hash = ptx.bytes().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let reports = name == "gather";
    forever(DeviceKernel {
        hash: [hash, 1],
        ptx: ptx.as_ptr(),
        ptx_bytes: ptx.len() as u64,
        name: text(name),
        max_threads: 128,
        static_shared: 0,
        messages: if reports { messages.as_ptr() } else { null() },
        message_count: u32::from(reports),
    })
}

/// Launches a function with blocks of 128 threads.
pub fn launch(kernel: &DeviceKernel, blocks: i64, args: &[*const c_void]) -> Result<(), Error> {
    launch_shared(kernel, blocks, 0, args)
}

/// Launches a function with blocks of 128 threads and dynamic shared memory.
pub fn launch_shared(kernel: &DeviceKernel, blocks: i64, shared: i64, args: &[*const c_void]) -> Result<(), Error> {
    let (grid, block) = ([blocks, 1, 1], [128, 1, 1]);
    let launch = Launch { kernel, grid, block, shared, args: args.as_ptr(), arg_count: args.len() as u32 };
    // SAFETY: the launch lives, and the tests pass the arguments of their functions.
    if unsafe { (RUNTIME.launch)(&launch) } == 0 { Ok(()) } else { Err(take_raised()) }
}

/// Address of a value, for the arguments of a launch.
pub fn address<T>(value: &T) -> *const c_void {
    (&raw const *value).cast()
}

fn data(args: &[Any], number: usize) -> *mut u8 {
    args[number].as_dl_tensor().unwrap().data
}

fn count(args: &[Any]) -> i64 {
    args[0].get::<&Tensor>().unwrap().element_count() as i64
}

/// The host function of `scale`, which doubles.
pub fn double(args: &[Any]) -> Result<Any, Error> {
    let (x, y, n, factor) = (data(args, 0), data(args, 1), count(args), 2f32);
    static SCALE: OnceLock<&DeviceKernel> = OnceLock::new();
    let kernel = SCALE.get_or_init(|| record("scale", None));
    launch(kernel, (n + 127) / 128, &[address(&x), address(&y), address(&n), address(&factor)])?;
    Ok(Any::NONE)
}

/// The host function of `gather`.
pub fn gather(args: &[Any]) -> Result<Any, Error> {
    let (x, indices, y, n) = (data(args, 0), data(args, 1), data(args, 2), count(args));
    static GATHER: OnceLock<&DeviceKernel> = OnceLock::new();
    let kernel = GATHER.get_or_init(|| record("gather", None));
    launch(kernel, 1, &[address(&x), address(&indices), address(&y), address(&n)])?;
    Ok(Any::NONE)
}

/// The signature of a kernel of `n` floats, of `n` indices if it is `gather`, and of its output.
pub fn signature(name: &str) -> KernelSignature {
    let param = |name: &str, dtype| {
        let kind = ParamKind::Tensor { dtype, shape: vec![Dim::Symbol(0)], alignment: 64 };
        KernelParam { name: name.to_owned(), kind, is_written: name == "y" }
    };
    let mut params = vec![param("x", DType::FLOAT32), param("y", DType::FLOAT32)];
    if name == "gather" {
        params.insert(1, param("indices", DType::INT64));
    }
    KernelSignature { name: name.to_owned(), device: Device::cuda(0), symbol_count: 1, params }
}

/// A kernel by its name.
pub fn kernel(name: &str) -> Option<Function> {
    let host: fn(&[Any]) -> Result<Any, Error> = match name {
        "double" => double,
        "gather" => gather,
        _ => return None,
    };
    Some(Function::new(host))
}

/// A kernel that can be called outside of programs.
pub fn guarded(name: &str) -> Function {
    signature(name).guard(kernel(name).unwrap())
}

/// A tensor of floats on a device.
pub fn floats(values: &[f32], device: Device) -> Tensor {
    Tensor::from_slice(&[values.len() as i64], values).unwrap().to_device(device).unwrap()
}

/// A tensor of integers on a device.
pub fn ints(values: &[i64], device: Device) -> Tensor {
    Tensor::from_slice(&[values.len() as i64], values).unwrap().to_device(device).unwrap()
}

/// The floats of a tensor on any device.
pub fn read(tensor: &Tensor) -> Vec<f32> {
    tensor.to_device(Device::CPU).unwrap().as_slice::<f32>().unwrap().to_vec()
}

//! Modules, launches and their limits.
use crate::{driver::*, emulated, in_any_order};
use cudarc::driver::{
    result,
    sys::{self, CUfunction_attribute as Attribute, CUresult, CUstreamCaptureMode as Mode},
};
use std::{
    ffi::{CStr, CString},
    ptr::{null, null_mut},
};

/// Kernels that programs here use.
pub fn module() -> sys::CUmodule {
    load(&CString::new(include_str!("module.ptx")).unwrap()).unwrap()
}

pub fn kernel(name: &CStr) -> sys::CUfunction {
    function(module(), name).unwrap()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn kernels_run_in_the_order_of_streams() {
    in_any_order("kernels::kernels_run_in_the_order_of_streams", || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let address = allocate(400).unwrap();
        fill_words(address, 5, 100, stream).unwrap();
        for value in [1, 10, 100] {
            launch(add, 4, 32, 0, stream, &[address, value, 90]).unwrap();
        }
        assert_eq!(contents(address, 400), words(&[vec![116; 90], vec![5; 10]].concat()));
    });
}

#[test]
fn modules_have_variables_of_their_own() {
    emulated("kernels::modules_have_variables_of_their_own", &[], || {
        primary(0);
        let (first, second) = (module(), module());
        // SAFETY: the modules are loaded.
        let (table, bytes) = unsafe { result::module::get_global(first, c"table".into()) }.unwrap();
        assert_eq!((bytes, contents(table, 16)), (16, words(&[10, 20, 30, 40])));
        upload(table, &words(&[1, 2, 3, 4])).unwrap();
        let address = allocate(16).unwrap();
        for (module, expected) in [(first, [1, 2, 3, 4]), (second, [10, 20, 30, 40])] {
            let copy = function(module, c"copy_table").unwrap();
            launch(copy, 1, 4, 0, null_mut(), &[address]).unwrap();
            assert_eq!(contents(address, 16), words(&expected));
        }
        // SAFETY: the driver looks for the name.
        let missing = unsafe { result::module::get_global(first, c"missing".into()) };
        assert_eq!(missing.unwrap_err().0, CUresult::CUDA_ERROR_NOT_FOUND);
        assert_eq!(function(first, c"missing").map(|_| ()), Err(CUresult::CUDA_ERROR_NOT_FOUND));
        let copy = function(first, c"copy_table").unwrap();
        launch(copy, 1, 4, 0, null_mut(), &[address]).unwrap();
        unload(first).unwrap();
        assert_eq!(launch(copy, 1, 4, 0, null_mut(), &[address]), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_LAUNCH_FAILED), "a launch was still queued");
    });
}

#[test]
fn limits_of_launches() {
    emulated("kernels::limits_of_launches", &[], || {
        primary(0);
        let invalid = Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        let (add, copy) = (kernel(c"add"), kernel(c"copy_table"));
        let address = allocate(16).unwrap();
        let params = [address, 0, 0];
        for (grid, block) in [(0, 1), (1, 0), (1, 1025), (1 << 31, 1)] {
            assert_eq!(launch(add, grid, block, 0, null_mut(), &params), invalid);
        }
        assert_eq!(launch(copy, 1, 5, 0, null_mut(), &params), invalid, "more than .maxntid");
        // SAFETY: the driver checks for missing parameters.
        let code = unsafe { sys::cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE);
        launch(add, 1, 1024, 0, null_mut(), &params).unwrap();
        synchronize().unwrap();
        let other = primary(1);
        assert!(!other.is_null());
        let stream = non_blocking();
        assert_eq!(launch(add, 1, 1, 0, stream, &params), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    });
}

#[test]
fn shared_memory_beyond_48_kib_needs_opt_in() {
    emulated("kernels::shared_memory_beyond_48_kib_needs_opt_in", &[], || {
        primary(0);
        let shared = kernel(c"use_shared");
        let address = allocate(4).unwrap();
        let run = |bytes: u32| launch(shared, 1, 1, bytes, null_mut(), &[address, bytes.into()]);
        run(48 << 10).unwrap();
        assert_eq!(run((48 << 10) + 4), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        assert_eq!(set_function_attribute(shared, attribute, 164 << 10), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        set_function_attribute(shared, attribute, 163 << 10).unwrap();
        run(163 << 10).unwrap();
        assert_eq!(contents(address, 4), words(&[163 << 10]));
        assert_eq!(active_blocks(shared, 128, 80 << 10), Ok(2));
        assert_eq!(active_blocks(shared, 1024, 0), Ok(2));
    });
}

#[test]
fn kernel_nodes_of_graphs_can_be_changed() {
    emulated("kernels::kernel_nodes_of_graphs_can_be_changed", &[], || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let (a, b) = (allocate(4).unwrap(), allocate(4).unwrap());
        fill_words(a, 0, 1, stream).unwrap();
        fill_words(b, 0, 1, stream).unwrap();
        begin_capture(stream, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        launch(add, 1, 1, 0, stream, &[a, 1, 1]).unwrap();
        let graph = end_capture(stream).unwrap();
        let exec = instantiate(graph).unwrap();
        let (mut node, mut count) = (null_mut(), 1);
        // SAFETY: there is room for one node.
        unsafe { sys::cuGraphGetNodes(graph, &mut node, &mut count) }.result().unwrap();
        assert_eq!(count, 1);
        launch_graph(exec, stream).unwrap();
        let mut pointer = b;
        // SAFETY: the node is a kernel, whose first parameter is an address; the rest is taken over.
        unsafe {
            let mut params: sys::CUDA_KERNEL_NODE_PARAMS = std::mem::zeroed();
            sys::cuGraphKernelNodeGetParams_v2(node, &mut params).result().unwrap();
            assert_eq!((params.func, params.blockDimX), (add, 1));
            let old = std::slice::from_raw_parts(params.kernelParams, 3);
            assert_eq!(old[0].cast::<u64>().read_unaligned(), a);
            let mut new = [(&raw mut pointer).cast(), old[1], old[2]];
            params.kernelParams = new.as_mut_ptr();
            sys::cuGraphExecKernelNodeSetParams_v2(exec, node, &params).result().unwrap();
        }
        launch_graph(exec, stream).unwrap();
        launch_graph(exec, stream).unwrap();
        assert_eq!((contents(a, 4), contents(b, 4)), (words(&[1]), words(&[2])));
    });
}

#[test]
fn graphs_are_made_of_nodes() {
    emulated("kernels::graphs_are_made_of_nodes", &[], || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let (mut address, mut operands) = (allocate(4).unwrap(), [1u64; 2]);
        upload(address, &words(&[0])).unwrap();
        synchronize().unwrap();
        let (mut graph, mut nodes) = (null_mut(), [null_mut(); 2]);
        // SAFETY: all addresses are those of variables, and the kernel has three parameters.
        unsafe {
            sys::cuGraphCreate(&mut graph, 0).result().unwrap();
            let mut args = [(&raw mut address).cast(), (&raw mut operands[0]).cast(), (&raw mut operands[1]).cast()];
            let mut params: sys::CUDA_KERNEL_NODE_PARAMS = std::mem::zeroed();
            (params.func, params.kernelParams) = (add, args.as_mut_ptr());
            (params.gridDimX, params.gridDimY, params.gridDimZ) = (1, 1, 1);
            (params.blockDimX, params.blockDimY, params.blockDimZ) = (1, 1, 1);
            let [first, second] = &mut nodes;
            let needs = &raw const *first;
            sys::cuGraphAddKernelNode_v2(first, graph, null(), 0, &params).result().unwrap();
            sys::cuGraphAddKernelNode_v2(second, graph, needs, 1, &params).result().unwrap();
            let foreign = (&raw const add).cast();
            let wrong = sys::cuGraphAddKernelNode_v2(second, graph, foreign, 1, &params);
            assert_eq!(wrong, CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let exec = instantiate(graph).unwrap();
        launch_graph(exec, stream).unwrap();
        synchronize_stream(stream).unwrap();
        assert_eq!(contents(address, 4), words(&[2]));
    });
}

#[test]
fn launches_of_an_executable_are_ordered() {
    emulated("kernels::launches_of_an_executable_are_ordered", &[], || {
        primary(0);
        let (add, first, second) = (kernel(c"add"), non_blocking(), non_blocking());
        let address = allocate(4).unwrap();
        upload(address, &words(&[0])).unwrap();
        synchronize().unwrap();
        begin_capture(first, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        launch(add, 1, 1, 0, first, &[address, 1, 1]).unwrap();
        let exec = instantiate(end_capture(first).unwrap()).unwrap();
        launch_graph(exec, first).unwrap();
        launch_graph(exec, second).unwrap();
        synchronize_stream(second).unwrap();
        let mut data = [0; 4];
        download_async(&mut data, address, second).unwrap();
        synchronize_stream(second).unwrap();
        assert_eq!(data.to_vec(), words(&[2]));
    });
}

#[test]
fn a_stale_graph_has_the_old_pointer() {
    let output = emulated("kernels::a_stale_graph_has_the_old_pointer", &[], || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let mut buffer = allocate(4).unwrap();
        fill_words(buffer, 0, 1, stream).unwrap();
        begin_capture(stream, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        launch(add, 1, 1, 0, stream, &[buffer, 1, 1]).unwrap();
        let exec = instantiate(end_capture(stream).unwrap()).unwrap();
        launch_graph(exec, stream).unwrap();
        synchronize_stream(stream).unwrap();
        free(buffer).unwrap();
        buffer = allocate(4).unwrap();
        fill_words(buffer, 7, 1, stream).unwrap();
        assert_eq!(contents(buffer, 4), words(&[7]), "the new buffer is no node's");
        launch_graph(exec, stream).unwrap();
        assert_eq!(synchronize_stream(stream), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which was freed; kernel `add`"), "{output}");
}

#[test]
fn peers_need_access() {
    let output = emulated("kernels::peers_need_access", &[], || {
        let second = primary(1);
        let b = allocate(4).unwrap();
        fill_words(b, 1, 1, null_mut()).unwrap();
        synchronize().unwrap();
        primary(0);
        let add = kernel(c"add");
        enable_peer(second).unwrap();
        launch(add, 1, 1, 0, null_mut(), &[b, 1, 1]).unwrap();
        assert_eq!(contents(b, 4), words(&[2]));
        // SAFETY: the context is valid.
        unsafe { sys::cuCtxDisablePeerAccess(second) }.result().unwrap();
        launch(add, 1, 1, 0, null_mut(), &[b, 1, 1]).unwrap();
        assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("which is memory of device 1 without peer access"), "{output}");
}

#[test]
fn counters_are_written() {
    let path = std::env::temp_dir().join(format!("cuda-emulator-counters-{}", std::process::id()));
    emulated("kernels::counters_are_written", &[("COUNTERS", path.to_str().unwrap())], || {
        primary(0);
        let address = allocate(128).unwrap();
        fill_words(address, 0, 32, null_mut()).unwrap();
        launch(kernel(c"add"), 1, 32, 0, null_mut(), &[address, 1, 32]).unwrap();
        synchronize().unwrap();
    });
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(lines.starts_with("{\"kernel\":\"add\",\"grid\":[1, 1, 1],\"block\":[32, 1, 1],"), "{lines}");
    assert!(lines.contains("\"global_transactions\":8,\"global_bytes\":256,\"coalescing\":1.0000"), "{lines}");
}

#[test]
fn launches_can_do_nothing() {
    emulated("kernels::launches_can_do_nothing", &[("NO_OP", "1")], || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let address = allocate(4).unwrap();
        let time_100 = |_| {
            let start = std::time::Instant::now();
            (0..100).for_each(|_| launch(add, 1, 1, 0, stream, &[address, 1, 1]).unwrap());
            start.elapsed()
        };
        let fastest = (0..200).map(time_100).min().unwrap() / 100;
        assert!(fastest < std::time::Duration::from_micros(3), "a launch takes {fastest:?}");
        println!("a launch takes {fastest:?}");
        assert_eq!(contents(address, 4), words(&[0]));
    });
}

//! Kernels that LLVM's NVPTX back end emitted.
use crate::support::{Call, SEEDS};
use hammock_cuda_emulator::{fault::FaultKind, ptx::Module};

const TEXT: &str = include_str!("../ptx/llvm.ptx");

/// Shared memory, a call through a generic pointer, a table in constant memory, a shuffle, and a division.
#[test]
fn shared_memory_calls_and_shuffles() {
    let text = TEXT.replace("entry k1(", "entry k(");
    let inputs: Vec<f32> = (0..512).map(|i| 0.25 + (i % 37) as f32 / 50.0).collect();
    let bits: Vec<u32> = inputs.iter().map(|value| value.to_bits()).collect();
    let fused = |i: usize| (inputs[i ^ 1] * inputs[i]).mul_add([1.0, 2.0, 3.0, 4.0][(i ^ 1) % 4], 1.5);
    for seed in SEEDS {
        let (call, address) = Call::new(&text, 2, 256).output(512);
        let mut call = call.input(&bits).number(512).pointer(0);
        let counters = call.run(seed).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!((counters.barriers, counters.bank_conflicts, counters.coalescing()), (2, 0, 1.0));
        for (i, word) in call.words(address, 512).into_iter().enumerate() {
            let expected = fused(i).max(fused(i ^ 16)).exp2() / fused(i);
            let actual = f32::from_bits(word);
            assert!((actual - expected).abs() <= 1e-5 * expected, "{i}: {actual}, not {expected}");
        }
    }
}

/// Each thread writes one of eight numbers in local memory and reads another.
#[test]
fn unwritten_local_memory() {
    let text = TEXT.replace("entry k2(", "entry k(");
    for seed in SEEDS {
        let (call, _) = Call::new(&text, 1, 32).output(64);
        let mut call = call.input(&[5, 6, 7, 8]).number(2).shared(1024);
        let fault = call.run(seed).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::UnwrittenLocal(8)) && fault.thread == [0; 3], "{fault}");
        assert!(fault.instruction.starts_with("ld.local.b32"), "{fault}");
    }
}

/// Instructions of all kinds, loops of `memcpy` and `memset`, parameters by value, calls.
#[test]
fn intrinsics_are_known() {
    for text in [include_str!("../ptx/llvm_intrinsics_sm80.ptx"), include_str!("../ptx/llvm_intrinsics_sm90.ptx")] {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let mut names: Vec<_> = module.kernels.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["async", "floats", "ints", "memory", "warps"]);
        let (mut call, address) = Call::new(&text.replace("entry memory(", "entry k("), 1, 1).output(16);
        call.memory.write(address, &[0; 64]).unwrap();
        call = call.number(1).number(0);
        for number in 0..4u64 {
            call.params.extend_from_slice(&(100 + number).to_le_bytes());
        }
        call = call.input(&[7; 8]).pointer(2);
        call.run(0).unwrap_or_else(|fault| panic!("{fault}"));
        // `memset` of 37 bytes ends the kernel.
        let words = call.words(address, 16);
        assert_eq!((&words[..9], words[9] & 0xff), ([0x0303_0303; 9].as_slice(), 3));
    }
}

/// Packed halves, brain floats, small integers as parameters, conversions and comparisons.
#[test]
fn narrow_types() {
    let text = TEXT.replace("entry k3(", "entry k(");
    let (mut call, address) = Call::new(&text, 1, 1).output(16);
    call.memory.write(address, &[0; 64]).unwrap();
    let half = |value: f32| half::f16::from_f32(value).to_bits();
    for value in [half(1.5), half(-2.0), half(3.0), half::bf16::from_f32(4.0).to_bits()] {
        call.params.extend_from_slice(&value.to_le_bytes());
    }
    call.params.extend_from_slice(&[(-3i8) as u8, 1]);
    call.params.extend_from_slice(&700u16.to_le_bytes());
    call.params.resize(24, 0);
    call.params.extend_from_slice(&2.75f64.to_le_bytes());
    call.params.extend_from_slice(&7.5f32.to_le_bytes());
    call.run(0).unwrap_or_else(|fault| panic!("{fault}"));
    let words = call.words(address, 16);
    assert_eq!(words[0], u32::from(half(1.5 * 1.5 + 1.5)) | u32::from(half(2.0)) << 16);
    assert_eq!(words[2], u32::from(half(11.0)) | 0x40a0 << 16);
    assert_eq!(words[4] >> 16, u32::from(half(7.5)));
    assert_eq!(words[5] as i32, -2);
    assert_eq!(f32::from_bits(words[6]), 2.0 + 2.75);
    assert_eq!(words[7], 7);
    assert_eq!(words[9] >> 16, 0x40f0);
    assert_eq!(f32::from_bits(words[12]), 2.0);
}

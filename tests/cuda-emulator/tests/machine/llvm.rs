//! Kernels that LLVM's NVPTX back end emitted.
use crate::support::{Call, SEEDS};

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

/// Local memory, copies, `ldmatrix`, a branch table, atomics and inline assembly: each way through the table.
#[test]
fn branch_tables_and_atomics() {
    let text = TEXT.replace("entry k2(", "entry k(");
    for (n, expected) in [(0, 2f32.to_bits()), (2, 11), (3, 1), (4, 0), (9, 9 + 9)] {
        let mut call = Call::new(&text, 1, 32).input(&[0; 4]).input(&[5, 6, 7, 8]).number(n).shared(1024);
        let fault = call.run(0).unwrap_err();
        // All threads copy to overlapping, misaligned addresses.
        assert!(fault.instruction.starts_with("st.global.b32") || fault.instruction.starts_with("ld.local"), "{n} {expected}: {fault}");
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

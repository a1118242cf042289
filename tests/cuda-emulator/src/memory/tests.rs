//! Accesses that are errors, and bytes that nobody wrote.
use super::*;

#[test]
fn accesses_stay_in_live_allocations() {
    let mut memory = Memory::default();
    let (a, b) = (memory.allocate(64).unwrap(), memory.allocate(8).unwrap());
    assert!(a >= BASE && b >= a + 64 + GAP);
    memory.write(a, &[7; 64]).unwrap();
    let mut read = [0; 4];
    memory.read(a + 60, &mut read).unwrap();
    assert_eq!(read, [7; 4]);
    assert_eq!(memory.read(a + 61, &mut read), Err(AccessError::OutOfBounds { offset: 61, bytes: 4, size: 64 }));
    assert_eq!(memory.read(a + 64, &mut read), Err(AccessError::OutOfBounds { offset: 64, bytes: 4, size: 64 }));
    for address in [0, a - 1, b + 8 + GAP, u64::MAX] {
        assert_eq!(memory.read(address, &mut read), Err(AccessError::NotAllocated { address, bytes: 4 }));
    }
    assert_eq!(memory.check(a + 2, 4, 4), Err(AccessError::Misaligned { address: a + 2, bytes: 4 }));
    assert_eq!(memory.check(a + 2, 4, 2), Ok(()));
}

#[test]
fn freed_memory_is_known_and_never_reused() {
    let mut memory = Memory::default();
    let a = memory.allocate(16).unwrap();
    assert_eq!(memory.free(a + 8), Err(AccessError::NotAllocated { address: a + 8, bytes: 0 }));
    memory.free(a).unwrap();
    assert_eq!(memory.free(a), Err(AccessError::Freed { address: a, bytes: 0 }));
    assert_eq!(memory.write(a + 4, &[0; 4]), Err(AccessError::Freed { address: a + 4, bytes: 4 }));
    assert_ne!(memory.allocate(16), Some(a));
}

#[test]
fn unwritten_bytes_are_errors_and_copies_carry_them() {
    let mut memory = Memory::default();
    let (a, b) = (memory.allocate(200).unwrap(), memory.allocate(200).unwrap());
    memory.write(a, &[1; 100]).unwrap();
    memory.write(a + 130, &[2; 70]).unwrap();
    memory.write(b, &[3; 200]).unwrap();
    assert_eq!(memory.bytes(a, 101), Err(AccessError::Unwritten { offset: 100, size: 200 }));
    memory.copy(b + 10, a + 5, 150).unwrap();
    assert_eq!(memory.bytes(b, 105), Ok(&[[3; 10].as_slice(), &[1; 95]].concat()[..]));
    assert_eq!(memory.bytes(b, 106), Err(AccessError::Unwritten { offset: 105, size: 200 }));
    assert_eq!(memory.bytes(b + 134, 66), Err(AccessError::Unwritten { offset: 134, size: 200 }));
    assert!(memory.bytes(b + 135, 65).is_ok());
    memory.write(b + 105, &[0; 30]).unwrap();
    assert!(memory.bytes(b, 200).is_ok());
}

#[test]
fn reserved_memory_waits_for_its_stream() {
    let mut memory = Memory::default();
    let a = memory.reserve(1, 16).unwrap();
    assert_eq!(memory.write(a, &[0; 16]), Err(AccessError::Pending { address: a, bytes: 16 }));
    memory.activate(a).unwrap();
    memory.write(a, &[0; 16]).unwrap();
    memory.restrict(0b01);
    assert_eq!(memory.write(a, &[0; 16]), Err(AccessError::OtherDevice { address: a, bytes: 16, device: 1 }));
    memory.restrict(0b11);
    assert_eq!(memory.write(a, &[0; 16]), Ok(()));
}

#[test]
fn empty_and_impossible_sizes() {
    let mut memory = Memory::default();
    let a = memory.allocate(0).unwrap();
    assert_eq!(memory.bytes(a, 0), Ok(&[][..]));
    assert!(memory.bytes(a, 1).is_err());
    assert_eq!(memory.allocate(u64::MAX), None);
}

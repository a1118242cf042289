//! Which elements of a matrix which lane holds where.
//!
//! A lane is thread `lane % 4` of group `lane / 4`. Every `mma.sync` here follows three maps, in which only the
//! number of elements of a register varies (PTX manual, "Matrix Fragments for mma").
use crate::arith::Type;

/// An element of a fragment: register in the instruction's list, element in the register, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Lane of the warp.
    pub lane: usize,
    /// Index in the instruction's list of registers.
    pub register: usize,
    /// Index in the register, lowest bits first.
    pub element: usize,
}

/// Elements of a type in a register of a fragment.
pub(super) fn elements_per_register(ty: Type) -> usize {
    match ty {
        Type::F64 => 1,
        narrow => 32 / narrow.bits() as usize,
    }
}

/// Row and column of an element of A, a matrix of `rows` rows.
pub fn position_in_a(ty: Type, rows: usize, slot: Slot) -> (usize, usize) {
    let (per_register, halves) = (elements_per_register(ty), rows / 8);
    let row = slot.lane / 4 + 8 * (slot.register % halves);
    let column = (slot.lane % 4) * per_register + slot.element + 4 * per_register * (slot.register / halves);
    (row, column)
}

/// Row and column of an element of B.
pub fn position_in_b(ty: Type, slot: Slot) -> (usize, usize) {
    let per_register = elements_per_register(ty);
    let row = (slot.lane % 4) * per_register + slot.element + 4 * per_register * slot.register;
    (row, slot.lane / 4)
}

/// Row and column of an element of C and D.
pub fn position_in_c(ty: Type, slot: Slot) -> (usize, usize) {
    let index = slot.register * elements_per_register(ty) + slot.element;
    (slot.lane / 4 + 8 * (index / 2), (slot.lane % 4) * 2 + index % 2)
}

/// All slots of a fragment of so many registers.
pub fn slots(ty: Type, registers: usize) -> impl Iterator<Item = Slot> {
    let per_register = elements_per_register(ty);
    (0..32).flat_map(move |lane| {
        (0..registers * per_register).map(move |i| Slot { lane, register: i / per_register, element: i % per_register })
    })
}

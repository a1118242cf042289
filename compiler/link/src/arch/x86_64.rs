//! x86-64, under the System V ABI.

use super::{Arch, Field, OutOfRange, Stored};
use crate::elf::put;
use object::{
    Architecture,
    elf::{self, RelocationType},
};

/// The family.
pub(super) struct X86_64;

/// Opcode of a load into a register.
const MOV_LOAD: u8 = 0x8b;
/// Opcode that computes the address instead.
const LEA: u8 = 0x8d;

impl Arch for X86_64 {
    fn name(&self) -> &'static str {
        "x86-64"
    }

    fn architecture(&self) -> Architecture {
        Architecture::X86_64
    }

    fn machine(&self) -> u16 {
        elf::EM_X86_64.0
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn stored(&self, kind: RelocationType) -> Option<Stored> {
        Some(match kind {
            elf::R_X86_64_64 => Stored::Address,
            elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => Stored::Distance,
            elf::R_X86_64_PC64 => Stored::LongDistance,
            elf::R_X86_64_GOTPCREL => Stored::SlotDistance,
            elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => Stored::Relaxed,
            _ => return None,
        })
    }

    /// True for `mov slot(%rip), register`.
    fn is_relaxable(&self, code: &[u8], field: u64) -> bool {
        field.checked_sub(2).and_then(|at| code.get(at as usize)) == Some(&MOV_LOAD)
    }

    fn write_reference(
        &self,
        file: &mut [u8],
        field: Field,
        kind: RelocationType,
        stored: Stored,
        reached: u64,
    ) -> Result<(), OutOfRange> {
        if stored == Stored::Relaxed {
            file[field.offset as usize - 2] = LEA;
        }
        let distance = reached.wrapping_sub(field.address) as i64;
        match kind {
            elf::R_X86_64_PC64 => put(file, field.offset, &distance.to_le_bytes()),
            _ => put(file, field.offset, &short(distance)?.to_le_bytes()),
        }
        Ok(())
    }

    fn plt_entry_size(&self) -> u64 {
        8
    }

    /// `jmp *slot(%rip)`, and two bytes of padding.
    fn write_plt_entry(&self, file: &mut [u8], entry: Field, slot: u64) -> Result<(), OutOfRange> {
        let distance = short(slot.wrapping_sub(entry.address + 6) as i64)?;
        put(file, entry.offset, &[0xff, 0x25]);
        put(file, entry.offset + 2, &distance.to_le_bytes());
        put(file, entry.offset + 6, &[0x66, 0x90]);
        Ok(())
    }

    fn symbol_relocation(&self) -> RelocationType {
        elf::R_X86_64_64
    }

    fn relative_relocation(&self) -> RelocationType {
        elf::R_X86_64_RELATIVE
    }
}

/// Returns a displacement in 32 bits.
fn short(distance: i64) -> Result<i32, OutOfRange> {
    i32::try_from(distance).map_err(|_| OutOfRange)
}

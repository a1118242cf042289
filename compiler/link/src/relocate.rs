//! Applies relocations once all addresses are known.

use crate::{
    LinkError,
    arch::{Field, OutOfRange, Stored},
    elf::{Rela, put},
    input::{Inputs, Relocation},
    layout::Layout,
    resolve::{Resolved, Slots, Target},
    sections::SectionId,
};

/// Layout and symbols that determine addresses.
pub(crate) struct Addresses<'a> {
    pub inputs: &'a Inputs<'a>,
    pub layout: &'a Layout,
    pub resolved: &'a Resolved<'a>,
    pub slots: &'a Slots,
}

impl Addresses<'_> {
    /// Address of a byte of a chunk.
    pub fn of_chunk(&self, chunk: usize, offset: u64) -> u64 {
        let section = self.layout.section(self.inputs.chunks[chunk].section);
        section.address + self.layout.chunk_offsets[chunk] + offset
    }

    fn slot(&self, target: Target) -> Option<u64> {
        Some(self.layout.section(SectionId::Got).address + 8 * self.slots.slot_of(target)? as u64)
    }

    /// Address that a pc-relative displacement refers to.
    fn target_address(&self, target: Target) -> Option<u64> {
        match target {
            Target::Absolute(_) => None,
            Target::Defined { chunk, offset } => Some(self.of_chunk(chunk, offset)),
            Target::Import(import) => {
                let jump = self.slots.jump_to(import)? as u64;
                Some(self.layout.section(SectionId::Plt).address + self.inputs.arch.plt_entry_size() * jump)
            }
        }
    }

    /// Applies the relocations to the file; returns those that the loader must apply.
    pub fn relocate(&self, file: &mut [u8], stored: &[Stored]) -> Result<Vec<Rela>, LinkError> {
        let mut rest = Vec::new();
        for (relocation, &stored) in self.inputs.relocations.iter().zip(stored) {
            self.apply(file, relocation, stored, &mut rest)?;
        }
        for (number, &target) in self.slots.got.iter().enumerate() {
            let got = self.layout.section(SectionId::Got);
            let at = 8 * number as u64;
            self.store_address(file, got.offset + at, got.address + at, target, 0, &mut rest);
        }
        for (number, &slot) in self.slots.plt.iter().enumerate() {
            self.write_jump(file, number as u64, slot as u64)?;
        }
        Ok(rest)
    }

    fn apply(&self, file: &mut [u8], r: &Relocation, stored: Stored, rest: &mut Vec<Rela>) -> Result<(), LinkError> {
        let chunk = &self.inputs.chunks[r.chunk];
        let address = self.of_chunk(r.chunk, r.offset);
        let offset = self.layout.section(chunk.section).offset + self.layout.chunk_offsets[r.chunk] + r.offset;
        let target = self.resolved.targets[r.symbol];
        let out_of_range = || LinkError::OutOfRange { object: chunk.object, section: chunk.name.into() };
        let width = if matches!(stored, Stored::Address | Stored::LongDistance) { 8 } else { 4 };
        if r.offset.checked_add(width).is_none_or(|end| end > chunk.data.len() as u64) {
            return Err(out_of_range());
        }
        if stored == Stored::Address {
            self.store_address(file, offset, address, target, r.addend, rest);
            return Ok(());
        }
        let reached = if stored == Stored::SlotDistance { self.slot(target) } else { self.target_address(target) };
        let reached = reached.ok_or_else(out_of_range)?;
        let reached = reached.wrapping_add_signed(r.addend);
        let field = Field { offset, address };
        self.inputs.arch.write_reference(file, field, r.kind, stored, reached).map_err(|OutOfRange| out_of_range())
    }

    fn store_address(
        &self,
        file: &mut [u8],
        offset: u64,
        address: u64,
        target: Target,
        addend: i64,
        rest: &mut Vec<Rela>,
    ) {
        let arch = self.inputs.arch;
        let (symbol, kind, addend) = match target {
            Target::Absolute(v) => return put(file, offset, &v.wrapping_add_signed(addend).to_le_bytes()),
            Target::Defined { chunk, offset } => {
                let value = self.of_chunk(chunk, offset).wrapping_add_signed(addend);
                (0, arch.relative_relocation(), value as i64)
            }
            Target::Import(import) => (import as u32 + 1, arch.symbol_relocation(), addend),
        };
        rest.push(Rela { offset: address, symbol, kind: kind.0, addend });
    }

    fn write_jump(&self, file: &mut [u8], number: u64, slot: u64) -> Result<(), LinkError> {
        let (arch, plt) = (self.inputs.arch, self.layout.section(SectionId::Plt));
        let at = arch.plt_entry_size() * number;
        let entry = Field { offset: plt.offset + at, address: plt.address + at };
        let slot = self.layout.section(SectionId::Got).address + 8 * slot;
        let out_of_range = |OutOfRange| LinkError::OutOfRange { object: 0, section: SectionId::Plt.name().into() };
        arch.write_plt_entry(file, entry, slot).map_err(out_of_range)
    }
}

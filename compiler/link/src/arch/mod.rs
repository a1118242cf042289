//! Processor families: what objects and libraries of one family have of their own.
//!
//! Each family is a file here that implements [`Arch`], and an entry of [`ALL`]. The rest of the linker knows ELF, but
//! no relocation type and no instruction.

mod x86_64;

use object::{Architecture, elf::RelocationType};

/// A processor family.
pub(crate) trait Arch: Sync {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// The family of an object, as the ELF reader names it.
    fn architecture(&self) -> Architecture;

    /// Machine number (`e_machine`) in the headers of ELF files.
    fn machine(&self) -> u16;

    /// Page size in bytes: the granularity of permissions.
    fn page_size(&self) -> u64;

    /// Returns what a relocation of this type stores; `None` if position-independent code does not need the type.
    /// [`Stored::Relaxed`] stands for a load from a GOT slot that may be relaxed.
    fn stored(&self, kind: RelocationType) -> Option<Stored>;

    /// Returns true if the instruction with a relocated field, which loads a GOT slot, can compute the address instead.
    fn is_relaxable(&self, code: &[u8], field: u64) -> bool;

    /// Makes the field at an offset of the file refer to an address, relative to its own address.
    fn write_reference(
        &self,
        file: &mut [u8],
        field: Field,
        kind: RelocationType,
        stored: Stored,
        reached: u64,
    ) -> Result<(), OutOfRange>;

    /// Size in bytes of a PLT entry.
    fn plt_entry_size(&self) -> u64;

    /// Writes a PLT entry: an indirect jump through a GOT slot.
    fn write_plt_entry(&self, file: &mut [u8], entry: Field, slot: u64) -> Result<(), OutOfRange>;

    /// Type of the loader's relocation that stores the address of a symbol.
    fn symbol_relocation(&self) -> RelocationType;

    /// Type of the loader's relocation that stores an address in the library.
    fn relative_relocation(&self) -> RelocationType;
}

/// Value that a relocation stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// 64-bit address, possibly applied by the loader.
    Address,
    /// Displacement to the target or, for an imported function, to its PLT entry.
    Distance,
    /// 64-bit displacement.
    LongDistance,
    /// Displacement to the target's GOT slot.
    SlotDistance,
    /// Displacement to the target, after the load of a GOT slot is relaxed to the computation of the address.
    Relaxed,
}

/// Position of a relocated field or entry.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    /// Offset in the file.
    pub offset: u64,
    /// Address.
    pub address: u64,
}

/// A displacement does not fit its field.
pub(crate) struct OutOfRange;

/// All families.
const ALL: &[&dyn Arch] = &[&x86_64::X86_64];

/// The family of a library without objects.
pub(crate) const DEFAULT: &dyn Arch = ALL[0];

/// Returns the family of an object.
pub(crate) fn of(architecture: Architecture) -> Option<&'static dyn Arch> {
    ALL.iter().copied().find(|arch| arch.architecture() == architecture)
}

/// Returns the names of all families, for messages.
pub(crate) fn names() -> String {
    ALL.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(" or ")
}

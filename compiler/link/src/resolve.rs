//! Symbol resolution, and the GOT and PLT slots that it needs.

use crate::{
    LinkError,
    arch::{Arch, Stored},
    input::{Binding, Inputs, Relocation, Symbol, Value},
    sections::SectionId,
};
use hammock_runtime::library::SystemLibrary;
use rustc_hash::FxHashMap;

/// Resolved target of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Absolute(u64),
    Defined {
        chunk: usize,
        offset: u64,
    },
    /// A symbol of a system library, by its index among the imports.
    Import(usize),
}

/// Targets of symbols, and the imports and exports of the library.
pub(crate) struct Resolved<'a> {
    pub targets: Vec<Target>,
    pub imports: Vec<(&'a str, SystemLibrary)>,
    /// Indices of the exported symbols.
    pub exports: Vec<usize>,
}

impl<'a> Resolved<'a> {
    pub fn new(symbols: &[Symbol<'a>]) -> Result<Self, LinkError> {
        let definitions = definitions(symbols)?;
        let mut resolved = Resolved { targets: Vec::with_capacity(symbols.len()), imports: vec![], exports: vec![] };
        let mut import_of = FxHashMap::default();
        for (number, symbol) in symbols.iter().enumerate() {
            let chosen = match symbol.binding {
                Binding::Local => number,
                _ => definitions.get(symbol.name).copied().unwrap_or(number),
            };
            let target = match symbols[chosen].value {
                Value::Absolute(v) => Target::Absolute(v),
                Value::Defined { chunk, offset } => Target::Defined { chunk, offset },
                Value::Undefined { .. } if symbol.name.is_empty() => Target::Absolute(0),
                Value::Undefined { weak } => match SystemLibrary::of(symbol.name) {
                    Some(library) => Target::Import(*import_of.entry(symbol.name).or_insert_with(|| {
                        resolved.imports.push((symbol.name, library));
                        resolved.imports.len() - 1
                    })),
                    None if weak => Target::Absolute(0),
                    None => return Err(LinkError::Undefined { symbol: symbol.name.into(), object: symbol.object }),
                },
            };
            let is_exported = matches!(symbol.binding, Binding::Global | Binding::Weak);
            if is_exported && chosen == number && matches!(target, Target::Defined { .. }) {
                resolved.exports.push(number);
            }
            resolved.targets.push(target);
        }
        Ok(resolved)
    }
}

/// Returns the chosen definition of each name: strong before weak, then the first.
fn definitions<'a>(symbols: &[Symbol<'a>]) -> Result<FxHashMap<&'a str, usize>, LinkError> {
    let mut chosen: FxHashMap<&str, usize> = FxHashMap::default();
    for (number, symbol) in symbols.iter().enumerate() {
        if symbol.binding == Binding::Local || matches!(symbol.value, Value::Undefined { .. }) {
            continue;
        }
        let Some(&other) = chosen.get(symbol.name) else {
            chosen.insert(symbol.name, number);
            continue;
        };
        let is_weak = |s: &Symbol<'_>| s.binding == Binding::Weak;
        if is_weak(&symbols[other]) && !is_weak(symbol) {
            chosen.insert(symbol.name, number);
        } else if !is_weak(&symbols[other]) && !is_weak(symbol) {
            let (first, second) = (symbols[other].object, symbol.object);
            return Err(LinkError::Duplicate { symbol: symbol.name.into(), first, second });
        }
    }
    Ok(chosen)
}

/// GOT and PLT slots, in order of first use.
#[derive(Default)]
pub(crate) struct Slots {
    /// Addresses in the global offset table.
    pub got: Vec<Target>,
    /// Jumps to imported functions; each uses a GOT slot.
    pub plt: Vec<usize>,
    got_of: FxHashMap<Target, usize>,
    plt_of: FxHashMap<usize, usize>,
}

impl Slots {
    /// Returns the value of each relocation, and adds the slots that they need.
    pub fn scan(inputs: &Inputs<'_>, targets: &[Target]) -> Result<(Self, Vec<Stored>), LinkError> {
        let mut slots = Slots::default();
        let stored = |r: &Relocation| slots.stored(inputs, r, targets[r.symbol]);
        let stored = inputs.relocations.iter().map(stored).collect::<Result<_, _>>()?;
        Ok((slots, stored))
    }

    fn stored(&mut self, inputs: &Inputs<'_>, r: &Relocation, target: Target) -> Result<Stored, LinkError> {
        let chunk = &inputs.chunks[r.chunk];
        let unsupported = || LinkError::Relocation { object: chunk.object, section: chunk.name.into(), kind: r.kind.0 };
        let is_fixed = matches!(target, Target::Absolute(_));
        let stored = inputs.arch.stored(r.kind).ok_or_else(unsupported)?;
        let is_defined = matches!(target, Target::Defined { .. });
        match stored {
            Stored::Address if is_fixed || chunk.section.is_writable() => Ok(stored),
            Stored::Distance if !is_fixed => {
                if let Target::Import(import) = target {
                    self.jump(import);
                }
                Ok(stored)
            }
            Stored::LongDistance if is_defined => Ok(stored),
            Stored::Relaxed if is_defined && inputs.arch.is_relaxable(chunk.data, r.offset) => Ok(stored),
            Stored::Relaxed | Stored::SlotDistance => {
                self.slot(target);
                Ok(Stored::SlotDistance)
            }
            _ => Err(unsupported()),
        }
    }

    fn slot(&mut self, target: Target) -> usize {
        *self.got_of.entry(target).or_insert_with(|| {
            self.got.push(target);
            self.got.len() - 1
        })
    }

    fn jump(&mut self, import: usize) {
        let slot = self.slot(Target::Import(import));
        self.plt_of.entry(import).or_insert_with(|| {
            self.plt.push(slot);
            self.plt.len() - 1
        });
    }

    /// GOT slot of a target.
    pub fn slot_of(&self, target: Target) -> Option<usize> {
        self.got_of.get(&target).copied()
    }

    /// PLT entry of an import.
    pub fn jump_to(&self, import: usize) -> Option<usize> {
        self.plt_of.get(&import).copied()
    }
}

/// Number of relocations that the loader must apply: one for each slot and stored address that is not absolute.
pub(crate) fn loader_relocations(inputs: &Inputs<'_>, targets: &[Target], slots: &Slots, stored: &[Stored]) -> usize {
    let moves = |t: &Target| !matches!(t, Target::Absolute(_));
    let pairs = inputs.relocations.iter().zip(stored);
    let addresses = pairs.filter(|(r, s)| **s == Stored::Address && moves(&targets[r.symbol]));
    addresses.count() + slots.got.iter().filter(|t| moves(t)).count()
}

/// Sizes of the slot tables.
pub(crate) fn slot_tables(arch: &dyn Arch, slots: &Slots) -> [(SectionId, u64); 2] {
    let (got, plt) = (slots.got.len() as u64, slots.plt.len() as u64);
    [(SectionId::Got, 8 * got), (SectionId::Plt, arch.plt_entry_size() * plt)]
}

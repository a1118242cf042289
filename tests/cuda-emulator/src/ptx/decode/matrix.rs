//! `ldmatrix`, `stmatrix`, `movmatrix` and `mma`.
use super::{
    super::op::{Op, Source, Space},
    Decoder,
};
use crate::{arith::Type, matrix::Mma};

/// Reads `.sync.aligned.m8n8.xN[.trans]`: N, and true for `.trans`.
fn shape(d: &mut Decoder<'_>) -> Result<(usize, bool), String> {
    d.count(2..=2)?;
    for part in ["sync", "aligned", "m8n8"] {
        d.expect(part)?;
    }
    let count = d.required(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
    Ok((count, d.accept("trans")))
}

fn space(d: &mut Decoder<'_>) -> Result<Space, String> {
    let space = d.shared_or_generic();
    d.expect("b16")?;
    Ok(space)
}

impl Decoder<'_> {
    /// Registers of a fragment that is written.
    fn fragment(&self, index: usize, bits: u32, count: usize) -> Result<Box<[u32]>, String> {
        let operands = self.vector(index)?;
        if operands.len() != count {
            return self.wrong(index, &format!("a vector of {count} registers"));
        }
        operands
            .iter()
            .map(|operand| match self.operand_or_sink(operand, bits, index)? {
                Some(register) => Ok(register),
                None => self.wrong(index, "a vector of registers"),
            })
            .collect()
    }

    /// Registers of a fragment that is read.
    fn fragment_source(&self, index: usize, bits: u32, count: usize) -> Result<Box<[Source]>, String> {
        let registers = self.fragment(index, bits, count)?;
        Ok(registers.iter().map(|&register| Source::Register(register)).collect())
    }
}

pub(super) fn ldmatrix(d: &mut Decoder<'_>) -> Result<Op, String> {
    let (count, transpose) = shape(d)?;
    let space = space(d)?;
    Ok(Op::LoadMatrix { dst: d.fragment(0, 32, count)?, address: d.address(1, space)?, transpose })
}

pub(super) fn stmatrix(d: &mut Decoder<'_>) -> Result<Op, String> {
    let (count, transpose) = shape(d)?;
    let space = space(d)?;
    Ok(Op::StoreMatrix { src: d.fragment_source(1, 32, count)?, address: d.address(0, space)?, transpose })
}

pub(super) fn movmatrix(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    for part in ["sync", "aligned", "m8n8", "trans", "b16"] {
        d.expect(part)?;
    }
    Ok(Op::TransposeMatrix { dst: d.dst(0, 32)?, a: d.src(1, Type::B32)? })
}

pub(super) fn mma(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    d.expect("sync")?;
    d.expect("aligned")?;
    let shape = d.peek();
    d.at += 1;
    d.expect("row")?;
    d.expect("col")?;
    let satfinite = d.accept("satfinite");
    let types = [d.ty()?, d.ty()?, d.ty()?, d.ty()?];
    let mma = d.named(Mma::new(shape, types[0], types[1], types[2], types[3], satfinite))?;
    let counts = mma.registers();
    let bits = types.map(|ty| if ty == Type::F64 { 64 } else { 32 });
    Ok(Op::Mma {
        mma,
        d: d.fragment(0, bits[0], counts[0])?,
        a: d.fragment_source(1, bits[1], counts[1])?,
        b: d.fragment_source(2, bits[2], counts[2])?,
        c: d.fragment_source(3, bits[3], counts[3])?,
    })
}

//! `ldmatrix`, `stmatrix`, `movmatrix` and `mma`.
use super::{
    super::{
        op::{Op, Source, Space},
        syntax::Operand,
    },
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

impl<'a> Decoder<'a> {
    /// The operands of a fragment.
    fn fragment(&self, index: usize, count: usize) -> Result<&'a [Operand], String> {
        match self.operand(index)? {
            Operand::Vector(operands) if operands.len() == count => Ok(operands),
            _ => self.wrong(index, &format!("a vector of {count} registers")),
        }
    }

    /// Registers of a fragment that is written.
    fn fragment_dst(&self, index: usize, bits: u32, count: usize) -> Result<Box<[u32]>, String> {
        self.fragment(index, count)?.iter().map(|operand| self.register(operand, bits, index)).collect()
    }

    /// Registers or constants of a fragment that is read.
    fn fragment_src(&self, index: usize, bits: u32, count: usize) -> Result<Box<[Source]>, String> {
        let ty = if bits == 64 { Type::B64 } else { Type::B32 };
        self.fragment(index, count)?.iter().map(|operand| self.source(operand, ty, index)).collect()
    }
}

pub(super) fn ldmatrix(d: &mut Decoder<'_>) -> Result<Op, String> {
    let (count, transpose) = shape(d)?;
    let space = space(d)?;
    Ok(Op::LoadMatrix { dst: d.fragment_dst(0, 32, count)?, address: d.address(1, space)?, transpose })
}

pub(super) fn stmatrix(d: &mut Decoder<'_>) -> Result<Op, String> {
    let (count, transpose) = shape(d)?;
    let space = space(d)?;
    Ok(Op::StoreMatrix { src: d.fragment_src(1, 32, count)?, address: d.address(0, space)?, transpose })
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
    d.requires(mma.target())?;
    let counts = mma.registers();
    let bits = types.map(|ty| if ty == Type::F64 { 64 } else { 32 });
    Ok(Op::Mma {
        mma,
        d: d.fragment_dst(0, bits[0], counts[0])?,
        a: d.fragment_src(1, bits[1], counts[1])?,
        b: d.fragment_src(2, bits[2], counts[2])?,
        c: d.fragment_src(3, bits[3], counts[3])?,
    })
}

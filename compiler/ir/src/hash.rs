//! Hashes by structure: equal programs (see [`equal`](crate::equal)) have equal hashes, on every machine and in every
//! run.

use crate::{
    Module, PrimExpr, Tensor,
    equal::{MAX_COMPARED_BYTES, Sink, Token, Walker},
    module::Function,
    relax::{Callee, Operand, Value},
    tir::PrimFunc,
};
use rustc_hash::FxHasher;
use std::hash::{Hash as _, Hasher};

/// The hash of a module.
pub fn module(module: &Module) -> u64 {
    let mut hash = Hash::default();
    Walker::new(&mut hash).module(module);
    hash.0.finish()
}

/// The hash of a function.
pub fn function(function: &Function) -> u64 {
    let mut hash = Hash::default();
    Walker::new(&mut hash).function(function);
    hash.0.finish()
}

/// Feeds a kernel's structure to a hasher.
pub fn kernel(kernel: &PrimFunc, hasher: &mut impl Hasher) {
    Walker::new(&mut Hash(hasher)).prim_func(kernel);
}

/// The hash of a value in a function's body, over that function's own variables: equal values (see
/// [`equal::values`](crate::equal::values)) have equal hashes.
pub fn value(value: &Value) -> u64 {
    let mut hash = Hash::default();
    std::mem::discriminant(value).hash(&mut hash.0);
    match value {
        Value::Call(call) => {
            match &call.callee {
                Callee::Op(name) => hash.text(8, name),
                Callee::Global(name) | Callee::Extern(name) => hash.text(8, name),
                Callee::Var(var) => var.hash(&mut hash.0),
            }
            Walker::new(&mut hash).attrs(&call.attrs);
        }
        Value::TupleGet(_, index) => hash.number(9, *index as u64),
        _ => {}
    }
    value.each_operand(&mut |o| o.walk(&mut |part| hash.operand(part)));
    hash.0.finish()
}

struct Hash<H>(H);

impl Default for Hash<FxHasher> {
    fn default() -> Self {
        Hash(FxHasher::default())
    }
}

impl<'a, H: Hasher> Sink<'a> for Hash<H> {
    fn token(&mut self, token: Token<'a>) {
        match token {
            Token::Enter(_) | Token::Element(_) | Token::Leave => {}
            Token::Kind(kind) => self.text(1, kind),
            Token::Text(text) => self.text(2, text),
            Token::Int(value) => self.number(3, value as u64),
            Token::Float(bits) => self.number(4, bits),
            Token::DType(dtype) => {
                self.number(5, u64::from(dtype.code) << 32 | u64::from(dtype.bits) << 16 | u64::from(dtype.lanes))
            }
            Token::Var(number) => self.number(6, number as u64),
            Token::Tensor(tensor) => self.tensor(tensor),
        }
    }
}

/// Number of nodes below which expressions are hashed in full.
const MAX_HASHED_NODES: u32 = 1000;

impl<H: Hasher> Hash<H> {
    /// An operand without the operands inside of it.
    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Var(var) => var.hash(&mut self.0),
            Operand::Const(constant) => {
                let tensor = &constant.tensor;
                match tensor.nbytes() {
                    0..=MAX_COMPARED_BYTES => self.tensor(tensor),
                    _ => self.number(10, tensor.data_ptr() as u64),
                }
            }
            Operand::Prim(e) => self.expr(e),
            Operand::Shape(dims) => dims.iter().for_each(|dim| self.expr(dim)),
            Operand::Str(text) | Operand::Global(text) | Operand::Extern(text) => self.text(11, text),
            Operand::DType(dtype) => self.token(Token::DType(*dtype)),
            Operand::Tuple(fields) => self.number(12, fields.len() as u64),
            Operand::Opaque(_) => {}
        }
    }

    /// Hashes the size of an expression and, unless it is large, its constant or variables.
    fn expr(&mut self, e: &PrimExpr) {
        self.number(13, u64::from(e.size()));
        match e.as_int() {
            Some(value) => self.number(14, value as u64),
            None if e.size() < MAX_HASHED_NODES => e.each_var(&mut |var| var.hash(&mut self.0)),
            None => {}
        }
    }

    fn number(&mut self, tag: u64, value: u64) {
        self.0.write_u64(tag);
        self.0.write_u64(value);
    }

    fn text(&mut self, tag: u64, text: &str) {
        self.number(tag, text.len() as u64);
        self.0.write(text.as_bytes());
    }

    fn tensor(&mut self, tensor: &Tensor) {
        tensor.shape().iter().for_each(|dim| self.number(7, *dim as u64));
        self.token(Token::DType(tensor.dtype()));
        if let Ok(dense) = tensor.to_contiguous()
            && let Ok(bytes) = dense.as_bytes()
        {
            self.0.write(bytes);
        }
    }
}

//! Hashes by structure: equal programs (see [`equal`](crate::equal)) have equal hashes, on every machine and in every
//! run.

use crate::{
    Module, Tensor,
    equal::{Sink, Token, Walker},
    module::Function,
};
use rustc_hash::FxHasher;
use std::hash::Hasher;

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

#[derive(Default)]
struct Hash(FxHasher);

impl<'a> Sink<'a> for Hash {
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

impl Hash {
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

//! Comparing programs token by token.

use super::token::{Sink, Token, Walker};
use crate::{AttrValue, Attrs, Module, Tensor, module::Function};
use std::fmt;

/// The first difference between two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path to the difference, from the outside in: `main`, `body`, `0`, `2`, `value`, `args`, `1`.
    pub path: Vec<String>,
    /// The first program's token.
    pub left: String,
    /// The second program's token.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} against {}", self.path.join("."), self.left, self.right)
    }
}

impl std::error::Error for Difference {}

/// Checks that two modules are the same up to names of variables.
///
/// # Errors
/// The first difference.
pub fn modules(a: &Module, b: &Module) -> Result<(), Difference> {
    let (left, right) = (tokens(|w| w.module(a)), tokens(|w| w.module(b)));
    compare(&left, &right)
}

/// Checks that two functions are the same up to names of variables.
///
/// # Errors
/// The first difference.
pub fn functions(a: &Function, b: &Function) -> Result<(), Difference> {
    let (left, right) = (tokens(|w| w.function(a)), tokens(|w| w.function(b)));
    compare(&left, &right)
}

/// Returns true if two lists of attributes are the same, whatever their order.
pub(super) fn same_attrs(a: &Attrs, b: &Attrs) -> bool {
    a.is_empty() && b.is_empty() || compare(&tokens(|w| w.attrs(a)), &tokens(|w| w.attrs(b))).is_ok()
}

/// Returns true if two values of attributes without variables are the same.
pub(super) fn same_values(a: &AttrValue, b: &AttrValue) -> bool {
    compare(&tokens(|w| w.attr(a)), &tokens(|w| w.attr(b))).is_ok()
}

impl<'a> Sink<'a> for Vec<Token<'a>> {
    fn token(&mut self, token: Token<'a>) {
        self.push(token);
    }
}

fn tokens<'a>(walk: impl FnOnce(&mut Walker<'_, Vec<Token<'a>>>)) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    walk(&mut Walker::new(&mut tokens));
    tokens
}

fn compare(left: &[Token], right: &[Token]) -> Result<(), Difference> {
    let at = left.iter().zip(right).position(|(l, r)| !same(l, r));
    let at = match at {
        Some(at) => at,
        None if left.len() == right.len() => return Ok(()),
        None => left.len().min(right.len()),
    };
    let mut path: Vec<String> = Vec::new();
    for token in &left[..at] {
        match token {
            Token::Enter(name) => path.push((*name).to_owned()),
            Token::Element(index) => path.push(index.to_string()),
            Token::Leave => drop(path.pop()),
            _ => {}
        }
    }
    let text = |tokens: &[Token]| tokens.get(at).map_or_else(|| "nothing".to_owned(), Token::to_string);
    Err(Difference { path, left: text(left), right: text(right) })
}

fn same(a: &Token, b: &Token) -> bool {
    match (a, b) {
        (Token::Enter(a), Token::Enter(b)) | (Token::Text(a), Token::Text(b)) => a == b,
        (Token::Kind(a), Token::Kind(b)) => a == b,
        (Token::Element(a), Token::Element(b)) | (Token::Var(a), Token::Var(b)) => a == b,
        (Token::Leave, Token::Leave) => true,
        (Token::Int(a), Token::Int(b)) => a == b,
        (Token::Float(a), Token::Float(b)) => a == b,
        (Token::DType(a), Token::DType(b)) => a == b,
        (Token::Tensor(a), Token::Tensor(b)) => tensors(a, b),
        _ => false,
    }
}

fn tensors(a: &Tensor, b: &Tensor) -> bool {
    if a.ptr_eq(b) {
        return true;
    }
    let bytes = |t: &Tensor| t.to_contiguous().ok().and_then(|t| t.as_bytes().map(<[u8]>::to_vec).ok());
    let equal = match (a.as_bytes(), b.as_bytes()) {
        (Ok(a), Ok(b)) => a == b,
        _ => bytes(a) == bytes(b),
    };
    a.dtype() == b.dtype() && a.shape() == b.shape() && equal
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Enter(name) => write!(f, "`{name}`"),
            Token::Element(index) => write!(f, "element {index}"),
            Token::Leave => f.write_str("the end"),
            Token::Kind(kind) => f.write_str(kind),
            Token::Int(value) => value.fmt(f),
            Token::Float(bits) => f64::from_bits(*bits).fmt(f),
            Token::DType(dtype) => dtype.fmt(f),
            Token::Text(text) => write!(f, "`{text}`"),
            Token::Var(number) => write!(f, "variable {number}"),
            Token::Tensor(tensor) => write!(f, "a constant of {} elements", tensor.element_count()),
        }
    }
}

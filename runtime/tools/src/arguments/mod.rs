//! The arguments of a call: from text to values that fit the parameters.

pub(crate) mod argument;
pub(crate) mod bind;
mod tensor_literal;

//! Reflection: the fields of objects, so that any value can be printed, compared, hashed, saved and loaded.
//!
//! Each object type declares its fields once ([`types`]); programs that link the runtime declare theirs with
//! [`Reflect`] and [`register`]. Everything here uses these declarations, through the flat [`graph`] of a value:
//! nesting depth is unlimited, and shared parts are visited once.
//!
//! - [`fields`]: an object's fields by name.
//! - [`text`]: a value as text for people.
//! - [`equal`] and [`hash`]: by contents. Functions, and objects without declared fields, are equal only to themselves.
//! - [`save`] and [`load`]: a JSON graph in tvm-ffi's format; [`plain`]: plain JSON for programs that read numbers.
mod compare;
mod graph;
mod json;
mod plain;
mod text;
mod types;

pub use compare::{equal, hash};
pub use json::{load, save};
pub use plain::plain;
pub use text::text;
pub(crate) use text::{described, text_of};
pub use types::{Fields, Reflect, fields, register};

#[cfg(test)]
mod tests;

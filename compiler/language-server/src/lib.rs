//! Language server: text modules in editors, over the Language Server Protocol.
//!
//! [`serve`] reads messages in a thread and handles them one after the other in the caller's thread. [`server`] queues
//! them, so that cancelled requests are answered without work, and has the states of a connection; [`session`] has the
//! open documents and calls the function of each request in [`features`]. A [`document`] is analysed when something asks
//! for it, at most once for each of its texts: a burst of edits costs one analysis.
//!
//! The analysis is the compiler's: the parser's tree, with the meaning of each name ([`names`]), and the importer's
//! module, with the types of variables ([`types`]). The tree is partial if the text has errors, and so are these.
#![forbid(unsafe_code)]

mod cursor;
mod document;
mod features;
mod names;
mod position;
mod refusal;
mod server;
mod session;
mod transport;
mod types;

pub use server::{Ended, serve};

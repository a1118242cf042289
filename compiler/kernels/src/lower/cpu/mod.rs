//! Lowering for CPUs: plans become loops over registers, vectors and threads.

pub mod loops;
pub mod register_transpose;
pub mod serialize_threads;
pub mod vectorize;

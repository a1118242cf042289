//! `mma.sync` and `ldmatrix` on the fragments of a warp.

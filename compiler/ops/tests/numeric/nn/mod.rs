//! Operators of neural networks.

mod attention;
mod convolution;
mod normalization;
mod pooling;

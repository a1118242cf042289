//! Properties that hold for any bytes in a tensor file, and for any text as an argument.

use hammock_runtime::{Tensor, image::Signature};
use hammock_tools::{Weights, load_npy, load_npz, parse_argument};
use std::path::Path;

/// Reads bytes by every reader of tensor files, and returns their tensors by name. `file` is a path for them.
pub fn survive(bytes: &[u8], file: &Path) -> Vec<(String, Tensor)> {
    std::fs::write(file, bytes).unwrap();
    let mut found = Vec::new();
    if let Some(weights) = said(Weights::open(file)) {
        found.extend(weights.iter().map(|(name, tensor)| (name.to_owned(), tensor.clone())));
        for (name, tensor) in weights.iter() {
            assert!(weights.named(name).is_some(), "{name}");
            if let Some(alone) = said(load_npz(file, name)) {
                assert_eq!(alone.as_bytes().unwrap(), tensor.as_bytes().unwrap());
            }
        }
        let names = ["x", "a_b"].map(str::to_owned);
        weights.fit(&[Signature::of_names("main", names.iter())], |_| false).message();
    }
    found.extend(said(load_npy(file)).map(|tensor| (String::new(), tensor)));
    for (_, tensor) in &found {
        assert_eq!(tensor.as_bytes().unwrap().len(), tensor.nbytes());
    }
    found
}

/// Reads text as an argument.
pub fn survive_argument(text: &str) {
    // Large sizes in the text are not damage.
    let sized = ["zeros", "ones", "random"].iter().any(|word| text.contains(word));
    if !sized && !text.contains('@') {
        said(parse_argument(text));
    }
}

/// The value, if reading succeeded; an error message must be short enough to be read.
fn said<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<T> {
    read.inspect_err(|error| assert!(error.to_string().len() < 10_000, "{error}")).ok()
}

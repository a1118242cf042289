//! What must hold for any bytes that are given as a file of tensors, and any text that is given as an argument.

use hammock_runtime::{
    Tensor,
    image::Signature,
    tools::{Weights, load_npy, load_npz, parse_argument},
};
use std::path::Path;

/// Reads bytes in every way that files are read in; what they hold, by name. `file` is a place for them.
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
        weights.fit(&[Signature::of_names("main", names.iter())], |_| false).said();
    }
    found.extend(said(load_npy(file)).map(|tensor| (String::new(), tensor)));
    for (_, tensor) in &found {
        assert_eq!(tensor.as_bytes().unwrap().len(), tensor.nbytes());
    }
    found
}

/// Reads text as an argument.
pub fn survive_argument(text: &str) {
    // Sizes that a text asks for are not damage.
    let sized = ["zeros", "ones", "random"].iter().any(|word| text.contains(word));
    if !sized && !text.contains('@') {
        said(parse_argument(text));
    }
}

/// What was read; an error has to be short enough to be read too.
fn said<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<T> {
    read.inspect_err(|error| assert!(error.to_string().len() < 10_000, "{error}")).ok()
}

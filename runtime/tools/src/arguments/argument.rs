//! The syntax of arguments: `@x.npy`, `@x.npz#name`, `@x.safetensors#name`, `@input_0.pb`, `shape(2,3)`, `7`, `1.5`,
//! `true`, `"text"`, `null`, `(A, B)`, `[[1, 2], [3, 4]]:float32`, `2.5:float32`, `zeros(2,3):float32`, `ones(…)`,
//! `random(…)`.

use super::{
    split::{split_list, split_name},
    tensor_literal::{self, Number, fill, parse_dtype, zeros},
};
use crate::{
    Weights,
    error::{InputError, brief, listed},
    formats::{
        npz::{load_npy, load_npz},
        onnx_tensor::load_onnx_tensor,
    },
};
use hammock_runtime::{Any, DType, Shape, Tensor, Tuple, suggest::nearest};
use std::path::Path;

const FORMS: &str = "write @x.npy, @x.npz#name, @x.safetensors#name, @input_0.pb, shape(2,3), 7, 1.5, true, \"text\", null, (A, B), [[1, 2], [3, 4]]:float32, 2.5:float32, zeros(2,3):float32 or random(2,3):float32";

/// Maximum nesting depth of tuples.
const MAX_NESTING: usize = 100;

/// Parses one argument.
///
/// # Errors
/// If the syntax is invalid, or a file that it names cannot be read.
pub fn parse_argument(text: &str) -> Result<Any, InputError> {
    parse_for(text, None)
}

/// Parses one argument; `dtype` is the default of generated tensors.
pub(super) fn parse_for(text: &str, dtype: Option<DType>) -> Result<Any, InputError> {
    nested(text, dtype.unwrap_or(DType::FLOAT32), 0)
}

/// Parses an argument at this nesting depth of tuples.
fn nested(text: &str, usual: DType, depth: usize) -> Result<Any, InputError> {
    let text = text.trim();
    if depth > MAX_NESTING {
        return Err(InputError::new(format!("an argument has more than {MAX_NESTING} tuples inside each other")));
    }
    let bad = || InputError::new(format!("`{}` is not an argument", brief(text))).help(FORMS);
    if let Some(file) = text.strip_prefix('@') {
        return load(file);
    }
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        let fields = split_list(inner)
            .into_iter()
            .map(|t| nested(t, DType::FLOAT32, depth + 1))
            .collect::<Result<Vec<_>, _>>()?;
        return Ok(Tuple::new(fields.into_iter()).into());
    }
    if let Some(inner) = text.strip_prefix("shape(").and_then(|t| t.strip_suffix(')')) {
        return Ok(Shape::new(&parse_dims(inner).ok_or_else(bad)?).into());
    }
    if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') {
        return Ok(Any::str(&unescape(&text[1..text.len() - 1])));
    }
    match text {
        "null" | "None" => return Ok(Any::default()),
        "true" | "True" => return Ok(true.into()),
        "false" | "False" => return Ok(false.into()),
        _ => {}
    }
    if let Some(tensor) = generated(text, usual) {
        return tensor;
    }
    if let Some(tensor) = tensor_literal::parse(text) {
        return tensor.map(Any::from);
    }
    if let Ok(int) = text.parse::<i64>() {
        return Ok(int.into());
    }
    match text.parse::<f64>() {
        Ok(float) => Ok(float.into()),
        Err(_) => Err(bad()),
    }
}

fn load(file: &str) -> Result<Any, InputError> {
    match file.rsplit_once('#') {
        Some((path, name)) if path.ends_with(".safetensors") => Ok(named(Path::new(path), name)?.into()),
        Some((path, name)) => Ok(load_npz(Path::new(path), name)?.into()),
        None if file.ends_with(".pb") => Ok(load_onnx_tensor(Path::new(file))?.into()),
        None => Ok(load_npy(Path::new(file))?.into()),
    }
}

/// The files that an argument names, including those of tuple fields. The argument may be invalid otherwise.
pub(crate) fn files_of(text: &str) -> Vec<&str> {
    let mut open = vec![split_name(text).map_or(text, |(_, value)| value)];
    let mut files = Vec::new();
    while let Some(text) = open.pop().map(str::trim) {
        if let Some(file) = text.strip_prefix('@') {
            files.push(file.rsplit_once('#').map_or(file, |(path, _)| path));
        } else if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            open.extend(split_list(inner));
        }
    }
    files
}

/// A tensor of a safetensors file.
fn named(path: &Path, name: &str) -> Result<Tensor, InputError> {
    let weights = Weights::open(path)?;
    if let Some((_, tensor)) = weights.iter().find(|(own, _)| *own == name) {
        return Ok(tensor.clone());
    }
    let names = || weights.iter().map(|(own, _)| own);
    let near = nearest(name, names()).map(|near| format!("did you mean `{}`? ", brief(near)));
    let error = InputError::new(format!("{} has no tensor `{}`", path.display(), brief(name)));
    Err(error.help(format!("{}it has {}", near.unwrap_or_default(), listed(names()))))
}

fn parse_dims(text: &str) -> Option<Vec<i64>> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    parts.map(|p| p.parse().ok().filter(|d| *d >= 0)).collect()
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

/// Parses `zeros(2,3):float32` and similar forms; `None` if the text has another form.
fn generated(text: &str, usual: DType) -> Option<Result<Any, InputError>> {
    let (kind, rest) = text.split_once('(')?;
    let (dims, dtype) = rest.split_once(')')?;
    if !GENERATED.contains(&kind) {
        return None;
    }
    let dims = parse_dims(dims)?;
    let dtype = match dtype.strip_prefix(':').map(|name| parse_dtype(name.trim())) {
        Some(Ok(dtype)) => dtype,
        Some(Err(error)) => return Some(Err(error)),
        None => usual,
    };
    Some(generate(kind, dtype, &dims))
}

/// Kinds of generated tensors.
pub(super) const GENERATED: [&str; 3] = ["zeros", "ones", "random"];

/// A tensor of zeros, ones, or random numbers.
pub(super) fn generate(kind: &str, dtype: DType, dims: &[i64]) -> Result<Any, InputError> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let result = match kind {
        "zeros" => zeros(dtype, dims),
        "ones" => fill(dtype, dims, |_| Number::Integer(1)),
        _ => {
            // Integers are below 10, floats in [0, 1).
            let scale = if dtype.is_floating() { 1.0 } else { 10.0 };
            fill(dtype, dims, |_| Number::Float(random.next() * scale))
        }
    };
    result.map(Any::from)
}

/// A small pseudo-random number generator (xorshift64*, Vigna 2016): the same sequence in every run.
struct Random(u64);

impl Random {
    /// The next number in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::save_safetensors;

    #[test]
    fn plain_values() {
        assert_eq!(parse_argument("7").unwrap().get::<i64>(), Some(7));
        assert_eq!(parse_argument("-1.5").unwrap().get::<f64>(), Some(-1.5));
        assert_eq!(parse_argument("true").unwrap().get::<bool>(), Some(true));
        assert!(parse_argument("null").unwrap().is_none());
        assert_eq!(parse_argument(r#""a\"b,c""#).unwrap().as_str(), Some("a\"b,c"));
        assert_eq!(parse_argument("shape(2, 3)").unwrap().get::<Shape>().unwrap().as_slice(), &[2, 3]);
        assert_eq!(parse_argument("shape()").unwrap().get::<Shape>().unwrap().as_slice(), &[] as &[i64]);
    }

    #[test]
    fn tuples_nest() {
        let value = parse_argument(r#"(1, (2, "a, b"), )"#).unwrap();
        let tuple = value.get::<Tuple>().unwrap();
        assert_eq!(tuple.as_slice().len(), 2);
        let inner = tuple.as_slice()[1].get::<Tuple>().unwrap();
        assert_eq!(inner.as_slice()[1].as_str(), Some("a, b"));
    }

    #[test]
    fn generated_tensors() {
        let zeros = parse_argument("zeros(2,3):float16").unwrap().get::<Tensor>().unwrap();
        assert_eq!((zeros.dtype(), zeros.shape()), (DType::FLOAT16, [2, 3].as_slice()));
        let random = |text| parse_argument(text).unwrap().get::<Tensor>().unwrap();
        let a = random("random(100)");
        assert!(a.as_slice::<f32>().unwrap().iter().all(|v| (0.0..1.0).contains(v)));
        assert_eq!(a.as_bytes().unwrap(), random("random(100):float32").as_bytes().unwrap());
        assert_eq!(random("random(0,5):int8").element_count(), 0);
    }

    #[test]
    fn files_are_found_in_arguments() {
        assert_eq!(files_of("@a.npy"), ["a.npy"]);
        assert_eq!(files_of("x=@a.npz#b"), ["a.npz"]);
        assert_eq!(files_of("(1, (@a.npz#b, \"@c\"), @d.npy)"), ["d.npy", "a.npz"]);
        assert!(files_of("shape(2,3)").is_empty() && files_of(&"(".repeat(100_000)).is_empty());
    }

    #[test]
    fn tensors_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).display().to_string();
        let weight = ("fc.weight".to_owned(), Tensor::from_slice(&[1], &[half::bf16::ONE]).unwrap());
        save_safetensors(Path::new(&file("w.safetensors")), &[weight]).unwrap();
        let read = parse_argument(&format!("@{}#fc.weight", file("w.safetensors"))).unwrap();
        assert_eq!(read.get::<Tensor>().unwrap().dtype(), DType::BFLOAT16);
        let absent = parse_argument(&format!("@{}#fc.wieght", file("w.safetensors"))).unwrap_err();
        assert!(absent.help.is_some_and(|help| help.contains("did you mean `fc.weight`")));
        std::fs::write(file("input_0.pb"), [0x08, 1, 0x10, 3, 0x4a, 1, 5]).unwrap();
        let read = parse_argument(&format!("@{}", file("input_0.pb"))).unwrap();
        assert_eq!(read.get::<Tensor>().unwrap().as_slice::<i8>().unwrap(), [5]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "abc",
            "shape(2,x)",
            "shape(-1)",
            "zeros(2):floaty",
            "@missing.npy",
            "@missing.npz#x",
            "@missing.pb",
            "@missing.safetensors#x",
            "(1, abc)",
        ] {
            assert!(parse_argument(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_argument_is_too_deep_or_too_large() {
        let deep = |open: &str, close: &str, end: &str| [&open.repeat(60_000), &*close.repeat(60_000), end].concat();
        for text in [
            deep("(", ")", ""),
            deep("[", "]", ":int8"),
            deep("(", "", ""),
            deep("[", "", ":int8"),
            deep("[[[(", ")]]]", ":float32"),
            "x".repeat(100_000),
            "zeros(1000000000000,1000000):float32".to_owned(),
            "ones(100000000000000):float64".to_owned(),
            "random(4611686018427387904,4):int8".to_owned(),
            "zeros(9223372036854775807):bool".to_owned(),
        ] {
            let error = parse_argument(&text).unwrap_err();
            assert!(error.message.len() < 500, "{}", error.message.len());
        }
        assert!(parse_argument(&format!("{}1{}", "(".repeat(100), ")".repeat(100))).is_ok());
    }
}

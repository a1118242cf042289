//! Tensors of strings: nested tuples of strings, one level for each axis.

use hammock_runtime::{Any, Tuple};

/// Maximum rank: as in numpy.
const MAX_RANK: usize = 64;

/// Strings in row-major order.
#[derive(Debug, PartialEq, Eq)]
pub struct StringArray {
    /// Shape.
    pub shape: Vec<i64>,
    /// Strings.
    pub texts: Vec<String>,
}

impl StringArray {
    /// The array that a value is, if it is a string or nested tuples of strings of equal length.
    pub fn of(value: &Any) -> Option<StringArray> {
        let (mut shape, mut level) = (Vec::new(), vec![value]);
        while let Some(first) = level.first()?.get::<&Tuple>() {
            let rows = level.iter().map(|row| row.get::<&Tuple>().filter(|row| row.len() == first.len()));
            let rows = rows.collect::<Option<Vec<_>>>().filter(|_| shape.len() < MAX_RANK)?;
            level = rows.into_iter().flat_map(|row| row.iter()).collect();
            shape.push(first.len() as i64);
        }
        let texts = level.into_iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        Some(StringArray { shape, texts })
    }

    /// The arrays in a result, with their paths, as [`leaves`](hammock_runtime::show::leaves) names tensors.
    pub fn all(value: &Any) -> Vec<(String, StringArray)> {
        let (mut found, mut rest) = (Vec::new(), vec![(String::new(), value)]);
        while let Some((path, value)) = rest.pop() {
            if let Some(array) = StringArray::of(value) {
                found.push((if path.is_empty() { "0".to_owned() } else { path }, array));
            } else if let Some(fields) = value.get::<&Tuple>() {
                let dot = if path.is_empty() { "" } else { "." };
                let field = |(at, field)| (format!("{path}{dot}{at}"), field);
                rest.extend(fields.iter().enumerate().map(field).rev());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_runtime::Tensor;

    #[test]
    fn arrays_are_found_in_results() {
        let row = |texts: &[&str]| Any::from(texts.iter().map(|text| Any::from(*text)).collect::<Tuple>());
        let array = |shape: &[i64], texts: &[&str]| StringArray {
            shape: shape.to_vec(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        };
        let matrix: Any = [row(&["a", "b"]), row(&["c", "d"])].into_iter().collect::<Tuple>().into();
        assert_eq!(StringArray::all(&matrix), [("0".to_owned(), array(&[2, 2], &["a", "b", "c", "d"]))]);
        let result: Any =
            [Tensor::scalar(1i64).unwrap().into(), row(&["x"]), Any::from("y")].into_iter().collect::<Tuple>().into();
        let found = [("1".to_owned(), array(&[1], &["x"])), ("2".to_owned(), array(&[], &["y"]))];
        assert_eq!(StringArray::all(&result), found);
        assert_eq!(StringArray::of(&[row(&["a"]), row(&[])].into_iter().collect::<Tuple>().into()), None);
    }
}

//! Tensors of strings: nested tuples of strings, one level for each axis; a scalar is a string.
use super::sequence::{axis_of, elements, integers};
use crate::ffi::{Args, Error, kind};
use crate::value::{Any, DType, Device, MAX_NDIM, Number, Shape, Tensor, Tuple, dtype_code};
use crate::vm::builtins::memory::on_first_device;
use crate::vm::builtins::order::scratch;
use crate::vm::{Builtin, builtin::builtin};
use std::{collections::HashMap, fmt::Write};

pub(in crate::vm::builtins) const TABLE: &[Builtin] = &[
    builtin!("hammock.strings.unpack", unpack(bytes: &Tensor, ends: &Tensor, shape: &Shape) -> "Any",
        "Creates a string tensor from the bytes of all strings and the end of each."),
    builtin!("hammock.strings.reshape", reshape(value: &Any, shape: &Shape) -> "Any",
        "Returns the strings in another shape of as many elements."),
    builtin!("hammock.strings.take", take(value: &Any, indices: &Tensor, axis: i64) -> "Any",
        "Gathers slices of strings along an axis; negative indices count from the end."),
    builtin!("hammock.strings.join", join(axis: i64; "values…") -> "Any", "Concatenates string tensors along an axis."),
    builtin!("hammock.strings.concat", concat(a: &Any, b: &Any) -> "Any",
        "Concatenates strings element by element, with broadcasting."),
    builtin!("hammock.strings.equal", equal(a: &Any, b: &Any) -> "Tensor",
        "Compares strings element by element, with broadcasting."),
    builtin!("hammock.strings.find", find(value: &Any, table: &Any) -> "Tensor",
        "Returns the index of each string in a vector of distinct strings, as int64; -1 for others."),
    builtin!("hammock.strings.split", split(value: &Any, delimiter: &str, max_splits: Option<i64>) -> "Tuple",
        "Splits each string at a delimiter, or at white space; returns the parts, padded by empty strings, and their \
         numbers."),
    builtin!("hammock.strings.normalize",
        normalize(value: &Any, case: &str, is_case_sensitive: bool, stopwords: &Tuple) -> "Any",
        "Removes stop words from a vector of strings, or the rows of a matrix with one row, and changes the case."),
    builtin!("hammock.strings.of_tensor", of_tensor(value: &Tensor) -> "Any", "Formats numbers as strings."),
    builtin!("hammock.strings.to_tensor", to_tensor(value: &Any, dtype: DType) -> "Tensor", "Parses strings as numbers."),
];

/// Memory for each string of a result.
const STRING: usize = 64;

struct Strings {
    shape: Vec<i64>,
    elements: Vec<Any>,
}

impl Strings {
    fn of(value: &Any) -> Result<Strings, Error> {
        let mismatch =
            || Error::type_error(format!("a tensor of strings must be nested tuples of equal length, got {value}"));
        let (mut shape, mut level) = (Vec::new(), vec![value]);
        while let Some(tuple) = level.first().and_then(|first| first.get::<&Tuple>()) {
            let len = tuple.len();
            let rows = level.iter().map(|row| row.get::<&Tuple>().filter(|row| row.len() == len));
            let rows = rows.collect::<Option<Vec<_>>>().filter(|_| shape.len() < MAX_NDIM).ok_or_else(mismatch)?;
            let _scratch = scratch(rows.len().saturating_mul(len), STRING)?;
            level = rows.into_iter().flat_map(|row| row.iter()).collect();
            shape.push(len as i64);
        }
        if level.iter().any(|element| element.as_str().is_none()) {
            return Err(mismatch());
        }
        Ok(Strings { shape, elements: level.into_iter().cloned().collect() })
    }

    fn into_value(self) -> Any {
        let mut values = self.elements;
        for axis in (0..self.shape.len()).rev() {
            let (rows, size) = (elements(&self.shape[..axis]), self.shape[axis] as usize);
            values = (0..rows).map(|row| Tuple::new(values[row * size..][..size].iter().cloned()).into()).collect();
        }
        values.pop().unwrap_or(Any::NONE)
    }

    fn text(&self, at: usize) -> &str {
        self.elements[at].as_str().unwrap_or_default()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        (0..self.elements.len()).map(|at| self.text(at))
    }

    /// Index of the element that is broadcast to linear index `at` of `shape`.
    fn broadcast(&self, shape: &[i64], mut at: usize) -> usize {
        let (mut index, mut stride) = (0, 1);
        for (axis, size) in shape.iter().enumerate().rev() {
            let position = at % (*size).max(1) as usize;
            at /= (*size).max(1) as usize;
            if let Some(own) = (axis + self.shape.len()).checked_sub(shape.len()) {
                index += if self.shape[own] == 1 { 0 } else { position * stride };
                stride *= self.shape[own] as usize;
            }
        }
        index
    }
}

/// Combines all pairs of strings that broadcast to each other.
fn pairs<T>(a: &Any, b: &Any, combine: impl Fn(&str, &str) -> T) -> Result<(Vec<i64>, Vec<T>), Error> {
    let (a, b) = (Strings::of(a)?, Strings::of(b)?);
    let rank = a.shape.len().max(b.shape.len());
    let size = |of: &Strings, axis: usize| (axis + of.shape.len()).checked_sub(rank).map_or(1, |at| of.shape[at]);
    let joined = |axis: usize| match (size(&a, axis), size(&b, axis)) {
        (1, other) | (other, 1) => Some(other),
        (own, other) => (own == other).then_some(own),
    };
    let shape = (0..rank).map(joined).collect::<Option<Vec<_>>>();
    let shape = shape.ok_or_else(|| {
        Error::value(format!("string tensors of shapes {:?} and {:?} do not broadcast", a.shape, b.shape))
    })?;
    let count = elements(&shape);
    let _scratch = scratch(count, STRING)?;
    let pair = |at| combine(a.text(a.broadcast(&shape, at)), b.text(b.broadcast(&shape, at)));
    let combined = (0..count).map(pair).collect();
    Ok((shape, combined))
}

fn unpack(bytes: &Tensor, ends: &Tensor, shape: &Shape) -> Result<Any, Error> {
    let (bytes, ends) = (bytes.to_device(Device::CPU)?.to_contiguous()?, integers(ends)?);
    let (bytes, mut begin) = (bytes.as_slice::<u8>()?, 0);
    let _scratch = scratch(ends.len(), STRING)?;
    let mut texts = Vec::with_capacity(ends.len());
    for end in ends {
        let text = usize::try_from(end).ok().and_then(|end| std::str::from_utf8(bytes.get(begin..end)?).ok());
        let text = text.ok_or_else(|| Error::value(format!("string {} is not valid", texts.len())))?;
        begin += text.len();
        texts.push(Any::from(text));
    }
    reshaped(texts, shape)
}

fn reshaped(texts: Vec<Any>, shape: &[i64]) -> Result<Any, Error> {
    let is_valid = shape.iter().all(|size| *size >= 0) && shape.len() <= MAX_NDIM && elements(shape) == texts.len();
    // Without elements, axes before the empty one may still be long.
    let outer = shape.iter().position(|size| *size == 0).map_or(1, |empty| elements(&shape[..empty]));
    if !is_valid {
        return Err(Error::value(format!("{} strings do not have the shape {shape:?}", texts.len())));
    }
    let _scratch = scratch(outer, STRING)?;
    Ok(Strings { shape: shape.to_vec(), elements: texts }.into_value())
}

fn reshape(value: &Any, shape: &Shape) -> Result<Any, Error> {
    reshaped(Strings::of(value)?.elements, shape)
}

fn take(value: &Any, indices: &Tensor, axis: i64) -> Result<Any, Error> {
    let (texts, positions) = (Strings::of(value)?, integers(indices)?);
    let axis = axis_of(axis, texts.shape.len())?;
    let (size, inner) = (texts.shape[axis], elements(&texts.shape[axis + 1..]));
    let outside = |at: i64| Error::new(kind::INDEX, format!("index {at} is out of range for axis {axis} of {size}"));
    let position = |at: &i64| match if *at < 0 { at.saturating_add(size) } else { *at } {
        from_start if (0..size).contains(&from_start) => Ok(from_start as usize),
        _ => Err(outside(*at)),
    };
    let positions = positions.iter().map(position).collect::<Result<Vec<_>, _>>()?;
    let outer = elements(&texts.shape[..axis]);
    let _scratch = scratch(outer.saturating_mul(positions.len()).saturating_mul(inner), STRING)?;
    let mut chosen = Vec::new();
    for block in 0..outer {
        for position in &positions {
            let begin = (block * size as usize + position) * inner;
            chosen.extend_from_slice(&texts.elements[begin..begin + inner]);
        }
    }
    reshaped(chosen, &[&texts.shape[..axis], indices.shape(), &texts.shape[axis + 1..]].concat())
}

fn join(args: Args<'_>) -> Result<Any, Error> {
    let axis: i64 = args.get(0)?;
    let parts = args.values()[1..].iter().map(Strings::of).collect::<Result<Vec<_>, _>>()?;
    let first = parts.first().ok_or_else(|| Error::value("there are no string tensors to concatenate".to_owned()))?;
    let axis = axis_of(axis, first.shape.len())?;
    let others = |shape: &[i64]| [&shape[..axis], &shape[axis + 1..]].concat();
    if let Some(part) =
        parts.iter().find(|part| part.shape.len() != first.shape.len() || others(&part.shape) != others(&first.shape))
    {
        let (own, other) = (&first.shape, &part.shape);
        return Err(Error::value(format!("shapes {own:?} and {other:?} cannot be concatenated along axis {axis}")));
    }
    let mut shape = first.shape.clone();
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let inner = elements(&first.shape[axis + 1..]);
    let _scratch = scratch(elements(&shape), STRING)?;
    let mut joined = Vec::new();
    for block in 0..elements(&shape[..axis]) {
        for part in &parts {
            let len = part.shape[axis] as usize * inner;
            joined.extend_from_slice(&part.elements[block * len..][..len]);
        }
    }
    reshaped(joined, &shape)
}

fn concat(a: &Any, b: &Any) -> Result<Any, Error> {
    let (shape, texts) = pairs(a, b, |a, b| Any::from([a, b].concat().as_str()))?;
    reshaped(texts, &shape)
}

fn equal(a: &Any, b: &Any) -> Result<Tensor, Error> {
    let (shape, equal) = pairs(a, b, |a, b| a == b)?;
    on_first_device(Tensor::from_slice(&shape, &equal)?)
}

fn find(value: &Any, table: &Any) -> Result<Tensor, Error> {
    let (texts, table) = (Strings::of(value)?, Strings::of(table)?);
    let _scratch = scratch(table.elements.len(), STRING)?;
    let positions: HashMap<&str, i64> = table.texts().zip(0..).collect();
    let found: Vec<i64> = texts.texts().map(|text| positions.get(text).copied().unwrap_or(-1)).collect();
    on_first_device(Tensor::from_slice(&texts.shape, &found)?)
}

/// Without a delimiter, splits at runs of white space. An empty string has no parts, as in ONNX Runtime.
fn split(value: &Any, delimiter: &str, max_splits: Option<i64>) -> Result<Tuple, Error> {
    let texts = Strings::of(value)?;
    let pieces = max_splits
        .and_then(|splits| usize::try_from(splits).ok())
        .map_or(usize::MAX, |splits| splits.saturating_add(1));
    let rows: Vec<Vec<&str>> = texts.texts().map(|text| parts(text, delimiter, pieces)).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let _scratch = scratch(width.saturating_mul(rows.len()), STRING)?;
    let row =
        |row: &Vec<&str>| (0..width).map(|at| Any::from(row.get(at).copied().unwrap_or_default())).collect::<Vec<_>>();
    let padded = rows.iter().flat_map(row).collect();
    let counts: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    let counts = on_first_device(Tensor::from_slice(&texts.shape, &counts)?)?;
    let padded = reshaped(padded, &[&texts.shape[..], &[width as i64]].concat())?;
    Ok([padded, counts.into()].into_iter().collect())
}

fn parts<'a>(text: &'a str, delimiter: &str, pieces: usize) -> Vec<&'a str> {
    if !delimiter.is_empty() {
        return if text.is_empty() { Vec::new() } else { text.splitn(pieces, delimiter).collect() };
    }
    let (mut rest, mut found) = (text.trim(), Vec::new());
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).filter(|_| found.len() + 1 < pieces).unwrap_or(rest.len());
        found.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    found
}

fn normalize(value: &Any, case: &str, is_case_sensitive: bool, stopwords: &Tuple) -> Result<Any, Error> {
    let texts = Strings::of(value)?;
    let has_rows = matches!(texts.shape.as_slice(), [1, _]);
    if texts.shape.len() != 1 && !has_rows {
        return Err(Error::value(format!(
            "strings to normalize must have the shape [n] or [1, n], not {:?}",
            texts.shape
        )));
    }
    let folded = |text: &str| if is_case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let stopwords: Vec<String> = stopwords.iter().filter_map(Any::as_str).map(folded).collect();
    let changed = |text: &str| match case {
        "LOWER" => Any::from(text.to_lowercase().as_str()),
        "UPPER" => Any::from(text.to_uppercase().as_str()),
        _ => Any::from(text),
    };
    let kept = texts.texts().filter(|text| stopwords.is_empty() || !stopwords.contains(&folded(text)));
    let mut kept: Vec<Any> = kept.map(changed).collect();
    if kept.is_empty() {
        kept.push(Any::from(""));
    }
    let count = kept.len() as i64;
    if has_rows { reshaped(kept, &[1, count]) } else { reshaped(kept, &[count]) }
}

fn of_tensor(value: &Tensor) -> Result<Any, Error> {
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    let _scratch = scratch(host.element_count(), STRING)?;
    let text = |bytes: &[u8]| {
        Some(match Number::read(host.dtype(), bytes)? {
            Number::Bool(value) => u8::from(value).to_string(),
            Number::Signed(value) => value.to_string(),
            Number::Unsigned(value) => value.to_string(),
            float => general(float.to_f64(), 8),
        })
    };
    let width = host.dtype().bytes().max(1);
    if Number::read(host.dtype(), &[0; 8][..width.min(8)]).is_none() {
        return Err(Error::type_error(format!("elements of {} have no text", host.dtype())));
    }
    let texts =
        host.as_bytes()?.chunks_exact(width).map(|bytes| text(bytes).map_or(Any::NONE, |text| text.as_str().into()));
    let texts = texts.collect();
    reshaped(texts, host.shape())
}

/// Formats a number with some significant digits, as C's `%g`; infinities are `INF`, as in ONNX.
fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let mut text = trimmed(mantissa);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
        return text;
    }
    trimmed(&format!("{value:.*}", (digits as i32 - 1 - exponent) as usize))
}

fn to_tensor(value: &Any, dtype: DType) -> Result<Tensor, Error> {
    let texts = Strings::of(value)?;
    let width = dtype.bytes();
    if Number::read(dtype, &[0; 8][..width.min(8)]).is_none() {
        return Err(Error::type_error(format!("strings cannot be parsed as {dtype}")));
    }
    let _scratch = scratch(texts.elements.len(), 8)?;
    let mut bytes = Vec::with_capacity(texts.elements.len() * width);
    for text in texts.texts() {
        let bits = parse(text.trim(), dtype);
        let bits = bits.ok_or_else(|| Error::value(format!("{text:?} is not a number of {dtype}")))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    on_first_device(Tensor::from_bytes(dtype, &texts.shape, &bytes)?)
}

/// Parses a number as the bits of an element.
fn parse(text: &str, dtype: DType) -> Option<u64> {
    let unused = 64 - u32::from(dtype.bits);
    let float = || text.parse::<f64>().ok();
    match (dtype.code, dtype.bits) {
        (dtype_code::INT, _) => {
            let value: i64 = text.parse().ok()?;
            (value << unused >> unused == value).then_some(value as u64)
        }
        (dtype_code::UINT, _) => text.parse().ok().filter(|value: &u64| value << unused >> unused == *value),
        (dtype_code::FLOAT, 16) => Some(half::f16::from_f64(float()?).to_bits().into()),
        (dtype_code::FLOAT, 32) => Some(text.parse::<f32>().ok()?.to_bits().into()),
        (dtype_code::BFLOAT, _) => Some(half::bf16::from_f64(float()?).to_bits().into()),
        (dtype_code::BOOL, _) => Some((float()? != 0.0).into()),
        _ => Some(float()?.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::builtins::find;

    fn call(name: &str, args: &[Any]) -> Result<Any, String> {
        find(&format!("hammock.strings.{name}")).unwrap().call(args).map_err(|error| error.to_string())
    }

    /// A vector of strings.
    fn vector(texts: &[&str]) -> Any {
        texts.iter().map(|text| Any::from(*text)).collect::<Tuple>().into()
    }

    fn matrix(rows: &[&[&str]]) -> Any {
        rows.iter().map(|row| vector(row)).collect::<Tuple>().into()
    }

    fn same(a: &Any, b: &Any) -> bool {
        match (a.get::<&Tuple>(), b.get::<&Tuple>()) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
            _ => a.as_str().is_some() && a.as_str() == b.as_str(),
        }
    }

    #[track_caller]
    fn expect(made: Result<Any, String>, expected: &Any) {
        let made = made.unwrap();
        assert!(same(&made, expected), "{}", crate::show::show(&made));
    }

    fn ints(shape: &[i64], values: &[i64]) -> Any {
        Tensor::from_slice(shape, values).unwrap().into()
    }

    #[test]
    fn strings_are_moved() {
        let bytes = Tensor::from_slice(&[4], "aébc".as_bytes()[..4].as_ref()).unwrap();
        let shape = |sizes: &[i64]| Any::from(Shape::new(sizes));
        let packed = |ends: &[i64], sizes: &[i64]| {
            call("unpack", &[bytes.clone().into(), ints(&[ends.len() as i64], ends), shape(sizes)])
        };
        expect(packed(&[1, 3, 3, 4], &[2, 2]), &matrix(&[&["a", "é"], &["", "b"]]));
        assert!(packed(&[2], &[1]).is_err() && packed(&[5], &[1]).is_err() && packed(&[1], &[2]).is_err());
        let three = vector(&["x", "y", "a long string"]);
        expect(call("reshape", &[three.clone(), shape(&[3, 1])]), &matrix(&[&["x"], &["y"], &["a long string"]]));
        expect(call("take", &[three.clone(), ints(&[], &[-1]), 0i64.into()]), &"a long string".into());
        expect(call("take", &[three.clone(), ints(&[2, 1], &[1, 0]), 0i64.into()]), &matrix(&[&["y"], &["x"]]));
        let error = call("take", &[three.clone(), ints(&[1], &[3]), 0i64.into()]).unwrap_err();
        assert_eq!(error, "IndexError: index 3 is out of range for axis 0 of 3");
        let pairs = matrix(&[&["a", "b"], &["c", "d"]]);
        expect(call("take", &[pairs.clone(), ints(&[1], &[1]), 1i64.into()]), &matrix(&[&["b"], &["d"]]));
        let column = matrix(&[&["e"], &["f"]]);
        expect(
            call("join", &[1i64.into(), pairs.clone(), column.clone()]),
            &matrix(&[&["a", "b", "e"], &["c", "d", "f"]]),
        );
        assert!(call("join", &[0i64.into(), pairs.clone(), column]).unwrap_err().contains("[2, 2] and [2, 1]"));
        let ragged: Any = [vector(&["a"]), vector(&[])].into_iter().collect::<Tuple>().into();
        assert!(call("reshape", &[ragged, shape(&[1])]).unwrap_err().contains("nested tuples of equal length"));
    }

    #[test]
    fn strings_broadcast() {
        let (pairs, column) = (matrix(&[&["a", "b"], &["c", "d"]]), matrix(&[&["1"], &["2"]]));
        expect(call("concat", &[pairs.clone(), column]), &matrix(&[&["a1", "b1"], &["c2", "d2"]]));
        expect(call("concat", &["x".into(), vector(&["y", ""])]), &vector(&["xy", "x"]));
        expect(call("concat", &["x".into(), "y".into()]), &"xy".into());
        let equal = call("equal", &[pairs.clone(), vector(&["a", "d"])]).unwrap();
        assert_eq!(equal.get::<&Tensor>().unwrap().as_slice::<bool>().unwrap(), [true, false, false, true]);
        assert!(
            call("equal", &[pairs, vector(&["a", "b", "c"])]).unwrap_err().contains("[2, 2] and [3] do not broadcast")
        );
    }

    #[test]
    fn strings_are_split_and_normalized() {
        let split = |texts: &[&str], delimiter: &str, splits: Any| {
            let made = call("split", &[vector(texts), delimiter.into(), splits]).unwrap().get::<Tuple>().unwrap();
            (made[0].clone(), made[1].get::<&Tensor>().unwrap().as_slice::<i64>().unwrap().to_vec())
        };
        let (parts, counts) = split(&["a,b", ",", ""], ",", Any::NONE);
        assert!(same(&parts, &matrix(&[&["a", "b"], &["", ""], &["", ""]])) && counts == [2, 2, 0]);
        let (parts, counts) = split(&[" a  b c ", ""], "", 1i64.into());
        assert!(same(&parts, &matrix(&[&["a", "b c"], &["", ""]])) && counts == [2, 0]);
        let words = vector(&["Monday", "Zürich", "monday"]);
        let normalize = |value: &Any, case: &str, sensitive: bool, stopwords: &[&str]| {
            call("normalize", &[value.clone(), case.into(), sensitive.into(), vector(stopwords)])
        };
        expect(normalize(&words, "UPPER", true, &["monday"]), &vector(&["MONDAY", "ZÜRICH"]));
        expect(normalize(&words, "NONE", false, &["MONDAY"]), &vector(&["Zürich"]));
        expect(normalize(&matrix(&[&["a", "b"]]), "LOWER", false, &["A", "B"]), &matrix(&[&[""]]));
        assert!(normalize(&matrix(&[&["a"], &["b"]]), "NONE", true, &[]).unwrap_err().contains("not [2, 1]"));
    }

    #[test]
    fn numbers_are_formatted_and_parsed() {
        let floats = [1.5f32, 0.0, -0.0, 1e-5, 1e20, 123_456.79, f32::NAN, f32::NEG_INFINITY, 1.0 / 3.0, 1e8, 1e7];
        let texts =
            ["1.5", "0", "-0", "9.9999997e-06", "1e+20", "123456.79", "NaN", "-INF", "0.33333334", "1e+08", "10000000"];
        let tensor: Any = Tensor::from_slice(&[floats.len() as i64], &floats).unwrap().into();
        expect(call("of_tensor", &[tensor]), &vector(&texts));
        expect(call("of_tensor", &[Tensor::from_slice(&[2], &[true, false]).unwrap().into()]), &vector(&["1", "0"]));
        let parse = |texts: &[&str], dtype: DType| call("to_tensor", &[vector(texts), dtype.into()]);
        let parsed = parse(&["1.5", "-INF", " 3e2"], DType::FLOAT32).unwrap();
        assert_eq!(parsed.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [1.5, f32::NEG_INFINITY, 300.0]);
        let parsed = parse(&["9223372036854775807"], DType::INT64).unwrap();
        assert_eq!(parsed.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap(), [i64::MAX]);
        assert_eq!(parse(&["cat"], DType::INT64).unwrap_err(), "ValueError: \"cat\" is not a number of int64");
        assert!(parse(&["300"], DType::UINT8).is_err());
    }

    #[test]
    fn strings_are_found_in_a_table() {
        let table = vector(&["b", "a", ""]);
        let found = call("find", &[matrix(&[&["a", "c"], &["", "b"]]), table.clone()]).unwrap();
        let found = found.get::<Tensor>().unwrap();
        assert_eq!((found.shape(), found.as_slice::<i64>().unwrap()), (&[2, 2][..], &[1, -1, 2, 0][..]));
        assert!(call("find", &[Any::from(3), table]).is_err());
    }
}

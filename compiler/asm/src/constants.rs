//! Constants: reader and writer.

use crate::{
    cursor::{Cursor, Parsed, error},
    lexer::Token,
    quote::quoted,
};
use hammock_runtime::{DType, Element, Shape, Str, Tensor, executable::Constant};
use hammock_syntax::Span;
use std::{fmt::Write, str::FromStr};

/// Tensors of up to so many elements are written as numbers.
const FEW: usize = 8;
/// Bytes on a line of a tensor's data.
const LINE: usize = 32;

/// A constant as text; a tensor with a `name` lies in another file under that.
pub(crate) fn write(constant: &Constant, name: Option<&str>) -> String {
    match constant {
        Constant::Tensor(tensor) => match name {
            Some(name) => format!("tensor {} from {}", head(tensor), quoted(name)),
            None => format!("tensor {} {}", head(tensor), contents(tensor)),
        },
        Constant::Shape(shape) => format!("shape ({})", joined(shape)),
        Constant::Str(text) => format!("str {}", quoted(text.as_str())),
        Constant::Int(value) => format!("int {value}"),
        Constant::Float(value) if value.is_finite() => format!("float {value:?}"),
        Constant::Float(value) => format!("float x\"{}\"", hex(&value.to_bits().to_le_bytes())),
        Constant::DType(dtype) => format!("dtype {}", dtype_text(*dtype)),
    }
}

fn head(tensor: &Tensor) -> String {
    format!("{}({})", dtype_text(tensor.dtype()), joined(tensor.shape()))
}

fn joined(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// A dtype's name or, when that does not say it all, its numbers.
fn dtype_text(dtype: DType) -> String {
    let text = dtype.to_string();
    match text.is_empty() || DType::from_str(&text) != Ok(dtype) {
        true => format!("dtype({}, {}, {})", dtype.code, dtype.bits, dtype.lanes),
        false => text,
    }
}

fn contents(tensor: &Tensor) -> String {
    let are_finite = |floats: &Vec<String>| floats.iter().all(|float| float.contains(['.', 'e']));
    let numbers = match tensor.dtype() {
        _ if tensor.element_count() > FEW => None,
        DType::INT8 => texts::<i8>(tensor),
        DType::INT16 => texts::<i16>(tensor),
        DType::INT32 => texts::<i32>(tensor),
        DType::INT64 => texts::<i64>(tensor),
        DType::UINT8 => texts::<u8>(tensor),
        DType::UINT16 => texts::<u16>(tensor),
        DType::UINT32 => texts::<u32>(tensor),
        DType::UINT64 => texts::<u64>(tensor),
        DType::FLOAT32 => texts::<f32>(tensor).filter(are_finite),
        DType::FLOAT64 => texts::<f64>(tensor).filter(are_finite),
        _ => None,
    };
    match numbers {
        Some(numbers) => format!("[{}]", numbers.join(", ")),
        None => format!("{{{}}}", data(tensor)),
    }
}

fn texts<T: Element + std::fmt::Debug>(tensor: &Tensor) -> Option<Vec<String>> {
    Some(tensor.as_slice::<T>().ok()?.iter().map(|v| format!("{v:?}")).collect())
}

fn data(tensor: &Tensor) -> String {
    let dense = tensor.to_contiguous();
    let bytes = dense.as_ref().ok().and_then(|t| t.as_bytes().ok()).unwrap_or_default();
    match bytes.len() <= LINE {
        true if bytes.is_empty() => String::new(),
        true => format!("x\"{}\"", hex(bytes)),
        false => bytes.chunks(LINE).map(|line| format!("\n  x\"{}\"", hex(line))).collect::<String>() + "\n",
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + bytes.len() / 4);
    for (i, byte) in bytes.iter().enumerate() {
        let space = if i > 0 && i.is_multiple_of(4) { " " } else { "" };
        let _ = write!(out, "{space}{byte:02x}");
    }
    out
}

/// Reads a constant; tensors that lie elsewhere are found by name.
pub(crate) fn read(cursor: &mut Cursor<'_>, tensors: &dyn Fn(&str) -> Option<Tensor>) -> Parsed<Constant> {
    let (kind, span) = cursor.name("a kind of constant")?;
    Ok(match kind {
        "int" => Constant::Int(cursor.number("an integer of 64 bits")?),
        "float" if cursor.peek() == Token::Bytes => {
            let (bytes, span) = (bytes(cursor)?, cursor.span());
            let bytes = bytes.try_into().map_err(|_| error(span, "a float has 8 bytes"))?;
            Constant::Float(f64::from_bits(u64::from_le_bytes(bytes)))
        }
        "float" => Constant::Float(cursor.number("a float")?),
        "str" => Constant::Str(Str::new(&cursor.string()?)),
        "shape" => Constant::Shape(Shape::new(&sizes(cursor)?)),
        "dtype" => Constant::DType(dtype(cursor)?),
        "tensor" => Constant::Tensor(tensor(cursor, span, tensors)?),
        other => {
            let help = "the kinds are `tensor`, `shape`, `str`, `int`, `float` and `dtype`";
            return Err(error(span, format!("`{other}` is no kind of constant")).help(help));
        }
    })
}

fn sizes(cursor: &mut Cursor<'_>) -> Parsed<Vec<i64>> {
    cursor.list(Token::LeftParen, Token::RightParen, |c| c.number("a size"))
}

fn dtype(cursor: &mut Cursor<'_>) -> Parsed<DType> {
    let (text, span) = cursor.name("a dtype")?;
    if text != "dtype" {
        return DType::from_str(text).map_err(|e| error(span, e.to_string()));
    }
    cursor.expect(Token::LeftParen)?;
    let (code, _, bits) = (cursor.number("a code")?, cursor.expect(Token::Comma)?, cursor.number("a number of bits")?);
    cursor.expect(Token::Comma)?;
    let lanes = cursor.number("a number of lanes")?;
    cursor.expect(Token::RightParen)?;
    Ok(DType::new(code, bits, lanes))
}

fn tensor(cursor: &mut Cursor<'_>, span: Span, tensors: &dyn Fn(&str) -> Option<Tensor>) -> Parsed<Tensor> {
    let (dtype, shape) = (dtype(cursor)?, sizes(cursor)?);
    let bytes = match cursor.peek() {
        Token::LeftBracket => numbers(cursor, dtype)?,
        Token::LeftBrace => braced(cursor)?,
        Token::Name if cursor.text(cursor.span()) == "from" => {
            cursor.bump();
            let (span, name) = (cursor.span(), cursor.string()?);
            return elsewhere(span, &name, dtype, &shape, tensors);
        }
        _ => return Err(cursor.expected("`[` and numbers, `{` and bytes, or `from` and a name")),
    };
    Tensor::from_bytes(dtype, &shape, &bytes).map_err(|e| error(span, e.to_string()))
}

fn elsewhere(
    span: Span,
    name: &str,
    dtype: DType,
    shape: &[i64],
    tensors: &dyn Fn(&str) -> Option<Tensor>,
) -> Parsed<Tensor> {
    let help = "give the file that was written beside the listing with `--params`";
    let found = tensors(name).ok_or_else(|| error(span, format!("there is no tensor `{name}`")).help(help))?;
    match found.dtype() == dtype && found.shape() == shape {
        true => Ok(found),
        false => {
            let (dtype, shape) = (dtype_text(found.dtype()), joined(found.shape()));
            Err(error(span, format!("the tensor `{name}` is {dtype}({shape})")))
        }
    }
}

/// Numbers between brackets as the bytes of elements.
fn numbers(cursor: &mut Cursor<'_>, dtype: DType) -> Parsed<Vec<u8>> {
    let span = cursor.span();
    let read = match dtype {
        DType::INT8 => elements::<i8>,
        DType::INT16 => elements::<i16>,
        DType::INT32 => elements::<i32>,
        DType::INT64 => elements::<i64>,
        DType::UINT8 => elements::<u8>,
        DType::UINT16 => elements::<u16>,
        DType::UINT32 => elements::<u32>,
        DType::UINT64 => elements::<u64>,
        DType::FLOAT32 => elements::<f32>,
        DType::FLOAT64 => elements::<f64>,
        _ => {
            let message = format!("elements of {} are not written as numbers", dtype_text(dtype));
            return Err(error(span, message).help("write their bytes: `{x\"00ff\"}`"));
        }
    };
    read(cursor)
}

fn elements<T: Element + FromStr>(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let span = cursor.span();
    let what = format!("an element of {}", T::DTYPE);
    let values = cursor.list(Token::LeftBracket, Token::RightBracket, |c| c.number::<T>(&what))?;
    let tensor = Tensor::from_slice(&[values.len() as i64], &values);
    let bytes = tensor.and_then(|t| t.as_bytes().map(<[u8]>::to_vec));
    bytes.map_err(|e| error(span, e.to_string()))
}

/// Bytes between braces, on any number of lines.
fn braced(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    cursor.expect(Token::LeftBrace)?;
    let mut out = Vec::new();
    loop {
        match cursor.peek() {
            Token::Bytes => out.extend(bytes(cursor)?),
            Token::RightBrace => break,
            Token::Newline if !cursor.is_at_end() => drop(cursor.bump()),
            _ => return Err(cursor.expected("bytes or `}`")),
        }
    }
    cursor.bump();
    Ok(out)
}

fn bytes(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let span = cursor.expect(Token::Bytes)?;
    let text = cursor.text(span);
    let digits: Vec<u8> = text.bytes().skip(2).filter_map(|b| (b as char).to_digit(16)).map(|d| d as u8).collect();
    match digits.len() % 2 {
        0 => Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(error(span, "a byte has two digits; one is missing")),
    }
}

//! Parser for constants.

use crate::{
    cursor::{Cursor, Parsed, error},
    lexer::Token,
};
use hammock_diagnostics::Span;
use hammock_runtime::{DType, Element, Shape, Str, Tensor, executable::Constant};
use std::str::FromStr;

/// Reads a constant; external tensors are looked up by name.
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
            return Err(error(span, format!("`{other}` is not a kind of constant")).help(help));
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
            return external_tensor(span, &name, dtype, &shape, tensors);
        }
        _ => return Err(cursor.expected("`[` and numbers, `{` and bytes, or `from` and a name")),
    };
    Tensor::from_bytes(dtype, &shape, &bytes).map_err(|e| error(span, e.to_string()))
}

fn external_tensor(
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
            let message = format!("the tensor `{name}` is of {} with shape {:?}", found.dtype(), found.shape());
            Err(error(span, message))
        }
    }
}

/// Reads bracketed numbers as the bytes of elements.
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
            let message = format!("elements of {dtype} are not written as numbers");
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

/// Reads bytes between braces, on any number of lines.
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

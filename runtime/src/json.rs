//! JSON: values saved as graphs, profiles, and what programs around the runtime read and write.
use std::fmt::{self, Write};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number, as written.
    Number(String),
    /// A string.
    Str(String),
    /// An array.
    Array(Vec<Json>),
    /// Members in the order of the text; of duplicate names, the first counts.
    Object(Vec<(String, Json)>),
}

/// Reason why a text is not valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of the JSON text: {what}")]
pub struct JsonError {
    at: usize,
    what: &'static str,
}

/// Maximum nesting depth of arrays and objects: parsing recurses.
const MAX_DEPTH: u32 = 128;

impl Json {
    /// Parses a text.
    ///
    /// # Errors
    /// If it is not valid JSON, or nests too deeply.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value()?;
        reader.skip_space();
        if reader.at < text.len() { reader.fail("there is more after the value") } else { Ok(value) }
    }

    /// The member `name`.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::Str(text) = self { Some(text) } else { None }
    }

    /// The value of an integer.
    pub fn as_int(&self) -> Option<i64> {
        if let Json::Int(value) = self { Some(*value) } else { None }
    }

    /// A float. Infinities and NaN, which JSON lacks, become null.
    pub fn float(value: f64) -> Json {
        if value.is_finite() { Json::Number(format!("{value:?}")) } else { Json::Null }
    }

    /// A number as a float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Json::Int(value) => Some(*value as f64),
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A non-negative integer.
    pub fn as_size(&self) -> Option<usize> {
        usize::try_from(self.as_int()?).ok()
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// An object of the given members.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Str(text.to_owned())
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(items: I) -> Json {
        Json::Array(items.into_iter().collect())
    }
}

/// Without whitespace.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Int(value) => write!(f, "{value}"),
            Json::Number(text) => f.write_str(text),
            Json::Str(text) => write_string(f, text),
            Json::Array(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { "," } else { "" })?;
                }
                f.write_char(']')
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (i, (name, value)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write_string(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// A cursor over a text, always on the first byte of a character.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

type Read<T> = Result<T, JsonError>;

impl<'a> Reader<'a> {
    fn fail<T>(&self, what: &'static str) -> Read<T> {
        Err(JsonError { at: self.at, what })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn next_is(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found
    }

    fn value(&mut self) -> Read<Json> {
        self.skip_space();
        match self.rest().as_bytes().first() {
            Some(b'{') => self.nested(Reader::members).map(Json::Object),
            Some(b'[') => self.nested(Reader::items).map(Json::Array),
            Some(b'"') => self.string().map(Json::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.next_is("null") => Ok(Json::Null),
            _ if self.next_is("true") => Ok(Json::Bool(true)),
            _ if self.next_is("false") => Ok(Json::Bool(false)),
            _ => self.fail("expected a value"),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return self.fail("values nest too deeply");
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn items(&mut self) -> Read<Vec<Json>> {
        self.list("]", Reader::value)
    }

    fn members(&mut self) -> Read<Vec<(String, Json)>> {
        self.list("}", |reader| {
            reader.skip_space();
            let name = reader.string()?;
            reader.skip_space();
            if reader.next_is(":") { Ok((name, reader.value()?)) } else { reader.fail("expected `:`") }
        })
    }

    fn list<T>(&mut self, end: &str, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        self.skip_space();
        if self.next_is(end) {
            return Ok(items);
        }
        loop {
            items.push(read(self)?);
            self.skip_space();
            if self.next_is(end) {
                return Ok(items);
            }
            if !self.next_is(",") {
                return self.fail("expected `,` or the end of the list");
            }
        }
    }

    fn number(&mut self) -> Read<Json> {
        let part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let text = &self.rest()[..self.rest().find(|c| !part(c)).unwrap_or(self.rest().len())];
        if !is_number(text) {
            return self.fail("this is not a number");
        }
        self.at += text.len();
        Ok(text.parse().map_or_else(|_| Json::Number(text.to_owned()), Json::Int))
    }

    fn string(&mut self) -> Read<String> {
        if !self.next_is("\"") {
            return self.fail("expected a string");
        }
        let mut text = String::new();
        loop {
            let Some(end) = self.rest().find(|c| c == '"' || c == '\\' || c < ' ') else {
                return self.fail("the string has no end");
            };
            text.push_str(&self.rest()[..end]);
            self.at += end;
            if self.next_is("\"") {
                return Ok(text);
            }
            if !self.next_is("\\") {
                return self.fail("control characters must be escaped");
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Read<char> {
        let Some(c) = self.rest().chars().next() else { return self.fail("the string has no end") };
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' | '/' => c,
            'u' => return self.unicode(),
            _ => return self.fail("there is no such escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `u` and four hex digits, or two of those for a surrogate pair.
    fn unicode(&mut self) -> Read<char> {
        let first = self.unit()?;
        let code = match first {
            0xD800..=0xDBFF if self.next_is("\\") => {
                let second = self.unit()?;
                0x10000 + ((first - 0xD800) << 10) + (second.wrapping_sub(0xDC00) & 0x3FF)
            }
            code => code,
        };
        char::from_u32(code).map_or_else(|| self.fail("half a character"), Ok)
    }

    fn unit(&mut self) -> Read<u32> {
        let digits = self.rest().strip_prefix('u').and_then(|rest| rest.get(..4));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                self.at += 5;
                Ok(code)
            }
            None => self.fail("expected `u` and four hexadecimal digits"),
        }
    }
}

/// Returns true if the text is a number in JSON's syntax.
fn is_number(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    is_digits(whole) && is_digits(fraction) && is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_and_printing_round_trips() {
        for text in [
            "null",
            "true",
            "-12",
            "1.5",
            "1e300",
            "[]",
            "{}",
            "[1,[2,{\"a\":null}],\"x\"]",
            "{\"k\":[1.0,2],\"ü\":\"\\\"\\\\\\n\\u0001\"}",
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), text);
        }
        let escaped = Json::parse(" { \"a\" : [ \"\\u00fc\\ud83d\\ude00\\/\\t\" , 1E2 ] } ").unwrap();
        assert_eq!(escaped.get("a").unwrap().as_array().unwrap()[0].as_str(), Some("ü😀/\t"));
        for (text, value) in [("9223372036854775808", 9_223_372_036_854_775_808.0), ("-1.5E+2", -150.0), ("1e-1", 0.1)]
        {
            assert_eq!(Json::parse(text).unwrap().as_float(), Some(value));
        }
    }

    #[test]
    fn bad_texts_are_refused_where_they_are_bad() {
        for text in [
            "",
            "[1,]",
            "[1",
            "{\"a\"}",
            "{a:1}",
            "\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "tru",
            "1 2",
            "-",
            "\"\n\"",
            "1.",
            "1.e2",
            "--1",
            "1e",
            "1-2",
            "1.2.3",
        ] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            Json::parse("[1 2]").unwrap_err().to_string(),
            "byte 3 of the JSON text: expected `,` or the end of the list"
        );
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }
}

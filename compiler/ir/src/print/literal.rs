//! Literals as Python's printers write them.

use std::fmt::Write;

/// Appends `text` in double quotes, bytes outside printable ASCII escaped one by one.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    escape(out, text);
    out.push('"');
}

/// Appends `text` with quotes, backslashes and all bytes outside printable ASCII escaped.
pub(super) fn escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => push(out, format_args!("\\x{byte:02X}")),
        }
    }
}

/// Appends a float: whole numbers with one decimal place, others with up to 17 significant digits, which read back as
/// the same number; infinities and not-a-number as strings.
pub(super) fn float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("\"nan\"");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "\"inf\"" } else { "\"-inf\"" });
    } else if value.fract() == 0.0 {
        push(out, format_args!("{value:.1}"));
    } else {
        general(out, value);
    }
}

/// C's `%.17g`.
fn general(out: &mut String, value: f64) {
    let scientific = format!("{value:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let fixed = format!("{value:.*}", (16 - exponent) as usize);
        out.push_str(fixed.trim_end_matches('0').trim_end_matches('.'));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        push(out, format_args!("{mantissa}e{sign}{:02}", exponent.abs()));
    }
}

/// Appends formatted text.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float_text(v: f64) -> String {
        let mut s = String::new();
        float(&mut s, v);
        s
    }

    #[test]
    fn floats_have_seventeen_digits() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1e-5, "1.0000000000000001e-05"),
            (1e22, "10000000000000000000000.0"),
            (0.1, "0.10000000000000001"),
            (1.5, "1.5"),
            (5e-324, "4.9406564584124654e-324"),
            (123456789.125, "123456789.125"),
            (0.0001, "0.0001"),
            (f64::INFINITY, "\"inf\""),
            (f64::NEG_INFINITY, "\"-inf\""),
            (f64::NAN, "\"nan\""),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    #[test]
    fn strings_are_escaped_byte_by_byte() {
        let mut s = String::new();
        quote(&mut s, "é\"\\\n\u{7f}");
        assert_eq!(s, "\"\\xC3\\xA9\\\"\\\\\\n\\x7F\"");
    }
}

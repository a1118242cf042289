//! Values for people, on one line.
use super::types::type_of;
use crate::show;
use crate::value::{Any, Tensor, Tuple};

/// How deeply values may nest before `…` stands for the rest.
const MAX_DEPTH: u32 = 64;
/// How many fields of a tuple are shown.
const MAX_FIELDS: usize = 1000;

/// A value on one line: objects by their names with their fields, tensors without axes by their element, others by
/// shape and dtype.
pub fn text(value: &Any) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

/// The same for objects that mean something outside their process; none for others.
pub(crate) fn described(value: &Any) -> Option<String> {
    type_of(value).filter(|ty| ty.make.is_some()).map(|_| text(value))
}

fn write(out: &mut String, value: &Any, depth: u32) {
    let fields = match value.get::<&Tuple>() {
        Some(tuple) => tuple.iter().map(|field| ("", field.clone())).collect(),
        None => match type_of(value) {
            Some(ty) => {
                out.push_str(ty.key.rsplit('.').next().unwrap_or(ty.key));
                (ty.fields)(value)
            }
            None => return out.push_str(&leaf(value)),
        },
    };
    out.push('(');
    for (i, (name, field)) in fields.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        if i == MAX_FIELDS || depth == MAX_DEPTH {
            out.push('…');
            break;
        }
        if !name.is_empty() {
            out.push_str(name);
            out.push('=');
        }
        write(out, field, depth + 1);
    }
    out.push(')');
}

fn leaf(value: &Any) -> String {
    match value.get::<&Tensor>() {
        Some(tensor) if tensor.shape().is_empty() && tensor.device().is_host() => show::plain(value),
        _ => value.to_string(),
    }
}

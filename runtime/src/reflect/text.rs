//! Values as text for people, on one line.
use super::types::type_of;
use crate::show;
use crate::value::{Any, Tensor, Tuple};

/// Maximum nesting depth; deeper values are shown as `…`.
const MAX_DEPTH: u32 = 64;
/// Maximum number of fields of a tuple that are shown.
const MAX_FIELDS: usize = 1000;
/// Maximum number of values that are shown: with shared parts, a small value may expand without end.
const MAX_VALUES: usize = 10_000;

/// Formats a value on one line: objects by their names with their fields, scalar tensors by their element, others by
/// shape and dtype.
pub fn text(value: &Any) -> String {
    text_of(value, leaf)
}

/// Like `text`, with another format for values without fields.
pub(crate) fn text_of(value: &Any, leaf: fn(&Any) -> String) -> String {
    let mut writer = Writer { out: String::new(), leaf, left: MAX_VALUES };
    writer.write(value, 0);
    writer.out
}

/// Like `text`, for objects that are meaningful outside of their process; `None` for others.
pub(crate) fn described(value: &Any) -> Option<String> {
    type_of(value).filter(|ty| ty.make.is_some()).map(|_| text(value))
}

struct Writer {
    out: String,
    leaf: fn(&Any) -> String,
    /// Remaining number of values.
    left: usize,
}

impl Writer {
    fn write(&mut self, value: &Any, depth: u32) {
        let fields = match value.get::<&Tuple>() {
            Some(tuple) => {
                // Fields that are not shown cost nothing.
                tuple.iter().take(MAX_FIELDS + 1).map(|field| ("", field.clone())).collect()
            }
            None => match type_of(value) {
                Some(ty) => {
                    self.out.push_str(ty.key.rsplit('.').next().unwrap_or(ty.key));
                    (ty.fields)(value)
                }
                None => return self.out.push_str(&(self.leaf)(value)),
            },
        };
        self.out.push('(');
        for (i, (name, field)) in fields.iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { "" });
            if i == MAX_FIELDS || depth == MAX_DEPTH || self.left == 0 {
                self.out.push('…');
                break;
            }
            // An object's fields are created on every visit, however many there are.
            self.left = self.left.saturating_sub(1 + field.get::<&Tuple>().map_or(0, |tuple| tuple.len() / MAX_FIELDS));
            if !name.is_empty() {
                self.out.push_str(name);
                self.out.push('=');
            }
            self.write(field, depth + 1);
        }
        self.out.push(')');
    }
}

fn leaf(value: &Any) -> String {
    match value.get::<&Tensor>() {
        Some(tensor) if tensor.shape().is_empty() => show::plain(value),
        _ => value.to_string(),
    }
}

//! Values as text for people, on one line.
use super::types::type_of;
use crate::show;
use crate::value::{Any, Tensor, Tuple};

/// How deeply values may nest before `…` stands for the rest.
const MAX_DEPTH: u32 = 64;
/// How many fields of a tuple are shown.
const MAX_FIELDS: usize = 1000;
/// How many values are shown in all: parts may be shared, so that a small value has no end of them.
const MAX_VALUES: usize = 10_000;

/// A value on one line: objects by their names with their fields, tensors without axes by their element, others by
/// shape and dtype.
pub fn text(value: &Any) -> String {
    text_of(value, leaf)
}

/// The same with other words for what has no fields.
pub(crate) fn text_of(value: &Any, leaf: fn(&Any) -> String) -> String {
    let mut writer = Writer { out: String::new(), leaf, left: MAX_VALUES };
    writer.write(value, 0);
    writer.out
}

/// The same for objects that mean something outside their process; none for others.
pub(crate) fn described(value: &Any) -> Option<String> {
    type_of(value).filter(|ty| ty.make.is_some()).map(|_| text(value))
}

struct Writer {
    out: String,
    leaf: fn(&Any) -> String,
    /// How many more values may be shown.
    left: usize,
}

impl Writer {
    fn write(&mut self, value: &Any, depth: u32) {
        let fields = match value.get::<&Tuple>() {
            Some(tuple) => {
                // Those that are left out below cost nothing.
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
            // An object's fields are made anew, as many as they are.
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
        Some(tensor) if tensor.shape().is_empty() && tensor.device().is_host() => show::plain(value),
        _ => value.to_string(),
    }
}

//! Memory budget of protobuf decoding, checked before a file is decoded: an empty message takes two bytes in the file
//! and a hundred times as much in memory, so a damaged file of a few megabytes could exhaust it.

use crate::schema::*;

/// Maximum ratio of decoded size to file size: models with short names need up to 7.
const MOST_GROWTH: usize = 8;
/// Minimum budget in bytes, for small files.
const ALWAYS: usize = 64 << 20;

/// Size in bytes of a string or list without its content.
const TEXT: usize = 32;
/// Size in bytes of a scalar field.
const NUMBER: usize = 8;

/// Returns true if the decoded messages of a file exceed its memory budget.
pub fn is_too_much(file: &[u8]) -> bool {
    taken(file, ALWAYS.saturating_add(file.len().saturating_mul(MOST_GROWTH))).is_none()
}

/// Message type.
struct Kind {
    /// Size in bytes of a message without the content of its fields.
    bytes: usize,
    /// Numbers and types of the fields that hold messages.
    messages: &'static [(u64, &'static Kind)],
}

impl Kind {
    const fn of<T>(messages: &'static [(u64, &'static Kind)]) -> Kind {
        Kind { bytes: size_of::<T>(), messages }
    }
}

static MODEL: Kind = Kind::of::<ModelProto>(&[(7, &GRAPH), (8, &OPSET), (25, &FUNCTION)]);
static OPSET: Kind = Kind::of::<OperatorSetIdProto>(&[]);
static GRAPH: Kind = Kind::of::<GraphProto>(&[(1, &NODE), (5, &TENSOR), (15, &SPARSE), (11, &VALUE), (12, &VALUE)]);
static NODE: Kind = Kind::of::<NodeProto>(&[(5, &ATTRIBUTE)]);
static ATTRIBUTE: Kind = Kind::of::<AttributeProto>(&[(5, &TENSOR), (6, &GRAPH), (11, &GRAPH)]);
static VALUE: Kind = Kind::of::<ValueInfoProto>(&[(2, &TYPE)]);
static TYPE: Kind = Kind::of::<TypeProto>(&[(1, &TENSOR_TYPE)]);
static TENSOR_TYPE: Kind = Kind::of::<type_proto::Tensor>(&[(2, &SHAPE)]);
static SHAPE: Kind = Kind::of::<TensorShapeProto>(&[(1, &DIMENSION)]);
static DIMENSION: Kind = Kind::of::<Dimension>(&[]);
static TENSOR: Kind = Kind::of::<TensorProto>(&[(13, &ENTRY)]);
static SPARSE: Kind = Kind::of::<SparseTensorProto>(&[(1, &TENSOR), (2, &TENSOR)]);
static ENTRY: Kind = Kind::of::<StringStringEntryProto>(&[]);
static FUNCTION: Kind = Kind::of::<FunctionProto>(&[(7, &NODE), (9, &OPSET), (11, &ATTRIBUTE)]);

/// Returns the decoded size of a model in bytes; `None` if it exceeds `most`. Malformed input is left to the decoder.
fn taken(file: &[u8], most: usize) -> Option<usize> {
    let mut bytes = MODEL.bytes;
    walk(file, &mut |_, _, content, inner| {
        bytes += match (content, inner) {
            (Some(_), Some(inner)) => inner.bytes,
            (Some(_), None) => TEXT,
            (None, _) => NUMBER,
        };
        if bytes > most { Err(()) } else { Ok(()) }
    })
    .ok()?;
    Some(bytes)
}

/// Visits the fields of a model: the type of the enclosing message, the field number, the content of a length-delimited
/// field, and its type if it is a message.
fn walk<'a, E>(
    file: &'a [u8],
    visit: &mut dyn FnMut(&'static Kind, u64, Option<&'a [u8]>, Option<&'static Kind>) -> Result<(), E>,
) -> Result<(), E> {
    // Stack of enclosing messages, each with its remaining bytes.
    let mut open: Vec<(&[u8], &'static Kind)> = vec![(file, &MODEL)];
    while let Some((rest, kind)) = open.last_mut() {
        let kind = *kind;
        let Some((number, content)) = field(rest) else {
            open.pop();
            continue;
        };
        let inner = kind.messages.iter().find(|(known, _)| *known == number).map(|(_, inner)| *inner);
        visit(kind, number, content, inner)?;
        if let (Some(content), Some(inner)) = (content, inner) {
            open.push((content, inner));
        }
    }
    Ok(())
}

/// Visits the names of the external data files of a model.
pub fn external_locations<'a>(file: &'a [u8], each: &mut dyn FnMut(&'a str)) {
    let mut is_location = false;
    let visited: Result<(), std::convert::Infallible> = walk(file, &mut |kind, number, content, _| {
        // A tensor's entries are pairs of a key and a value.
        match (number, content) {
            (1, Some(key)) if std::ptr::eq(kind, &raw const ENTRY) => is_location = key == b"location",
            (2, Some(value)) if is_location && std::ptr::eq(kind, &raw const ENTRY) => {
                is_location = false;
                std::str::from_utf8(value).into_iter().for_each(&mut *each);
            }
            _ => {}
        }
        Ok(())
    });
    let Ok(()) = visited;
}

/// Reads the next field of a message: its number, and its content if it is not a scalar.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let tag = varint(rest)?;
    let (len, is_number) = match tag & 7 {
        0 => (varint(rest).map(|_| 0)?, true),
        1 => (8, true),
        2 => (usize::try_from(varint(rest)?).ok()?, false),
        5 => (4, true),
        _ => return None,
    };
    let content;
    (content, *rest) = rest.split_at_checked(len)?;
    Some((tag >> 3, (!is_number).then_some(content)))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, others) = rest.split_first()?;
        *rest = others;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn what_messages_take_is_told_by_their_kinds() {
        let node = NodeProto { input: vec!["x".into(), String::new()], op_type: "Relu".into(), ..Default::default() };
        let graph = GraphProto { node: vec![node.clone(), node], ..Default::default() };
        let model = ModelProto { ir_version: 8, graph: Some(graph), ..Default::default() };
        let all = MODEL.bytes + GRAPH.bytes + 2 * NODE.bytes + NUMBER + 6 * TEXT;
        let file = model.encode_to_vec();
        assert_eq!((taken(&file, all), taken(&file, all - 1)), (Some(all), None));
        assert!(!is_too_much(&file) && !is_too_much(&[7, 255]));
    }

    #[test]
    fn empty_messages_are_too_much_before_they_take_memory() {
        let empty = [0x0a, 0];
        let graph = empty.repeat(1 << 20);
        let mut file = vec![0x3a];
        prost::encoding::encode_varint(graph.len() as u64, &mut file);
        file.extend(graph);
        assert!(is_too_much(&file) && !is_too_much(&file[..1 << 16]));
    }
}

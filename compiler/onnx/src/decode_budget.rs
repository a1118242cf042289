//! Memory budget of protobuf decoding, checked before a file is decoded: an empty message takes two bytes in the file
//! and a hundred times as much in memory, so a damaged file of a few megabytes could exhaust it.

use crate::schema::*;

/// Maximum ratio of decoded size to file size: models with short names need up to 7.
const MAX_EXPANSION: usize = 8;
/// Minimum budget in bytes, for small files.
const MIN_BUDGET: usize = 64 << 20;

/// Size in bytes of a string or list without its content.
const CONTAINER_BYTES: usize = 32;
/// Size in bytes of a scalar field.
const SCALAR_BYTES: usize = 8;

/// Returns true if the decoded messages of a file exceed its memory budget.
pub fn exceeds_budget(file: &[u8]) -> bool {
    decoded_bytes(file, MIN_BUDGET.saturating_add(file.len().saturating_mul(MAX_EXPANSION))).is_none()
}

/// Message type.
struct MessageKind {
    /// Size in bytes of a message without the content of its fields.
    bytes: usize,
    /// Numbers and types of the fields that hold messages.
    messages: &'static [(u64, &'static MessageKind)],
}

impl MessageKind {
    const fn of<T>(messages: &'static [(u64, &'static MessageKind)]) -> MessageKind {
        MessageKind { bytes: size_of::<T>(), messages }
    }
}

static MODEL: MessageKind = MessageKind::of::<ModelProto>(&[(7, &GRAPH), (8, &OPSET), (25, &FUNCTION)]);
static OPSET: MessageKind = MessageKind::of::<OperatorSetIdProto>(&[]);
static GRAPH: MessageKind =
    MessageKind::of::<GraphProto>(&[(1, &NODE), (5, &TENSOR), (15, &SPARSE), (11, &VALUE), (12, &VALUE), (13, &VALUE)]);
static NODE: MessageKind = MessageKind::of::<NodeProto>(&[(5, &ATTRIBUTE)]);
static ATTRIBUTE: MessageKind = MessageKind::of::<AttributeProto>(&[(5, &TENSOR), (6, &GRAPH), (11, &GRAPH)]);
static VALUE: MessageKind = MessageKind::of::<ValueInfoProto>(&[(2, &TYPE)]);
static TYPE: MessageKind = MessageKind::of::<TypeProto>(&[(1, &TENSOR_TYPE), (4, &ELEMENT_TYPE), (9, &ELEMENT_TYPE)]);
static ELEMENT_TYPE: MessageKind = MessageKind::of::<type_proto::Element>(&[(1, &TYPE)]);
static TENSOR_TYPE: MessageKind = MessageKind::of::<type_proto::Tensor>(&[(2, &SHAPE)]);
static SHAPE: MessageKind = MessageKind::of::<TensorShapeProto>(&[(1, &DIMENSION)]);
static DIMENSION: MessageKind = MessageKind::of::<Dimension>(&[]);
static TENSOR: MessageKind = MessageKind::of::<TensorProto>(&[(13, &ENTRY)]);
static SPARSE: MessageKind = MessageKind::of::<SparseTensorProto>(&[(1, &TENSOR), (2, &TENSOR)]);
static ENTRY: MessageKind = MessageKind::of::<StringStringEntryProto>(&[]);
static FUNCTION: MessageKind = MessageKind::of::<FunctionProto>(&[(7, &NODE), (9, &OPSET), (11, &ATTRIBUTE)]);

/// Returns the decoded size of a model in bytes; `None` if it exceeds `limit`. Malformed input is left to the decoder.
fn decoded_bytes(file: &[u8], limit: usize) -> Option<usize> {
    let mut bytes = MODEL.bytes;
    walk(file, &mut |_, _, content, inner| {
        bytes += match (content, inner) {
            (Some(_), Some(inner)) => inner.bytes,
            (Some(_), None) => CONTAINER_BYTES,
            (None, _) => SCALAR_BYTES,
        };
        if bytes > limit { Err(()) } else { Ok(()) }
    })
    .ok()?;
    Some(bytes)
}

/// Visits the fields of a model: the type of the enclosing message, the field number, the content of a length-delimited
/// field, and its type if it is a message.
fn walk<'a, E>(
    file: &'a [u8],
    visit: &mut dyn FnMut(&'static MessageKind, u64, Option<&'a [u8]>, Option<&'static MessageKind>) -> Result<(), E>,
) -> Result<(), E> {
    // Stack of enclosing messages, each with its remaining bytes.
    let mut open: Vec<(&[u8], &'static MessageKind)> = vec![(file, &MODEL)];
    while let Some((rest, kind)) = open.last_mut() {
        let kind = *kind;
        let Some((number, content)) = read_field(rest) else {
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
fn read_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
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
    fn decoded_size_is_the_sum_over_messages() {
        let node = NodeProto { input: vec!["x".into(), String::new()], op_type: "Relu".into(), ..Default::default() };
        let graph = GraphProto { node: vec![node.clone(), node], ..Default::default() };
        let model = ModelProto { ir_version: 8, graph: Some(graph), ..Default::default() };
        let all = MODEL.bytes + GRAPH.bytes + 2 * NODE.bytes + SCALAR_BYTES + 6 * CONTAINER_BYTES;
        let file = model.encode_to_vec();
        assert_eq!((decoded_bytes(&file, all), decoded_bytes(&file, all - 1)), (Some(all), None));
        assert!(!exceeds_budget(&file) && !exceeds_budget(&[7, 255]));
    }

    #[test]
    fn empty_messages_exceed_the_budget() {
        let empty = [0x0a, 0];
        let graph = empty.repeat(1 << 20);
        let mut file = vec![0x3a];
        prost::encoding::encode_varint(graph.len() as u64, &mut file);
        file.extend(graph);
        assert!(exceeds_budget(&file) && !exceeds_budget(&file[..1 << 16]));
    }
}

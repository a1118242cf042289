//! Mutations of protobuf messages without a schema.

use fastrand::Rng;

/// Field of a message: number, wire type and content.
#[derive(Clone)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone)]
enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// String, packed numbers, or raw data.
    Bytes(Vec<u8>),
    /// Bytes that parse as a message, and probably are one.
    Message(Vec<Field>),
}

/// Boundary values for sizes, counts and offsets.
const NUMBERS: [u64; 18] = [
    0,
    1,
    2,
    3,
    7,
    16,
    255,
    1 << 16,
    1_000_000,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 40,
    1 << 62,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
    u64::MAX - 1,
];

const FLOATS: [f32; 8] = [0.0, 1.0, -1.0, 1e9, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

/// Returns a message with one to three fields changed, removed, repeated or swapped.
pub fn damage(message: &[u8], random: &mut Rng) -> Vec<u8> {
    let Some(mut fields) = read(message, 0) else { return message.to_vec() };
    for _ in 0..random.usize(1..4) {
        let count = total(&fields);
        let other = nth(&mut fields, random.usize(..count)).clone();
        let at = random.usize(..count);
        change(&mut fields, at, &other, random);
    }
    let mut bytes = Vec::new();
    write(&fields, &mut bytes);
    bytes
}

fn total(fields: &[Field]) -> usize {
    let inner = |field: &Field| if let Value::Message(inner) = &field.value { total(inner) } else { 0 };
    fields.iter().map(|field| 1 + inner(field)).sum::<usize>().max(1)
}

/// Returns the n-th field in file order.
fn nth(fields: &mut Vec<Field>, at: usize) -> &mut Field {
    let (list, at) = find_field(fields, at);
    &mut list[at]
}

/// Returns the list that contains the n-th field, and its index in it.
fn find_field(fields: &mut Vec<Field>, mut at: usize) -> (&mut Vec<Field>, usize) {
    for index in 0..fields.len() {
        if at == 0 {
            return (fields, index);
        }
        at -= 1;
        let inner = if let Value::Message(inner) = &fields[index].value { total_of(inner) } else { 0 };
        if at < inner {
            let Value::Message(inner) = &mut fields[index].value else { unreachable!("only messages have fields") };
            return find_field(inner, at);
        }
        at -= inner;
    }
    unreachable!("there are fewer fields")
}

fn total_of(fields: &[Field]) -> usize {
    if fields.is_empty() { 0 } else { total(fields) }
}

fn change(fields: &mut Vec<Field>, at: usize, other: &Field, random: &mut Rng) {
    let (list, at) = find_field(fields, at);
    match random.u8(..8) {
        0 if list.len() > 1 => drop(list.remove(at)),
        1 => list.insert(at, list[at].clone()),
        2 => list[at].value = other.value.clone(),
        3 => list[at].number = random.u64(1..26),
        _ => change_value(&mut list[at].value, random),
    }
}

fn change_value(value: &mut Value, random: &mut Rng) {
    let number = NUMBERS[random.usize(..NUMBERS.len())];
    match value {
        Value::Varint(held) if random.bool() => *held = held.wrapping_add(random.u64(..5)).wrapping_sub(2),
        Value::Varint(held) => *held = number,
        Value::Fixed64(held) => *held = number.to_le_bytes(),
        Value::Fixed32(held) => *held = FLOATS[random.usize(..FLOATS.len())].to_le_bytes(),
        Value::Bytes(bytes) => change_bytes(bytes, number, random),
        Value::Message(fields) => random.shuffle(fields),
    }
}

fn change_bytes(bytes: &mut Vec<u8>, number: u64, random: &mut Rng) {
    match random.u8(..5) {
        0 => bytes.clear(),
        1 => bytes.truncate(bytes.len() / 2),
        2 => bytes.extend_from_within(..),
        // One of several packed int64, or a varint.
        3 if bytes.len() >= 8 => {
            let at = random.usize(..bytes.len() / 8) * 8;
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        _ if bytes.is_empty() => bytes.push(number as u8),
        _ => {
            let at = random.usize(..bytes.len());
            let mut varint = Vec::new();
            write_varint(number, &mut varint);
            bytes.splice(at..=at, varint);
        }
    }
}

/// Parses the fields of a message; `None` if the bytes are not a message.
fn read(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = read_varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(read_varint(&mut bytes)?),
            1 => Value::Fixed64(take(&mut bytes, 8)?.try_into().ok()?),
            2 => {
                let length = usize::try_from(read_varint(&mut bytes)?).ok()?;
                let held = take(&mut bytes, length)?;
                let inner = if held.is_empty() || depth > 8 { None } else { read(held, depth + 1) };
                inner.map_or_else(|| Value::Bytes(held.to_vec()), Value::Message)
            }
            5 => Value::Fixed32(take(&mut bytes, 4)?.try_into().ok()?),
            _ => return None,
        };
        if !(1..=100).contains(&(tag >> 3)) {
            return None;
        }
        fields.push(Field { number: tag >> 3, value });
    }
    Some(fields)
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn write(fields: &[Field], out: &mut Vec<u8>) {
    for field in fields {
        let kind = match field.value {
            Value::Varint(_) => 0,
            Value::Fixed64(_) => 1,
            Value::Fixed32(_) => 5,
            Value::Bytes(_) | Value::Message(_) => 2,
        };
        write_varint(field.number << 3 | kind, out);
        match &field.value {
            Value::Varint(value) => write_varint(*value, out),
            Value::Fixed64(bytes) => out.extend(bytes),
            Value::Fixed32(bytes) => out.extend(bytes),
            Value::Bytes(bytes) => write_long(bytes, out),
            Value::Message(inner) => {
                let mut bytes = Vec::new();
                write(inner, &mut bytes);
                write_long(&bytes, out);
            }
        }
    }
}

fn write_long(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

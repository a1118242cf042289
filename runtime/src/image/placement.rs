//! Devices of an executable's constants and parameters, for programs that use several.
//!
//! Devices have numbers: from 0 for those of the program other than the host, in order, and -1 for the host.
use crate::bytes::{Put, Reader, Truncated};

/// Maximum number of devices other than the host that a program uses.
pub const MAX_DEVICES: u32 = 64;

/// Maximum nesting depth of tuples.
const MAX_NESTING: usize = 100;

/// Devices of constants and parameters. What is not listed is on the first device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Number of devices other than the host that the program uses.
    pub device_count: u32,
    /// Constants with the numbers of their devices, in order.
    pub constants: Vec<(u32, i32)>,
    /// Functions with the places of their parameters.
    pub functions: Vec<(String, Vec<Place>)>,
}

/// Device of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Number of the device of all tensors in it.
    Device(i32),
    /// Devices of the fields of a tuple.
    Tuple(Vec<Place>),
}

impl Placement {
    /// Number of the device of a constant.
    pub fn constant(&self, index: usize) -> i64 {
        let found = self.constants.binary_search_by_key(&index, |(index, _)| *index as usize);
        found.map_or(0, |found| i64::from(self.constants[found].1))
    }

    /// Places of a function's parameters; empty if all are on the first device.
    pub fn params(&self, function: &str) -> &[Place] {
        self.functions.iter().find(|(name, _)| name == function).map_or(&[], |(_, places)| places)
    }
}

pub(super) fn encode(placement: &Placement, out: &mut Vec<u8>) {
    out.put_u32(placement.device_count);
    out.put_u64(placement.constants.len() as u64);
    for (index, device) in &placement.constants {
        out.put_u32(*index);
        out.put_i32(*device);
    }
    out.put_u64(placement.functions.len() as u64);
    for (name, places) in &placement.functions {
        out.put_blob(name.as_bytes());
        encode_places(places, out);
    }
}

fn encode_places(places: &[Place], out: &mut Vec<u8>) {
    out.put_u64(places.len() as u64);
    for place in places {
        match place {
            Place::Device(device) => {
                out.put(&[0]);
                out.put_i32(*device);
            }
            Place::Tuple(fields) => {
                out.put(&[1]);
                encode_places(fields, out);
            }
        }
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Placement, Truncated> {
    let mut reader = Reader::new(bytes);
    let device_count = reader.u32()?;
    let device = |reader: &mut Reader<'_>| reader.i32().and_then(|device| is_valid(device, device_count));
    let constants = reader.list(8, |reader| Ok::<_, Truncated>((reader.u32()?, device(reader)?)))?;
    let functions = reader.list(16, |reader| {
        let name = reader.text()?;
        Ok::<_, Truncated>((name, decode_places(reader, &device, 0)?))
    })?;
    let is_sorted = constants.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if reader.remaining() == 0 && is_sorted && device_count <= MAX_DEVICES {
        Ok(Placement { device_count, constants, functions })
    } else {
        Err(Truncated)
    }
}

/// The number of a device, if there is such a device.
fn is_valid(device: i32, count: u32) -> Result<i32, Truncated> {
    let is_valid = device == -1 || u32::try_from(device).is_ok_and(|device| device < count);
    if is_valid { Ok(device) } else { Err(Truncated) }
}

fn decode_places(
    reader: &mut Reader<'_>,
    device: &impl Fn(&mut Reader<'_>) -> Result<i32, Truncated>,
    depth: usize,
) -> Result<Vec<Place>, Truncated> {
    if depth > MAX_NESTING {
        return Err(Truncated);
    }
    reader.list(5, |reader| match reader.u8()? {
        0 => Ok(Place::Device(device(reader)?)),
        1 => Ok(Place::Tuple(decode_places(reader, device, depth + 1)?)),
        _ => Err(Truncated),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_written() {
        let tuple = Place::Tuple(vec![Place::Device(1), Place::Tuple(Vec::new()), Place::Device(0)]);
        let functions = vec![("main".to_owned(), vec![Place::Device(-1), tuple]), ("other".to_owned(), Vec::new())];
        let placement = Placement { device_count: 2, constants: vec![(3, -1), (5, 1)], functions };
        let mut bytes = Vec::new();
        encode(&placement, &mut bytes);
        assert_eq!(decode(&bytes).unwrap(), placement);
        assert_eq!([3, 4, 5].map(|index| placement.constant(index)), [-1, 0, 1]);
        assert_eq!((placement.params("main").len(), placement.params("missing").len()), (2, 0));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn unknown_devices_and_deep_nesting_are_refused() {
        let refused = |placement: Placement| {
            let mut bytes = Vec::new();
            encode(&placement, &mut bytes);
            decode(&bytes).is_err()
        };
        let nested = |depth| (0..depth).fold(Place::Device(0), |place, _| Place::Tuple(vec![place]));
        let of = |place| Placement {
            device_count: 1,
            functions: vec![("f".to_owned(), vec![place])],
            ..Placement::default()
        };
        assert!(!refused(of(nested(MAX_NESTING))));
        assert!(refused(of(nested(MAX_NESTING + 1))));
        assert!(refused(of(Place::Device(1))) && refused(of(Place::Device(-2))));
        assert!(refused(Placement { device_count: MAX_DEVICES + 1, ..Placement::default() }));
        let unordered = vec![(2, 0), (1, 0)];
        assert!(refused(Placement { device_count: 1, constants: unordered, ..Placement::default() }));
    }
}

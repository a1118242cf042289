//! Damaged tensor files and arguments are rejected, or read without a panic and with little memory. Data that an
//! archive's checksums cover are never read as other values. `CASES=1000000` tries more, `CASE=17` only one.

mod survive;

use hammock_runtime::Tensor;
use hammock_tools::{save_npz, save_safetensors};
use std::{io::Write, path::Path, time::Instant};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Maximum memory of this process in kB.
const MAX_MEMORY: usize = 400_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit.max(1))
    }
}

/// Runs a body for the indices of all cases, or of one.
fn cases(count: u64, mut body: impl FnMut(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(one) = number("CASE") {
        return body(one);
    }
    for case in 0..number("CASES").unwrap_or(count) {
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(case)));
        assert!(outcome.is_ok(), "CASE={case}");
        assert!(begun.elapsed().as_secs() < 10, "CASE={case} takes {:?}", begun.elapsed());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    assert!(peak.unwrap_or(0) < MAX_MEMORY, "{peak:?} kB");
}

fn tensors() -> Vec<(String, Tensor)> {
    let numbers: Vec<f32> = (0..40).map(|n| n as f32 * 0.5).collect();
    vec![
        ("a.b".to_owned(), Tensor::from_slice(&[5, 8], &numbers).unwrap()),
        ("flags".to_owned(), Tensor::from_slice(&[3], &[true, false, true]).unwrap()),
        ("none".to_owned(), Tensor::from_slice(&[0, 2], &[] as &[i64]).unwrap()),
        ("one".to_owned(), Tensor::from_slice(&[], &[7u16]).unwrap()),
    ]
}

fn saved(write: impl Fn(&Path)) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path());
    std::fs::read(file.path()).unwrap()
}

/// The archive with its members deflated, as numpy's `savez_compressed` writes it.
fn deflated(stored: &[u8]) -> Vec<u8> {
    let mut source = zip::ZipArchive::new(std::io::Cursor::new(stored)).unwrap();
    let mut out = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for at in 0..source.len() {
        let mut member = source.by_index(at).unwrap();
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        out.start_file(member.name(), options).unwrap();
        std::io::copy(&mut member, &mut out).unwrap();
    }
    out.finish().unwrap().into_inner()
}

/// A `.npy` file.
fn npy(descr: &str, fortran: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
    let header = format!("{header:<117}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.write_all(header.as_bytes()).unwrap();
    out.extend(bytes);
    out
}

/// Numbers and words at the limits.
const ODD: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"99999999999999999999",
    b"9223372036854775807",
    b"4611686018427387904, 4",
    b"(((((((((((((((((((((((((((((((((((",
    b"[[[[[[[[[[[[",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"True",
    b"'|O'",
    b"\"",
];

/// A file with bytes changed, removed, duplicated, or replaced by edge cases.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 => drop(bytes.splice(at..end, ODD[random.below(ODD.len())].to_vec())),
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}

#[test]
fn damaged_files_are_refused_or_read() {
    let place = tempfile::tempdir().unwrap();
    let stored = saved(|path| save_npz(path, &tensors()).unwrap());
    let files = [
        deflated(&stored),
        stored,
        saved(|path| save_safetensors(path, &tensors()).unwrap()),
        npy("<f4", "False", &[1; 24]),
        npy(">i2", "True", &[2; 12]),
    ];
    let file = place.path().join("file");
    for bytes in &files {
        assert!(!survive::survive(bytes, &file).is_empty());
    }
    cases(4_000, |case| {
        let mut random = Random(fastrand::Rng::with_seed(case));
        let which = case as usize % files.len();
        let bytes = damaged(&files[which], &mut random);
        let found = survive::survive(&bytes, &file);
        for (name, tensor) in found.iter().filter(|_| which < 2) {
            if let Some((_, whole)) = tensors().iter().find(|(known, _)| known == name) {
                assert_eq!(tensor.as_bytes().unwrap(), whole.as_bytes().unwrap(), "CASE={case}, `{name}`");
            }
        }
    });
}

#[test]
fn damaged_arguments_are_refused_or_read() {
    let texts = [
        r#"(1, (2.5, "a, \"b"), [[1, 2], [3, 4]]:float32, null, true)"#,
        "shape(2, 3, 9223372036854775807)",
        "[[[1, -2], [3, 4]], [[5, 6], [inf, nan]]]:float16",
        "-2.5e3:bfloat16",
    ];
    cases(40_000, |case| {
        let mut random = Random(fastrand::Rng::with_seed(case));
        let bytes = damaged(texts[case as usize % texts.len()].as_bytes(), &mut random);
        survive::survive_argument(&String::from_utf8_lossy(&bytes));
    });
}

//! Texts of the repository, and ways to damage them.

use std::path::{Path, PathBuf};

/// Maximum length of a text: longer files add no coverage and are slow.
const LONGEST: usize = 8 << 10;

/// The texts that are damaged.
pub struct Corpus {
    texts: Vec<String>,
    /// Words and punctuation of each text.
    pieces: Vec<Vec<String>>,
}

impl Corpus {
    /// All modules of the repository: examples, file-tests, older spellings, mistakes.
    pub fn load() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for folder in ["ir-examples", "tests", "compiler/syntax/tests/examples"] {
            collect(&root.join(folder), &mut files);
        }
        files.sort();
        let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        Corpus::of(texts.into_iter().filter(|text| !text.is_empty() && text.len() <= LONGEST).collect())
    }

    /// A corpus of these texts.
    pub fn of(texts: Vec<String>) -> Self {
        let pieces = texts.iter().map(|text| pieces(text)).collect();
        Corpus { texts, pieces }
    }

    /// The damaged text of that number.
    pub fn damaged(&self, number: u64) -> Vec<u8> {
        let mut random = Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let at = random.below(self.texts.len());
        match random.below(8) {
            0 => self.flipped(at, &mut random),
            1 => self.cut(at, &mut random),
            2 => self.spliced(at, &mut random),
            3 => self.relined(at, &mut random),
            _ => self.retold(at, &mut random),
        }
    }

    /// Bytes changed.
    fn flipped(&self, at: usize, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.texts[at].clone().into_bytes();
        for _ in 0..=random.below(3) {
            let place = random.below(bytes.len());
            // Half of them stay ASCII, so that the text is not rejected for its encoding.
            bytes[place] =
                if random.below(2) == 0 { random.below(128) as u8 } else { bytes[place] ^ (1 << random.below(8)) };
        }
        bytes
    }

    /// A prefix of a text.
    fn cut(&self, at: usize, random: &mut Random) -> Vec<u8> {
        let text = &self.texts[at];
        text.as_bytes()[..random.below(text.len())].to_vec()
    }

    /// The start of a text and the end of another.
    fn spliced(&self, at: usize, random: &mut Random) -> Vec<u8> {
        let (head, tail) = (self.texts[at].as_bytes(), self.texts[random.below(self.texts.len())].as_bytes());
        let line = |text: &[u8], place: usize| text[..place].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        let (mut end, mut start) = (random.below(head.len()), random.below(tail.len()));
        if random.below(2) == 0 {
            (end, start) = (line(head, end), line(tail, start));
        }
        [&head[..end], &tail[start..]].concat()
    }

    /// Lines dropped, doubled, swapped or indented.
    fn relined(&self, at: usize, random: &mut Random) -> Vec<u8> {
        let mut lines: Vec<String> = self.texts[at].split_inclusive('\n').map(str::to_owned).collect();
        for _ in 0..=random.below(2) {
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(5) {
                0 if lines.len() > 1 => drop(lines.remove(a)),
                1 => lines.insert(b, lines[a].clone()),
                2 => lines.swap(a, b),
                3 => lines[a].insert_str(0, "    "),
                _ => lines[a] = lines[a].strip_prefix("    ").unwrap_or(&lines[a]).to_owned(),
            }
        }
        lines.concat().into_bytes()
    }

    /// Words and punctuation dropped, doubled, swapped, or replaced by others.
    fn retold(&self, at: usize, random: &mut Random) -> Vec<u8> {
        let mut pieces: Vec<&str> = self.pieces[at].iter().map(String::as_str).collect();
        for _ in 0..=random.below(3) {
            let (a, b) = (random.below(pieces.len()), random.below(pieces.len()));
            match random.below(6) {
                0 if pieces.len() > 1 => drop(pieces.remove(a)),
                1 => pieces.insert(b, pieces[a]),
                2 => pieces.swap(a, b),
                3 => pieces[a] = ODD[random.below(ODD.len())],
                // Similar ones, so that the result is likely to be grammatical.
                4 => pieces[a] = alike(&self.pieces[at], pieces[a], random),
                _ => pieces[a] = alike(&self.pieces[random.below(self.pieces.len())], pieces[a], random),
            }
        }
        pieces.concat().into_bytes()
    }
}

/// Pieces that test limits.
const ODD: [&str; 24] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "127",
    "255",
    "65535",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e999",
    "0.0",
    "None",
    "True",
    "()",
    "[]",
    "\"\"",
    "\"é\"",
    "x",
    "n",
];

/// A piece of the same kind from a list, or the piece itself.
fn alike<'a>(from: &'a [String], piece: &'a str, random: &mut Random) -> &'a str {
    let kind = |text: &str| text.chars().next().map(kind_of);
    let start = random.below(from.len());
    let mut around = from[start..].iter().chain(&from[..start]);
    around.find(|other| kind(other) == kind(piece) && *other != piece).map_or(piece, String::as_str)
}

fn kind_of(c: char) -> u8 {
    match c {
        '0'..='9' => 0,
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' => 2,
        '"' => 3,
        _ => 4,
    }
}

/// Words, numbers, strings, blanks and single marks.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| kind_of(c) <= 1;
        let end = match kind_of(first) {
            0 | 1 => rest.find(|c| !word(c)),
            2 => rest.find(|c| c != ' '),
            3 => rest[1..].find('"').map(|n| n + 2),
            _ => Some(first.len_utf8()),
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "py") {
            files.push(path);
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), to choose positions.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

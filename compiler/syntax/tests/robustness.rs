//! No input makes the parser panic, overflow its stack or take long.

use hammock_diagnostics::{Diagnostic, SourceFile, render_json, render_text};
use hammock_syntax::{ast, parse};
use proptest::prelude::*;

const EXAMPLES: [&str; 2] = [include_str!("examples/linear.py"), include_str!("examples/loops.py")];

/// Parses a text and renders all diagnostics.
fn read(text: &str) -> (ast::Module, Vec<Diagnostic>) {
    let file = SourceFile::new("model.py", text).unwrap();
    let (module, diagnostics) = parse(&file);
    for diagnostic in &diagnostics {
        assert!(diagnostic.labels.iter().all(|label| label.span.start <= label.span.end), "{diagnostic:?}");
        assert!(diagnostic.labels.iter().all(|label| label.span.end as usize <= text.len()), "{diagnostic:?}");
        assert!(render_text(diagnostic, Some(&file), false).contains(&diagnostic.message));
        render_json(diagnostic, Some(&file));
    }
    (module, diagnostics)
}

fn messages(text: &str) -> Vec<String> {
    read(text).1.into_iter().map(|diagnostic| diagnostic.message).collect()
}

/// Words and punctuation of a text, including blanks and line breaks.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            0
        } else if c == ' ' {
            1
        } else {
            2
        }
    };
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let chars: Vec<char> = text.chars().collect();
    let mut index = 0;
    cuts.retain(|_| {
        let keep = index == 0 || kind(chars[index]) == 2 || kind(chars[index]) != kind(chars[index - 1]);
        index += 1;
        keep
    });
    cuts.push(text.len());
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes(example in 0..2usize, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = EXAMPLES[example].as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        match SourceFile::from_bytes("model.py", bytes) {
            Ok(file) => { read(file.text()); }
            Err(error) => prop_assert!(error.is_error()),
        }
    }

    #[test]
    fn cut_short(example in 0..2usize, at in any::<prop::sample::Index>()) {
        let text = EXAMPLES[example];
        read(&text[..text.floor_char_boundary(at.index(text.len()))]);
    }

    #[test]
    fn tokens_dropped_doubled_and_swapped(
        example in 0..2usize,
        edits in prop::collection::vec((0..3u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8),
    ) {
        let mut pieces = pieces(EXAMPLES[example]);
        for (edit, a, b) in edits {
            let (a, b) = (a.index(pieces.len()), b.index(pieces.len()));
            match edit {
                0 => { pieces.remove(a); }
                1 => pieces.insert(b, pieces[a]),
                _ => pieces.swap(a, b),
            }
        }
        read(&pieces.concat());
    }

    #[test]
    fn any_text(text in "[ -~\n\t\\\\\"'(){}\\[\\]:,=é]{0,80}") {
        read(&text);
    }

    #[test]
    fn any_tokens(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60)) {
        read(&tokens.concat());
    }
}

const TOKENS: &[&str] = &[
    "a",
    " ",
    "    ",
    "\n",
    "\n    ",
    "\n        ",
    "\t",
    "1",
    ".5",
    "\"s\"",
    "'",
    "\"\"\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ";",
    ".",
    "=",
    "==",
    "->",
    "@",
    "*",
    "**",
    "-",
    "not ",
    "in ",
    "is ",
    "if ",
    "else",
    "elif ",
    "for ",
    "while ",
    "def ",
    "class ",
    "return ",
    "with ",
    "as ",
    "lambda ",
    "import ",
    "from ",
    "try",
    "$",
    "\\\n",
    "#",
    "\r",
];

#[test]
fn examples_are_right() {
    for example in EXAMPLES {
        assert_eq!(messages(example), [] as [&str; 0]);
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, middle: &str, close: &str| {
        format!("x = {}{middle}{}\ny = 1\n", open.repeat(10_000), close.repeat(10_000))
    };
    let blocks: String = (0..10_000).map(|level| format!("{}while a:\n", " ".repeat(level))).collect();
    let elifs = format!("if a:\n    b\n{}", "elif a:\n    b\n".repeat(10_000));
    let texts = [
        deep("(", "a", ")"),
        deep("[", "", "]"),
        deep("f(", "a", ")"),
        deep("{a: ", "a", "}"),
        deep("", "a", ".b"),
        deep("", "a", "()"),
        deep("", "a", "[0]"),
        deep("-", "a", ""),
        deep("not ", "a", ""),
        deep("", "a", " ** a"),
        deep("lambda: ", "a", ""),
        deep("a if b else ", "a", ""),
        blocks,
        elifs,
    ];
    for text in texts {
        let messages = messages(&text);
        assert!(messages[0].contains("nested deeper than"), "{messages:?}");
        assert_eq!(messages.len(), 1, "{} {messages:?}", &text[..20]);
    }
    assert!(messages(&"(".repeat(10_000)).len() <= 2);
    assert!(!messages(&"(a.".repeat(10_000)).is_empty());
}

#[test]
fn long_chains_are_flat() {
    for link in [" + a", " and a", " < a", " - a * a", ", a", " = a", "; a", " + -a.b()[0]"] {
        let text = format!("a{}\n", link.repeat(20_000));
        assert_eq!(messages(&text), [] as [&str; 0], "{link}");
    }
    assert_eq!(messages(&format!("a = {}\n", "\"b\" ".repeat(20_000))), [] as [&str; 0]);
}

#[test]
fn junk_is_refused_briefly() {
    for junk in ["$", "$\n", "1a ", "\u{1}\u{2}\r", "a b\n", "  \"\\d\"\n", ") ( ", "if a\n"] {
        let diagnostics = read(&junk.repeat(20_000)).1;
        assert!((1..=101).contains(&diagnostics.len()), "{junk:?}: {}", diagnostics.len());
    }
    let (_, diagnostics) = read(&format!("{0} {0}", "x".repeat(100_000)));
    assert!(diagnostics[0].message.len() < 200);
}

#[test]
fn large_files_are_read() {
    let list = format!("x = [{}]\n", "12345, ".repeat(1_000_000));
    let (module, diagnostics) = read(&list);
    assert!(diagnostics.is_empty());
    let ast::StmtKind::Assign(assign) = &module.body[0].kind else { panic!("{:?}", module.body[0].span) };
    assert!(matches!(&assign.value.kind, ast::ExprKind::List(items) if items.len() == 1_000_000));

    let long = format!("metadata = \"\"\"{}\"\"\"\n{} = 1\n", "QUJD\\\"\n".repeat(1_000_000), "n".repeat(100_000));
    assert!(read(&long).1.is_empty());
}

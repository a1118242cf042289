//! Doctests of the language examples: each `# $ COMMAND` in the header of `ir-examples/language/*.py` is run there, and
//! must print the comment lines after it, up to an empty one or the next command. The output must be the same with
//! interpreted kernels and with compiled graphs.

use std::{path::Path, process::Command};

#[test]
fn commands_of_the_language_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("ir-examples/language");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut count = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let transcript = transcript(&text);
        assert!(!transcript.is_empty(), "{} shows no command", file.display());
        for (command, expected) in transcript {
            assert_eq!(run(command, &folder), expected, "{}: $ {command}", file.display());
            if command.starts_with("hammock run") {
                for mode in ["reference", "compiled"] {
                    let other = format!("{command} --exec-mode {mode}");
                    assert_eq!(run(&other, &folder), expected, "{}: $ {other}", file.display());
                }
            }
            count += 1;
        }
    }
    assert!(count >= 20, "only {count} commands were found");
}

/// Returns the commands of a file with their expected output.
fn transcript(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut printing = false;
    for line in text.lines().map_while(|line| line.strip_prefix('#')) {
        if let Some(command) = line.strip_prefix(" $ ") {
            found.push((command, String::new()));
            printing = true;
        } else if line.is_empty() {
            printing = false;
        } else if let Some((_, output)) = found.last_mut().filter(|_| printing) {
            output.push_str(&line[1..]);
            output.push('\n');
        }
    }
    found
}

/// Runs a command with `hammock` on the path; returns its output, including errors.
fn run(command: &str, folder: &Path) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_hammock")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let shell = format!("({command}) 2>&1");
    let output = Command::new("sh").args(["-c", &shell]).current_dir(folder).env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
